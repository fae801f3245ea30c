package control_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tercet/formats"
	"tercet/internal/control"
	"tercet/internal/journal"
)

// wall is the time, which stands still in a bubble but for those who sleep.
type wall struct{}

func (wall) Now() time.Time {
	return time.Now()
}

func (wall) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// locks are those of a project, for all its desks.
type locks struct {
	mu   sync.Mutex
	held map[string]bool
}

func (l *locks) claim(root *os.Root, file string) (io.Closer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[file] {
		return nil, formats.Fail(formats.CodeLocked, "", "%s is held", file)
	}
	l.held[file] = true
	for _, name := range []string{file, file + ".info"} {
		if err := root.WriteFile(name, nil, 0o600); err != nil {
			return nil, err
		}
	}
	return unlock(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.held, file)
	}), nil
}

type unlock func()

func (u unlock) Close() error {
	u()
	return nil
}

// project is a folder with runs, at which several people and processes have desks.
type project struct {
	t     *testing.T
	root  *os.Root
	locks locks
}

func newProject(t *testing.T) *project {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return &project{
		t:     t,
		root:  root,
		locks: locks{held: map[string]bool{}},
	}
}

// desk is that of one process of a person, with what it tells and why it was cancelled.
type desk struct {
	*control.Controller
	mu   sync.Mutex
	told []string
	gone bool // its process was killed
}

// tells says whether one of the lines that were told has a text.
func (d *desk) tells(text string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.told, func(line string) bool {
		return strings.Contains(line, text)
	})
}

func (p *project) desk(who string) *desk {
	d := &desk{}
	d.Controller = &control.Controller{
		Root:   p.root,
		Secret: func() []byte { return []byte("of the person") },
		Clock:  wall{},
		User:   who,
		Claim: func(file string) (io.Closer, error) {
			return p.locks.claim(p.root, file)
		},
		Note: func(format string, args ...any) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.told = append(d.told, fmt.Sprintf(format, args...))
		},
	}
	p.t.Cleanup(func() {
		if err := d.Close(); err != nil && !d.gone {
			p.t.Errorf("Close = %v, want no error", err)
		}
	})
	return d
}

// killed leaves the locks of a desk to whoever comes.
func (p *project) killed(d *desk) {
	d.gone = true
	p.locks.held = map[string]bool{}
}

func (d *desk) close(t *testing.T) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Errorf("Close = %v, want no error", err)
	}
}

// begin opens a run and makes entries in its journal.
func (d *desk) begin(t *testing.T, id, line string, list ...formats.Entry) *journal.Ledger {
	t.Helper()
	l := d.Open(t.Context(), id, nil, false, control.Hooks{
		Ready: func(string) error { return nil },
		Begun: func() {},
	})
	began := formats.Started{
		Format: formats.JournalFormat,
		Line:   line,
		Raw:    strings.TrimPrefix(line, "/plan "),
		Args:   map[string]any{},
	}
	list = append([]formats.Entry{{Type: formats.EntryRunStarted, Data: began}}, list...)
	put(t, l, list...)
	return l
}

func put(t *testing.T, l *journal.Ledger, list ...formats.Entry) {
	t.Helper()
	for _, e := range list {
		if _, err := l.Append(t.Context(), e, true); err != nil {
			t.Fatalf("Append(%s) = %v, want no error", e.Type, err)
		}
	}
}

func opened(g formats.Gate) formats.Entry {
	return formats.Entry{
		Type: formats.EntryGateOpened,
		Step: "ask",
		Key:  g.ID,
		Data: g,
	}
}

func suspended(of formats.Suspended) formats.Entry {
	return formats.Entry{
		Type: formats.EntrySuspended,
		Step: "ask",
		Data: of,
	}
}

func finished(status string) formats.Entry {
	return formats.Entry{Type: formats.EntryRunFinished, Data: map[string]any{"status": status}}
}

// question is a gate that was opened now.
func question(run string) formats.Gate {
	return formats.Gate{
		ID:       "gate-" + run,
		Run:      run,
		Question: "Go on?",
		Opened:   time.Now().UTC(),
		Choices:  []formats.Choice{{Label: "yes", Approves: true}, {Label: "no"}},
	}
}

