package completion_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/commands/argspec"
	"tercet/commands/completion"
	"tercet/formats"
)

func sources() completion.Sources {
	names := map[completion.Kind][]completion.Item{
		completion.Commands: {{Value: "/implement"}, {Value: "/plan"}, {Value: "/git:commit"}},
		completion.Verbs:    {{Value: "query"}, {Value: "status"}, {Value: "show"}},
		completion.Files:    {{Value: "main.go"}, {Value: "with space.md"}, {Value: "docs/map.go"}},
		completion.Statuses: {{Value: "planned"}, {Value: "partial"}},
		completion.Runs:     {{Value: "r7k2"}},
	}
	specs := []argspec.Spec{
		{Name: "task_number", Type: argspec.Task, Required: true},
		{Name: "report", Type: argspec.Path},
		{Name: "only", Type: argspec.Enum, Values: []string{"go", "rust"}, Flag: true},
		{Name: "of", Type: argspec.String, Complete: "statuses", Flag: true},
		{Name: "dry_run", Type: argspec.Boolean, Flag: true, Description: "write nothing"},
	}
	return completion.Sources{
		Names: func(k completion.Kind) []completion.Item { return names[k] },
		Command: func(name string) ([]argspec.Spec, []formats.TaskStatus, bool) {
			return specs, []formats.TaskStatus{formats.NotStarted}, name == "plan"
		},
		Verb: func(words []string) ([]completion.Item, completion.Kind) {
			switch strings.Join(words, " ") {
			case "show":
				return nil, completion.Runs
			case "task":
				return []completion.Item{{Value: "add"}, {Value: "set"}}, ""
			case "task set":
				return nil, completion.TaskKind
			case "explain":
				return nil, completion.Lines
			case "lint":
				return nil, completion.Files
			}
			return nil, ""
		},
		Hint: func(name string) string {
			return map[string]string{"git:commit": "[message]"}[name]
		},
		Tasks: func() []formats.Task {
			return []formats.Task{
				{Number: 19, Title: "Fix the parser", Status: formats.NotStarted},
				{Number: 196, Title: "文書を書く", Status: formats.NotStarted},
				{Number: 3, Title: "Parse", Status: formats.Completed},
			}
		},
	}
}

func TestAt(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{ // | is the cursor
		"/|":                     "/implement /plan /git:commit",
		"/pn|":                   "/plan /implement",
		"  /gc|":                 "/git:commit",
		"/nope|":                 "",
		"/nope x|":               "",
		"/plan |":                "19 196",
		"/plan 19|":              "19 196",
		"/plan 196|":             "196",
		"/plan pars|":            "19",
		"/plan 文書|":              "196",
		"/plan 3|":               "",
		"/plan 19 |":             `main.go "with space.md" docs/map.go`,
		"/plan 19 map|":          "docs/map.go",
		"/plan 19 main.go |":     "--only --of --dry-run",
		"/plan 19 --|":           "--only --of --dry-run",
		"/plan --only go --|":    "--of --dry-run",
		"/plan 19 --only |":      "go rust",
		"/plan 19 --only=r|":     "rust",
		"/plan 19 --of pl|":      "planned partial",
		"/plan |19":              "19 196",
		"/plan 19 @ma|":          "main.go docs/map.go",
		"look at @with|":         `"with space.md"`,
		"sta|":                   "status",
		"s|":                     "",
		"status x|":              "",
		"show |":                 "r7k2",
		"/show r|":               "r7k2",
		"tercet sta|":            "status",
		"tercet show |":          "r7k2",
		"tercet /pl|":            "/plan /implement",
		"task |":                 "add set",
		"task set |":             "19 196 3",
		"task set --|":           "",
		"lint ma|":               "main.go docs/map.go",
		"lint /plan |":           "",
		"explain |":              "/implement /plan /git:commit",
		"explain /pl|":           "/plan /implement",
		"tercet explain /plan |": "19 196",
		"explain  /plan 19 |x":   `main.go "with space.md" docs/map.go`,
		"/explain pl|":           "/plan /implement",
		"/x 1 && /plan 19|":      "19 196",
		"/x 1 ; /pl|":            "/plan /implement",
		`/plan "unclosed 19 |`:   "",
		"/plan 19 main.go x y|":  "",
	} {
		at := strings.IndexByte(line, '|')
		got := sources().At(strings.Replace(line, "|", "", 1), at)
		var values []string
		for _, i := range got.Items {
			values = append(values, i.Value)
		}
		if diff := cmp.Diff(want, strings.Join(values, " ")); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}

// TestHint: the argument at the cursor is marked, and where no task may begin it says which could.
func TestHint(t *testing.T) {
	t.Parallel()
	hint := func(s completion.Sources, line string) string {
		var b strings.Builder
		for _, p := range s.At(line, len(line)).Hint {
			if p.Current {
				p.Text = "*" + p.Text + "*"
			}
			b.WriteString(p.Text + " ")
		}
		return strings.TrimSpace(b.String())
	}
	const flags = " [--only go|rust] [--of TEXT] [--dry-run]"
	for line, want := range map[string]string{
		"/plan":     "",
		"/plan ":    "/plan *<task_number>* [report]" + flags,
		"/plan 19 ": "/plan <task_number> *[report]*" + flags,
		"/plan --only ": "/plan <task_number> [report] *[--only go|rust]* [--of TEXT] " +
			"[--dry-run]",
		"/plan 19 a.md x": "/plan <task_number> [report]" + flags,
	} {
		if got := hint(sources(), line); got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}

	none := sources()
	none.Tasks = func() []formats.Task { return nil }
	if got := hint(none, "/plan "); !strings.HasSuffix(got, "(no task is not_started)") {
		t.Errorf("without a task: %s", got)
	}
}

func FuzzAt(f *testing.F) {
	f.Add("/plan 19 --only=r", 10)
	f.Add(`/plan "a \" 文`, 8)
	f.Add("@ && /plan ; /", 12)
	f.Fuzz(func(t *testing.T, line string, at int) {
		at = min(max(at, 0), len(line))
		got := sources().At(line, at)
		if got.From < 0 || got.From > got.To || got.To != at || len(got.Items) > completion.Most {
			t.Errorf("%q at %d: %d to %d, %d items", line, at, got.From, got.To, len(got.Items))
		}
	})
}
