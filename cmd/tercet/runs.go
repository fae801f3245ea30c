package main

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"tercet/commands"
	"tercet/commands/argspec"
	"tercet/commands/interp"
	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/git"
	"tercet/internal/journal"
	"tercet/internal/letters"
	"tercet/internal/proc"
	"tercet/internal/trace"
	"tercet/router"
	"tercet/state"
	"tercet/subagents"
	"tercet/templates/meta"
)

// runs gives runs what they can reach.
type runs struct{ *world }

// handle runs the command that a line was routed to, or goes on with a run that its line began before.
func (w runs) handle(ctx context.Context, line router.Line, r router.Route, begun *journal.Run) (formats.Return,
	error,
) {
	if w.reader == nil && r.Name != "help" {
		return formats.Return{}, noWorkspace()
	}
	o := router.Orchestrator{
		Runner: w.library, Trace: w.sink, NewRun: func() (string, string) { return w.sessionID(), newRunID() },
	}
	if begun != nil {
		o.NewRun = func() (string, string) { return begun.Begun.Session, begun.ID }
	}
	ret, err := o.Handle(ctx, line, r, w.flags.dryRun)
	if cerr := w.sink.end(); cerr != nil {
		w.term.note("warning: trace: %s", cerr)
	}
	w.tidy(ctx)
	return ret, err
}

// begin asks for trust and reads the auto-approve file, once the line is known to be whole.
func (w runs) begin(ctx context.Context, inv formats.Invocation) error {
	w.term.still = inv.Name == "help" && inv.Source == librarySource // it has one step, and its answer is all
	err := consent(w).first(ctx, inv)
	if err != nil || !w.has {
		return err
	}
	agreed, err := w.gate.Consent(inv.Name, clock{}.Now())
	if w.approver.consent = agreed.File; agreed.Absent != "" {
		w.term.note("%s", agreed.Absent)
	}
	return err
}