func by(who, what string) formats.Decision {
	return formats.Decision{
		Answer: what,
		By:     who,
		Person: true,
		At:     time.Now().UTC(),
	}
}

func code(t *testing.T, err error, want formats.Code, part string) {
	t.Helper()
	if formats.CodeOf(err) != want || !strings.Contains(err.Error(), part) {
		t.Errorf("error = %v (%s), want %s with %q", err, formats.CodeOf(err), want, part)
	}
}

func first(r journal.Run) bool {
	return r.Line == "/plan 1"
}

func free() error {
	return nil
}

// TestIDOfAnotherRun: a new run whose id another process has just used changes nothing of that one.
func TestIDOfAnotherRun(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	one := p.desk("ann")
	one.begin(t, "r1", "/plan 1", finished("completed"))
	one.close(t)
	name := ".tercet/runs/r1/" + journal.Name
	before, err := p.root.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}

	second := p.desk("bea")
	l := second.Open(t.Context(), "r1", nil, false, control.Hooks{
		Ready: func(string) error { return nil },
		Begun: func() { t.Error("the second run has begun") },
	})
	_, err = l.Append(t.Context(), formats.Entry{Type: formats.EntryRunStarted}, true)
	code(t, err, formats.CodeLocked, "the same id, r1")
	after, err := p.root.ReadFile(name)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the journal of the first run is %q, %v, want %q", after, err, before)
	}
}

// TestTakeAndGiveBack: a run is one process's until that gives it back; its lock goes with its end.
func TestTakeAndGiveBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProject(t)
		one := p.desk("ann")
		second := p.desk("bea")
		one.begin(t, "r1", "/plan 1")
		_, err := second.Take(t.Context(), "r1")
		code(t, err, formats.CodeLocked, "held")
		if r, err := second.TakeMatching(t.Context(), first, free); r != nil || err != nil {
			t.Errorf("Again of a run that runs = %v, %v, want none", r, err)
		}
		if !second.Running("r1") {
			t.Error("Live = false of a run that runs, want true")
		}
		one.close(t)
		if second.Running("r1") {
			t.Error("Live = true of a run whose process is gone, want false")
		}
		look, err := p.desk("eve").Lock("r1") // as Running does, but on a slow machine
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(50*time.Millisecond, func() { _ = look.Close() })
		r, err := second.Take(t.Context(), "")
		if err != nil || r.ID != "r1" || len(second.Past("r1")) != 1 {
			t.Fatalf("Take = %v, %v with %d records, want r1 with one",
				r.ID, err, len(second.Past("r1")))
		}
		l := second.Open(t.Context(), "r1", nil, false, control.Hooks{})
		if l != second.Ledger("r1") {
			t.Error("Ledger is another one than Open gave")
		}
		second.close(t)
		if _, err := p.root.Lstat(journal.LockPath("r1")); err != nil {
			t.Errorf("the lock of a run that can go on: %v, want it there", err)
		}
		both := p.desk("ann")
		both.begin(t, "ended", "/plan 3", finished("completed"))
		both.begin(t, "goes on", "/plan 4")
		if err := errors.Join(
			both.Release("ended"),
			both.Release("ended"),
			both.Release("unknown"),
		); err != nil {
			t.Errorf("GiveBack = %v, want no error", err)
		}
		if _, err := p.root.Lstat(journal.LockPath("ended")); !errors.Is(err, fs.ErrNotExist) ||
			second.Running("ended") || !second.Running("goes on") {
			t.Errorf("a run that was given back: %v, want no lock, and that of the other", err)
		}
		third := p.desk("ann")
		third.begin(t, "r2", "/plan 2", finished("completed"))
		third.close(t)
		if _, err := p.root.Lstat(journal.LockPath("r2")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the lock of a run that is over: %v, want none", err)
		}
		_, err = third.Take(t.Context(), "r2")
		code(t, err, formats.CodePrecondition, "run r2 has ended")
	})
}

