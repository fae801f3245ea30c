package watch

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"tercet/formats"
	"tercet/internal/control"
	"tercet/internal/journal"
	"tercet/internal/live"
	"tercet/internal/plain"
	"tercet/internal/style"
)

// Config is the input of the screen.
type Config struct {
	In  io.Reader // the terminal
	Out io.Writer // the terminal
	Env []string  // the terminal's environment

	Name    string              // the project's name
	Control *control.Controller // its notes appear on the screen
	Sheet   style.Sheet
	// Language is the language of the fixed texts of flows.
	Language string
	Link     func(file string) string // returns the URL of a project file; nil: no links

	// Diff returns the changes of a run in its worktree; empty if it has none.
	Diff func(ctx context.Context, run string) (string, error)
	// Start starts a verb on a run in a process that outlives this one and prints to a file; ended
	// receives its exit code.
	Start func(verb, run string, out *os.File) (ended <-chan int, err error)
	// Suspend stops the process until it continues, as Ctrl-Z does.
	Suspend func()
}

// Leave restores the terminal where Run cannot: keyboard settings and the alternate screen.
const Leave = "\x1b[>4m\x1b[<u\x1b[?1049l"

// pollInterval is the polling interval, fps the highest repaint rate.
const (
	pollInterval = time.Second
	fps          = 20
)

// Run shows the screen until the user leaves or the context ends.
func Run(ctx context.Context, c Config) error {
	ctx, cancel := context.WithCancel(ctx)
	d := &effects{
		Config: c,
		ctx:    ctx,
		feed:   newFeed(c),
	}
	m := newModel(d, live.Style{
		Sheet:    c.Sheet,
		Link:     c.Link,
		Language: c.Language,
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
	before := c.Control.Note
	c.Control.Note = func(format string, args ...any) {
		p.Send(notice{text: plain.Sprintf(format, args...)})
	}
	_, err := p.Run()
	cancel()
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.pending.Wait()
	c.Control.Note = before
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
	ctx  context.Context //nolint:containedctx // commands of bubbletea get no context
	feed *feed

	mu      sync.Mutex
	closed  bool // no new effect starts
	pending sync.WaitGroup
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

// act makes the command of an action on a run.
func (d *effects) act(what func() (string, error)) tea.Cmd {
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

// answer answers the question that the user saw.
func (d *effects) answer(run string, g formats.Gate, label, note string) tea.Cmd {
	return d.act(func() (string, error) {
		r, now, err := d.Control.Gate(run)
		switch {
		case err != nil:
			return "", err
		case now.ID != g.ID:
			return "", formats.Fail(
				formats.CodePrecondition,
				"look at it, and answer again",
				"the question is another one now",
			)
		}
		told, err := d.Control.Answer(d.ctx, r, now, formats.Decision{
			Answer: label,
			By:     d.Control.User,
			Person: true,
			Note:   d.Control.Mask.Text(note),
			At:     d.Control.Clock.Now().UTC(),
		})
		if err == nil && told.Status == "kept" && !d.Control.Running(run) {
			told.Text = "kept; r goes on with the run"
		}
		return label + ": " + told.Text, err
	})
}

func (d *effects) pause(run string) tea.Cmd {
	return d.act(func() (string, error) {
		r, err := d.Control.Pause(d.ctx, run)
		return "run " + run + " is suspended: " + r.Why, err
	})
}

// cancel stops a running run. A waiting run is cancelled by a process of its own, because its Error
// Handling may run.
func (d *effects) cancel(run string) tea.Cmd {
	return d.act(func() (string, error) {
		if !d.Control.Running(run) {
			return d.startVerb("cancel", run, "run "+run+" is given up")
		}
		_, taken, err := d.Control.End(d.ctx, run)
		if taken { // its process has just ended
			if err := d.Control.Release(run); err != nil {
				return "", err
			}
			return d.startVerb("cancel", run, "run "+run+" is given up")
		}
		return "run " + run + " is cancelled", err
	})
}

func (d *effects) resume(run string) tea.Cmd {
	return d.act(func() (string, error) {
		if d.Control.Running(run) {
			return "", formats.Fail(formats.CodePrecondition, "", "run %s is at work", run)
		}
		return d.startVerb("resume", run, "run "+run+" has come to its end, or waits again")
	})
}

// startVerb runs a verb in a process of its own, and reports its result if the screen is still
// open.
func (d *effects) startVerb(verb, run, done string) (string, error) {
	name := path.Join(journal.Folder, run, verb+".log")
	out, err := d.Control.Root.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	ended, err := d.Start(verb, run, out)
	if err = errors.Join(err, out.Close()); err != nil {
		return "", err
	}
	select {
	case code := <-ended:
		return done, d.outcome(code, name)
	case <-d.ctx.Done():
		return "", nil
	}
}

// outcome is the error of a failed process, with its last words. A process that waits for the user
// has not failed.
func (d *effects) outcome(code int, name string) error {
	if code == 0 || code == suspended {
		return nil
	}
	data, err := fs.ReadFile(d.Control.Root.FS(), name)
	if err != nil {
		return err
	}
	words := strings.Split(strings.TrimSpace(string(data)), "\n")
	last := words[max(0, len(words)-2):]
	return formats.Fail(formats.CodePrecondition, "",
		"exit code %d: %s", code, strings.Join(last, " "))
}

// suspended is the exit code of a run that waits.
const suspended = 75
