package merge3_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/merge3"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		before, after string
		most          int
		want          []string
	}{
		{"a\nb\nc\n", "a\nb\nc\n", 10, nil},
		{"", "a\n", 10, []string{"+a"}},
		{"a\n", "", 10, []string{"-a"}},
		{
			"a\nb\nc\nd\ne\nf\n",
			"a\nb\nX\nd\ne\nf\n",
			20,
			[]string{" a", " b", "-c", "+X", " d", " e", "..."},
		},
		{"a\nb\n", "b\na\n", 20, []string{"-a", " b", "+a"}},
		{"a\n", "1\n2\n3\n", 2, []string{"-a", "+1", "... (more is not shown)"}},
	} {
		if d := cmp.Diff(tt.want, merge3.Diff(tt.before, tt.after, tt.most)); d != "" {
			t.Errorf("Diff(%q, %q) (-want +got)\n%s", tt.before, tt.after, d)
		}
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, base, yours, theirs, want string
		ok                              bool
	}{
		{"nothing", "a\nb\n", "a\nb\n", "a\nb\n", "a\nb\n", true},
		{"only theirs", "a\nb\n", "a\nb\n", "a\nB\n", "a\nB\n", true},
		{"only yours", "a\nb\n", "A\nb\n", "a\nb\n", "A\nb\n", true},
		{"apart", "a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n", true},
		{"the same", "a\nb\n", "a\nX\n", "a\nX\n", "a\nX\n", true},
		{"both added at the ends", "m\n", "top\nm\n", "m\nend\n", "top\nm\nend\n", true},
		{
			"removed and changed elsewhere", "a\nb\nc\nd\n", "b\nc\nd\n", "a\nb\nc\nD\n",
			"b\nc\nD\n", true,
		},
		// "b" and "b\n" are two lines
		{"without a last line end", "a\nb", "A\nb", "a\nb\nc", "A\nb\nc", false},
		{"the same line", "a\nb\nc\n", "a\nX\nc\n", "a\nY\nc\n", "", false},
		{"side by side", "a\nb\nc\n", "A\nb\nc\n", "a\nB\nc\n", "", false},
		{"removed and changed", "a\nb\nc\n", "a\nc\n", "a\nB\nc\n", "", false},
		{
			"line ends of Windows are kept", "a\r\nb\r\nc\r\n", "A\r\nb\r\nc\r\n",
			"a\r\nb\r\nC\r\n", "A\r\nb\r\nC\r\n", true,
		},
		{"from nothing", "", "", "a\n", "a\n", true},
	} {
		got, ok := merge3.Merge(tt.base, tt.yours, tt.theirs)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("%s: Merge = %q, %v, want %q, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

// FuzzMerge: one side alone is taken over, the sides may be exchanged, and each line of a merge
// comes from one of the texts.
func FuzzMerge(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nX\nc\n", "a\nb\nc\nd\n")
	f.Add("", "a", "b\n")
	f.Fuzz(func(t *testing.T, base, yours, theirs string) {
		if got, ok := merge3.Merge(base, yours, base); !ok || got != yours {
			t.Errorf("Merge(%q, %q, base) = %q, %v", base, yours, got, ok)
		}
		if got, ok := merge3.Merge(base, base, theirs); !ok || got != theirs {
			t.Errorf("Merge(%q, base, %q) = %q, %v", base, theirs, got, ok)
		}
		got, ok := merge3.Merge(base, yours, theirs)
		if again, same := merge3.Merge(base, theirs, yours); same != ok || again != got {
			t.Errorf("Merge(%q, %q, %q) = %q, %v, exchanged %q, %v",
				base, yours, theirs, got, ok, again, same)
		}
		all := strings.SplitAfter(base+"\n"+yours+"\n"+theirs, "\n")
		for _, line := range strings.SplitAfter(got, "\n") {
			if line != "" && !slices.Contains(all, line) && !slices.Contains(all, line+"\n") {
				t.Errorf("Merge(%q, %q, %q) made the line %q", base, yours, theirs, line)
			}
		}
	})
}

func TestDiffOfLongTextsEnds(t *testing.T) {
	t.Parallel()
	a := strings.Repeat("a\n", 100_000)
	b := strings.Repeat("b\n", 100_000)
	if got := merge3.Diff(a, b, 5); len(got) != 6 || got[0] != "-a" {
		t.Errorf("Diff() = %q, want five lines and a remark", got)
	}
}
