package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tercet/project"
	"tercet/state"
)

// TestVerbsShowNastyNames gives files, titles and words of a command line names that strangers
// choose, and reads what the verbs say, on a terminal and into a pipe, and as JSON.
func TestVerbsShowNastyNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := testHost().Init(t.Context(), dir, project.Settings{}, state.InitOptions{}, false)
	if err != nil {
		t.Fatal(err)
	}
	// what is no UTF-8 is refused before it is read
	name := strings.ToValidUTF8(strings.ReplaceAll(nasty, "\x00", ""), "")
	for _, file := range []string{
		".tercet/commands/" + name + ".md",
		".claude/commands/" + name + ".md",
	} {
		full := filepath.Join(dir, filepath.FromSlash(file))
		err := errors.Join(
			os.MkdirAll(filepath.Dir(full), 0o755),
			os.WriteFile(full, []byte("---\nname: "+name+"\n---\n"+name), 0o600),
		)
		if err != nil {
			t.Fatal(err)
		}
	}

	seen := 0
	for _, words := range [][]string{
		{"task", "add", name},
		{"task", "add", "--description", name, "Title"},
		{"/task", name},
		{"/" + name},
		{"/plan", name},
		{"which", name},
		{"which", "/" + name},
		{"explain", name},
		{"trust", "--show"},
		{"trust"},
		{"lint", "."},
		{"lint", ".tercet/commands/" + name + ".md"},
		{"lint", "--fix=form", "--check", ".tercet"},
		{"doctor"},
		{"/help"},
		{"which", "--route", "/" + name},
		{"state", "show", "1"},
		{"state", "show"},
		{"task", "show", name},
		{"sandbox", "classify", name},
		{"sandbox", "classify", "rm -rf '" + name + "'"},
		{"prompt", name},
		{"query", name},
		{"query", ".tasks[0].title", name},
		{"query", "-r", "\"\\u001b[2J\\u009b\\u202e\""},
		{name},
		{"-C", dir, "--" + name},
		{"import", name},
		{"explain", "--graph", name},
	} {
		for _, mode := range []string{"tty", "pipe", "json"} {
			var out bytes.Buffer
			env := map[string]string{
				"HOME":            t.TempDir(),
				"PATH":            os.Getenv("PATH"),
				"TERCET_NO_INPUT": "1",
				"CI":              "true",
			}
			a := newApp(stdio{
				in:  strings.NewReader(""),
				out: &out,
				err: &out,
			}, func(key string) string { return env[key] })
			a.term.OutTTY = mode == "tty"
			a.term.ErrTTY = mode == "tty"
			line := append([]string{"-C", dir, "--color", "never"}, words...)
			if mode == "json" {
				line = append([]string{"-C", dir, "--json"}, words...)
			} else if mode == "pipe" && (words[0] == "query" || words[0] == "state") {
				continue // bytes for a program
			}
			a.run(t.Context(), line)
			got := out.String()
			if strings.Contains(got, "<U+001B>") || strings.Contains(got, `\u001b`) {
				seen++
			}
			if bad := badIn(got); bad != "" && (mode != "json" || words[0] != "query") {
				t.Errorf("%s %q: %s: %.600q", mode, words, bad, got)
			}
			if strings.Contains(got, "\ntercet: all") {
				t.Errorf("%s %q: a line of a stranger looks like one of tercet: %.600q",
					mode, words, got)
			}
		}
	}

	if seen < 30 {
		t.Errorf("%d answers hold something to look at, want at least 30", seen)
	}
}
