package watch

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"tercet/formats"
	"tercet/internal/live"
	"tercet/internal/plain"
	"tercet/internal/style"
	"tercet/project"
)

// Config is the input of the screen.
type Config struct {
	In  io.Reader // the terminal
	Out io.Writer // the terminal
	Env []string  // the terminal's environment

	Projects []Place // at least one
	Notes    *Notes  // of the projects
	Now      func() time.Time
	Sheet    style.Sheet
	Link     func(file string) string // returns the URL of a project file; nil: no links

	// Suspend stops the process until it continues, as Ctrl-Z does.
	Suspend func()
	// Left is called when the screen is gone, before Run waits for runs that it suspends.
	Left func()
}

// Place is a project on the screen.
type Place struct {
	Name    string // distinct among the projects
	Project Project
	// Language is the language of the fixed texts of flows.
	Language string
	// Dir is the folder, in the quotes of a shell, that a line to type names; empty: it needs none.
	Dir string
}

// line is a line to type about a run of the project.
func (p *Place) line(verb, run string) string {
	if p.Dir == "" {
		return "tercet " + verb + " " + run
	}
	return "tercet -C " + p.Dir + " " + verb + " " + run
}

// Project is what the screen needs of a project. *project.Project is one, and says what the
// methods do.
type Project interface {
	Runs
	Orders
}

// Runs is what can be read of runs.
type Runs interface {
	Monitor() *project.Monitor
	Log(run, step string) *project.RunLog
	WorktreeChanges(ctx context.Context, run string) (string, error)
	AtWork(run string) bool
}

// Orders is what can be done with a run.
type Orders interface {
	Answer(
		ctx context.Context, run, gate string, reply project.Reply,
	) (project.AnswerEffect, error)
	Pause(ctx context.Context, run string) (project.RunInfo, error)
	Cancel(ctx context.Context, run string, o project.Options) (project.RunInfo, error)
	Resume(ctx context.Context, run, step string, o project.Options) (*project.Run, error)
}

// Notes carries the notes of a project to the screen, or past it while there is none. It is safe
// for concurrent use.
type Notes struct {
	Past func(line string) // takes a note while there is no screen

	mu     sync.Mutex
	screen func(line string)
}

// Tell shows a note.
func (n *Notes) Tell(line string) {
	n.mu.Lock()
	show := n.screen
	n.mu.Unlock()
	if show == nil {
		show = n.Past
	}
	show(line)
}

// show makes the screen take the notes; nil: it is gone.
func (n *Notes) show(screen func(line string)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.screen = screen
}

// Leave restores the terminal where Run cannot: keyboard settings and the alternate screen.
const Leave = "\x1b[>4m\x1b[<u\x1b[?1049l"

// pollInterval is the polling interval, fps the highest repaint rate.
const (
	pollInterval = time.Second
	fps          = 20
)

// Run shows the screen until the user leaves or the context ends. Runs that were resumed on it are
// suspended then: it waits until what they began is done. When the context ends they are
// interrupted.
func Run(ctx context.Context, c Config) error {
	d := newEffects(ctx, c)
	m := newModel(d, live.Style{
		Sheet: c.Sheet,
		Link:  c.Link,
	})

	profile := colorprofile.ASCII
	if c.Sheet.Colour {
		profile = colorprofile.ANSI256
	}

	p := tea.NewProgram(
		m,
		tea.WithContext(ctx),
		tea.WithInput(c.In),
		tea.WithOutput(c.Out),
		tea.WithFPS(fps),
		// bubbletea queries the terminal, and late replies would be read as keys. It does not over
		// ssh.
		tea.WithEnvironment(append(c.Env, "SSH_TTY=none")),
		tea.WithColorProfile(profile),
		tea.WithoutSignalHandler(),
	)

	c.Notes.show(func(line string) {
		p.Send(notice{text: plain.Line(line)})
	})

	_, err := p.Run()
	c.Notes.show(nil)
	c.Left()
	d.close()
	err = cmp.Or(err, d.suspend())

	switch {
	case errors.Is(err, tea.ErrProgramPanic):
		return formats.Fail(
			formats.CodeBug,
			"report it with the text above",
			"the screen broke down",
		)
	case err != nil && ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.Canceled):
		return context.Cause(ctx)
	case errors.Is(err, tea.ErrProgramKilled):
		return formats.Fail(formats.CodeCancelled, "", "terminated")
	case err != nil:
		return formats.Fail(formats.CodeIO, "run 'tercet show --log -f RUN' instead",
			"the terminal: %s", err)
	}

	return nil
}

// effects are the effects of the screen.
type effects struct {
	Config
	feed *feed
	base context.Context //nolint:containedctx // of runs: they outlive the screen
	// interrupt ends base.
	interrupt context.CancelCauseFunc
	ctx       context.Context //nolint:containedctx // of effects: a tea.Cmd gets none
	end       context.CancelFunc

	mu      sync.Mutex
	closed  bool // no new effect starts
	pending sync.WaitGroup
	runs    map[string]resumedRun // by the key of the row: those that are at work
}

