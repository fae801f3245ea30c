package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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
	"tercet/subagents"
)

// workflow is the agent of a subagent file with steps. They are compiled when it is first called or linted: the set of
// subagents is complete then.
func (w *world) workflow(def subagents.Definition) subagents.Agent {
	return countedFlow{w.flow(def)}
}

// countedFlow tells the Dispatcher what the workers of the steps used.
type countedFlow struct{ *commands.Workflow }

// RunMetered runs the steps.
func (f countedFlow) RunMetered(ctx context.Context, r formats.Request) (formats.Return, subagents.Measured, error) {
	ret, used, err := f.RunCounted(ctx, r)
	return ret, subagents.Measured{Runner: "workflow", Tokens: used.Tokens, Cost: used.Cost, Spawns: used.Spawns}, err
}

func (w *world) flow(def subagents.Definition) *commands.Workflow {
	return &commands.Workflow{File: def.File, Src: def.Src, Info: def.Info, Env: contracts{w.set, w.root}, Config: w.stepsConfig}
}

// stepsConfig gives the steps of a subagent what a run reaches, but for the person. They have a journal of their own beside
// that of the run, so that subagents side by side do not mix theirs.
func (w *world) stepsConfig(ctx context.Context, r formats.Request) (interp.Config, error) {
	cfg, err := w.runConfig(ctx, formats.Invocation{Run: r.Run, Session: r.Session, Line: r.Command, Path: r.Path, DryRun: true})
	if err != nil || w.reader == nil {
		return cfg, err
	}
	cfg.DryRun, cfg.Stubs, cfg.Discard = false, nil, nil
	dir := path.Join(formats.Workspace, "runs", r.Run, "steps", strings.NewReplacer("/", "_", "[", "_", "]", "").Replace(interp.Within(r)))
	j := journal.New(func() (*os.Root, error) {
		if err := atomicfile.MkdirAll(w.root, dir, 0o700); err != nil {
			return nil, err
		}
		return w.root.OpenRoot(dir)
	}, journal.Options{Clock: clock{}.Now, Sync: true, Mask: w.mask})
	w.keep(j)
	cfg.Journal = j
	return cfg, nil
}

// keep closes what was opened when the world is closed.
func (w *world) keep(c io.Closer) {
	w.closing.Lock()
	defer w.closing.Unlock()
	w.closers = append(w.closers, c)
}

// diff is what the work in a tree changed: against the checkout of the person for a worktree, against the last commit for
// the checkout itself. Where there is no repository nothing is known.
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
	var out []string
	stats, err := repo.DiffStat(ctx, base, head)
	if err != nil {
		return nil, err
	}
	for _, s := range stats {
		out = append(out, fmt.Sprintf("%s | +%d -%d", s.Path, s.Added, s.Deleted))
	}
	entries, err := repo.StatusPorcelain(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Path, formats.Workspace+"/") {
			out = append(out, e.Path+" | not committed")
		}
	}
	return out, nil
}

// stubs reads the returns that a dry run takes instead of asking subagents: a map from a step's id, or a subagent's name, to
// one return or a list of them.
func (w *world) stubs(name string) (map[string][]formats.Return, error) {
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(filepath.Clean(name))
	if err != nil {
		return nil, &formats.Failure{Code: formats.CodeIO, Message: "stub returns", Err: err}
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, &formats.Failure{Code: formats.CodeUsage, Message: name + ": expected a JSON object from steps to returns", Err: err}
	}
	out := map[string][]formats.Return{}
	for key, one := range raw {
		list := []json.RawMessage{one}
		if strings.HasPrefix(strings.TrimSpace(string(one)), "[") {
			list = nil
			if err := json.Unmarshal(one, &list); err != nil {
				return nil, &formats.Failure{Code: formats.CodeUsage, Message: name + ": " + key, Err: err}
			}
		}
		for _, item := range list {
			ret, err := formats.ParseReturn(item, formats.ParseOptions{})
			if err != nil {
				return nil, &formats.Failure{Code: formats.CodeUsage, Message: name + ": the return for " + key, Err: err}
			}
			out[key] = append(out[key], ret)
		}
	}
	return out, nil
}
