package interp_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
)

// TestForeach: one element after the other, stopping at the first that does not pass unless merge
// is true.
func TestForeach(t *testing.T) {
	t.Parallel()

	result := ">B: id: b\ndelegate: worker\nwith: {n: $n, i: $index}"
	show := "C: return: \"${{ $steps.l.status }} ${{ $steps.l.summary }}: ${{ $steps.l.children " +
		"| map(.status) | join(\\\" \\\") }}; ${{ [$steps.l | .completed, .partial, .failed, " +
		".blocked | length] | map(tostring) | join(\\\" \\\") }}\""

	for name, c := range map[string]struct {
		in, keys, on string
		second       formats.Return
		want         string
		calls        int
	}{
		"all pass": {
			in:     "[1, 2, 3]",
			second: ok("done"),
			want:   "completed 0: completed 3 of 3 done: completed completed completed; 3 0 0 0",
			calls:  3,
		},
		"nothing to do": {
			in:   "[]",
			want: "completed 0: completed 0 of 0 done: ; 0 0 0 0",
		},
		"null is nothing": {
			in:   "null",
			want: "completed 0: completed 0 of 0 done: ; 0 0 0 0",
		},
		"no array": {
			in: "{}",
			want: "failed 1 VALIDATION_FAILED: x.md:12:11: expected an array for foreach, got an " +
				"object",
		},
		"stops at a failure": {
			in:     "[1, 2, 3]",
			second: failing(formats.CodeIO, "full"),
			on:     "on: {failed: next}",
			want:   "completed 0: failed full: completed failed; 1 0 1 0",
			calls:  2,
		},
		"a failure ends it": {
			in:     "[1, 2, 3]",
			second: failing(formats.CodeIO, "full"),
			want:   "failed 74 IO: full",
			calls:  2,
		},
		"stops at a no": {
			in:     "[1, 2, 3]",
			second: verdict(formats.VerdictRejected),
			on:     "on: {rejected: next}",
			want:   "completed 0: rejected rejected: completed rejected; 1 0 1 0",
			calls:  2,
		},
		"a no ends it": {
			in:     "[1, 2, 3]",
			second: verdict(formats.VerdictRejected),
			want:   "failed 5 REJECTED: rejected",
			calls:  2,
		},
		"partial ends it": {
			in:     "[1, 2, 3]",
			second: partial("half"),
			want:   "partial 3: half",
			calls:  2,
		},
		"blocked ends it": {
			in:     "[1, 2, 3]",
			second: blocked("which?"),
			want:   "blocked 75: which?",
			calls:  2,
		},
		"goes on with merge true": {
			in:     "[1, 2, 3]",
			keys:   "merge: true",
			second: verdict(formats.VerdictRejected),
			want:   "completed 0: completed 2 of 3 done: completed rejected completed; 2 0 1 0",
			calls:  3,
		},
		"merge true, blocked": {
			in:     "[1, 2, 3]",
			keys:   "merge: true",
			second: blocked("which?"),
			want:   "completed 0: completed 2 of 3 done: completed blocked completed; 2 0 0 1",
			calls:  3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.agents["worker"] = in(ok("done"), c.second, ok("done"))

			ret := w.run(
				t.Context(),
				file(
					"", "",
					"A: id: l\nforeach: '"+c.in+"'\nas: n\n"+c.keys+"\n"+c.on,
					result,
					show,
				),
				"",
			)

			if got := describeReturn(ret); got != c.want {
				t.Errorf("Run = %s, want %s", got, c.want)
			}

			if len(w.calls()) != c.calls {
				t.Errorf("calls = %q, want %d", w.calls(), c.calls)
			}
		})
	}
}

// TestForeachChildren: a child of a loop that delegates itself shows what its subagent returned,
// one of a loop with steps the summary of its last step and the documents that were made.
func TestForeachChildren(t *testing.T) {
	t.Parallel()

	answer := made(formats.ArtifactImplementation, "a.go")
	answer.Fields = map[string]any{"n": 4}
	answer.Issues = []formats.Issue{{Level: formats.LevelWarning, Description: "odd"}}

	show := `return: '${{ $steps.l.children | map("\(.index) \(.item) \(.status) \(.summary) ` +
		`\(.artifacts[0].path)`

	for _, c := range []struct {
		steps []string
		more  string
		want  string
	}{
		{
			[]string{"A: id: l\nforeach: '[7, 8]'\ndelegate: worker"},
			` \(.fields.n) \(.issues[0].description)`,
			"completed 0: 0 7 completed made a.go a.go 4 odd; 1 8 completed made a.go a.go 4 odd",
		},
		{
			[]string{"A: id: l\nforeach: '[7, 8]'", ">B: delegate: worker", ">C: set: {x: 1}"},
			"",
			"completed 0: 0 7 completed made a.go a.go; 1 8 completed made a.go a.go",
		},
	} {
		w := newWorld(t)
		w.agents["worker"] = always(answer)

		end := show + c.more + `") | join("; ") }}'`
		got := describeReturn(w.run(t.Context(), file("", "", append(c.steps, "D: "+end)...), ""))
		if got != c.want {
			t.Errorf("Run of %q\n= %s, want\n%s", c.steps, got, c.want)
		}
	}
}

