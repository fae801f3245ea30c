package interp_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/commands/compile"
	"tercet/formats"
)

// TestErrorHandling: which steps run after which end, that they see what the workflow left, and
// that nothing they do changes how the command ends.
func TestErrorHandling(t *testing.T) {
	t.Parallel()
	steps := func(first string) []string {
		return []string{
			"A: id: a\n" + first,
			"!F: id: f\nalways: failed\ndelegate: second\nwith: {was: $steps.a.status}",
			"!C: always: completed\ndelegate: second\nwith: {was: ok}",
			"!X: id: x\nalways: any\nwhen: $steps.f.status == \"completed\" or $steps.a.status " +
				"== \"completed\"\nset: {y: 1}",
			"!Y: always: any\nwhen: $y == 1\ndelegate: second\nwith: {was: $steps.x.y}",
		}
	}
	for name, c := range map[string]struct {
		first  string
		ret    formats.Return
		second agent
		want   string
		calls  []string
		warns  string
	}{
		"completed": {
			"delegate: worker",
			ok("done"),
			nil,
			"completed 0: /x done",
			[]string{"c#1.1 {was:ok}", "y#1.1 {was:1}"},
			"",
		},
		"failed": {
			"delegate: worker",
			failing(formats.CodeIO, "full"),
			nil,
			"failed 74 IO: full",
			[]string{"f#1.1 {was:failed}", "y#1.1 {was:1}"},
			"",
		},
		"partial": {
			"delegate: worker",
			partial("half"),
			nil,
			"partial 3: half",
			[]string{"f#1.1 {was:partial}", "y#1.1 {was:1}"},
			"",
		},
		"blocked": {
			"delegate: worker",
			blocked("which?"),
			nil,
			"blocked 75: which?",
			[]string{"f#1.1 {was:blocked}", "y#1.1 {was:1}"},
			"",
		},
		"no step ran": {
			"when: 1 == 2\ndelegate: worker",
			ok("done"),
			nil,
			"completed 0: /x done",
			nil,
			"",
		},
		"a step of it fails": {
			"delegate: worker",
			ok("done"),
			always(failing(formats.CodeIO, "full")),
			"completed 0: /x done",
			[]string{"c#1.1 {was:ok}", "y#1.1 {was:1}"},
			"error handling: C: full; error handling: Y: full",
		},
		"a step of it is blocked": {
			"delegate: worker", ok("done"), always(blocked("which?")), "completed 0: /x done",
			[]string{"c#1.1 {was:ok}", "y#1.1 {was:1}"},
			"error handling: C: which?; error handling: Y: which?",
		},
		"a step of it breaks": {
			"delegate: worker",
			ok("done"),
			func(context.Context, formats.Request) (formats.Return, error) {
				return formats.Return{}, errBroken
			},
			"completed 0: /x done",
			[]string{"c#1.1 {was:ok}", "y#1.1 {was:1}"},
			"error handling: x.md:26:1: step error_handling/c: broken; error handling: " +
				"x.md:43:1: step error_handling/y: broken",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.agents["worker"] = always(c.ret)
			w.agents["second"] = c.second

			ret := w.run(t.Context(), file("", "", steps(c.first)...), "")
			if got := describeReturn(ret); got != c.want {
				t.Errorf("Run = %s, want %s", got, c.want)
			}

			var calls []string
			for _, call := range w.calls() {
				if rest, found := strings.CutPrefix(call, "second error_handling/"); found {
					calls = append(calls, rest)
				}
			}

			if diff := cmp.Diff(c.calls, calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}

			if got := strings.Join(ret.Warnings, "; "); got != c.warns {
				t.Errorf("warnings = %q, want %q", got, c.warns)
			}

			if len(w.gates) > 1 || len(w.gates) == 1 && w.gates[0].Step != "a#1" {
				t.Errorf("gates = %v, want none after the workflow", w.gates)
			}
		})
	}
}

// hangs waits for its context.
func hangs(ctx context.Context, _ formats.Request) (formats.Return, error) {
	<-ctx.Done()
	return failing(formats.CodeCancelled, "cancelled"), nil
}

// stubborn goes on for a minute, whatever happens, but for the end of everything.
func stubborn(ctx context.Context, r formats.Request) (formats.Return, error) {
	t := time.NewTimer(time.Minute)
	defer t.Stop()
	select {
	case <-t.C:
		return ok("at last"), nil
	case <-ctx.Done():
		return formats.Return{}, ctx.Err()
	}
}

