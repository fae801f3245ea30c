package interp_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
)

func TestGate(t *testing.T) {
	t.Parallel()

	src := file(
		"", "",
		"A: id: a\ndelegate: worker",
		"B: id: b\ngate: \"Go on with ${{ $steps.a.summary }}?\"\n"+
			"show: [$steps.a.status, '[1, 2]']\n"+
			"choices: {yes: next, again: {redo: [a], max: 2}, other: {return: \"other: ${{ .note "+
			"}}\"}, hidden: {next: true, if: 1 == 2}, no: fail}",
		"C: return: \"${{ $steps.b.choice }} by ${{ $steps.b.by }} ${{ $steps.b.note }}\"",
	)

	for name, c := range map[string]struct {
		answers []string
		want    string
		calls   int
	}{
		"approve": {
			[]string{"yes looks good"},
			"completed 0: yes by person looks good",
			1,
		},
		"reject": {
			[]string{"no not now"},
			"failed 5 REJECTED: 'no' was the answer to: Go on with done? (not now)",
			1,
		},
		"a return": {[]string{"other thing"}, "completed 0: other: thing", 1},
		"again": {
			[]string{"again mend it", "yes"},
			"completed 0: yes by person ",
			2,
		},
		"more often than its max": {
			[]string{"again"},
			"failed 7 LIMIT: 'again' was chosen more often than its max of 2",
			3,
		},
		"a choice not offered": {
			[]string{"hidden"},
			`failed 70 BUG: x.md:15:1: step b: expected one of yes, again, other, ` +
				`no as the answer to a gate, got "hidden"`,
			1,
		},
		"an answer from elsewhere": {
			[]string{"maybe"},
			`failed 70 BUG: x.md:15:1: step b: expected one of yes, again, other, ` +
				`no as the answer to a gate, got "maybe"`,
			1,
		},
		"nobody is there": {nil, `suspended 75: gate "Go on with done?" has no answer`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)

			if c.answers != nil {
				w.answer = choose(c.answers...)
			}

			ret := w.run(t.Context(), src, "")
			if got := describeReturn(ret); got != c.want {
				t.Errorf("Run = %s, want %s", got, c.want)
			}

			if len(w.calls()) != c.calls {
				t.Errorf("calls = %q, want %d", w.calls(), c.calls)
			}

			g := w.gates[0]
			diff := cmp.Diff([]string{"completed", "[1,2]"}, g.Show)
			if diff != "" || g.Run != runID || g.Step != "b#1" && g.Step != "b#2" {
				t.Errorf("gate = %+v\n%s", g, diff)
			}

			if !g.Choices[0].Approves ||
				slices.ContainsFunc(g.Choices[1:], func(c formats.Choice) bool {
					return c.Approves
				}) {
				t.Errorf("choices = %v, want the first to approve", g.Choices)
			}

			if name == "again" &&
				(w.requests[1].Feedback.Note != "mend it" ||
					w.requests[1].Feedback.Choice != "again" ||
					w.requests[1].Feedback.Issues[0].Source != "user") {
				t.Errorf("feedback = %+v", w.requests[1].Feedback)
			}

			if ret.Status == formats.StatusBlocked &&
				(ret.NextSteps == "" || ret.BlockedReason == "") {
				t.Errorf("Run = %+v, want what to do next", ret)
			}
		})
	}
}

// TestGateDigest: the same question with the same evidence is the same gate; other evidence or
// other choices make another.
func TestGateDigest(t *testing.T) {
	t.Parallel()

	digest := func(evidence, choices string) string {
		w := newWorld(t)
		w.answer = choose("yes")
		w.run(
			t.Context(),
			file(
				"arguments:\n  - {name: a, type: string}\n",
				"",
				"A: gate: Well?\nshow: [$args.a]\nchoices: {yes: next, "+choices+": fail}",
			),
			evidence,
		)

		return w.gates[0].Digest
	}

	one := digest("diff", "no")

	if two := digest("diff", "no"); one != two || len(one) != 64 {
		t.Errorf("digests = %q and %q, want one and the same", one, two)
	}

	if other := digest("another", "no"); other == one {
		t.Errorf("digest with other evidence = %q, want another", other)
	}

	if other := digest("diff", "never"); other == one {
		t.Errorf("digest with other choices = %q, want another", other)
	}
}

