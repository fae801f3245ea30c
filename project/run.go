package project

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"

	"tercet/commands"
	"tercet/commands/interp"
	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/control"
	"tercet/internal/git"
	"tercet/internal/journal"
	"tercet/internal/keys"
	"tercet/internal/proc"
	"tercet/internal/trace"
	"tercet/router"
	"tercet/state"
	"tercet/state/files"
	"tercet/subagents"
	"tercet/subagents/worktree"
)

// handle runs the command that a line was routed to, or goes on with a run that its line began
// before.
func (s *Session) handle(
	ctx context.Context,
	line router.Line,
	r router.Route,
	begun *journal.Run,
) (formats.Return, error) {
	if s.Project.Reader == nil && r.Name != "help" {
		return formats.Return{}, NoWorkspace()
	}

	// what the line before left
	s.readOnly = false
	s.silent = false
	s.approver.consent = formats.Consent{}

	o := router.Orchestrator{
		Runner: s.Library,
		Trace:  s,
		NewRun: func() (string, string) {
			return s.Project.Host.Session, cmp.Or(s.runID, s.Project.NewRunID())
		},
	}
	if begun != nil {
		o.NewRun = func() (string, string) {
			return begun.Begun.Session, begun.ID
		}
	}

	var past iter.Seq2[trace.Event, error]
	if begun != nil {
		if err := s.restoreWorktree(ctx, begun.ID); err != nil {
			return formats.Return{}, err
		}
		past = TraceEvents(journal.NewLog(s.Project.Root, begun.ID, ""))
		s.journaled(begun.ID)
	}

	foreign := s.Project.foreignDigests()
	end := s.Project.Host.Frontend.Begin(s.Project, past)
	defer end()
	ret, err := o.Handle(ctx, line, r, s.Options.DryRun)
	s.trustMeta(r, ret)
	ret.NextSteps = s.Project.RewriteCalls(r.Source, ret.NextSteps)
	for i := range ret.Errors {
		e := &ret.Errors[i]
		e.Recommendation = s.Project.RewriteCalls(r.Source, e.Recommendation)
	}

	if cerr := s.events.closeAll(); cerr != nil {
		s.Project.note("warning: trace: %s", cerr)
	}
	if err == nil && !s.Options.DryRun && !s.silent {
		s.Project.notifier.RunEnded(ctx, ret)
	}
	if !s.Options.DryRun {
		s.Project.noteForeignChanges(ctx, foreign)
	}
	s.tidy(ctx)
	return ret, err
}

// waitForOrphans waits for gits that a killed process left at work in the project: they hold locks,
// and change what is read.
func (s *Session) waitForOrphans(ctx context.Context) error {
	const often = 20 * time.Millisecond
	const quiet = time.Second
	most := cmp.Or(s.Project.Host.LockTimeout, s.Project.Config.LockTimeout)
	for waited := time.Duration(0); ; waited += often {
		left := proc.OrphanedGits("TERCET_ROOT=" + s.Project.Dir)
		switch {
		case len(left) == 0:
			return nil
		case waited >= most:
			return formats.Fail(formats.CodeLocked,
				fmt.Sprintf("wait until it ends, or end it: kill %d", left[0]),
				"git (process %d), which a killed tercet left here, is still at work",
				left[0])
		case waited == quiet:
			s.Project.note("waiting for git (process %d), which a killed tercet left here", left[0])
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(often):
		}
	}
}

// restoreWorktree makes the worktree of a run that goes on again, after a user removed it, and
// takes dead locks out of what is there. If it held work that no commit has, that is an error, and
// the run stays as it is.
func (s *Session) restoreWorktree(ctx context.Context, run string) error {
	if err := s.waitForOrphans(ctx); err != nil {
		return err
	}

	past := s.Project.Control.Past(run)
	t := journal.OpenWorktree(past)
	if filepath.IsLocal(t.Dir) {
		t.Dir = filepath.Join(s.Project.Dir, filepath.FromSlash(t.Dir))
	}

	repo := worktree.Repository{Trees: s.Project.Trees}
	if !s.givingUp {
		if err := repo.CheckMoved(run); err != nil {
			return err
		}
	}

	err := s.Project.Git(s.Project.Dir).RemoveStaleLocks(run)
	if again := journal.ReopeningOf(past); again != nil && err == nil {
		err = s.Dispatcher.Restore(run, again.Documents)
		if err == nil && t.Dir != "" {
			err = repo.Reopen(ctx, worktree.Spec{Branch: t.Branch, Run: run}, t.Head, again.Wip)
		}
		return err
	}

	switch {
	case err != nil, t.Closing, s.givingUp, !repo.WasRemoved(t.Dir, run):
		return err
	case t.Uncommitted != "" && !s.Options.AcceptChanges:
		return formats.Fail(
			formats.CodeSuspended,
			fmt.Sprintf("tercet resume %s --from '%s' does it again, with "+
				"--accept-changes it goes on without it", run, t.Uncommitted),
			"the worktree of run %s was removed, and with it what step %s had done since the "+
				"last commit",
			run,
			t.Uncommitted,
		)
	}

	said, err := repo.Recreate(ctx, worktree.Spec{Branch: t.Branch, Run: run}, t.Head)
	if err == nil {
		s.Project.note("%s", said)
	}
	return err
}

