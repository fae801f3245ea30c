package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/jsonx"
	"tercet/state/files"
	"tercet/state/history"
	"tercet/state/statefile"
)

// undoTxn is the id of the transaction that takes back the tasks of a run, and with a dash the
// beginning of those of its plans.
func undoTxn(run string) string { return "undo-" + run }

// IsUndo reports whether a transaction takes back what a run did.
func IsUndo(txn, run string) bool {
	return txn == undoTxn(run) || strings.HasPrefix(txn, undoTxn(run)+"-")
}

// Undo reverts what a run did to its tasks and to the phases of plans: one transaction for all
// tasks, and one for each plan. Their ids are derived from the run, so nothing happens twice. dry
// only reports. It returns one line for each task and plan, and the paths of the plans.
func (m *Manager) Undo(
	ctx context.Context,
	run, session string,
	dry bool,
) (lines, plans []string, err error) {
	do := m.Apply
	if dry {
		do = m.Try
	}
	marks, err := history.PlanLines(m.cfg.Root)

	for _, name := range slices.Sorted(maps.Keys(marks)) {
		if !slices.ContainsFunc(marks[name], func(l *history.Line) bool { return l.Run == run }) {
			continue
		}

		res, failed := do(ctx, Tx{
			ID:      undoTxn(run) + "-" + formats.Sum([]byte(name)),
			Session: session,
			Ops:     []Op{RestorePhases{Run: run, Plan: name}},
		})
		err = errors.Join(err, failed)
		if failed == nil && res.Changed && !res.Replayed {
			lines = append(lines, "put back the marks of phases in "+name)
			plans = append(plans, name)
		}
	}
	if err != nil && !dry {
		return lines, plans, err
	}

	res, failed := do(ctx, Tx{
		ID:      undoTxn(run),
		Session: session,
		Ops:     []Op{RestoreTasks{Run: run}},
	})
	if failed == nil && res.Changed && !res.Replayed {
		for _, v := range res.Verdicts {
			lines = append(lines, describeRestored(v))
		}
		lines = append(lines, res.Warnings...)
	}
	return lines, plans, errors.Join(err, failed)
}

// describeRestored describes what was restored.
func describeRestored(v history.Verdict) string {
	if v.To == "" {
		return fmt.Sprintf("task %d: removed", v.Task)
	}
	if v.To == v.From {
		return fmt.Sprintf("task %d: as it was before, %s", v.Task, v.To)
	}
	return fmt.Sprintf("task %d: %s -> %s", v.Task, v.From, v.To)
}

// RestoreTasks restores a run's tasks as they were before its first write, whatever the table of
// transitions says. It removes tasks that the run created; their numbers stay used. It fails as a
// whole if another transaction or the user changed one of the tasks since. It must be alone in its
// transaction.
type RestoreTasks struct{ Run string }

func (RestoreTasks) name() string {
	return "restore_tasks"
}

func (op RestoreTasks) record() opRecord {
	return opRecord{"run": op.Run}
}

func (op RestoreTasks) apply(d *draft) error {
	if op.Run == "" {
		return d.invalidOp(0, "", "expected the id of a run, got none")
	}
	c, err := history.Read(d.cfg.Root)
	if err != nil {
		return err
	}

	archive, err := d.loadArchive()
	if err != nil {
		return err
	}

	var all error
	run := c.ChangesOf(op.Run)
	for _, n := range run.Tasks() {
		change, err := run.Task(n)
		if err == nil {
			err = d.restore(change, archive)
		}
		all = errors.Join(all, err)
	}

	if all != nil {
		return all
	}
	for task := range d.tasks {
		for _, n := range append(slices.Clone(task.Dependencies), statefile.ParentOf(task)...) {
			if i, ok := d.base.Index[n]; ok && d.removed[i] {
				all = errors.Join(
					all,
					formats.Fail(formats.CodePrecondition, "take the reference out first",
						"task %d refers to task %d, which the run made", task.Number, n),
				)
			}
		}
	}

	d.sortRestored()
	d.discardRemoved = true
	return all
}

// restore restores one task as it was before a run changed it.
func (d *draft) restore(c *history.TaskChange, archive *statefile.Document) error {
	n := c.Number
	now := d.peek(n)
	if c.Archived {
		now = archive.Find(n)
	}
	if now == nil || !statefile.SameTask(now, c.After) || c.Archived && d.peek(n) != nil {
		return c.ChangedSince()
	}
	if c.Disturbed != nil {
		return c.Disturbed
	}

	i, active := d.base.Index[n]
	switch {
	case c.Unarchived != nil:
		// Its state in the archive is how it came out of it.
		d.changed[i] = c.Unarchived
		d.warn(fmt.Sprintf(
			"task %d came out of the archive with the run: tercet task archive %d puts it "+
				"away again",
			n, n,
		))
		d.addVerdict(c.Unarchived, now.Status, true)
	case c.Before == nil:
		d.removed[i] = true
		d.verdicts = append(d.verdicts, history.Verdict{
			Op:      d.op,
			Task:    n,
			From:    now.Status,
			Changed: true,
		})
	case active:
		d.changed[i] = &c.Before.Task
		d.addVerdict(&c.Before.Task, now.Status, true)
	default:
		back := *c.Before
		d.addVerdict(&back.Task, now.Status, true)
		// Until it has left the archive it is in both files; an equal updated shows that they are
		// one task.
		back.Task.Updated = now.Updated
		d.restored = append(d.restored, back)
		return d.restored[len(d.restored)-1].SetMember("updated", now.Updated)
	}

	return nil
}

