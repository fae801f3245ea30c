package interp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tercet/formats"
)

// TestNeverLeftInProgress: whatever agents, gates and signals do, a run ends with the task not in
// progress, with at most one answer for each request, and with a return that fits its exit code.
func TestNeverLeftInProgress(t *testing.T) {
	t.Parallel()
	programs := []string{
		everything(),
		file(
			during, "",
			"A: id: a\nforeach: '[1, 2, 3]'\nmerge: true",
			">B: id: b\ndelegate: worker\non: {blocked: fail, rejected: {redo: it, max: 2}}",
			"C: status: planned",
		),
		file(
			strings.Replace(during, "planning", "{status: implementing, failed: partial}", 1),
			"",
			"A: delegate: worker\non: {failed: gate, rejected: gate}",
			"B: status: {to: partial}",
			"C: delegate: second\nfallback: worker",
			"D: status: completed",
			"!E: always: failed\ndelegate: worker",
			"!F: always: any\ndelegate: second",
		),
		file(
			task, "", "A: id: a\nstatus: planning",
			"B: delegate: maker\nretry: {max: 2, backoff: 1ms, cap: 1ms}",
			"C: check: {document: plan}\non: {rejected: {redo: [a], max: 1}}", "D: status: planned",
			"!E: always: any\nstatus: planned",
		),
	}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		src := rapid.SampledFrom(programs).Draw(rt, "program")

		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stop := rapid.IntRange(-1, 12).Draw(rt, "signal at call")

		answer := func(context.Context, formats.Request) (formats.Return, error) {
			if len(w.requests)-1 == stop {
				cancel()
			}
			return draw(rt)
		}

		for _, name := range []string{"worker", "second", "maker", "judge"} {
			w.agents[name] = answer
		}

		w.answer = func(g formats.Gate) (formats.Decision, error) {
			if rapid.Bool().Draw(rt, "open") {
				return formats.Decision{}, &formats.GateOpenError{Gate: g}
			}
			return formats.Decision{
				Answer: rapid.SampledFrom(g.Choices).Draw(rt, "answer").Label,
				By:     "any",
				Person: rapid.Bool().Draw(rt, "person"),
			}, nil
		}
		if fail := rapid.IntRange(-1, 40).Draw(rt, "journal breaks at"); fail >= 0 {
			n := 0
			w.refuse = func(formats.Entry) error {
				n++
				if n == fail {
					return errBroken
				}
				return nil
			}
		}
		ret := w.run(ctx, src, "7")
		if got := w.tasks[7]; ret.Resume != nil && (got.Lease == nil || got.Lease.Suspended) {
			// it waits, and holds what it held
		} else if got.Status.InProgress() || got.Lease != nil {
			rt.Fatalf("task = %s after %s\n%s", w.status(), describeReturn(ret), strings.Join(w.log, "\n"))
		}

		code := formats.ExitCode(ret)
		if ret.Outcome().Passes() != (code == 0) || code != 0 && ret.Summary == "" ||
			ret.Status == formats.StatusFailed && len(ret.Errors) == 0 {
			rt.Fatalf("Run = %+v", ret)
		}
		for _, a := range w.discarded {
			for _, linked := range w.tasks[7].Artifacts {
				if a.Path == linked.Path {
					rt.Fatalf("%s is linked and was taken back\n%s",
						a.Path, strings.Join(w.log, "\n"))
				}
			}
		}
	})
}

// draw gives any return that a dispatcher may hand on, or an error of the engine.
func draw(rt *rapid.T) (formats.Return, error) {
	n := rapid.IntRange(0, 11).Draw(rt, "return")

	ret := []formats.Return{
		ok("done"),
		ok("done"),
		made(
			formats.ArtifactPlan,
			fmt.Sprintf("p%d.md", rapid.IntRange(0, 2).Draw(rt, "document")),
		),
		verdict(formats.VerdictApproved),
		verdict(formats.VerdictConditional),
		verdict(formats.VerdictRejected, "bad"),
		partial("half"),
		blocked("which?"),
		failing(formats.CodeTransient, "busy"),
		failing(formats.CodeTimeout, "slow"),
		failing(formats.CodeIO, "full"),
		{},
	}[n]

	if n == 11 {
		return formats.Return{}, errBroken
	}
	return ret, nil
}
