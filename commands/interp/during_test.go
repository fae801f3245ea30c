package interp_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/commands/compile"
	"tercet/formats"
)

// status is what the fake state says of task 7: its status, how many documents are linked, and
// whether it has a lease.
func (w *world) status() string {
	t := w.tasks[7]
	out := t.Status.String()

	for _, a := range t.Artifacts {
		out += " +" + a.Path
	}

	if t.Lease != nil && t.Lease.Suspended {
		out += " suspended"
	} else if t.Lease != nil {
		out += " leased"
	}

	return out
}

// TestDuring: the status before step 1, and where the task is after each way to end.
func TestDuring(t *testing.T) {
	t.Parallel()

	withFailed := strings.Replace(
		during,
		"during: planning",
		"during: {status: implementing, failed: partial}",
		1,
	)

	plan := made(formats.ArtifactPlan, "p.md")
	half := partial("half")
	half.Artifacts = plan.Artifacts

	for name, c := range map[string]struct {
		front  string
		steps  []string
		worker formats.Return
		want   string
		status string
		gone   string // documents that were taken back
	}{
		"completed": {
			during,
			[]string{"A: delegate: maker", "B: status: planned"},
			plan,
			"completed 0: /x done",
			"planned +p.md",
			"",
		},
		"completed without a status": {
			during,
			[]string{"A: delegate: maker"},
			plan,
			"completed 0: /x done",
			"not_started +p.md",
			"",
		},
		"returned early": {
			during,
			[]string{"A: return: nothing to do"},
			plan,
			"completed 0: nothing to do",
			"not_started",
			"",
		},
		"failed": {
			during,
			[]string{"A: delegate: maker", "B: fail: No."},
			plan,
			"failed 1 PRECONDITION: No.",
			"not_started",
			"p.md",
		},
		"a worker failed": {
			during,
			[]string{"A: delegate: maker"},
			failing(formats.CodeIO, "full"),
			"failed 74 IO: full",
			"not_started",
			"",
		},
		"rejected": {
			during,
			[]string{"A: delegate: maker", "B: check: 1 == 2"},
			plan,
			"failed 5 REJECTED: expected 1 == 2",
			"not_started",
			"p.md",
		},
		"blocked": {
			during,
			[]string{"A: delegate: maker"},
			blocked("which?"),
			"blocked 75: which?",
			"not_started",
			"",
		},
		"suspended": {
			during,
			[]string{"A: delegate: maker", "B: gate: Well?"},
			plan,
			"suspended 75: gate \"Well?\" has no answer",
			"planning suspended",
			"",
		},
		"partial keeps its documents": {
			during,
			[]string{"A: delegate: maker"},
			half,
			"partial 3: half",
			"not_started +p.md",
			"",
		},
		"a verdict of no keeps its review": {
			during,
			[]string{"A: delegate: maker", "B: return: {status: rejected, message: no}"},
			made(formats.ArtifactReview, "r.md"),
			"rejected 5: no",
			"not_started",
			"",
		},
		"a rejection keeps its review": {
			during,
			[]string{"A: delegate: maker", "B: delegate: second", "C: check: 1 == 2"},
			made(formats.ArtifactReview, "r.md"),
			"failed 5 REJECTED: expected 1 == 2",
			"not_started",
			"",
		},
		"failed: after a worker": {
			withFailed,
			[]string{"A: delegate: maker", "B: fail: No."},
			plan,
			"failed 1 PRECONDITION: No.",
			"partial",
			"p.md",
		},
		"failed: on partial, linked": {
			withFailed,
			[]string{"A: delegate: maker"},
			half,
			"partial 3: half",
			"partial +p.md",
			"",
		},
		"failed: not before a worker": {
			withFailed,
			[]string{"A: check: {command: [git]}", "B: fail: No."},
			plan,
			"failed 1 PRECONDITION: No.",
			"not_started",
			"",
		},
		"failed: not when blocked": {
			withFailed,
			[]string{"A: delegate: maker"},
			blocked("which?"),
			"blocked 75: which?",
			"not_started",
			"",
		},
		"failed: not when it went well": {
			withFailed,
			[]string{"A: delegate: maker"},
			plan,
			"completed 0: /x done",
			"not_started +p.md",
			"",
		},
		"without a preflight, put back too": {
			task,
			[]string{"A: status: planning", "B: delegate: maker", "C: fail: No."},
			plan,
			"failed 1 PRECONDITION: No.",
			"not_started",
			"p.md",
		},
		"by the manager's name": {task, []string{
			"A: delegate: status-sync-manager\n" +
				"with: {operation: update_status, task_number: $task.number, status: planning}",
			"B: fail: No.",
		}, plan, "failed 1 PRECONDITION: No.", "not_started", ""},
		"a status that the table refuses": {
			task,
			[]string{"A: status: {to: $args._raw + \"x\"}"},
			plan,
			"failed 1 ILLEGAL_TRANSITION: task 7 cannot go from not_started to 7x",
			"not_started",
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.agents["maker"] = always(c.worker)

			ret := w.run(t.Context(), file(c.front, "", c.steps...), "7")
			if got := describeReturn(ret); got != c.want {
				t.Errorf("Run = %s, want %s", got, c.want)
			}

			if got := w.status(); got != c.status {
				t.Errorf("task = %s, want %s; log:\n%s", got, c.status, strings.Join(w.log, "\n"))
			}

			var gone []string
			for _, a := range w.discarded {
				gone = append(gone, a.Path)
			}

			if got := strings.Join(gone, " "); got != c.gone {
				t.Errorf("discarded %q, want %q", got, c.gone)
			}

			for _, a := range ret.Artifacts {
				if strings.Contains(c.gone, a.Path) {
					t.Errorf("artifacts = %v name what was taken back", ret.Artifacts)
				}
			}
		})
	}
}

