package project

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tercet/commands"
	"tercet/commands/interp"
	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/atomicfile"
	"tercet/internal/control"
	"tercet/internal/git"
	"tercet/internal/journal"
	"tercet/internal/keys"
	"tercet/internal/packs"
	"tercet/internal/proc"
	"tercet/internal/trust"
	"tercet/subagents"
	"tercet/subagents/agentcli"
	"tercet/subagents/builtin"
	"tercet/subagents/sandbox"
	"tercet/subagents/worktree"
	"tercet/templates"
	"tercet/templates/meta"
)

// build makes what starts processes and keeps the state.
func (p *Project) build(ctx context.Context) error {
	p.Trust.ConfigArgv = append(p.Trust.ConfigArgv, p.Config.Notify...)
	p.Trust.ConfigArgv = append(p.Trust.ConfigArgv, p.Config.Setup...)
	for _, name := range slices.Sorted(maps.Keys(p.Config.Checks)) {
		p.Trust.ConfigArgv = append(p.Trust.ConfigArgv, p.Config.Checks[name]...)
	}
	for _, s := range p.Config.ACP {
		p.Trust.ConfigArgv = append(p.Trust.ConfigArgv, s.Argv...)
	}

	p.Mask = journal.NewMasker(
		journal.Secrets(p.Host.Environ(), secretSettings(p.Config.Env)...)...,
	)
	p.Host.Frontend.Mask(p.Mask)
	p.Control = &control.Controller{
		Root:  p.Root,
		Clock: p.Host.Clock,
		User:  p.Host.User,
		Mask:  p.Mask,
		Note:  p.note,
		Secret: func() []byte {
			return keys.Of(p.Host.StateHome(), rand.Text)("runs")
		},
	}
	p.team = newTeam(p)
	if p.team != nil {
		p.Control.Share = p.team.share
		p.Control.RunKey = p.team.runKey
	}
	if err := p.startProcesses(); err != nil {
		return err
	}

	p.Control.HidesKey = sandbox.Holds
	p.Control.Tier = func() (string, error) { return p.Keeper.Tier(ctx) }
	p.onClose(p.Starter)
	if len(p.Config.Notify) > 0 {
		p.notifier = p.newNotifier()
		p.onClose(p.notifier)
	}
	if p.HasWorkspace {
		p.endLeftovers(ctx)
		if err := p.openState(); err != nil {
			return err
		}
		p.finishPack()
	}
	return p.openTrees()
}

// openTrees makes what keeps the worktrees of runs.
func (p *Project) openTrees() (err error) {
	p.Trees, err = worktree.New(worktree.Manager{
		Git:        p.Git,
		Root:       p.Dir,
		Base:       filepath.Join(p.Dir, formats.Workspace, formats.WorktreeFolder),
		Specs:      p.Config.Specs,
		Allow:      p.Config.Secrets,
		Remote:     p.Config.Team.Remote,
		RemoteType: p.remoteType,
		TrackCommits: func() func(txn string) bool {
			since := p.Host.Clock.Now()
			return func(txn string) bool {
				return journal.Delegated(
					p.Root, formats.AgentGitWorkflow, txn, since, p.Control.Key,
				)
			}
		},
	})
	return err
}

// secretSettings gives the variables of the configuration's `env` that children would not see
// without it.
func secretSettings(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.Contains(proc.InheritedVars(), name)
	})
}

// WorkerVariable gives a variable of the user as workers see it; empty: they do not get it.
func (p *Project) WorkerVariable(name string) string {
	if slices.Contains(slices.Concat(proc.InheritedVars(), p.Config.Env), name) {
		return p.Host.Env(name)
	}
	return ""
}

// startProcesses builds the one place that starts children, and its gate: before the project is
// trusted it starts none.
func (p *Project) startProcesses() (err error) {
	env := append(
		proc.LookupVars(p.Host.LookupEnv, slices.Concat(proc.InheritedVars(), p.Config.Env)...),
		"TERCET_ROOT="+p.Dir,
	)
	p.networkEnv = proc.LookupVars(p.Host.LookupEnv, proc.PushVars()...)
	p.Starter, err = proc.NewStarter(proc.Starter{
		Allow:      p.allow,
		Env:        env,
		Now:        p.Host.Clock.Now,
		Supervisor: p.Host.Supervisor,
		Record:     p.children().Record,
		Grace:      proc.Grace{Abort: p.Host.AbortContext().Done()},
	})
	p.Keeper = p.newKeeper()
	return err
}

