package project_test

import (
	"context"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tercet/commands"
	"tercet/formats"
	"tercet/internal/journal"
	"tercet/internal/trace"
	"tercet/internal/trust"
	"tercet/project"
	"tercet/router"
	"tercet/state"
)

// quiet is a frontend without a user. It keeps what it is told.
type quiet struct {
	mu     sync.Mutex
	events []trace.Event
	notes  []string
}

func (q *quiet) Note(format string, _ ...any) { q.keep(format) }

func (q *quiet) NoteOnce(_, text string) { q.keep(text) }

func (q *quiet) keep(text string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.notes = append(q.notes, text)
}

func (q *quiet) Event(e trace.Event, _ []byte, _ bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.events = append(q.events, e)
}

func (*quiet) Diagnostics(*formats.Diagnostics)                    {}
func (*quiet) Table(formats.Table)                                 {}
func (*quiet) Mask(*journal.Masker)                                {}
func (*quiet) Label(string, string)                                {}
func (*quiet) Answered(formats.Gate, string, string)               {}
func (*quiet) ShowRun(*project.Project, journal.Run) error         { return nil }
func (*quiet) Interactive() bool                                   { return false }
func (*quiet) Leaving(c context.Context) (context.Context, func()) { return c, func() {} }

func (*quiet) Begin(*project.Project, iter.Seq2[trace.Event, error]) func() {
	return func() {}
}

func (*quiet) Ask(context.Context, project.Question) (project.Reply, error) {
	return project.Reply{}, project.ErrLeft
}

func (*quiet) AskTrust(context.Context, *project.Session, *trust.Verdict) (bool, error) {
	return false, nil
}

func (*quiet) AskMissing(context.Context, commands.MissingArguments) ([]string, error) {
	return nil, nil
}

type clock struct{}

func (clock) Now() time.Time { return time.Now() }

func (clock) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// host is that of a program that has made the project in a folder itself.
func host(t *testing.T, dir string, f project.Frontend) project.Host {
	t.Helper()
	home := t.TempDir()
	return project.Host{
		Frontend:    f,
		Clock:       clock{},
		Version:     "test",
		User:        "somebody",
		Session:     project.NewSessionID(time.Now()),
		CommandLine: "a test",
		Env: func(name string) string {
			return map[string]string{"HOME": home, "PATH": os.Getenv("PATH")}[name]
		},
		LookupEnv:    os.LookupEnv,
		Environ:      os.Environ,
		AbortContext: t.Context,
		Agreed:       map[string]bool{},
		OwnProject:   dir,
	}
}

// open makes a workspace in a repository, and opens it.
func open(t *testing.T, f project.Frontend) *project.Project {
	t.Helper()
	dir := t.TempDir()

	h := host(t, dir, f)
	_, err := h.Init(t.Context(), dir, project.Settings{}, state.InitOptions{NextNumber: 1}, false)
	if err != nil {
		t.Fatal(err)
	}

	for _, args := range [][]string{
		{"init", "-q"}, {
			"-c", "user.name=n", "-c", "user.email=e@example.org", "commit", "-q",
			"--allow-empty", "-m", "first",
		},
	} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}

	p, err := project.Open(t.Context(), dir, true, h)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})

	return p
}

// start begins a run of a line in a session with these options.
func start(t *testing.T, p *project.Project, line string, o project.Options) formats.Return {
	t.Helper()
	s, err := p.Session(o)
	if err != nil {
		t.Fatal(err)
	}
	ret, err := s.Start(t.Context(), router.Line{Raw: line})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return ret
}

// TestWithoutATerminal: a program that prints nothing and asks nobody works with a project.
func TestWithoutATerminal(t *testing.T) {
	t.Parallel()
	f := &quiet{}
	p := open(t, f)
	ret := start(t, p, "/task Fix the parser", project.Options{})
	if ret.Status != formats.StatusCompleted {
		t.Fatalf("/task = %+v", ret)
	}
	ret = start(t, p, "/plan 1", project.Options{Yes: true})
	if ret.Status != formats.StatusCompleted || ret.Metadata.Run == "" {
		t.Fatalf("/plan 1 = %+v", ret)
	}
	task, err := p.Reader.Task(t.Context(), 1)
	if err != nil || task.Status != formats.Planned {
		t.Errorf("task 1 = %+v, %v, want it planned", task, err)
	}

	s, err := p.Session(project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, lines, err := s.Verify(t.Context(), ret.Metadata.Run)
	if err != nil || r.ID != ret.Metadata.Run || lines == 0 {
		t.Errorf("Verify = %s, %d lines, %v", r.ID, lines, err)
	}
	if !slices.ContainsFunc(f.events, func(e trace.Event) bool {
		return e.Run == ret.Metadata.Run && e.Name == "planner"
	}) {
		t.Errorf("the frontend saw no delegation of run %s", ret.Metadata.Run)
	}
}

// TestSideBySide: two runs with different options are at work in one process, and each keeps to
// its own.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	p := open(t, &quiet{})
	lines := []struct {
		text    string
		options project.Options
		want    formats.TaskStatus
	}{
		{"/plan 1", project.Options{DryRun: true}, formats.NotStarted},
		{"/plan 2", project.Options{Yes: true}, formats.Planned},
		{"/plan 3", project.Options{Runner: "offline"}, formats.Planned},
		{"/plan 4", project.Options{AcceptChanges: true}, formats.Planned},
	}
	for _, one := range lines {
		start(t, p, "/task For "+one.text, project.Options{})
	}

	var all sync.WaitGroup
	returns := make([]formats.Return, len(lines))
	for i, one := range lines {
		all.Go(func() { returns[i] = start(t, p, one.text, one.options) })
	}
	all.Wait()
	for i, one := range lines {
		task, err := p.Reader.Task(t.Context(), i+1)
		if err != nil || task.Status != one.want {
			t.Errorf("task %d = %+v, %v, want it %s", i+1, task, err, one.want)
		}
		if one.options.DryRun {
			continue
		}
		// each run has its own trace, whole to its end
		run := returns[i].Metadata.Run
		var last trace.Event
		for e, err := range project.TraceEvents(journal.NewLog(p.Root, run, "")) {
			if err != nil || e.Run != run {
				t.Fatalf("trace of run %s: an event of %q, %v", run, e.Run, err)
			}
			last = e
		}
		if last.Kind != trace.Run || last.Outcome != string(formats.OutcomeCompleted) {
			t.Errorf("the trace of run %s ends with %+v, want the end of the run", run, last)
		}
	}
}

