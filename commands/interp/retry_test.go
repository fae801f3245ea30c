package interp_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
)

// TestRetry: which failures are tried again, how often, and after what time; the fallback comes
// once, after the retries.
func TestRetry(t *testing.T) {
	t.Parallel()
	transient := failing(formats.CodeTransient, "busy")
	slow := failing(formats.CodeTimeout, "slow")
	invalid := failing(formats.CodeInvalidReturn, "no json")
	denied := failing(formats.CodeDenied, "denied")
	quality := failing(formats.CodeUnknown, "bad")
	cancelled := failing(formats.CodeCancelled, "cancelled")
	for name, c := range map[string]struct {
		keys   string
		limit  int
		rets   []formats.Return
		second formats.Return
		want   string
		waits  []time.Duration // before each attempt after the first
	}{
		"none": {
			keys: "retry: 0",
			rets: []formats.Return{transient},
			want: "failed 1 TRANSIENT: busy",
		},
		"three attempts by default": {
			rets:  []formats.Return{transient},
			want:  "failed 1 TRANSIENT: busy",
			waits: []time.Duration{2 * time.Second, 4 * time.Second},
		},
		"a tool that comes back": {
			rets: []formats.Return{
				recoverable(formats.CodeToolUnavailable),
				recoverable(formats.CodeTimeout),
				ok("done"),
			},
			want:  "completed 0: done 3",
			waits: []time.Duration{2 * time.Second, 4 * time.Second},
		},
		"also where on says so": {
			keys:  "retry: {max: 1, on: [transient]}",
			rets:  []formats.Return{recoverable(formats.CodeTimeout), ok("done")},
			want:  "completed 0: done 2",
			waits: []time.Duration{2 * time.Second},
		},
		"not where on does not": {
			keys: "retry: {max: 1, on: [invalid_return]}",
			rets: []formats.Return{recoverable(formats.CodeTimeout)},
			want: "failed 124 TIMEOUT: again",
		},
		"not a timeout of the engine": {
			rets: []formats.Return{slow},
			want: "failed 124 TIMEOUT: slow",
		},
		"a build that is mended": {
			rets:  []formats.Return{recoverable(formats.CodeBuildError), ok("done")},
			want:  "completed 0: done 2",
			waits: []time.Duration{2 * time.Second},
		},
		"a build that stays broken": {
			rets: []formats.Return{failing(formats.CodeBuildError, "broken")},
			want: "failed 1 BUILD_ERROR: broken",
		},
		"once": {
			keys:  "retry: 1",
			rets:  []formats.Return{transient, ok("done")},
			want:  "completed 0: done 2",
			waits: []time.Duration{2 * time.Second},
		},
		"backoff grows": {
			keys:  "retry: 3",
			rets:  []formats.Return{transient, slow, invalid, ok("done")},
			want:  "completed 0: done 4",
			waits: []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second},
		},
		"backoff is capped": {
			keys:  "retry: {max: 3, backoff: 10s, factor: 10, cap: 30s}",
			rets:  []formats.Return{slow, slow, slow, ok("done")},
			want:  "completed 0: done 4",
			waits: []time.Duration{10 * time.Second, 30 * time.Second, 30 * time.Second},
		},
		"used up keeps its code": {
			keys:  "retry: 2",
			rets:  []formats.Return{slow},
			want:  "failed 124 TIMEOUT: slow",
			waits: []time.Duration{2 * time.Second, 4 * time.Second},
		},
		"only the classes it names": {
			keys:  "retry: {max: 2, on: [timeout]}",
			rets:  []formats.Return{slow, transient},
			want:  "failed 1 TRANSIENT: busy",
			waits: []time.Duration{2 * time.Second},
		},
		"not what is no such failure": {
			keys: "retry: 2",
			rets: []formats.Return{denied},
			want: "failed 77 DENIED: denied",
		},
		"not bad work": {
			keys: "retry: 2",
			rets: []formats.Return{quality},
			want: "failed 1 UNKNOWN_ERROR: bad",
		},
		"not a cancel": {
			keys: "retry: 2\nfallback: second",
			rets: []formats.Return{cancelled},
			want: "failed 130 CANCELLED: cancelled",
		},
		"not a rejection": {
			keys: "retry: 2\nfallback: second",
			rets: []formats.Return{verdict(formats.VerdictRejected)},
			want: "failed 5 REJECTED: rejected",
		},
		"the configuration may lower": {
			keys:  "retry: 3",
			limit: 1,
			rets:  []formats.Return{transient},
			want:  "failed 1 TRANSIENT: busy",
			waits: []time.Duration{2 * time.Second},
		},
		"fallback": {
			keys:   "fallback: second",
			rets:   []formats.Return{quality},
			second: ok("instead"),
			want:   "completed 0: instead 2",
			waits:  []time.Duration{0},
		},
		"fallback after retries": {
			keys:   "retry: 1\nfallback: second",
			rets:   []formats.Return{slow},
			second: ok("instead"),
			want:   "completed 0: instead 3",
			waits:  []time.Duration{2 * time.Second, 0},
		},
		"fallback once": {
			keys:   "fallback: second",
			rets:   []formats.Return{quality},
			second: transient,
			want:   "failed 1 TRANSIENT: busy",
			waits:  []time.Duration{0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.cfg.Limits.Retries = c.limit
				var times []time.Time
				stamp := func(a agent) agent {
					return func(ctx context.Context, r formats.Request) (formats.Return, error) {
						times = append(times, time.Now())
						return a(ctx, r)
					}
				}
				w.agents["worker"] = stamp(in(c.rets...))
				w.agents["second"] = stamp(always(c.second))
				ret := w.run(
					t.Context(),
					file(
						"", "",
						"A: id: a\ndelegate: worker\n"+c.keys,
						"B: return: ${{ $steps.a.summary }} ${{ $steps.a.attempts }}",
					),
					"",
				)
				if got := describeReturn(ret); got != c.want {
					t.Errorf("Run = %s, want %s", got, c.want)
				}
				var waits []time.Duration
				for i := 1; i < len(times); i++ {
					waits = append(waits, times[i].Sub(times[i-1]))
				}

				if diff := cmp.Diff(c.waits, waits); diff != "" {
					t.Errorf("waits (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestRetryIsCancelled: a signal ends the waiting.
func TestRetryIsCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.agents["worker"] = always(failing(formats.CodeTransient, "busy"))

		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() {
			cancel(&formats.Failure{Code: formats.CodeCancelled, Message: "interrupted"})
		})

		begin := time.Now()

		ret := w.run(ctx, file("", "", "A: delegate: worker\nretry: {max: 1, backoff: 1m}"), "")
		got := describeReturn(ret)
		if got != "failed 130 CANCELLED: interrupted" || time.Since(begin) > time.Second {
			t.Errorf("Run = %s after %s", got, time.Since(begin))
		}
	})
}

// TestClockFails: an error of the clock is one of the run.
func TestClockFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.Clock = stuck{}
	w.agents["worker"] = always(failing(formats.CodeTransient, "busy"))
	ret := w.run(t.Context(), file("", "", "A: delegate: worker\nretry: 1"), "")
	if ret.Status != formats.StatusFailed || len(w.calls()) != 1 {
		t.Errorf("Run = %s after %q, want a failure", describeReturn(ret), w.calls())
	}
}

