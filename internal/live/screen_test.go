package live_test

import (
	"fmt"
	"io"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"tercet/formats"
	"tercet/internal/live"
	"tercet/internal/trace"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// tty shows what a terminal would, of the few sequences that a Screen may use; anything else fails
// the test.
type tty struct {
	t      *testing.T
	mu     sync.Mutex
	rows   []string
	row    int
	raw    string
	writes int
	hidden bool
}

var sequence = regexp.MustCompile(`^\x1b\[(\?25[lh]|([0-9]+)A|J|[0-9;]*m)`)

func (v *tty) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.writes++
	v.raw += string(p)
	for text := string(p); text != ""; {
		if len(v.rows) == v.row {
			v.rows = append(v.rows, "")
		}
		if m := sequence.FindStringSubmatch(text); m != nil {
			text = text[len(m[0]):]
			switch {
			case m[1] == "J":
				v.rows = append(v.rows[:v.row], "")
			case strings.HasPrefix(m[1], "?"):
				v.hidden = m[1] == "?25l"
			case m[2] != "":
				n, _ := strconv.Atoi(m[2])
				v.row -= n
				if v.row < 0 {
					v.t.Errorf("the cursor is above what was drawn: %q", p)
					v.row = 0
				}
			}
			continue
		}
		c := text[0]
		switch {
		case c == '\n':
			v.row++
		case c == '\r':
		case c < ' ':
			v.t.Errorf("an unexpected sequence in %q", p)
		default:
			v.rows[v.row] += string(c)
		}
		text = text[1:]
	}

	if v.hidden {
		v.t.Errorf("a write leaves the cursor hidden: %q", p)
	}
	return len(p), nil
}

// written counts what was written since it was asked last.
func (v *tty) written() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := v.writes
	v.writes = 0
	return n
}

func (v *tty) shows(want string) {
	v.t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	if got := strings.TrimRight(strings.Join(v.rows, "\n"), "\n"); got != want {
		v.t.Errorf("the terminal shows\n%s\nwant\n%s", got, want)
	}
}

// after lets time pass.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func onScreen(
	t *testing.T,
	columns int,
	test func(s *live.Screen, v *tty, step func(place, outcome string)),
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		v := &tty{t: t}
		s := live.NewScreen(live.Config{
			Out:  v,
			Now:  time.Now,
			Size: func() (int, int) { return columns, 10 },
		})
		s.Begin(nil, true, nil)
		test(s, v, func(place, outcome string) {
			s.Emit(trace.Event{
				Time:    time.Now(),
				Run:     "r",
				Kind:    trace.Step,
				Step:    place,
				Name:    place,
				Outcome: outcome,
			})
		})
		s.End()
	})
}

// TestScreenDraws: the present part stands below what is done and is drawn anew in one write a
// turn; what others print comes above it and is not torn, also where it stops inside of a line.
func TestScreenDraws(t *testing.T) {
	t.Parallel()
	onScreen(t, 80, func(s *live.Screen, v *tty, step func(place, outcome string)) {
		out := s.Above(v)
		step("one", "")
		after(150 * time.Millisecond)
		v.shows("  / one  0.1s")
		step("one", "completed")
		step("two", "")
		after(100 * time.Millisecond)
		v.shows("  ok one\n  - two  0.1s")
		fmt.Fprintln(out, "tercet: a note")
		after(100 * time.Millisecond)
		v.shows("  ok one\ntercet: a note\n  \\ two  0.1s")
		io.WriteString(out, "half ")
		step("three", "")
		after(time.Second)
		v.shows("  ok one\ntercet: a note\nhalf ")
		fmt.Fprintln(out, "a line")
		step("three", "failed")
		after(100 * time.Millisecond)
		v.shows("  ok one\ntercet: a note\nhalf a line\n  x three: failed  1.0s\n  - two  1.2s")
		v.written()
		after(time.Second)
		if n := v.written(); n > 10 {
			t.Errorf("%d writes in a second, want at most 10", n)
		}
		step("two", "completed")
		v.written()
		after(time.Second)
		v.shows("  ok one\ntercet: a note\nhalf a line\n  x three: failed  1.0s\n  ok two  2.3s")
		if n := v.written(); n != 1 {
			t.Errorf("%d writes in a second in which nothing runs, want the one that takes it away",
				n)
		}
	})
}

// TestScreenPauses: nothing is drawn while a question is open, and the keyboard is given back for
// it.
func TestScreenPauses(t *testing.T) {
	t.Parallel()
	onScreen(t, 80, func(s *live.Screen, v *tty, step func(place, outcome string)) {
		var keys []bool
		s.CaptureKeys = func(ours bool) { keys = append(keys, ours) }
		step("one", "")
		after(150 * time.Millisecond)
		resume := s.Pause()
		fmt.Fprint(s.Above(v), "Go on? ")
		step("one", "completed")
		after(time.Second)
		v.shows("Go on? ")
		v.Write([]byte("y\n")) // the terminal echoes the answer
		resume(true)
		step("two", "")
		after(100 * time.Millisecond)
		v.shows("Go on? y\n  ok one\n  | two  0.1s")
		if len(keys) != 2 || keys[0] || !keys[1] {
			t.Errorf("the keyboard was ours: %v, want not while the question was open", keys)
		}
		s.CaptureKeys = nil
	})
}