// TestEndedRunIsNotTakenUp: a run that ended while its lock stayed behind is not taken up, and its
// lock goes.
func TestEndedRunIsNotTakenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProject(t)
		one := p.desk("ann")
		one.begin(t, "r1", "/plan 1", finished("completed"))
		p.killed(one)
		d := p.desk("ann")
		_, err := d.Take(t.Context(), "r1")
		code(t, err, formats.CodePrecondition, "run r1 has ended")
		d.close(t)
		if _, err := p.root.Lstat(journal.LockPath("r1")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("its lock: %v, want none", err)
		}
		r, records, err := p.desk("ann").FindVerified("r1")
		if err != nil || r.Line != "/plan 1" || len(records) != 2 {
			t.Errorf("Seen = %q with %d records, %v, want /plan 1 with 2",
				r.Line, len(records), err)
		}
		d.close(t)
		r, records, err = p.desk("ann").TakeAny(t.Context(), "r")
		if err != nil || r.ID != "r1" || len(records) != 2 {
			t.Errorf("Ended = %s with %d records, %v, want r1 with 2", r.ID, len(records), err)
		}
	})
}

// TestNewestRunOfTheLineIsTaken: the newest run of the line is taken, once that may be; another
// user's is told and passed over.
func TestNewestRunOfTheLineIsTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProject(t)
		d := p.desk("ann")
		for _, id := range []string{"a", "b", "other"} {
			d.begin(t, id, "/plan "+map[bool]string{true: "2", false: "1"}[id == "other"])
			time.Sleep(time.Second)
		}

		stranger := p.desk("eve")
		stranger.Secret = func() []byte { return []byte("of eve") }
		stranger.begin(t, "z", "/plan 1")
		d.close(t)
		stranger.close(t)
		next := p.desk("ann")
		_, err := next.TakeMatching(t.Context(), first, func() error {
			return fs.ErrPermission
		})
		if !errors.Is(err, fs.ErrPermission) || p.locks.held[journal.LockPath("b")] {
			t.Errorf("Again that may not = %v, want why, and nothing taken", err)
		}
		r, err := next.TakeMatching(t.Context(), first, free)
		if err != nil || r == nil || r.ID != "b" {
			t.Errorf("Again = %v, %v, want b", r, err)
		}
		if !next.tells(
			"run z cannot be resumed: journal.jsonl:1:1: the line was not written by you here",
		) {
			t.Errorf("told = %q, want why z is passed over", next.told)
		}
		if _, err := next.Records("z"); formats.CodeOf(err) != formats.CodeDenied {
			t.Errorf("Records of another's run = %v, want DENIED", err)
		}
	})
}

