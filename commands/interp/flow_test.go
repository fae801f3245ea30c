package interp_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/commands/compile"
	"tercet/formats"
)

// flow makes a command whose steps are the items of one `do`; each further text is a step of
// Between Steps, of Error Handling if it begins with always.
func flow(front, args, do string, others ...string) string {
	var b strings.Builder
	b.WriteString("---\ncommand: x\ndescription: A test\n" + front + "---\n\n")

	if args != "" {
		b.WriteString("## Argument Parsing\n\n```yaml args\n" + args + "\n```\n\n")
	}

	b.WriteString("## Workflow Execution\n\n### Step 1: Do\n\n```yaml step\ndo:\n")
	for line := range strings.Lines(do) {
		b.WriteString("  " + line)
	}

	b.WriteString("\n```\n\n")

	section := ""
	for _, other := range others {
		name := "Between Steps"
		if strings.HasPrefix(other, "always") {
			name = "Error Handling"
		}

		if name != section {
			b.WriteString("## " + name + "\n\n")
			section = name
		}

		b.WriteString("### After them\n\n```yaml step\n" + other + "\n```\n\n")
	}

	return b.String()
}

// play scripts agents by the id of their step: the returns in order, the last one from then on. It
// is safe for workers.
type play struct {
	mu    sync.Mutex
	w     *world
	by    map[string][]formats.Return
	steps []string
	reqs  []formats.Request
	// during is called while a worker works; it may be nil.
	during func(formats.Request)
}

func (w *world) play(by map[string][]formats.Return) *play {
	p := &play{w: w, by: by}
	w.cfg.Agents = delegator{p.delegate}
	return p
}

func (p *play) delegate(ctx context.Context, r formats.Request) (formats.Return, error) {
	if p.during != nil {
		p.during(r)
	}

	p.mu.Lock()
	defer p.mu.Unlock()

	id := r.Step[strings.LastIndexByte(r.Step, '/')+1:]
	if r.Agent != compile.StatusSync && ctx.Err() == nil {
		p.steps = append(p.steps, id)
	}

	p.reqs = append(p.reqs, r)

	list, ok := p.by[id]
	switch {
	case r.Agent == compile.StatusSync:
		return p.w.sync(ctx, r)
	case !ok:
		return formats.Return{Status: formats.StatusCompleted, Summary: id}, nil
	case len(list) > 1:
		p.by[id] = list[1:]
	}
	return list[0], nil
}

func (p *play) sequence() string {
	return strings.Join(p.steps, " ")
}

func (p *play) request(id string) []formats.Request {
	var out []formats.Request
	for _, r := range p.reqs {
		if r.Step[strings.LastIndexByte(r.Step, '/')+1:] == id {
			out = append(out, r)
		}
	}
	return out
}

// person answers gates in order and keeps the questions.
func (w *world) person(answers ...string) {
	w.answer = func(g formats.Gate) (formats.Decision, error) {
		if len(answers) == 0 {
			return formats.Decision{}, &formats.GateOpenError{Gate: g}
		}

		word, note, _ := strings.Cut(answers[0], ": ")
		answers = answers[1:]

		return formats.Decision{
			Answer: word,
			Note:   note,
			By:     "person",
			Person: true,
		}, nil
	}
}

func no(issues ...string) formats.Return {
	return verdict(formats.VerdictRejected, issues...)
}

func yes() formats.Return {
	return verdict(formats.VerdictApproved)
}

type replies = map[string][]formats.Return

