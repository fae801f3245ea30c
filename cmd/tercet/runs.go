package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"

	"tercet/commands"
	"tercet/commands/interp"
	"tercet/formats"
	"tercet/internal/control"
	"tercet/internal/git"
	"tercet/internal/journal"
	"tercet/internal/proc"
	"tercet/internal/trace"
	"tercet/router"
	"tercet/state"
	"tercet/subagents"
	"tercet/subagents/worktree"
)

// runs gives runs what they can reach.
type runs struct{ *world }

// handle runs the command that a line was routed to, or goes on with a run that its line began
// before.
func (w runs) handle(
	ctx context.Context,
	line router.Line,
	r router.Route,
	begun *journal.Run,
) (formats.Return,
	error,
) {
	if w.reader == nil && r.Name != "help" {
		return formats.Return{}, noWorkspace()
	}
	o := router.Orchestrator{
		Runner: w.library,
		Trace:  w.sink,
		NewRun: func() (string, string) { return w.sessionID(), newRunID() },
	}
	if begun != nil {
		o.NewRun = func() (string, string) {
			return begun.Begun.Session, begun.ID
		}
	}
	var past iter.Seq2[trace.Event, error]
	if begun != nil {
		if err := w.treeAgain(ctx, begun.ID); err != nil {
			return formats.Return{}, err
		}
		past = traced(journal.NewLog(w.root, begun.ID, ""))
	}
	defer w.term.stage.show(w.dir, past)()
	ret, err := o.Handle(ctx, line, r, w.flags.dryRun)
	ret.NextSteps = w.beside(r.Source, ret.NextSteps)
	for i := range ret.Errors {
		ret.Errors[i].Recommendation = w.beside(r.Source, ret.Errors[i].Recommendation)
	}

	if cerr := w.sink.end(); cerr != nil {
		w.term.note("warning: trace: %s", cerr)
	}
	if err == nil && !w.flags.dryRun && !w.term.still {
		w.bell.RunEnded(ctx, ret)
	}
	w.tidy(ctx)
	return ret, err
}

// alone waits for gits that a killed process left at work in the project: they hold locks, and
// change what is read.
func (w runs) alone(ctx context.Context) error {
	const often = 20 * time.Millisecond
	const quiet = time.Second
	most := cmp.Or(w.flags.lockTimeout, w.cfg.LockTimeout)
	for waited := time.Duration(0); ; waited += often {
		left := proc.Orphans("TERCET_ROOT=" + w.dir)
		switch {
		case len(left) == 0:
			return nil
		case waited >= most:
			return formats.Fail(formats.CodeLocked,
				sprintf("wait until it ends, or end it: kill %d", left[0]),
				"git (process %d), which a killed tercet left here, is still at work",
				left[0])
		case waited == quiet:
			w.term.note("waiting for git (process %d), which a killed tercet left here", left[0])
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(often):
		}
	}
}

// treeAgain makes the worktree of a run that goes on again, after a user removed it, and takes dead
// locks out of what is there. If it held work that no commit has, that is an error, and the run
// stays as it is.
func (w runs) treeAgain(ctx context.Context, run string) error {
	if err := w.alone(ctx); err != nil {
		return err
	}
	past := w.desk.Past(run)
	t := journal.OpenWorktree(past)
	repo := worktree.Repository{Manager: w.trees}
	if !w.flags.giveUp {
		if err := repo.CheckMoved(t.Dir, run); err != nil {
			return err
		}
	}
	err := w.git(w.dir).Unlock(run)
	if again := journal.ReopeningOf(past); again != nil && err == nil {
		err = w.dispatcher.Restore(run, again.Documents)
		if err == nil && t.Dir != "" {
			err = repo.Reopen(ctx, worktree.Spec{Branch: t.Branch, Run: run}, t.Head, again.Wip)
		}
		return err
	}

	switch {
	case err != nil, t.Closing, w.flags.giveUp, !repo.Gone(t.Dir, run):
		return err
	case t.Uncommitted != "" && !w.flags.acceptChanges:
		return formats.Fail(
			formats.CodeSuspended,
			sprintf("tercet resume %s --from '%s' does it again, with "+
				"--accept-changes it goes on without it", run, t.Uncommitted),
			"the worktree of run %s was removed, and with it what step %s had done since the "+
				"last commit",
			run,
			t.Uncommitted,
		)
	}

	said, err := repo.Again(ctx, worktree.Spec{Branch: t.Branch, Run: run}, t.Head)
	if err == nil {
		w.term.note("%s", said)
	}
	return err
}