// TestGoesOn: without a person a run goes on by itself, unless it waits for one or for a time; with
// one it is asked about.
func TestGoesOn(t *testing.T) {
	t.Parallel()
	hour := formats.Postponed{Why: "waits an hour"}
	for _, test := range []struct {
		name    string
		waits   bool
		answers []string
		list    func(g formats.Gate) []formats.Entry
	}{
		{"its process is gone", false, nil, func(formats.Gate) []formats.Entry {
			return nil
		}},
		{"paused", true, nil, func(formats.Gate) []formats.Entry {
			return []formats.Entry{suspended(formats.Suspended{
				Postponed: formats.Postponed{Why: "paused by ann"},
			})}
		}},
		{"a time that is to come", true, nil, func(formats.Gate) []formats.Entry {
			hour.Until = time.Now().Add(2 * time.Hour).UTC()
			return []formats.Entry{suspended(formats.Suspended{Postponed: hour})}
		}},
		{"a time that has come", false, nil, func(formats.Gate) []formats.Entry {
			hour.Until = time.Now().Add(time.Minute).UTC()
			return []formats.Entry{suspended(formats.Suspended{Postponed: hour})}
		}},
		{"a gate", true, nil, func(g formats.Gate) []formats.Entry {
			return []formats.Entry{opened(g), suspended(formats.Suspended{Question: g.Question})}
		}},
		{"a gate with its answer", false, []string{"ann"}, func(g formats.Gate) []formats.Entry {
			return []formats.Entry{opened(g), suspended(formats.Suspended{Question: g.Question})}
		}},
		{
			"a gate for two with one answer",
			true,
			[]string{"ann"},
			func(g formats.Gate) []formats.Entry {
				g.Quorum = 2
				return []formats.Entry{
					opened(g),
					suspended(formats.Suspended{Question: g.Question}),
				}
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newProject(t)
				g := question("r1")
				one := p.desk("ann")
				one.begin(t, "r1", "/plan 1", test.list(g)...)
				one.close(t)
				d := p.desk("ann")
				for _, who := range test.answers {
					r, open, err := d.Gate("r1")
					if err == nil {
						_, err = d.Answer(t.Context(), r, open, by(who, "yes"))
					}
					if err != nil {
						t.Fatal(err)
					}
				}

				time.Sleep(time.Hour)
				r, err := d.TakeMatching(t.Context(), first, free)
				if err != nil || r == nil {
					t.Fatalf("Again = %v, %v, want r1", r, err)
				}
				goesOn, err := d.ShouldResume(*r, "this line", true, nil, nil)
				if _, waits := errors.AsType[*control.WaitingError](err); !waits || goesOn {
					t.Errorf("GoesOn of a flow = %v, %v, want it to wait for a person", goesOn, err)
				}
				goesOn, err = d.ShouldResume(*r, "this line", false, nil, nil)
				open, waits := errors.AsType[*control.WaitingError](err)
				if waits != test.waits || goesOn == test.waits {
					t.Errorf("GoesOn = %v, %v, want it to wait: %v", goesOn, err, test.waits)
				}
				if waits {
					ret := open.Return()
					if ret.Status != formats.StatusSuspended ||
						ret.Resume.Line != "tercet resume r1" ||
						!strings.Contains(ret.Summary, "run r1 of this line: waits") &&
							test.name != "paused" {
						t.Errorf("Return = %+v, want one that is suspended and names the run", ret)
					}
				}
				for _, word := range []string{"resume", "new"} {
					shown := 0
					left := []string{"show", word}
					goesOn, err := d.ShouldResume(
						*r,
						"this line",
						true,
						func(formats.Gate) (formats.Decision, error) {
							answer := left[0]
							left = left[1:]
							return formats.Decision{Answer: answer}, nil
						},
						func(journal.Run) error {
							shown++
							return nil
						},
					)
					if goesOn != (word == "resume") || err != nil || shown != 1 {
						t.Errorf("GoesOn answered show, %s = %v, %v, shown %d times",
							word, goesOn, err, shown)
					}
				}
			})
		})
	}
}

// TestStop: a run that is given up is stopped once, and what its end comes to is judged.
func TestStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProject(t)
		one := p.desk("ann")
		one.begin(t, "r1", "/plan 1")
		p.killed(one)
		d := p.desk("ann")
		r, err := d.Take(t.Context(), "r1")
		for range 2 {
			err = errors.Join(err, d.Stop(t.Context(), r))
		}

		past := d.Past("r1")
		if err != nil || len(past) != 2 || past[1].Type != formats.EntryStopped {
			t.Errorf("Stop twice = %v, %d records, want one more, stopped", err, len(past))
		}
		err = control.CheckGivenUp(r, formats.Return{Errors: []formats.ReturnError{{
			Code: formats.CodeCancelled,
		}}})
		if err != nil {
			t.Errorf("GivenUp of a cancelled run = %v, want no error", err)
		}
		code(
			t,
			control.CheckGivenUp(r, formats.Return{Resume: &formats.Resume{}}),
			formats.CodeBug,
			"still waits",
		)
		code(
			t,
			control.CheckGivenUp(r, formats.Return{Errors: []formats.ReturnError{{
				Code:    formats.CodeIO,
				Message: "full",
			}}}),
			formats.CodeIO,
			"full",
		)
	})
}

