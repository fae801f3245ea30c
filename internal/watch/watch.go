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

	Name  string              // the project's name
	Desk  *control.Controller // its notes appear on the screen
	Sheet style.Sheet
	// Language is that in which the fixed texts of flows are shown.
	Language string
	Link     func(file string) string // gives the address of a project file; nil: no links

	// Diff gives the changes of a run in its worktree; empty if it has none.
	Diff func(ctx context.Context, run string) (string, error)
	// Start starts a verb on a run in a process that outlives this one and prints to a file; ended
	// gives its exit code.
	Start func(verb, run string, out *os.File) (ended <-chan int, err error)
	// Suspend stops the process until it continues, as Ctrl-Z does.
	Suspend func()
}

// Leave restores the terminal where Run cannot: keyboard settings and the alternate screen.
const Leave = "\x1b[>4m\x1b[<u\x1b[?1049l"

// every is the polling interval, fps the highest repaint rate.
const (
	every = time.Second
	fps   = 20
)

// Run shows the screen until the user leaves or the context ends.
func Run(ctx context.Context, c Config) error {
	ctx, cancel := context.WithCancel(ctx)
	d := &deeds{
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
		// What asks the terminal questions, whose answers could come too late, is left out where a
		// terminal is far.
		tea.WithEnvironment(append(c.Env, "SSH_TTY=none")),
		tea.WithColorProfile(profile),
		tea.WithoutSignalHandler(),
	)
	before := c.Desk.Note
	c.Desk.Note = func(format string, args ...any) {
		p.Send(told{text: plain.Sprintf(format, args...)})
	}
	_, err := p.Run()
	cancel()
	d.mu.Lock()
	d.left = true
	d.mu.Unlock()
	d.under.Wait()
	c.Desk.Note = before
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

// deeds are the effects of the screen.
type deeds struct {
	Config
	ctx  context.Context //nolint:containedctx // commands of bubbletea are given none
	feed *feed

	mu    sync.Mutex
	left  bool // nothing more is begun
	under sync.WaitGroup
}

// told is a line about what was done, for the bottom of the screen.
type told struct {
	text string
	bad  bool
}

// do makes a command that is waited for in the end.
func (d *deeds) do(what func() tea.Msg) tea.Cmd {
	return func() tea.Msg {
		d.mu.Lock()
		if d.left {
			d.mu.Unlock()
			return nil
		}
		d.under.Add(1)
		d.mu.Unlock()
		defer d.under.Done()
		return what()
	}
}

// act makes the command of something that is done to a run.
func (d *deeds) act(what func() (string, error)) tea.Cmd {
	return d.do(func() tea.Msg {
		text, err := what()
		if err != nil {
			return failure(err)
		}
		return told{text: text}
	})
}

// failure is an error with its advice.
func failure(err error) told {
	f := formats.Failed(err)
	text := err.Error()
	if len(f.Errors) > 0 {
		text = f.Errors[0].Message
		if f.Errors[0].Recommendation != "" {
			text += " (" + f.Errors[0].Recommendation + ")"
		}
	}
	return told{text: text, bad: true}
}

// answer answers the question that the user saw.
func (d *deeds) answer(run string, g formats.Gate, label, note string) tea.Cmd {
	return d.act(func() (string, error) {
		r, now, err := d.Desk.Gate(run)
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
		told, err := d.Desk.Answer(d.ctx, r, now, formats.Decision{
			Answer: label,
			By:     d.Desk.User,
			Person: true,
			Note:   d.Desk.Mask.Text(note),
			At:     d.Desk.Clock.Now().UTC(),
		})
		if err == nil && told.Status == "kept" && !d.Desk.Running(run) {
			told.Text = "kept; r goes on with the run"
		}
		return label + ": " + told.Text, err
	})
}

func (d *deeds) pause(run string) tea.Cmd {
	return d.act(func() (string, error) {
		r, err := d.Desk.Pause(d.ctx, run)
		return "run " + run + " is suspended: " + r.Why, err
	})
}

// cancel ends a run that goes on. One that waits is given up by a process of its own, as its Error
// Handling may work.
func (d *deeds) cancel(run string) tea.Cmd {
	return d.act(func() (string, error) {
		if !d.Desk.Running(run) {
			return d.started("cancel", run, "run "+run+" is given up")
		}
		_, taken, err := d.Desk.End(d.ctx, run)
		if taken { // its process has just ended
			if err := d.Desk.Release(run); err != nil {
				return "", err
			}
			return d.started("cancel", run, "run "+run+" is given up")
		}
		return "run " + run + " is cancelled", err
	})
}

func (d *deeds) resume(run string) tea.Cmd {
	return d.act(func() (string, error) {
		if d.Desk.Running(run) {
			return "", formats.Fail(formats.CodePrecondition, "", "run %s is at work", run)
		}
		return d.started("resume", run, "run "+run+" has come to its end, or waits again")
	})
}

// started begins a verb in a process of its own, and tells how that ended if it does while the
// screen is there.
func (d *deeds) started(verb, run, done string) (string, error) {
	name := path.Join(journal.Folder, run, verb+".log")
	out, err := d.Desk.Root.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
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

// outcome is why a process has failed, in its own last words. One that waits for the user has not.
func (d *deeds) outcome(code int, name string) error {
	if code == 0 || code == suspended {
		return nil
	}
	data, err := fs.ReadFile(d.Desk.Root.FS(), name)
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
