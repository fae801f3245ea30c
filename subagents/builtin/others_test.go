package builtin_test

import (
	"context"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/state"
	"tercet/subagents/builtin"
)

// files is a project in memory.
type files struct{ fstest.MapFS }

func (f files) Open(_ context.Context, path string) ([]byte, error) {
	data, err := fs.ReadFile(f.MapFS, path)
	if err != nil {
		return nil, &formats.Failure{
			Code:    formats.CodeFileNotFound,
			Message: path,
			Err:     err,
		}
	}
	return data, nil
}

func (f files) Exists(_ context.Context, path string) (bool, error) {
	_, ok := f.MapFS[path]
	return ok, nil
}

func TestTaskCreator(t *testing.T) {
	t.Parallel()
	task := func(title, description string, more ...any) map[string]any {
		out := map[string]any{"title": title, "description": description}
		for i := 0; i < len(more); i += 2 {
			out[more[i].(string)] = more[i+1]
		}
		return out
	}
	long := strings.Repeat("word ", 40)
	tests := []struct {
		name  string
		input map[string]any
		files fstest.MapFS
		want  []any
	}{
		{
			"one line",
			map[string]any{"text": "Fix the parser"},
			nil,
			[]any{task("Fix the parser", "")},
		},
		{
			"sentences",
			map[string]any{"text": "Fix the parser, e.g. lists. It drops the last page."},
			nil,
			[]any{task("Fix the parser, e.g. lists", "It drops the last page.")},
		},
		{
			"lines",
			map[string]any{"text": "Fix the parser\n\nIt drops the last page.\n"},
			nil,
			[]any{task("Fix the parser", "It drops the last page.")},
		},
		{
			"too long",
			map[string]any{"text": long},
			nil,
			[]any{task(
				strings.TrimSpace(strings.Repeat("word ", 23))+"...",
				strings.TrimSpace(long),
			)},
		},
		{
			"priority",
			map[string]any{"text": "A", "priority": "high"},
			fstest.MapFS{"go.mod": {}},
			[]any{task("A", "", "priority", "high", "language", "go")},
		},
		{
			"language of scripts",
			map[string]any{"text": "A"},
			fstest.MapFS{"package.json": {}, "tsconfig.json": {}},
			[]any{task("A", "", "language", "typescript")},
		},
		{
			"file",
			map[string]any{"from": "task.md"},
			fstest.MapFS{
				"task.md": {
					Data: []byte(
						"\ufeff```sh\r\n# no heading\r\n```\r\n\r\n## The *last* page ##\r\n\r\n" +
							"It is lost.\r\n",
					),
				},
			},
			[]any{task("The *last* page", "```sh\n# no heading\n```\n\n\nIt is lost.")},
		},
		{
			"file without a heading",
			map[string]any{"from": "task.md"},
			fstest.MapFS{"task.md": {Data: []byte("#tag is no heading.\n\n- [ ] one\n")}},
			[]any{task("#tag is no heading", "- [ ] one")},
		},
		{
			"parts by semicolon",
			map[string]any{"parts_of": 3, "text": "read the file; print it;"},
			fstest.MapFS{"go.mod": {}},
			[]any{task("read the file", ""), task("print it", "")},
		},
		{
			"parts by list",
			map[string]any{
				"parts_of": 3.0,
				"text":     "Parts:\n\n1. Read it. All of it.\n   To the end.\n2. [ ] Print it\n",
			},
			nil,
			[]any{task("Read it", "All of it.\nTo the end."), task("Print it", "")},
		},
		{
			"parts by line",
			map[string]any{"parts_of": 3, "text": "read\nprint"},
			nil,
			[]any{task("read", ""), task("print", "")},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := builtin.TaskCreator{Docs: files{tt.files}}
			ret, err := c.Run(t.Context(), formats.Request{Agent: "task-creator", Input: tt.input})
			if err != nil || ret.Status != formats.StatusCompleted {
				t.Fatalf("Run(%v) = %+v, %v", tt.input, ret, err)
			}
			if diff := cmp.Diff(tt.want, ret.Fields["tasks"]); diff != "" {
				t.Errorf("Run(%v) (-want +got):\n%s", tt.input, diff)
			}
		})
	}
}

