package interp_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/commands/interp"
	"tercet/formats"
)

// TestDryRun: a dry run reads and decides what can be decided, tells the tree of what it would do,
// and has no effect.
func TestDryRun(t *testing.T) {
	t.Parallel()

	front := "arguments:\n  - {name: n, type: task, required: true}\n" +
		"  - {name: go, type: boolean, flag: true}\n"

	for name, c := range map[string]struct {
		front, args string
		steps       []string
		line        string
		want, text  string
	}{
		"a plan": {
			front + "during: planning\n", "load: {title: $task.title}",
			[]string{
				"A: id: a\ndelegate: maker\nwith: {t: $title}",
				"B: id: b\ncheck: {document: plan}\non: {rejected: {redo: [a]}}",
				"C: id: c\nstatus: planned",
				"D: id: d\nreturn: \"made ${{ $steps.a.artifacts[0].path }}\"",
				"!E: always: any\ndelegate: worker",
			},
			"7",
			"completed 0: dry run: 5 steps, nothing was written",
			"during: would delegate to status-sync-manager, operation update_status, task_number " +
				"7, status planning\nA (a): would delegate to maker\n" +
				"B (b): would check the document plan\n" +
				"C (c): would delegate to status-sync-manager, operation update_status, " +
				"task_number 7, status planned\nD (d): would return",
		},
		"conditions that are known": {
			front, "",
			[]string{
				"A: id: a\nwhen: $args.go\ndelegate: worker",
				"B: id: b\nwhen: $args.go | not\ndelegate: second",
			},
			"7",
			"completed 0: dry run: 1 step, nothing was written", "B (b): would delegate to second",
		},
		"conditions that are not": {
			front, "",
			[]string{
				"A: id: a\ndelegate: typed\nwith: {n: 1}",
				"B: id: b\nset: {many: $steps.a.fields.count > 3, few: 1}",
				"C: id: c\nwhen: $many\ngate: \"Take ${{ $steps.a.fields.list[0].x }}?\"\n" +
					"choices: {yes: next, no: fail}",
				"D: id: d\nwhen: $few > 1\ndelegate: worker",
				"E: id: e\nwhen: $steps.a.status == \"failed\"\nreturn: early",
				"F: id: f\ncheck: $steps.a.fields.count > 3", "G: id: g\ncheck: $few == 1",
				"H: id: h\nreturn: {message: late, status: '$steps.a.fields.list[0]', fields: " +
					"{x: '$steps.a.fields.list[0].y'}}",
			},
			"7",
			"completed 0: dry run: 9 steps, nothing was written",
			"A (a): would delegate to typed\nB (b): would set $many, which only a run knows\n" +
				"C (c): would run only when $many, which only a run knows\n" +
				"C (c): would ask: Take ? [yes, no]\n" +
				"E (e): would run only when $steps.a.status == \"failed\", which only a run " +
				"knows\nE (e): would return\nF (f): would check $steps.a.fields.count > 3, which " +
				"only a run knows\nG (g): would check $few == 1\nH (h): would return",
		},
		"a loop over what is known": {
			front, "",
			[]string{
				"A: id: a\nforeach: '[1, 2]'",
				">B: id: b\ndelegate: worker\nwith: {operation: archive_tasks, task_number: $item}",
				"C: id: c\nwhen: ($steps.a.failed | length) > 0\ndelegate: worker",
			},
			"7",
			"completed 0: dry run: 5 steps, nothing was written",
			"A (a): would run for each $item of 2\n" +
				"  B (b): would delegate to worker, operation archive_tasks, task_number 1\n" +
				"  B (b): would delegate to worker, operation archive_tasks, task_number 2\n" +
				"C (c): would run only when ($steps.a.failed | length) > 0, which only a run " +
				"knows\nC (c): would delegate to worker",
		},
		"a loop over what is not": {
			front, "",
			[]string{
				"A: id: a\ndelegate: typed\nwith: {n: 1}",
				"L: id: l\nforeach: $steps.a.fields.list\nas: x\ndelegate: worker\n" +
					"with: {x: $x.deep.member}",
			},
			"7",
			"completed 0: dry run: 3 steps, nothing was written",
			"A (a): would delegate to typed\n" +
				"L (l): would run for each $x of $steps.a.fields.list, which only a run knows\n" +
				"  L: would delegate to worker",
		},
		"a table": {
			front,
			"",
			[]string{"A: id: a\ntable: '[{n: 1}]'\nreturn: shown"},
			"7",
			"completed 0: dry run: 2 steps, nothing was written",
			"A (a): would show a table of 1\nA (a): would return",
		},
		"a check that fails now": {
			front,
			"",
			[]string{"A: id: a\ndelegate: worker", "B: id: b\ncheck: 1 == 2"},
			"7",
			"failed 5 REJECTED: expected 1 == 2",
			"A (a): would delegate to worker\nB (b): would check 1 == 2",
		},
		"a failure": {
			front,
			"",
			[]string{"A: id: a\nfail: No."},
			"7",
			"failed 1 PRECONDITION: No.",
			"A (a): would fail: No.",
		},
		"a failure that only a run knows": {
			front, "",
			[]string{
				"A: id: a\ndelegate: typed\nwith: {n: 1}",
				"B: id: b\nwhen: $steps.a.fields.count > 3\nfail: No.",
				"C: id: c\ndelegate: second",
			},
			"7",
			"completed 0: dry run: 4 steps, nothing was written",
			"A (a): would delegate to typed\n" +
				"B (b): would run only when $steps.a.fields.count > 3, which only a run knows\n" +
				"B (b): would fail: No.\nC (c): would delegate to second",
		},
		"a failure in a group and a loop that only a run knows": {
			front, "",
			[]string{
				"A: id: a\ndelegate: typed\nwith: {n: 1}",
				"B: id: b\nwhen: |\n  $steps.a.fields.count\n    > 3\ndo:\n" +
					"  - {id: c, delegate: worker}\n  - {id: d, fail: No.}",
				"L: id: l\nforeach: $steps.a.fields.list", ">M: id: m\nfail: Nor here.",
				"N: id: n\nwhen: $steps.c.status == \"completed\"\ndelegate: second",
			},
			"7",
			"completed 0: dry run: 9 steps, nothing was written",
			"A (a): would delegate to typed\n" +
				"B (b): would run only when $steps.a.fields.count > 3, which only a run knows\n" +
				"c: would delegate to worker\nd: would fail: No.\nB (b): would run these steps\n" +
				"L (l): would run for each $item of $steps.a.fields.list, which only a run " +
				"knows\n  M (m): would fail: Nor here.\n" +
				"N (n): would run only when $steps.c.status == \"completed\", which only a run " +
				"knows\nN (n): would delegate to second",
		},
		"a failure in a group that runs": {
			front,
			"",
			[]string{
				"A: id: a\ndo:\n  - {id: c, delegate: worker}\n  - {id: d, fail: No.}",
				"B: id: b\ndelegate: second",
			},
			"7",
			"failed 1 PRECONDITION: No.",
			"c: would delegate to worker\nd: would fail: No.\nA (a): would run these steps",
		},
		"a result that only a run has": {
			front, "",
			[]string{
				"A: id: a\ndelegate: typed\nwith: {n: 1}",
				"B: id: b\nwhen: $steps.a.fields.count > 3\ngate: Go?\n" +
					"choices: {yes: next, no: fail}",
				"C: id: c\nwhen: $steps.b.choice == null\ndelegate: second",
			},
			"7",
			"completed 0: dry run: 5 steps, nothing was written",
			"A (a): would delegate to typed\n" +
				"B (b): would run only when $steps.a.fields.count > 3, which only a run knows\n" +
				"B (b): would ask: Go? [yes, no]\n" +
				"C (c): would run only when $steps.b.choice == null, which only a run knows\n" +
				"C (c): would delegate to second",
		},
		"a precondition": {
			front,
			"require: [{when: $args.go, else: say --go, exit: USAGE}]",
			[]string{"A: delegate: worker"},
			"7",
			"failed 2 USAGE: say --go",
			"",
		},
		"a required input that is not there yet": {
			front,
			"",
			[]string{
				"A: id: a\ndelegate: worker",
				"B: id: b\ndelegate: typed\nwith: {n: $steps.a.fields.n}",
			},
			"7",
			"completed 0: dry run: 2 steps, nothing was written",
			"A (a): would delegate to worker\nB (b): would delegate to typed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.cfg.DryRun = true
			w.docs["p.md"] = "x"

			ret := w.run(t.Context(), file(c.front, c.args, c.steps...), c.line)

			if got := describeReturn(ret); got != c.want {
				t.Errorf("Run = %s, want %s", got, c.want)
			}

			if diff := cmp.Diff(c.text, ret.Text); diff != "" {
				t.Errorf("tree (-want +got):\n%s", diff)
			}

			if len(w.log) > 0 || len(w.gates) > 0 || len(ret.Artifacts) > 0 {
				t.Errorf("effects = %q, artifacts %v, want none", w.log, ret.Artifacts)
			}

			if w.status() != "not_started" {
				t.Errorf("task = %s", w.status())
			}

			if name == "a table" && len(ret.Tables) != 1 {
				t.Errorf("tables = %v, want the rows in the return", ret.Tables)
			}
		})
	}
}

