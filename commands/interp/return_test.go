package interp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
)

// TestReturn: what the file's return becomes, for each status.
func TestReturn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ret  string
		want string
	}{
		"a text": {"return: Fine.", "completed 0: Fine."},
		"a template": {
			"return: \"${{ 1 + 1 }} of ${{ [1] }} ${{ null }}.\"",
			"completed 0: 2 of [1] .",
		},
		"completed":   {"return: {status: completed, message: m}", "completed 0: m"},
		"approved":    {"return: {status: approved, message: m}", "approved 0: m"},
		"conditional": {"return: {status: conditional, message: m}", "conditional 0: m"},
		"skipped":     {"return: {status: skipped, message: m}", "completed 0: m"},
		"partial":     {"return: {status: partial, message: m}", "partial 3: m"},
		"rejected":    {"return: {status: rejected, message: m}", "rejected 5: m"},
		"blocked":     {"return: {status: blocked, message: m}", "blocked 75: m"},
		"suspended":   {"return: {status: suspended, message: m}", "suspended 75: m"},
		"failed": {
			"return: {status: failed, message: m, next_steps: try again}",
			"failed 1 UNKNOWN_ERROR: m",
		},
		"computed": {
			"return: {status: \"${{ if 1 == 1 then \\\"partial\\\" else \\\"completed\\\" end " +
				"}}\", message: m}",
			"partial 3: m",
		},
		"null is completed": {"return: {status: $env.HOME, message: m}", "completed 0: m"},
		"no status": {
			"return: {status: $args._raw, message: m}",
			`failed 1 VALIDATION_FAILED: x.md:10:1: step a: expected a status to return, got word`,
		},
		"no artifacts": {
			"return: {message: m, artifacts: '$run.id'}",
			"failed 1 VALIDATION_FAILED: x.md:10:1: step a: expected artifacts with type and " +
				"path to return, got r1",
		},
		"an expression fails": {
			"return: {message: m, fields: {x: $run.id | keys}}",
			`failed 1 VALIDATION_FAILED: x.md:13:34: $run.id | keys: ` +
				`keys cannot be applied to: string ("r1")`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ret := w.run(
				t.Context(),
				file("arguments: [{name: w, type: string}]\nenv: [HOME]\n", "", "A: "+c.ret),
				"word",
			)
			if got := describeReturn(ret); got != c.want {
				t.Errorf("Run = %s, want %s", got, c.want)
			}
		})
	}
}

// TestReturnWhole: every member of a return, and what the engine stamps.
func TestReturnWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	w.agents["worker"] = always(formats.Return{
		Status:   formats.StatusCompleted,
		Summary:  "s",
		Text:     "# Text",
		Warnings: []string{"not verified", "not verified"},
		Artifacts: []formats.Artifact{
			{Type: formats.ArtifactReport, Path: "r.md", Summary: "one"},
			{Type: formats.ArtifactReport, Path: "r.md", Summary: "two"},
			{Type: formats.ArtifactPlan, Path: "p.md"},
		},
		Metadata: formats.Metadata{Worktree: "/tree"},
	})

	ret := w.run(
		t.Context(),
		file(
			"", "",
			"A: id: a\ndelegate: worker",
			"B: return: {message: m, text: $steps.a.text, artifacts: '$steps.a.artifacts[2]', "+
				"fields: {n: 1, list: [$run.id]}, next_steps: \"/next ${{ $run.worktree }}\"}",
		),
		"",
	)

	ret.Metadata.Duration = 0

	want := formats.Return{
		Status:    formats.StatusCompleted,
		Summary:   "m",
		Text:      "# Text",
		Fields:    map[string]any{"n": 1, "list": []any{"r1"}},
		NextSteps: "/next /tree",
		Artifacts: []formats.Artifact{{Type: formats.ArtifactPlan, Path: "p.md"}},
		Errors:    []formats.ReturnError{},
		Warnings:  []string{"not verified"},
		Metadata: formats.Metadata{
			Session:  session,
			Run:      runID,
			Agent:    "/x",
			Depth:    1,
			Path:     []string{"router", "/x"},
			Worktree: "/tree",
			Spawns:   1,
		},
	}

	if diff := cmp.Diff(want, ret); diff != "" {
		t.Errorf("return (-want +got):\n%s", diff)
	}

	if w.requests[0].Dir != "/project" {
		t.Errorf("dir = %s, want the project until there is a worktree", w.requests[0].Dir)
	}
}

