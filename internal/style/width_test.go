package style_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/style"
)

func TestCut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text    string
		columns int
		want    string
	}{
		{"short", 5, "short"},
		{"too long", 5, "too …"},
		{"日本語です", 6, "日本…"},
		{"no width is known", 0, "no width is known"},
	} {
		got := style.Cut(tt.text, tt.columns)
		if got != tt.want || tt.columns > 0 && style.Width(got) > tt.columns {
			t.Errorf("Cut(%q, %d) = %q, want %q", tt.text, tt.columns, got, tt.want)
		}
	}
}

// TestWrap: what goes on stands below its column where its words have room there, else below the
// line; no word is broken.
func TestWrap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text    string
		columns int
		want    string
	}{
		{"  as wide  as it is", 20, "  as wide  as it is"},
		{"one two three four five", 20, "one two three four\nfive"},
		{"    one two three four five", 20, "    one two three\n    four five"},
		{"  e  a note, written with it", 20, "  e  a note, written\n     with it"},
		{"  publish      delegate it", 20, "  publish\n      delegate it"},
		{"    deep  implementation now", 22, "    deep\n        implementation\n        now"},
		{
			"see .tercet/specs/001_fix_the_parser now",
			20,
			"see\n.tercet/specs/001_fix_the_parser\nnow",
		},
		{"日本語です 日本語です", 20, "日本語です\n日本語です"},
		{"- one two three four five", 20, "- one two three four\n  five"},
		{" 10. one two three four", 20, " 10. one two three\n     four"},
		{"please run 'tercet gc --all', or stop", 20, "please run\n'tercet gc --all',\nor stop"},
		{"it's 'a very long quoted text'", 20, "it's 'a very long\nquoted text'"},
		{
			"please run 'tercet gc --all --dry-run', or stop",
			20,
			"please run\n'tercet gc --all --dry-run',\nor stop",
		},
		{"and then tercet /plan 1, or stop", 20, "and then\ntercet /plan 1, or\nstop"},
		{
			"then type tercet /task one two three four",
			20,
			"then type tercet\n/task one two three\nfour",
		},
		{
			"go on with: tercet resume r7 --from 'the step'",
			20,
			"go on with:\ntercet resume r7 --from 'the step'",
		},
		{"such as /meta triage --agents a,b", 20, "such as\n/meta triage --agents a,b"},
		{"run it: tercet one, or stop then", 20, "run it: tercet one,\nor stop then"},
		{"one two three.  Four five", 20, "one two three.  Four\nfive"},
		{"no width is known, so nothing is broken", 0, "no width is known, so nothing is broken"},
	} {
		if got := style.Wrap(tt.text, tt.columns); got != tt.want {
			t.Errorf("Wrap(%q, %d) = %q, want %q", tt.text, tt.columns, got, tt.want)
		}
	}
}

// TestProse: sentences and lists are broken, what is copied is not.
func TestProse(t *testing.T) {
	t.Parallel()
	const copied = "```\ngo test ./... -run Everything\n```\n\n    go vet ./... everywhere\n\n" +
		"| a table | has its rows | whole |\n"
	const patch = "why it is so and not otherwise\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n" +
		"-a line that is wide\n+another one that is wide\n"
	for text, want := range map[string]string{
		"What there is to say:\n\n" + copied +
			"- one two three four five\n": "What there is to\nsay:\n\n" + copied +
			"- one two three four\n  five\n",
		patch: patch,
	} {
		if diff := cmp.Diff(want, style.Prose(text, 20)); diff != "" {
			t.Errorf("Prose (-want +got):\n%s", diff)
		}
		if got := style.Prose(text, 0); got != text {
			t.Errorf("without a width: %q", got)
		}
	}
}

func TestAround(t *testing.T) {
	t.Parallel()
	line := "choices: {ja 日本語: next, no: fail, let me think about it: never} # and more words " +
		"behind it"
	for _, word := range []string{"choices", "日本語", "fail", "never", "it\x00"} {
		word, last := strings.CutSuffix(word, "\x00")
		at := strings.Index(line, word)
		if last {
			at = strings.LastIndex(line, word)
		}
		for columns := 20; columns < 120; columns++ {
			shown, column := style.Around(line, at, columns)
			if style.Width(shown) > columns {
				t.Fatalf("Around(%q, %d) = %q, too wide", word, columns, shown)
			}
			i := 0
			for style.Width(shown[:i]) < column {
				i++
			}
			// Width counts the bytes of half a character
			for i < len(shown) && shown[i]&0xC0 == 0x80 {
				i++
			}
			if !strings.HasPrefix(shown[i:], word[:1]) {
				t.Fatalf("Around(%q, %d) = %q with %d, where %q stands",
					word, columns, shown, column, shown[i:])
			}
		}
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		widths  []int
		columns int
		fits    bool
		want    []int
	}{
		{[]int{10, 5}, 17, true, []int{10, 5}},
		{[]int{10, 30, 8}, 40, false, []int{10, 18, 8}},
		{[]int{10, 30, 30}, 44, false, []int{10, 15, 15}},
		{[]int{30, 6, 6}, 40, false, []int{30, 6, 6}}, // what is too much breaks
		{[]int{50}, 40, false, []int{50}},
		{[]int{50, 50}, 0, true, []int{50, 50}},
	} {
		got := slices.Clone(tt.widths)
		if fits := style.Fit(got, tt.columns); fits != tt.fits || !slices.Equal(got, tt.want) {
			t.Errorf("Fit(%v, %d) = %t %v, want %t %v",
				tt.widths, tt.columns, fits, got, tt.fits, tt.want)
		}
	}
}
