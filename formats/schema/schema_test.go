package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	library "github.com/google/jsonschema-go/jsonschema"

	"tercet/formats/schema"
)

// compiled reads a schema that has no fault.
func compiled(t *testing.T, text string) *schema.Schema {
	t.Helper()
	n, err := schema.Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, faults := schema.Compile(n)
	if faults != nil {
		t.Fatalf("Compile(%s) = %v, want no fault", text, faults)
	}
	return s
}

// value reads a text as encoding/json does.
func value(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// verdict is what the library says of the same; known is false where it cannot read the schema.
func verdict(text string, v any) (fits, known bool) {
	var s library.Schema
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return false, false
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return false, false
	}
	return r.Validate(v) == nil, true
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, schema, value string
		want                string // the violations, one a line
	}{
		{"type", `{"type":"integer"}`, `"x1"`, `v: expected integer, got "x1"`},
		{"an integer may have a fraction of zero", `{"type":"integer"}`, `1.0`, ``},
		{
			"a number as it is written", `{"maximum":10}`, `1000000`,
			`v: expected at most 10, got 1000000`,
		},
		{
			"a number with a fraction is none", `{"type":["integer","null"]}`, `1.5`,
			`v: expected one of integer, null, got 1.5`,
		},
		{"true is no number", `{"type":"number"}`, `true`, `v: expected number, got true`},
		{
			"all violations of an object",
			`{"type":"object","required":["a","b","c"],"properties":{"a":{"type":"string"},` +
				`"b":{"type":"integer","minimum":3},"c":{}}}`,
			`{"a":1,"b":2}`,
			"v.c: expected a value, got nothing\nv.a: expected string, got 1\n" +
				"v.b: expected at least 3, got 2",
		},
		{
			"what is missing has its type",
			`{"required":["a"],"properties":{"a":{"type":"string"}}}`, `{}`,
			`v.a: expected string, got nothing`,
		},
		{
			"a name that jq cannot write plainly", `{"properties":{"a b":{"type":"string"}}}`,
			`{"a b":1}`, `v["a b"]: expected string, got 1`,
		},
		{
			"members that nobody asked for", `{"properties":{"a":{}},"additionalProperties":false}`,
			`{"a":1,"z":2,"b":3}`,
			"v.b: expected nothing here, got 3\nv.z: expected nothing here, got 2",
		},
		{
			"others have a schema", `{"additionalProperties":{"type":"string"}}`, `{"a":1}`,
			`v.a: expected string, got 1`,
		},
		{
			"by pattern",
			`{"patternProperties":{"^n":{"type":"number"}},"additionalProperties":false}`,
			`{"n1":1,"n2":"x","o":1}`,
			"v.n2: expected number, got \"x\"\nv.o: expected nothing here, got 1",
		},
		{
			"names", `{"propertyNames":{"maxLength":2}}`, `{"abc":1}`,
			`v: expected names as 'propertyNames' asks for, got {"abc":1}`,
		},
		{
			"numbers", `{"exclusiveMinimum":1,"exclusiveMaximum":5,"multipleOf":0.1}`, `5.05`,
			"v: expected less than 5, got 5.05\nv: expected a multiple of 0.1, got 5.05",
		},
		{"floats are what they are", `{"maximum":0.3}`, `0.3`, ``},
		{
			"texts", `{"minLength":3,"pattern":"^[a-z]+$"}`, `"ÄB"`,
			"v: expected at least 3 characters, got \"ÄB\"\n" +
				"v: expected text that matches ^[a-z]+$, got \"ÄB\"",
		},
		{"a pattern may match anywhere", `{"pattern":"b"}`, `"abc"`, ``},
		{
			"items", `{"items":{"type":"string"},"minItems":3}`, `["a",1]`,
			"v: expected at least 3 items, got [\"a\",1]\nv[1]: expected string, got 1",
		},
		{
			"the first items",
			`{"prefixItems":[{"type":"string"},{"type":"integer"}],"items":false}`, `[1,2,3]`,
			"v[0]: expected string, got 1\nv[2]: expected nothing here, got 3",
		},
		{
			"unlike items", `{"uniqueItems":true}`, `[1,{"a":1,"b":2},1.0,{"b":2,"a":1}]`,
			`v: expected items that all differ, got [1,{"a":1,"b":2},1,{"a":1,"b":2}]`,
		},
		{
			"contains", `{"contains":{"type":"string"},"minContains":2}`, `[1,"a"]`,
			`v: expected as many items as 'contains' asks for, got [1,"a"]`,
		},
		{
			"contains none", `{"contains":{"type":"string"}}`, `[1]`,
			`v: expected as many items as 'contains' asks for, got [1]`,
		},
		{
			"enum", `{"enum":["low","high",null]}`, `"hi"`,
			`v: expected one of "low", "high", null, got "hi"`,
		},
		{"enum of numbers", `{"enum":[1,2]}`, `1.0`, ``},
		{"const", `{"const":{"a":[1]}}`, `{"a":[2]}`, `v: expected {"a":[1]}, got {"a":[2]}`},
		{
			"all of", `{"allOf":[{"minimum":3},{"maximum":1}]}`, `2`,
			"v: expected at least 3, got 2\nv: expected at most 1, got 2",
		},
		{
			"any of", `{"anyOf":[{"type":"string"},{"minimum":3}]}`, `2`,
			`v: expected a value that one of 'anyOf' describes, got 2`,
		},
		{
			"one of", `{"oneOf":[{"minimum":1},{"minimum":2}]}`, `2`,
			`v: expected a value that exactly one of 'oneOf' describes, got 2`,
		},
		{
			"not", `{"not":{"type":"string"}}`, `"x"`,
			`v: expected a value that 'not' does not describe, got "x"`,
		},
		{
			"if and then",
			`{"if":{"properties":{"k":{"const":"a"}}},"then":{"required":["x"]},` +
				`"else":{"required":["y"]}}`,
			`{"k":"a"}`, `v: expected a value as 'if' asks for, got {"k":"a"}`,
		},
		{
			"else",
			`{"if":{"properties":{"k":{"const":"a"}}},"then":{"required":["x"]},` +
				`"else":{"required":["y"]}}`,
			`{"k":"b"}`, `v: expected a value as 'if' asks for, got {"k":"b"}`,
		},
		{
			"one member asks for another", `{"dependentRequired":{"card":["address"]}}`,
			`{"card":1}`, `v: expected members as 'dependentRequired' asks for, got {"card":1}`,
		},
		{
			"one member asks for a schema", `{"dependentSchemas":{"card":{"minProperties":2}}}`,
			`{"card":1}`, `v: expected a value as 'dependentSchemas' asks for, got {"card":1}`,
		},
		{
			"a reference",
			`{"$defs":{"n":{"type":"integer"}},"properties":{"a":{"$ref":"#/$defs/n"},` +
				`"b":{"$ref":"#num"}},"allOf":[{"$anchor":"num","not":{"type":"array"}}]}`,
			`{"a":"x","b":[]}`,
			"v.a: expected integer, got \"x\"\n" +
				"v.b: expected a value that 'not' does not describe, got []",
		},
		{
			"to itself, deeper", `{"type":"object","properties":{"next":{"$ref":"#"}}}`,
			`{"next":{"next":3}}`, `v.next.next: expected object, got 3`,
		},
		{
			"by its own name",
			`{"$id":"https://example.com/s","properties":{"a":{"$ref":"https://example.com/s#/$defs/n"}},"$defs":{"n":{"type":"null"}}}`,
			`{"a":1}`, `v.a: expected null, got 1`,
		},
		{
			"what no part looked at",
			`{"allOf":[{"properties":{"a":{}}}],"anyOf":[{"properties":{"b":{"type":"string"}}},true],"unevaluatedProperties":false}`,
			`{"a":1,"b":2,"c":3}`,
			`v: expected a value that fits the schema, got {"a":1,"b":2,"c":3}`,
		},
		{
			"items that no part looked at",
			`{"prefixItems":[true],"contains":{"type":"string"},` +
				`"unevaluatedItems":{"type":"null"}}`,
			`[1,"a",2]`, `v: expected a value that fits the schema, got [1,"a",2]`,
		},
		{
			"draft 07",
			`{"$schema":"http://json-schema.org/draft-07/schema#",` +
				`"definitions":{"n":{"type":"integer"}},"items":[{"$ref":"#/definitions/n"}],` +
				`"additionalItems":false}`,
			`["a",1]`, "v[0]: expected integer, got \"a\"\nv[1]: expected nothing here, got 1",
		},
		{
			"dependencies of draft 07",
			`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"],` +
				`"c":{"required":["d"]}}}`,
			`{"a":1,"c":1}`, `v: expected a value as 'dependencies' asks for, got {"a":1,"c":1}`,
		},
		{
			"remarks", `{"title":"t","format":"date","x-mine":1,"default":3,"examples":[1]}`,
			`"no date"`, ``,
		},
		{"true", `true`, `1`, ``},
		{"false", `false`, `1`, `v: expected nothing here, got 1`},
		{
			"other types are no matter of a keyword",
			`{"minimum":3,"minLength":3,"minItems":3,"required":["a"]}`, `null`, ``,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v := value(t, tc.value)
			found := compiled(t, tc.schema).Validate("v", v)

			var got []string
			for _, one := range found {
				got = append(got, one.String())
			}

			if diff := cmp.Diff(tc.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("Validate(%s): (-want +got)\n%s", tc.value, diff)
			}

			if fits, known := verdict(tc.schema, v); !known || fits != (found == nil) {
				t.Errorf("the library says fits = %v (read: %v), Validate = %v", fits, known, found)
			}
		})
	}
}