// TestGate: the gate that waits is found, and what keeps it from being answered is told.
func TestGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProject(t)
		d := p.desk("ann")
		g := question("r1")
		d.begin(t, "none", "/plan 1")
		done := question("done")
		d.begin(t, "done", "/plan 2", opened(done),
			formats.Entry{
				Type: formats.EntryGateDecided,
				Key:  done.ID,
				Data: by("bea", "no"),
			})
		d.begin(t, "r1", "/plan 3", opened(g), formats.Entry{
			Type: formats.EntryGateVoted,
			Key:  g.ID,
			Data: by("bea", "no"),
		})
		late := question("late")
		late.Timeout = &formats.GateTimeout{After: 60, Choose: "no"}
		d.begin(t, "late", "/plan 4", opened(late))
		time.Sleep(time.Hour)
		_, _, err := d.Gate("none")
		code(t, err, formats.CodePrecondition, "run none waits for no answer")
		_, _, err = d.Gate("done")
		code(t, err, formats.CodePrecondition, `bea answered "no" to "Go on?"`)
		_, _, err = d.Gate("late")
		code(
			t, err,
			formats.CodePrecondition,
			`the time of the gate is over, and its answer is "no"`,
		)
		r, open, err := d.Gate("r")
		if err != nil || r.ID != "r1" || open.ID != g.ID || open.Step != "ask" {
			t.Errorf("Gate = %s, %+v, %v, want that of r1", r.ID, open, err)
		}
		list, err := d.Gates()
		var got []string
		for _, one := range list {
			got = append(got, one.Run+" "+one.Command+" "+strings.Join(one.By, ","))
		}

		slices.Sort(got)
		want := []string{"late /plan 4 ", "r1 /plan 3 bea"}
		if !slices.Equal(got, want) || err != nil {
			t.Errorf("Gates = %q, %v, want %q", got, err, want)
		}
	})
}

// TestAnswer: what becomes of an answer is told as it is: kept, taken, one of several, or void.
func TestAnswer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, want string
		then       func(g formats.Gate, a formats.Decision) []formats.Entry // nil: nobody takes it
	}{
		{"nobody", "kept", nil},
		{
			"a process that does not look",
			"kept",
			func(formats.Gate, formats.Decision) []formats.Entry { return nil },
		},
		{"a process", "taken", func(g formats.Gate, a formats.Decision) []formats.Entry {
			return []formats.Entry{{Type: formats.EntryGateDecided, Key: g.ID, Data: a}}
		}},
		{
			"a process, one of two",
			"counted",
			func(g formats.Gate, a formats.Decision) []formats.Entry {
				return []formats.Entry{{Type: formats.EntryGateVoted, Key: g.ID, Data: a}}
			},
		},
		{
			"what was shown has changed",
			"",
			func(g formats.Gate, _ formats.Decision) []formats.Entry {
				anew := g
				anew.ID = "anew"
				return []formats.Entry{{Type: formats.EntryGateRefused, Key: g.ID}, opened(anew)}
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newProject(t)
				g := question("r1")
				if test.want == "counted" {
					g.Quorum = 2
				}
				owner := p.desk("ann")
				d := p.desk("bea")
				l := owner.begin(t, "r1", "/plan 1", opened(g))
				var working sync.WaitGroup
				defer working.Wait()
				if test.then == nil {
					owner.close(t)
				} else {
					working.Go(func() {
						ctx, done := owner.Watch(t.Context(), g)
						defer done()
						<-ctx.Done()
						a, err := control.ArrivedAnswer(ctx)
						if err != nil || a.Answer != "yes" || a.By != "bea" {
							t.Errorf("what arrived = %+v, %v, want bea's yes", a, err)
						}
						if took := time.Since(a.At); took > time.Second {
							t.Errorf("the answer was taken after %s, want at most a second", took)
						}
						put(t, l, test.then(g, a)...)
					})
				}

				r, open, err := d.Gate("r1")
				if err != nil {
					t.Fatal(err)
				}
				told, err := d.Answer(t.Context(), r, open, by("bea", "yes"))
				if told.Status != test.want {
					t.Errorf("Answer = %+v, %v, want %q", told, err, test.want)
				}
				if test.want == "" {
					code(t, err, formats.CodePrecondition, "asks again")
				}
				if test.want == "kept" {
					_, err := d.Answer(t.Context(), r, open, by("cid", "no"))
					code(t, err, formats.CodePrecondition, `not taken: bea answered "yes"`)
					kept, err := p.desk("dan").Submit(open, by("dan", "no"))
					if kept.By != "bea" || kept.Answer != "yes" || err != nil {
						t.Errorf("Give of one who was late = %+v, %v, want bea's yes", kept, err)
					}
				}
			})
		})
	}
}

