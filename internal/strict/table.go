package strict

import (
	"encoding/json"
	"slices"
	"strings"
)

// Key is one row of a table: the key, what its value may be, and what it does. The value is several
// of these, joined by |.
//
//	form:NAME   a map with the keys of another table
//	WORD        what the rule of that name says
//	'WORD'      this text
//	[WORD]      a list of what the word stands for; {WORD} is a map from any name to it
type Key [3]string

// Table is the keys of one kind of map. Checks, the JSON Schema for editors and the reference page
// use it.
type Table struct {
	Name, Unknown string // Unknown is Form.Unknown
	Keys          []Key
	Needs         []string // required keys
	Foreign       []string // foreign keys, ignored
}

// Form is the table for the decoder.
func (t Table) Form() Form {
	f := Form{
		Unknown: t.Unknown,
		Foreign: t.Foreign,
		Keys:    make([]string, len(t.Keys)),
	}
	for i, k := range t.Keys {
		f.Keys[i] = k[0]
	}
	return f
}

// Find gives the table with a name, or an empty one.
func Find(tables []Table, name string) Table {
	i := slices.IndexFunc(tables, func(t Table) bool { return t.Name == name })
	if i < 0 {
		return Table{}
	}
	return tables[i]
}

// Schema is the JSON Schema of one of the tables, for editors. rules maps the words of Key.Is to
// JSON; the names of rules and tables must differ.
func Schema(name, rules string, tables []Table) (map[string]any, error) {
	defs := map[string]any{}
	if err := json.Unmarshal([]byte(rules), &defs); err != nil {
		return nil, err
	}

	for _, t := range tables {
		properties := map[string]any{}
		for _, k := range t.Keys {
			rule := ruleOf(k[1])
			rule["description"] = k[2]
			properties[k[0]] = rule
		}
		for _, key := range t.Foreign {
			properties[key] = map[string]any{"description": "a key of another tool, left alone"}
		}
		one := map[string]any{
			"type":                 "object",
			"properties":           properties,
			"additionalProperties": false,
		}
		if len(t.Needs) > 0 {
			one["required"] = t.Needs
		}
		defs[t.Name] = one
	}

	return map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     "urn:tercet:schema:" + name,
		"title":   "tercet " + name,
		"$ref":    "#/$defs/" + name,
		"$defs":   defs,
	}, nil
}

func ruleOf(is string) map[string]any {
	var all []map[string]any
	var texts []string
	for one := range strings.SplitSeq(is, "|") {
		inner := one[1 : len(one)-1]
		switch one[0] {
		case '\'':
			texts = append(texts, inner)
		case '[':
			all = append(all, map[string]any{"type": "array", "items": ruleOf(inner)})
		case '{':
			all = append(all, map[string]any{
				"type":                 "object",
				"additionalProperties": ruleOf(inner),
			})
		default:
			all = append(all, map[string]any{"$ref": "#/$defs/" + strings.TrimPrefix(one, "form:")})
		}
	}

	if texts != nil {
		all = append(all, map[string]any{"enum": texts})
	}
	if len(all) == 1 {
		return all[0]
	}
	return map[string]any{"anyOf": all}
}

// Texts joins words into quoted texts for a Key.
func Texts(words []string) string {
	return "'" + strings.Join(words, "'|'") + "'"
}