// TestArtifacts: without a word of the file the return has those of the run, the newest of each
// type and path.
func TestArtifacts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agents["worker"] = in(
		made(formats.ArtifactReport, "r.md"),
		made(formats.ArtifactPlan, "p.md"),
		formats.Return{
			Status: formats.StatusCompleted,
			Artifacts: []formats.Artifact{{
				Type:    formats.ArtifactReport,
				Path:    "r.md",
				Summary: "new",
			}},
		},
		formats.Return{
			Status:   formats.StatusCompleted,
			Metadata: formats.Metadata{Worktree: "/tree"},
		},
		ok("done"),
		formats.Return{
			Status:   formats.StatusCompleted,
			Metadata: formats.Metadata{Worktree: formats.WorktreeClosed},
		},
	)
	src := file(
		"", "",
		"A: foreach: '[range(7)]'\ndelegate: worker\n"+
			"with: {n: $run.artifacts | length, tree: $run.worktree}",
	)
	ret := w.run(t.Context(), src, "")
	want := []formats.Artifact{
		{Type: formats.ArtifactPlan, Path: "p.md"},
		{Type: formats.ArtifactReport, Path: "r.md", Summary: "new"},
	}
	if diff := cmp.Diff(want, ret.Artifacts); diff != "" {
		t.Errorf("artifacts (-want +got):\n%s", diff)
	}
	var got []string
	for _, r := range w.requests {
		got = append(got, flat(r.Input)+" "+r.Dir)
	}

	seen := []string{
		"{n:0} /project", "{n:1} /project", "{n:2} /project", "{n:2} /project",
		"{n:2,tree:/tree} /tree", "{n:2,tree:/tree} /tree", "{n:2} /project",
	}
	if diff := cmp.Diff(seen, got); diff != "" {
		t.Errorf("inputs and trees (-want +got):\n%s", diff)
	}
}

// TestIssuesOfANo: a return that says no carries the issues of the last step that did not pass.
func TestIssuesOfANo(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	w.agents["judge"] = always(verdict(formats.VerdictRejected, "too short"))

	ret := w.run(
		t.Context(),
		file(
			"", "",
			"A: id: a\ndelegate: judge\non: {rejected: next}",
			"B: return: {status: $steps.a.status, message: $steps.a.summary}",
		),
		"",
	)

	got := describeReturn(ret)
	if got != "rejected 5: rejected" || len(ret.Issues) != 1 ||
		ret.Issues[0].Description != "too short" {
		t.Errorf("Run = %s, issues %v", got, ret.Issues)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()

	rows := "'[{n: 1, t: \"a\\tb\", o: {x: 1}}, {n: 2}, \"plain\"]'"

	for name, c := range map[string]struct {
		block string
		want  formats.Table
		err   string
	}{
		"columns": {
			"table: " + rows + "\ncolumns: [t, n]\ntitle: \"${{ 1 + 1 }} rows\"",
			formats.Table{
				Title:   "2 rows",
				Columns: []string{"t", "n"},
				Rows:    [][]string{{"a b", "1"}, {"", "2"}, {"plain", ""}},
			},
			"",
		},
		"no columns": {
			"table: " + rows,
			formats.Table{
				Columns: []string{"n", "o", "t"},
				Rows:    [][]string{{"1", `{"x":1}`, "a b"}, {"2", "", ""}, {"plain", "", ""}},
			},
			"",
		},
		"values": {
			"table: '[1, \"x\"]'",
			formats.Table{Columns: []string{"value"}, Rows: [][]string{{"1"}, {"x"}}},
			"",
		},
		"none": {
			"table: '[]'\ncolumns: [a]",
			formats.Table{Columns: []string{"a"}, Rows: [][]string{}},
			"",
		},
		"null": {
			"table: 'null'\ncolumns: [a]",
			formats.Table{Columns: []string{"a"}, Rows: [][]string{}},
			"",
		},
		"no array": {
			"table: '{a: 1}'",
			formats.Table{},
			"failed 1 VALIDATION_FAILED: x.md:11:9: expected an array of rows for table, got an " +
				"object",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)

			ret := w.run(t.Context(), file("", "", "A: "+c.block), "")

			if c.err != "" {
				if got := describeReturn(ret); got != c.err {
					t.Errorf("Run = %s, want %s", got, c.err)
				}
				return
			}

			if diff := cmp.Diff([]formats.Table{c.want}, w.tables); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(w.tables, ret.Tables); diff != "" {
				t.Errorf("tables of the return (-shown +got):\n%s", diff)
			}
		})
	}
}