// TestCancel: a signal ends the work, Error Handling runs once under a context of its own, the task
// goes back, and all of it takes less than five seconds. A second signal cuts it short.
func TestCancel(t *testing.T) {
	t.Parallel()
	src := file(
		strings.Replace(
			during,
			"during: planning",
			"during: {status: implementing, failed: partial}",
			1,
		),
		"",
		"A: id: a\ndelegate: worker",
		"B: delegate: second",
		"!T: always: failed\ndelegate: judge",
		"!U: always: any\ndelegate: second",
	)
	for name, c := range map[string]struct {
		judge  agent
		second time.Duration // when the second signal comes, 0 for never
		took   time.Duration // after the first signal
		status string
		calls  string
		warns  string
	}{
		"quick": {
			always(ok("tidy")),
			0,
			0,
			"partial",
			"during a error_handling/t error_handling/u during/back",
			"",
		},
		"slow": {
			stubborn,
			0,
			4 * time.Second,
			"partial",
			"during a error_handling/t during/back",
			"error handling was cut short in 'T'; error handling was cut short before 'U'",
		},
		"a second signal": {
			stubborn, time.Second, time.Second, "implementing leased", "during a error_handling/t",
			"error handling was cut short in 'T'; error handling was cut short before 'U'; task " +
				"7 keeps its status until the next command on it takes it over",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.agents["worker"] = hangs
				w.agents["judge"] = c.judge

				ctx, cancel := context.WithCancelCause(t.Context())
				abort, hard := context.WithCancel(context.Background())
				defer hard()
				w.cfg.Abort = abort

				begin := time.Now()
				time.AfterFunc(time.Minute, func() {
					begin = time.Now()
					cancel(&formats.Failure{
						Code:    formats.CodeCancelled,
						Message: "interrupted",
						Help:    "run it again",
					})
					if c.second > 0 {
						time.AfterFunc(c.second, hard)
					}
				})

				ret := w.run(ctx, src, "7")
				got := describeReturn(ret)
				if got != "failed 130 CANCELLED: interrupted" ||
					ret.Errors[0].Recommendation != "run it again" {
					t.Errorf("Run = %s", got)
				}

				if took := time.Since(begin); took != c.took {
					t.Errorf("it took %s after the signal, want %s", took, c.took)
				}
				if got := w.status(); got != c.status {
					t.Errorf("task = %s, want %s", got, c.status)
				}

				var steps []string
				for _, r := range w.requests {
					steps = append(steps, r.Step)
				}

				if got := strings.Join(steps, " "); got != c.calls {
					t.Errorf("calls = %s, want %s", got, c.calls)
				}
				if got := strings.Join(ret.Warnings, "; "); got != c.warns {
					t.Errorf("warnings = %q, want %q", got, c.warns)
				}
				if len(w.problems) > 0 {
					t.Errorf("problems = %v: what a person stops is none", w.problems)
				}
			})
		})
	}
}

// TestInterrupt: a signal after a finished step suspends the run: Error Handling does not run, the
// task stays the run's own with a suspended lease, and a question stays open.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	src := file(
		during, "", "A: id: a\ndelegate: worker", "B: id: b\ndelegate: second",
		"C: id: c\ngate: Well?\nchoices: {yes: next, no: fail}", "!T: always: any\ndelegate: judge",
	)
	signal := formats.Interrupted("interrupted")
	for name, tt := range map[string]struct {
		second agent
		answer error
		calls  string
		waits  formats.Suspended
	}{
		"at work": {
			second: hangs,
			calls:  "during a b lease",
			waits: formats.Suspended{Postponed: formats.Postponed{
				Why:  "interrupted",
				Code: formats.CodeCancelled,
			}},
		},
		"a worker that fails at the signal": {
			second: func(ctx context.Context, _ formats.Request) (formats.Return, error) {
				<-ctx.Done()
				return partial("half of it"), nil
			},
			calls: "during a b lease",
			waits: formats.Suspended{Postponed: formats.Postponed{
				Why:  "interrupted",
				Code: formats.CodeCancelled,
			}},
		},
		"at a question": {
			answer: signal,
			calls:  "during a b lease",
			waits: formats.Suspended{
				Question:  "Well?",
				Step:      "c#1",
				Postponed: formats.Postponed{Why: "interrupted", Code: formats.CodeCancelled},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.cfg.Journal = appender{
					append: w.append,
					begun: func() bool {
						return true
					},
				}

				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if tt.second != nil {
					w.agents["second"] = tt.second
					time.AfterFunc(time.Minute, func() { cancel(signal) })
				}

				w.answer = func(formats.Gate) (formats.Decision, error) {
					return formats.Decision{}, tt.answer
				}

				ret := w.run(ctx, src, "7")
				got := describeReturn(ret)
				if got != "suspended 130 CANCELLED: interrupted" ||
					ret.Status != formats.StatusSuspended ||
					ret.Class != formats.ClassCancelled || ret.BlockedReason != "interrupted" ||
					ret.Resume == nil ||
					ret.Resume.Gate != tt.waits.Question {
					t.Errorf("Run = %s: %+v", got, ret)
				}

				if got := w.status(); got != "planning suspended" {
					t.Errorf("task = %s, want it planning, with a suspended lease", got)
				}

				var steps []string
				for _, r := range w.requests {
					steps = append(steps, r.Step)
				}

				got = strings.Join(steps, " ")
				if got != tt.calls || w.requests[len(steps)-1].Input["suspended"] != true {
					t.Errorf("calls = %s, want %s with a suspended lease", got, tt.calls)
				}
				last := w.entries[len(w.entries)-1]
				if waits, ok := last.Data.(*formats.Suspended); !ok || *waits != tt.waits {
					t.Errorf("the journal ends with %s %+v, want suspended %+v",
						last.Type, last.Data, tt.waits)
				}
			})
		})
	}
}

