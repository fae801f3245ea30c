package interp_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tercet/formats"
)

// TestStall: a loop whose rounds come to the same is asked about before its fourth round, and stops
// where nobody decides; one that moves, waits, or is driven by a person is not.
func TestStall(t *testing.T) {
	t.Parallel()

	const redo = "- {id: a, delegate: worker}\n- {id: b, delegate: judge, on: {rejected: {redo: " +
		"[a], max: 5}}}\n- return: done"
	const back = "- {id: a, delegate: worker}\n- {id: b, delegate: judge, on: {rejected: " +
		"{rollback: [a]}}}\n- return: done"
	const passes = "- id: l\n  until: '$steps.b.status == \"approved\"'\n  max: 9\n  do:\n" +
		"    - {id: a, delegate: worker}\n    - {id: b, delegate: judge, on: {rejected: next}}\n"

	same := []formats.Return{no("x")}
	others := []formats.Return{
		no("1"),
		no("2"),
		no("3"),
		no("4"),
		no("5"),
		no("6"),
		no("7"),
		no("8"),
		no("9"),
	}

	moved := func(line int) formats.Return {
		ret := no("x")
		ret.Issues[0].Files = []string{"a.go"}
		ret.Issues[0].Line = line
		return ret
	}

	two := func(files ...string) formats.Return {
		ret := no("x", "x")
		for i, f := range files {
			ret.Issues[i].Files = []string{f}
		}
		return ret
	}

	const issues = "the open issues were the same in 3 rounds"
	const work = "the work was the same in 3 rounds"

	for name, c := range map[string]struct {
		do, front string
		judge     []formats.Return
		// what the tree holds at the nth look; nil: nothing is known of it
		tree      func(call int) string
		document  bool // the worker brings a document that stays the same
		answers   []string
		yes       bool
		want, end string
		gates     string // those that were asked
	}{
		"redo": {
			do:    redo,
			judge: same,
			want:  "a b a b a b",
			end:   "failed 7 LIMIT: " + issues + ": rejected",
		},
		"rollback": {
			do:    back,
			judge: same,
			want:  "a b a b a b",
			end:   "failed 7 LIMIT: " + issues,
		},
		"with consent nobody is asked": {
			do:    back,
			judge: same,
			yes:   true,
			want:  "a b a b a b",
			end:   "failed 7 LIMIT: " + issues,
		},
		"a person stops it": {
			do:      back,
			judge:   same,
			answers: []string{"Stop"},
			want:    "a b a b a b",
			end:     "failed 7 LIMIT: " + issues,
			gates:   "step 'b' makes no progress: " + issues + ": rejected [Go on Ask Stop] x",
		},
		"a hint lets it go on, and counts anew": {
			do:      redo,
			judge:   same,
			answers: []string{"Go on: so"},
			want:    "a b a b a b a b a b a b",
			end:     "failed 7 LIMIT: rejected",
			gates:   "step 'b' makes no progress: " + issues + ": rejected [Go on Ask Stop] x",
		},
		"somebody else is asked": {
			do:      redo,
			judge:   same,
			answers: []string{"Ask"},
			want:    "a b a b a b",
			end:     "suspended 75",
		},
		"other issues each time": {
			do:    redo,
			judge: others,
			want:  "a b a b a b a b a b a b",
			end:   "failed 7 LIMIT: rejected",
		},
		"two of three": {
			do:    redo,
			judge: []formats.Return{no("x"), no("x"), no("y"), no("y"), no("x"), yes()},
			want:  "a b a b a b a b a b a b",
			end:   "completed 0: done",
		},
		"a finding that only moves": {
			do:    redo,
			judge: []formats.Return{moved(1), moved(7), moved(9)},
			want:  "a b a b a b",
			end:   "failed 7 LIMIT: " + issues,
		},
		"the same words of another file": {
			do:    redo,
			judge: []formats.Return{two("a", "b"), two("b", "c"), two("c", "c"), yes()},
			want:  "a b a b a b a b",
			end:   "completed 0: done",
		},
		"one of two equal findings is gone": {
			do:    redo,
			judge: []formats.Return{no("x", "x"), no("x", "x"), no("x"), yes()},
			want:  "a b a b a b a b",
			end:   "completed 0: done",
		},
		"in another order": {
			do:    redo,
			judge: []formats.Return{no("x", "y"), no("y", "x"), no("x", "y")},
			want:  "a b a b a b",
			end:   "failed 7 LIMIT: " + issues,
		},
		"the same work, other issues": {
			do:    redo,
			judge: others,
			tree:  func(int) string { return "+ a" },
			want:  "a b a b a b",
			end:   "failed 7 LIMIT: " + work + ": rejected",
		},
		"the same document, other issues": {
			do:       redo,
			judge:    others,
			document: true,
			want:     "a b a b a b",
			end:      "failed 7 LIMIT: " + work,
		},
		"other work, other issues": {
			do:    redo,
			judge: others,
			tree:  func(n int) string { return fmt.Sprint("+ ", n) },
			want:  "a b a b a b a b a b a b",
			end:   "failed 7 LIMIT: rejected",
		},
		"what is in no commit has changed": {
			do:    redo,
			judge: others,
			tree:  func(n int) string { return "| loose" },
			want:  "a b a b a b a b a b a b",
			end:   "failed 7 LIMIT: rejected",
		},
		"a limit that comes first": {
			do:    back,
			front: "limits: {rollbacks: 2}\n",
			judge: same,
			yes:   true,
			want:  "a b a b a b",
			end:   "failed 7 LIMIT: the limit of 2 rollbacks is reached",
		},
		"too few rounds for one": {
			do:    strings.Replace(redo, "max: 5", "max: 2", 1),
			judge: same,
			want:  "a b a b a b",
			end:   "failed 7 LIMIT: rejected",
		},
		"the file says what comes then": {
			do:    strings.Replace(redo, "{redo: [a], max: 5}", "[{redo: [a], max: 5}, next]", 1),
			judge: same,
			want:  "a b a b a b",
			end:   "completed 0: done",
		},
		"but a person who stops it stops it": {
			do:      strings.Replace(redo, "{redo: [a], max: 5}", "[{redo: [a], max: 5}, next]", 1),
			judge:   same,
			answers: []string{"Stop"},
			want:    "a b a b a b",
			end:     "failed 7 LIMIT",
		},
		"what waits looks until it changes": {
			do: "- {id: a, delegate: worker}\n- {id: w, wait: 1ms}\n" +
				"- {id: b, delegate: judge, on: {rejected: {redo: [a, w], max: 5}}}\n" +
				"- return: done",
			judge: same,
			want:  "a b a b a b a b a b a b",
			end:   "failed 7 LIMIT: rejected",
		},
		"what calls no worker changes nothing": {
			do: "- {id: a, set: {n: 1}}\n- {id: b, delegate: judge, on: {rejected: {redo: " +
				"[a], max: 5}}}\n- return: done",
			judge: same,
			want:  "b b b b b b",
			end:   "failed 7 LIMIT: rejected",
		},
		"a person who sends back is no stall": {
			do: "- {id: a, delegate: worker}\n- {id: b, gate: Good?, choices: {again: " +
				"{redo: [a]}, ok: next}}\n- return: done",
			tree:    func(int) string { return "+ a" },
			answers: []string{"again", "again", "again", "again", "ok"},
			want:    "a a a a a",
			end:     "completed 0: done",
		},
		"the round after another step's is the first": {
			do: "- {id: a, delegate: worker}\n- {id: b, delegate: judge, on: {rejected: " +
				"{redo: [a], max: 9}}}\n- {id: c, delegate: judge, on: {rejected: {rollback: [a, " +
				"b]}}}\n- return: done",
			judge: []formats.Return{no("x"), no("x"), yes(), no("x"), no("x"), yes(), yes()},
			want:  "a b a b a b c a b a b a b c",
			end:   "completed 0: done",
		},
		"passes": {
			do:    passes,
			judge: same,
			want:  "a b a b a b",
			end:   "failed 7 LIMIT: " + issues,
		},
		"passes with a hint": {
			do:      passes,
			judge:   append(slices.Repeat([]formats.Return{no("x")}, 3), yes()),
			answers: []string{"Go on: so"},
			want:    "a b a b a b a b",
			end:     "completed 0",
			gates:   "step 'l' makes no progress: " + issues + " [Go on Ask Stop] x",
		},
		"passes that a person stops": {
			do:      passes + "  on: {partial: next}\n",
			judge:   same,
			answers: []string{"Stop"},
			want:    "a b a b a b",
			end:     "failed 7 LIMIT: " + issues,
		},
		"passes of the same work": {
			do:    passes,
			judge: others,
			tree:  func(int) string { return "+ a" },
			want:  "a b a b a b",
			end:   "failed 7 LIMIT: " + work,
		},
		"the file says what comes after": {
			do:    passes + "  on: {partial: next}\n- return: $steps.l.summary\n",
			judge: same,
			want:  "a b a b a b",
			end:   `completed 0: not reached in 3 passes: $steps.b.status == "approved"; ` + issues,
		},
		"passes that wait": {
			do:    strings.Replace(passes, "{id: a, delegate: worker}", "{id: a, wait: 1ms}", 1),
			judge: same,
			want:  "b b b b b b b b b",
			end:   "partial 3",
		},
		"passes of three are too few": {
			do:    strings.Replace(passes, "max: 9", "max: 3", 1),
			judge: same,
			want:  "a b a b a b",
			end:   "partial 3: not reached in 3 passes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.cfg.AutoApprove = c.yes
			w.person(c.answers...)

			var gates []string
			if answer := w.answer; answer != nil {
				w.answer = func(g formats.Gate) (formats.Decision, error) {
					if !strings.HasPrefix(g.Question, "Good") {
						var labels []string
						for _, ch := range g.Choices {
							labels = append(labels, ch.Label)
						}
						gates = append(
							gates,
							fmt.Sprintf("%s [%s] %s",
								g.Question, strings.Join(labels, " "), strings.Join(g.Show, "; ")),
						)
					}
					return answer(g)
				}
			}

			looks := 0
			if c.tree != nil {
				w.cfg.Diff = func(context.Context, string) (string, string, error) {
					looks++
					if text := c.tree(looks); text != "| loose" {
						return text, "a | +1 -0", nil
					}
					w.docs["new.go"] = fmt.Sprint("version ", looks)
					return "", "new.go | not committed", nil
				}
			}

			by := replies{"b": c.judge}
			if c.document {
				by["a"] = []formats.Return{made(formats.ArtifactPlan, "p.md")}
				w.docs["p.md"] = "the same"
			}
			if strings.Contains(name, "another step's") {
				by["c"] = []formats.Return{no("x"), yes()}
				by["b"] = []formats.Return{no("x"), no("x"), yes(), no("x"), no("x"), yes()}
			}

			p := w.play(by)
			ret := w.run(t.Context(), flow(c.front, "", c.do), "")

			if got := p.sequence(); got != c.want {
				t.Errorf("steps = %s, want %s", got, c.want)
			}

			if got := describeReturn(ret); !strings.HasPrefix(got, c.end) {
				t.Errorf("Run = %s, want %s", got, c.end)
			}

			if c.gates != "" && (len(gates) == 0 || gates[0] != c.gates) {
				t.Errorf("asked %q, want %q", gates, c.gates)
			}

			for _, said := range c.answers {
				_, hint, ok := strings.Cut(said, ": ")

				told := func(r formats.Request) bool {
					return r.Feedback != nil && r.Feedback.Note == hint
				}

				if ok && !slices.ContainsFunc(p.request("a"), told) {
					t.Errorf("nobody is told %q", hint)
				}
			}
		})
	}
}

