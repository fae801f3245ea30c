package parts_test

import (
	"testing"

	"tercet/internal/parts"
)

const archive = `-- letter --
Dear <name>,
?PS: <note>, <note>
?<list>

yours
-- empty --
`

func TestFill(t *testing.T) {
	t.Parallel()
	p := parts.Parse(archive)
	for _, c := range []struct {
		part   string
		values parts.Values
		want   string
	}{
		{"empty", nil, ""},
		{
			"letter",
			parts.Values{"name": "A", "note": "", "list": "a\n?b"},
			"Dear A,\na\n?b\n\nyours",
		},
		{
			"letter",
			parts.Values{"name": "<note>", "note": "x", "list": "", "unused": ""},
			"Dear <note>,\nPS: x, x\n\nyours",
		},
	} {
		if got := p.Fill(c.part, c.values); got != c.want {
			t.Errorf("Fill(%q, %v) = %q, want %q", c.part, c.values, got, c.want)
		}
	}
}

func TestFillShowsWhatIsMissing(t *testing.T) {
	t.Parallel()
	p := parts.Parse("-- value --\n<x>.\n-- end --\n1 < 2\n")
	for part, want := range map[string]string{
		"value": "%!(MISSING x).",
		"end":   "1 %!(MISSING  2)",
		"part":  "%!(MISSING part)",
	} {
		if got := p.Fill(part, parts.Values{"y": "1"}); got != want {
			t.Errorf("Fill(%q) = %q, want %q", part, got, want)
		}
	}
}