// TestForeachClasses: a class of failure of a child may be routed by the loop.
func TestForeachClasses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agents["worker"] = always(failing(formats.CodeTimeout, "slow"))

	ret := w.run(
		t.Context(),
		file("", "", "A: foreach: '[1]'\ndelegate: worker\non: {timeout: {return: too slow}}"),
		"",
	)

	if got := describeReturn(ret); got != "completed 0: too slow" {
		t.Errorf("Run = %s", got)
	}
}

// TestForeachEnds: return and fail in a body end the command, not only the iteration, whatever
// merge says.
func TestForeachEnds(t *testing.T) {
	t.Parallel()
	for block, want := range map[string]string{
		"return: \"at ${{ $index }}\"":          "completed 0: at 0",
		"fail: Stop.\ncode: NOT_FOUND":          "failed 6 NOT_FOUND: Stop.",
		"gate: Well?":                           "suspended 75: gate \"Well?\" has no answer",
		"delegate: worker\non: {partial: fail}": "failed 1 UNKNOWN_ERROR: half",
		"delegate: second\non: {failed: gate}": "suspended 75: gate \"step 'B' is failed: " +
			"full\" has no answer",
		"delegate: second\nfallback: worker\n":   "completed 0: /x done",
		"delegate: second\non: {failed: next}\n": "completed 0: /x done",
	} {
		w := newWorld(t)
		w.agents["worker"] = always(partial("half"))
		w.agents["second"] = always(failing(formats.CodeIO, "full"))
		ret := w.run(
			t.Context(),
			file("", "", "A: foreach: '[1, 2]'\nmerge: true", ">B: "+block),
			"",
		)
		if got := describeReturn(ret); got != want {
			t.Errorf("body %q: Run = %s, want %s", block, got, want)
		}
	}
}

// TestForeachScope: inside, $steps.x is this iteration's, null before it ran; what an iteration
// sets stays in it; from outside the body is reached through the children.
func TestForeachScope(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	w.agents["worker"] = func(_ context.Context, r formats.Request) (formats.Return, error) {
		ret := ok("done " + flat(r.Input["n"]))
		ret.Artifacts = []formats.Artifact{{
			Type: formats.ArtifactImplementation,
			Path: flat(r.Input["n"]) + ".go",
		}}
		return ret, nil
	}

	src := strings.Join([]string{
		"---\ncommand: x\ndescription: A test\n---\n\n## Workflow Execution\n",
		"### Step 1: A\n\n```yaml step\nid: before\nset: {x: 1}\n```\n",
		"### Step 2: L\n\n```yaml step\nid: l\nforeach: '[\"a\", \"b\"]'\n```\n",
		"#### Step 2.1: First\n\n```yaml step\nid: first\nwhen: $index > 0\n" +
			"set: {x: $item, had: $steps.before.x}\n```\n",
		"#### Step 2.2: Inner\n\n```yaml step\nid: inner\nforeach: '[1, 2]'\nas: k\n```\n",
		"##### Step 2.2.1: Deep\n\n```yaml step\nid: deep\ndelegate: worker\n" +
			"with: {n: \"$item + ($k | tostring)\", x: $x, first: $steps.first.status, had: " +
			"$steps.first.had}\n```\n",
		"### Step 3: R\n\n```yaml step\n" +
			"return: \"${{ $x }} ${{ " +
			"$steps.l.children[1].steps.inner.children[0].steps.deep.summary }} ${{ " +
			"$steps.l.artifacts | map(.path) | join(\\\" \\\") }}\"\n```\n",
	}, "\n")

	ret := w.run(t.Context(), src, "")
	if got := describeReturn(ret); got != "completed 0: 1 done b1 a1.go a2.go b1.go b2.go" {
		t.Errorf("Run = %s", got)
	}

	want := []string{
		"worker l[0]/inner[0]/deep#1.1 {first:skipped,n:a1,x:1}",
		"worker l[0]/inner[1]/deep#1.1 {first:skipped,n:a2,x:1}",
		"worker l[1]/inner[0]/deep#1.1 {first:completed,had:1,n:b1,x:b}",
		"worker l[1]/inner[1]/deep#1.1 {first:completed,had:1,n:b2,x:b}",
	}

	if diff := cmp.Diff(want, w.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// TestForeachJournal: the array is in the journal before the first element runs.
func TestForeachJournal(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	w.run(t.Context(), file("", "", "A: id: l\nforeach: '[\"a\"]'\ndelegate: worker"), "")

	for i, e := range w.entries {
		if e.Type == formats.EntryLoopEntered {
			data, _ := e.Data.(map[string]any)
			if flat(data["items"]) != "[a]" || w.entries[i+1].Step != "l#1[0]/worker#1" {
				t.Errorf("entry = %+v, then %+v", e, w.entries[i+1])
			}
			return
		}
	}
	t.Errorf("no entry %s in %v", formats.EntryLoopEntered, w.entries)
}
