package interp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/commands/compile"
	"tercet/commands/interp"
	"tercet/formats"
	"tercet/internal/testkit"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	ret := func(o formats.Outcome) formats.Return {
		return formats.Return{Status: formats.StatusCompleted, Said: o}
	}
	votes := func(words string) []interp.Vote {
		var out []interp.Vote
		for word := range strings.FieldsSeq(words) {
			name, check := strings.CutSuffix(word, "!")
			out = append(out, interp.Vote{Return: ret(formats.Outcome(name)), Check: check})
		}
		return out
	}
	quorum := func(n int) interp.Predicate {
		return func(ran []formats.Return) (bool, error) {
			passed := 0
			for i := range ran {
				if ran[i].Outcome().Passes() {
					passed++
				}
			}
			return passed >= n, nil
		}
	}
	always := func([]formats.Return) (bool, error) { return true, nil }
	for _, c := range []struct {
		holds interp.Predicate
		votes string
		want  formats.Outcome
	}{
		{nil, "", formats.OutcomeSkipped},
		{nil, "skipped skipped", formats.OutcomeSkipped},
		{always, "skipped", formats.OutcomeSkipped},
		{nil, "approved conditional completed skipped", formats.OutcomeCompleted},
		{nil, "approved rejected failed", formats.OutcomeRejected},
		{nil, "approved failed blocked", formats.OutcomeFailed},
		{nil, "suspended blocked", formats.OutcomeBlocked},
		{nil, "approved suspended", formats.OutcomeSuspended},
		{nil, "approved partial", formats.OutcomePartial},
		{quorum(2), "approved rejected approved", formats.OutcomeCompleted},
		{quorum(2), "approved rejected failed", formats.OutcomeRejected},
		{quorum(3), "approved approved", formats.OutcomeRejected},
		{always, "rejected failed", formats.OutcomeCompleted},
		{always, "approved rejected!", formats.OutcomeRejected},
		{quorum(1), "approved rejected!", formats.OutcomeRejected},
		{always, "approved failed!", formats.OutcomeCompleted},
	} {
		got, err := interp.Decide(c.holds, votes(c.votes))
		if err != nil || got != c.want {
			t.Errorf("Decide(%s) = %s, %v, want %s", c.votes, got, err, c.want)
		}
	}

	_, err := interp.Decide(
		func([]formats.Return) (bool, error) { return false, errBroken },
		votes("approved"),
	)
	if !errors.Is(err, errBroken) {
		t.Errorf("Decide = %v, want the predicate's error", err)
	}
}

// scattered answers delegations in an order that a seed gives: it collects all calls that wait at
// once, as many as the run makes side by side, and answers them one by one.
type scattered struct {
	mu    sync.Mutex
	rnd   *rand.Rand
	calls map[string]int
	order []string
	turn  *sync.Cond
	wait  int
}

func newScattered(seed uint64) *scattered {
	s := &scattered{rnd: rand.New(rand.NewPCG(seed, 1)), calls: map[string]int{}}
	s.turn = sync.NewCond(&s.mu)
	return s
}

