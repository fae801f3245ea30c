package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"tercet/commands"
	"tercet/commands/interp"
	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/git"
	"tercet/internal/journal"
	"tercet/router"
	"tercet/state"
	"tercet/subagents"
)

// handle runs the command that a line was routed to.
func (w *world) handle(ctx context.Context, line router.Line, r router.Route) (formats.Return, error) {
	if w.reader == nil && r.Name != "help" {
		return formats.Return{}, noWorkspace()
	}
	o := router.Orchestrator{
		Runner: w.library, Trace: w.sink, NewRun: func() (string, string) { return w.app.sessionID(), newRunID() },
	}
	ret, err := o.Handle(ctx, line, r, w.app.flags.dryRun)
	if cerr := w.sink.end(); cerr != nil {
		w.app.term.note("warning: trace: %s", cerr)
	}
	return ret, err
}

// runConfig gives one run everything that it can reach. The run's folder is made with the first entry of its journal.
func (w *world) runConfig(_ context.Context, inv formats.Invocation) (interp.Config, error) {
	flags := &w.app.flags
	cfg := interp.Config{
		Agents: w.dispatcher, State: noState{}, Docs: noDocs{}, Problems: w.problemStore(), Approve: w.approver,
		Journal: noJournal{}, Clock: clock{}, Trace: w.sink, Show: w.app.term.table, Dir: w.dir, Env: w.environment,
		Limits: w.cfg.Limits, AutoApprove: flags.yes, DryRun: inv.DryRun, Abort: w.app.signals.hardContext(), Diff: w.diff,
		IDs: interp.IDs{Run: inv.Run, Session: inv.Session, Command: inv.Line, Path: inv.Path},
	}
	if flags.stubs != "" {
		if !inv.DryRun {
			return cfg, usage("--stubs belongs to --dry-run: a run asks its subagents")
		}
		var err error
		if cfg.Stubs, err = stubs(flags.stubs); err != nil {
			return cfg, err
		}
	}
	if w.reader == nil || w.readOnly {
		return cfg, nil
	}
	cfg.State, cfg.Docs, cfg.Discard = w.reader, w.docs, w.dispatcher.Discard
	if !inv.DryRun {
		dir := path.Join(formats.Workspace, "runs", inv.Run)
		cfg.Journal = w.journal(dir, func() error { return w.sink.open(w.root, dir) })
		w.sink.begin(inv.Run)
	}
	return cfg, nil
}

// journal is that of a folder, which is made with the first entry; open then opens what stands beside it.
func (w *world) journal(dir string, open func() error) *journal.Writer {
	j := journal.New(func() (*os.Root, error) {
		if err := atomicfile.MkdirAll(w.root, dir, 0o700); err != nil {
			return nil, err
		}
		if err := open(); err != nil {
			return nil, err
		}
		return w.root.OpenRoot(dir)
	}, journal.Options{Clock: clock{}.Now, Sync: true, Mask: w.mask})
	w.keep(j)
	return j
}

// environment looks up a variable that a command file names under `env`. A dry run needs no trust, so that it sees none
// in a project that nobody has agreed to.
func (w *world) environment(name string) (string, bool) {
	if v, err := w.gate.Verdict(); err != nil || v.By == "" {
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

// stepsConfig gives the steps of a subagent what a run reaches, but for the person. They have a journal of their own
// beside that of the run, so that subagents side by side do not mix theirs.
func (w *world) stepsConfig(ctx context.Context, r formats.Request) (interp.Config, error) {
	inv := formats.Invocation{Run: r.Run, Session: r.Session, Line: r.Command, Path: r.Path, DryRun: true}
	cfg, err := w.runConfig(ctx, inv)
	if err != nil || w.reader == nil {
		return cfg, err
	}
	cfg.DryRun, cfg.Stubs, cfg.Discard = false, nil, nil
	step := strings.NewReplacer("/", "_", "[", "_", "]", "").Replace(interp.Within(r))
	dir := path.Join(formats.Workspace, "runs", r.Run, "steps", step)
	cfg.Journal = w.journal(dir, func() error { return nil })
	return cfg, nil
}

// diff is what the work in a tree changed: against the checkout of the person for a worktree, against the last commit
// for the checkout itself. Where there is no repository nothing is known.
func (w *world) diff(ctx context.Context, dir string) (patch, stat string, err error) {
	repo := w.git(dir)
	head, err := repo.Head(ctx)
	if err != nil {
		return "", "", nil //nolint:nilerr // no repository, or one without a commit: there is nothing to compare with
	}
	base := head
	if dir != w.dir {
		there, err := w.git(w.dir).Head(ctx)
		if err != nil {
			return "", "", err
		}
		if base, err = repo.MergeBase(ctx, there, head); err != nil || base == "" {
			return "", "", err
		}
	}
	data, err := repo.Diff(ctx, base, "")
	if err != nil {
		return "", "", err
	}
	lines, err := changes(ctx, repo, base, head)
	return string(data), strings.Join(lines, "\n"), err
}

// changes lists the files that are in commits since base, and those that are in none.
func changes(ctx context.Context, repo *git.Repo, base, head string) ([]string, error) {
	stats, err := repo.DiffStat(ctx, base, head)
	if err != nil {
		return nil, err
	}
	entries, err := repo.StatusPorcelain(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, s := range stats {
		out = append(out, fmt.Sprintf("%s | +%d -%d", s.Path, s.Added, s.Deleted))
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Path, formats.Workspace+"/") {
			out = append(out, e.Path+" | not committed")
		}
	}
	return out, nil
}

// stubs reads the returns that a dry run takes instead of asking subagents: a map from a step's id, or a subagent's
// name, to one return or a list of them.
func stubs(name string) (map[string][]formats.Return, error) {
	data, err := os.ReadFile(filepath.Clean(name))
	if err != nil {
		return nil, broken(formats.CodeIO, "stub returns", err)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, broken(formats.CodeUsage, name+": expected a JSON object from steps to returns", err)
	}
	out := map[string][]formats.Return{}
	for key, one := range raw {
		list := []json.RawMessage{one}
		if strings.HasPrefix(strings.TrimSpace(string(one)), "[") {
			list = nil
			if err := json.Unmarshal(one, &list); err != nil {
				return nil, broken(formats.CodeUsage, name+": "+key, err)
			}
		}
		for _, item := range list {
			ret, err := formats.ParseReturn(item, formats.ParseOptions{})
			if err != nil {
				return nil, broken(formats.CodeUsage, name+": the return for "+key, err)
			}
			out[key] = append(out[key], ret)
		}
	}
	return out, nil
}

// problemStore is errors.json, or nothing where there is no workspace.
func (w *world) problemStore() interp.Problems {
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

func (noDocs) Open(context.Context, string) ([]byte, error)       { return nil, noWorkspace() }
func (noDocs) Glob(context.Context, []string) ([]string, error)   { return nil, noWorkspace() }
func (noJournal) Append(context.Context, formats.Entry) error     { return nil }
func (noProblems) Record(context.Context, formats.Problem) error  { return nil }
func (noProblems) List(context.Context) ([]state.Recorded, error) { return nil, nil }
