package main

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tercet/commands"
	"tercet/commands/interp"
	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/control"
	"tercet/internal/git"
	"tercet/internal/journal"
	"tercet/internal/proc"
	"tercet/internal/trust"
	"tercet/packs"
	"tercet/state"
	"tercet/subagents"
	"tercet/subagents/agentcli"
	"tercet/subagents/builtin"
	"tercet/subagents/sandbox"
	"tercet/subagents/worktree"
	"tercet/templates"
	"tercet/templates/meta"
)

// build makes what starts processes and keeps the state.
func (w *world) build(ctx context.Context) error {
	w.gate.Words = append(w.gate.Words, w.cfg.Notify...)
	for _, s := range w.cfg.ACP {
		w.gate.Words = append(w.gate.Words, s.Argv...)
	}

	w.mask = journal.NewMasker(journal.Secrets(os.Environ(), secretSettings(w.cfg.Env)...)...)
	w.term.mask = w.mask.Values
	w.sink = newSwitchboard(w.app, w.mask)
	w.desk = &control.Controller{
		Root:  w.root,
		Clock: clock{},
		User:  userName(),
		Mask:  w.mask,
		Note:  w.term.note,
		Secret: func() []byte {
			return state.SealKey(w.stateHome(), rand.Text)("runs")
		},
	}
	w.approver.desk = w.desk
	if err := w.startProcesses(); err != nil {
		return err
	}

	w.desk.HidesKey = sandbox.Holds
	w.desk.Tier = func() (string, error) { return w.keeper.Tier(ctx) }
	w.keep(w.starter)
	if len(w.cfg.Notify) > 0 {
		w.bell = w.newBell()
		w.keep(w.bell)
	}
	if w.has {
		w.sweep(ctx)
		if err := w.openState(); err != nil {
			return err
		}
		shelf{call{world: w}}.finishPack()
	}
	return nil
}

// secretSettings gives the variables of the configuration's `env` that children would not see
// without it.
func secretSettings(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.Contains(proc.Inherited(), name)
	})
}

// startProcesses builds the one place that starts children, and its gate: before the project is
// trusted it starts none.
func (w *world) startProcesses() (err error) {
	env := append(
		proc.Set(os.LookupEnv, slices.Concat(proc.Inherited(), w.cfg.Env)...),
		"TERCET_ROOT="+w.dir,
	)
	w.online = proc.Set(os.LookupEnv, proc.ForPush()...)
	w.starter, err = proc.NewStarter(proc.Starter{
		Allow:      w.allow,
		Env:        env,
		Now:        time.Now,
		Supervisor: supervisor(),
		Record:     w.children().Record,
		Grace:      proc.Grace{Abort: w.signals.hardContext().Done()},
	})
	w.auto = &agentcli.Auto{Starter: w.starter}
	w.keeper = w.newKeeper()
	return err
}

func (w *world) git(dir string) *git.Repo {
	return &git.Repo{
		Starter: w.starter,
		Dir:     dir,
		Online:  w.online,
	}
}

// subagentSources are the folders of tercet's own subagent files, the project's first.
func (w *world) subagentSources() []subagents.Source {
	sources := []subagents.Source{subagents.LibrarySource()}
	if !w.has {
		return sources
	}
	const folder = formats.Workspace + "/subagents"
	own := subagents.Source{
		Name:   folder,
		FS:     w.gate.FS(folder),
		Facets: w.gate.FS(formats.Workspace + "/facets"),
	}
	return append(
		append([]subagents.Source{own}, packSources(w.gate, folder, own.Facets)...),
		sources...,
	)
}