// Git gives the repository of a folder.
func (p *Project) Git(dir string) *git.Repo {
	return &git.Repo{
		Starter: p.Starter,
		Dir:     dir,
		Online:  p.networkEnv,
		Cache:   &p.gitSettings,
	}
}

// Session is what lines run with: the commands, the subagents and the answers to questions, for one
// set of options. It runs one line at a time; other sessions may be at work meanwhile.
type Session struct {
	Project *Project
	Options Options

	Library    *commands.Library
	Catalog    *commands.Catalog
	Set        *subagents.Set
	Models     subagents.Models
	Dispatcher *subagents.Dispatcher
	AgentNotes []formats.Diagnostic // about the agents of other tools
	Broken     *formats.Diagnostics // about the subagent files that cannot be used; nil without one

	approver  *approver
	events    *eventSink // of the runs of this session
	auto      *agentcli.Auto
	tape      *os.Root  // of Record or Replay, nil without
	givingUp  bool      // a run is gone through again only to end it
	readOnly  bool      // what runs keeps no record of itself in the workspace
	silent    bool      // what runs has one step, and its answer is all
	oneRun    bool      // a line with several tasks is refused
	runID     string    // of the run that the next line begins; empty: a new one
	metaFiles metaFiles // that the current run of /meta wrote
	// turns are the places of the runs of a line with several tasks in the queue, by run.
	turns map[string]*queueTurn
	// journaled is called once a run has an entry in its journal, or is taken to go on.
	journaled func(run string)
	// verifying is what a run reaches that is replayed without effects; nil: it is none.
	verifying *interp.Config
}

// Session reads the commands and the subagents, and makes what runs them.
func (p *Project) Session(o Options) (*Session, error) {
	s := &Session{Project: p, Options: o}
	s.journaled = func(string) {}
	return s, s.build()
}

// cloneWith makes another session with the same options, and applies a change before it is built.
func (s *Session) cloneWith(change func(*Session)) (*Session, error) {
	out := &Session{Project: s.Project, Options: s.Options, journaled: s.journaled}
	out.Options.TellsBroken = true // the first one told of them
	change(out)
	return out, out.build()
}

func (s *Session) build() error {
	s.approver = newApprover(s)
	s.events = newEventSink(s.Project.Host, s.Project.Mask)
	s.auto = &agentcli.Auto{Starter: s.Project.Starter}
	s.loadCommands()
	return s.loadSubagents()
}

// subagentSources are the folders of tercet's own subagent files, the project's first.
func (p *Project) subagentSources() []subagents.Source {
	sources := []subagents.Source{subagents.LibrarySource()}
	if !p.HasWorkspace {
		return sources
	}

	const folder = formats.Workspace + "/subagents"
	own := subagents.Source{
		Name:    folder,
		FS:      p.Trust.FS(folder),
		Facets:  p.Trust.FS(formats.Workspace + "/facets"),
		Project: p.Trust.FS("."),
	}
	return append(
		append([]subagents.Source{own}, packSources(p.Trust, folder, own.Facets)...),
		sources...,
	)
}

// loadSubagents builds the set of subagents and the dispatcher.
func (s *Session) loadSubagents() error {
	p := s.Project
	var err error
	s.Set, err = subagents.Load(s.agent, p.subagentSources()...)
	if d, ok := errors.AsType[*formats.Diagnostics](err); ok {
		s.Broken = d
		if !s.Options.TellsBroken {
			p.Host.Frontend.Diagnostics(d) // a broken file costs only the commands that name it
		}
	} else if err != nil {
		return err
	}
	if err = errors.Join(s.openTape(), s.checkRunner(s.Options.Runner)); err != nil {
		return err
	}

	s.Models = s.requestedModels()
	s.AgentNotes, err = s.Set.AddForeign(p.agentFolders(), p.Config.Prefer, s.agent)
	if err != nil {
		return err
	}
	p.warnPreferences(s.Set)

	s.Library.Env = commands.Contracts{Env: s.Set, Root: p.Root, Own: p.Profiles}
	s.Dispatcher = &subagents.Dispatcher{
		Set:      s.Set,
		Root:     p.Root,
		Dir:      p.Dir,
		Specs:    p.Config.Specs,
		Profiles: p.Profiles,
		Clock:    p.Host.Clock,
		Trace:    s,
		Derive:   interp.Derive,
		Mask:     p.Mask,
		Guard:    p.Guard,
		Ready:    p.Trees.PrepareWorker,
		Allow:    p.Config.Secrets,
	}

	if p.Manager != nil {
		s.Dispatcher.Watch = p.watchState
	}
	if p.team != nil {
		s.Dispatcher.Watch = nil // the state here is a copy
		s.Dispatcher.Ready = p.team.prepareWorker
	}
	if p.Config.AgentsAtOnce > 0 {
		s.Dispatcher.Enter = s.enterAgent
	}
	return nil
}