// TestNew: everything that a run cannot do without is named.
func TestNew(t *testing.T) {
	t.Parallel()
	for want, drop := range map[string]func(*interp.Config){
		"Agents":   func(c *interp.Config) { c.Agents = nil },
		"State":    func(c *interp.Config) { c.State = nil },
		"Docs":     func(c *interp.Config) { c.Docs = nil },
		"Problems": func(c *interp.Config) { c.Problems = nil },
		"Approve":  func(c *interp.Config) { c.Approve = nil },
		"Lint":     func(c *interp.Config) { c.Lint = nil },
		"Journal":  func(c *interp.Config) { c.Journal = nil },
		"Clock":    func(c *interp.Config) { c.Clock = nil },
		"Trace":    func(c *interp.Config) { c.Trace = nil },
		"Show":     func(c *interp.Config) { c.Show = nil },
	} {
		w := newWorld(t)
		drop(&w.cfg)
		_, err := interp.New(w.cfg)
		if err == nil || err.Error() != "a run needs "+want+", got nil" ||
			formats.CodeOf(err) != formats.CodeBug {
			t.Errorf("New without %s = %v", want, err)
		}
	}

	w := newWorld(t)
	runner, err := interp.New(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	p := w.program(file("", "", "A: return: done"))
	_, err = runner.Run(t.Context(), nil, valuesOf(t, p, ""), formats.CommandDepth())
	if err == nil {
		t.Error("Run without a program = nil, want an error")
	}
}

// TestStateErrors: a state that cannot be read ends the command, where it is read and nowhere else.
func TestStateErrors(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	w.cfg.State = broken{}

	ret := w.run(t.Context(), file("", "", "A: set: {x: 1}", "B: set: {y: $state.tasks}"), "")
	got := describeReturn(ret)
	if got != "failed 65 INVALID_STATE: x.md:14:1: step b: state.json:1:1: no object" ||
		ret.Errors[0].Recommendation != "restore it" {
		t.Errorf("Run = %s %v", got, ret.Errors)
	}

	ret = w.run(t.Context(), file(task, "", "A: set: {x: 1}"), "7")
	if got := describeReturn(ret); got != "failed 65 INVALID_STATE: state.json:1:1: no object" {
		t.Errorf("Run = %s", got)
	}
}

type broken struct{}

func (broken) Snapshot(context.Context) (any, uint64, error) {
	return nil, 0, &formats.Failure{
		Code:    formats.CodeInvalidState,
		Message: "state.json:1:1: no object",
		Help:    "restore it",
	}
}