// agents builds the set of subagents and the dispatcher.
func (w *world) agents() error {
	set, err := subagents.Load(w.agent, w.subagentSources()...)
	if d, ok := asDiagnostics(err); ok {
		w.broken = d
		if !w.told[toldBroken] {
			w.term.diagnostics(d) // a broken file costs only the commands that name it
		}
	} else if err != nil {
		return err
	}

	base := filepath.Join(w.dir, formats.Workspace, formats.WorktreeFolder)
	w.trees, err = worktree.New(worktree.Manager{
		Git:        w.git,
		Root:       w.dir,
		Base:       base,
		Specs:      w.cfg.Specs,
		Allow:      w.cfg.Secrets,
		RemoteType: w.remoteType,
		Made: func() func(txn string) bool {
			since := clock{}.Now()
			return func(txn string) bool {
				return journal.Delegated(w.root, formats.AgentGitWorkflow, txn, since, w.desk.Key)
			}
		},
	})
	if err = errors.Join(err, runs{w}.openTape(), workers{w}.known(w.flags.runner)); err != nil {
		return err
	}

	w.set = set
	w.models = workers{w}.asked()
	if w.agentNotes, err = w.set.AddForeign(w.scanned.agents(), w.agent); err != nil {
		return err
	}
	w.library.Env = commands.Contracts{Env: w.set, Root: w.root}
	w.dispatcher = &subagents.Dispatcher{
		Set:    w.set,
		Root:   w.root,
		Dir:    w.dir,
		Specs:  w.cfg.Specs,
		Clock:  clock{},
		Trace:  w.sink,
		Derive: interp.Derive,
		Mask:   w.mask,
		Guard:  w.guard,
		Ready:  w.trees.Ready,
		Allow:  w.cfg.Secrets,
	}
	if w.manager != nil {
		w.dispatcher.Watch = w.watchState
	}
	return nil
}

// rules reads the rules of the project.
func (w *world) rules(ctx context.Context) (map[string]any, error) {
	return formats.ReadRules(func(name string) ([]byte, error) { return w.docs.Open(ctx, name) })
}

// remoteType is what the rules of the project say of its remote.
func (w *world) remoteType(ctx context.Context) (string, error) {
	rules, err := w.rules(ctx)
	said, _ := rules["remote_type"].(string) //nolint:errcheck // a file without the key says nothing
	return said, err
}

// packSources are the folders with the subagents of packs.
func packSources(gate *trust.Gate, folder string, facets fs.FS) (out []subagents.Source) {
	entries, err := fs.ReadDir(gate.FS("."), folder)
	for _, e := range entries {
		if name := e.Name(); err == nil && e.IsDir() && packs.IsName(name) {
			at := folder + "/" + name
			out = append(out, subagents.Source{
				Name:   at,
				FS:     gate.FS(at),
				Facets: facets,
				Pack:   name,
			})
		}
	}
	return out
}

// agent chooses what does the work of a subagent file. A built-in one is Go, an exec file its
// program. For others it is the first known runner of the flag, the file, the configuration.
func (w *world) agent(def subagents.Definition) subagents.Agent {
	if w.play != nil && w.play.cast != nil && w.play.cast.Plays(def.Info) {
		return w.play.cast.Agent(def, workers{w}.worker(def))
	}
	if def.Info.Builtin {
		return w.builtin(def.Info.Name)
	}
	if def.Info.Workflow {
		return countedFlow{&commands.Workflow{
			File:   def.File,
			Src:    def.Src,
			Info:   def.Info,
			Env:    commands.Contracts{Env: w.set, Root: w.root},
			Config: runs{w}.stepsConfig,
		}}
	}
	return workers{w}.worker(def)
}

// builtin gives the Go implementation of a shipped subagent.
func (w *world) builtin(name string) subagents.Agent {
	// that of a pack has the pack before it
	switch name = name[strings.LastIndex(name, ":")+1:]; name {
	case formats.AgentStatusSync:
		return builtin.StatusSync{Manager: w.manager, Committed: w.trees.Committed}
	case "task-creator":
		return builtin.TaskCreator{Docs: w.docs}
	case formats.AgentGitWorkflow:
		return builtin.GitWorkflow{Trees: w.trees, Open: w.docs.Open}
	case formats.AgentGatekeeper:
		return builtin.Gatekeeper{Check: w.check}
	case "meta-builder":
		b := meta.New(w.root, w.set, w.catalog)
		b.Fills = workers{w}.online
		return b
	case formats.AgentDocumentWriter:
		shipped, _ := fs.Sub(templates.Packs(), "flows/templates") //nolint:errcheck // the name is a valid one
		d := builtin.DocumentWriter{
			Clock:   clock{},
			Shipped: shipped,
			Project: filepath.Base(w.dir),
		}
		if w.root != nil {
			d.Templates, _ = fs.Sub(atomicfile.FS(w.root), formats.Workspace+"/templates") //nolint:errcheck // the name is a valid one
		}
		return d
	case "error-diagnostics":
		return builtin.Diagnostics{Errors: w.problems}
	case "reference":
		return builtin.Reference{Catalog: w.catalog, Set: w.set}
	}

	return failing(formats.Fail(formats.CodeBug, "", "no built-in subagent is named %s", name))
}
