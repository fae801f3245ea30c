package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"tercet/commands"
	"tercet/commands/compile"
	"tercet/commands/outline"
	"tercet/formats"
	"tercet/internal/config"
	"tercet/internal/dialect"
	"tercet/internal/git"
	"tercet/internal/journal"
	"tercet/internal/proc"
	"tercet/internal/query"
	"tercet/internal/trace"
	"tercet/internal/trust"
	"tercet/router"
	"tercet/state"
	"tercet/subagents"
	"tercet/subagents/agentcli"
	"tercet/subagents/builtin"
	"tercet/subagents/sandbox"
	"tercet/subagents/worktree"
	"tercet/templates/meta"
)

// world is everything of one project root, built by hand. Without a workspace reader, manager, docs and problems are nil.
type world struct {
	app        *app
	dir        string // project root, absolute; the folder where the person stands without a workspace
	root       *os.Root
	cfg        config.Config
	starter    *proc.Starter
	auto       *agentcli.Auto
	reader     *state.Reader
	manager    *state.Manager
	docs       *state.Docs
	problems   *state.Errors
	has        bool        // there is a workspace
	gate       *trust.Gate // decides what of the project may start a program
	readOnly   bool        // what runs keeps no record of itself in the workspace
	set        *subagents.Set
	dispatcher *subagents.Dispatcher
	table      *router.Table
	sources    map[string]fs.FS
	library    *commands.Library
	agentNotes []formats.Diagnostic // about the agents of other tools
	catalog    *commands.Catalog
	approver   *approver
	trees      *worktree.Manager
	keeper     *sandbox.Keeper
	sink       *switchboard
	mask       *journal.Masker // of everything that is logged
	tape       *os.Root        // of --record or --replay, nil without
	closers    []io.Closer
	closing    sync.Mutex // guards closers: subagents with steps run side by side
}

// clock is the process's clock.
type clock struct{}

func (clock) Now() time.Time { return time.Now() }