// TestStallIsAskedLater: who asks somebody else leaves a question open that has no such choice any
// more. Each process that resumes the run asks it, and nobody else's answer is lost.
func TestStallIsAskedLater(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	prog := newWorld(t).program(file(
		during, "",
		"A: id: a\ndelegate: worker",
		"B: id: b\ndelegate: judge\non: {rejected: {rollback: [a]}}",
	))
	var asked []string
	shape := func(answer string) func(*world) {
		return func(w *world) {
			bad := verdict(formats.VerdictRejected, "bad")
			w.agents["judge"] = byVisit(bad, bad, bad, verdict(formats.VerdictApproved))
			w.answer = func(g formats.Gate) (formats.Decision, error) {
				asked = append(asked, fmt.Sprintf("%s %d", answer, len(g.Choices)))
				if answer == "" {
					return formats.Decision{}, &formats.GateOpenError{Gate: g}
				}
				return formats.Decision{
					Answer: answer,
					By:     "ann",
					Person: true,
					Note:   "another way",
				}, nil
			}
		}
	}
	for _, answer := range []string{"Ask", "", ""} {
		_, ret := m.play(prog, shape(answer), 0, false)
		if !strings.HasPrefix(describeReturn(ret), "suspended 75: ") || ret.Resume == nil ||
			!strings.HasPrefix(ret.Resume.Gate, "step 'B' makes no progress: ") {
			t.Fatalf("after %q: %s, %+v", answer, describeReturn(ret), ret.Resume)
		}
	}

	if _, ret := m.play(prog, shape("Go on"), 0, false); !ret.Outcome().Passes() {
		t.Errorf("after an answer: %s", describeReturn(ret))
	}
	if want := []string{"Ask 3", " 2", " 2", "Go on 2"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	n := m.starts["b#4.1 judge"]
	if n != 1 || !strings.Contains(fmt.Sprint(m.told), "note:another way") {
		t.Errorf("the fourth round was started %d times, and is told %v", n, m.told)
	}
}
