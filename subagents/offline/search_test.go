package offline_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/subagents/offline"
)

// tree writes files into a new folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func places(hits []offline.Hit) []string {
	var out []string
	for _, h := range hits {
		out = append(out, fmt.Sprintf("%s:%d %s", h.File, h.Line, h.Text))
	}
	return out
}

func TestSearch(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"a/pages.go": "package pages\n\n// Expand reads.\nfunc Expand(s string) {\n" +
			"\tresort := 1\n}\n",
		"b/other.go":         "package other\n\nvar Expanded = Expand\n",
		"docs/readme.md":     "Nothing here, but the last RESORT.\n",
		".tercet/state.json": "{\"title\": \"Expand\"}\n",
		"x/.tercet/old.md":   "Expand\n",
		".git/HEAD":          "Expand\n",
		"bin":                "Expand\x00\n",
		"latin1.txt":         "Expand \xe9\n",
		"large.txt":          "Expand\n" + strings.Repeat("x", 1<<20),
		"limit.txt":          strings.Repeat("x", 1<<20-7) + "\nExpand",
		"empty.go":           "",
	})
	if err := os.Symlink("a/pages.go", filepath.Join(dir, "link.go")); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		title, description string
		want               []string
	}{
		"no word":  {"Fix it", "", nil},
		"not here": {"Frobnicate", "", nil},
		"two lines, definition first": {"", "`Expand`", []string{
			"a/pages.go:4 func Expand(s string) {", "a/pages.go:3 // Expand reads.",
			"b/other.go:3 var Expanded = Expand", "limit.txt:2 Expand",
		}},
		"prose without case": {
			"the resort",
			"",
			[]string{
				"a/pages.go:5 resort := 1",
				"docs/readme.md:1 Nothing here, but the last RESORT.",
			},
		},
		"prose in other endings": {
			"resorted",
			"",
			[]string{
				"a/pages.go:5 resort := 1",
				"docs/readme.md:1 Nothing here, but the last RESORT.",
			},
		},
		"quoted text": {
			"",
			`"but the"`,
			[]string{"docs/readme.md:1 Nothing here, but the last RESORT."},
		},
		"named file without words": {"", "see b/other.go", []string{"b/other.go:1 package other"}},
		"named by its end":         {"", "see `other.go`", []string{"b/other.go:1 package other"}},
		"named empty file":         {"", "see `empty.go`", nil},
		"named folder": {
			"",
			"see docs/",
			[]string{"docs/readme.md:1 Nothing here, but the last RESORT."},
		},
		"named file first": {"", "`Expand` in `b/other.go`", []string{
			"b/other.go:3 var Expanded = Expand", "a/pages.go:4 func Expand(s string) {",
			"a/pages.go:3 // Expand reads.", "limit.txt:2 Expand",
		}},
		"not outside": {"", "see ../secret.txt and /etc/passwd", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := offline.Search(t.Context(), dir, nil, tc.title, tc.description)
			if diff := cmp.Diff(tc.want, places(got)); err != nil || diff != "" {
				t.Errorf("search(%q, %q) error %v (-want +got):\n%s",
					tc.title, tc.description, err, diff)
			}
		})
	}
}

func TestSearchIsBounded(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 30 {
		files[fmt.Sprintf("f%02d.txt", i)] = strings.Repeat("needle\n", 900)
	}
	files["last.go"] = "func needle()\n"
	dir := tree(t, files)
	got, err := offline.Search(t.Context(), dir, nil, "", "`needle`")
	if err != nil || len(got) != 19 {
		t.Fatalf("search gave %d lines, error %v, want 2 of 9 files and 1 of the last",
			len(got), err)
	}
	if got[0].File != "last.go" {
		t.Errorf("the best line is in %s, want last.go", got[0].File)
	}
	perFile := map[string]int{}
	for _, h := range got {
		perFile[h.File]++
		if perFile[h.File] > 2 {
			t.Errorf("%s is cited %d times, want at most twice", h.File, perFile[h.File])
		}
	}
}

// The order of files that hold the same words.
func TestSearchOrder(t *testing.T) {
	t.Parallel()
	const story = "The manage run tool gives up after its first try, and whoever asked for it is " +
		"never told so by anybody."
	dir := tree(t, map[string]string{
		"src/tools/manage-run-tool.ts": "export class Tool {}\n",
		"src/tools/list.ts":            "export function list() { return manage_run(1) }\n",
		"src/tools/long.ts": "export function list() { return manage_run(1) }\n" +
			strings.Repeat("const other = value + another\n", 300),
		"src/tools/manage-run-tool.test.ts": "test('manage run tool', () => manageRun())\n",
		"docs/manage-run.md":                "Manage run: the tool that manages runs.\n",
		"CHANGELOG.md":                      strings.Repeat("- manage run tool: manage runs\n", 9),
		"task.md":                           "# Manage a run\n\n" + story + "\n",
		"notes/copy.txt":                    "to do: " + story + "\n",
	})
	got, err := offline.Search(t.Context(), dir, nil, "Manage a run", story)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, h := range got {
		if !slices.Contains(files, h.File) {
			files = append(files, h.File)
		}
	}

	want := []string{
		"src/tools/manage-run-tool.ts", "src/tools/list.ts", "src/tools/long.ts",
		"src/tools/manage-run-tool.test.ts", "docs/manage-run.md", "CHANGELOG.md",
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("order of files (-want +got):\n%s", diff)
	}
}