// begin asks for trust and reads the auto-approve file, once the line is known to be whole.
func (w runs) begin(ctx context.Context, inv formats.Invocation) error {
	// it has one step, and its answer is all
	w.term.still = inv.Name == "help" && inv.Source == librarySource
	err := consent(w).first(ctx, inv)
	if err != nil || !w.has {
		return err
	}
	agreed, err := w.gate.Consent(inv.Name, clock{}.Now())
	w.approver.consent = agreed.Consent
	if agreed.Absent != "" {
		w.term.note("%s", agreed.Absent)
	}
	return err
}

// runConfig gives one run everything that it can reach. The run's folder is made with the first
// entry of its journal.
func (w runs) runConfig(ctx context.Context, inv formats.Invocation) (interp.Config, error) {
	flags := &w.flags
	cfg := interp.Config{
		Agents:      w.dispatcher,
		State:       noState{},
		Docs:        noDocs{},
		Problems:    w.problemStore(),
		Approve:     w.approver,
		Lint:        w.lintOwn,
		Journal:     noJournal{},
		Clock:       clock{},
		Trace:       w.sink,
		Show:        w.term.table,
		Dir:         w.dir,
		Specs:       w.cfg.Specs,
		Env:         w.environment,
		Limits:      w.cfg.Limits,
		Consent:     w.approver.consent,
		AutoApprove: flags.yes || w.approver.consent.File != "",
		DryRun:      inv.DryRun,
		IfNeeded:    flags.ifNeeded,
		Abort:       w.signals.hardContext(),
		Diff:        w.diff,
		IDs: interp.IDs{
			Run:     inv.Run,
			Session: inv.Session,
			Command: inv.Line,
			Path:    inv.Path,
		},
	}
	if w.play != nil && w.play.cast != nil {
		cfg.Limits.Parallel = 1 // the order of the file
	}
	if flags.stubs != "" {
		if !inv.DryRun {
			return cfg, usage("--stubs belongs to --dry-run: a real run calls its subagents")
		}
		data, err := os.ReadFile(filepath.Clean(flags.stubs))
		if err != nil {
			return cfg, broken(formats.CodeIO, "stub returns", err)
		}
		if cfg.Stubs, err = interp.ParseStubs(flags.stubs, data); err != nil {
			return cfg, err
		}
	}
	if w.reader == nil || w.readOnly {
		return cfg, nil
	}

	cfg.State = w.reader
	cfg.Docs = w.docs
	cfg.Discard = w.dispatcher.Discard
	cfg.RepoState = worktree.Repository{Manager: w.trees}.State
	if !inv.DryRun {
		cfg.Spent = journal.WorkingTime(w.desk.Past(inv.Run))
		who := fields{"user": userName(), "tercet_version": version}
		made := func(dir string) error { return w.sink.open(w.root, dir) }
		ledger := w.desk.Open(ctx, inv.Run, who, flags.giveUp, made)
		cfg.Journal = ledger
		cfg.Resumed, cfg.Killed = ledger.Resumed()
		cfg.AcceptChanges = flags.acceptChanges || flags.giveUp
		cfg.Accepted = ledger.Accepted
		cfg.Accept = ledger.Accept
		cfg.Start = formats.Started{
			Version: version,
			User:    userName(),
			Raw:     inv.Raw,
			Words:   inv.Words,
			Among:   inv.Among,
			Files:   w.deciding,
		}
		cfg.GateID = rand.Text
		cfg.Pause, cfg.Stop = w.desk.OrderContexts(ctx, inv.Run)
		w.sink.begin(inv.Run)
		w.bell.RunStarted(inv.Run, inv.Line)
	}
	return cfg, nil
}

// environment looks up a variable that a command file names under `env`. A dry run needs no trust,
// so that it sees none in a project that you have not agreed to.
func (w runs) environment(name string) (string, bool) {
	if w.trusted() == "" {
		return "", false
	}
	return os.LookupEnv(name)
}

