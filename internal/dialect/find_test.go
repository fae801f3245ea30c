package dialect_test

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/dialect"
)

// found gives the folders with commands of a project that is a tree in memory, and what was noted.
func found(t *testing.T, tree fstest.MapFS) (folders []dialect.Folder, notes []string) {
	t.Helper()
	f := dialect.Finder{
		Dir:  t.TempDir(),
		Note: func(text string) { notes = append(notes, text) },
		Sub: func(dir string) fs.FS {
			sub, err := fs.Sub(tree, dir)
			if err != nil {
				t.Fatal(err)
			}
			return sub
		},
	}
	return f.Commands(), notes
}

// FuzzLocated: every place of a template leads to the character in the configuration that it was
// read from.
func FuzzLocated(f *testing.F) {
	for _, text := range []string{
		"Run $1.", "a\n\"b\"\n\tä\U0001F600\\ \x00\n", "\n\n\n", "é\u2028<x>&\r\nx",
	} {
		f.Add(text, true)
	}

	f.Fuzz(func(t *testing.T, text string, agent bool) {
		if !utf8.ValidString(text) || text == "" {
			return
		}
		entry := map[string]any{"template": text}
		body := 3
		if agent {
			entry["agent"] = "nobody"
			body = 4
		}
		src, err := json.MarshalIndent(
			map[string]any{"command": map[string]any{"one": entry}},
			"",
			" ",
		)
		if err != nil {
			t.Fatal(err)
		}
		folders, notes := found(t, fstest.MapFS{"opencode.json": {Data: src}})
		if len(folders) != 1 || len(notes) > 0 {
			t.Fatalf("%d folders, notes %q for %s; want one folder", len(folders), notes, src)
		}
		at := func(line, col int) formats.Pos {
			return folders[0].At("one.md", formats.Pos{Line: line, Col: col})
		}
		lines := strings.Split(string(src), "\n")
		for i, line := range strings.Split(text, "\n") {
			for col := range line {
				p := at(body+i, col+1)
				rest := lines[p.Line-1][p.Col-1:]
				var got string
				err := json.Unmarshal(
					[]byte(`"`+strings.TrimSuffix(strings.TrimSuffix(rest, ","), `"`)+`"`),
					&got,
				)
				if err != nil {
					t.Fatalf("at(%d, %d) of %q leads to %q: %v", i+1, col+1, text, rest, err)
				}
				if want := strings.Join(strings.Split(text, "\n")[i:], "\n")[col:]; got != want {
					t.Fatalf("at(%d, %d) of %q leads to %q, want %q", i+1, col+1, text, got, want)
				}
			}
		}

		if p := at(2, 1); agent && !strings.HasPrefix(lines[p.Line-1][p.Col-1:], `"nobody"`) {
			t.Fatalf("the agent is at %v of %s", p, src)
		}
	})
}

// TestPlainJSON: comments and commas before a bracket may stand in a configuration, and move
// nothing.
func TestPlainJSON(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		`{"command": {"one": {"template": "// no /* comment */ ,}"}}}`,
		"\ufeff{ // c\n\"command\": {/* ,} \" */\"one\": {\"template\": \"// no /* comment */ " +
			",}\",}, // c\n}, /* c */ }",
		"{\"commands\": {\"one\": {\"template\": \"// no /* comment */ ,}\", // ,\n" +
			" /* } */ }}} // \"",
	} {
		folders, notes := found(t, fstest.MapFS{".opencode/opencode.jsonc": {Data: []byte(src)}})
		if len(folders) != 1 || len(notes) > 0 {
			t.Errorf("%s: %d folders, notes %q, want one folder", src, len(folders), notes)
			continue
		}
		text, err := dialect.ReadFile(folders[0].FS, "one.md")
		if err != nil || !strings.HasSuffix(string(text), "---\n// no /* comment */ ,}") {
			t.Errorf("%s: %q, %v", src, text, err)
		}
	}

	for _, src := range []string{
		"{", "[1]", `{"command": 1}`, `{"command": {"x": 1}}`, "/* never closed",
	} {
		folders, notes := found(t, fstest.MapFS{"opencode.json": {Data: []byte(src)}})
		if len(folders) != 0 || len(notes) != 1 {
			t.Errorf("%s: %d folders, notes %q, want none and a note", src, len(folders), notes)
		}
	}
}