// begin asks for trust and reads the auto-approve file, once the line is known to be whole.
func (s *Session) begin(ctx context.Context, inv formats.Invocation) error {
	s.silent = inv.Name == "help" && inv.Source == LibrarySource
	err := s.MayStart(ctx, inv)
	if err != nil || !s.Project.HasWorkspace {
		return err
	}

	agreed, err := s.Project.Trust.Consent(inv.Name, s.Project.Host.Clock.Now())
	s.approver.consent = agreed.Consent
	if agreed.Absent != "" {
		s.Project.note("%s", agreed.Absent)
	}
	return err
}

// runConfig gives one run everything that it can reach. The run's folder is made with the first
// entry of its journal.
func (s *Session) runConfig(ctx context.Context, inv formats.Invocation) (interp.Config, error) {
	cfg := interp.Config{
		Agents:      s.Dispatcher,
		State:       noState{},
		Docs:        noDocs{},
		Problems:    s.problemStore(),
		Approve:     s.approver,
		Lint:        s.lintOwn,
		Profiles:    s.Project.Profiles,
		Journal:     noJournal{},
		Clock:       s.Project.Host.Clock,
		Trace:       s,
		Show:        s.Project.Host.Frontend.Table,
		Dir:         s.Project.Dir,
		Specs:       s.Project.Config.Specs,
		Env:         s.environment,
		Limits:      s.Project.Config.Limits,
		Consent:     s.approver.consent,
		Commit:      s.Project.Config.Commit,
		AutoApprove: s.Options.Yes || s.approver.consent.File != "",
		DryRun:      inv.DryRun,
		IfNeeded:    s.Options.IfNeeded,
		Abort:       s.Project.Host.AbortContext(),
		Diff:        s.Project.Changes,
		HowToReach:  s.howToReach,
		IDs: interp.IDs{
			Run:     inv.Run,
			Session: inv.Session,
			Command: inv.Line,
			Path:    inv.Path,
		},
	}

	if s.Options.Workers != nil {
		cfg.Limits.Parallel = 1 // the order of the file
	}
	if s.Options.Stubs != "" {
		var err error
		cfg.Stubs, err = s.stubs(inv)
		if err != nil {
			return cfg, err
		}
	}
	if s.Project.Reader == nil || s.readOnly {
		return cfg, nil
	}

	cfg.State = s.Project.Reader
	cfg.Docs = s.Project.Docs
	cfg.Discard = s.Dispatcher.Discard
	cfg.RepoState = worktree.Repository{Trees: s.Project.Trees}.State
	if inv.DryRun || onlyLists(inv) {
		return cfg, nil
	}
	return cfg, s.attachJournal(ctx, inv, &cfg)
}

// stubs reads the returns that a dry run is given for its subagents.
func (s *Session) stubs(inv formats.Invocation) (map[string][]formats.Return, error) {
	if !inv.DryRun {
		return nil, usage("--stubs belongs to --dry-run: a real run calls its subagents")
	}
	data, err := os.ReadFile(filepath.Clean(s.Options.Stubs))
	if err != nil {
		return nil, formats.Broken(formats.CodeIO, "stub returns", err,
			"--stubs takes a JSON file with a return for each subagent or step")
	}
	return interp.ParseStubs(s.Options.Stubs, data)
}

