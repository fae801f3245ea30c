package syntax

import (
	"maps"
	"strings"
)

// Schema is the JSON schema of one form, for editors; false if there is none of that name. It is made of the table that the
// checks are made of. An expression in a text is a string for it.
func Schema(name string) (map[string]any, bool) {
	defs := map[string]any{}
	for _, f := range Grammar() {
		defs[f.Name] = schemaOf(f)
	}
	maps.Copy(defs, schemaKinds())
	if _, ok := defs[name]; !ok || schemaKinds()[name] != nil {
		return nil, false
	}
	return map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "tercet " + name, "$ref": "#/$defs/" + name, "$defs": defs,
	}, true
}

func schemaOf(f Form) map[string]any {
	properties := map[string]any{}
	for _, k := range f.Keys {
		rule := map[string]any{"description": k.Does}
		kinds := strings.Split(k.Is, "|")
		refs := make([]any, len(kinds))
		for i, kind := range kinds {
			refs[i] = map[string]any{"$ref": "#/$defs/" + strings.TrimPrefix(kind, "form:")}
		}
		if len(refs) == 1 {
			rule["$ref"] = "#/$defs/" + strings.TrimPrefix(k.Is, "form:")
		} else {
			rule["anyOf"] = refs
		}
		properties[k.Name] = rule
	}
	for _, key := range f.Foreign {
		properties[key] = map[string]any{"description": "a key of another tool, left alone"}
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
}

// schemaKinds are the rules of the kinds of values.
func schemaKinds() map[string]any {
	text := []any{"string", "number", "boolean"}
	listOf := func(name string) map[string]any {
		return map[string]any{"type": "array", "items": map[string]any{"$ref": "#/$defs/" + name}}
	}
	mapOf := func(rule any) map[string]any {
		return map[string]any{"type": "object", "additionalProperties": rule}
	}
	ref := func(name string) map[string]any { return map[string]any{"$ref": "#/$defs/" + name} }
	targets := map[string]any{"anyOf": []any{
		map[string]any{"enum": []any{"next", "fail", "gate"}},
		ref("target"),
		map[string]any{"type": "array", "items": map[string]any{"anyOf": []any{map[string]any{"enum": []any{"next", "fail", "gate"}}, ref("target")}}},
	}}
	return map[string]any{
		"jq": map[string]any{"type": text}, "text": map[string]any{"type": text}, "word": map[string]any{"type": []any{"string", "number"}},
		"words":   map[string]any{"anyOf": []any{map[string]any{"type": "string"}, map[string]any{"type": "array", "items": map[string]any{"type": "string"}}}},
		"texts":   map[string]any{"anyOf": []any{map[string]any{"type": "string"}, map[string]any{"type": "array", "items": map[string]any{"type": text}}}},
		"boolean": map[string]any{"type": "boolean"}, "integer": map[string]any{"type": "integer"}, "number": map[string]any{"type": "number"},
		"duration": map[string]any{"type": "string", "pattern": "^([0-9.]+(h|m|s|ms))+$"}, "map": map[string]any{"type": "object"}, "list": map[string]any{"type": "array"},
		"value": map[string]any{}, "rules": mapOf(targets), "choices": mapOf(targets), "steps": listOf("step"), "children": mapOf(ref("step")), "arguments": listOf("argument"),
		"loads":        mapOf(map[string]any{"anyOf": []any{ref("jq"), ref("load")}}),
		"requirements": map[string]any{"anyOf": []any{ref("requirement"), listOf("requirement")}},
	}
}