// TestAwait: who waits for an answer gets it, and stops when that is over; an answer to a gate that
// is in no journal is the person's own.
func TestAwait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newProject(t).desk("ann")
		own := by("ann", "yes")
		if a, err := d.Submit(formats.Gate{}, own); a != own || err != nil {
			t.Errorf("Give = %+v, %v, want the same", a, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := d.Await(ctx, question("none"))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Await of nobody = %v, want the end of the time", err)
		}
	})
}

// TestOrders: an order is obeyed, or it is told why it came to nothing.
func TestOrders(t *testing.T) {
	t.Parallel()
	wait := suspended(formats.Suspended{Postponed: formats.Postponed{Why: "paused by bea"}})
	stopped := formats.Entry{Type: formats.EntryStopped, Data: map[string]any{"code": "CANCELLED"}}
	for _, test := range []struct {
		name  string
		pause bool
		then  []formats.Entry // nil: the process is gone
		want  string          // of the error
	}{
		{"pause", true, []formats.Entry{wait}, ""},
		{
			"pause, and it ends",
			true,
			[]formats.Entry{finished("completed")},
			"run r1 was completed before it could pause",
		},
		{
			"pause, and its process goes", true, nil,
			"the process of run r1 was gone before it could pause",
		},
		{"cancel", false, []formats.Entry{stopped, finished("failed")}, ""},
		{
			"cancel, and it ends",
			false,
			[]formats.Entry{finished("completed")},
			"run r1 was completed before it could cancel",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newProject(t)
				owner := p.desk("ann")
				d := p.desk("bea")
				l := owner.begin(t, "r1", "/plan 1")
				time.Sleep(time.Second)
				given := time.Now()
				var working sync.WaitGroup
				defer working.Wait()
				working.Go(func() {
					defer func() {
						if took := time.Since(given); took > time.Second {
							t.Errorf("the order was taken after %s, want at most a second", took)
						}
					}()
					if test.pause {
						paused, _ := owner.OrderContexts(t.Context(), "r1")
						<-paused.Done()
						later, ok := errors.AsType[*formats.LaterError](context.Cause(paused))
						if !ok || later.Why != "paused by bea" {
							t.Errorf("why it is paused = %v, want by bea", context.Cause(paused))
						}
					} else {
						_, end := owner.OrderContexts(t.Context(), "r1")
						<-end.Done()
						code(t, context.Cause(end), formats.CodeCancelled, "cancelled by bea")
					}
					put(t, l, test.then...)
					owner.close(t)
				})
				order := d.Pause
				if !test.pause {
					order = func(ctx context.Context, word string) (journal.Run, error) {
						r, taken, err := d.End(ctx, word)
						if taken {
							t.Error("End took a run that runs")
						}
						return r, err
					}
				}
				r, err := order(t.Context(), "r1")
				if test.want != "" {
					code(t, err, formats.CodePrecondition, test.want)
				} else if err != nil || r.ID != "r1" || r.Status == journal.Open {
					t.Errorf("the order = %+v, %v, want it obeyed", r, err)
				}
				if !d.tells("waits for what runs") {
					t.Errorf("told = %q, want that it waits", d.told)
				}
			})
		})
	}
}

// TestOrdersWithoutAProcess: what does not run is not paused, and is taken to be ended.
func TestOrdersWithoutAProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProject(t)
		one := p.desk("ann")
		one.begin(t, "r1", "/plan 1")
		p.killed(one)
		d := p.desk("ann")
		_, err := d.Pause(t.Context(), "r1")
		code(t, err, formats.CodePrecondition, "run r1 does not run: there is nothing to pause")
		r, taken, err := d.End(t.Context(), "r1")
		if r.ID != "r1" || !taken || err != nil {
			t.Errorf("End = %s, %v, %v, want r1 taken", r.ID, taken, err)
		}
	})
}