// Sleep waits, or ends with the context.
func (clock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// world builds the world once a process, with or without a workspace.
func (a *app) world(ctx context.Context) (*world, error) {
	if a.built != nil {
		return a.built, nil
	}
	dir, err := a.findRoot()
	if err != nil {
		return nil, err
	}
	w := &world{app: a, dir: dir, sources: map[string]fs.FS{}, approver: &approver{app: a}}
	if err := w.build(ctx, dir != ""); err != nil {
		return nil, errors.Join(err, w.close())
	}
	a.built = w
	return w, nil
}

// workspace is the world of a project root that has a workspace.
func (a *app) workspace(ctx context.Context) (*world, error) {
	w, err := a.world(ctx)
	if err != nil {
		return nil, err
	}
	if w.reader == nil {
		return nil, noWorkspace()
	}
	return w, nil
}

func (w *world) build(ctx context.Context, has bool) error {
	var err error
	w.has = has
	if !has {
		if w.dir, err = w.app.startDir(); err != nil {
			return err
		}
	}
	if w.root, err = os.OpenRoot(w.dir); err != nil {
		return &formats.Failure{Code: formats.CodeIO, Message: "project root", Err: err}
	}
	w.closers = append(w.closers, w.root)
	w.gate = w.newGate()
	if w.cfg, err = w.app.config(w.gate.FS("."), has); err != nil {
		return err
	}
	for _, s := range w.cfg.ACP {
		w.gate.Words = append(w.gate.Words, s.Argv...)
	}
	w.mask = journal.NewMasker(secretValues(os.Environ())...)
	w.sink = newSwitchboard(w.app, w.mask)
	if err := w.startProcesses(); err != nil {
		return err
	}
	if has {
		w.sweep(ctx)
		if err := w.openState(); err != nil {
			return err
		}
	}
	if err := w.routes(has); err != nil {
		return err
	}
	return w.agents(ctx, has)
}

func (w *world) close() error {
	var errs []error
	for _, c := range slices.Backward(w.closers) {
		errs = append(errs, c.Close())
	}
	w.closers = nil
	return errors.Join(errs...)
}

// keep closes what was opened when the world is closed.
func (w *world) keep(c io.Closer) {
	w.closing.Lock()
	defer w.closing.Unlock()
	w.closers = append(w.closers, c)
}

// startProcesses builds the one place that starts children, and its gate: before the project is trusted it starts none.
func (w *world) startProcesses() error {
	names := append([]string{
		"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "TMPDIR", "SHELL", "GOCACHE", "GOMODCACHE", "GOFLAGS",
		"GOPATH", "GOROOT", "GOPROXY", "GOTOOLCHAIN", "GONOSUMDB", "GOSUMDB", "CARGO_HOME", "RUSTUP_HOME", "npm_config_cache", "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
		"XDG_DATA_HOME", "XDG_STATE_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	}, w.cfg.Env...)
	var env []string
	for _, name := range names {
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

// children is where the children that run are recorded, in a workspace.
func (w *world) children() proc.Register {
	r := proc.Register{Dir: formats.Workspace + "/runs/children", Tell: func(line string) { w.app.term.note("%s", line) }}
	if w.has {
		r.Root = w.root
	}
	return r
}

// sweep ends what processes of this program left behind that were killed. A record that came with a repository ends nothing,
// and nothing is written before trust.
func (w *world) sweep(ctx context.Context) {
	children := w.children()
	if w.app.insideRun() || children.Empty() {
		return
	}
	if v, err := w.gate.Verdict(); err == nil && v.By != "" {
		children.Sweep(func(c proc.Started) { w.sweepContainer(ctx, c.After) })
	}
}

func (w *world) git(dir string) *git.Repo { return &git.Repo{Starter: w.starter, Dir: dir} }

// stateConfig is what manager, reader and store of errors are made from.
func stateConfig(root *os.Root, dir string, timeout time.Duration, notice func(string)) state.Config {
	self, factsErr := proc.Facts(os.Getpid())
	return state.Config{
		Root: root, Dir: dir, Clock: clock{}, LockTimeout: timeout, Notice: notice, NewID: uuid.NewString, User: userName(),
		CommandLine: strings.Join(os.Args, " "),
		Alive: func(l formats.Lease) bool {
			if factsErr != nil || l.Host != self.Host || l.BootID != self.BootID {
				return true
			}
			return proc.Alive(proc.Proc{PID: l.PID, Start: l.PIDStart, BootID: l.BootID, Host: l.Host})
		},
		Self: func(session, run string) formats.Lease {
			return formats.Lease{Session: session, Run: run, Host: self.Host, BootID: self.BootID, PID: self.PID, PIDStart: self.Start}
		},
	}
}

func (w *world) openState() error {
	timeout := w.app.flags.lockTimeout
	if timeout == 0 {
		timeout = w.cfg.LockTimeout
	}
	cfg := stateConfig(w.root, w.dir, timeout, func(line string) { w.app.term.note("%s", line) })
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

// scan lists the command files: the project's own, the folders that the configuration adds, those of other tools, then the
// library.
func (a *app) scan(gate *trust.Gate, cfg config.Config, has bool, foreign []dialect.Folder) (*router.Table, map[string]fs.FS, error) {
	embedded, err := commands.Embedded()
	if err != nil {
		return nil, nil, err
	}
	sources := map[string]fs.FS{librarySource: embedded}
	var order []router.Source
	if has {
		order = ownSources(gate, cfg, a.term.note)
		for _, s := range order {
			sources[s.Name] = s.FS
		}
	}
	var last []router.Source
	for _, p := range foreign {
		sources[p.Label] = p.FS
		if p.Extension != "" { // the commands of an extension hide nobody's
			last = append(last, sourceOf(p))
		} else {
			order = append(order, sourceOf(p))
		}
	}
	order = append(append(order, router.Source{Name: librarySource, FS: embedded}), last...)
	table, err := router.Scan(cfg.Aliases, order...)
	return table, sources, err
}

// ownSources are the project's own folders with command files. One that leads out of the project is left out, whatever the
// configuration says: its files could not be told apart from a stranger's.
func ownSources(gate *trust.Gate, cfg config.Config, note func(string, ...any)) []router.Source {
	var out []router.Source
	for _, name := range append([]string{formats.Workspace + "/commands"}, cfg.Commands...) {
		inside := path.Clean(filepath.ToSlash(name))
		_, err := gate.Root.Stat(filepath.FromSlash(inside))
		if !fs.ValidPath(inside) || err != nil && !errors.Is(err, fs.ErrNotExist) {
			if note != nil {
				note("warning: commands: %s is not a folder inside the project; it is left out", name)
			}
			continue
		}
		out = append(out, router.Source{Name: name, FS: gate.FS(inside), Scope: dialect.Project.String()})
	}
	return out
}

// librarySource names the embedded command files in messages.
const librarySource = "library"

// routes gives the table alone, for `tercet route`: no state, no subagent and no process is needed for it.
func (a *app) routes() (*router.Table, error) {
	dir, err := a.findRoot()
	if err != nil {
		return nil, err
	}
	from := dir
	if from == "" {
		if from, err = a.startDir(); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(from)
	if err != nil {
		return nil, &formats.Failure{Code: formats.CodeIO, Message: "project root", Err: err}
	}
	defer root.Close() //nolint:errcheck // only read through
	gate := trust.New(trust.Config{Root: root, Dir: from})
	cfg, err := a.config(gate.FS("."), dir != "")
	if err != nil {
		return nil, err
	}
	table, _, err := a.scan(gate, cfg, dir != "", a.finder(gate).Commands())
	return table, err
}

func (w *world) routes(has bool) error {
	if err := w.rescan(); err != nil {
		return err
	}
	if has {
		w.library.Tasks, w.library.Docs = w.reader, w.docs
	}
	return nil
}

// rescan lists the command files anew, so that a prompt sees what was added, renamed or removed since the line before.
func (w *world) rescan() error {
	foreign := w.app.finder(w.gate).Commands()
	table, sources, err := w.app.scan(w.gate, w.cfg, w.has, foreign)
	if err != nil {
		return err
	}
	if w.library == nil {
		w.library = &commands.Library{
			Open: w.open, NewRun: newRunID, Config: w.runConfig, Warn: w.warn, Inject: w.inject, Admit: w.admit, Dir: filepath.ToSlash(w.dir),
		}
		w.catalog = &commands.Catalog{Library: w.library, Find: w.findCommand}
	}
	w.table, w.sources, w.library.Foreign = table, sources, map[string]dialect.Place{}
	for _, p := range foreign {
		w.library.Foreign[p.Label] = p.Place
	}
	w.catalog.Entries = nil
	for _, e := range table.Commands() {
		w.catalog.Entries = append(w.catalog.Entries, commands.Entry{Name: e.Name, File: e.File, Source: e.Source})
	}
	return nil
}

// facts tells what one call of a subagent may cost.
func (w *world) facts(name string) outline.Facts {
	def, agent, ok := w.set.Lookup(name, "")
	if !ok {
		return outline.Facts{}
	}
	f := outline.Facts{Free: def.Info.Builtin, Cost: def.Limits.Cost}
	if flow, ok := agent.(countedFlow); ok {
		if prog, err := flow.Program(); err == nil {
			f.Program = prog
		}
		return f
	}
	if wanted := w.wanted(def.Info); len(def.Argv) == 0 && len(wanted) == 1 && cmp.Or(wanted[0], runnerOffline) == runnerOffline {
		f.Free = true
	}
	return f
}

// admit refuses a program that may use more than the flags allow.
func (w *world) admit(p *compile.Program) error {
	if most := w.app.flags.max; most != (outline.Ceiling{}) {
		return most.Admit(p.Name, outline.BoundOf(p, w.facts).Worst)
	}
	return nil
}

// open reads a command file, at most commands.MaxFile bytes.
func (w *world) open(source, file string) ([]byte, error) {
	f, err := w.sources[source].Open(file)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, commands.MaxFile+1))
	err = errors.Join(err, f.Close())
	if err == nil && len(data) > commands.MaxFile {
		err = &formats.Failure{Code: formats.CodeInvalidCommand, Message: fmt.Sprintf("expected at most %d bytes in a command file, got more", commands.MaxFile)}
	}
	return data, err
}

func (w *world) warn(list []formats.Diagnostic) {
	if !w.app.flags.quiet {
		w.app.term.diagnostics(&formats.Diagnostics{List: list})
	}
}

// agents builds the set of subagents and the dispatcher.
func (w *world) agents(_ context.Context, has bool) error {
	shipped := subagents.Source{Name: "subagents", FS: subagents.Library(), Builtin: true}
	sources := []subagents.Source{shipped}
	if has {
		const own = formats.Workspace
		sources = []subagents.Source{{Name: own + "/subagents", FS: w.gate.FS(own + "/subagents"), Facets: w.gate.FS(own + "/facets")}, shipped}
	}
	defs, err := subagents.Load(sources...)
	if err != nil {
		var d *formats.Diagnostics
		if !errors.As(err, &d) {
			return err
		}
		w.app.term.diagnostics(d) // a broken file costs only the commands that name it
	}
	w.trees, err = worktree.New(worktree.Manager{
		Git: w.git, Root: w.dir, Base: filepath.Join(w.dir, formats.Workspace, "worktrees"),
	})
	if err != nil {
		return err
	}
	if err := w.openTape(); err != nil {
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
	w.dispatcher = &subagents.Dispatcher{Set: w.set, Root: w.root, Dir: w.dir, Clock: clock{}, Problems: w.problemStore(), Trace: w.sink, Derive: derive, Mask: w.mask, Guard: w.guard}
	if w.manager != nil {
		w.dispatcher.Watch = w.watchState
	}
	return nil
}

// agent chooses what does the work of a subagent file: Go for built-in ones, the program of an exec file, else the first
// runner of the flag, the file, the configuration that this build has.
func (w *world) agent(def subagents.Definition) subagents.Agent {
	if def.Info.Builtin {
		return w.builtin(def.Info.Name)
	}
	if def.Info.Workflow {
		return countedFlow{&commands.Workflow{
			File: def.File, Src: def.Src, Info: def.Info, Env: contracts{w.set, w.root}, Config: w.stepsConfig,
		}}
	}
	return w.worker(def)
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
	return subagents.Func(func(context.Context, formats.Request) (formats.Return, error) {
		return formats.Failed(&formats.Failure{Code: formats.CodeBug, Message: "no built-in subagent is named " + name}), nil
	})
}

// derive applies the jq of a contract to work that was done.
func derive(ctx context.Context, info formats.AgentInfo, ret formats.Return) (formats.Return, error) {
	in := query.Normalize(map[string]any{"status": ret.Status, "fields": ret.Fields})
	if info.StatusQuery != "" {
		v, err := derived(ctx, "status", info.StatusQuery, in)
		if err != nil {
			return ret, err
		}
		ret.Verdict = formats.Verdict(query.Text(v))
		if ret.Verdict == formats.Verdict(formats.OutcomeCompleted) && info.Role != formats.RoleReviewer {
			ret.Verdict = "" // done, without a judgement
		} else if !slices.Contains([]formats.Verdict{formats.VerdictApproved, formats.VerdictConditional, formats.VerdictRejected}, ret.Verdict) {
			return ret, &formats.ValueError{What: "approved, conditional or rejected from returns.status", Got: query.Text(v)}
		}
	}
	if info.IssuesQuery != "" {
		v, err := derived(ctx, "issues", info.IssuesQuery, in)
		if err != nil {
			return ret, err
		}
		issues, err := issuesOf(v)
		if err != nil {
			return ret, err
		}
		ret.Issues = append(ret.Issues, issues...)
	}
	return ret, nil
}

// derived evaluates the jq of a member of the contract. What is wrong with it is said of the subagent's file: its worker has
// no part in it.
func derived(ctx context.Context, member, src string, in any) (any, error) {
	code, err := query.Compile(src, query.Options{Strict: true})
	if err != nil {
		return nil, fmt.Errorf("the jq of returns.%s in the subagent's file: %w", member, err)
	}
	v, err := code.One(ctx, in, nil)
	if err != nil {
		return nil, fmt.Errorf("the jq of returns.%s in the subagent's file: %w", member, err)
	}
	return v, nil
}

var _ trace.Sink = (*switchboard)(nil)
