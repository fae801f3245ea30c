package interp_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/internal/trace"
)

// later is an approver that answers after a while, or gives up when nobody waits any more.
type later struct {
	after  time.Duration
	answer string
	log    *[]formats.Gate
}

func (later) Remember(string, string, formats.Decision) {}

func (l later) Approve(ctx context.Context, g formats.Gate) (formats.Decision, error) {
	*l.log = append(*l.log, g)
	select {
	case <-time.After(l.after):
		return formats.Decision{
			Answer: l.answer,
			By:     "person",
			Person: true,
		}, nil
	case <-ctx.Done():
		return formats.Decision{}, ctx.Err()
	}
}

// TestGateTimeout: a gate with a timeout takes its choice when nobody has answered in time, not
// earlier; the answer stands in the journal and among the events, and is shown as nobody's.
func TestGateTimeout(t *testing.T) {
	t.Parallel()

	src := file(
		"", "",
		"A: id: a\ndelegate: worker",
		"B: id: b\ngate: Go on?\nchoices: {yes: next, redo: {redo: [a], max: 1}, no: fail}\n"+
			"timeout: {after: 10m, choose: CHOICE}",
		"C: return: \"${{ $steps.b.choice }} by ${{ $steps.b.by }}\"",
	)

	for name, c := range map[string]struct {
		choose string
		person time.Duration // when a person answers yes
		took   time.Duration
		want   string
		calls  int
	}{
		"nobody answers, go on": {
			"yes",
			time.Hour,
			10 * time.Minute,
			"completed 0: yes by timeout",
			1,
		},
		"nobody answers, refuse": {
			"no",
			time.Hour,
			10 * time.Minute,
			"failed 5 REJECTED: 'no' was the answer to: Go on?",
			1,
		},
		"nobody answers, then somebody": {
			"redo", 0,
			10 * time.Minute,
			"completed 0: yes by person",
			2,
		},
		"in time": {
			"no",
			9 * time.Minute,
			9 * time.Minute,
			"completed 0: yes by person",
			1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				after := c.person
				if c.calls == 2 {
					after = time.Hour
				}

				one := later{after, "yes", &w.gates}
				w.cfg.Approve = one
				if c.calls == 2 {
					w.cfg.Approve = second{one, later{0, "yes", &w.gates}, &w.gates}
				}

				begin := time.Now()
				ret := w.run(t.Context(), replaceChoice(src, c.choose), "")

				if got := describeReturn(ret); got != c.want {
					t.Errorf("Run = %s, want %s", got, c.want)
				}

				if took := time.Since(begin); took != c.took {
					t.Errorf("it took %s, want %s", took, c.took)
				}

				if len(w.calls()) != c.calls {
					t.Errorf("calls = %q, want %d", w.calls(), c.calls)
				}

				at := slices.IndexFunc(w.entries, func(e formats.Entry) bool {
					return e.Type == formats.EntryGateDecided
				})

				if at < 0 {
					t.Fatalf("no answer in the journal: %v", w.log)
				}

				by := "timeout"
				answer := c.choose
				if c.person > 0 && c.person < 10*time.Minute {
					by = "person"
					answer = "yes"
				}

				want := map[string]any{
					"question": "Go on?",
					"choice":   answer,
					"by":       by,
					"person":   by == "person",
					"digest":   w.gates[0].Digest,
					"note":     "",
					"at":       begin.Add(min(c.took, 10*time.Minute)).UTC(),
				}

				diff := cmp.Diff(want, w.entries[at].Data)
				if diff != "" || len(w.gates[0].Digest) != 64 {
					t.Errorf("journal (-want +got):\n%s", diff)
				}

				if !slices.ContainsFunc(w.events, func(e trace.Event) bool {
					return e.Kind == trace.Gate && e.Outcome == answer &&
						e.Message == "answered by "+by && e.Step == "b#1"
				}) {
					t.Errorf("events = %v, want the answer of %s", w.events, by)
				}
			})
		})
	}
}

// second answers the first gate with one approver, and those behind it with another.
type second struct {
	first, rest later
	seen        *[]formats.Gate
}

func (second) Remember(string, string, formats.Decision) {}

func (s second) Approve(ctx context.Context, g formats.Gate) (formats.Decision, error) {
	if len(*s.seen) == 0 {
		return s.first.Approve(ctx, g)
	}
	return s.rest.Approve(ctx, g)
}