// TestWait: it sleeps until the time that the run waits for, and for nothing else.
func TestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProject(t)
		d := p.desk("ann")
		now := time.Now()
		d.begin(t, "r1", "/plan 1", suspended(formats.Suspended{Postponed: formats.Postponed{
			Why:   "an hour",
			Until: now.Add(time.Hour).UTC(),
		}}))
		for word, want := range map[string]time.Duration{"nobody": 0, "r1": time.Hour} {
			now := time.Now()
			if err := d.Wait(t.Context(), word); err != nil || time.Since(now) != want {
				t.Errorf("Wait(%s) = %v after %s, want %s", word, err, time.Since(now), want)
			}
		}
		if err := d.Wait(t.Context(), "r1"); err != nil || time.Since(now) != time.Hour {
			t.Errorf("Wait once more = %v after %s, want none", err, time.Since(now))
		}
	})
}

// TestOnlyHere: where a worker could read the key, an answer that is sealed with it does not count
// at a gate with consent, and the user's own one is taken at the terminal of the run.
func TestOnlyHere(t *testing.T) {
	t.Parallel()
	held := func(tier string) bool { return tier != "none" }
	for name, tt := range map[string]struct {
		ran, now string
		consent  bool
		why      string
	}{
		"ran without bounds":   {"none", "some", true, "worker ran in the tier none"},
		"would run so now":     {"some", "none", true, "workers run here in the tier none"},
		"within bounds":        {"some", "some", true, ""},
		"no process":           {"", "some", true, ""},
		"no gate with consent": {"none", "none", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			d := p.desk("ann")
			forger := p.desk("mallory")
			d.HidesKey = held
			d.Tier = func() (string, error) { return tt.now, nil }
			g := formats.Gate{
				ID:       "GATE",
				Run:      "r000001abc",
				Question: "Ship it?",
				Consent:  tt.consent,
				Digest:   "digest",
				Opened:   time.Now().UTC(),
				Choices:  []formats.Choice{{Label: "yes", Approves: true}, {Label: "no"}},
			}
			d.begin(t, g.Run, "/plan 1",
				formats.Entry{
					Type: formats.EntryDelegationResult,
					Step: "work#1",
					Data: formats.Return{Metadata: formats.Metadata{
						Agent:   "worker",
						Sandbox: tt.ran,
					}},
				},
				formats.Entry{
					Type: formats.EntryGateOpened,
					Step: "go#1",
					Key:  g.ID,
					Data: g,
				})
			why := d.LocalOnly(g)
			if !strings.HasPrefix(why, tt.why) || (why == "") != (tt.why == "") {
				t.Errorf("OnlyHere = %q, want it to begin with %q", why, tt.why)
			}
			forged := formats.Decision{
				Answer: "yes",
				By:     "mallory",
				Person: true,
				At:     time.Now().UTC(),
			}
			if _, err := forger.Submit(g, forged); err != nil { // it knows the key, and no rule
				t.Fatal(err)
			}
			got, counts, err := d.Answered(g)
			if counts != (tt.why == "") || err != nil {
				t.Errorf("Answered = %+v, %t, %v, want an answer that counts: %t",
					got, counts, err, tt.why == "")
			}
			own := formats.Decision{
				Answer: "no",
				By:     "ann",
				Person: true,
				At:     time.Now().UTC(),
			}
			want := "no"
			if tt.why == "" {
				want = "yes" // it came first
			}
			if got, err := d.Submit(g, own); got.Answer != want || err != nil {
				t.Errorf("Give = %+v, %v, want %q", got, err, want)
			}
			r, _, err := d.Gate(g.Run)
			if err != nil {
				t.Fatal(err)
			}
			_, err = d.Answer(t.Context(), r, g, own)
			if denied := formats.CodeOf(err) == formats.CodeDenied; denied != (tt.why != "") {
				t.Errorf("Answer = %v, want DENIED: %t", err, tt.why != "")
			}
		})
	}
}