// A word of the title counts more than one of the description.
func TestTitleFirst(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"a.go": "var quokka int\n",
		"b.go": "var wombat int\n",
		"c.go": "var other int\n",
	})
	for title, want := range map[string]string{"quokka": "a.go", "wombat": "b.go"} {
		got, err := offline.Search(t.Context(), dir, nil, title, "the quokka and the wombat")
		if err != nil || len(got) != 2 || got[0].File != want {
			t.Errorf("search(%q) = %v, %v, want %s first", title, got, err, want)
		}
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{
		"main.go":                       0,
		"django/middleware/security.py": 0,
		"src/history.c":                 0,
		"contest.py":                    0,
		"docker/run.sh":                 0,
		"Makefile":                      0,
		"main_test.go":                  1,
		"src/FooTest.java":              1,
		"t/a.t":                         1,
		"tests/a.py":                    1,
		"a.spec.ts":                     1,
		"testdata/x.json":               1,
		"README":                        2,
		"notes.md":                      2,
		"docs/conf.py":                  2,
		"man/x.8":                       2,
		"docs/tests/a.py":               2,
		"CHANGES":                       3,
		"ChangeLog":                     3,
		"CHANGELOG-5.4.md":              3,
		"NEWS.md":                       3,
		"go.sum":                        3,
		"yarn.lock":                     3,
		"":                              0,
		"/":                             0,
	} {
		if got := offline.KindOf(name, ""); got != want {
			t.Errorf("kindOf(%q) = %d, want %d", name, got, want)
		}
	}

	for name, want := range map[string]int{
		"commands/plan.md":  0,
		"skills/x/SKILL.md": 0,
		"testdata/plan.md":  1,
		"docs/plan.md":      2,
		"CHANGELOG.md":      3,
		"plan.txt":          2,
	} {
		if got := offline.KindOf(name, "---\ncommand: plan\n---\n"); got != want {
			t.Errorf("kindOf(%q) with frontmatter = %d, want %d", name, got, want)
		}
	}
}

func TestPartsAndStems(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"manage_run":   {"manage", "run"},
		"manageRun":    {"manage", "Run"},
		"HTTPServer":   {"HTTP", "Server"},
		"__x":          {"x"},
		"base64Decode": {"base64", "Decode"},
		"":             nil,
		"_":            nil,
		"ÄnderÜber":    {"Änder", "Über"},
	} {
		if diff := cmp.Diff(want, offline.Parts(name)); diff != "" {
			t.Errorf("parts(%q) (-want +got):\n%s", name, diff)
		}
	}

	for _, same := range []string{
		"parse parses parsed parsing", "file files", "run runs", "read reads reading",
		"handle handled handles",
	} {
		list := strings.Fields(same)
		for _, w := range list {
			if offline.Stem(w) != offline.Stem(list[0]) {
				t.Errorf("stem(%q) = %q, want %q", w, offline.Stem(w), offline.Stem(list[0]))
			}
		}
	}
}

func TestSearchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a.txt": "needle\n"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := offline.Search(ctx, dir, []string{"a.txt"}, "", "`needle`")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("search under a cancelled context = %v, want %v", err, context.Canceled)
	}
	if _, err := offline.Search(ctx, dir, nil, "", "`needle`"); !errors.Is(err, context.Canceled) {
		t.Errorf("walk under a cancelled context = %v, want %v", err, context.Canceled)
	}
}

func TestWalkSkipsTheWorkspace(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"b":           "x",
		"a/c":         "x",
		".git/x":      "x",
		".tercet/x":   "x",
		"a/.tercet/x": "x",
		".github/x":   "x",
	})
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := offline.Walk(t.Context(), root)
	if diff := cmp.Diff([]string{".github/x", "a/c", "b"}, got); err != nil || diff != "" {
		t.Errorf("walk, error %v (-want +got):\n%s", err, diff)
	}
	if err := root.Close(); err != nil {
		t.Error(err)
	}
}

func FuzzSearch(f *testing.F) {
	f.Add([]byte("func Expand() {}\n"), "Expand `a b`", "pages.go")
	f.Add([]byte("a\r\nb\x00"), "“b”", "x/")
	f.Fuzz(func(t *testing.T, src []byte, title, description string) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "pages.go"), src, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := offline.Search(t.Context(), dir, nil, title, description)
		if err != nil {
			t.Fatalf("search = %v", err)
		}
		lines := bytes.Count(src, []byte{'\n'}) + 1
		for _, h := range got {
			if h.Line < 1 || h.Line > lines {
				t.Errorf("search cites line %d of %d", h.Line, lines)
			}
		}
	})
}

func BenchmarkSearch(b *testing.B) {
	dir := b.TempDir()
	line := []byte("\tfor page := first; page < last; page++ { out = append(out, page) }\n")
	for i := range 50 {
		err := os.WriteFile(
			filepath.Join(dir, fmt.Sprintf("f%02d.go", i)),
			bytes.Repeat(line, 400),
			0o600,
		)
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		_, err := offline.Search(
			b.Context(),
			dir,
			nil,
			"Expand loses the last page",
			"`Expand` in `f01.go`",
		)
		if err != nil {
			b.Fatal(err)
		}
	}
}