// TestStartRefuses: what is wrong with a line is an error with a code, and begins nothing.
func TestStartRefuses(t *testing.T) {
	t.Parallel()
	p := open(t, &quiet{})

	for line, want := range map[string]formats.Code{
		"/nope":     formats.CodeUsage,
		"/plan":     formats.CodeUsage,
		"/plan 7":   formats.CodeNotFound,
		"plan 1":    formats.CodeUsage,
		"/plan one": formats.CodeUsage,
	} {
		s, err := p.Session(project.Options{})
		if err != nil {
			t.Fatal(err)
		}

		ret, err := s.Start(t.Context(), router.Line{Raw: line})
		if err == nil {
			err = errorOf(ret)
		}

		if formats.CodeOf(err) != want {
			t.Errorf("%s: %v (%s), want %s", line, err, formats.CodeOf(err), want)
		}
	}

	list, err := journal.Runs(p.Root, false)
	if err != nil || len(list) > 0 {
		t.Errorf("runs = %v, %v, want none", list, err)
	}
}

// errorOf is the first error of a return; nil without one.
func errorOf(ret formats.Return) error {
	if len(ret.Errors) == 0 {
		return nil
	}
	one := ret.Errors[0]
	return formats.Fail(one.Code, one.Recommendation, "%s", strings.TrimSpace(one.Message))
}

// agreeing is a frontend whose user trusts every project.
type agreeing struct{ quiet }

func (*agreeing) Interactive() bool { return true }

func (*agreeing) AskTrust(context.Context, *project.Session, *trust.Verdict) (bool, error) {
	return true, nil
}

// TestHelpLeavesNothing: the help of an untrusted project keeps no run; the line after it in the
// same session does.
func TestHelpLeavesNothing(t *testing.T) {
	t.Parallel()

	trusted := open(t, &quiet{})
	h := host(t, "", &agreeing{})
	p, err := project.Open(t.Context(), trusted.Dir, true, h)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})

	s, err := p.Session(project.Options{})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := s.Start(t.Context(), router.Line{Raw: "/help"}); err != nil {
		t.Fatal(err)
	}

	list, err := journal.Runs(p.Root, false)
	if err != nil || len(list) != 0 {
		t.Fatalf("after /help: runs %v, %v, want none", list, err)
	}

	ret, err := s.Start(t.Context(), router.Line{Raw: "/task Fix the parser"})
	list, lerr := journal.Runs(p.Root, false)
	if err != nil || lerr != nil || len(list) != 1 || list[0].ID != ret.Metadata.Run {
		t.Errorf("/task = %+v, %v; runs %v, %v, want it recorded", ret, err, list, lerr)
	}
}

// stoppedClock always tells the same time.
type stoppedClock struct{ clock }

func (stoppedClock) Now() time.Time { return time.Unix(1767610000, 0) }

// TestNewRunID: runs that begin in one second have ids of their own, also those of a line about a
// thousand tasks, and beside those of another process.
func TestNewRunID(t *testing.T) {
	t.Parallel()
	first := open(t, &quiet{})
	second, err := project.Open(t.Context(), first.Dir, true, first.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := second.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})

	given := map[string]bool{}
	for _, p := range []*project.Project{first, second} {
		p.Host.Clock = stoppedClock{}
		var ids []string
		for range 1000 {
			id := p.NewRunID()
			if given[id] {
				t.Fatalf("the id %s is given twice", id)
			}
			given[id] = true
			ids = append(ids, id)
		}
		for _, id := range ids {
			if err := p.Root.MkdirAll(".tercet/runs/"+id, 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
}