// TestCancelDuringErrorHandling: a first signal that comes after the workflow shortens what is
// left.
func TestCancelDuringErrorHandling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.agents["judge"] = stubborn

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Second, cancel)

		begin := time.Now()

		ret := w.run(
			ctx,
			file(during, "", "A: delegate: worker", "!T: always: any\ndelegate: judge"),
			"7",
		)

		if took := time.Since(begin); took != 14*time.Second || w.status() != "not_started" {
			t.Errorf("it took %s, task %s; want 14s and the task back", took, w.status())
		}
		if got := describeReturn(ret); got != "completed 0: /x done" {
			t.Errorf("Run = %s: what was done is done", got)
		}
	})
}

// TestCancelBeforeTheRun: a second signal that came before the end leaves nothing to wait for.
func TestCancelBeforeTheRun(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	abort, hard := context.WithCancel(t.Context())
	hard()
	w.cfg.Abort = abort

	ctx, cancel := context.WithCancel(t.Context())

	w.agents["worker"] = func(ctx context.Context, r formats.Request) (formats.Return, error) {
		cancel()
		return hangs(ctx, r)
	}

	ret := w.run(
		ctx,
		file(during, "", "A: delegate: worker", "!T: always: any\ndelegate: judge"),
		"7",
	)

	if got := describeReturn(ret); got != "failed 130 CANCELLED: cancelled" || len(w.calls()) != 2 {
		t.Errorf("Run = %s after %q", got, w.calls())
	}
}

// TestCancelKeepsWhatWasDone: a signal that comes while a status is written does not undo it, and
// no document of it is taken away.
func TestCancelKeepsWhatWasDone(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())

	w.agents["maker"] = always(made(formats.ArtifactPlan, "p.md"))
	w.agents[compile.StatusSync] = func(
		ctx context.Context,
		r formats.Request,
	) (formats.Return, error) {
		ret, err := w.sync(ctx, r)
		if r.Step == "b" {
			cancel()
		}
		return ret, err
	}

	ret := w.run(
		ctx,
		file(during, "", "A: delegate: maker", "B: status: planned", "C: delegate: worker"),
		"7",
	)

	got := describeReturn(ret)
	if got != "failed 130 CANCELLED: cancelled" || w.status() != "planned +p.md" ||
		len(w.discarded) > 0 {
		t.Errorf("Run = %s, task %s, discarded %v", got, w.status(), w.discarded)
	}

	for _, want := range []string{
		"journal delegation_result b#1", "journal state_committed b#1", "journal stopped ",
		"journal run_finished ",
	} {
		if !slices.Contains(w.log, want) {
			t.Errorf("no %q in\n%s", want, strings.Join(w.log, "\n"))
		}
	}
}

