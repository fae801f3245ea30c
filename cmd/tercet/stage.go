package main

import (
	"context"
	"io"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"tercet/frontends/watch"
	"tercet/internal/keyboard"
	"tercet/internal/live"
	"tercet/internal/style"
	"tercet/internal/trace"
)

// stage is where runs are shown while they go on.
type stage struct {
	*live.Screen

	app  *app
	bare io.Writer   // standard error itself
	full io.Writer   // standard output itself
	root string      // the project root, for links
	lang string      // of the fixed texts of flows
	over atomic.Bool // another screen is shown, which a hard end has to leave
	keys bool        // all keys are guarded: at the prompt, where no shell waits for a line
}

// newStage takes over standard error, and standard output where both are the terminal: what is
// printed comes above what is drawn.
func newStage(a *app, s stdio) *stage {
	g := &stage{
		app:  a,
		bare: s.err,
		full: s.out,
	}
	g.Screen = live.NewScreen(live.Config{
		Out:         s.err,
		Size:        g.room,
		Now:         time.Now,
		Style:       g.look,
		CaptureKeys: g.guard(),
	})
	if a.term.errTTY {
		s.err = g.Above(s.err)
	}
	s.err = veil{s.err, a.term}
	if a.term.outTTY {
		s.out = veil{g.Above(s.out), a.term}
	}
	a.io = s
	a.term.io = s
	a.term.stage = g
	return g
}

// show shows what runs in a project until done is called. Past is what another process did of it.
func (g *stage) show(root string, past iter.Seq2[trace.Event, error]) (done func()) {
	t := g.app.term
	g.root = root
	g.lang = g.app.language()
	if !t.tells() {
		return func() {}
	}
	g.Begin(t.parts, g.app.flags.verbose == 1, past)
	over := aborts(g.restore, g.CursorMoved)
	return func() {
		over()
		g.End()
	}
}

// restore leaves the terminal as it was.
func (g *stage) restore() {
	if g.over.Load() {
		io.WriteString(g.full, watch.Leave) //nolint:errcheck // a terminal that is gone needs no more
	}
	if g.app.keyboard != nil {
		g.app.keyboard.Restore(g.bare)
	}
}

// screen gives the terminal to a full screen until done is called; rest stops the process
// meanwhile.
func (g *stage) screen() (rest, done func(), err error) {
	k := g.app.keyboard
	if k == nil {
		return suspended, func() {}, nil
	}
	if err := k.Raw(g.full); err != nil {
		return nil, nil, err
	}
	g.over.Store(true)
	end := aborts(g.restore, func() {})
	rest = func() {
		k.Settle(g.full)
		suspended()
		k.Raw(g.full) //nolint:errcheck // a terminal that is gone is told by the screen
	}
	return rest, func() {
		g.over.Store(false)
		k.Settle(g.full)
		end()
	}, nil
}

// settled is how long a run of a shell goes on until its keys are guarded.
const settled = time.Second

// guard keeps keys that are typed while something runs from whatever reads the terminal next;
// Escape is one Ctrl-C. A line that was typed at once behind the line of a shell is the shell's,
// and who reads the answer may read the keys.
func (g *stage) guard() func(ours bool) {
	stop := func() {}
	return func(ours bool) {
		stop()
		stop = func() {}
		if !ours || g.app.keyboard == nil || !g.keys && !g.app.term.outTTY {
			return
		}

		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if !g.keys {
				if typed, err := g.app.keyboard.Typed(ctx, settled); typed || err != nil {
					return
				}
			}
			g.app.keyboard.Guard(ctx, func(key byte) {
				if key == keyboard.Stop {
					go g.rest()
				} else {
					g.app.signals.arrive(os.Interrupt)
				}
			})
		}()
		stop = func() {
			cancel()
			<-done
			g.app.keyboard.Restore(io.Discard)
		}
	}
}

// lend gives the terminal to a program of the user's choice.
func (g *stage) lend() (out *os.File, done func()) {
	out, _ = g.bare.(*os.File) //nolint:errcheck // who is asked sits at one
	return out, g.Lend()
}

// rest stops the process until it goes on; the terminal is as it was meanwhile.
func (g *stage) rest() {
	resume := g.Pause()
	suspended()
	resume(true)
}

// room is the size of the terminal that runs are drawn on, 0 columns where they are not drawn.
func (g *stage) room() (wide, rows int) {
	f, ok := g.bare.(*os.File)
	if !g.app.term.errTTY || !ok || !style.Capable(g.app.env("TERM")) || !keyboard.Foreground(f) {
		return 0, 0
	}
	return size(f)
}

// look is what runs are drawn with.
func (g *stage) look() live.Style {
	t := g.app.term
	s := live.Style{Sheet: t.sheet(t.errTTY), Language: g.lang}
	if t.errTTY && t.env("TERCET_HYPERLINKS") != "0" && g.root != "" {
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

// linked is a text as a link to a file, which is named from here or from the project root. Without
// links in the terminal, or without the file, it is the text alone.
func (g *stage) linked(file, text string) string {
	path, err := filepath.Abs(file)
	if g != nil && g.app.project != nil && !exists(path) {
		path = filepath.Join(g.app.project.Dir, file)
	}
	if g == nil || err != nil || !exists(path) || !style.Capable(g.app.env("TERM")) ||
		g.app.env("TERCET_HYPERLINKS") == "0" {
		return text
	}
	return style.Link(address(path), text)
}