// TestGateTimeoutIsNoEndOfTheRun: the end of the run while a gate waits is the end of the run, not
// an answer.
func TestGateTimeoutIsNoEndOfTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.cfg.Approve = later{time.Hour, "yes", &w.gates}

		src := replaceChoice(
			file(
				"limits: {duration: 5m}\n",
				"",
				"A: gate: Go on?\nchoices: {yes: next, no: fail}\n"+
					"timeout: {after: 10m, choose: CHOICE}",
			),
			"yes",
		)

		got := describeReturn(w.run(t.Context(), src, ""))
		if got != "failed 124 TIMEOUT: the run took longer than 5m0s" {
			t.Errorf("Run = %s", got)
		}

		if slices.ContainsFunc(w.entries, func(e formats.Entry) bool {
			return e.Type == formats.EntryGateDecided
		}) {
			t.Error("the journal has an answer")
		}
	})
}

func replaceChoice(src, choice string) string {
	return strings.ReplaceAll(src, "CHOICE", choice)
}

// TestWait: a wait of up to a minute is waited for; a longer one suspends the run until its time,
// and a process that takes it up waits for the rest alone.
func TestWait(t *testing.T) {
	t.Parallel()
	src := func(d string) string {
		return file(
			during, "",
			"A: id: a\ndelegate: worker",
			"B: id: b\nwait: "+d,
			"C: id: c\ndelegate: second",
		)
	}
	for name, c := range map[string]struct {
		wait  string
		later []time.Duration // when processes take it up, after the first
		want  []string        // what each of them comes to
		took  time.Duration   // that the last one waits
	}{
		"short":    {"40s", nil, []string{"completed 0: /x done"}, 40 * time.Second},
		"a minute": {"60s", nil, []string{"completed 0: /x done"}, time.Minute},
		"long": {
			"2h",
			[]time.Duration{3 * time.Hour},
			[]string{"suspended 75", "completed 0: /x done"},
			0,
		},
		"the rest": {
			"2h",
			[]time.Duration{time.Hour, 2*time.Hour - 20*time.Second},
			[]string{"suspended 75", "suspended 75", "completed 0: /x done"},
			20 * time.Second,
		},
		"long too long": {
			"2h",
			[]time.Duration{10 * time.Minute},
			[]string{"suspended 75", "suspended 75"},
			0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := newMachine(t)
				prog := newWorld(t).program(src(c.wait))
				m.clock = clock{}
				begin := time.Now()
				var took time.Duration
				for i, want := range c.want {
					if i > 0 {
						time.Sleep(c.later[i-1] - time.Since(begin))
					}
					from := time.Now()
					_, ret := m.play(prog, func(*world) {}, 0, false)
					took = time.Since(from)
					if got := describeReturn(ret); !strings.HasPrefix(got, want) {
						t.Fatalf("process %d: %s, want %s", i, got, want)
					}
					if strings.HasPrefix(want, "suspended") &&
						!ret.Resume.Until.Equal(begin.Add(2*time.Hour)) {
						t.Errorf("process %d: until %s, want two hours after %s",
							i, ret.Resume.Until, begin)
					}
				}

				if took != c.took {
					t.Errorf("the last process waited %s, want %s", took, c.took)
				}
				if m.starts["a#1.1 worker"] != 1 ||
					strings.HasPrefix(c.want[len(c.want)-1], "completed") &&
						m.starts["c#1.1 second"] != 1 {
					t.Errorf("starts = %v, want one each", m.starts)
				}
			})
		})
	}
}

// TestWaitInsideSubagent: the wait of a subagent's step suspends the run around it, and what its
// other steps did is not done again.
func TestWaitInsideSubagent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)

		m.clock = clock{}

		prog := newWorld(t).program(file(
			during, "",
			"A: id: a\ndelegate: flow",
			"B: id: b\ndelegate: second",
		))

		play := func(w *world) {
			w.inner = w.program(file(
				"", "",
				"A: id: x\ndelegate: worker",
				"B: wait: 5m",
				"C: return: \"${{ $steps.x.summary }}\"",
			))
		}

		_, ret := m.play(prog, play, 0, false)
		if got := describeReturn(ret); !strings.HasPrefix(got, "suspended 75") || ret.Resume.Until.IsZero() {
			t.Fatalf("first process: %s, %+v", got, ret.Resume)
		}

		time.Sleep(5 * time.Minute)

		_, ret = m.play(prog, play, 0, false)
		if got := describeReturn(ret); got != "completed 0: /x done" || m.starts["a#1.1/x#1.1 worker"] != 1 {
			t.Errorf("second process: %s, starts %v", got, m.starts)
		}
	})
}
