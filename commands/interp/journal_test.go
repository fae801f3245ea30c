package interp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/internal/trace"
)

// everything is a command with each kind of decision in it.
func everything() string {
	return file(
		during, "", "A: id: a\ndelegate: maker",
		"B: id: b\ndelegate: judge\non: {rejected: {redo: [a]}}", "C: id: c\ngate: Well?",
		"D: id: d\nforeach: '[1]'\ndelegate: worker", "E: id: e\nwhen: 1 == 2\ndelegate: worker",
		"F: id: f\nstatus: planned", "G: id: g\nreturn: done",
	)
}

func everyone(w *world) {
	w.agents["maker"] = always(made(formats.ArtifactPlan, "p.md"))
	w.agents["judge"] = in(
		verdict(formats.VerdictRejected, "bad"),
		verdict(formats.VerdictApproved),
	)
	w.answer = choose("approve yes")
}

// visit is what a path in the journal has beside the place.
var visit = regexp.MustCompile(`#[0-9]+(\.[0-9]+)?`)

// TestJournalOrder: each decision stands in the journal before its effect.
func TestJournalOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	everyone(w)
	ret := w.run(t.Context(), everything(), "7")
	if got := describeReturn(ret); got != "completed 0: done" {
		t.Fatalf("Run = %s", got)
	}
	var got []string
	for _, line := range w.log {
		words := strings.Fields(line)
		got = append(got, strings.Join(words[:min(3, len(words))], " "))
	}

	step := func(id string, inner ...string) []string {
		return slices.Concat(
			[]string{"journal step_scheduled " + id},
			inner,
			[]string{"journal step_finished " + id},
		)
	}
	call := func(agent, id string) []string {
		return []string{
			"journal delegation_started " + id,
			"call " + agent + " " + id,
			"journal delegation_result " + id,
		}
	}
	sync := func(id string) []string {
		return append(call("status-sync-manager", id), "journal state_committed "+id)
	}
	want := slices.Concat(
		[]string{"journal run_started"},
		sync("during"),
		step("a", call("maker", "a")...),
		step("b", call("judge", "b")...),
		[]string{"journal observed b", "journal redo b"},
		step("a", call("maker", "a")...),
		step("b", call("judge", "b")...),
		step("c", "journal gate_opened c", "approve Well?", "journal gate_decided c"),
		step(
			"d",
			slices.Concat(
				[]string{"journal loop_entered d"},
				step("d[0]/worker", call("worker", "d[0]/worker")...),
			)...,
		),
		[]string{"journal step_finished e"},
		step("f", sync("f")...),
		step("g"),
		[]string{"journal run_finished"},
	)
	for i := range got {
		got[i] = visit.ReplaceAllString(got[i], "")
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	keys := map[string]bool{}
	for _, r := range w.requests {
		keys[r.Txn] = true
	}

	for _, e := range w.entries {
		if (e.Type == formats.EntryDelegationStarted || e.Type == formats.EntryDelegationResult ||
			e.Type == formats.EntryStateCommitted) && !keys[e.Key] {
			t.Errorf("%s of %s has key %q, which is no transaction id of the run",
				e.Type, e.Step, e.Key)
		}
	}
}

// TestJournalIsTheSame: the same answers give the same entries and requests, byte for byte.
func TestJournalIsTheSame(t *testing.T) {
	t.Parallel()
	record := func() string {
		w := newWorld(t)

		w.cfg.Clock = fixed{}
		everyone(w)
		w.run(t.Context(), everything(), "7")

		out, err := json.Marshal([]any{w.entries, w.requests, w.events})
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}

	first := record()
	for range 20 {
		if again := record(); again != first {
			t.Fatalf("runs differ:\n%s", cmp.Diff(first, again))
		}
	}
}

