package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/formats/schema"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, schema, want string }{
		{
			"no schema",
			`3`,
			`1:1 expected a schema, got 3 (write a map of keywords such as {type: object})`,
		},
		{
			"an unknown type",
			`{"type": "strin"}`,
			`1:10 unknown type "strin" (did you mean 'string'?)`,
		},
		{
			"one of several",
			`{"type": ["string", "text"]}`,
			`1:21 unknown type "text" (the types are string, integer, number, boolean, ` +
				`object, array, null)`,
		},
		{
			"no type",
			`{"type": []}`,
			`1:10 expected a type, or a list of at least one in 'type', got a list ()`,
		},
		{
			"a slip",
			"{\n  \"requird\": [\"a\"]\n}",
			`2:3 unknown keyword 'requird' in a schema (did you mean 'required'?)`,
		},
		{
			"an unknown word",
			`{"colour": 1}`,
			`1:2 unknown keyword 'colour' in a schema (a remark of your own begins with x-)`,
		},
		{
			"required of draft 03",
			`{"required": true}`,
			`1:14 expected a list of texts, got true (write [name])`,
		},
		{
			"twice",
			`{"required": ["a", "a"]}`,
			`1:14 expected a list of texts, got a list (write [name])`,
		},
		{
			"a bound of draft 04",
			`{"exclusiveMinimum": true}`,
			`1:22 expected a number in 'exclusiveMinimum', got true ()`,
		},
		{"a bound as text", `{"minimum": "3"}`, `1:13 expected a number in 'minimum', got "3" ()`},
		{
			"a multiple of nothing",
			`{"multipleOf": 0}`,
			`1:16 expected a number above 0 in 'multipleOf', got 0 ()`,
		},
		{
			"a count",
			`{"minItems": -1}`,
			`1:14 expected a whole number of at least 0 in 'minItems', got -1 ()`,
		},
		{
			"a huge number",
			`{"minimum": 1e999999999}`,
			`1:13 expected a number in 'minimum', got 1e999999999 ()`,
		},
		{
			"a pattern",
			`{"pattern": "(?=x)"}`,
			"1:13 expected a pattern, got \"(?=x)\": invalid or unsupported Perl syntax: `(?=` " +
				"(patterns are of the syntax RE2, without look-ahead and back-references)",
		},
		{
			"a list of items",
			`{"items": [{}]}`,
			`1:11 a list in 'items' is draft 07 (write prefixItems)`,
		},
		{
			"dependencies",
			`{"dependencies": {}}`,
			`1:2 'dependencies' is not checked by tercet (write dependentRequired or ` +
				`dependentSchemas)`,
		},
		{
			"of another standard",
			`{"type": "string", "nullable": true}`,
			`1:20 'nullable' is not checked by tercet (write type: [string, 'null'])`,
		},
		{
			"from elsewhere",
			`{"$ref": "https://example.com/x.json"}`,
			`1:10 expected a reference inside this schema, got "https://example.com/x.json": ` +
				`nothing is fetched (copy the other schema under $defs, and write #/$defs/NAME)`,
		},
		{
			"a file",
			`{"$ref": "other.json#/x"}`,
			`1:10 expected a reference inside this schema, got "other.json#/x": ` +
				`nothing is fetched (copy the other schema under $defs, and write #/$defs/NAME)`,
		},
		{
			"to nothing",
			`{"$ref": "#/$defs/x"}`,
			`1:10 nothing stands at "#/$defs/x" (write #/$defs/NAME for a schema under $defs)`,
		},
		{
			"to itself",
			`{"$ref": "#"}`,
			`1:1 the schema refers to itself for the same value (let it refer to itself ` +
				`below a property or an item)`,
		},
		{
			"in a circle",
			`{"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, ` +
				`"b": {"not": {"$ref": "#/$defs/a"}}}, "items": {"$ref": "#/$defs/a"}}`,
			`1:17 the schema refers to itself for the same value (let it refer to itself ` +
				`below a property or an item)`,
		},
		{
			"another draft",
			`{"$schema": "http://json-schema.org/draft-04/schema#"}`,
			`1:13 expected draft 2020-12 or 07 in '$schema', ` +
				`got "http://json-schema.org/draft-04/schema#" (write ` +
				`https://json-schema.org/draft/2020-12/schema or ` +
				`http://json-schema.org/draft-07/schema#)`,
		},
		{
			"beside a reference of draft 07",
			`{"$schema": "http://json-schema.org/draft-07/schema#", "items": {"$ref": "#", ` +
				`"type": "array"}}`,
			`1:79 'type' beside '$ref' counts for nothing in draft 07 (write allOf: [{$ref: ` +
				`...}, {...}])`,
		},
		{
			"newer than draft 07",
			`{"$schema": "http://json-schema.org/draft-07/schema#", "prefixItems": []}`,
			`1:56 'prefixItems' is not of draft 07 (write $schema: ` +
				`https://json-schema.org/draft/2020-12/schema)`,
		},
		{
			"all of them",
			`{"type": "x", "anyOf": [], "properties": {"a": {"minimum": null}}}`,
			"1:10 unknown type \"x\" (the types are string, integer, number, boolean, object, " +
				"array, null)\n1:24 expected a list of at least one schema in 'anyOf', got a " +
				"list ()\n1:60 expected a number in 'minimum', got null ()",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()

			n, err := schema.Read([]byte(tc.schema))
			if err != nil {
				t.Fatal(err)
			}

			s, faults := schema.Compile(n)
			if s != nil {
				t.Errorf("Compile(%s) gave a schema, want none", tc.schema)
			}

			var got []string
			for _, f := range faults {
				got = append(
					got,
					fmt.Sprintf("%d:%d %s (%s)", f.Pos.Line, f.Pos.Col, f.Message, f.Help),
				)
			}

			if diff := cmp.Diff(tc.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("Compile(%s): (-want +got)\n%s", tc.schema, diff)
			}
		})
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, want string }{
		{"{\"a\": 1,\n \"a\": 2}", `2:2: duplicate key "a"`},
		{`{"type": }`, `1:10: expected a value, got "}"`},
		{strings.Repeat(`{"not":`, 100) + "1" + strings.Repeat("}", 100), "nesting is deeper"},
		{"", "expected a value"},
	} {
		_, err := schema.Read([]byte(tc.text))
		broken, ok := errors.AsType[*formats.Failure](err)
		if !ok ||
			!strings.Contains(
				fmt.Sprintf("%d:%d: %s", broken.Pos.Line, broken.Pos.Col, broken.Message),
				tc.want,
			) {
			t.Errorf("Read(%.40q) = %v, want %s", tc.text, err, tc.want)
		}
	}
}