// resumedRun is a run that was resumed here.
type resumedRun struct {
	*project.Run

	place *Place
}

func newEffects(ctx context.Context, c Config) *effects {
	d := &effects{
		Config: c,
		feed:   newFeed(c),
		runs:   map[string]resumedRun{},
	}
	d.base, d.interrupt = context.WithCancelCause(ctx)
	d.ctx, d.end = context.WithCancel(ctx)
	return d
}

// close ends the effects and waits for them.
func (d *effects) close() {
	d.end()
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.pending.Wait()
}

// atWork are the runs that were resumed here and are at work.
func (d *effects) atWork() []resumedRun {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []resumedRun
	for key, r := range d.runs {
		select {
		case <-r.Done():
			delete(d.runs, key)
		default:
			list = append(list, r)
		}
	}
	return list
}

// suspend suspends the runs that are at work here, and waits for them. One that cannot be paused is
// interrupted.
func (d *effects) suspend() error {
	var errs []error
	for _, r := range d.atWork() {
		_, pauseErr := r.place.Project.Pause(d.base, r.ID)
		if pauseErr != nil {
			d.interrupt(formats.Interrupted("interrupted"))
		}
		ret, err := r.Wait(context.WithoutCancel(d.base))
		switch {
		case err != nil:
			errs = append(errs, pauseErr, err)
		case ret.Resume != nil:
			d.Notes.Tell("run " + r.ID + " is suspended; to go on: " + r.place.line("resume", r.ID))
		default:
			d.Notes.Tell(outcome(r.ID, ret)) // it ended before it could be paused
		}
	}
	return errors.Join(errs...)
}

// notice is a line about an effect, for the bottom of the screen.
type notice struct {
	text string
	bad  bool
}

// track makes a command that Run waits for.
func (d *effects) track(what func() tea.Msg) tea.Cmd {
	return func() tea.Msg {
		d.mu.Lock()
		if d.closed {
			d.mu.Unlock()
			return nil
		}
		d.pending.Add(1)
		d.mu.Unlock()
		defer d.pending.Done()
		return what()
	}
}

// action makes the command of an action on a run.
func (d *effects) action(what func() (string, error)) tea.Cmd {
	return d.track(func() tea.Msg {
		text, err := what()
		if err != nil {
			return failure(err)
		}
		return notice{text: text}
	})
}

// failure is an error with its advice.
func failure(err error) notice {
	f := formats.Failed(err)
	text := err.Error()
	if len(f.Errors) > 0 {
		text = f.Errors[0].Message
		if f.Errors[0].Recommendation != "" {
			text += " (" + f.Errors[0].Recommendation + ")"
		}
	}
	return notice{text: text, bad: true}
}

// answer answers the question that the user saw, and goes on with a run that nobody works on.
func (d *effects) answer(r row, g formats.Gate, label, note string) tea.Cmd {
	return d.action(func() (string, error) {
		effect, err := r.place.Project.Answer(
			d.ctx, r.Run.ID, g.ID, project.Reply{Label: label, Note: note},
		)
		if err == nil && effect.Status == "kept" && !r.place.Project.AtWork(r.Run.ID) {
			return d.resumeRun(r)
		}
		return label + ": " + effect.Text, err
	})
}

func (d *effects) pause(r row) tea.Cmd {
	return d.action(func() (string, error) {
		now, err := r.place.Project.Pause(d.ctx, r.Run.ID)
		return "run " + r.Run.ID + " is suspended: " + now.Why, err
	})
}

func (d *effects) cancel(r row) tea.Cmd {
	return d.action(func() (string, error) {
		_, err := r.place.Project.Cancel(d.base, r.Run.ID, project.Options{})
		return "run " + r.Run.ID + " is cancelled", err
	})
}

// resume goes on with a run in this process. Its questions wait for the answers that the user gives
// on the screen.
func (d *effects) resume(of row) tea.Cmd {
	return d.action(func() (string, error) { return d.resumeRun(of) })
}

// resumeRun is resume; it waits until the run has ended or waits again.
func (d *effects) resumeRun(of row) (string, error) {
	run := of.Run.ID
	if of.place.Project.AtWork(run) {
		return "", formats.Fail(formats.CodePrecondition, "", "run %s is at work", run)
	}
	r, err := of.place.Project.Resume(d.base, run, "", project.Options{Await: true})
	if err != nil {
		return "", err
	}

	d.mu.Lock()
	d.runs[of.key] = resumedRun{r, of.place}
	d.mu.Unlock()

	ret, err := r.Wait(d.ctx)
	if d.ctx.Err() != nil {
		return "", nil //nolint:nilerr // the screen is gone, and nobody reads it
	}
	return outcome(run, ret), err
}

// outcome says how a run that was resumed came out.
func outcome(run string, ret formats.Return) string {
	switch {
	case ret.Resume != nil:
		return "run " + run + " waits again: " + ret.Summary
	case len(ret.Errors) > 0:
		return "run " + run + " " + string(ret.Status) + ": " + ret.Errors[0].Message
	}
	return "run " + run + " has ended: " + ret.Summary
}