// TestTransactionIDs: the same place of the same run has the same id, so that nothing is applied
// twice; every other place, visit, attempt and run has another.
func TestTransactionIDs(t *testing.T) {
	t.Parallel()

	ids := func(run string) []string {
		w := newWorld(t)
		w.cfg.IDs.Run = run
		w.cfg.Clock = fixed{}
		everyone(w)

		w.run(t.Context(), everything(), "7")

		var out []string
		for _, r := range w.requests {
			out = append(out, r.Txn)
		}
		return out
	}

	one := ids("r1")
	two := ids("r1")
	other := ids("r2")

	if diff := cmp.Diff(one, two); diff != "" {
		t.Errorf("ids of the same run (-first +second):\n%s", diff)
	}

	seen := map[string]bool{}
	for _, id := range append(one, other...) {
		if seen[id] || len(id) != 32 {
			t.Errorf("id %q stands twice or has another form", id)
		}
		seen[id] = true
	}
}

// TestJournalError: an entry that cannot be written suspends the run before its effect; what was
// done already is kept, and the task stays the run's own.
func TestJournalError(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]struct {
		calls  string
		status string
	}{
		"run_started":               {"", "not_started"},
		"delegation_started during": {"", "not_started"},
		"delegation_result during":  {"during lease", "planning suspended"},
		"state_committed during":    {"during lease", "planning suspended"},
		"step_scheduled a":          {"during lease", "planning suspended"},
		"delegation_started a":      {"during lease", "planning suspended"},
		"delegation_result a":       {"during a lease", "planning suspended"},
		"step_finished a":           {"during a lease", "planning suspended"},
		"redo b":                    {"during a b lease", "planning suspended"},
		"gate_decided c":            {"during a b a b lease", "planning suspended"},
		"loop_entered d":            {"during a b a b lease", "planning suspended"},
		"step_finished e":           {"during a b a b d[0]/worker lease", "planning suspended"},
		"delegation_result f":       {"during a b a b d[0]/worker f", "planned +p.md"},
		"run_finished":              {"during a b a b d[0]/worker f", "planned +p.md"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			everyone(w)
			w.refuse = func(e formats.Entry) error {
				if strings.TrimSpace(fmt.Sprintf("%s %s",
					e.Type, visit.ReplaceAllString(e.Step, ""))) == kind {
					return &formats.Failure{
						Code:    formats.CodeIO,
						Message: "no space left on device",
					}
				}
				return nil
			}
			ret := w.run(t.Context(), everything(), "7")
			ends := formats.StatusSuspended
			if kind == "run_started" { // there is no run yet
				ends = formats.StatusFailed
			}
			if ret.Status != ends || formats.ExitCode(ret) != 74 ||
				(ret.Resume != nil) != (ends == formats.StatusSuspended) ||
				!strings.Contains(ret.Summary, "journal: no space left") {
				t.Errorf("Run = %s", describeReturn(ret))
			}
			var steps []string
			for _, r := range w.requests {
				steps = append(steps, r.Step)
			}

			if got := strings.Join(steps, " "); got != want.calls || w.status() != want.status {
				t.Errorf("calls = %s, task %s; want %s, %s",
					got, w.status(), want.calls, want.status)
			}
			if strings.Contains(want.status, "+p.md") && len(w.discarded) > 0 {
				t.Errorf("discarded %v, which is linked", w.discarded)
			}
		})
	}
}

// TestFullDiskKeepsWork: while the journal cannot be written the run has no end, so worktree and
// documents stay for when it goes on.
func TestFullDiskKeepsWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	full := false
	w.refuse = func(e formats.Entry) error {
		if full = full || e.Type == formats.EntryDelegationStarted && e.Step == "b#1"; full {
			return &formats.Failure{Code: formats.CodeIO, Message: "no space left on device"}
		}
		return nil
	}

	w.agents[formats.AgentGitWorkflow] = func(
		context.Context,
		formats.Request,
	) (formats.Return, error) {
		return formats.Return{
			Status:   formats.StatusCompleted,
			Metadata: formats.Metadata{Worktree: "/tree"},
		}, nil
	}

	w.agents["worker"] = func(context.Context, formats.Request) (formats.Return, error) {
		return made(formats.ArtifactReport, ".tercet/specs/1/reports/research-001.md"), nil
	}

	w.cfg.Discard = func(_ context.Context, _ string, list []formats.Artifact) error {
		t.Errorf("discarded %v", list)
		return nil
	}

	ret := w.run(
		t.Context(),
		file(
			"worktree: {per: run}\n",
			"",
			"A: id: a\ndelegate: worker",
			"B: id: b\ndelegate: worker",
		),
		"",
	)

	var steps []string
	for _, r := range w.requests {
		steps = append(steps, r.Step)
	}

	got := strings.Join(steps, " ")
	if got != "worktree a" || ret.Status != formats.StatusSuspended {
		t.Errorf("calls = %s, %s; want worktree a", got, describeReturn(ret))
	}
}