// TestFlows: which subagents are called, in which order, and how the command ends.
func TestFlows(t *testing.T) {
	t.Parallel()

	rounds := "- {id: a, delegate: worker}\n- {id: b, delegate: second}\n" +
		"- {id: c, delegate: judge, on: {rejected: {rollback: [a, b]}}}\n- return: done"

	for name, c := range map[string]struct {
		src     string
		by      replies
		answers []string
		auto    bool
		want    string // the steps in order
		end     string
	}{
		"a rollback goes again through the named steps": {
			src:  flow("", "", rounds),
			by:   replies{"c": {no("x"), yes()}},
			want: "a b c a b c",
			end:  "completed 0: done",
		},
		"the fourth rollback stops when nobody is asked": {
			src:  flow("", "", rounds),
			by:   replies{"c": {no("x"), no("y"), no("z"), no("x")}},
			auto: true,
			want: "a b c a b c a b c a b c",
			end:  "failed 7 LIMIT: the limit of 3 rollbacks is reached: rejected",
		},
		"the fourth rollback is a question": {
			src:     flow("", "", rounds),
			by:      replies{"c": {no("x"), no("y"), no("z"), no("x")}},
			answers: []string{"Continue rollback", "Abort"},
			want:    "a b c a b c a b c a b c a b c",
			end: "failed 5 REJECTED: 'Abort' was the answer to: step 'c' is rejected, and " +
				"the limit of 3 rollbacks is reached: rejected",
		},
		"and may be accepted as it is": {
			src: flow(
				"limits: {rollbacks: 1}\n",
				"",
				rounds+" ${{ $run.overrides | map(.step) | join(\" \") }} ${{ $run.rollbacks }}",
			),
			by:      replies{"c": {no("x")}},
			answers: []string{"Approve despite findings"},
			want:    "a b c a b c",
			end:     "completed 0: done c 1",
		},
		"nobody is there to be asked": {
			src:  flow("", "", rounds),
			by:   replies{"c": {no("x"), no("y"), no("z"), no("x")}},
			want: "a b c a b c a b c a b c",
			end:  "suspended 75: ",
		},
		"the counter is shared by all routes": {
			src: flow(
				"limits: {rollbacks: 2}\n",
				"",
				"- {id: a, delegate: worker}\n- {id: b, delegate: judge, on: {rejected: "+
					"{rollback: [a]}}}\n- {id: c, delegate: judge, on: {rejected: {rollback: "+
					"[a]}}}",
			),
			by:   replies{"b": {no("x"), yes()}, "c": {no("y"), no("z")}},
			auto: true,
			want: "a b a b c a c",
			end:  "failed 7 LIMIT:",
		},
		"a step in a group that was skipped stays skipped": {
			src: flow(
				"", "",
				"- {id: g, when: 'false', do: [{id: a, delegate: worker}]}\n"+
					"- {id: b, delegate: second}\n- {id: c, delegate: judge, on: {rejected: "+
					"{rollback: [a, b]}}}\n- return: ${{ $steps.a.status }}",
			),
			by:   replies{"c": {no("x"), yes()}},
			want: "b c b c",
			end:  "completed 0: skipped",
		},
		"a blocked question is answered and not counted": {
			src: flow(
				"", "",
				"- {id: a, delegate: worker, on: {blocked: {ask: [second, judge]}}}\n"+
					"- return: ${{ $run.rollbacks }} rollbacks",
			),
			by:   replies{"a": {blocked("which?"), ok("done")}, "a.ask": {ok("the left one")}},
			auto: true,
			want: "a a.ask a",
			end:  "completed 0: 0 rollbacks",
		},
		"the same question twice goes to a person": {
			src:     flow("", "", "- {id: a, delegate: worker, on: {blocked: {ask: [second]}}}"),
			by:      replies{"a": {blocked("which?")}},
			answers: []string{"Answer: left", "Abort"},
			want:    "a a.ask a a",
			end:     "failed 5 REJECTED: 'Abort' was the answer to: step 'a' is blocked: which?",
		},
		"four questions are too many": {
			src:  flow("", "", "- {id: a, delegate: worker, on: {blocked: {ask: [second]}}}"),
			by:   replies{"a": {blocked("1?"), blocked("2?"), blocked("3?"), blocked("4?")}},
			want: "a a.ask a a.ask a a.ask a",
			end:  "blocked 75: 4?",
		},
		"one that does not answer": {
			src:  flow("", "", "- {id: a, delegate: worker, on: {blocked: {ask: [second]}}}"),
			by:   replies{"a": {blocked("1?")}, "a.ask": {blocked("I cannot")}},
			want: "a a.ask",
			end:  "suspended 75: gate \"step 'a' is blocked: 1?\"",
		},
		"goto jumps back at most three times": {
			src: flow(
				"", "",
				"- {id: a, delegate: worker}\n- {id: b, delegate: judge, on: {rejected: "+
					"{goto: a}}}",
			),
			by:   replies{"b": {no("x")}},
			want: "a b a b a b a b",
			end:  "failed 7 LIMIT:",
		},
		"goto after work that was done": {
			src: flow(
				"limits: {visits: 1}\n",
				"",
				"- {id: a, delegate: worker}\n- {id: b, delegate: worker, on: {completed: "+
					"{goto: a}}}",
			),
			want: "a b a b",
			end:  "failed 7 LIMIT: step 'a' was entered by goto more often than 1 times",
		},
		"goto jumps forward": {
			src: flow(
				"", "",
				"- {id: a, delegate: worker, on: {completed: {goto: d}}}\n"+
					"- {id: b, delegate: worker}\n- {id: g, do: [{id: c, delegate: worker}, {id: "+
					"d, delegate: worker}]}\n- {id: e, delegate: worker}",
			),
			want: "a d e",
			end:  "completed 0: ",
		},
		"goto leaves a loop": {
			src: flow(
				"", "",
				"- {id: l, foreach: '[1, 2]', do: [{id: a, delegate: worker, on: {completed: "+
					"{goto: e}}}, {id: b, delegate: worker}]}\n- {id: d, delegate: worker}\n"+
					"- {id: e, delegate: second}",
			),
			want: "a e",
			end:  "completed 0: ",
		},
		"until": {
			src: flow(
				"", "",
				"- {id: u, until: $steps.a | approved, max: 3, do: [{id: a, delegate: judge, on: "+
					"{rejected: next}}, {id: b, delegate: worker}]}\n"+
					"- return: \"${{ $steps.u.children | length }} ${{ $steps.a.status }}\"",
			),
			by:   replies{"a": {no("x"), yes()}},
			want: "a b a b",
			end:  "completed 0: 2 approved",
		},
		"until is not reached": {
			src: flow(
				"", "",
				"- {id: u, until: $steps.a | approved, max: 2, do: [{id: a, delegate: judge, on: "+
					"{rejected: next}}, {id: b, delegate: worker}]}\n- return: done",
			),
			by:   replies{"a": {no("x")}, "b": {ok("the words")}},
			want: "a b a b",
			end:  "partial 3: not reached in 2 passes: $steps.a | approved; last: the words",
		},
		"steps between are run again with their host": {
			src: flow(
				"", "",
				"- {id: a, delegate: worker}\n- {id: b, delegate: second}",
				"id: look\nafter: [a]\ndelegate: judge\non: {rejected: {rollback: it}}",
				"id: log\nafter: each\ndelegate: typed\nwith: {n: 1, more: $it.id}",
			),
			by:   replies{"a.look": {no("x"), yes()}},
			want: "a a.look a a.look a.log b b.log",
			end:  "completed 0: ",
		},
		"steps before": {
			src: flow(
				"", "",
				"- {id: a, delegate: worker}\n- {id: b, delegate: second}",
				"id: probe\nbefore: [b]\ndelegate: judge",
			),
			want: "a b.probe b",
			end:  "completed 0: ",
		},
		"none after a skipped step": {
			src: flow(
				"", "",
				"- {id: a, delegate: worker, when: 'false'}\n- {id: b, delegate: second}",
				"id: look\nafter: each\ndelegate: judge",
			),
			want: "b b.look",
			end:  "completed 0: ",
		},
		"none before a rollback": {
			src: flow(
				"", "",
				"- {id: a, delegate: worker}\n- {id: b, delegate: judge, on: {rejected: "+
					"{rollback: [a]}}}",
				"id: log\nafter: each\ndelegate: second",
			),
			by:   replies{"b": {no("x"), yes()}},
			want: "a a.log b a a.log b b.log",
			end:  "completed 0: ",
		},
		"a person sends the host back": {
			src: flow(
				"", "",
				"- {id: a, delegate: worker}\n- {id: b, delegate: second}",
				"id: ask\nafter: each\ngate: \"${{ $it.id }} ${{ $it.status }}?\"\n"+
					"choices: {go: next, again: {redo: it}}",
			),
			answers: []string{"again: more", "again", "again", "again", "go", "go"},
			want:    "a a a a a b",
			end:     "completed 0: ",
		},
		"without a person only three times": {
			src: flow(
				"", "",
				"- {id: a, delegate: worker, on: {blocked: {gate: \"Well?\", choices: {back: "+
					"{redo: it}}, auto: back}}}",
			),
			by:   replies{"a": {blocked("b")}},
			want: "a a a a",
			auto: true,
			end:  "failed 7 LIMIT: 'back' was chosen more often than its max of 3",
		},
		"tiers": {
			src: flow(
				"tiers: [Light, Standard, Full]\n",
				"load: {tier: $args.tier}",
				"- {id: a, delegate: worker, tier: Standard+}\n"+
					"- {id: b, delegate: worker, tier: [Light]}\n"+
					"- {id: c, delegate: worker, tier: Standard}\n- {id: d, delegate: worker}\n"+
					"- {id: e, set: {tier: '\"Full\"'}}\n- {id: f, delegate: worker, tier: Full}",
			),
			want: "a c d f",
			end:  "completed 0: ",
		},
		"a tier that is none": {
			src: flow(
				"tiers: [Light, Standard]\n",
				"load: {tier: '\"H\" + \"eavy\"'}",
				"- {id: a, delegate: worker}",
			),
			want: "",
			end: "failed 1 VALIDATION_FAILED: expected one of Light, Standard as the tier, " +
				"got Heavy",
		},
		"what was done is taken back, newest first": {
			src: flow(
				"", "",
				"- {id: a, delegate: worker, compensate: {delegate: second}}\n"+
					"- {id: b, delegate: worker, compensate: {delegate: second}}\n"+
					"- {id: c, delegate: worker}\n- {id: d, delegate: judge, on: {rejected: "+
					"{rollback: [a, b]}}}",
			),
			by:   replies{"d": {no("x"), yes()}},
			want: "a b c d b.compensate a.compensate a b d",
			end:  "completed 0: ",
		},
		"a failed command takes everything back": {
			src: flow(
				"", "",
				"- {id: a, delegate: worker, compensate: {delegate: second}}\n"+
					"- {id: l, foreach: '[1, 2]', do: [{id: b, delegate: worker, compensate: "+
					"{delegate: second}}]}\n- {id: c, delegate: judge}",
				"always: failed\ndelegate: typed\nwith: {n: 1}",
			),
			by:   replies{"c": {no("x")}},
			want: "a b b c b.compensate b.compensate a.compensate after_them",
			end:  "failed 5 REJECTED: rejected",
		},
		"an expression names the subagent": {
			src: flow(
				"", "",
				"- {id: l, foreach: '[\"worker\", \"second\"]', do: [{id: a, delegate: $item, "+
					"among: [worker, second, judge]}]}\n"+
					"- return: ${{ $steps.l.children | map(.steps.a.agent) | join(\" \") }}",
			),
			want: "a a",
			end:  "completed 0: worker second",
		},
		"an expression names none of them": {
			src: flow(
				"", "",
				"- {id: a, delegate: \"${{ \\\"thi\\\" }}rd\", among: [worker, second]}",
			),
			want: "",
			end: "failed 1 VALIDATION_FAILED: expected one of worker, second to delegate to, " +
				"got \"third\"",
		},
		"consent does not repeat what lacks a tool": {
			src: flow(
				"", "",
				"- {id: a, delegate: worker, on: {failed: {gate: Again?, choices: {Retry: {redo: "+
					"it}, Abort: fail}, auto: Retry}}}",
			),
			auto: true,
			by:   replies{"a": {failing(formats.CodeToolUnavailable, "no such CLI")}},
			want: "a",
			end:  "failed 69 TOOL_UNAVAILABLE: no such CLI",
		},
		"consent does not repeat it where the file leaves the question to the engine": {
			src:  flow("", "", "- {id: a, delegate: worker, on: {failed: gate}}"),
			auto: true,
			by:   replies{"a": {failing(formats.CodeAuth, "log in")}},
			want: "a",
			end:  "failed 4 AUTH: log in",
		},
		"consent skips it where the file says so": {
			src: flow(
				"", "",
				"- {id: a, delegate: worker, on: {failed: {gate: Again?, choices: {Retry: {redo: "+
					"it}, Skip: next, Abort: fail}}}}",
			),
			auto: true,
			by:   replies{"a": {failing(formats.CodeToolUnavailable, "no such CLI")}},
			want: "a",
			end:  "completed 0: ",
		},
		"a person repeats it": {
			src: flow(
				"", "",
				"- {id: a, delegate: worker, on: {failed: {gate: Again?, choices: {Retry: {redo: "+
					"it}, Abort: fail}, auto: Retry}}}",
			),
			answers: []string{"Retry"},
			by: replies{"a": {
				failing(formats.CodeToolUnavailable, "no such CLI"),
				ok("done"),
			}},
			want: "a a",
			end:  "completed 0: ",
		},
		"spawns": {
			src: flow(
				"limits: {spawns: 2}\n",
				"",
				"- {id: a, delegate: worker}\n- {id: b, delegate: worker}\n"+
					"- {id: c, delegate: worker}",
			),
			want: "a b",
			end:  "failed 7 LIMIT: ",
		},
		"a gate in a rule": {
			src: flow(
				"", "",
				"- {id: a, delegate: worker}\n- id: b\n  delegate: second\n"+
					"  on: {blocked: [{if: .blocked_reason == \"x\", gate: \"Stuck: ${{ "+
					".blocked_reason }}\", choices: {back: {rollback: [a]}, go: next, end: "+
					"fail}}, fail]}\n- return: ${{ $run.rollbacks }}",
			),
			by:      replies{"b": {blocked("x")}},
			answers: []string{"back: try", "go"},
			want:    "a b a b",
			end:     "completed 0: 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.cfg.AutoApprove = c.auto

			w.person(c.answers...)

			if c.auto {
				w.answer = func(g formats.Gate) (formats.Decision, error) {
					at := slices.IndexFunc(g.Choices, func(ch formats.Choice) bool {
						return ch.Approves
					})
					switch {
					case at >= 0:
						return formats.Decision{Answer: g.Choices[at].Label, By: "--yes"}, nil
					case g.Auto != "":
						return formats.Decision{Answer: g.Auto, By: "auto"}, nil
					}
					return formats.Decision{}, &formats.GateOpenError{Gate: g}
				}
			}

			p := w.play(c.by)

			line := ""
			if name == "tiers" {
				line = "--tier Standard"
			}

			ret := w.run(t.Context(), c.src, line)
			if got := p.sequence(); got != c.want {
				t.Errorf("steps = %s, want %s", got, c.want)
			}

			if got := describeReturn(ret); !strings.HasPrefix(got, c.end) {
				t.Errorf("Run = %s, want %s", got, c.end)
			}
		})
	}
}

