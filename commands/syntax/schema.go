package syntax

import "tercet/internal/strict"

// Schema is the JSON Schema of one form, for editors, made from the grammar table; ok is false for
// an unknown name. An expression inside a text counts as a string.
func Schema(name string) (map[string]any, bool) {
	var tables []strict.Table
	for _, f := range Grammar() {
		t := strict.Table{Name: f.Name, Foreign: f.Foreign}
		for _, k := range f.Keys {
			t.Keys = append(t.Keys, strict.Key{k.Name, k.Is, k.Does})
		}
		tables = append(tables, t)
	}

	if len(strict.Find(tables, name).Keys) == 0 {
		return nil, false
	}
	schema, err := strict.Schema(name, kindRules, tables)
	return schema, err == nil
}

// kindRules are the rules of the words that Key.Is may hold beside forms.
const kindRules = `{
	"jq":        {"type": ["string", "number", "boolean"]},
	"text":      {"type": ["string", "number", "boolean"]},
	"word":      {"type": ["string", "number"]},
	"words":     {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
	"texts":     {"anyOf": [{"type": "string"}, {"type": "array", "items": {
		"type": ["string", "number", "boolean"]}}]},
	"boolean":   {"type": "boolean"},
	"integer":   {"type": "integer"},
	"number":    {"type": "number"},
	"duration":  {"type": "string", "pattern": "^([0-9.]+(h|m|s|ms))+$"},
	"map":       {"type": "object"},
	"list":      {"type": "array"},
	"value":     {},
	"rules":     {"type": "object", "additionalProperties": {"anyOf": [
		{"enum": ["next", "fail", "gate"]}, {"$ref": "#/$defs/target"},
		{"type": "array", "items": {"anyOf": [
			{"enum": ["next", "fail", "gate"]}, {"$ref": "#/$defs/target"}]}}]}},
	"choices":   {"type": "object", "additionalProperties": {"anyOf": [
		{"enum": ["next", "fail", "gate"]}, {"$ref": "#/$defs/target"},
		{"type": "array", "items": {"anyOf": [
			{"enum": ["next", "fail", "gate"]}, {"$ref": "#/$defs/target"}]}}]}},
	"steps":     {"type": "array", "items": {"$ref": "#/$defs/step"}},
	"children":  {"type": "object", "additionalProperties": {"$ref": "#/$defs/step"}},
	"arguments": {"type": "array", "items": {"$ref": "#/$defs/argument"}},
	"loads":     {"type": "object", "additionalProperties": {"anyOf": [
		{"$ref": "#/$defs/jq"}, {"$ref": "#/$defs/load"}]}},
	"requirements": {"anyOf": [{"$ref": "#/$defs/requirement"}, {"type": "array",
		"items": {"$ref": "#/$defs/requirement"}}]}
}`