// TestDoubledReferences: 40 references of which each doubles the next are refused before anything
// is held against them.
func TestDoubledReferences(t *testing.T) {
	t.Parallel()
	defs := map[string]any{}
	for i := range 40 {
		next := map[string]any{"$ref": fmt.Sprintf("#/$defs/d%d", i+1)}
		defs[fmt.Sprintf(
			"d%d",
			i,
		)] = map[string]any{"anyOf": []any{
			next,
			map[string]any{"not": map[string]any{"not": next}},
		}}
	}

	defs["d40"] = map[string]any{"type": "string"}
	text, err := json.Marshal(map[string]any{"$defs": defs, "$ref": "#/$defs/d0"})
	if err != nil {
		t.Fatal(err)
	}
	n, err := schema.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	_, faults := schema.Compile(n)
	if len(faults) != 1 ||
		!strings.Contains(faults[0].Message, "expected at most 1000 schemas for one value") {
		t.Errorf("Compile = %v, want one finding about 1000 schemas", faults)
	}
	list := make([]any, 1001)
	for i := range list {
		list[i] = map[string]any{}
	}

	text, err = json.Marshal(map[string]any{"prefixItems": list})
	if err != nil {
		t.Fatal(err)
	}
	n, err = schema.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	_, faults = schema.Compile(n)
	if len(faults) != 1 ||
		!strings.Contains(faults[0].Message, "expected at most 1000 schemas in a schema") {
		t.Errorf("Compile = %v, want one finding about 1000 schemas", faults)
	}
}

// TestBounded holds schemas that ask for exponential work against values.
func TestBounded(t *testing.T) {
	t.Parallel()
	deep := any(1)
	for range 60 {
		deep = map[string]any{"a": deep}
	}

	below := map[string]any{"properties": map[string]any{"a": map[string]any{"$ref": "#"}}}
	long := strings.Repeat("a", 300_000)
	many := make([]any, 60_000)
	for i := range many {
		many[i] = float64(i % 2)
	}

	for name, tc := range map[string]struct{ schema, value any }{
		"doubled levels": {
			map[string]any{
				"allOf": []any{below, map[string]any{"not": map[string]any{"not": below}}},
				"not":   map[string]any{"type": "number"},
			},
			deep,
		},
		"a long text":  {map[string]any{"pattern": "(a?){500}a{500}$"}, long},
		"unlike items": {map[string]any{"uniqueItems": true}, many},
		"a long list": {
			map[string]any{"items": map[string]any{"anyOf": []any{
				map[string]any{"enum": []any{"x"}},
				map[string]any{"type": "string"},
			}}},
			many,
		},
		"a number": {map[string]any{"multipleOf": 3}, json.Number("1e999999999")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			text, err := json.Marshal(tc.schema)
			if err != nil {
				t.Fatal(err)
			}

			s := compiled(t, string(text))

			begin := time.Now()
			found := s.Validate("v", tc.value)
			if len(found) == 0 || len(found) > 51 {
				t.Errorf("Validate = %d violations, want 1 to 51", len(found))
			}

			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("Validate took %s", took)
			}
		})
	}
}

func FuzzSchema(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/n"}},` +
			`"$defs":{"n":{"enum":[1,"x"]}}}`,
		`{"anyOf":[{"pattern":"^a"},{"items":{"$ref":"#"}}]}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","items":[true],` +
			`"additionalItems":false,"dependencies":{"a":["b"]}}`,
		`{"unevaluatedProperties":false,"allOf":[{"$anchor":"x"}],"not":{"$ref":"#x"}}`,
	} {
		f.Add([]byte(seed), []byte(`{"a":[1,"x",{"b":null}]}`))
	}

	f.Fuzz(func(t *testing.T, text, against []byte) {
		n, err := schema.Read(text)
		if err != nil {
			return
		}

		s, faults := schema.Compile(n)
		if (s == nil) != (len(faults) > 0) {
			t.Fatalf("Compile(%s) = %v, %v", text, s, faults)
		}

		var v any
		if s == nil || json.Unmarshal(against, &v) != nil {
			return
		}

		found := s.Validate("v", v)

		// The text that agents are given is the same schema.
		again := compiled(t, string(s.JSON()))
		if (found == nil) != (again.Validate("v", v) == nil) {
			t.Fatalf("Validate(%s) = %v, and otherwise by %s", against, found, s.JSON())
		}
	})
}