// countedFlow is the agent of a subagent file with steps. They are compiled at the first call or
// lint, because the set of subagents is complete then. It tells the Dispatcher what the workers of
// the steps used.
type countedFlow struct{ *commands.Workflow }

// RunMetered runs the steps.
func (f countedFlow) RunMetered(
	ctx context.Context,
	r formats.Request,
) (formats.Return, subagents.Measured, error) {
	ret, used, err := f.RunCounted(ctx, r)
	return ret, subagents.Measured{
		Runner: "workflow",
		Tokens: used.Tokens,
		Cost:   used.Cost,
		Spawns: used.Spawns,
	}, err
}

// stepsConfig gives the steps of a subagent what a run reaches, except the user. Their entries are
// in its journal.
func (w runs) stepsConfig(ctx context.Context, r formats.Request) (interp.Config, error) {
	if w.frozen != nil {
		return *w.frozen, nil
	}
	inv := formats.Invocation{
		Run:     r.Run,
		Session: r.Session,
		Line:    r.Command,
		Path:    r.Path,
		DryRun:  true,
	}
	cfg, err := w.runConfig(ctx, inv)
	if err != nil || w.reader == nil {
		return cfg, err
	}
	cfg.DryRun = false
	cfg.Stubs = nil
	cfg.Discard = nil
	ledger := w.desk.Ledger(r.Run)
	cfg.Journal = ledger
	cfg.GateID = rand.Text
	cfg.Resumed, cfg.Killed = ledger.Resumed()
	cfg.AcceptChanges = w.flags.acceptChanges || w.flags.giveUp
	cfg.Accepted = ledger.Accepted
	cfg.Accept = ledger.Accept
	return cfg, nil
}

// diff is what the work in a tree changed. A worktree is compared with the user's checkout, the
// checkout with its last commit.
func (w runs) diff(ctx context.Context, dir string) (patch, stat string, err error) {
	data, files, err := w.git(dir).Changes(ctx, w.checkout(dir), formats.Workspace)
	return string(data), strings.Join(files, "\n"), err
}

// checkout is the user's own tree, if dir is another one; else nil.
func (w runs) checkout(dir string) *git.Repo {
	if dir == w.dir {
		return nil
	}
	return w.git(w.dir)
}

// work is what the work in a tree changed, with the files that are new in it.
func (w runs) work(ctx context.Context, dir string) (string, error) {
	return w.git(dir).Work(ctx, w.checkout(dir), formats.Workspace)
}

// problemStore is errors.json, or nothing where there is no workspace.
func (w runs) problemStore() interp.Problems {
	if w.problems == nil {
		return noProblems{}
	}
	return maskedProblems{w.problems, w.mask}
}

// What a dry run, and a run without a workspace, use in place of the real stores.
type (
	noState    struct{}
	noDocs     struct{}
	noJournal  struct{}
	noProblems struct{}
)

func (noState) Snapshot(context.Context) (any, uint64, error) {
	return map[string]any{"tasks": []any{}}, 0, nil
}

func (noDocs) Open(context.Context, string) ([]byte, error) {
	return nil, noWorkspace()
}
func (noDocs) Glob(context.Context, []string) ([]string, error) {
	return nil, noWorkspace()
}
func (noDocs) Sum(context.Context, string) (string, error) {
	return "", noWorkspace()
}

func (noJournal) Append(context.Context, formats.Entry, bool) (bool, error) {
	return false, nil
}
func (noJournal) Live(bool) error {
	return nil
}
func (noJournal) Resumable() bool {
	return false
}
func (noJournal) Recall(formats.Entry) (json.RawMessage, bool) {
	return nil, false
}

func (noProblems) Record(context.Context, formats.Problem) error {
	return nil
}
func (noProblems) List(context.Context) ([]state.Recorded, error) {
	return nil, nil
}

// maskedProblems is errors.json without secrets.
type maskedProblems struct {
	*state.Errors
	mask *journal.Masker
}

func (p maskedProblems) Record(ctx context.Context, one formats.Problem) error {
	one.Message = p.mask.Text(one.Message)
	one.Action = p.mask.Text(one.Action)
	one.Context.Command = p.mask.Text(one.Context.Command)
	return p.Errors.Record(ctx, one)
}