// delegate holds each call back for as many turns as the seed says, so that calls end in any order.
func (s *scattered) delegate(_ context.Context, r formats.Request) (formats.Return, error) {
	s.mu.Lock()
	s.wait++
	for range s.rnd.IntN(12) {
		s.mu.Unlock()
		runtime.Gosched() // behind the calls that wait too, however busy the machine is
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	s.wait--
	key := r.Step
	s.calls[key]++
	s.order = append(s.order, key)
	id := key[strings.LastIndexByte(key, '/')+1:]
	n := s.calls[key]
	switch {
	case id == "flaky" && n == 1:
		return failing(formats.CodeTransient, "busy"), nil
	case id == "sec" && n == 1, id == "item" && strings.Contains(key, "[1]") && n == 1:
		return no(id + " finds something"), nil
	case r.Agent == "judge":
		return yes(), nil
	}

	ret := made(
		formats.ArtifactImplementation,
		strings.NewReplacer("/", "_", "[", "", "]", "").Replace(key)+".go",
	)
	return ret, nil
}

// TestOrderOfArrival: whichever child is first, the result, the journal and the order of what was
// made are the same.
func TestOrderOfArrival(t *testing.T) {
	t.Parallel()
	src := flow("limits: {parallel: 3}\n", "", `- {id: code, delegate: worker}
- id: review
  parallel:
    sec: {delegate: judge, with: {n: $board.talk | length}}
    flaky: {delegate: worker, retry: {max: 2, on: [transient], backoff: 1ms}}
    build: {check: {project: [test]}}
    plain: {check: $steps.code | passed}
    off: {delegate: judge, when: 'false'}
    docs: {delegate: judge}
  board: talk
  on: {rejected: {rollback: [code]}}
- id: each
  foreach: '[1, 2, 3, 4, 5]'
  max_parallel: 3
  do:
    - {id: item, delegate: judge, on: {rejected: {redo: it}}}
    - {id: nested, parallel: {x: {delegate: worker}, y: {delegate: worker}}}
    - {id: last, delegate: worker, with: {seen: $run.artifacts | length}}
- return: {message: "${{ $steps.each.children | length }} ${{ $run.rollbacks }}", artifacts: $run.artifacts, fields: {each: $steps.each.artifacts, review: $steps.review.issues, board: $board.talk}}`)
	var want string
	orders := map[string]bool{}
	seeds := uint64(500)
	if !testkit.Deep() {
		seeds = 100
	}
	for seed := range seeds {
		w := newWorld(t)
		w.cfg.Clock = fixed{}
		s := newScattered(seed)
		w.cfg.Agents = delegator{s.delegate}
		ret := w.run(t.Context(), src, "")
		if describeReturn(ret) != "completed 0: 5 1" {
			t.Fatalf("seed %d: Run = %s %v", seed, describeReturn(ret), ret.Issues)
		}
		ret.Metadata.Duration = 0
		slices.SortStableFunc(w.entries, func(a, b formats.Entry) int {
			return strings.Compare(a.Step, b.Step)
		})
		got, err := json.MarshalIndent(map[string]any{"return": ret, "journal": w.entries}, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		orders[strings.Join(s.order, " ")] = true
		if want == "" {
			want = string(got)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Fatalf("seed %d (-first +now):\n%s", seed, diff)
		}
	}

	if len(orders) < 20 {
		t.Errorf("only %d orders of completion in 500 runs", len(orders))
	}
}

// TestParallelEnds: what a parallel step comes to, and what its rules see.
func TestParallelEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		merge string
		by    replies
		end   string
	}{
		"all approve": {"", nil, "completed 0: completed 3"},
		"one rejects": {"", replies{"b": {no("x")}}, "failed 5 REJECTED: b: rejected"},
		"a quorum": {
			"quorum(2)",
			replies{"b": {no("x")}},
			"completed 0: completed 3",
		},
		"any": {
			"any(approved)",
			replies{"a": {no("x")}, "b": {no("x")}},
			"completed 0: completed 3",
		},
		"nothing was said against": {
			"any(rejected) | not",
			replies{"b": {failing(formats.CodeTimeout, "slow")}},
			"completed 0: completed 3",
		},
		"one fails": {
			"",
			replies{"b": {failing(formats.CodeTimeout, "slow")}},
			"failed 124 TIMEOUT: b: slow",
		},
		"true takes everything": {"'true'", replies{
			"a": {no("x")},
			"b": {no("y")},
			"c": {no("z")},
		}, "completed 0: completed 3"},
		"a predicate that breaks": {"'.[0].status | error'", nil, "failed 1 VALIDATION_FAILED"},
		"one is blocked":          {"", replies{"b": {blocked("which?")}}, "blocked 75: b: which?"},
		"a rejection decides": {
			"",
			replies{"a": {blocked("which?")}, "b": {no("x")}},
			"failed 5 REJECTED: b: rejected",
		},
		"a failure decides": {
			"",
			replies{"a": {blocked("which?")}, "b": {failing(formats.CodeTimeout, "slow")}},
			"failed 124 TIMEOUT: b: slow",
		},
		"more is asked for": {
			"'any(.text == \"nobody says this\")'",
			nil,
			"failed 5 REJECTED: 3 of 3 passed, and 'merge' asks for more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.play(c.by)

			merge := ""
			if c.merge != "" {
				merge = ", merge: " + c.merge
			}

			src := flow(
				"", "",
				"- {id: p, parallel: {a: {delegate: judge}, b: {delegate: judge}, c: {delegate: "+
					"worker}}"+merge+
					"}\n- return: \"${{ $steps.p.status }} ${{ $steps.p.children | length }}\"",
			)

			for _, id := range []string{"a", "b"} {
				if c.by == nil {
					c.by = replies{}
				}
				if c.by[id] == nil {
					c.by[id] = []formats.Return{yes()}
				}
			}

			w.play(c.by)
			if got := describeReturn(w.run(t.Context(), src, "")); !strings.HasPrefix(got, c.end) {
				t.Errorf("Run = %s, want %s", got, c.end)
			}
		})
	}
}

