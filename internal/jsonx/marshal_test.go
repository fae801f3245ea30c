package jsonx_test

import (
	"encoding/json"
	"math"
	"math/big"
	"testing"

	"tercet/internal/jsonx"

	"github.com/google/go-cmp/cmp"
)

func TestMarshal(t *testing.T) {
	t.Parallel()
	type inner struct {
		Z int             `json:"z"`
		A map[string]int  `json:"a"`
		O *jsonx.Object   `json:"o,omitempty"`
		R json.RawMessage `json:"r,omitempty"`
		S *string         `json:"s"`
		F float64         `json:"f"`
		X func()          `json:"-"`
	}
	tree, err := jsonx.Parse(
		[]byte(`{"z": [1.0, 1e400, true, null], "a": "<\u00e9\u0000>"}`),
		jsonx.Limits{},
	)
	if err != nil {
		t.Fatal(err)
	}
	obj := new(jsonx.Object).Set("z", 1).Set("a", json.RawMessage("{ \"n\" : [ 1.50 ] }")).Set(
		"z", "<&>",
	)
	tests := []struct {
		v    any
		want string
	}{
		{nil, `null`},
		{true, `true`},
		{-3, `-3`},
		{int64(math.MinInt64), `-9223372036854775808`},
		{1.5, `1.5`},
		{uint8(7), `7`},
		{json.Number("1.00"), `1.00`},
		{big.NewInt(12), `12`},
		{"a\"\\\b\f\n\r\t\x01\x7f<é\u2028", "\"a\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u007f<é\u2028\""},
		{"a\xffb", "\"a\ufffdb\""},
		{[]any{}, `[]`},
		{[]string{"b", "a"}, `["b","a"]`},
		{map[string]any{"b": []any{1, nil}, "a": map[string]any{}}, `{"a":{},"b":[1,null]}`},
		{obj, `{"z":"<&>","a":{"n":[1.50]}}`},
		{(*jsonx.Object)(nil), `null`},
		{tree, `{"z":[1.0,1e400,true,null],"a":"<é\u0000>"}`},
		{
			inner{
				Z: 1,
				A: map[string]int{"q": 1, "b": 2},
				O: obj,
				R: json.RawMessage(`[ 1.0 ]`),
			},
			`{"z":1,"a":{"b":2,"q":1},"o":{"z":"<&>","a":{"n":[1.50]}},"r":[1.0],"s":null,"f":0}`,
		},
		{[]any{inner{}}, `[{"z":0,"a":null,"s":null,"f":0}]`},
	}
	for _, tt := range tests {
		got, err := jsonx.Marshal(tt.v, "")
		if err != nil || string(got) != tt.want {
			t.Errorf("Marshal(%#v) = %s, %v, want %s", tt.v, got, err, tt.want)
		}
	}
}

func TestMarshalIndent(t *testing.T) {
	t.Parallel()
	v := new(jsonx.Object).Set("a", []any{1, []any{}, map[string]any{}, "x:,{[\"\\"}).Set(
		"b",
		new(jsonx.Object).Set("c", nil),
	).Set("d", []any{[]any{[]any{}}})
	want := `{
  "a": [
    1,
    [],
    {},
    "x:,{[\"\\"
  ],
  "b": {
    "c": null
  },
  "d": [
    [
      []
    ]
  ]
}`
	got, err := jsonx.Marshal(v, "  ")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("Marshal (-want +got):\n%s", diff)
	}
	line, err := jsonx.MarshalLine(v)
	want = `{"a": [1, [], {}, "x:,{[\"\\"], "b": {"c": null}, "d": [[[]]]}`
	if err != nil || string(line) != want {
		t.Errorf("MarshalLine = %s, %v, want %s", line, err, want)
	}
}

func TestMarshalErrors(t *testing.T) {
	t.Parallel()
	loop := map[string]any{}
	loop["x"] = loop
	tests := []struct {
		v    any
		want string
	}{
		{math.NaN(), `unsupported value: NaN`},
		{map[string]any{"a": []any{1, math.Inf(1)}}, `unsupported value: +Inf`},
		{[]any{json.Number("1.")}, `invalid number "1."`},
		{json.Number(""), `invalid number ""`},
		{json.RawMessage(`{"a":1,"a":2}`), `raw value: 1:8: duplicate key "a", first at 1:2`},
		{loop, `nesting is deeper than 1000`},
		{func() {}, `unsupported type: func()`},
	}
	for _, tt := range tests {
		_, err := jsonx.Marshal(tt.v, "")
		if err == nil || err.Error() != tt.want {
			t.Errorf("Marshal = %v, want %s", err, tt.want)
		}
		if _, err := jsonx.MarshalLine(tt.v); err == nil {
			t.Errorf("MarshalLine = nil, want %s", tt.want)
		}
	}
}
