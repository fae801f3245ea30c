package schema_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"tercet/formats/schema"
)

// drawValue draws a small JSON value; names and numbers are few, so that values and schemas meet.
func drawValue(t *rapid.T, depth int) any {
	kinds := []string{"null", "bool", "number", "text"}
	if depth > 0 {
		kinds = append(kinds, "array", "object", "object")
	}

	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "bool":
		return rapid.Bool().Draw(t, "bool")
	case "number":
		return rapid.SampledFrom([]float64{0, 1, 2, 3, -1, 0.5, 1.5}).Draw(t, "number")
	case "text":
		return rapid.SampledFrom([]string{"", "a", "b", "ab", "äb", "abc"}).Draw(t, "text")
	case "array":
		out := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			out = append(out, drawValue(t, depth-1))
		}
		return out
	case "object":
		out := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			out[drawName(t)] = drawValue(t, depth-1)
		}
		return out
	}
	return nil
}

func drawName(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "b", "c", "ab"}).Draw(t, "name")
}

func drawSchemas(t *rapid.T, depth int) []any {
	out := []any{drawSchema(t, depth)}
	if rapid.Bool().Draw(t, "second") {
		out = append(out, drawSchema(t, depth))
	}
	return out
}

func drawNamed(t *rapid.T, depth int) map[string]any {
	out := map[string]any{drawName(t): drawSchema(t, depth)}
	out[drawName(t)] = drawSchema(t, depth)
	return out
}

// drawSchema draws a schema of one to four keywords.
func drawSchema(t *rapid.T, depth int) any {
	if rapid.IntRange(0, 9).Draw(t, "plain") == 0 {
		return rapid.Bool().Draw(t, "bool")
	}
	leaf := []string{
		"type", "types", "enum", "const", "minimum", "maximum", "exclusiveMinimum",
		"exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "minItems",
		"maxItems", "uniqueItems", "minProperties", "maxProperties", "required",
		"dependentRequired",
	}
	deep := []string{
		"allOf", "anyOf", "oneOf", "not", "if", "prefixItems", "items", "contains", "properties",
		"patternProperties", "additionalProperties", "propertyNames", "dependentSchemas",
		"unevaluatedItems", "unevaluatedProperties", "$ref",
	}
	out := map[string]any{}
	for range rapid.IntRange(1, 4).Draw(t, "keywords") {
		words := leaf
		if depth > 0 && rapid.IntRange(0, 2).Draw(t, "deep") > 0 {
			words = deep
		}
		key := rapid.SampledFrom(words).Draw(t, "keyword")
		switch key {
		case "type":
			out["type"] = rapid.SampledFrom([]string{
				"string", "integer", "number", "boolean", "object", "array", "null",
			}).Draw(t, "type")
		case "types":
			out["type"] = []any{"object", "array"}
		case "enum":
			out[key] = []any{drawValue(t, 1), drawValue(t, 1)}
		case "const":
			out[key] = drawValue(t, 1)
		case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
			out[key] = rapid.SampledFrom([]float64{0, 1, 1.5, 2}).Draw(t, "bound")
		case "multipleOf":
			out[key] = rapid.SampledFrom([]float64{0.5, 1, 2}).Draw(t, "multiple")
		case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
			out[key] = rapid.IntRange(0, 3).Draw(t, "count")
		case "pattern":
			out[key] = rapid.SampledFrom([]string{"a", "^a", "b$", "^.{2}$"}).Draw(t, "pattern")
		case "uniqueItems":
			out[key] = true
		case "required":
			out[key] = []any{drawName(t)}
		case "dependentRequired":
			out[key] = map[string]any{drawName(t): []any{drawName(t)}}
		case "allOf", "anyOf", "oneOf", "prefixItems":
			out[key] = drawSchemas(t, depth-1)
		case "if":
			out["if"] = drawSchema(t, depth-1)
			out["then"] = drawSchema(t, depth-1)
			out["else"] = drawSchema(t, depth-1)
		case "contains":
			out[key] = drawSchema(t, depth-1)
			if rapid.Bool().Draw(t, "bounded") {
				out["minContains"] = rapid.IntRange(0, 2).Draw(t, "least")
				out["maxContains"] = rapid.IntRange(1, 2).Draw(t, "most")
			}
		case "properties", "dependentSchemas":
			out[key] = drawNamed(t, depth-1)
		case "patternProperties":
			out[key] = map[string]any{rapid.SampledFrom([]string{"^a", "b"}).Draw(
				t,
				"names",
			): drawSchema(t, depth-1)}
		case "$ref":
			out[key] = "#/$defs/" + drawName(t)
		default:
			out[key] = drawSchema(t, depth-1)
		}
	}

	return out
}

// TestSameAsTheLibrary draws schemas and values and asks a library of others what it says of them.
func TestSameAsTheLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		root := map[string]any{
			"$defs": map[string]any{
				"a":  drawSchema(t, 1),
				"b":  drawSchema(t, 0),
				"c":  drawSchema(t, 0),
				"ab": drawSchema(t, 0),
			},
			"allOf": []any{drawSchema(t, 3)},
		}

		text, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}

		n, err := schema.Read(text)
		if err != nil {
			t.Fatalf("Read(%s) = %v", text, err)
		}

		s, faults := schema.Compile(n)
		if faults != nil {
			if faults[0].Message == "the schema refers to itself for the same value" {
				t.Skip("the library would not end")
			}
			t.Fatalf("Compile(%s) = %v", text, faults)
		}

		for range 5 {
			v := drawValue(t, 3)
			got := s.Validate("v", v)
			fits, known := verdict(string(text), v)
			if !known {
				t.Fatalf("the library cannot read %s", text)
			}

			if fits != (got == nil) {
				shown, err := json.Marshal(v)
				t.Fatalf("schema %s\nvalue %s (%v)\nthe library says fits = %v, Validate = %v",
					text, shown, err, fits, got)
			}
		}
	})
}
