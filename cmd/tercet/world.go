package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"sync"

	"tercet/commands/interp"
	"tercet/formats"
	"tercet/internal/config"
	"tercet/internal/journal"
	"tercet/internal/proc"
	"tercet/internal/trust"
	"tercet/subagents"
	"tercet/subagents/agentcli"
	"tercet/subagents/sandbox"
	"tercet/subagents/worktree"
)

// world is everything of one project root, built by hand. What belongs together is embedded as one.
type world struct {
	*app
	dir     string // project root, absolute; the current folder without a workspace
	has     bool   // there is a workspace
	root    *os.Root
	cfg     config.Config
	starter *proc.Starter
	gate    *trust.Gate // decides what of the project may start a program
	keeper  *sandbox.Keeper
	store
	listing
	crew
	records
}

// crew are the subagents and what their work needs.
type crew struct {
	online     []string // variables for what goes over the network
	set        *subagents.Set
	models     subagents.Models
	dispatcher *subagents.Dispatcher
	auto       *agentcli.Auto
	trees      *worktree.Manager
	approver   *approver
	agentNotes []formats.Diagnostic // about the agents of other tools
	broken     *formats.Diagnostics // about the subagent files that cannot be used; nil without one
}

// toldBroken marks that a verb tells of broken subagent files itself.
const toldBroken = "broken subagents"

// records are what is written down of runs, and what is to be closed behind them.
type records struct {
	sink *switchboard
	mask *journal.Masker // of everything that is logged
	tape *os.Root        // of --record or --replay, nil without

	frozen  *interp.Config // what a run reaches that is only looked at; nil: it is none
	mu      sync.Mutex     // guards the rest: subagents with steps run side by side
	closers []io.Closer
}

// world builds the world once a process, with or without a workspace.
func (a *app) world(ctx context.Context) (*world, error) {
	w, err := a.ground(ctx)
	if err != nil || w.set != nil {
		return w, err
	}
	w.list()
	if err := w.agents(); err != nil {
		return nil, errors.Join(err, a.forget())
	}
	return w, nil
}

// ground builds what of the world every verb of a project stands on: all but the commands and the
// subagents.
func (a *app) ground(ctx context.Context) (*world, error) {
	if a.built != nil {
		return a.built, nil
	}
	w, err := a.lookAround()
	if err == nil {
		err = w.build(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	a.built = w
	return w, nil
}

// lookAround finds the project and the command files there are, which is all that `tercet which
// --route` needs: no state, no subagent and no process.
func (a *app) lookAround() (_ *world, err error) {
	w := &world{
		app: a,
		crew: crew{approver: &approver{
			app:     a,
			asking:  make(chan struct{}, 1),
			answers: map[answerKey]formats.Decision{},
		}},
	}
	if w.dir, w.has, err = a.project(); err != nil {
		return w, err
	}
	if w.root, err = os.OpenRoot(w.dir); err != nil {
		return w, broken(formats.CodeIO, "project root", err)
	}
	w.keep(w.root)
	w.gate = w.newGate()
	w.scanned.agents = sync.OnceValue(w.finder().Agents)
	if err = w.readConfig(); err != nil {
		return w, err
	}
	return w, w.scan()
}

// workspace is the ground of a project root that has a workspace.
func (a *app) workspace(ctx context.Context) (*world, error) {
	w, err := a.ground(ctx)
	if err == nil && w.reader == nil {
		return nil, noWorkspace()
	}
	return w, err
}

// inside is the world of a project that has a workspace.
func (a *app) inside(ctx context.Context) (*world, error) {
	w, err := a.world(ctx)
	if err == nil && w.reader == nil {
		return nil, noWorkspace()
	}
	return w, err
}

func (r *records) close() error {
	var errs []error
	for _, c := range slices.Backward(r.closers) {
		errs = append(errs, c.Close())
	}
	r.closers = nil
	return errors.Join(errs...)
}

// keep closes what was opened when the world is closed.
func (r *records) keep(c io.Closer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closers = append(r.closers, c)
}