// RestorePhases reverts the status marks that a run made in a plan. It fails if the plan changed
// since. It must be alone in its transaction.
type RestorePhases struct{ Run, Plan string }

func (RestorePhases) name() string {
	return "restore_phases"
}

func (op RestorePhases) record() opRecord {
	return opRecord{"run": op.Run, "plan": op.Plan}
}

func (RestorePhases) apply(*draft) error {
	return nil
}

func (op RestorePhases) rewrite(s *session, _ Tx) (*planRewrite, Result, error) {
	var res Result
	marks, err := history.PlanLines(s.cfg.Root)
	if err != nil {
		return nil, res, err
	}

	ofRun := func(l *history.Line) bool { return l.Run == op.Run }
	lines := marks[op.Plan]
	first := slices.IndexFunc(lines, ofRun)
	if first < 0 {
		return nil, res, nil
	}

	if _, err := s.cfg.Root.Stat(op.Plan); errors.Is(err, fs.ErrNotExist) {
		return nil, res, nil // it was removed with the documents of the run
	}
	f, err := s.planFile(0, op.Plan)
	if err != nil {
		return nil, res, err
	}
	if f.pre == lines[first].Pre {
		return nil, res, nil // it was already undone
	}

	f.data = f.src
	for _, l := range slices.Backward(lines[first:]) {
		switch {
		case !ofRun(l) || formats.Sum(f.data) != l.Post:
			return nil, res, formats.Fail(formats.CodePrecondition,
				"put the marks of its phases back by hand", "%s was changed since the run", op.Plan)
		case l.Undo == nil:
			return nil, res, formats.Fail(formats.CodePrecondition,
				"put the marks of its phases back by hand",
				"the log does not hold the earlier phases of %s: an older tercet wrote it", op.Plan)
		}
		f.data, err = jsonx.Splice(f.data, l.Undo)
		if err != nil || formats.Sum(f.data) != l.Pre {
			return nil, res, formats.Fail(formats.CodeInvalidState,
				"look at it with: tercet state verify",
				"the log does not lead back to %s as it was", op.Plan)
		}
	}

	return f, res, nil
}

// planOp is an operation that rewrites a plan and not the state. Without a file there is nothing to
// do.
type planOp interface {
	rewrite(s *session, tx Tx) (*planRewrite, Result, error)
}

// planRewrite is the replacement of one plan.
type planRewrite struct {
	name, resolved string
	src, data      []byte
	info           fs.FileInfo
	pre            string // the digest of src
}

// planFile reads a plan for rewriting.
func (s *session) planFile(task int, name string) (*planRewrite, error) {
	resolved, err := files.ResolveLinks(s.cfg.Root, name)
	if err != nil {
		return nil, err
	}

	src, info, err := files.ReadInfo(s.cfg.Root, resolved, files.MaxPlan)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noArtifact(task, "", "", name, "does not exist")
	}
	if err != nil {
		return nil, files.Failure("reading", name, err)
	}

	return &planRewrite{
		name:     name,
		resolved: resolved,
		src:      src,
		info:     info,
		pre:      formats.Sum(src),
	}, nil
}

// rewritePlan applies an operation to a plan.
func (s *session) rewritePlan(tx Tx, op planOp) (Result, error) {
	f, res, err := op.rewrite(s, tx)
	res.Serial = s.serial
	res.Txn = tx.ID
	if err != nil {
		return Result{}, err
	}
	if f == nil || string(f.data) == string(f.src) {
		return res, nil
	}

	if err := s.cfg.sweep(f.resolved); err != nil {
		return Result{}, err
	}
	res.Changed = true
	for i := range res.Verdicts {
		res.Verdicts[i].Changed = true
	}

	line := s.newLogLine(tx)
	line.Serial = s.serial
	line.File = f.name
	line.Verdicts = res.Verdicts
	line.Pre = f.pre
	line.Post = formats.Sum(f.data)
	line.Undo = history.ReverseLines(f.src, f.data)
	return res, s.commit(change{
		name:     f.name,
		resolved: f.resolved,
		data:     f.data,
		line:     line,
		readInfo: f.info,
	})
}
