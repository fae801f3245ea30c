package main

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/state"
	"tercet/subagents"
)

// store is the state of a workspace; without one all is nil.
type store struct {
	reader   *state.Reader
	manager  *state.Manager
	docs     *state.Docs
	problems *state.Errors
	readOnly bool // what runs keeps no record of itself in the workspace
}

// stateConfig is what manager, reader and store of errors are made from.
func stateConfig(root *os.Root, dir string, timeout time.Duration, notice func(string)) state.Config {
	self, factsErr := proc.Facts(os.Getpid())
	return state.Config{
		Root: root, Dir: dir, Clock: clock{}, LockTimeout: timeout, Notice: notice, NewID: uuid.NewString,
		User: userName(), CommandLine: strings.Join(os.Args, " "),
		Alive: func(l formats.Lease) bool {
			if factsErr != nil || l.Host != self.Host || l.BootID != self.BootID {
				return true
			}
			return proc.Alive(proc.Proc{PID: l.PID, Start: l.PIDStart, BootID: l.BootID, Host: l.Host})
		},
		Self: func(session, run string) formats.Lease {
			return formats.Lease{
				Session: session, Run: run, Host: self.Host, BootID: self.BootID, PID: self.PID, PIDStart: self.Start,
			}
		},
	}
}

func (w *world) openState() error {
	timeout := cmp.Or(w.flags.lockTimeout, w.cfg.LockTimeout)
	cfg := stateConfig(w.root, w.dir, timeout, func(line string) { w.term.note("%s", line) })
	var err error
	if w.reader, err = state.NewReader(cfg); err != nil {
		return err
	}
	if w.manager, err = state.NewManager(cfg); err != nil {
		return err
	}
	if w.problems, err = state.NewErrors(cfg); err != nil {
		return err
	}
	w.docs = state.NewDocs(w.root)
	return nil
}

// watchState looks at state.json before a worker starts, and again when it has ended.
func (w *world) watchState(ctx context.Context) (subagents.Unwatch, error) {
	mark, err := w.manager.Mark(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) ([]byte, bool, error) { return w.manager.Guard(ctx, mark) }, nil
}

// children is where the children that run are recorded: with the person, not in a project.
func (w *world) children() proc.Register {
	r := proc.Register{Tell: func(line string) { w.term.note("%s", line) }}
	if home := w.stateHome(); home != "" {
		r.Dir = filepath.Join(home, "children")
	}
	return r
}

// sweep ends what processes of this program left behind that were killed. Nothing is ended or started before trust.
func (w *world) sweep(ctx context.Context) {
	children := w.children()
	if w.insideRun() || children.Empty() {
		return
	}
	if w.trusted() != "" {
		children.Sweep(func(c proc.Started) { w.sweepContainer(ctx, c.After) })
	}
}