// store is the state of a workspace; without one all is nil.
type store struct {
	reader   *state.Reader
	manager  *state.Manager
	docs     *state.Docs
	problems *state.Errors
	desk     *control.Controller // of the runs
	bell     *control.Notifier   // tells what waits; nil: no notice
	readOnly bool                // what runs keeps no record of itself in the workspace
}

// stateConfig is what manager, reader and store of errors are made from.
func stateConfig(
	root *os.Root,
	dir string,
	timeout time.Duration,
	notice func(string),
) state.Config {
	self, factsErr := proc.Facts(os.Getpid())
	return state.Config{
		Root:        root,
		Dir:         dir,
		Clock:       clock{},
		LockTimeout: timeout,
		Notice:      notice,
		NewID:       uuid.NewString,
		User:        userName(),
		CommandLine: strings.Join(os.Args, " "),
		Holders:     lockHolders,
		Alive: func(l formats.Lease) bool {
			if factsErr != nil || l.Host != self.Host || !l.Suspended && l.BootID != self.BootID {
				return true
			}
			if l.Suspended {
				_, err := root.Lstat(journal.Folder + "/" + l.Run + "/" + journal.Name)
				return !os.IsNotExist(err)
			}
			return proc.Alive(proc.Proc{
				PID:    l.PID,
				Start:  l.PIDStart,
				BootID: l.BootID,
				Host:   l.Host,
			})
		},
		Self: func(session, run string) formats.Lease {
			return formats.Lease{
				Session:  session,
				Run:      run,
				Host:     self.Host,
				BootID:   self.BootID,
				PID:      self.PID,
				PIDStart: self.Start,
			}
		},
	}
}

// shownCommand bounds the command line of a process that holds a lock, in runes.
const shownCommand = 80

// lockHolders lists the processes that hold a lock file, with those that belong to a worker.
func lockHolders(path string) (out []state.LockHolder) {
	for _, h := range proc.LockHolders(path, childWord) {
		one := state.LockHolder{PID: h.PID, Command: formats.Clip(h.Command, shownCommand)}
		if h.Worker() {
			one.Evict = h.EndWorker
		}
		out = append(out, one)
	}
	return out
}

// Above largeState bytes of state.json, garbage is collected when it is a third of what is in use,
// so that a verb that reads 64 MiB stays below 300 MB.
const (
	largeState     = 16 << 20
	gcOfLargeState = 33
)

func (w *world) openState() error {
	timeout := cmp.Or(w.flags.lockTimeout, w.cfg.LockTimeout)
	cfg := stateConfig(w.root, w.dir, timeout, func(line string) {
		w.term.note("%s", line)
	})
	cfg.Key = state.SealKey(w.stateHome(), rand.Text)
	var errs [3]error
	info, err := w.root.Stat(formats.Workspace + "/state.json")
	if err == nil && info.Size() > largeState {
		debug.SetGCPercent(gcOfLargeState)
	}
	w.reader, errs[0] = state.NewReader(cfg)
	w.manager, errs[1] = state.NewManager(cfg)
	w.problems, errs[2] = state.NewErrors(cfg)
	w.docs = state.NewDocs(w.root)
	w.desk.Claim = func(file string) (io.Closer, error) {
		return cfg.Claim(file, w.sessionID())
	}
	w.keep(w.desk)
	return cmp.Or(errs[:]...)
}

// watchState looks at state.json before a worker starts, and again when it has ended.
func (w *world) watchState(context.Context) (subagents.Unwatch, error) {
	mark, err := w.manager.Mark()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) ([]byte, error) { return w.manager.Guard(ctx, mark) }, nil
}

// children is where the children that run are recorded: with the user, not in a project.
func (w *world) children() proc.Register {
	r := proc.Register{Tell: func(line string) { w.term.note("%s", line) }}
	if home := w.stateHome(); home != "" {
		r.Dir = filepath.Join(home, "children")
	}
	return r
}

// sweep ends what processes of this program left behind that were killed. Nothing is ended or
// started before trust.
func (w *world) sweep(ctx context.Context) {
	children := w.children()
	if w.insideRun() || children.Empty() {
		return
	}
	if w.trusted() != "" {
		children.Sweep(func(c proc.Started) { w.sweepContainer(ctx, c.After) })
	}
}