// attachJournal configures a run to keep a journal, to take orders and messages, and to resume
// where its journal ends.
func (s *Session) attachJournal(
	ctx context.Context, inv formats.Invocation, cfg *interp.Config,
) error {
	past := s.Project.Control.Past(inv.Run)
	instructions, err := s.loadInstructions(ctx, inv.Run, past)
	if err != nil {
		return err
	}

	who := map[string]any{"user": s.Project.Host.User, "tercet_version": s.Project.Host.Version}
	ledger := s.Project.Control.Open(ctx, inv.Run, who, s.givingUp, control.Hooks{
		Ready: func(dir string) error {
			err := s.events.open(s.Project.Root, dir)
			if err == nil && len(past) == 0 && instructions != nil {
				name := path.Join(dir, instructionsFile)
				err = atomicfile.Create(s.Project.Root, name, instructions, 0o600)
			}
			return err
		},
		Begun: func() { s.journaled(inv.Run) },
	})

	cfg.Journal = ledger
	cfg.Spent = journal.WorkingTime(past)
	cfg.Resumed, cfg.Killed = ledger.Resumed()
	cfg.EverKilled = ledger.EverKilled()
	cfg.AcceptChanges = s.Options.AcceptChanges || s.givingUp
	cfg.Accepted = ledger.Accepted
	cfg.Accept = ledger.Accept
	cfg.Start = formats.Started{
		Version: s.Project.Host.Version,
		User:    s.Project.Host.User,
		Raw:     inv.Raw,
		Words:   inv.Words,
		Among:   inv.Among,
		Files:   s.Project.decidingSums,
	}
	if instructions != nil {
		cfg.Start.Instructions = formats.Sum(instructions)
	}
	cfg.GateID = rand.Text
	cfg.Messages = messages{s, inv.Run}
	cfg.Mask = s.Project.Mask.Text
	cfg.Pause, cfg.Stop = s.Project.Control.OrderContexts(ctx, inv.Run)

	if s.queuesRuns() {
		cfg.Admit = func(ctx context.Context) (func(), error) {
			return s.enterRun(ctx, inv.Run, ledger)
		}
	}

	s.events.traceFile(inv.Run)
	s.Project.notifier.RunStarted(inv.Run, inv.Line)
	return nil
}

// onlyLists tells whether a line is /agent without a name, which lists the subagents and keeps no
// run.
func onlyLists(inv formats.Invocation) bool {
	return inv.Name == "agent" && inv.Source == LibrarySource && len(inv.Words) == 0 &&
		strings.TrimSpace(inv.Raw) == ""
}

// environment looks up a variable that a command file names under `env`. A dry run needs no trust,
// so that it sees none in a project that you have not agreed to.
func (s *Session) environment(name string) (string, bool) {
	if s.Project.TrustedBy() == "" {
		return "", false
	}
	return s.Project.Host.LookupEnv(name)
}

// meteredWorkflow is the agent of a subagent file with steps. They are compiled at the first call
// or lint, because the set of subagents is complete then. It tells the Dispatcher what the workers
// of the steps used.
type meteredWorkflow struct{ *commands.Workflow }