// TestGateDefaults: without choices a gate is approved or rejected; auto names the choice that is
// taken without a person.
func TestGateDefaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.answer = choose("reject")
	ret := w.run(t.Context(), file("", "", "A: gate: Well?\nauto: reject"), "")
	got := describeReturn(ret)
	if got != "failed 5 REJECTED: 'reject' was the answer to: Well?" ||
		w.gates[0].Auto != "reject" {
		t.Errorf("Run = %s, auto %q", got, w.gates[0].Auto)
	}
}

// TestEngineGate: the engine's own gate for each outcome, and where its answers lead.
func TestEngineGate(t *testing.T) {
	t.Parallel()
	suspended := partial("later")
	suspended.Said = formats.OutcomeSuspended
	for name, c := range map[string]struct {
		first   formats.Return
		answers []string
		choices string
		want    string
	}{
		"blocked, answered": {
			blocked("which one?"),
			[]string{"Answer the left one"},
			"Answer, Abort",
			"completed 0: went on",
		},
		"blocked, stopped": {
			blocked("which one?"),
			[]string{"Abort"},
			"Answer, Abort",
			"failed 5 REJECTED: 'Abort' was the answer to: step 'A' is blocked: which one?",
		},
		"blocked, nobody": {
			blocked("which one?"),
			nil,
			"Answer, Abort",
			"blocked 75: which one?",
		},
		"suspended": {
			suspended,
			[]string{"Resume"},
			"Resume, Exit as interrupted",
			"completed 0: went on",
		},
		"failed, retry": {
			failing(formats.CodeIO, "full"),
			[]string{"Retry with a note make room"},
			"Retry, Retry with a note, Skip, Abort",
			"completed 0: went on",
		},
		"failed, skip": {
			failing(formats.CodeIO, "full"),
			[]string{"Skip"},
			"Retry, Retry with a note, Skip, Abort",
			"completed 0: went on",
		},
		"failed, stop": {
			failing(formats.CodeIO, "full"),
			[]string{"Abort"},
			"Retry, Retry with a note, Skip, Abort",
			"failed 5 REJECTED: 'Abort' was the answer to: step 'A' is failed: full",
		},
		"rejected, again": {
			verdict(formats.VerdictRejected, "bad"),
			[]string{"Retry"},
			"Retry, Retry with a note, Approve despite findings, Abort",
			"completed 0: went on",
		},
		"rejected, accepted": {
			verdict(formats.VerdictRejected, "bad"),
			[]string{"Approve despite findings"},
			"Retry, Retry with a note, Approve despite findings, Abort",
			"completed 0: went on",
		},
		"rejected, stopped": {
			verdict(formats.VerdictRejected, "bad"),
			[]string{"Abort"},
			"Retry, Retry with a note, Approve despite findings, Abort",
			"failed 5 REJECTED: 'Abort' was the answer to: step 'A' is rejected: rejected",
		},
		"an unknown answer": {
			blocked("which one?"),
			[]string{"maybe"},
			"Answer, Abort",
			`failed 70 BUG: x.md:8:1: step a: expected one of Answer, ` +
				`Abort as the answer to a gate, got "maybe"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.agents["worker"] = in(c.first, ok("done"))
			if c.answers != nil {
				w.answer = choose(c.answers...)
			}
			ret := w.run(
				t.Context(),
				file(
					"", "",
					"A: id: a\ndelegate: worker\non: {failed: gate, rejected: gate}",
					"B: return: went on",
				),
				"",
			)
			if got := describeReturn(ret); got != c.want {
				t.Errorf("Run = %s, want %s", got, c.want)
			}
			var labels []string
			for _, choice := range w.gates[0].Choices {
				labels = append(labels, choice.Label)
			}

			if got := strings.Join(labels, ", "); got != c.choices {
				t.Errorf("choices = %s, want %s", got, c.choices)
			}
			approves := w.gates[0].Choices[0].Approves
			if approves == (c.first.Status == formats.StatusBlocked ||
				c.first.Said == formats.OutcomeSuspended) {
				t.Errorf(
					"first choice approves = %v: a question is answered, and suspended work "+
						"resumed, by a person only",
					approves,
				)
			}
			if name == "blocked, answered" && w.requests[1].Feedback.Answer != "the left one" ||
				name == "failed, retry" && w.requests[1].Feedback.Note != "make room" {
				t.Errorf("feedback = %+v", w.requests[1].Feedback)
			}
		})
	}
}

// TestEngineGateWithoutAPerson: approval without a person tries again as often as the run may
// retry, then it ends.
func TestEngineGateWithoutAPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agents["worker"] = always(failing(formats.CodeIO, "full"))

	w.answer = func(g formats.Gate) (formats.Decision, error) {
		for _, c := range g.Choices {
			if c.Approves {
				return formats.Decision{Answer: c.Label, By: "--yes"}, nil
			}
		}
		return formats.Decision{}, &formats.GateOpenError{Gate: g}
	}

	ret := w.run(t.Context(), file("", "", "A: delegate: worker\non: {failed: gate}"), "")
	if got := describeReturn(ret); got != "failed 74 IO: full" || len(w.calls()) != 1+formats.DefaultRetries {
		t.Errorf("Run = %s after %d calls, want %d", got, len(w.calls()), 1+formats.DefaultRetries)
	}
}

// TestGateError: an approver that breaks is an engine error, not an answer.
func TestGateError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.answer = func(formats.Gate) (formats.Decision, error) {
		return formats.Decision{}, errBroken
	}
	ret := w.run(t.Context(), file("", "", "A: gate: Well?", "B: return: fine"), "")
	if got := describeReturn(ret); got != "failed 1 UNKNOWN_ERROR: x.md:8:1: step a: broken" {
		t.Errorf("Run = %s", got)
	}
}

// TestExitAsInterrupted: who leaves suspended work leaves the question open, and each process that
// resumes the run asks it anew.
func TestExitAsInterrupted(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	prog := newWorld(t).program(file(
		during, "",
		"A: id: a\ndelegate: worker\non: {suspended: gate}",
		"B: return: went on",
	))
	asked := 0
	shape := func(answer string) func(*world) {
		return func(w *world) {
			suspended := partial("later")
			suspended.Said = formats.OutcomeSuspended
			w.agents["worker"] = byVisit(suspended, ok("done"))

			w.answer = func(g formats.Gate) (formats.Decision, error) {
				asked++
				if answer == "" {
					return formats.Decision{}, &formats.GateOpenError{Gate: g}
				}
				return formats.Decision{
					Answer: answer,
					By:     "ann",
					Person: true,
				}, nil
			}
		}
	}
	for _, answer := range []string{"Exit as interrupted", "Exit as interrupted", ""} {
		_, ret := m.play(prog, shape(answer), 0, false)
		if !strings.HasPrefix(describeReturn(ret), "suspended 75: ") || ret.Resume == nil {
			t.Fatalf("after %q: %s, %+v", answer, describeReturn(ret), ret.Resume)
		}
	}

	_, ret := m.play(prog, shape("Resume"), 0, false)
	if describeReturn(ret) != "completed 0: went on" || asked != 4 {
		t.Errorf("after Resume: %s, asked %d times, want 4", describeReturn(ret), asked)
	}
}