// recoverable is what a worker returns that expects a further attempt to succeed.
func recoverable(code formats.Code) formats.Return {
	ret := failing(code, "again")
	ret.Errors[0].Recoverable = true
	return ret
}

// TestRetryTellsWhatFailed: a build error goes back to the worker as feedback, and only to that
// worker.
func TestRetryTellsWhatFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.agents["worker"] = in(
			recoverable(formats.CodeTransient),
			recoverable(formats.CodeBuildError),
		)
		w.agents["second"] = always(ok("done"))
		w.run(
			t.Context(),
			file("", "", "A: id: a\ndelegate: worker\nfallback: second", "B: delegate: second"),
			"",
		)
		var got []string
		for _, r := range w.requests {
			said := "nothing"
			if fb := r.Feedback; fb != nil {
				said = fmt.Sprint(fb.From, " ", fb.Issues[0].Description, " ", fb.Last.Status)
			}
			got = append(got, r.Agent+": "+said)
		}

		want := []string{
			"worker: nothing", "worker: nothing", "worker: a again failed", "second: nothing",
			"second: nothing",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("feedback (-want +got):\n%s", diff)
		}
	})
}

type stuck struct{ clock }

func (stuck) Sleep(context.Context, time.Duration) error {
	return errors.New("no time")
}

// TestTimeouts: the step's own, else the loop's, else the subagent's, else half an hour.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	info := w.infos["second"]
	info.Timeout = formats.Timeout{Total: time.Minute, Idle: time.Second}
	w.infos["second"] = info
	w.run(
		t.Context(),
		file(
			"", "",
			"A: delegate: worker",
			"B: delegate: second",
			"C: delegate: second\ntimeout: {total: 5m, idle: 2s}",
		),
		"",
	)
	var got []formats.Timeout
	for _, r := range w.requests {
		got = append(got, r.Timeout)
	}

	want := []formats.Timeout{
		{Total: 30 * time.Minute},
		{Total: time.Minute, Idle: time.Second},
		{Total: 5 * time.Minute, Idle: 2 * time.Second},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("timeouts (-want +got):\n%s", diff)
	}
}