func TestTaskCreatorRefuses(t *testing.T) {
	t.Parallel()
	c := builtin.TaskCreator{Docs: files{fstest.MapFS{
		"bin":      {Data: []byte{0xff}},
		"blank.md": {Data: []byte(" \n")},
		"app.sh":   {Data: []byte("\ufeff#!/bin/sh\r\n# Run it\n")},
	}}}
	for _, tt := range []struct {
		input map[string]any
		want  string
	}{
		{nil, "input of task-creator: expected a text or a file as text, got nothing"},
		{
			map[string]any{"text": ""},
			`input of task-creator: expected a text or a file as text, got ""`,
		},
		{
			map[string]any{"text": "a", "from": "b"},
			`input of task-creator: expected either text or from as from, got "b"`,
		},
		{map[string]any{"from": "bin"}, "expected text in bin, got bytes that are no UTF-8"},
		{
			map[string]any{"from": "app.sh"},
			"expected a text whose first heading is the title of a task, got app.sh, which is a " +
				"program (#!/bin/sh)",
		},
		{
			map[string]any{"from": "blank.md"},
			"expected a text that describes a task, got nothing but blanks",
		},
		{
			map[string]any{"text": " ; ;", "parts_of": 1},
			"expected a text that describes a task, got nothing but blanks",
		},
	} {
		ret, err := c.Run(t.Context(), formats.Request{Agent: "task-creator", Input: tt.input})
		if err != nil || len(ret.Errors) != 1 || ret.Errors[0].Message != tt.want {
			t.Errorf("Run(%v) = %+v, %v, want %s", tt.input, ret.Errors, err, tt.want)
		}
	}

	_, err := c.Run(t.Context(), formats.Request{Input: map[string]any{"from": "no.md"}})
	if formats.CodeOf(err) != formats.CodeFileNotFound {
		t.Errorf("Run(no.md) = %v, want FILE_NOT_FOUND", err)
	}
}

func FuzzTaskCreator(f *testing.F) {
	for _, text := range []string{
		"# T\n\nd",
		"A. B",
		"- a\n- b",
		"a; b",
		"```\n# x\n```",
		"~~~~\n# x\n~~~\n~~~~ \n# y",
		"\x1b[31m\r\n",
		strings.Repeat("x", 200),
	} {
		f.Add(text, false)
		f.Add(text, true)
	}

	f.Fuzz(func(t *testing.T, text string, divide bool) {
		in := map[string]any{"text": text}
		if divide {
			in["parts_of"] = 1
		}
		ret, err := builtin.TaskCreator{Docs: files{}}.Run(t.Context(), formats.Request{
			Agent: "task-creator",
			Input: in,
		})
		if err != nil {
			t.Fatal(err)
		}
		tasks, _ := ret.Fields["tasks"].([]any)
		if ret.Status == formats.StatusCompleted &&
			(len(tasks) == 0 || !divide && len(tasks) != 1) {
			t.Errorf("Run(%q) = %d tasks", text, len(tasks))
		}
		for _, one := range tasks {
			title, _ := one.(map[string]any)["title"].(string)
			if strings.TrimSpace(title) == "" || strings.ContainsFunc(title, unicode.IsControl) ||
				utf8.RuneCountInString(title) > 120 {
				t.Errorf("Run(%q): title %q", text, title)
			}
		}
	})
}

type listerFunc func(context.Context) ([]state.Recorded, error)

func (f listerFunc) List(ctx context.Context) ([]state.Recorded, error) {
	return f(ctx)
}