// TestFeedback: what a step that is sent back, a step between and an asking step see.
func TestFeedback(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	src := flow(
		"", "",
		"- {id: a, delegate: worker, on: {blocked: {ask: [second]}}}\n"+
			"- {id: b, delegate: judge, on: {rejected: {rollback: [a]}}}",
		"id: log\nafter: [a]\ndelegate: second",
	)

	p := w.play(replies{
		"a":     {blocked("which?"), ok("1"), ok("2")},
		"a.ask": {{Status: formats.StatusCompleted, Summary: "short", Text: "the long answer"}},
		"b":     {no("bad"), yes()},
	})

	if ret := w.run(t.Context(), src, ""); !ret.Outcome().Passes() {
		t.Fatal(describeReturn(ret))
	}

	ask := p.request("a.ask")[0]
	if ask.Question != "which?" || ask.Agent != "second" || ask.Input["question"] != "which?" ||
		ask.Feedback != nil {
		t.Errorf("question = %+v", ask)
	}

	a := p.request("a")
	if a[1].Feedback.Answer != "the long answer" || a[1].Feedback.From != "second" {
		t.Errorf("after the answer: %+v", a[1].Feedback)
	}
	if f := a[2].Feedback; f.From != "b" || len(f.Issues) != 1 || f.Answer != "" {
		t.Errorf("after the rollback: %+v", f)
	}

	for _, r := range p.request("a.log") {
		if r.Feedback != nil {
			t.Errorf("between steps: %+v", r.Feedback)
		}
	}

	if b := p.request("b")[1]; !b.Feedback.Own || len(b.Feedback.Issues) != 1 {
		t.Errorf("the step that sent back: %+v", b.Feedback)
	}
	if f := p.request("a")[2].Feedback; f.Own {
		t.Errorf("the step that is sent back: %+v", f)
	}
	if f := p.request("b")[1].Feedback; f == nil || f.From != "b" {
		t.Errorf("the step that sent back: %+v", f)
	}
	var counted []any
	for _, e := range w.entries {
		m, ok := e.Data.(map[string]any)
		if ok && e.Type == formats.EntryRollback {
			counted = append(counted, m["rollbacks"])
		}
		if ok && e.Type == formats.EntryAsked {
			counted = append(counted, m["asked"])
		}
	}

	if diff := cmp.Diff([]any{1, 1}, counted); diff != "" {
		t.Errorf("counters in the journal (-want +got):\n%s", diff)
	}
}

func TestBoard(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	src := flow(
		"", "",
		"- id: u\n  until: $index == 1\n  max: 2\n  do:\n"+
			"    - {id: p, parallel: {one: {delegate: judge}, two: {delegate: judge}}, board: "+
			"talk, merge: true}\n"+
			"- return: ${{ $board.talk | map(\"\\(.by)\\(.round)\") | join(\" \") }}",
	)

	p := w.play(replies{"one": {no("first")}, "two": {yes()}})

	if ret := w.run(t.Context(), src, ""); describeReturn(ret) != "completed 0: one1 two1 one2 two2" {
		t.Errorf("Run = %s", describeReturn(ret))
	}
	for _, id := range []string{"one", "two"} {
		r := p.request(id)
		if len(r[0].Facets.Knowledge) != 0 {
			t.Errorf("%s sees in the first round: %q", id, r[0].Facets.Knowledge)
		}

		want := "Board 'talk', oldest first:\n\n- one, round 1: rejected\n  - [error] first\n\n" +
			"- two, round 1: approved"
		if diff := cmp.Diff([]string{want}, r[1].Facets.Knowledge); diff != "" {
			t.Errorf("%s sees in the second round (-want +got):\n%s", id, diff)
		}
	}
}
