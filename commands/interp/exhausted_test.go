package interp_test

import (
	"strings"
	"testing"

	"tercet/formats"
)

// TestExhausted: a counter that is used up never lets a run go on as if the step had passed,
// whatever the counter is and whatever the step's outcome. Only a target that the file writes
// behind the rule does.
func TestExhausted(t *testing.T) {
	t.Parallel()
	const end = "\n- return: Shipped."

	back := func(id, rule string) string {
		return "- {id: a, delegate: worker}\n- {id: b, delegate: " + id + ", on: {" + rule + "}}" +
			end
	}

	conditional := verdict(formats.VerdictConditional)
	skipped := formats.Return{
		Status:  formats.StatusCompleted,
		Said:    formats.OutcomeSkipped,
		Summary: "nothing to do",
	}
	partial := formats.Return{Status: formats.StatusPartial, Summary: "half of it"}

	said := func(words string) formats.Return {
		return formats.Return{Status: formats.StatusCompleted, Summary: words}
	}

	for name, c := range map[string]struct {
		front, do string
		by        replies
		yes       bool
		want, end string
	}{
		"redo after completed": {
			do:   back("worker", "completed: {redo: [a], max: 2}"),
			by:   replies{"b": {said("not yet")}},
			want: "a b a b a b",
			end: "failed 7 LIMIT: step 'b' is completed, and its 'redo' was taken 2 times, " +
				"which is its max: not yet",
		},
		"redo by the default max": {
			do:   back("worker", "completed: {redo: [a]}"),
			want: "a b a b a b a b",
			end:  "failed 7 LIMIT: step 'b' is completed",
		},
		"redo after approved": {
			do:   back("judge", "approved: {redo: [a], max: 1}"),
			by:   replies{"b": {yes()}},
			want: "a b a b",
			end:  "failed 7 LIMIT: step 'b' is approved",
		},
		"redo after conditional": {
			do:   back("judge", "conditional: {redo: [a], max: 1}"),
			by:   replies{"b": {conditional}},
			want: "a b a b",
			end:  "failed 7 LIMIT: step 'b' is conditional",
		},
		"redo after skipped": {
			do:   back("worker", "skipped: {redo: [a], max: 1}"),
			by:   replies{"b": {skipped}},
			want: "a b a b",
			end:  "failed 7 LIMIT: step 'b' is skipped",
		},
		"redo after partial": {
			do:   back("worker", "partial: {redo: [a], max: 1}"),
			by:   replies{"b": {partial}},
			want: "a b a b",
			end:  "partial 3: half of it",
		},
		"redo after rejected": {
			do:   back("judge", "rejected: {redo: [a], max: 1}"),
			by:   replies{"b": {no("x")}},
			want: "a b a b",
			end:  "failed 7 LIMIT: rejected",
		},
		"redo after failed": {
			do:   back("worker", "failed: {redo: [a], max: 1}"),
			by:   replies{"b": {failing(formats.CodeIO, "disk full")}},
			want: "a b a b",
			end:  "failed 7 LIMIT: disk full",
		},
		"redo of a class": {
			do: "- {id: a, delegate: worker}\n" +
				"- {id: b, delegate: worker, retry: 0, on: {transient: {redo: [a], max: 1}}}" + end,
			by:   replies{"b": {failing(formats.CodeTransient, "busy")}},
			want: "a b a b",
			end:  "failed 7 LIMIT: busy",
		},
		"a later target that does not match": {
			do: back(
				"worker",
				"completed: [{redo: [a], max: 1}, {if: .summary == \"ready\", return: Done.}]",
			),
			by:   replies{"b": {said("not yet")}},
			want: "a b a b",
			end:  "failed 7 LIMIT: step 'b' is completed",
		},
		"goto to an earlier step": {
			do: "- {id: fix, delegate: worker}\n" +
				"- {id: b, delegate: worker, on: {completed: [{if: .summary == \"ready\", goto: " +
				"ship}, {goto: fix}]}}\n" +
				"- {id: ship, return: Shipped.}",
			by:   replies{"b": {said("not yet")}},
			want: "fix b fix b fix b fix b",
			end: "failed 7 LIMIT: step 'b' is completed, and its 'goto' was taken 3 times, " +
				"which is its max: not yet",
		},
		"visits": {
			front: "limits: {visits: 2}\n",
			do:    back("worker", "completed: {goto: a, max: 9}"),
			want:  "a b a b a b",
			end:   "failed 7 LIMIT: step 'a' was entered by goto more often than 2 times",
		},
		"rollback with a max": {
			do:   back("worker", "completed: {rollback: [a], max: 1}"),
			want: "a b a b",
			end:  "failed 7 LIMIT: step 'b' is completed",
		},
		"rollbacks of the run": {
			front: "limits: {rollbacks: 1}\n",
			do:    back("worker", "completed: {rollback: [a]}"),
			yes:   true,
			want:  "a b a b",
			end:   "failed 7 LIMIT: the limit of 1 rollbacks is reached",
		},
		"rollbacks of the run where nobody is asked": {
			front: "limits: {rollbacks: 1}\n",
			do:    back("worker", "completed: {rollback: [a]}"),
			want:  "a b a b",
			end:   "suspended 75: ",
		},
		"a gate with a max": {
			do: "- {id: a, delegate: worker}\n- {id: b, delegate: worker, on: {completed: " +
				"{gate: Once more?, choices: {again: {redo: [a]}}, auto: again, max: 1}}}" + end,
			yes:  true,
			want: "a b a b",
			end:  "failed 7 LIMIT: step 'b' is completed, and its 'gate' was taken 1 time",
		},
		"a choice with a max": {
			do: "- {id: a, delegate: worker}\n- {id: b, gate: Once more?, choices: {again: " +
				"{redo: [a], max: 1}}, auto: again}" + end,
			yes:  true,
			want: "a a",
			end:  "failed 7 LIMIT: 'again' was chosen more often than its max of 1",
		},
		"a choice in a rule": {
			do: back(
				"worker",
				"completed: {gate: Once more?, choices: {again: {redo: [a], max: 1}}, auto: again}",
			),
			yes:  true,
			want: "a b a b",
			end:  "failed 7 LIMIT: 'again' was chosen more often than its max of 1",
		},
		"questions": {
			do:   "- {id: a, delegate: worker, on: {blocked: {ask: [second], max: 1}}}" + end,
			by:   replies{"a": {blocked("1?"), blocked("2?")}},
			want: "a a.ask a",
			end:  "blocked 75: 2?",
		},
		"questions with consent": {
			do:   "- {id: a, delegate: worker, on: {blocked: {ask: [second], max: 1}}}" + end,
			by:   replies{"a": {blocked("1?"), blocked("2?")}},
			yes:  true,
			want: "a a.ask a",
			end:  "blocked 75: 2?",
		},
		"passes of until": {
			do: "- {id: u, until: '$steps.a.summary == \"ready\"', max: 2, do: [{id: a, " +
				"delegate: worker}]}" + end,
			by:   replies{"a": {said("not yet")}},
			want: "a a",
			end:  "partial 3: not reached in 2 passes",
		},
		"rounds that come to the same": {
			do:   back("judge", "approved: {redo: [a], max: 5}"),
			by:   replies{"b": {verdict(formats.VerdictApproved, "x")}},
			want: "a b a b a b",
			end:  "failed 7 LIMIT: the open issues were the same in 3 rounds",
		},
		"passes that come to the same": {
			do: "- {id: u, until: 'false', max: 9, do: [{id: b, delegate: judge, on: " +
				"{rejected: next}}]}" + end,
			by:   replies{"b": {no("x")}},
			want: "b b b",
			end:  "failed 7 LIMIT: the open issues were the same in 3 rounds",
		},
		"in a loop it ends the element, which has not passed": {
			do: "- {id: l, foreach: '[1, 2]', do: [{id: a, delegate: worker}, " +
				"{id: b, delegate: worker, on: {completed: {redo: [a], max: 1}}}]}" + end,
			want: "a b a b",
			end:  "failed 7 LIMIT: step 'b' is completed",
		},
		"next behind it goes on": {
			do:   back("worker", "completed: [{redo: [a], max: 2}, next]"),
			want: "a b a b a b",
			end:  "completed 0: Shipped.",
		},
		"a return behind it ends the command": {
			do:   back("worker", "completed: [{goto: a, max: 1}, {return: Enough.}]"),
			want: "a b a b",
			end:  "completed 0: Enough.",
		},
		"next behind rounds that come to the same": {
			do:   back("judge", "approved: [{redo: [a], max: 5}, next]"),
			by:   replies{"b": {verdict(formats.VerdictApproved, "x")}},
			want: "a b a b a b",
			end:  "completed 0: Shipped.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.cfg.AutoApprove = c.yes

			w.answer = func(g formats.Gate) (formats.Decision, error) {
				if c.yes && g.Auto != "" {
					return formats.Decision{Answer: g.Auto, By: "--yes"}, nil
				}
				return formats.Decision{}, &formats.GateOpenError{Gate: g}
			}

			p := w.play(c.by)
			ret := w.run(t.Context(), flow(c.front, "", c.do), "")

			if got := p.sequence(); got != c.want {
				t.Errorf("steps = %s, want %s", got, c.want)
			}

			if got := describeReturn(ret); !strings.HasPrefix(got, c.end) {
				t.Errorf("Run = %s, want %s", got, c.end)
			}

			if ret.Outcome().Passes() != strings.HasPrefix(c.end, "completed 0") {
				t.Errorf("outcome = %s", ret.Outcome())
			}
		})
	}
}
