package interp_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/commands/compile"
	"tercet/formats"
)

// TestActions runs one command a case and holds its return and its delegations.
func TestActions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		src    string
		line   string
		agents map[string]agent
		docs   map[string]string
		found  map[string]formats.Diagnostic
		want   string
		calls  []string
	}{
		"delegate with typed input": {
			src: file(
				"arguments:\n  - {name: k, type: integer, default: 3}\n",
				"",
				"A: id: a\ndelegate: typed\nwith: {n: $args.k, more: {text: \"k is ${{ $args.k "+
					"}}\", list: [1, $args.k], none: null}}",
				"B: return: \"${{ $steps.a.summary }} ${{ $steps.a.status }} ${{ "+
					"$steps.a.attempts }}\"",
			),
			want:  "completed 0: done completed 1",
			calls: []string{"typed a#1.1 {more:{list:[1,3],none:null,text:k is 3},n:3}"},
		},
		"a required input that is null fails the step": {
			src: file(
				"arguments:\n  - {name: k, type: integer}\n",
				"",
				"A: delegate: typed\nwith: {n: $args.k}",
			),
			want: "failed 1 VALIDATION_FAILED: expected a value for input 'n' of subagent " +
				"'typed', got null",
		},
		"fields of a return": {
			src: file(
				"", "",
				"A: id: a\ndelegate: typed\nwith: {n: 1}",
				"B: when: $steps.a.fields.count > 1\n"+
					"return: {message: \"${{ $steps.a.fields.list[0] }}\", fields: {n: "+
					"$steps.a.fields.count}}",
				"C: return: none",
			),
			agents: map[string]agent{"typed": always(formats.Return{
				Status: formats.StatusCompleted,
				Fields: map[string]any{"count": 2, "list": []any{"one"}},
			})},
			want:  "completed 0: one",
			calls: []string{"typed a#1.1 {n:1}"},
		},
		"when": {
			src: file(
				"", "",
				"A: id: a\nwhen: 1 == 2\ndelegate: worker",
				"B: return: ${{ $steps.a.status }} ${{ $steps.a.summary }}",
			),
			want: "completed 0: skipped ",
		},
		"set": {
			src: file(
				"", "",
				"A: id: s\nset: {x: 1 + 1, y: $x * 2}",
				"B: return: ${{ $x }} ${{ $steps.s.y }} ${{ $steps.s.status }}",
			),
			want: "completed 0: 2 4 completed",
		},
		"fail": {
			src: file(
				"arguments:\n  - {name: k, type: integer}\n",
				"",
				"A: when: $args.k > 1\nfail: ${{ $args.k }} is too much.\ncode: USAGE",
				"B: return: fine",
			),
			line: "4",
			want: "failed 2 USAGE: 4 is too much.",
		},
		"fail without a code": {
			src:  file("", "", "A: fail: No."),
			want: "failed 1 PRECONDITION: No.",
		},
		"check jq": {
			src:  file("", "", "A: check: 1 == 1", "B: check: 1 == 2"),
			want: "failed 5 REJECTED: expected 1 == 2",
		},
		"check with words of its own": {
			src: file(
				"", "",
				"A: id: c\ncheck: 1 == 2\nelse: One is not two.\non: {rejected: next}",
				"B: return: ${{ $steps.c.status }} ${{ $steps.c.issues[0].description }}",
			),
			want: "completed 0: rejected One is not two.",
		},
		"check that cannot be made": {
			src: file("", "", "A: check: $run.id | .x"),
			want: "failed 1 VALIDATION_FAILED: x.md:11:8: $run.id | .x: expected an object but " +
				"got: string (\"r1\")",
		},
		"check file": {
			src: file(
				"", "",
				"A: check: {file: [a.md, b.md], nonempty: true}",
				"B: check: {file: gone.md}",
			),
			docs: map[string]string{"a.md": "x", "b.md": " \n"},
			want: "failed 5 REJECTED: b.md is empty",
		},
		"check file that is not there": {
			src:  file("", "", "A: check: {file: gone.md}"),
			want: "failed 5 REJECTED: gone.md does not exist",
		},
		"check the newest document": {
			src:    file("", "", "A: delegate: maker", "B: check: {document: plan-short}"),
			agents: map[string]agent{"maker": always(made(formats.ArtifactPlan, "p.md"))},
			docs:   map[string]string{"p.md": "# Plan\n"},
			want: "failed 5 REJECTED: p.md:2:1: E444: expected a section 'Overview', got none " +
				"… and 4 more",
			calls: []string{"maker a#1.1 {}"},
		},
		"check a document that was not made": {
			src:  file(task, "", "A: check: {document: plan}"),
			line: "7",
			want: "failed 5 REJECTED: no plan was made",
		},
		"check a document that is not there": {
			src:  file("", "", "A: check: {document: plan, path: $args._raw + \"p.md\"}"),
			want: "failed 5 REJECTED: p.md does not exist",
		},
		"check command files": {
			src:  file("", "", "A: check: {document: command, path: [good.md, odd.md, bad.md]}"),
			docs: map[string]string{"good.md": "x", "odd.md": "x", "bad.md": "x"},
			want: "failed 5 REJECTED: bad.md:3:1: E010: unknown key 'x' … and 1 more",
			found: map[string]formats.Diagnostic{
				"odd.md": {
					Code:     "W210",
					Severity: formats.SeverityWarning,
					File:     "/elsewhere/odd.md",
					Message:  "odd",
				},
				"bad.md": {
					Code:     "E010",
					Severity: formats.SeverityError,
					File:     "/elsewhere/bad.md",
					Pos:      formats.Pos{Line: 3, Col: 1},
					Message:  "unknown key 'x'",
				},
			},
		},
		"check a subagent file": {
			src:  file("", "", "A: check: {document: subagent, path: a.md}"),
			docs: map[string]string{"a.md": "x"},
			want: "failed 5 REJECTED: a.md: E010: no (subagent)",
			found: map[string]formats.Diagnostic{"a.md": {
				Code:     "E010",
				Severity: formats.SeverityError,
				Message:  "no",
			}},
		},
		"check a command": {
			src: file(
				"", "",
				"A: id: g\ncheck: {command: [go, vet]}\nelse: \"Broken: ${{ .summary }}\"\n"+
					"on: {rejected: next}",
				"B: return: ${{ $steps.g.summary }}",
			),
			agents: map[string]agent{compile.Gatekeeper: always(
				verdict(formats.VerdictRejected, "a.go: bad"),
			)},
			want:  "completed 0: Broken: rejected",
			calls: []string{"gatekeeper g#1.1 {command:[go,vet]}"},
		},
		"the end without a return": {
			src:  file("", "", "A: set: {x: 1}"),
			want: "completed 0: /x done",
		},
		"a return without a message": {
			src:  file("", "", "A: return: {status: partial}"),
			want: "partial 3: /x done",
		},
		"an expression that does not fit": {
			src: file("", "", "A: set: {x: '$args | .[0]'}"),
			want: `failed 1 VALIDATION_FAILED: x.md:11:11: $args | .[0]: ` +
				`expected an array but got: object ({"_raw":""})`,
		},
		"the status of another task": {
			src: file(
				"", "",
				"A: status: {to: researching, task: 7}",
				"B: status: {to: blocked, task: 7, reason: why not}",
			),
			want: "completed 0: /x done",
			calls: []string{
				"status-sync-manager a#1.1 " +
					"{operation:update_status,status:researching,task_number:7}",
				"status-sync-manager b#1.1 {operation:update_status,reason:why " +
					"not,status:blocked,task_number:7}",
			},
		},
		"a phase": {
			src:  file(task, "", "A: status: {phase: 2, to: completed}"),
			line: "7",
			want: "completed 0: /x done",
			calls: []string{
				"status-sync-manager a#1.1 " +
					"{operation:set_phase,phase:2,status:completed,task_number:7}",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			maps.Copy(w.agents, c.agents)
			maps.Copy(w.docs, c.docs)
			w.found = c.found

			ret := w.run(t.Context(), c.src, c.line)

			if got := describeReturn(ret); got != c.want {
				t.Errorf("Run = %s, want %s", got, c.want)
			}

			if diff := cmp.Diff(c.calls, w.calls()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOutcomes: each outcome of a step leads where the table says, without a rule and with one.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	skipped := ok("nothing to do")
	skipped.Said = formats.OutcomeSkipped
	suspended := partial("later")
	suspended.Said = formats.OutcomeSuspended
	coded := failing(formats.CodeAuth, "log in first")
	for name, c := range map[string]struct {
		ret  formats.Return
		rule string
		want string
	}{
		"completed":   {ret: ok("done"), want: "completed 0: went on"},
		"approved":    {ret: verdict(formats.VerdictApproved), want: "completed 0: went on"},
		"conditional": {ret: verdict(formats.VerdictConditional), want: "completed 0: went on"},
		"skipped":     {ret: skipped, want: "completed 0: went on"},
		"partial":     {ret: partial("half"), want: "partial 3: half"},
		"rejected": {
			ret:  verdict(formats.VerdictRejected, "bad"),
			want: "failed 5 REJECTED: rejected",
		},
		"blocked":   {ret: blocked("which?"), want: "blocked 75: which?"},
		"suspended": {ret: suspended, want: "suspended 75: later"},
		"failed":    {ret: coded, want: "failed 4 AUTH: log in first"},

		"completed to fail": {
			ok("done"),
			"completed: fail",
			"failed 1 UNKNOWN_ERROR: done",
		},
		"partial to next": {partial("half"), "partial: next", "completed 0: went on"},
		"partial to fail": {
			partial("half"),
			"partial: fail",
			"failed 1 UNKNOWN_ERROR: half",
		},
		"blocked to fail": {
			blocked("which?"),
			"blocked: fail",
			"failed 1 UNKNOWN_ERROR: which?",
		},
		"rejected to fail": {
			verdict(formats.VerdictRejected),
			"rejected: fail",
			"failed 5 REJECTED: rejected",
		},
		"rejected to next": {
			verdict(formats.VerdictRejected),
			"rejected: next",
			"completed 0: went on",
		},
		"rejected to a return": {
			verdict(formats.VerdictRejected, "bad"),
			"rejected: {return: {status: rejected, message: \"no: ${{ .issues[0].description " +
				"}}\"}}",
			"rejected 5: no: bad",
		},
		"failed to next": {coded, "failed: next", "completed 0: went on"},
		"failed to a return": {
			coded,
			"failed: {return: \"gave up: ${{ .errors[0].code }}\"}",
			"completed 0: gave up: AUTH",
		},
		"a class before its status": {
			failing(formats.CodeTimeout, "slow"),
			"failed: fail, timeout: {return: too slow}",
			"completed 0: too slow",
		},
		"another class": {
			failing(formats.CodeTimeout, "slow"),
			"transient: next",
			"failed 124 TIMEOUT: slow",
		},
		"the first target that fits": {
			verdict(formats.VerdictRejected, "a", "b"),
			"rejected: [{next: true, if: '(.issues | length) > 2'}, {return: two, if: '(.issues " +
				"| length) == 2'}, fail]",
			"completed 0: two",
		},
		"no target fits": {
			verdict(formats.VerdictRejected, "a"),
			"rejected: {next: true, if: 1 == 2}",
			"failed 5 REJECTED: rejected",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.agents["worker"] = always(c.ret)

			rule := ""
			if c.rule != "" {
				rule = "\non: {" + c.rule + "}"
			}

			ret := w.run(
				t.Context(),
				file("", "", "A: delegate: worker"+rule, "B: return: went on"),
				"",
			)

			if got := describeReturn(ret); got != c.want {
				t.Errorf("Run = %s, want %s", got, c.want)
			}

			if c.ret.Verdict == formats.VerdictConditional &&
				!strings.Contains(strings.Join(ret.Warnings, ";"), "approved with conditions") {
				t.Errorf("warnings = %q, want one for the conditions", ret.Warnings)
			}
		})
	}
}

// TestReturnBeside: a return beside an action is done after it passed.
func TestReturnBeside(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ret  formats.Return
		want string
	}{
		"passed":     {ok("done"), "completed 0: beside done"},
		"not passed": {verdict(formats.VerdictRejected), "completed 0: behind"},
	} {
		w := newWorld(t)
		w.agents["worker"] = always(c.ret)
		ret := w.run(
			t.Context(),
			file(
				"", "",
				"A: delegate: worker\non: {rejected: next}\nreturn: beside ${{ .summary }}",
				"B: return: behind",
			),
			"",
		)
		if got := describeReturn(ret); got != c.want {
			t.Errorf("%s: Run = %s, want %s", name, got, c.want)
		}
	}
}

func TestExpect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step string
		ret  formats.Return
		want string
	}{
		"holds": {
			"delegate: worker\nexpect: {artifact: plan, if: '.artifacts | length == 1'}",
			made(formats.ArtifactPlan, "p.md"),
			"completed 0: completed ",
		},
		"no artifact": {
			"delegate: worker\nexpect: {artifact: report}",
			made(formats.ArtifactPlan, "p.md"),
			"completed 0: rejected expected an artifact of type report, got none",
		},
		"both": {
			"delegate: worker\nexpect: {artifact: plan, if: .summary == \"x\"}",
			ok("y"),
			"completed 0: rejected expected an artifact of type plan, got none;expected .summary " +
				"== \"x\"",
		},
		"in words": {
			"delegate: worker\nexpect: {if: .summary == \"x\", else: \"write x, not ${{ " +
				".summary }}\"}",
			ok("y"),
			"completed 0: rejected write x, not y",
		},
		"not if it failed": {
			"delegate: worker\nexpect: {artifact: plan}",
			failing(formats.CodeUnknown, "no"),
			"failed 1 UNKNOWN_ERROR: no",
		},
		"of a loop, said": {
			"foreach: '[1, 2]'\ndelegate: worker\n" +
				"expect: {if: (.children | length) > 2, else: too few}",
			ok("y"),
			"completed 0: rejected too few",
		},
		"of a loop": {
			"foreach: '[1, 2]'\ndelegate: worker\nexpect: {if: (.children | length) > 2}",
			ok("y"),
			"completed 0: rejected expected (.children | length) > 2",
		},
	} {
		w := newWorld(t)
		w.agents["worker"] = always(c.ret)
		ret := w.run(
			t.Context(),
			file(
				"", "",
				"A: id: a\n"+c.step+"\non: {rejected: next}",
				"B: return: \"${{ $steps.a.status }} ${{ $steps.a.issues | map(.description) | "+
					"join(\\\";\\\") }}\"",
			),
			"",
		)
		if got := describeReturn(ret); got != c.want {
			t.Errorf("%s: Run = %s, want %s", name, got, c.want)
		}
	}
}

