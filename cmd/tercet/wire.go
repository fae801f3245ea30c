package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tercet/commands"
	"tercet/commands/compile"
	"tercet/commands/interp"
	"tercet/formats"
	"tercet/internal/config"
	"tercet/internal/git"
	"tercet/internal/journal"
	"tercet/internal/proc"
	"tercet/internal/trust"
	"tercet/subagents"
	"tercet/subagents/agentcli"
	"tercet/subagents/builtin"
	"tercet/subagents/sandbox"
	"tercet/subagents/worktree"
	"tercet/templates/meta"
)

// world is everything of one project root, built by hand. What belongs together is embedded as one.
type world struct {
	*app
	dir     string // project root, absolute; the folder where the person stands without a workspace
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
	set        *subagents.Set
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

	past    map[string][]journal.Record // of runs that are taken up again, by their ids
	frozen  *interp.Config              // what a run reaches that is only looked at; nil: it is none
	mu      sync.Mutex                  // guards the rest: subagents with steps run side by side
	ledgers map[string]*journal.Ledger
	pauses  map[string]pausing // of runs of this process
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

// ground builds what of the world every verb of a project stands on: all but the commands and the subagents.
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

// lookAround finds the project and the command files there are, which is all that `tercet route` needs: no state, no
// subagent and no process.
func (a *app) lookAround() (*world, error) {
	w := &world{app: a, crew: crew{approver: &approver{app: a}}}
	var err error
	if w.dir, w.has, err = a.project(); err != nil {
		return w, err
	}
	if w.root, err = os.OpenRoot(w.dir); err != nil {
		return w, broken(formats.CodeIO, "project root", err)
	}
	w.keep(w.root)
	w.gate = w.newGate()
	if err = w.readConfig(); err != nil {
		return w, err
	}
	return w, w.scan()
}

// workspace is the ground of a project root that has a workspace.
func (a *app) workspace(ctx context.Context) (*world, error) {
	w, err := a.ground(ctx)
	if err != nil {
		return nil, err
	}
	if w.reader == nil {
		return nil, noWorkspace()
	}
	return w, nil
}

// build makes what starts processes and keeps the state.
func (w *world) build(ctx context.Context) error {
	for _, s := range w.cfg.ACP {
		w.gate.Words = append(w.gate.Words, s.Argv...)
	}
	w.mask = journal.NewMasker(journal.Secrets(os.Environ())...)
	w.sink = newSwitchboard(w.app, w.mask)
	if err := w.startProcesses(); err != nil {
		return err
	}
	w.keep(w.starter)
	if w.has {
		w.sweep(ctx)
		if err := w.openState(); err != nil {
			return err
		}
	}
	return nil
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

// inherited are the variables that children see besides those that the configuration names.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "TMPDIR", "SHELL", "GOCACHE",
	"GOMODCACHE", "GOFLAGS", "GOPATH", "GOROOT", "GOPROXY", "GOTOOLCHAIN", "GONOSUMDB", "GOSUMDB", "CARGO_HOME",
	"RUSTUP_HOME", "npm_config_cache", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
	"CODEX_HOME", "CLAUDE_CONFIG_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
}

// startProcesses builds the one place that starts children, and its gate: before the project is trusted it starts none.
func (w *world) startProcesses() error {
	var env []string
	for _, name := range slices.Concat(inherited, w.cfg.Env) {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	env = append(env, "TERCET_ROOT="+w.dir)
	var err error
	w.starter, err = proc.NewStarter(proc.Starter{
		Allow: w.allow, Env: env, Now: time.Now, Supervisor: supervisor(), Record: w.children().Record,
	})
	w.auto = &agentcli.Auto{Starter: w.starter}
	w.keeper = w.newKeeper()
	return err
}

func (w *world) git(dir string) *git.Repo { return &git.Repo{Starter: w.starter, Dir: dir} }

// agents builds the set of subagents and the dispatcher.
func (w *world) agents() error {
	sources := []subagents.Source{{Name: "subagents", FS: subagents.Library(), Builtin: true}}
	if w.has {
		const folder = formats.Workspace + "/subagents"
		own := subagents.Source{Name: folder, FS: w.gate.FS(folder), Facets: w.gate.FS(formats.Workspace + "/facets")}
		sources = append([]subagents.Source{own}, sources...)
	}
	defs, err := subagents.Load(sources...)
	if d, ok := asDiagnostics(err); ok {
		if w.broken = d; !w.told[toldBroken] {
			w.term.diagnostics(d) // a broken file costs only the commands that name it
		}
	} else if err != nil {
		return err
	}
	base := filepath.Join(w.dir, formats.Workspace, "worktrees")
	w.trees, err = worktree.New(worktree.Manager{
		Git: w.git, Root: w.dir, Base: base, Allow: w.cfg.Secrets,
		Made: func() func(txn string) bool {
			since := clock{}.Now()
			return func(txn string) bool {
				return journal.Made(w.root, compile.GitWorkflow, txn, since, runs{w}.runKey)
			}
		},
	})
	if err = errors.Join(err, runs{w}.openTape(), workers{w}.known(w.flags.runner)); err != nil {
		return err
	}
	w.set = subagents.NewSet()
	for _, def := range defs {
		if err := w.set.Add(def, w.agent(def)); err != nil {
			return err
		}
	}
	if err := w.foreignAgents(); err != nil {
		return err
	}
	w.library.Env = contracts{w.set, w.root}
	w.dispatcher = &subagents.Dispatcher{
		Set: w.set, Root: w.root, Dir: w.dir, Clock: clock{}, Problems: runs{w}.problemStore(), Trace: w.sink,
		Derive: interp.Derive, Mask: w.mask, Guard: w.guard, Ready: w.trees.Ready, Allow: w.cfg.Secrets,
	}
	if w.manager != nil {
		w.dispatcher.Watch = w.watchState
	}
	return nil
}

// agent chooses what does the work of a subagent file: Go for built-in ones, the program of an exec file, else the
// first runner of the flag, the file, the configuration that this build has.
func (w *world) agent(def subagents.Definition) subagents.Agent {
	if def.Info.Builtin {
		return w.builtin(def.Info.Name)
	}
	if def.Info.Workflow {
		return countedFlow{&commands.Workflow{
			File: def.File, Src: def.Src, Info: def.Info, Env: contracts{w.set, w.root}, Config: runs{w}.stepsConfig,
		}}
	}
	return workers{w}.worker(def)
}

// builtin gives the Go implementation of a shipped subagent.
func (w *world) builtin(name string) subagents.Agent {
	switch name {
	case "status-sync-manager":
		return builtin.StatusSync{Manager: w.manager}
	case "task-creator":
		return builtin.TaskCreator{Docs: w.docs}
	case "git-workflow-manager":
		return builtin.GitWorkflow{Trees: w.trees}
	case "gatekeeper":
		return builtin.Gatekeeper{Check: w.check}
	case "meta-builder":
		d := drafts{w}
		return &meta.Builder{Root: w.root, Agents: w.set, Hides: d.hides, Lint: d.lint, DryRun: d.dryRun}
	case "error-diagnostics":
		return builtin.Diagnostics{Errors: w.problems}
	case "reference":
		return builtin.Reference{Catalog: w.catalog}
	}
	return failing(formats.Fail(formats.CodeBug, "", "no built-in subagent is named %s", name))
}
