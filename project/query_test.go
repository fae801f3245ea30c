package project_test

import (
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"tercet/formats"
	"tercet/project"
)

// TestQuery: a filter reads the tasks or the runs; a wrong one says what is wrong with it.
func TestQuery(t *testing.T) {
	t.Parallel()
	p := open(t, &quiet{})
	start(t, p, "/task Fix the parser", project.Options{})

	for _, tt := range []struct {
		filter string
		runs   bool
		picks  bool
		want   string
		code   formats.Code
	}{
		{".tasks[] | [.number, .status]", false, false, `[1,"not_started"]`, ""},
		{"[ready] | length", false, false, "1", ""},
		{".runs[] | .command", true, false, `"/task Fix the parser"`, ""},
		{".tasks[", false, false, "", formats.CodeUsage},
		{"error(\"no\")", false, false, "", formats.CodeUsage},
		{"[limit(3; repeat(1))]", false, false, "[1,1,1]", ""},
		{"def f: f; f", false, false, "", formats.CodeUsage},
		{`.status == "not_started" # yes`, false, true, "1", ""},
		{`def open: .status != "completed"; open`, false, true, "1", ""},
		{`.priority == "none"`, false, true, "", ""},
		{"true) | (false", false, true, "", formats.CodeUsage},
		{"condition", false, true, "", formats.CodeUsage},
	} {
		got, err := p.Query(
			t.Context(),
			project.Query{Filter: tt.filter, Runs: tt.runs, PickTasks: tt.picks, Most: time.Second},
		)

		code := formats.Code("")
		if err != nil {
			code = formats.CodeOf(err)
		}

		if strings.TrimSpace(string(got)) != tt.want || code != tt.code {
			t.Errorf("Query(%s) = %s, %v, want %s, code %q", tt.filter, got, err, tt.want, tt.code)
		}
	}
}

// TestLintText: a text that is not saved has the findings of a file.
func TestLintText(t *testing.T) {
	t.Parallel()

	s, err := open(t, &quiet{}).Session(project.Options{})
	if err != nil {
		t.Fatal(err)
	}

	const text = "---\ncommand: x\ndescription: y\n---\n\n## Workflow Execution\n\n" +
		"### Step 1: Say it\n\n```yaml step\nreturn: {mesage: done}\n```\n"

	d := s.Lint("", []byte(text), false)
	if len(d.List) == 0 || d.List[0].File != "x.md" || d.List[0].Pos.Line != 11 {
		t.Errorf("Lint = %v, want a finding in line 11 of x.md", d.List)
	}

	d = s.Lint("", []byte(strings.Replace(text, "mesage", "message", 1)), false)
	if d.HasErrors() {
		t.Errorf("Lint of a right text = %v", d.List)
	}
}

// TestSeal: what a client was shown comes back as it was, or not at all.
func TestSeal(t *testing.T) {
	t.Parallel()
	p := open(t, &quiet{})

	shown := project.Shown{Run: "r1", Gate: "g", Digest: "d"}

	text, err := p.Seal(shown)
	if err != nil {
		t.Fatal(err)
	}

	if got, err := p.Unseal(text); got != shown || err != nil {
		t.Errorf("Unseal = %+v, %v, want %+v", got, err, shown)
	}

	other, err := open(t, &quiet{}).Seal(shown)
	if err != nil {
		t.Fatal(err)
	}

	for _, bad := range []string{"", "x", other, text[1:], strings.Repeat("A", 1<<16)} {
		if got, err := p.Unseal(bad); err == nil || got != (project.Shown{}) {
			t.Errorf("Unseal(%.20q) = %+v, %v, want it refused", bad, got, err)
		}
	}
}

// TestQueryLeavesTheCollectorAlone: a query does not change how a process that goes on collects
// garbage.
func TestQueryLeavesTheCollectorAlone(t *testing.T) { //nolint:paralleltest // of the whole process
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	limit := debug.SetMemoryLimit(-1)

	p := open(t, &quiet{})

	if _, err := p.Query(t.Context(), project.Query{Filter: ".", Most: time.Minute}); err != nil {
		t.Fatal(err)
	}

	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("the percentage is %d after a query, want 100", got)
	}
	if got := debug.SetMemoryLimit(-1); got != limit {
		t.Errorf("the limit of memory is %d after a query, want %d", got, limit)
	}
}