// TestTrace: each step that begins and ends, each question, and the run are events with depth and
// path.
func TestTrace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	everyone(w)
	w.run(t.Context(), everything(), "7")
	var got []string
	facts := map[trace.Kind]string{}
	for _, e := range w.events {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Kind, e.Step, e.Outcome)))
		if len(e.Attrs) > 0 {
			facts[e.Kind] += strings.TrimSpace(e.Name+" "+e.Message) + fmt.Sprint(e.Attrs)
		}
		if e.Run != runID || e.FromDepth != 1 || !slices.Equal(e.Path, []string{"router", "/x"}) ||
			e.Time.IsZero() {
			t.Errorf("event = %+v", e)
		}
	}

	want := []string{
		"run", "step a", "step a completed", "step b", "step b rejected", "round b", "step a",
		"step a completed", "step b", "step b approved", "step c", "gate c#1", "gate c#1 approve",
		"step c completed", "step d", "pass d[0]", "step d[0]/worker", "step d[0]/worker completed",
		"step d completed", "step e skipped", "step f", "step f completed", "step g",
		"step g completed", "run  completed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	for kind, want := range map[trace.Kind]string{
		trace.Run:   "/x /x 7map[limits:{",
		trace.Round: "amap[number:2 of:4]",
		trace.Step:  "issues:[",
		trace.Pass:  "abreast:false number:1 of:1 steps:1",
	} {
		if !strings.Contains(facts[kind], want) {
			t.Errorf("facts of %s are %q, want %q among them", kind, facts[kind], want)
		}
	}
}

// TestProblems: what prevented completion is recorded with its place; what a person decided is not.
func TestProblems(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps []string
		agent agent
		want  string
		path  string
	}{
		"a failure": {
			[]string{"A: set: {x: 1}", "B: id: b\ndelegate: worker"},
			always(failing(formats.CodeIO, "full")),
			"IO: full b 16 7",
			"router /x worker",
		},
		"an engine error": {
			[]string{"A: id: b\ndelegate: worker"},
			func(context.Context, formats.Request) (formats.Return, error) {
				return formats.Return{}, errBroken
			},
			"UNKNOWN_ERROR: x.md:10:1: step b: broken b 10 7",
			"router /x",
		},
		"a rejection": {[]string{"A: check: 1 == 2"}, nil, "", ""},
		"partial":     {[]string{"A: delegate: worker"}, always(partial("half")), "", ""},
		"an invalid reply": {
			[]string{"A: delegate: worker"},
			always(failing(formats.CodeInvalidReturn, "no json")),
			"INVALID_RETURN: no json a 10 7",
			"router /x worker",
		},
		"a success": {[]string{"A: delegate: worker"}, always(ok("done")), "", ""},
	} {
		w := newWorld(t)
		w.agents["worker"] = c.agent
		w.run(t.Context(), file(task, "", c.steps...), "7")
		got := ""
		for _, p := range w.problems {
			got += fmt.Sprintf("%s %s %d %d",
				p.Message, p.Context.Step, p.Context.Line, p.Context.Task)
			if p.Severity != "critical" || p.Context.File != "x.md" || p.Context.Run != runID ||
				p.Context.Session != session || p.Context.Command != "/x 7" ||
				strings.Join(p.Path, " ") != c.path || p.Depth != len(p.Path)-1 {
				t.Errorf("%s: problem = %+v", name, p)
			}
		}
		if got != c.want {
			t.Errorf("%s: problems = %q, want %q", name, got, c.want)
		}
	}
}

var _ trace.Sink = trace.Func(nil)