// TestParallelStops: an error of the engine in one child ends the run when the others have ended;
// nothing is left running.
func TestParallelStops(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	var mu sync.Mutex
	var seen []string

	w.cfg.Agents = delegator{func(ctx context.Context, r formats.Request) (formats.Return, error) {
		mu.Lock()
		seen = append(seen, r.Step)
		mu.Unlock()
		if strings.HasSuffix(r.Step, "/b") {
			return formats.Return{}, errBroken
		}
		return yes(), nil
	}}

	src := flow(
		"", "",
		"- {id: p, parallel: {a: {delegate: judge}, b: {delegate: judge}, c: {delegate: "+
			"judge}}}\n- {id: q, delegate: worker}",
	)

	ret := w.run(ctx, src, "")
	if ret.Outcome() != formats.OutcomeFailed || len(seen) != 3 {
		t.Errorf("Run = %s after %v", describeReturn(ret), seen)
	}

	finished := 0
	for _, e := range w.entries {
		if e.Type == formats.EntryDelegationResult {
			finished++
		}
	}

	if finished != 3 {
		t.Errorf("%d results in the journal, want the error beside those of the two that ended",
			finished)
	}
	w = newWorld(t)
	w.cfg.Agents = delegator{func(ctx context.Context, r formats.Request) (formats.Return, error) {
		cancel()
		<-ctx.Done()
		return formats.Return{}, ctx.Err()
	}}
	ret = w.run(ctx, src, "")
	if ret.Outcome() != formats.OutcomeFailed || ret.Errors[0].Code != formats.CodeCancelled {
		t.Errorf("Run = %s", describeReturn(ret))
	}
}

func TestSideBySide(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	most := 0
	now := 0
	var mu sync.Mutex
	cond := sync.NewCond(&mu)

	w.cfg.Agents = delegator{func(_ context.Context, r formats.Request) (formats.Return, error) {
		mu.Lock()
		defer mu.Unlock()
		now++
		most = max(most, now)
		cond.Broadcast()
		for most < 3 {
			cond.Wait()
		}
		now--
		return ok(r.Agent), nil
	}}

	w.infos[compile.GitWorkflow] = formats.AgentInfo{Name: compile.GitWorkflow, Builtin: true}

	src := flow(
		"", "",
		"- {id: l, foreach: '[1, 2, 3, 4, 5, 6]', max_parallel: 3, delegate: worker}\n"+
			"- return: ${{ $steps.l.children | map(.item) | tostring }}",
	)

	if got := describeReturn(w.run(t.Context(), src, "")); got != "completed 0: [1,2,3,4,5,6]" {
		t.Errorf("Run = %s", got)
	}
	if most != 3 {
		t.Errorf("%d at a time, want 3", most)
	}

	for _, merge := range []string{"", "quorum(2)", "all(approved)"} {
		w := newWorld(t)
		p := w.play(replies{"worker": {ok("1"), no("x"), ok("3"), ok("4")}})

		line := ""
		if merge != "" {
			line = ", merge: " + merge
		}

		ret := w.run(
			t.Context(),
			flow("", "", "- {id: l, foreach: '[1, 2, 3, 4]', delegate: worker"+line+"}"),
			"",
		)

		want := map[string]string{
			"":              "2 failed",
			"quorum(2)":     "4 completed",
			"all(approved)": "4 failed",
		}[merge]

		if got := fmt.Sprintf("%d %s", len(p.steps), ret.Outcome()); got != want {
			t.Errorf("merge %q: %s, want %s", merge, got, want)
		}
	}
}

// TestNextBeginsInTurn: an element begins while a later one still works, unless what that one
// leaves counts for it. Nobody is asked while a worker changes what is shown.
func TestNextBeginsInTurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ limits, more, asks, want string }{
		"at once":        {"", "", "2", "early"},
		"after a person": {"", "", "0", "late"},
		"after tokens":   {"limits: {tokens: 1000}\n", "", "2", "late"},
		"after posts":    {"", "board: talk, ", "2", "late"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)

			third := make(chan struct{})
			var running, asked atomic.Int32

			w.cfg.Agents = delegator{
				func(_ context.Context, r formats.Request) (formats.Return, error) {
					running.Add(1)
					defer running.Add(-1)
					ret := ok("late")
					switch {
					case strings.Contains(r.Step, "[2]"):
						close(third)
					case strings.Contains(r.Step, "[1]"):
						wait := time.Minute
						if c.want == "late" {
							wait = 100 * time.Millisecond
						}
						select {
						case <-third:
							ret = ok("early")
						case <-time.After(wait):
						}
					}
					return ret, nil
				},
			}

			w.cfg.Approve = approver{approve: func(g formats.Gate) (formats.Decision, error) {
				asked.Add(1)
				if n := running.Load(); n > 0 {
					t.Errorf("%q was asked beside %d workers", g.Question, n)
				}
				return formats.Decision{Answer: g.Choices[0].Label}, nil
			}}

			src := flow(
				c.limits,
				"",
				"- id: l\n  foreach: '[0, 1, 2]'\n  max_parallel: 2\n  do:\n    - {id: w, "+c.more+
					"delegate: worker}\n"+
					"    - {gate: \"Is ${{ $item }} right?\", when: $item == "+c.asks+
					"}\n- return: ${{ $steps.l.children[1].steps.w.summary }}",
			)

			got := describeReturn(w.run(t.Context(), src, ""))
			if got != "completed 0: "+c.want || asked.Load() != 1 {
				t.Errorf("Run = %s with %d questions, want %s with 1", got, asked.Load(), c.want)
			}
		})
	}
}