// RunMetered runs the steps.
func (f meteredWorkflow) RunMetered(
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
func (s *Session) stepsConfig(ctx context.Context, r formats.Request) (interp.Config, error) {
	if s.verifying != nil {
		return *s.verifying, nil
	}
	inv := formats.Invocation{
		Run:     r.Run,
		Session: r.Session,
		Line:    r.Command,
		Path:    r.Path,
		DryRun:  true,
	}
	cfg, err := s.runConfig(ctx, inv)
	if err != nil || s.Project.Reader == nil {
		return cfg, err
	}

	cfg.DryRun = false
	cfg.Stubs = nil
	cfg.Discard = nil
	ledger := s.Project.Control.Ledger(r.Run)
	cfg.Journal = ledger
	cfg.GateID = rand.Text
	cfg.Messages = messages{s, r.Run}
	cfg.Mask = s.Project.Mask.Text
	cfg.Resumed, cfg.Killed = ledger.Resumed()
	cfg.EverKilled = ledger.EverKilled()
	cfg.AcceptChanges = s.Options.AcceptChanges || s.givingUp
	cfg.Accepted = ledger.Accepted
	cfg.Accept = ledger.Accept
	return cfg, nil
}

// Changes is what the work in a tree changed. A worktree is compared with the user's checkout, the
// checkout with its last commit.
func (p *Project) Changes(ctx context.Context, dir string) (patch, stat string, err error) {
	data, files, err := p.Git(dir).Changes(ctx, p.checkout(dir), formats.Workspace)
	return string(data), strings.Join(files, "\n"), err
}

// checkout is the user's own tree, if dir is another one; else nil.
func (p *Project) checkout(dir string) *git.Repo {
	if dir == p.Dir {
		return nil
	}
	return p.Git(p.Dir)
}

// workPatch gives the changes in a tree as a patch, with its new files.
func (p *Project) workPatch(ctx context.Context, dir string) (string, error) {
	return p.Git(dir).FullPatch(ctx, p.checkout(dir), formats.Workspace)
}

// problemStore is errors.json, or nothing where there is no workspace.
func (s *Session) problemStore() interp.Problems {
	if s.Project.Problems == nil {
		return noProblems{}
	}
	return maskedProblems{s.Project.Problems, s.Project.Mask}
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
	return nil, NoWorkspace()
}

func (noDocs) Glob(context.Context, []string) ([]string, error) {
	return nil, NoWorkspace()
}

func (noDocs) Sum(context.Context, string) (string, error) {
	return "", NoWorkspace()
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

// StateConfig is what manager, reader and store of errors are made from.
func (p *Project) StateConfig(timeout time.Duration, notice func(string)) state.Config {
	cfg := p.Host.StateConfig(p.Root, p.Dir, timeout, notice)
	cfg.Profiles = p.Profiles
	return cfg
}

// StateConfig is what manager, reader and store of errors of a folder are made from.
func (h Host) StateConfig(
	root *os.Root,
	dir string,
	timeout time.Duration,
	notice func(string),
) state.Config {
	self, factsErr := proc.Identify(os.Getpid())
	return state.Config{
		Root:        root,
		Dir:         dir,
		Clock:       h.Clock,
		LockTimeout: timeout,
		Notice:      notice,
		NewID:       uuid.NewString,
		User:        h.User,
		CommandLine: h.CommandLine,
		Holders:     h.lockHolders,
		Alive: func(l formats.Lease) bool {
			rebooted := !l.Suspended && l.BootID != self.BootID
			if factsErr != nil || l.Host != self.Host || rebooted {
				return true
			}
			if l.Suspended {
				_, err := root.Lstat(journal.Folder + "/" + l.Run + "/" + journal.Name)
				return !os.IsNotExist(err)
			}
			return proc.IsAlive(proc.Proc{
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
func (h Host) lockHolders(path string) (out []state.LockHolder) {
	for _, h := range proc.LockHolders(path, h.ChildWord) {
		one := state.LockHolder{PID: h.PID, Command: formats.Clip(h.Command, shownCommand)}
		if h.IsWorker() {
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

func (p *Project) openState() error {
	timeout := cmp.Or(p.Host.LockTimeout, p.Config.LockTimeout)
	cfg := p.StateConfig(timeout, func(line string) {
		p.note("%s", line)
	})
	cfg.Key = keys.Of(p.Host.StateHome(), rand.Text)

	var errs [3]error
	info, err := p.Root.Stat(formats.Workspace + "/state.json")
	if err == nil && info.Size() > largeState {
		debug.SetGCPercent(gcOfLargeState)
	}

	p.Reader, errs[0] = state.NewReader(cfg)
	p.Manager, errs[1] = state.NewManager(cfg)
	p.Problems, errs[2] = state.NewErrors(cfg)
	p.Docs = files.NewDocs(p.Root)
	p.Control.Claim = func(file string) (io.Closer, error) {
		return cfg.Claim(file, p.Host.Session)
	}

	p.onClose(p.Control)
	return cmp.Or(errs[:]...)
}

// watchState looks at state.json before a worker starts, and again when it has ended.
func (p *Project) watchState(context.Context) (subagents.Unwatch, error) {
	mark, err := p.Manager.Mark()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) ([]byte, error) { return p.Manager.Guard(ctx, mark) }, nil
}

// children is where the children that run are recorded: with the user, not in a project.
func (p *Project) children() proc.Register {
	r := proc.Register{Report: func(line string) { p.note("%s", line) }}
	if home := p.Host.StateHome(); home != "" {
		r.Dir = filepath.Join(home, "children")
	}
	return r
}

// endLeftovers ends what processes of this program left behind that were killed. Nothing is ended
// or started before trust.
func (p *Project) endLeftovers(ctx context.Context) {
	children := p.children()
	if p.Host.insideRun() || children.Empty() {
		return
	}
	if p.TrustedBy() != "" {
		children.Sweep(func(c proc.Started) { p.removeContainer(ctx, c.After) })
	}
}