// TestDeadlines: the run's own, and that of whoever started it.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		front  string
		parent time.Duration
		config time.Duration
		want   string
		took   time.Duration
	}{
		"the default": {
			"", 0, 0,
			"failed 124 TIMEOUT: the run took longer than 2h0m0s",
			2 * time.Hour,
		},
		"the file's": {
			"limits: {duration: 3h}\n",
			0,
			0,
			"failed 124 TIMEOUT: the run took longer than 3h0m0s",
			3 * time.Hour,
		},
		"the configuration": {
			"limits: {duration: 3h}\n", 0, time.Hour,
			"failed 124 TIMEOUT: the run took longer than 1h0m0s", time.Hour,
		},
		"no more than that": {
			"limits: {duration: 30m}\n",
			0,
			time.Hour,
			"failed 124 TIMEOUT: the run took longer than 30m0s",
			30 * time.Minute,
		},
		"the caller's": {
			"", time.Minute, 0, "failed 124 TIMEOUT: the time of the run was over", time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.agents["worker"] = hangs
				w.cfg.Limits.Duration = c.config

				ctx := t.Context()

				if c.parent > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.parent)
					defer cancel()
				}

				begin := time.Now()
				ret := w.run(ctx, file(during+c.front, "", "A: delegate: worker"), "7")

				got := describeReturn(ret)
				if got != c.want || time.Since(begin) != c.took ||
					ret.Errors[0].Recommendation == "" {
					t.Errorf("Run = %s after %s, want %s", got, time.Since(begin), c.want)
				}

				if w.status() != "not_started" {
					t.Errorf("task = %s", w.status())
				}
			})
		})
	}
}

// TestLimits: steps, fifty more for each loop element that is entered, and the elements of a loop.
func TestLimits(t *testing.T) {
	t.Parallel()

	long := append(
		[]string{"A: foreach: '[1]'"},
		slices.Repeat([]string{">B: delegate: worker"}, 51)...,
	)

	phases := []string{
		"A: foreach: '[range(300)]'", ">B: delegate: worker", ">C: set: {n: $item}",
		">D: delegate: second",
	}

	for name, c := range map[string]struct {
		limits formats.Limits
		steps  []string
		want   string
		calls  int
	}{
		"steps": {
			formats.Limits{Steps: 2},
			[]string{"A: delegate: worker", "B: delegate: worker", "C: delegate: worker"},
			"failed 7 LIMIT: x.md:20:1: step c: the run reached its limit of 2 steps",
			2,
		},
		"a skipped step is none": {
			formats.Limits{Steps: 2},
			[]string{
				"A: delegate: worker",
				"B: when: 1 == 2\ndelegate: worker",
				"C: delegate: worker",
			},
			"completed 0: /x done",
			2,
		},
		"elements allow more": {
			formats.Limits{Steps: 1},
			[]string{"A: foreach: '[range(5)]'\ndelegate: worker"},
			"completed 0: /x done",
			5,
		},
		"so do rounds": {
			formats.Limits{Steps: 1},
			[]string{"A: until: $index == 4\nmax: 5", ">B: delegate: worker"},
			"completed 0: /x done",
			5,
		},
		"fifty of them": {
			formats.Limits{Steps: 1},
			long[:51],
			"completed 0: /x done",
			50,
		},
		"but no more": {
			formats.Limits{Steps: 1},
			long,
			"failed 7 LIMIT: x.md:314:1: step a[0]/b_51: the run reached its limit of 51 steps",
			50,
		},
		"300 phases of three steps": {formats.Limits{}, phases, "completed 0: /x done", 600},
		"elements of a loop": {
			formats.Limits{Elements: 4},
			[]string{"A: foreach: '[range(5)]'\ndelegate: worker"},
			"failed 7 LIMIT: x.md:8:1: step a: the run reached its limit of 4 elements of one loop",
			0,
		},
		"a person who never has enough": {
			formats.Limits{Steps: 9},
			[]string{"A: id: a\ndelegate: worker", "B: gate: Well?\nchoices: {again: {redo: [a]}}"},
			"failed 7 LIMIT: x.md:15:1: step b: the run reached its limit of 9 steps",
			5,
		},
		"the configuration cannot raise": {
			formats.Limits{Elements: 5000},
			[]string{"A: foreach: '[range(1001)]'\ndelegate: worker"},
			"failed 7 LIMIT: x.md:8:1: step a: the run reached its limit of 1000 elements of " +
				"one loop",
			0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.cfg.Limits = c.limits

			w.answer = choose("again")

			ret := w.run(t.Context(), file("", "", c.steps...), "")
			if got := describeReturn(ret); got != c.want || len(w.calls()) != c.calls {
				t.Errorf("Run = %s after %d calls, want %s after %d",
					got, len(w.calls()), c.want, c.calls)
			}
		})
	}
}
