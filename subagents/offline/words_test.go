package offline_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"tercet/subagents/offline"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		title, description string
		want               []offline.Word
	}{
		"nothing":    {"", "", nil},
		"stop words": {"Fix the wrong result when this should work", "", nil},
		"prose": {"Login redirects twice", "The login page is slow.", []offline.Word{
			{"login", "word"}, {"redirects", "word"}, {"page", "word"}, {"slow", "word"},
		}},
		"identifiers in prose": {
			"parse_line and nextToken and Run() and err2 and pages.Expand",
			"",
			[]offline.Word{
				{"parse_line", "identifier"},
				{"nextToken", "identifier"},
				{"Run", "identifier"},
				{"err2", "identifier"},
				{"Expand", "identifier"},
				{"pages.Expand", "quoted text"},
				{"parse", "word"},
				{"token", "word"},
				{"run", "word"},
				{"err2", "word"},
				{"pages", "word"},
				{"expand", "word"},
			},
		},
		"not an identifier": {
			"e.g. the login, i.e. i18",
			"",
			[]offline.Word{{"i18", "identifier"}, {"login", "word"}, {"i18", "word"}},
		},
		"paths": {
			"",
			"See cmd/tercet/main.go, main.go; and ./a/b.txt (docs/) or and/or, " +
				"https://example.org/a.go",
			[]offline.Word{
				{"cmd/tercet/main.go", "path"},
				{"main.go", "path"},
				{"./a/b.txt", "path"},
				{"docs/", "path"},
				{"https", "word"},
				{"org", "word"},
				{"cmd", "word"},
				{"tercet", "word"},
				{"main", "word"},
				{"docs", "word"},
			},
		},
		"quotes": {"", "It says \"no such page\" and “open door”, not \"\" or \"a", []offline.Word{
			{"no such page", "quoted text"},
			{"open door", "quoted text"},
			{"page", "word"},
			{"door", "word"},
		}},
		"inline code": {
			"",
			"`pages.Expand(\"1,3-5\")` in `pages/pages.go`, `<`, `Expand`, `a b`",
			[]offline.Word{
				{"pages/pages.go", "path"},
				{"Expand", "identifier"},
				{`pages.Expand("1,3-5")`, "quoted text"},
				{"1,3-5", "quoted text"},
				{"pages.Expand", "quoted text"},
				{"a b", "quoted text"},
				{"pages", "word"},
				{"expand", "word"},
			},
		},
		"quotes in inline code": {"", "`\"7-7\"` and `\"a b\" + \"c d\"`", []offline.Word{
			{"7-7", "quoted text"},
			{`"a b" + "c d"`, "quoted text"},
			{"a b", "quoted text"},
			{"c d", "quoted text"},
		}},
		"fences are left out": {
			"",
			"login\n```sh\ngit apply patch_file\n```\n~~~\nnested_name\n```\n~~~\ntoken_a",
			[]offline.Word{
				{"token_a", "identifier"}, {"login", "word"}, {"token", "word"},
			},
		},
		"a word stands once with its best kind": {
			"expand Expand `Expand`",
			"",
			[]offline.Word{{"Expand", "identifier"}, {"expand", "word"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := offline.Words(tc.title, tc.description)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Words(%q, %q) (-want +got):\n%s", tc.title, tc.description, diff)
			}
		})
	}
}

func TestWordsAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 500 {
		b.WriteString(" name_" + strings.Repeat("x", i%200) + string(rune('a'+i%26)))
	}
	got := offline.Words(b.String(), "")
	if len(got) != 80 {
		t.Errorf("len(Words(500 names)) = %d, want 80", len(got))
	}
	for _, w := range got {
		if len(w.Text) > 120 {
			t.Errorf("Words gave %d bytes, want at most 120", len(w.Text))
		}
	}
}

func FuzzWords(f *testing.F) {
	for _, seed := range []string{
		"", "`a", "“b", "a/b.go `x(\"y\")` ```\nz", "\x00\"\"", "ı.İ ‘q’",
	} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, title, description string) {
		got := offline.Words(title, description)
		if diff := cmp.Diff(got, offline.Words(title, description)); diff != "" {
			t.Errorf("Words(%q, %q) differs between two calls:\n%s", title, description, diff)
		}
		seen := map[offline.Word]bool{} // one text may be an identifier and a word
		for _, w := range got {
			if w.Text == "" || seen[w] {
				t.Errorf("Words(%q, %q) has %q twice or empty", title, description, w.Text)
			}
			if utf8.ValidString(title+description) && !utf8.ValidString(w.Text) {
				t.Errorf("Words(%q, %q) cut a character: %q", title, description, w.Text)
			}
			seen[w] = true
		}
	})
}