// TestBegin: what the preflight asks for, and that a refusal ends the command before anything else.
func TestBegin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(
		t.Context(),
		file(during, "", "A: delegate: worker", "B: status: {to: planned, reason: fine}"),
		"7",
	)
	want := []string{
		"status-sync-manager during#1.1 {operation:update_status,reason:/x " +
			"7,status:planning,task_number:7}",
		"worker a#1.1 {}",
		"status-sync-manager b#1.1 " +
			"{operation:update_status,reason:fine,status:planned,task_number:7}",
	}
	if diff := cmp.Diff(want, w.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}

	w = newWorld(t)
	w.agents[compile.StatusSync] = always(failing(
		formats.CodeLocked,
		"the lock of state.json is held",
	))
	ret := w.run(
		t.Context(),
		file(during, "", "A: delegate: worker", "!Tidy: always: any\ndelegate: worker"),
		"7",
	)
	got := describeReturn(ret)
	if got != "failed 75 LOCKED: the lock of state.json is held" || len(w.calls()) != 1 {
		t.Errorf("Run = %s after %q", got, w.calls())
	}
}

// TestMayStart: the effective status is held against allow before anything is written, loaded or
// asked.
func TestMayStart(t *testing.T) {
	t.Parallel()

	other := &formats.Lease{
		Session: "sess_2_zzzzzz",
		PID:     12,
		Host:    "box",
		Taken:   "2026-01-05T10:00:00Z",
	}
	own := &formats.Lease{Session: session, Run: "r0"}

	conditional := strings.Replace(
		during,
		"during: planning",
		"during: {status: planning, when: $go}",
		1,
	)

	for name, c := range map[string]struct {
		front, args string
		status      formats.TaskStatus
		lease       *formats.Lease
		want        string
	}{
		"allowed": {
			during, "", formats.Researched, nil, "completed 0: /x done",
		},
		"not allowed": {
			during, "", formats.Completed, nil,
			"failed 1 PRECONDITION: task 7 is completed; /x starts from not_started, researched, " +
				"planned, revised, partial, blocked",
		},
		"by the file's allow": {
			task, "allow: [blocked]", formats.NotStarted, nil,
			"failed 1 PRECONDITION: task 7 is not_started; /x starts from blocked",
		},
		"allow comes before load": {
			task, "allow: [blocked]\nload: {plan: {document: plan, path: [gone.md]}}",
			formats.NotStarted, nil,
			"failed 1 PRECONDITION: task 7 is not_started; /x starts from blocked",
		},
		"held elsewhere": {
			during, "", formats.Researching, other,
			"failed 75 LEASE_HELD: task 7 is researching: session sess_2_zzzzzz (pid 12 on box) " +
				"works on it since 2026-01-05T10:00:00Z",
		},
		"held elsewhere, no preflight": {
			task, "allow: [researching]", formats.Researching, other, "completed 0: /x done",
		},
		// the reader gives the effective status
		"a stale lease is not held": {during, "", formats.NotStarted, nil, "completed 0: /x done"},
		"an earlier run of this session": {
			during, "", formats.Planning, own, "completed 0: /x done",
		},
		"a condition that does not hold": {
			conditional, "load: {go: 'false'}", formats.Completed, nil, "completed 0: /x done",
		},
		"a condition that holds": {
			conditional, "load: {go: 'true'}", formats.NotStarted, nil, "completed 0: /x done",
		},
		"a condition, another status": {
			conditional, "load: {go: 'true'}", formats.Abandoned, nil,
			"failed 1 PRECONDITION: task 7 is abandoned; /x starts from not_started, researched, " +
				"planned, revised, partial, blocked",
		},
		"a condition, held elsewhere": {
			conditional, "load: {go: 'true'}", formats.Planning, other,
			"failed 75 LEASE_HELD: task 7 is planning: session sess_2_zzzzzz (pid 12 on box) " +
				"works on it since 2026-01-05T10:00:00Z",
		},
		"no such task": {
			strings.Replace(task, "n, type: task", "n, type: task", 1),
			"load: {task: '8'}",
			formats.NotStarted,
			nil,
			"failed 6 NOT_FOUND: task 8 does not exist",
		},
		"a task that was looked for": {
			"", "load: {task: '$state.tasks | first'}\nallow: [blocked]", formats.NotStarted, nil,
			"failed 1 PRECONDITION: task 7 is not_started; /x starts from blocked",
		},
		"a task that is loaded": {
			"", "load: {task: '7'}\nallow: [blocked]", formats.NotStarted, nil,
			"failed 1 PRECONDITION: task 7 is not_started; /x starts from blocked",
		},
		"a task that is no number": {
			"", "load: {task: '\"seven\"'}", formats.NotStarted, nil,
			"failed 6 NOT_FOUND: x.md:9:8: expected the number of a task, got seven",
		},
		"no task at all": {
			"", "load: {task?: 'null'}", formats.NotStarted, nil, "completed 0: /x done",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)

			w.tasks[7].Status = c.status
			w.tasks[7].Lease = c.lease
			if c.status.KeepsPrior() {
				w.tasks[7].Prior = formats.NotStarted
			}

			line := "7"
			if !strings.Contains(c.front, "arguments") {
				line = ""
			}

			ret := w.run(t.Context(), file(c.front, c.args, "A: delegate: worker"), line)
			if got := describeReturn(ret); got != c.want {
				t.Errorf("Run = %s, want %s", got, c.want)
			}

			if ret.Status == formats.StatusFailed &&
				(len(w.log) > 0 || ret.Errors[0].Recommendation == "") {
				t.Errorf("a refused run left %q, help %q", w.log, ret.Errors[0].Recommendation)
			}
		})
	}
}

