package record_test

import (
	"testing"

	"tercet/formats/record"
)

func TestSplitPair(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]string{
		"SPEC: docs/SPEC.md":        {"SPEC", "docs/SPEC.md"},
		"SPEC.md (last_updated: d)": {},
		"a (b: c): d: e":            {"a (b: c)", "d: e"},
		"a:b":                       {},
		"a:":                        {"a", ""},
		": b":                       {},
		"":                          {},
		"x) y: z":                   {},
	} {
		key, value, ok := record.SplitPair(in)
		if key != want[0] || value != want[1] || ok != (want[0] != "") {
			t.Errorf("SplitPair(%q) = %q, %q, %v, want %q", in, key, value, ok, want)
		}
	}
}