func TestDiagnostics(t *testing.T) {
	t.Parallel()
	one := func(message, at, fix string) state.Recorded {
		r := state.Recorded{
			Time:      at,
			FixStatus: fix,
			Type:      "validation",
			Message:   message,
			Context: formats.ProblemContext{
				Command: "/plan 7",
				Step:    "plan",
				Run:     "r1",
			},
		}
		r.Recovery.Action = "look at it"
		return r
	}
	d := builtin.Diagnostics{Errors: listerFunc(func(context.Context) ([]state.Recorded, error) {
		return []state.Recorded{
			one("a", "2026-01-01", "fixed"),
			one("b", "2026-01-02", "unfixed"),
			one("a", "2026-01-03", "unfixed"),
		}, nil
	})}
	got, err := d.Run(t.Context(), formats.Request{Agent: "error-diagnostics"})
	if err != nil {
		t.Fatal(err)
	}
	group := func(message, first, last string, count, unfixed int) map[string]any {
		return map[string]any{
			"type":             "validation",
			"severity":         "",
			"message":          message,
			"count":            count,
			"unfixed":          unfixed,
			"first":            first,
			"last":             last,
			"command":          "/plan 7",
			"step":             "plan",
			"run":              "r1",
			"suggested_action": "look at it",
		}
	}
	want := formats.Return{
		Status:  formats.StatusCompleted,
		Summary: "3 errors of 2 kinds",
		Text: "2x validation: a\n   last 2026-01-03, /plan 7, plan, run r1\n   do: look at it\n" +
			"1x validation: b\n   last 2026-01-02, /plan 7, plan, run r1\n   do: look at it",
		Fields: map[string]any{
			"total": 3,
			"groups": []any{
				group("a", "2026-01-01", "2026-01-03", 2, 1),
				group("b", "2026-01-02", "2026-01-02", 1, 1),
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Run (-want +got):\n%s", diff)
	}
	// One cause is one kind, whatever the run and its paths; a warning is told apart from an error.
	of := func(run, severity, step string) state.Recorded {
		r := one(
			"INVALID_RETURN: no block (see .tercet/runs/"+run+"/plan-1/return), run "+run,
			"2026-01-04",
			"unfixed",
		)
		r.Context.Run = run
		r.Severity = severity
		r.Context.Step = step
		return r
	}
	d = builtin.Diagnostics{Errors: listerFunc(func(context.Context) ([]state.Recorded, error) {
		return []state.Recorded{
			of("r7k2", "critical", "plan"),
			of("p3m1", "critical", "plan"),
			of("q1", "warning", "plan"),
			of("q2", "critical", "code"),
		}, nil
	})}
	got, err = d.Run(t.Context(), formats.Request{})
	if err != nil || got.Summary != "3 errors and 1 warning of 3 kinds" ||
		!strings.HasPrefix(
			got.Text,
			"2x validation: INVALID_RETURN: no block (see .tercet/runs/p3m1/plan-1/return)",
		) ||
		!strings.Contains(got.Text, "1x validation, a warning: INVALID_RETURN") {
		t.Errorf("Run = %+v, %v, want two of one kind and a warning", got, err)
	}
	d = builtin.Diagnostics{Errors: listerFunc(func(context.Context) ([]state.Recorded, error) {
		return nil, nil
	})}
	got, err = d.Run(t.Context(), formats.Request{})
	if err != nil || got.Summary != "no errors are recorded" {
		t.Errorf("Run = %+v, %v", got, err)
	}
}

type catalog struct{}

func (catalog) List() []formats.CommandInfo {
	return []formats.CommandInfo{
		{Name: "plan", Usage: "/plan <task>", Description: "Plan it"},
		{Name: "todo", Usage: "/todo", Description: "List"},
		{Name: "x", Usage: "/x " + strings.Repeat("[a]", 20), Description: "Long"},
	}
}

func (catalog) Text(name string) (string, error) {
	if name != "/plan" {
		return "", &formats.Failure{
			Code:    formats.CodeUsage,
			Message: "unknown command '" + name + "'",
		}
	}
	return "the page", nil
}

func TestReference(t *testing.T) {
	t.Parallel()
	h := builtin.Reference{Catalog: catalog{}}
	got, err := h.Run(t.Context(), formats.Request{Agent: "reference"})
	pad := strings.Repeat(" ", 48)
	want := "/plan <task>" + pad[:38] + "Plan it\n/todo" + pad[:45] + "List\n/x " +
		strings.Repeat("[a]", 20) + "\n" + pad + "  Long"
	if err != nil || got.Text != want || got.Summary != "3 commands" {
		t.Errorf("Run = %+v, %v, want text\n%s", got, err, want)
	}
	got, err = h.Run(t.Context(), formats.Request{
		Agent: "reference",
		Input: map[string]any{"name": "/plan"},
	})
	if err != nil || got.Text != "the page" || got.Summary != "/plan" {
		t.Errorf("Run(/plan) = %+v, %v", got, err)
	}
	got, err = h.Run(t.Context(), formats.Request{
		Agent: "reference",
		Input: map[string]any{"name": "plna"},
	})
	if err != nil || len(got.Errors) != 1 || got.Errors[0].Code != formats.CodeUsage {
		t.Errorf("Run(plna) = %+v, %v, want USAGE", got, err)
	}
}

// TestTaskCreatorRefusesControlCharacters: they are told with their place, in a text and in a file.
func TestTaskCreatorRefusesControlCharacters(t *testing.T) {
	t.Parallel()
	for want, input := range map[string]map[string]any{
		"got U+001B in line 1, column 4":         {"text": "Fix\x1b[31m it\tnow"},
		"got U+0007 in line 2, column 3 of t.md": {"from": "t.md"},
	} {
		c := builtin.TaskCreator{Docs: files{fstest.MapFS{"t.md": {
			Data: []byte("# A\r\nri\x07ng\n"),
		}}}}
		ret, err := c.Run(t.Context(), formats.Request{Agent: "task-creator", Input: input})
		if err != nil || ret.Status != formats.StatusFailed ||
			!strings.Contains(ret.Summary, want) {
			t.Errorf("Run(%v) = %+v, %v, want %s", input, ret, err, want)
		}
	}
}
