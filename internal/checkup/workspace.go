package checkup

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tercet/commands"
	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/dialect"
	"tercet/router"
	"tercet/subagents/past"
)

// Workspace checks a workspace. It writes nothing but the lock.
type Workspace struct {
	Root     *os.Root
	Dir      string
	Verify   func(ctx context.Context) ([]formats.Diagnostic, error)
	Lockable func(ctx context.Context) error
	Tasks    func(ctx context.Context) ([]formats.Task, error)
	Alive    func(formats.Lease) bool // whether the process of a lease still runs
	Limits   past.Limits              // which runs gc keeps
	Table    *router.Table
	Agents   []Tool // the folders of other tools with agents
	Library  *commands.Library
	MayStart bool // whether processes may start here
	InRun    bool // tercet runs inside a run
}

// Check runs all checks.
func (w *Workspace) Check(ctx context.Context) []Finding {
	list := []Finding{
		okFinding("workspace", w.Dir),
		w.state(ctx),
		w.lock(ctx),
		w.clock(),
		w.runs(ctx),
	}
	return slices.Concat(list, w.leases(ctx), w.otherTools())
}

// runs reports the size of all runs, and warns when some are old or the size nears the limit.
func (w *Workspace) runs(ctx context.Context) Finding {
	c, err := past.Project{Root: w.Root}.FindOld(ctx, w.Limits)
	if err != nil {
		return warning("runs", err.Error(), formats.HelpOf(err))
	}
	text := fmt.Sprintf("they hold %d MiB", c.Size>>20)
	if len(c.Runs) > 0 || c.Size/3 > w.Limits.Size/4 {
		return warning(
			"runs",
			text+", "+formats.Count(len(c.Runs), "old run")+" could go",
			"tercet gc --dry-run",
		)
	}
	return okFinding("runs", text)
}

// leases names the tasks whose process is gone.
func (w *Workspace) leases(ctx context.Context) (out []Finding) {
	tasks, err := w.Tasks(ctx)
	if err != nil {
		return nil // the check of the state reports the same error
	}
	for _, t := range tasks {
		if t.Lease != nil && !w.Alive(*t.Lease) {
			out = append(out, warning(
				"lease",
				fmt.Sprintf("task %d is held by run %s, whose process is gone",
					t.Number, t.Lease.Run),
				"run its command again: a lease of a process that is gone is taken over",
			))
		}
	}
	return out
}

func (w *Workspace) state(ctx context.Context) Finding {
	const verify = "run tercet state verify"
	list, err := w.Verify(ctx)
	if err != nil {
		return failure("state", err.Error(), cmp.Or(formats.HelpOf(err), verify))
	}
	for _, one := range list {
		if one.Severity == formats.SeverityError {
			return failure("state", one.Error(), cmp.Or(one.Help, verify))
		}
	}
	if len(list) > 0 {
		return warning("state", list[0].Error(), cmp.Or(list[0].Help, verify))
	}
	return okFinding("state", "state.json is valid")
}

// lock takes the lock once. It finds a file system without locks, or without the right to write,
// before work is lost on it.
func (w *Workspace) lock(ctx context.Context) Finding {
	switch {
	case !w.MayStart:
		return skip(
			"lock",
			"not tried: it would write into a project that you have not trusted yet",
		)
	case w.InRun:
		return okFinding("lock", "not tried inside a run")
	}
	if err := w.Lockable(ctx); err != nil {
		return failure("lock", err.Error(), formats.HelpOf(err))
	}
	return okFinding("lock", "can be taken on this file system")
}

// clock compares the clock with the time of the state file.
func (w *Workspace) clock() Finding {
	const slack = time.Minute
	now := w.Limits.Now.UTC()
	info, err := os.Stat(filepath.Join(w.Dir, formats.Workspace, "state.json"))
	if err == nil && info.ModTime().After(now.Add(slack)) {
		return warning(
			"clock",
			"state.json was written in the future, at "+info.ModTime().UTC().Format(time.RFC3339),
			"set the clock of this machine",
		)
	}
	return okFinding("clock", now.Format(time.RFC3339))
}

// otherTools reports the commands, agents and hooks of other tools, and which of them count
// positional arguments from $0 and which from $1.
func (w *Workspace) otherTools() (out []Finding) {
	bases := [2][]string{{}, {}}
	hooks := []string{}
	for _, name := range []string{".claude/settings.json", ".claude/settings.local.json"} {
		var of struct{ Hooks map[string]any }
		src, err := dialect.ReadFile(atomicfile.FS(w.Root), name)
		if err == nil && json.Unmarshal(src, &of) == nil && len(of.Hooks) > 0 {
			hooks = append(hooks, name)
		}
	}

	for _, e := range w.Table.Commands() {
		c, flow, err := w.Library.Prompt(e.Source, e.File)
		if err == nil && c != nil && !flow && c.Dialect == dialect.Claude {
			at := min(c.Base, 1)
			bases[at] = append(bases[at], "/"+e.Name)
		}
		if err == nil && c != nil && c.Hooks {
			hooks = append(hooks, "/"+e.Name)
		}
	}

	if len(hooks) > 0 {
		out = append(out, warning(
			"commands",
			"hooks of other tools are never run: "+formats.FirstFew(hooks, " "),
			"what a hook does can be a step: 'tercet lint --adopt FILE' drafts a workflow",
		))
	}
	for _, t := range Tools(w.Table, w.Agents) {
		f := okFinding("tools", t.String())
		f.Fix = strings.Join(t.Advice, "\n")
		f.Detail = t
		out = append(out, f)
	}

	for _, l := range w.Table.LeftOut() {
		out = append(
			out,
			warning("commands", l.String(), "make it a regular file in a folder that can be read"),
		)
	}

	if len(bases[0])+len(bases[1]) == 0 {
		return out
	}
	f := okFinding("commands", fmt.Sprintf("of other tools: first argument $0 in %s, $1 in %s",
		cmp.Or(formats.FirstFew(bases[0], " "), "none"),
		cmp.Or(formats.FirstFew(bases[1], " "), "none")))
	f.Detail = map[string]any{"positional_base_0": bases[0], "positional_base_1": bases[1]}
	return append(out, f)
}
