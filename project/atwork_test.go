package project_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tercet/formats"
	"tercet/internal/trace"
	"tercet/project"
)

// ship is a command that asks, and says what was answered.
const ship = "---\ncommand: ship\ndescription: Ship it\n---\n\n" +
	"## Workflow Execution\n\n### Step 1: Ask\n\n" +
	"```yaml step\nid: go\ngate: Ship it?\n```\n\n### Step 2: Say so\n\n" +
	"```yaml step\nreturn: \"shipped: ${{ $steps.go.choice }} by ${{ $steps.go.by }}\"\n```\n"

// openShip opens a project that has /ship.
func openShip(t *testing.T) *project.Project {
	t.Helper()
	p := open(t, project.Unattended{})
	name := filepath.Join(p.Dir, formats.Workspace, "commands", "ship.md")
	if err := os.WriteFile(name, []byte(ship), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// openGate waits until a run asks something.
func openGate(t *testing.T, p *project.Project, run string) formats.Gate {
	t.Helper()
	for {
		gates, err := p.Gates()
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range gates {
			if g.Run == run {
				return g.Gate
			}
		}
		if err := (clock{}).Sleep(t.Context(), 10*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBackground: a run goes on in the background, is seen by a monitor and by its events, and ends
// once its question is answered from elsewhere.
func TestBackground(t *testing.T) {
	t.Parallel()
	p := openShip(t)
	m := p.Monitor()
	r, err := p.Start(t.Context(), "/ship", project.Options{Await: true})
	if err != nil || r.ID == "" {
		t.Fatalf("Start = %+v, %v", r, err)
	}
	g := openGate(t, p, r.ID)
	list, err := m.Runs(5)
	if err != nil || len(list) != 1 || list[0].Run.ID != r.ID ||
		list[0].State != project.StateAsking {
		t.Errorf("the monitor has %+v, %v, want run %s asking", list, err, r.ID)
	}

	_, err = p.Answer(t.Context(), r.ID, g.ID+"x", project.Reply{Label: "approve"})
	if formats.CodeOf(err) != formats.CodePrecondition {
		t.Errorf("an answer to another question = %v, want PRECONDITION", err)
	}
	effect, err := p.Answer(t.Context(), r.ID, g.ID, project.Reply{Label: "approve"})
	if err != nil || effect.Status != "taken" {
		t.Fatalf("Answer = %+v, %v, want it taken", effect, err)
	}
	ret, err := r.Wait(t.Context())
	if err != nil || ret.Status != formats.StatusCompleted ||
		ret.Summary != "shipped: approve by somebody" {
		t.Errorf("Wait = %+v, %v", ret, err)
	}

	list, err = m.Runs(5)
	if err != nil || len(list) != 1 || list[0].State != project.StateFinished {
		t.Errorf("the monitor has %+v, %v, want the run finished", list, err)
	}
	if list, err = m.Runs(0); err != nil || len(list) != 0 {
		t.Errorf("the monitor has %+v, %v, want no finished run", list, err)
	}
	detail, err := p.Detail(r.ID)
	if err != nil || len(detail.Steps) != 2 || detail.Gate != nil || detail.Resume != "" {
		t.Errorf("Detail = %+v, %v", detail, err)
	}
}

// TestEvents: the events of a run come while it runs, to the end of the run, and from any place
// on.
func TestEvents(t *testing.T) {
	t.Parallel()
	p := openShip(t)
	r, err := p.Start(t.Context(), "/ship", project.Options{Await: true})
	if err != nil {
		t.Fatal(err)
	}
	var all []project.Event
	answered := false
	for e, err := range p.Events(t.Context(), r.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
		if e.Kind == trace.Gate && !answered {
			answered = true
			g := openGate(t, p, r.ID)
			_, err := p.Answer(t.Context(), r.ID, g.ID, project.Reply{Label: "approve"})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if last := all[len(all)-1]; last.Kind != trace.Run || last.Outcome != "completed" {
		t.Errorf("the last event is %+v, want the end of the run", last)
	}

	var rest []project.Event
	for e, err := range p.Events(t.Context(), r.ID, len(all)-2) {
		if err != nil {
			t.Fatal(err)
		}
		rest = append(rest, e)
	}
	if len(rest) != 2 || rest[1].Kind != trace.Run {
		t.Errorf("the last two events are %+v", rest)
	}

	if _, err := r.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range p.Events(ctx, "r-none", 0) {
		t.Error("a run that is not there has an event")
	}
}

// TestPauseAndResume: a run in the background is suspended, goes on, and is cancelled.
func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	p := openShip(t)
	r, err := p.Start(t.Context(), "/ship", project.Options{Await: true})
	if err != nil {
		t.Fatal(err)
	}
	openGate(t, p, r.ID)
	if _, err := p.Pause(t.Context(), r.ID); err != nil {
		t.Fatal(err)
	}
	ret, err := r.Wait(t.Context())
	if err != nil || ret.Status != formats.StatusSuspended || ret.Resume == nil {
		t.Fatalf("Wait = %+v, %v, want it suspended", ret, err)
	}

	_, err = p.Start(t.Context(), "/ship", project.Options{Await: true})
	if waits, ok := errors.AsType[*project.ResumableError](err); !ok || waits.Run.ID != r.ID {
		t.Errorf("the line again = %v, want the run that waits", err)
	}

	r, err = p.Resume(t.Context(), r.ID, "", project.Options{Await: true})
	if err != nil {
		t.Fatal(err)
	}
	openGate(t, p, r.ID)
	info, err := p.Cancel(t.Context(), r.ID, project.Options{})
	if err != nil || info.Status != "cancelled" {
		t.Errorf("Cancel = %+v, %v", info, err)
	}
	if ret, err = r.Wait(t.Context()); err != nil || ret.Status != formats.StatusFailed {
		t.Errorf("Wait = %+v, %v, want it ended", ret, err)
	}
	if p.AtWork(r.ID) {
		t.Error("the run is still at work")
	}
}

// TestStartErrors: what a frontend can do something about is an error of its own type.
func TestStartErrors(t *testing.T) {
	t.Parallel()
	p := openShip(t)
	_, err := p.Start(t.Context(), "/plan", project.Options{})
	if use, ok := errors.AsType[*project.UsageError](err); !ok || len(use.Open) != 1 ||
		use.Open[0].Name != "task_number" {
		t.Errorf("/plan = %v, want the argument that it lacks", err)
	}

	h := host(t, "", project.Unattended{})
	strange, err := project.Open(t.Context(), p.Dir, true, h)
	if err != nil {
		t.Fatal(err)
	}
	defer strange.Close(t.Context())
	_, err = strange.Start(t.Context(), "/ship", project.Options{})
	if refused, ok := errors.AsType[*project.UntrustedError](err); !ok ||
		len(refused.Verdict.Changes) == 0 {
		t.Errorf("a project without trust = %v, want its files", err)
	}

	dir := t.TempDir()
	bare, err := project.Open(t.Context(), dir, false, host(t, dir, project.Unattended{}))
	if err != nil {
		t.Fatal(err)
	}
	defer bare.Close(t.Context())
	_, err = bare.Start(t.Context(), "/plan 1", project.Options{})
	if _, ok := errors.AsType[*project.NoWorkspaceError](err); !ok {
		t.Errorf("a folder without a workspace = %v", err)
	}
}

// TestInterrupted: the end of its context interrupts a run in the background, which can go on then.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	p := openShip(t)
	ctx, interrupt := context.WithCancelCause(t.Context())

	r, err := p.Start(ctx, "/ship", project.Options{Await: true})
	if err != nil {
		t.Fatal(err)
	}

	openGate(t, p, r.ID)
	interrupt(formats.Interrupted("interrupted"))

	ret, err := r.Wait(t.Context())
	if err != nil || ret.Resume == nil {
		t.Errorf("Wait = %+v, %v, want a run that can go on", ret, err)
	}

	if list, err := p.Runs(project.Filter{Closed: true}); err != nil || len(list) > 0 {
		t.Errorf("Runs that Close suspended = %+v, %v, want none", list, err)
	}
}

// slow is a command whose worker ends only by a signal.
const slow = "---\ncommand: slow\ndescription: Wait\n---\n\n" +
	"## Workflow Execution\n\n### Step 1: Wait\n\n" +
	"```yaml step\nid: go\ndelegate: sleeper\n```\n"

const sleeper = "---\nname: sleeper\ndescription: Sleeps\nrole: utility\nrunner: exec\n" +
	"argv: [sh, -c, 'touch at-work; exec sleep 100000']\n" +
	"returns: {statuses: [completed, failed], artifacts: none}\n---\n\nSleeps.\n"

// TestClose: Close suspends the runs in the background, also one whose worker does not end by
// itself, and the next process resumes them.
func TestClose(t *testing.T) {
	t.Parallel()
	p := openShip(t)

	for name, text := range map[string]string{
		"commands/slow.md":     slow,
		"subagents/sleeper.md": sleeper,
	} {
		name = filepath.Join(p.Dir, formats.Workspace, filepath.FromSlash(name))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	first, err := project.Open(t.Context(), p.Dir, true, p.Host)
	if err != nil {
		t.Fatal(err)
	}

	var ids []string
	for _, line := range []string{"/ship", "/slow"} {
		r, err := first.Start(t.Context(), line, project.Options{Await: true})
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		ids = append(ids, r.ID)
	}

	openGate(t, p, ids[0])
	sleeps(t, p)

	ctx, hurry := context.WithCancel(t.Context())
	hurry() // the sleeper has to be interrupted
	if err := first.Close(ctx); err != nil {
		t.Error(err)
	}

	if _, err := first.Start(t.Context(), "/ship", project.Options{}); err == nil {
		t.Error("a project that is closed starts a run")
	}

	list, err := p.Runs(project.Filter{Closed: true})
	if err != nil || len(list) != 2 || p.AtWork(ids[0]) || p.AtWork(ids[1]) {
		t.Fatalf(
			"runs that Close suspended = %+v, %v, want two that no process works on", list, err,
		)
	}
	runs, err := p.ResumeClosed(t.Context(), project.Options{Await: true})
	if err != nil || len(runs) != 2 || !slices.Contains(ids, runs[0].ID) ||
		!slices.Contains(ids, runs[1].ID) {
		t.Errorf("ResumeClosed = %+v, %v, want both runs", runs, err)
	}
	openGate(t, p, ids[0])
	sleeps(t, p)
	if err := p.Close(ctx); err != nil {
		t.Error(err)
	}
}

// sleeps waits until the sleeper is at work, and takes its mark away.
func sleeps(t *testing.T, p *project.Project) {
	t.Helper()
	for p.Root.Remove("at-work") != nil {
		if err := (clock{}).Sleep(t.Context(), 10*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNotesAreMasked: a note shows no secret of the environment.
func TestNotesAreMasked(t *testing.T) {
	t.Parallel()
	var notes []string

	f := project.Unattended{Tell: func(line string) { notes = append(notes, line) }}
	p := open(t, f)
	h := p.Host

	const secret = "s3cr3t-of-a-test"
	h.Environ = func() []string { return []string{"MY_TOKEN=" + secret} }

	other, err := project.Open(t.Context(), p.Dir, true, h)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(t.Context())

	other.Control.Note("the answer holds %s", secret)

	if len(notes) != 1 || strings.Contains(notes[0], secret) {
		t.Errorf("notes %q, want one without the secret", notes)
	}
}

// TestStartedRunIsInItsJournal: who is given a run can read it at once.
func TestStartedRunIsInItsJournal(t *testing.T) {
	t.Parallel()

	p := open(t, &quiet{})
	r, err := p.Start(t.Context(), "/task Fix the parser", project.Options{})
	if err != nil {
		t.Fatal(err)
	}

	m := p.Monitor()
	if now, ok := m.Run(r.ID); !ok || now.Run.Line != "/task Fix the parser" {
		t.Errorf("Run(%s) = %+v, %t, want the run", r.ID, now, ok)
	}

	if _, err := r.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}

	if now, ok := m.Run(r.ID); !ok || now.State != project.StateFinished {
		t.Errorf("Run(%s) = %+v, %t, want it finished", r.ID, now, ok)
	}

	if _, ok := m.Run("nope"); ok {
		t.Error("a run that is not there is known")
	}
}