// TestBackFails: a task that cannot be put back is said to be in progress, and the command ends as
// it would have.
func TestBackFails(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]agent{
		"a refusal": always(failing(formats.CodeLocked, "locked")),
		"an error": func(context.Context, formats.Request) (formats.Return, error) {
			return formats.Return{}, errBroken
		},
	} {
		w := newWorld(t)
		begin := w.agents[compile.StatusSync]
		w.agents[compile.StatusSync] = func(
			ctx context.Context,
			r formats.Request,
		) (formats.Return, error) {
			if r.Input["back"] == true {
				return answer(ctx, r)
			}
			return begin(ctx, r)
		}
		ret := w.run(t.Context(), file(during, "", "A: fail: No."), "7")
		got := describeReturn(ret)
		if got != "failed 1 PRECONDITION: No." || len(ret.Warnings) != 1 ||
			!strings.HasPrefix(
				ret.Warnings[0],
				"task 7 keeps its status until the next command on it takes it over: ",
			) {
			t.Errorf("%s: Run = %s, warnings %q", name, got, ret.Warnings)
		}
	}
}

// TestUncertain: a status change that broke off may have been written or not; the state is asked
// before the task is put back or a document is taken away.
func TestUncertain(t *testing.T) {
	t.Parallel()

	src := file(during, "", "A: delegate: maker", "B: status: planned")
	for name, c := range map[string]struct {
		at      string // the call that breaks off
		written bool
		status  string
		gone    int
	}{
		"begin, written":       {"during", true, "not_started", 0},
		"begin, not written":   {"during", false, "not_started", 0},
		"planned, written":     {"b", true, "planned +p.md", 0},
		"planned, not written": {"b", false, "not_started", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.agents["maker"] = always(made(formats.ArtifactPlan, "p.md"))

			w.agents[compile.StatusSync] = func(
				ctx context.Context,
				r formats.Request,
			) (formats.Return, error) {
				if r.Step != c.at {
					return w.sync(ctx, r)
				}
				if c.written {
					if _, err := w.sync(ctx, r); err != nil {
						return formats.Return{}, err
					}
				}
				return formats.Return{}, errBroken
			}

			ret := w.run(t.Context(), src, "7")
			if ret.Status != formats.StatusFailed || w.status() != c.status ||
				len(w.discarded) != c.gone {
				t.Errorf("Run = %s, task %s, discarded %v; want %s, %d",
					describeReturn(ret), w.status(), w.discarded, c.status, c.gone)
			}

			if len(ret.Warnings) > 0 {
				t.Errorf("warnings = %q", ret.Warnings)
			}
		})
	}
}

