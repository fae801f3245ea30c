package jsonx_test

import (
	"bytes"
	"testing"

	"tercet/internal/jsonx"
)

// TestSkim: a value is read as Parse reads it, without what is inside of its members.
func TestSkim(t *testing.T) {
	t.Parallel()
	const src = `  {"a": {"x": [1, {"y": 2}]}, "b": "s\u0041", "c": [1, {"z": 1}], "a": 1.50} rest`
	s := jsonx.NewSkimmer(jsonx.Limits{Duplicates: true})
	for range 2 {
		v := s.Skim([]byte(src), 2, "a", "b", "c")
		if !v.Is(jsonx.Dict) || v.End != len(src)-len(" rest") || len(v.Members) != 3 {
			t.Fatalf("Skim = %+v", v)
		}
		if n, _ := v.Get("a").Num(); n != "1.50" {
			t.Errorf("a = %s, want the last", n)
		}
		if text, _ := v.Get("b").Str(); text != "sA" {
			t.Errorf("b = %q", text)
		}
		c := v.Get("c")
		if !c.Is(jsonx.Array) || c.Elems != nil || src[c.Start:c.End] != `[1, {"z": 1}]` {
			t.Errorf("c = %+v", c)
		}
	}

	for _, broken := range []string{
		``, `{`, `{"a":`, `{"a": [1, {"b": 01}]}`, `"x`, `[1,`, `{"a":1 "b":2}`, "[\"\x01\"]",
	} {
		if v := s.Skim([]byte(broken), 0); v != nil {
			t.Errorf("Skim(%q) = %+v, want nil", broken, v)
		}
	}

	v := jsonx.NewSkimmer(jsonx.Limits{}).Skim([]byte(`{"a": [{"b": 1, "b": 2}]}`), 0)
	if v != nil {
		t.Errorf("Skim of a key that stands twice = %+v, want nil", v)
	}
	if v := jsonx.NewSkimmer(jsonx.Limits{Depth: 2}).Skim([]byte(`{"a": [[]]}`), 0); v != nil {
		t.Errorf("Skim of too deep a value = %+v, want nil", v)
	}
}

func BenchmarkSkim(b *testing.B) {
	text := tasks(10_000)
	s := jsonx.NewSkimmer(jsonx.Limits{})
	at := bytes.IndexByte(text, '[')
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		for i := at + 1; ; i++ {
			for text[i] == ' ' || text[i] == '\n' {
				i++
			}
			v := s.Skim(text, i, "number")
			if v == nil {
				b.Fatalf("%s", text[i:min(len(text), i+50)])
			}
			for i = v.End; text[i] == ' ' || text[i] == '\n'; i++ {
			}
			if text[i] == ']' {
				break
			}
		}
	}
}