// rules reads the rules of the project.
func (p *Project) rules(ctx context.Context) (map[string]any, error) {
	return documents.ReadRules(func(name string) ([]byte, error) { return p.Docs.Open(ctx, name) })
}

// remoteType is what the rules of the project say of its remote.
func (p *Project) remoteType(ctx context.Context) (string, error) {
	rules, err := p.rules(ctx)
	kind, _ := rules["remote_type"].(string) //nolint:errcheck // without the key it is empty
	return kind, err
}

// packSources are the folders with the subagents of packs.
func packSources(gate *trust.Gate, folder string, facets fs.FS) (out []subagents.Source) {
	entries, err := fs.ReadDir(gate.FS("."), folder)
	for _, e := range entries {
		if name := e.Name(); err == nil && e.IsDir() && packs.IsName(name) {
			at := folder + "/" + name
			out = append(out, subagents.Source{
				Name:    at,
				FS:      gate.FS(at),
				Facets:  facets,
				Project: gate.FS("."),
				Pack:    name,
			})
		}
	}
	return out
}

// agent chooses what does the work of a subagent file. A built-in one is Go, an exec file its
// program. For others it is the first known runner of the flag, the file, the configuration.
func (s *Session) agent(def subagents.Definition) subagents.Agent {
	if workers := s.Options.Workers; workers != nil && workers.IsScripted(def.Info) {
		return workers.Agent(def, s.worker(def))
	}
	if def.Info.Builtin {
		return s.builtin(def.Info.Name)
	}
	if def.Info.Workflow {
		return meteredWorkflow{&commands.Workflow{
			File: def.File,
			Src:  def.Src,
			Info: def.Info,
			Env: commands.Contracts{
				Env:  s.Set,
				Root: s.Project.Root,
				Own:  s.Project.Profiles,
			},
			Config: s.stepsConfig,
		}}
	}
	return s.worker(def)
}

// applier is the one writer of the state: here, or at the home of the team.
func (p *Project) applier() builtin.Applier {
	if p.team != nil {
		return p.team
	}
	return p.Manager
}

// builtin gives the Go implementation of a shipped subagent.
func (s *Session) builtin(name string) subagents.Agent {
	// that of a pack has the pack before it
	switch name = name[strings.LastIndex(name, ":")+1:]; name {
	case formats.AgentStatusSync:
		return builtin.StatusSync{
			Manager:   s.Project.applier(),
			Committed: s.Project.Trees.CheckCommitted,
		}
	case "task-creator":
		return builtin.TaskCreator{Docs: s.Project.Docs}
	case formats.AgentGitWorkflow:
		own := builtin.GitWorkflow{Trees: s.Project.Trees, Open: s.Project.Docs.Open}
		if s.Project.team != nil {
			return teamGit{GitWorkflow: own, team: s.Project.team}
		}
		return own
	case formats.AgentGatekeeper:
		return builtin.Gatekeeper{Check: s.check, Configured: s.Project.Config.Checks}
	case "meta-builder":
		b := meta.New(s.Project.Root, s.Set, s.Catalog)
		b.Fills = s.usesModel
		b.Wrote = func(files []meta.File) {
			s.metaFiles.texts = meta.Texts(files)
		}
		return b
	case formats.AgentDocumentWriter:
		packs, err := templates.Packs()
		if err != nil {
			return failingAgent(formats.Fail(formats.CodeBug, "", "the shipped packs: %v", err))
		}
		shipped, _ := fs.Sub(packs, "flows/templates") //nolint:errcheck // the name is a valid one
		d := builtin.DocumentWriter{
			Clock:   s.Project.Host.Clock,
			Shipped: shipped,
			Project: filepath.Base(s.Project.Dir),
		}
		if s.Project.Root != nil {
			own := atomicfile.FS(s.Project.Root)
			//nolint:errcheck // the name is a valid one
			d.Templates, _ = fs.Sub(own, formats.Workspace+"/templates")
		}
		return d
	case "error-diagnostics":
		return builtin.Diagnostics{Errors: s.Project.Problems}
	case "reference":
		return builtin.Reference{Catalog: s.Catalog, Set: s.Set}
	}

	return failingAgent(formats.Fail(formats.CodeBug, "", "no built-in subagent is named %s", name))
}