// TestLinks: the artifacts of the run that are not linked yet go with a change of status, each
// once; those that failed attempts left do not.
func TestLinks(t *testing.T) {
	t.Parallel()
	left := failing(formats.CodeTransient, "busy")
	left.Artifacts = []formats.Artifact{{Type: formats.ArtifactPlan, Path: "left.md"}}
	w := newWorld(t)
	w.agents["maker"] = in(
		left,
		made(formats.ArtifactPlan, "p.md"),
		made(formats.ArtifactPlan, "p.md"),
	)
	w.agents["worker"] = always(made(formats.ArtifactReport, "r.md"))
	w.agents["judge"] = in(verdict(formats.VerdictRejected), verdict(formats.VerdictApproved))
	w.run(
		t.Context(),
		file(
			during, "", "A: id: a\ndelegate: maker\nretry: {max: 1, backoff: 1ms}",
			"B: delegate: judge\non: {rejected: {redo: a}}", "C: status: planned",
			"D: delegate: worker",
			"E: delegate: status-sync-manager\n"+
				"with: {operation: link_artifacts, task_number: 7, artifacts: $run.artifacts}",
			"F: status: planned",
		),
		"7",
	)
	var got []string
	for _, call := range w.calls() {
		if strings.HasPrefix(call, compile.StatusSync) {
			got = append(got, strings.TrimPrefix(call, compile.StatusSync+" "))
		}
	}

	want := []string{
		"during#1.1 {operation:update_status,reason:/x 7,status:planning,task_number:7}",
		"c#1.1 {artifacts:[{path:p.md,type:plan}],operation:update_status,status:planned,task_number:7}",
		"e#1.1 {artifacts:[{path:p.md,type:plan},{path:r.md,type:report}],operation:link_artifacts,task_number:7}",
		"f#1.1 {operation:update_status,status:planned,task_number:7}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
