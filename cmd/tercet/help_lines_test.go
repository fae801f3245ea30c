package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/internal/testkit"
	"tercet/project"
)

// TestHelpLinesLeadOn runs each command that works on a task with a task of each status that an
// import can bring, with and without documents. Whatever it says, each command that a `next:` or
// `help:` line names must start, and a refusal must name one.
func TestHelpLinesLeadOn(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir := filepath.Join(base, "project")
	walk := newHelpWalk(base)
	numbers := walk.project(t, dir)

	for i, n := range numbers {
		for j, line := range []string{
			"/research %d", "/plan %d", "/revise %d shorter", "/implement %d",
		} {
			if !testkit.Deep() && (i+j)%3 != 0 {
				continue
			}
			line = fmt.Sprintf(line, n)

			copied := filepath.Join(t.TempDir(), "project")
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}

			words := strings.Fields(line)
			if strings.HasPrefix(line, "/implement") { // its work needs a repository and a sandbox
				words = append([]string{"--dry-run"}, words...)
			}

			code, said := walk.tercet(copied, words...)
			lines := commandsIn(said)
			if code != 0 && len(lines) == 0 {
				t.Errorf(
					"task %d: %s is refused and names nothing that would go:\n%s", n, line, said,
				)
			}

			for _, next := range lines {
				words, err := project.Words(next)
				if err != nil {
					t.Errorf("%s: %q: %v", line, next, err)
					continue
				}
				if strings.HasPrefix(next, "/") {
					words = append([]string{"--dry-run"}, words...)
				}
				if code, refusal := walk.tercet(copied, words...); code != 0 {
					t.Errorf("task %d: %s says\n%sbut %q is refused (%d):\n%s",
						n, line, said, next, code, refusal)
				}
			}
		}
	}
}

// TestNextOfStatusStarts runs what status says to type for a task of each status that an import can
// bring, with and without a plan. Only a task whose parts are tasks has nothing.
func TestNextOfStatusStarts(t *testing.T) {
	t.Parallel()

	base := t.TempDir()
	dir := filepath.Join(base, "project")
	walk := newHelpWalk(base)
	walk.project(t, dir)

	code, table, said := walk.both(dir, "status")
	if code != 0 {
		t.Fatal(said)
	}
	tasks := 0

	for row := range strings.Lines(table) {
		cells := strings.Split(strings.TrimRight(row, "\n"), "\t")
		if len(cells) != 5 || cells[0] != "task" {
			t.Fatalf("expected a row of a task with 5 cells, got %q", row)
		}
		tasks++

		next := cells[4]
		if next == "" {
			if cells[3] != formats.Expanded.String() {
				t.Errorf("nothing to type for %q", row)
			}
			continue
		}

		words, err := project.Words(strings.TrimPrefix(next, "tercet "))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(next, "/") {
			words = append([]string{"--dry-run"}, words...)
		}

		copied := filepath.Join(t.TempDir(), "project")
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}

		if code, refusal := walk.tercet(copied, words...); code != 0 {
			t.Errorf("%q is refused (%d):\n%s", row, code, refusal)
		}
	}

	if want := 2*(len(formats.TaskStatuses())-2) + 1; tasks != want { // without what is over
		t.Errorf("status has %d tasks, want %d", tasks, want)
	}
}

// helpWalk runs lines in a project without a terminal.
type helpWalk struct{ env map[string]string }

func newHelpWalk(home string) helpWalk {
	return helpWalk{env: map[string]string{
		"HOME":            home,
		"XDG_STATE_HOME":  filepath.Join(home, "state"),
		"PATH":            withoutAgents(os.Getenv("PATH")),
		"TERCET_TRUST":    "1",
		"TERCET_NO_INPUT": "1",
		"TERCET_RUNNER":   "offline",
	}}
}

// tercet runs a line, and gives its exit code and what it said.
func (w helpWalk) tercet(dir string, words ...string) (code int, said string) {
	code, _, said = w.both(dir, words...)
	return code, said
}

// both runs a line, and gives its exit code, its answer and what it said.
func (w helpWalk) both(dir string, words ...string) (code int, answer, message string) {
	var out, said bytes.Buffer
	a := newApp(stdio{in: strings.NewReader(""), out: &out, err: &said}, func(name string) string {
		return w.env[name]
	})
	code = a.run(context.Background(), append([]string{"-C", dir}, words...))
	return code, out.String(), said.String()
}

// project makes a project with tasks of each status, and gives their numbers.
func (w helpWalk) project(t *testing.T, dir string) []int {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if code, said := w.tercet(dir, "init"); code != 0 {
		t.Fatal(said)
	}
	if code, said := w.tercet(dir, "/task", "Count the words"); code != 0 {
		t.Fatal(said)
	}
	if code, said := w.tercet(dir, "/plan", "1"); code != 0 {
		t.Fatal(said)
	}
	const plan = ".tercet/specs/001_count_the_words/plans/implementation-001.md"
	if _, err := os.Stat(filepath.Join(dir, plan)); err != nil {
		t.Fatal(err)
	}

	var tasks []map[string]any
	var numbers []int
	for _, status := range formats.TaskStatuses() {
		for _, planned := range []bool{true, false} {
			n := len(tasks) + 101
			task := map[string]any{"number": n, "title": fmt.Sprint("Task ", n), "status": status}
			if planned {
				task["artifacts"] = []any{map[string]any{"type": "plan", "path": plan}}
			}
			tasks = append(tasks, task)
			numbers = append(numbers, n)
		}
	}
	data, err := json.Marshal(map[string]any{"tasks": tasks})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "other.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, said := w.tercet(dir, "state", "import", file); code != 0 {
		t.Fatal(said)
	}
	return numbers
}

// commandsIn gives the commands that the lines of help and of what is next name.
func commandsIn(said string) []string {
	var out []string

	for line := range strings.Lines(said) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "tercet: ")
		rest, ok := strings.CutPrefix(line, "help: ")
		if !ok {
			rest, ok = strings.CutPrefix(line, "next: ")
			if !ok {
				continue
			}
		}

		for _, joint := range []string{", then ", ", or ", "; ", ": ", "run ", "see ", "'"} {
			rest = strings.ReplaceAll(rest, joint, "\n")
		}

		for piece := range strings.Lines(rest) {
			piece = strings.TrimSpace(piece)
			if strings.HasPrefix(piece, "/") || strings.HasPrefix(piece, "tercet ") {
				out = append(out, strings.TrimPrefix(piece, "tercet "))
			}
		}
	}

	return slices.Compact(out)
}