// runConfig gives one run everything that it can reach. The run's folder is made with the first entry of its journal.
func (w runs) runConfig(_ context.Context, inv formats.Invocation) (interp.Config, error) {
	flags := &w.flags
	cfg := interp.Config{
		Agents: w.dispatcher, State: noState{}, Docs: noDocs{}, Problems: w.problemStore(), Approve: w.approver,
		Lint: w.lintOwn, Journal: noJournal{}, Clock: clock{}, Trace: w.sink, Show: w.term.table, Dir: w.dir,
		Env: w.environment, Limits: w.cfg.Limits, AutoApprove: flags.yes || w.approver.consent != "",
		DryRun: inv.DryRun, Abort: w.signals.hardContext(), Diff: w.diff,
		IDs: interp.IDs{Run: inv.Run, Session: inv.Session, Command: inv.Line, Path: inv.Path},
	}
	if flags.stubs != "" {
		if !inv.DryRun {
			return cfg, usage("--stubs belongs to --dry-run: a run asks its subagents")
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
	cfg.State, cfg.Docs, cfg.Discard = w.reader, w.docs, w.dispatcher.Discard
	if !inv.DryRun {
		past := w.past[inv.Run]
		cfg.Journal, cfg.AcceptChanges = w.ledger(inv.Run, past), flags.acceptChanges || flags.giveUp
		if cfg.Spent = journal.Spent(past); len(past) > 0 {
			cfg.Resumed = journal.Resumes(past) + 1
		}
		cfg.Start = formats.Started{
			Version: version, User: userName(), Raw: inv.Raw, Words: inv.Words, Range: inv.Task != 0, Files: w.deciding,
		}
		cfg.Pause, cfg.GateID = w.pausing(inv.Run).ctx, rand.Text
		w.sink.begin(inv.Run)
	}
	return cfg, nil
}

// ledger is the journal of a run, which is made with its first entry, and locked from then on.
func (w runs) ledger(id string, past []journal.Record) *journal.Ledger {
	dir := path.Join(journal.Folder, id)
	j := journal.New(func() (*os.Root, error) {
		err := atomicfile.MkdirAll(w.root, dir, 0o700)
		if err == nil && len(past) == 0 { // else it was locked before it was read
			err = w.lock(id)
		}
		if err == nil {
			err = w.sink.open(w.root, dir)
		}
		if err != nil {
			return nil, err
		}
		return w.root.OpenRoot(dir)
	}, journal.Options{Clock: clock{}.Now, Sync: true, Mask: w.mask, Key: w.runKey(id)})
	w.keep(j)
	l := journal.NewLedger(j, past, fields{"user": userName(), "tercet_version": version}, w.flags.giveUp)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ledgers == nil {
		w.ledgers = map[string]*journal.Ledger{}
	}
	w.ledgers[id] = l
	return l
}

// runKey makes the journal of a run the person's own. It lies with the person, so that no journal that came with the
// project, and no line that a worker added, answers a gate.
func (w runs) runKey(id string) []byte {
	key := state.SealKey(w.stateHome(), rand.Text)("runs")
	if key == nil {
		return nil
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id))
	return mac.Sum(nil)
}

// box is where the letters to a run lie.
func (w runs) box(id string) letters.Box {
	return letters.Box{
		Root: w.root, Dir: path.Join(journal.Folder, id), Run: id, Key: w.runKey(id),
		Tell: func(line string) { w.term.note("%s", line) },
	}
}

// pausing pauses a run.
type pausing struct {
	ctx   context.Context //nolint:containedctx // it is the signal
	pause context.CancelCauseFunc
}

// pausing is the signal that pauses a run.
func (w runs) pausing(id string) pausing {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, ok := w.pauses[id]
	if !ok {
		if w.pauses == nil {
			w.pauses = map[string]pausing{}
		}
		p.ctx, p.pause = context.WithCancelCause(context.Background())
		w.pauses[id] = p
	}
	return p
}

// heed obeys the orders to a run that this process has worked on since a time.
func (w runs) heed(id string, since time.Time) (stop func()) {
	ctx, end := context.WithCancel(context.Background())
	var looking sync.WaitGroup
	looking.Go(func() {
		for box := w.box(id); (clock{}).Sleep(ctx, heedEvery) == nil; {
			switch o, ok, err := box.Take(since); {
			case err != nil:
				w.term.note("warning: %s", err)
				return
			case ok && o.Do == letters.Pause:
				w.term.note("run %s is paused by %s as soon as what it began is done", id, o.By)
				w.pausing(id).pause(&formats.LaterError{Why: "paused by " + o.By})
			case ok:
				w.signals.stop(formats.Fail(formats.CodeCancelled, "what was finished is kept; run the command again to go on",
					"cancelled by %s", o.By))
			}
		}
	})
	return func() {
		end()
		looking.Wait()
	}
}

// lock holds the lock of a run until the world is closed.
func (w runs) lock(id string) error {
	since := clock{}.Now()
	held, err := w.claim(path.Join(journal.Folder, id, journal.LockName), w.sessionID())
	if err == nil {
		w.keep(runLock{w, id, held, w.heed(id, since)})
	}
	return err
}

// runLock is the lock of a run. Its file goes when the run is over, so that what can go on is found by it.
type runLock struct {
	runs
	id   string
	held io.Closer
	stop func()
}

// unlocked removes the lock of a run that is over.
func (w runs) unlocked(id string) error {
	name := path.Join(journal.Folder, id, journal.LockName)
	return errors.Join(w.root.Remove(name), w.root.Remove(name+".info"))
}

// Close gives the lock back.
func (l runLock) Close() error {
	l.stop()
	var err error
	if at := l.ledgers[l.id]; at != nil && at.Over() {
		err = l.unlocked(l.id)
	}
	return errors.Join(err, l.held.Close())
}

// take takes up a run that did not end, which nobody else does then.
func (w runs) take(r journal.Run) error {
	if err := w.lock(r.ID); err != nil {
		return err
	}
	records, err := journal.Load(w.root, r.ID)
	if err == nil {
		_, err = journal.Begun(records)
	}
	if err == nil {
		err = journal.Vouched(records, w.runKey(r.ID))
	}
	switch {
	case err != nil:
		return err
	case journal.Over(records):
		return errors.Join(formats.Fail(formats.CodePrecondition, "type its line to run it again", "run %s has ended", r.ID),
			w.unlocked(r.ID))
	case w.past == nil:
		w.past = map[string][]journal.Record{}
	}
	w.past[r.ID] = records
	return nil
}

// environment looks up a variable that a command file names under `env`. A dry run needs no trust, so that it sees none
// in a project that nobody has agreed to.
func (w runs) environment(name string) (string, bool) {
	if w.trusted() == "" {
		return "", false
	}
	return os.LookupEnv(name)
}

// countedFlow is the agent of a subagent file with steps, which are compiled when it is first called or linted: the set
// of subagents is complete then. It tells the Dispatcher what the workers of the steps used.
type countedFlow struct{ *commands.Workflow }

// RunMetered runs the steps.
func (f countedFlow) RunMetered(ctx context.Context, r formats.Request) (formats.Return, subagents.Measured, error) {
	ret, used, err := f.RunCounted(ctx, r)
	return ret, subagents.Measured{Runner: "workflow", Tokens: used.Tokens, Cost: used.Cost, Spawns: used.Spawns}, err
}

// stepsConfig gives the steps of a subagent what a run reaches, but for the person. Their entries are in its journal.
func (w runs) stepsConfig(ctx context.Context, r formats.Request) (interp.Config, error) {
	if w.frozen != nil {
		return *w.frozen, nil
	}
	inv := formats.Invocation{Run: r.Run, Session: r.Session, Line: r.Command, Path: r.Path, DryRun: true}
	cfg, err := w.runConfig(ctx, inv)
	if err != nil || w.reader == nil {
		return cfg, err
	}
	cfg.DryRun, cfg.Stubs, cfg.Discard = false, nil, nil
	w.mu.Lock()
	defer w.mu.Unlock()
	cfg.Journal, cfg.Resumed = w.ledgers[r.Run], len(w.past[r.Run])
	cfg.AcceptChanges = w.flags.acceptChanges || w.flags.giveUp
	return cfg, nil
}

// diff is what the work in a tree changed: against the checkout of the person for a worktree, against the last commit
// for the checkout itself.
func (w runs) diff(ctx context.Context, dir string) (patch, stat string, err error) {
	var checkout *git.Repo
	if dir != w.dir {
		checkout = w.git(w.dir)
	}
	data, files, err := w.git(dir).Changes(ctx, checkout, formats.Workspace)
	return string(data), strings.Join(files, "\n"), err
}

// problemStore is errors.json, or nothing where there is no workspace.
func (w runs) problemStore() interp.Problems {
	if w.problems == nil {
		return noProblems{}
	}
	return maskedProblems{store: w.problems, mask: w.mask}
}

// What a run without a workspace, and a dry run, reach instead.
type (
	noState    struct{}
	noDocs     struct{}
	noJournal  struct{}
	noProblems struct{}
)

func (noState) Snapshot(context.Context) (any, uint64, error) {
	return map[string]any{"tasks": []any{}}, 0, nil
}

func (noDocs) Open(context.Context, string) ([]byte, error)     { return nil, noWorkspace() }
func (noDocs) Glob(context.Context, []string) ([]string, error) { return nil, noWorkspace() }

func (noJournal) Append(context.Context, formats.Entry, bool) (bool, error) { return false, nil }
func (noJournal) Live(bool) error                                           { return nil }
func (noJournal) Recall(formats.Entry) (json.RawMessage, bool)              { return nil, false }

func (noProblems) Record(context.Context, formats.Problem) error  { return nil }
func (noProblems) List(context.Context) ([]state.Recorded, error) { return nil, nil }

// maskedProblems is errors.json without secrets.
type maskedProblems struct {
	store *state.Errors
	mask  *journal.Masker
}

func (p maskedProblems) Record(ctx context.Context, one formats.Problem) error {
	one.Message, one.Action = p.mask.Text(one.Message), p.mask.Text(one.Action)
	one.Context.Command = p.mask.Text(one.Context.Command)
	return p.store.Record(ctx, one)
}

func (p maskedProblems) List(ctx context.Context) ([]state.Recorded, error) { return p.store.List(ctx) }

// drafts gives the builder of commands what it needs of layer 2: the checker, and a dry run, over files that are not
// written yet.
type drafts struct{ *world }

// library is the library as it would be with the files.
func (d drafts) library(files []meta.File) (*commands.Library, []formats.Diagnostic) {
	agents, found := meta.With(d.set, files)
	lib := *d.world.library
	lib.Env = contracts{agents, d.root}
	return &lib, found
}

// lint checks the files.
func (d drafts) lint(files []meta.File) []formats.Diagnostic {
	lib, found := d.library(files)
	for _, f := range meta.Commands(files) {
		prog, err := lib.Compile(f.Name, f.Data)
		found = append(found, findingsOf(f.Name, prog, err)...)
	}
	return found
}

// hides names the shipped or own command that a new one of the name would hide.
func (d drafts) hides(name string) (string, bool) {
	for _, e := range d.table.Commands() {
		if e.Name == name {
			return path.Join(e.Source, e.File), true
		}
	}
	return "", false
}

// dryRun runs the command of the name out of the files, on a task that stands for any, without any effect.
func (d drafts) dryRun(ctx context.Context, files []meta.File, name string) (formats.Return, error) {
	lib, _ := d.library(files)
	list := meta.Commands(files)
	i := slices.IndexFunc(list, func(f meta.File) bool { return strings.TrimSuffix(path.Base(f.Name), ".md") == name })
	if i < 0 {
		return formats.Return{}, broken(formats.CodeBug, "no command "+name+" among the drafts", fs.ErrNotExist)
	}
	prog, err := lib.Compile(list[i].Name, list[i].Data)
	if err != nil {
		return formats.Return{}, err
	}
	values, err := argspec.Bind(name, prog.Args, strconv.Itoa(meta.SampleTask), nil)
	if err != nil {
		return formats.Return{}, err
	}
	sample := meta.Sample{Planned: prog.Allow == nil || slices.Contains(prog.Allow, formats.Planned)}
	runner, err := interp.New(interp.Config{
		Agents: d.dispatcher, State: sample, Docs: sample, Problems: noProblems{}, Approve: d.approver,
		Lint: d.lintOwn, Journal: noJournal{}, Clock: clock{}, Trace: trace.Discard{}, Show: func(formats.Table) {},
		Dir: d.dir, DryRun: true,
		IDs: interp.IDs{
			Run: "dry", Session: d.sessionID(), Command: "/" + name, Path: []string{"router", "/" + name},
		},
	})
	if err != nil {
		return formats.Return{}, err
	}
	return runner.Run(ctx, prog, values, formats.CommandDepth())
}

// store is the state of a workspace; without one all is nil.
type store struct {
	reader   *state.Reader
	manager  *state.Manager
	docs     *state.Docs
	problems *state.Errors
	claim    func(file, session string) (io.Closer, error) // the lock of a run
	readOnly bool                                          // what runs keeps no record of itself in the workspace
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
	cfg.Key = state.SealKey(w.stateHome(), rand.Text)
	var errs [3]error
	w.reader, errs[0] = state.NewReader(cfg)
	w.manager, errs[1] = state.NewManager(cfg)
	w.problems, errs[2] = state.NewErrors(cfg)
	w.docs, w.claim = state.NewDocs(w.root), cfg.Claim
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