// TestRedo: the named steps run again in that order with feedback, then this one; the default is
// three times, and then the step's own outcome with code LIMIT and the last message first.
func TestRedo(t *testing.T) {
	t.Parallel()
	src := file(
		"", "", "A: id: a\ndelegate: worker\nwith: {last: $feedback.issues}",
		"B: id: b\nwhen: $feedback == null\ndelegate: second",
		"C: id: c\ndelegate: judge\non: {rejected: {redo: [a, b, it]}}",
		"D: return: \"${{ $steps.c.status }} ${{ $feedback }}\"",
	)
	no := func(n string) formats.Return {
		return verdict(formats.VerdictRejected, "issue "+n)
	}

	w := newWorld(t)
	w.agents["judge"] = in(no("1"), no("2"), verdict(formats.VerdictApproved))
	ret := w.run(t.Context(), src, "")
	if got := describeReturn(ret); got != "completed 0: approved " {
		t.Errorf("Run = %s", got)
	}
	want := []string{
		"worker a#1.1 {}", "second b#1.1 {}", "judge c#1.1 {}",
		"worker a#2.1 {last:[{description:issue 1,level:error}]}", "judge c#2.1 {}",
		"worker a#3.1 {last:[{description:issue 2,level:error}]}", "judge c#3.1 {}",
	}
	if diff := cmp.Diff(want, w.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	var attempts []int
	for _, r := range w.requests {
		if r.Feedback != nil {
			attempts = append(attempts, r.Feedback.Attempt)
			f := r.Feedback
			if len(f.Issues) != 1 || f.Issues[0].Description != fmt.Sprint("issue ", f.Attempt) {
				t.Errorf("feedback of %s = %+v", r.Step, f)
			}
		}
	}

	if diff := cmp.Diff([]int{1, 1, 2, 2}, attempts); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}

	w = newWorld(t)
	w.agents["judge"] = in(no("1"), no("2"), no("3"), no("4"), no("5"))
	ret = w.run(t.Context(), src, "")
	got := describeReturn(ret)
	if got != "failed 7 LIMIT: rejected" || len(ret.Errors) != 2 ||
		ret.Errors[1].Code != formats.CodeRejected {
		t.Errorf("Run = %s %v", got, ret.Errors)
	}
	if ret.Issues[0].Description != "issue 4" {
		t.Errorf("issues = %v, want those of the last time", ret.Issues)
	}
	if n := len(w.calls()); n != 3+2*formats.DefaultRedo {
		t.Errorf("%d calls, want %d", n, 3+2*formats.DefaultRedo)
	}
}