// TestTableBeside: a table is shown before the action beside it.
func TestTableBeside(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	ret := w.run(t.Context(), file("", "", "A: table: '[1]'\ndelegate: worker\nreturn: both"), "")

	var order []string
	for _, line := range w.log {
		if word, _, _ := strings.Cut(line, " "); word != "journal" {
			order = append(order, word)
		}
	}

	if got := describeReturn(ret); got != "completed 0: both" || strings.Join(order, " ") != "show call" {
		t.Errorf("Run = %s, order %v", got, order)
	}
}

// TestVariables: what an expression sees of the line, the run, the environment and the state.
func TestVariables(t *testing.T) {
	t.Parallel()

	front := "arguments:\n  - {name: n, type: task, required: true}\n" +
		"  - {name: d, type: duration, flag: true}\n  - {name: list, type: tasks, flag: true}\n" +
		"  - {name: on, type: boolean, flag: true}\n" +
		"  - {name: j, type: json, flag: true}\nenv: [HOME]\n"

	for expr, want := range map[string]string{
		"$args.n + $args.d":           "1807",
		"$args.list":                  "[7,8]",
		"[$args.on, $args.j.a]":       "[true,[1.50]]",
		"$args._raw":                  `7 --d 30m --list 7,8 --on --j '{"a":[1.50]}'`,
		"$task.title":                 "Fix it",
		"$task | type":                "object",
		"$state.tasks | map(.number)": "[7]",
		"$env":                        `{"HOME":"/home"}`,
		"$feedback":                   "",
		"$run | del(.started_at)": `{"approval":"autonomous","artifacts":[],` +
			`"auto_approve":true,"command":"/x 7","commit":"","depth":1,"diff":"",` +
			`"diffstat":"","id":"r1","overrides":[],"rollbacks":0,` +
			`"session_id":"sess_1_abcdef","worktree":null}`,
		"$run.started_at":                  "2000-01-01T00:00:00Z",
		"$steps":                           "{}",
		"$steps | keys":                    "[]",
		"null | default(3)":                "3",
		"{status: \"skipped\"} | passed":   "true",
		"[1, 2] as [$a, $b] | $b":          "2",
		"[$task.number, $args.n] | unique": "[7]",
		"$files":                           `["notes/a.md","notes/b.md"]`,
		"[$none, $empty]":                  "[null,[]]",
		"$found.number":                    "7",
		"$twice":                           "14",
	} {
		t.Run(expr, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)

			w.cfg.Clock = fixed{}
			w.cfg.Env = func(name string) (string, bool) {
				v, ok := map[string]string{"HOME": "/home", "SECRET": "s"}[name]
				return v, ok
			}

			w.cfg.AutoApprove = true

			w.docs["notes/a.md"] = "a"
			w.docs["notes/b.md"] = "b"

			args := "load:\n  found: '$state.tasks | map(select(.number == $args.n)) | first'\n" +
				"  twice: $found.number * 2\n" +
				"  files: {files: [\"notes/*\"]}\n  none?: 'null'\n  empty: '[]'"

			ret := w.run(
				t.Context(),
				file(
					front, args,
					"A: set: {x: '"+strings.ReplaceAll(expr, "'", "''")+"'}",
					"B: return: ${{ $x }}",
				),
				`7 --d 30m --list 7,8 --on --j '{"a":[1.50]}'`,
			)

			if want == "" {
				want = "/x done"
			}
			if ret.Summary != want {
				t.Errorf("%s = %s %v, want %s", expr, ret.Summary, ret.Errors, want)
			}
		})
	}
}

type fixed struct{ clock }

func (fixed) Now() time.Time {
	return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
}