// TestScreenIsNarrower: a terminal that has become narrower broke lines in two; none of them is
// left behind.
func TestScreenIsNarrower(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &tty{t: t}
		columns := atomic.Int64{}
		columns.Store(80)
		s := live.NewScreen(live.Config{
			Out:  v,
			Now:  time.Now,
			Size: func() (int, int) { return int(columns.Load()), 10 },
		})
		s.Begin(nil, false, nil)
		s.Emit(trace.Event{
			Time: time.Now(),
			Kind: trace.Step,
			Step: "a",
			Name: strings.Repeat("wide ", 12),
		})
		after(150 * time.Millisecond)
		v.mu.Lock()
		v.rows = []string{v.rows[0][:40], v.rows[0][40:]}
		v.row = 2
		columns.Store(40)
		v.mu.Unlock()
		after(100 * time.Millisecond)
		v.shows("  - wide wide wide wide wide w...  0.2s")
		s.End()
		v.shows("")
	})
}

// TestWithoutATerminal: a line a change, none of them drawn over; every half minute one says what
// goes on and for how long; with verbose, what agents do.
func TestWithoutATerminal(t *testing.T) {
	t.Parallel()
	onScreen(t, 0, func(s *live.Screen, v *tty, step func(place, outcome string)) {
		step("one", "")
		after(31 * time.Second)
		s.Emit(trace.Event{
			Time:  time.Now(),
			Run:   "r",
			Kind:  trace.Agent,
			Step:  "one",
			Name:  "planner",
			Attrs: attrs{"tool": "Edit", "did": "edit", "on": "plan.md"},
		})
		after(31 * time.Second)
		step("one", "completed")
		after(time.Minute)
		v.shows(
			"  > still running: one (30s)\n  | one: edits plan.md\n" +
				"  > still running: one (1m00s, planner, edits plan.md)\n  ok one  1m02s",
		)
		if strings.ContainsAny(v.raw, "\r\x1b") {
			t.Errorf("the log is drawn over: %q", v.raw)
		}
	})
}

// read gives events as they are read from a file.
func read(events []trace.Event) iter.Seq2[trace.Event, error] {
	return func(yield func(trace.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// TestPastIsNotTold: what another process did before counts and is not printed again.
func TestPastIsNotTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &tty{t: t}
		s := live.NewScreen(live.Config{
			Out:  v,
			Now:  time.Now,
			Size: func() (int, int) { return 80, 10 },
		})
		s.Begin(nil, false, read(implementing()))
		s.Emit(trace.Event{
			Time:    time.Now(),
			Run:     "r1",
			Kind:    trace.Run,
			Name:    "/implement",
			ToDepth: 1,
		})
		s.Emit(trace.Event{
			Time: time.Now(),
			Run:  "r1",
			Kind: trace.Step,
			Step: "phases[0]/code",
			Name: "Code",
		})
		after(150 * time.Millisecond)
		v.shows(
			"  > For each phase that is not completed\n    > phase 1/2 Accept ranges\n" +
				"      / Code  0.1s\n  0.0s  12.3k tokens, $0.42",
		)
		s.End()
	})
}

// TestScreenIsLent: while a program has the terminal nothing comes on it, also where the size of it
// is not known then; afterwards all of it does.
func TestScreenIsLent(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{80, 0} {
		onScreen(t, columns, func(s *live.Screen, v *tty, step func(place, outcome string)) {
			out := s.Above(v)
			step("one", "")
			resume := s.Pause()
			done := s.Lend()
			before := v.raw
			step("one", "completed")
			fmt.Fprintln(out, "tercet: a note")
			after(live.Heartbeat + time.Second)
			if v.raw != before {
				t.Errorf("%d columns: %q came meanwhile", columns, v.raw[len(before):])
			}
			done()
			resume(true)
			step("two", "completed")
			after(150 * time.Millisecond)
			if !strings.Contains(v.raw, "tercet: a note\n") ||
				!strings.Contains(v.raw, "ok one\n") || !strings.Contains(v.raw, "ok two\n") {
				t.Errorf("%d columns: the terminal got %q", columns, v.raw)
			}
		})
	}
}

// TestUntold: what a failed step said of itself is not told again, but for what was cut, and what
// another process told.
func TestUntold(t *testing.T) {
	t.Parallel()
	onScreen(t, 80, func(s *live.Screen, _ *tty, _ func(place, outcome string)) {
		told := formats.Issue{
			Level:       "error",
			Description: "the last page is lost",
			Files:       []string{"a.go"},
			Line:        3,
		}
		elsewhere := told
		long := formats.Issue{Level: "error", Description: strings.Repeat("long ", 100)}
		elsewhere.Line = 4
		passed := formats.Issue{Level: "error", Description: "only a word"}
		end := func(place, outcome string, issues ...formats.Issue) trace.Event {
			return trace.Event{
				Time:    time.Now(),
				Run:     "r",
				Kind:    trace.Step,
				Step:    place,
				Name:    place,
				Outcome: outcome,
				Attrs:   map[string]any{"issues": issues},
			}
		}
		s.Emit(end("one", "rejected", told, long))
		s.Emit(end("two", "completed", passed))
		all := []formats.Issue{told, elsewhere, long, passed}
		if diff := cmp.Diff(all[1:], s.UnshownIssues(all)); diff != "" {
			t.Errorf("what was not told (-want +got):\n%s", diff)
		}
		s.End()
		s.Begin(nil, true, read([]trace.Event{end("one", "rejected", told)}))
		if diff := cmp.Diff(all, s.UnshownIssues(all)); diff != "" {
			t.Errorf("another process told it (-want +got):\n%s", diff)
		}
	})
}
