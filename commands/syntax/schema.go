package syntax

import (
	"encoding/json"
	"strings"
)

// Schema is the JSON schema of one form, for editors; false if there is none of that name. It is made of the table that
// the checks are made of. An expression in a text is a string for it.
func Schema(name string) (map[string]any, bool) {
	var defs map[string]any
	if err := json.Unmarshal([]byte(kindRules), &defs); err != nil || defs[name] != nil {
		return nil, false
	}
	for _, f := range Grammar() {
		defs[f.Name] = schemaOf(f)
	}
	return map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "tercet " + name, "$ref": "#/$defs/" + name,
		"$defs": defs,
	}, defs[name] != nil
}

func schemaOf(f Form) map[string]any {
	properties := map[string]any{}
	for _, k := range f.Keys {
		rule := map[string]any{"description": k.Does}
		var refs []any
		for kind := range strings.SplitSeq(k.Is, "|") {
			refs = append(refs, map[string]any{"$ref": "#/$defs/" + strings.TrimPrefix(kind, "form:")})
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

// kindRules are the rules of the words that Key.Is may hold beside forms.
const kindRules = `{
	"jq":        {"type": ["string", "number", "boolean"]},
	"text":      {"type": ["string", "number", "boolean"]},
	"word":      {"type": ["string", "number"]},
	"words":     {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
	"texts":     {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": ["string", "number", "boolean"]}}]},
	"boolean":   {"type": "boolean"},
	"integer":   {"type": "integer"},
	"number":    {"type": "number"},
	"duration":  {"type": "string", "pattern": "^([0-9.]+(h|m|s|ms))+$"},
	"map":       {"type": "object"},
	"list":      {"type": "array"},
	"value":     {},
	"rules":     {"type": "object", "additionalProperties": {"anyOf": [
		{"enum": ["next", "fail", "gate"]}, {"$ref": "#/$defs/target"},
		{"type": "array", "items": {"anyOf": [{"enum": ["next", "fail", "gate"]}, {"$ref": "#/$defs/target"}]}}]}},
	"choices":   {"type": "object", "additionalProperties": {"anyOf": [
		{"enum": ["next", "fail", "gate"]}, {"$ref": "#/$defs/target"},
		{"type": "array", "items": {"anyOf": [{"enum": ["next", "fail", "gate"]}, {"$ref": "#/$defs/target"}]}}]}},
	"steps":     {"type": "array", "items": {"$ref": "#/$defs/step"}},
	"children":  {"type": "object", "additionalProperties": {"$ref": "#/$defs/step"}},
	"arguments": {"type": "array", "items": {"$ref": "#/$defs/argument"}},
	"loads":     {"type": "object", "additionalProperties": {"anyOf": [{"$ref": "#/$defs/jq"}, {"$ref": "#/$defs/load"}]}},
	"requirements": {"anyOf": [{"$ref": "#/$defs/requirement"}, {"type": "array",
		"items": {"$ref": "#/$defs/requirement"}}]}
}`
