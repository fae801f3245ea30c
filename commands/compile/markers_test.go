package compile_test

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"tercet/commands/compile"
	"tercet/formats"
	"tercet/internal/testkit/marked"
)

func TestMarkers(t *testing.T) {
	t.Parallel()
	env := shipped(t)

	for name, src := range read(t, "testdata/*.md") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			expected, err := marked.Read(string(src))
			if err != nil {
				t.Fatal(err)
			}

			_, found := try(t, env, name, src)
			for _, d := range found {
				if !expected.Meets(d.Pos.Line, d.Code+": "+d.Message) {
					t.Errorf("unexpected: %v", d)
				}
				worded(t, d)
			}

			for _, m := range expected.Unmet() {
				t.Errorf("%s:%d: no finding matches %q", name, m.Line, m.Pattern)
			}

			sorted := slices.IsSortedFunc(found, func(a, b formats.Diagnostic) int {
				return cmp.Or(a.Pos.Line-b.Pos.Line, a.Pos.Col-b.Pos.Col)
			})
			if !sorted {
				t.Errorf("findings are not sorted: %v", found)
			}
		})
	}
}

// worded holds a message against what people can read: lower case, no period, no failure to do
// something.
func worded(t *testing.T, d formats.Diagnostic) {
	t.Helper()
	for _, text := range []string{d.Message, d.Help} {
		first, _ := utf8First(text)
		if unicode.IsUpper(first) && !strings.HasPrefix(text, "$ENV") ||
			strings.HasSuffix(strings.TrimSuffix(text, "..."), ".") ||
			strings.Contains(text, "failed to") || strings.HasPrefix(text, "error") {
			t.Errorf("wording of %v (help: %s)", d, d.Help)
		}
	}
	if d.Pos.IsZero() || d.File == "" {
		t.Errorf("no place: %v", d)
	}
}

func utf8First(s string) (rune, bool) {
	for _, r := range s {
		return r, true
	}
	return 0, false
}

// TestCodes holds the table of codes against what the test files bring about.
func TestCodes(t *testing.T) {
	t.Parallel()
	env := shipped(t)
	seen := map[string]bool{}
	for name, src := range read(t, "testdata/*.md") {
		_, found := try(t, env, name, src)
		for _, d := range found {
			seen[d.Code] = true
		}
	}

	known := map[string]bool{}
	for _, file := range []string{
		"codes.go", "../syntax/codes.go", "../argspec/spec.go", "../../internal/md/errors.go",
	} {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`= "([EW]\d{3})"`).FindAllSubmatch(src, -1) {
			code := string(m[1])
			known[code] = true
			if file == "codes.go" && !seen[code] {
				t.Errorf("no test file brings about %s", code)
			}
		}
	}

	for _, code := range []string{
		compile.CodeUnknownKey,
		compile.CodeCompanion,
		compile.CodeAction,
	} {
		if !seen[code] || !known[code] {
			t.Errorf("no test file brings about %s, which package syntax has too", code)
		}
	}

	for code := range seen {
		if !known[code] {
			t.Errorf("code %s is not in the table", code)
		}
	}
}
