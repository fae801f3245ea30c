package term

import (
	"context"
	"io"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"tercet/internal/keyboard"
	"tercet/internal/live"
	"tercet/internal/style"
	"tercet/project"
)

// stage is where runs are shown while they go on.
type stage struct {
	*live.Screen

	t    *Terminal
	bare io.Writer // standard error itself
	full io.Writer // standard output itself
	root string    // the project root, for links
	lang string    // of the fixed texts of flows
	// over is what leaves a full screen that is shown; nil: there is none.
	leaveText atomic.Pointer[string]
	keys      bool // all keys are guarded: at the prompt, where no shell waits for a line
}

// newStage takes over the streams of a terminal.
func newStage(t *Terminal) *stage {
	g := &stage{
		t:    t,
		bare: t.Err,
		full: t.Out,
	}
	g.Screen = live.NewScreen(live.Config{
		Out:         t.Err,
		Size:        g.drawSize,
		Now:         t.config.Clock.Now,
		Style:       g.drawStyle,
		CaptureKeys: g.guard(),
	})
	if t.ErrTTY {
		t.Err = g.Above(t.Err)
	}
	t.Err = maskedWriter{t.Err, t}
	if t.OutTTY {
		t.Out = maskedWriter{g.Above(t.Out), t}
	}
	return g
}

// show shows what runs in a project until done is called. Past is what another process did of it.
func (g *stage) show(root string, past iter.Seq2[project.Event, error]) (done func()) {
	t := g.t
	g.root = root
	g.lang = t.language()
	if !t.showsRuns() {
		return func() {}
	}

	g.Begin(t.labels, t.Set.Verbose == 1, past)
	over := onCrash(g.restore, g.CursorMoved)
	return func() {
		over()
		g.End()
	}
}

// restore leaves the terminal as it was.
func (g *stage) restore() {
	if leave := g.leaveText.Load(); leave != nil {
		io.WriteString(g.full, *leave) //nolint:errcheck // a terminal that is gone needs no more
	}
	if g.t.keyboard != nil {
		g.t.keyboard.Restore(g.bare)
	}
}

// fullScreen gives the terminal to a full screen until done is called; rest stops the process
// meanwhile. A hard end writes leave.
func (g *stage) fullScreen(leave string) (rest, done func(), err error) {
	k := g.t.keyboard
	if k == nil {
		return suspendProcess, func() {}, nil
	}
	if err := k.Raw(g.full); err != nil {
		return nil, nil, err
	}

	g.leaveText.Store(&leave)
	end := onCrash(g.restore, func() {})
	rest = func() {
		k.Settle(g.full)
		suspendProcess()
		k.Raw(g.full) //nolint:errcheck // a terminal that is gone is told by the screen
	}
	return rest, func() {
		g.leaveText.Store(nil)
		k.Settle(g.full)
		end()
	}, nil
}

// guardDelay is how long a run that was started from a shell goes on until its keys are guarded.
const guardDelay = time.Second

// guard keeps keys that are typed while something runs from whatever reads the terminal next;
// Escape is one Ctrl-C. A line that was typed at once behind the line of a shell is the shell's,
// and who reads the answer may read the keys.
func (g *stage) guard() func(ours bool) {
	stop := func() {}
	return func(ours bool) {
		stop()
		stop = func() {}
		if !ours || g.t.keyboard == nil || !g.keys && !g.t.OutTTY {
			return
		}

		ctx, cancel := context.WithCancel(g.t.config.Signals.AbortContext())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if !g.keys {
				if typed, err := g.t.keyboard.Typed(ctx, guardDelay); typed || err != nil {
					return
				}
			}
			g.t.keyboard.Guard(ctx, func(key byte) {
				if key == keyboard.Stop {
					go g.suspend()
				} else {
					g.t.config.Signals.Handle(os.Interrupt)
				}
			})
		}()
		stop = func() {
			cancel()
			<-done
			g.t.keyboard.Restore(io.Discard)
		}
	}
}

// lend gives the terminal to a program of the user's choice.
func (g *stage) lend() (out *os.File, done func()) {
	out, _ = g.bare.(*os.File) //nolint:errcheck // who is asked sits at one
	return out, g.Lend()
}

// suspend stops the process until it goes on; the terminal is as it was meanwhile.
func (g *stage) suspend() {
	resume := g.Pause()
	suspendProcess()
	resume(true)
}

// drawSize gives the size of the terminal on which runs are drawn; 0 columns: they are not drawn.
func (g *stage) drawSize() (wide, rows int) {
	f, ok := g.bare.(*os.File)
	if !g.t.ErrTTY || !ok || !style.Capable(g.t.config.Env("TERM")) || !keyboard.Foreground(f) {
		return 0, 0
	}
	return size(f)
}

// drawStyle gives the style in which runs are drawn.
func (g *stage) drawStyle() live.Style {
	t := g.t
	s := live.Style{Sheet: t.Sheet(t.ErrTTY), Language: g.lang}
	if t.ErrTTY && t.config.Env("TERCET_HYPERLINKS") != "0" && g.root != "" {
		s.Link = func(name string) string {
			return address(filepath.Join(g.root, name))
		}
	}
	return s
}

// address is that of a file, for a link.
func address(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

// linkTo is a text as a link to a file, which is named from here or from the project root. Without
// links in the terminal, or without the file, it is the text alone.
func (g *stage) linkTo(file, text string) string {
	path, err := filepath.Abs(file)
	if g.t.project != nil && !exists(path) {
		path = filepath.Join(g.t.project.Dir, file)
	}
	if err != nil || !exists(path) || !style.Capable(g.t.config.Env("TERM")) ||
		g.t.config.Env("TERCET_HYPERLINKS") == "0" {
		return text
	}
	return style.Link(address(path), text)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
