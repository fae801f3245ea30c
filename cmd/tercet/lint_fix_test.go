package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/testkit/marked"
)

// TestFixesEndAndKeepTheRest: what is mended is not changed again, nothing gets worse, and every
// byte outside of the offered changes stays.
func TestFixesEndAndKeepTheRest(t *testing.T) {
	t.Parallel()
	env := pageAgents(t)
	files := map[string]string{} // text by name
	for _, pattern := range []string{
		"../../commands/syntax/testdata/*.md", "../../commands/compile/testdata/*.md",
		"testdata/diagnostics/*.file", "testdata/diagnostics/*.claude*",
	} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(names, err)
		}
		for _, name := range names {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text, _, err := marked.Cut(string(src))
			if err != nil {
				t.Fatal(err)
			}
			files[name] = expandTokens(t, text)
			files[name+" with CRLF"] = "\ufeff" + strings.ReplaceAll(files[name], "\n", "\r\n")
		}
	}

	made := map[string]int{}
	for name, src := range files {
		lint := func(text []byte) []formats.Diagnostic {
			if _, kind, ok := strings.Cut(filepath.Base(name), ".claude"); ok {
				return checkExample(
					t, env,
					"claude"+strings.TrimSuffix(kind, " with CRLF"),
					string(text),
				)
			}

			d := formats.Diagnostics{
				List:    checkExample(t, env, "file", string(text)),
				Sources: map[string][]byte{"page.md": text},
			}
			d.Sort()
			return d.List
		}

		first := lint([]byte(src))
		text, left, done := formats.FixAll([]byte(src), first, lint)
		for _, d := range done {
			made[d.Code]++
		}

		if len(left) > len(first) {
			t.Errorf("%s: %d findings before, %d after", name, len(first), len(left))
		}

		again, _, more := formats.FixAll(text, left, lint)
		if len(more) > 0 || !bytes.Equal(again, text) {
			t.Errorf("%s: a second time makes %v", name, more)
		}

		bare := func(text string) int {
			return strings.Count(text, "\n") - strings.Count(text, "\r\n")
		}
		mixed := bare(src) > 0 && bytes.Contains(text, []byte("\r\n")) &&
			!strings.Contains(src, "\r\n")
		if mixed || bare(src) == 0 && bare(string(text)) > 0 ||
			bytes.HasPrefix(text, []byte("\ufeff")) != strings.HasPrefix(src, "\ufeff") {
			t.Errorf("%s: the line ends or the mark at the start were changed", name)
		}
	}

	for _, code := range []string{
		"E010", "E102", "E106", "E108", "E120", "E130", "E164", "E205", "W030",
	} {
		if made[code] == 0 {
			t.Errorf("no file was mended for %s: %v", code, made)
		}
	}
}

// TestLenientFixes: frontmatter that is read leniently means the same once its values stand in
// quotes, and then is YAML.
func TestLenientFixes(t *testing.T) {
	t.Parallel()

	place := dialect.Place{
		Dialect: dialect.Claude,
		Scope:   dialect.Project,
		Dir:     "own",
		Label:   "own",
	}

	for name, tc := range map[string]struct{ src, want string }{
		"brackets": {
			"---\ndescription: d\nargument-hint: [a] [b]\n---\nDo $ARGUMENTS.",
			"---\ndescription: d\nargument-hint: '[a] [b]'\n---\nDo $ARGUMENTS.",
		},
		"colons": {
			"---\ndescription: Usage: do this: now  \n---\nDo.",
			"---\ndescription: 'Usage: do this: now'  \n---\nDo.",
		},
		"an apostrophe": {
			"---\ndescription: it's: x\n---\nDo.",
			"---\ndescription: \"it's: x\"\n---\nDo.",
		},
		"both quotes": {
			"---\ndescription: it's: \"x\"\n---\nDo.",
			"---\ndescription: 'it''s: \"x\"'\n---\nDo.",
		},
		"quotes inside quotes": {
			"---\ndescription: \"a \"b\" c\"\n---\nDo.",
			"---\ndescription: 'a \"b\" c'\n---\nDo.",
		},
		"two values": {
			"---\ndescription: a: b\nargument-hint: [a] [b]\n---\nDo.",
			"---\ndescription: 'a: b'\nargument-hint: '[a] [b]'\n---\nDo.",
		},
		"line ends": {
			"\ufeff---\r\ndescription: a: b\r\n---\r\nDo.\r\n",
			"\ufeff---\r\ndescription: 'a: b'\r\n---\r\nDo.\r\n",
		},
		"several lines stay": {
			"---\ndescription: a: b\n  c\nmodel: m\n---\nDo.",
			"---\ndescription: a: b\n  c\nmodel: m\n---\nDo.",
		},
		"other bytes stay": {
			"---\ndescription: caf\xe9: x\n---\nDo.",
			"---\ndescription: caf\xe9: x\n---\nDo.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			read := func(src []byte) *dialect.Command {
				c, err := dialect.Parse(place, "page.md", src)
				if err != nil {
					t.Fatal(err)
				}
				return c
			}

			lint := func(src []byte) []formats.Diagnostic {
				return read(src).Warnings
			}

			text, _, _ := formats.FixAll([]byte(tc.src), lint([]byte(tc.src)), lint)
			if string(text) != tc.want {
				t.Errorf("mended = %q, want %q", text, tc.want)
			}

			before := read([]byte(tc.src))
			after := read(text)
			if before.Description != after.Description || before.Hint != after.Hint ||
				before.Text() != after.Text() {
				t.Errorf("read as %q %q before and as %q %q after",
					before.Description, before.Hint, after.Description, after.Hint)
			}
		})
	}
}
