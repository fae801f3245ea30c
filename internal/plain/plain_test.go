package plain_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/plain"
)

// nasty is what strangers write to get at a terminal.
const nasty = "a\x1b]52;c;eA==\x07b\x9bc\u009b31m\u202ed\u2066\u200b\u00ad\U000e0041\n" +
	"tercet: all is well\r\x00\x7f\xff"

// badIn gives the first thing of an output that must not reach a terminal; line feeds and tabs are
// looked for by the caller.
func badIn(s string) string {
	if !utf8.ValidString(s) {
		return "no UTF-8"
	}
	for _, r := range s {
		switch {
		case r == '\n', r == '\t':
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069,
			r == 0x61c, r >= 0x200b && r <= 0x200f, r == 0x2060, r == 0xfeff, r == 0x2028,
			r == 0x2029:
			return "a character that the terminal obeys"
		}
	}
	return ""
}

func FuzzPlain(f *testing.F) {
	for _, s := range []string{
		"", "plain\n\ttext", nasty, "\xc2", "\xe2\x80", "\U0010ffff", "\u061c\u2028\u2060\ufeff",
		"\xed\xa0\x80", "\"\u0085\U000e0001\"", "é中👩‍💻",
	} {
		f.Add(s)
	}

	f.Fuzz(func(t *testing.T, s string) {
		shown := plain.Text(s)
		line := plain.Line(s)
		message := plain.Message(s)
		for _, out := range []string{
			shown, line,
			message,
			plain.Sprintf("%s %v %q", s, errors.New(s), s),
			plain.Sprintf("%s", plain.Passage(s)),
		} {
			if bad := badIn(out); bad != "" {
				t.Fatalf("%q became %q: %s", s, out, bad)
			}
		}

		if strings.ContainsAny(line, "\n\t") {
			t.Fatalf("%q became %q: more than one line or cell", s, line)
		}
		if strings.Count(message, "\n") != strings.Count(message, plain.Continued) {
			t.Fatalf("%q became %q: a line without its mark", s, message)
		}
		if plain.Text(shown) != shown || plain.Line(line) != line {
			t.Fatalf("%q is not stable: %q", s, shown)
		}
		if strings.Count(shown, "\n") != strings.Count(s, "\n") {
			t.Fatalf("%q became %q: lines were lost or made", s, shown)
		}
		var seen bytes.Buffer
		out := &plain.Writer{To: &seen}
		for i := range len(s) { // each byte on its own
			_, _ = out.Write([]byte{s[i]})
		}

		if got := seen.String() + plain.Text(out.Rest()); got != shown {
			t.Fatalf("%q became %q in pieces, %q at once", s, got, shown)
		}
		doc, err := json.Marshal(map[string]string{"k": s})
		if err != nil {
			t.Fatal(err)
		}
		safe := plain.JSON(doc)
		if bad := badIn(string(safe)); bad != "" || bytes.ContainsAny(safe, "\n\t\r") {
			t.Fatalf("%q became %q: %s", doc, safe, bad)
		}
		var before, after map[string]string
		err = errors.Join(json.Unmarshal(doc, &before), json.Unmarshal(safe, &after))
		if err != nil || before["k"] != after["k"] {
			t.Fatalf("%q became %q, which means something else: %v", doc, safe, err)
		}
	})
}

// TestForms shows the forms: as text, inside a line, as a message.
func TestForms(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, text, line, message string }{
		{"plain é中", "plain é中", "plain é中", "plain é中"},
		{"a\nb\tc\n", "a\nb\tc\n", "a<U+000A>b<U+0009>c<U+000A>", "a\n  > b\tc"},
		{"\x1b[31m", "<U+001B>[31m", "<U+001B>[31m", "<U+001B>[31m"},
		{"\x9b\u009b\xff", "<0x9B><U+009B><0xFF>", "<0x9B><U+009B><0xFF>", "<0x9B><U+009B><0xFF>"},
		{
			"\u061c\u00ad\u2060\u2028\U000e0041", "<U+061C><U+00AD><U+2060><U+2028><U+E0041>",
			"<U+061C><U+00AD><U+2060><U+2028><U+E0041>",
			"<U+061C><U+00AD><U+2060><U+2028><U+E0041>",
		},
	} {
		diff := cmp.Diff(
			[]string{tc.text, tc.line, tc.message},
			[]string{plain.Text(tc.in), plain.Line(tc.in), plain.Message(tc.in)},
		)
		if diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.in, diff)
		}
	}
}