// TestRedoEnds: a named step that does not pass ends the command, a max of its own is counted, and
// a rule of a step that passes may send back too. Behind a used-up rule only a next goes on.
func TestRedoEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agents["worker"] = in(ok("one"), failing(formats.CodeIO, "disk full"))
	w.agents["judge"] = always(verdict(formats.VerdictRejected))
	ret := w.run(
		t.Context(),
		file(
			"", "",
			"A: id: a\ndelegate: worker",
			"B: delegate: judge\non: {rejected: {redo: a}}",
			"C: return: never",
		),
		"",
	)
	if got := describeReturn(ret); got != "failed 74 IO: disk full" {
		t.Errorf("Run = %s", got)
	}

	w = newWorld(t)
	ret = w.run(
		t.Context(),
		file(
			"", "",
			"A: id: a\ndelegate: worker",
			"B: id: b\ndelegate: second\non: {completed: [{redo: a, max: 2}, next]}",
			"C: return: \"${{ $steps.b.attempts }}\"",
		),
		"",
	)
	if got := describeReturn(ret); got != "completed 0: 1" || len(w.calls()) != 6 {
		t.Errorf("Run = %s after %d calls, want completed after 6", got, len(w.calls()))
	}
}

// TestRedoOfALoop: the body of a loop that is named sees the feedback, its array is read anew,
// visits are counted on.
func TestRedoOfALoop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agents["judge"] = in(
		verdict(formats.VerdictRejected, "mend it"),
		verdict(formats.VerdictApproved),
	)

	ret := w.run(
		t.Context(),
		file(
			"", "", "A: id: loop\nforeach: 'if $feedback then [\"fix\"] else [1, 2] end'",
			">B: id: b\ndelegate: worker\nwith: {item: $item, i: $index}",
			"C: delegate: judge\non: {rejected: {redo: [loop]}}",
			"D: return: \"${{ $steps.loop.children | length }}\"",
		),
		"",
	)
	if got := describeReturn(ret); got != "completed 0: 1" {
		t.Errorf("Run = %s", got)
	}
	want := []string{
		"worker loop[0]/b#1.1 {i:0,item:1}", "worker loop[1]/b#1.1 {i:1,item:2}", "judge c#1.1 {}",
		"worker loop[0]/b#2.1 {i:0,item:fix}", "judge c#2.1 {}",
	}
	if diff := cmp.Diff(want, w.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// TestRedoOutOfALoop: a step in a loop may send back to one before the loop; its count starts anew
// in each iteration.
func TestRedoOutOfALoop(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	n := 0
	w.agents["judge"] = func(context.Context, formats.Request) (formats.Return, error) {
		n++
		if n%2 == 1 {
			return verdict(formats.VerdictRejected), nil
		}
		return verdict(formats.VerdictApproved), nil
	}

	ret := w.run(
		t.Context(),
		strings.Replace(
			file(
				"", "",
				"A: foreach: '[1, 2]'",
				">C: id: c\ndelegate: judge\non: {rejected: {redo: first, max: 1}}",
			),
			"### Step 1: A",
			"### Step 9: First\n\n```yaml step\nid: first\ndelegate: worker\n```\n\n### Step 1: A",
			1,
		),
		"",
	)

	if got := describeReturn(ret); got != "completed 0: /x done" || len(w.calls()) != 7 {
		t.Errorf("Run = %s after %q", got, w.calls())
	}
}

// TestGroupVisitedAgain: each visit of a group and of the steps in it has a path of its own, and
// ends under the path under which it began.
func TestGroupVisitedAgain(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	src := flow(
		"", "",
		"- id: pair\n  do:\n    - {id: a, delegate: worker}\n    - {id: b, delegate: second}\n"+
			"- {id: c, delegate: judge, on: {rejected: {redo: [pair]}}}",
	)

	w.play(replies{"c": {no("bad"), yes()}})
	if ret := w.run(t.Context(), src, ""); !ret.Outcome().Passes() {
		t.Fatal(describeReturn(ret))
	}

	var got []string
	for _, e := range w.entries {
		switch e.Type { //nolint:exhaustive // the others are not about the whole step
		case formats.EntryStepScheduled:
			got = append(got, "begin "+e.Step)
		case formats.EntryStepFinished:
			got = append(got, "end "+e.Step)
		}
	}

	want := []string{
		"begin do#1",
		"begin pair#1", "begin a#1", "end a#1", "begin b#1", "end b#1", "end pair#1",
		"begin c#1", "end c#1",
		"begin pair#2", "begin a#2", "end a#2", "begin b#2", "end b#2", "end pair#2",
		"begin c#2", "end c#2",
		"end do#1",
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps in the journal (-want +got):\n%s", diff)
	}
}
