package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"tercet/formats"
	"tercet/internal/jsonx"
)

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
	marks, err := planLines(m.cfg.Root)
	for _, name := range slices.Sorted(maps.Keys(marks)) {
		if !slices.ContainsFunc(marks[name], func(l *auditLine) bool { return l.Run == run }) {
			continue
		}
		res, failed := do(ctx, Tx{
			ID:      "undo-" + run + "-" + formats.Sum([]byte(name)),
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
		ID:      "undo-" + run,
		Session: session,
		Ops:     []Op{RestoreTasks{Run: run}},
	})
	if failed == nil && res.Changed && !res.Replayed {
		for _, v := range res.Verdicts {
			lines = append(lines, restored(v))
		}
		lines = append(lines, res.Warnings...)
	}
	return lines, plans, errors.Join(err, failed)
}

// restored describes what was restored.
func restored(v Verdict) string {
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
		return d.refused(0, "", "expected the id of a run, got none")
	}
	c, err := readHistory(d.cfg.Root)
	if err != nil {
		return err
	}

	archive, err := d.archived()
	if err != nil {
		return err
	}

	var all error
	run := c.changesOf(op.Run)
	for _, n := range run.tasks() {
		change, err := run.task(n)
		if err == nil {
			err = d.restore(change, archive)
		}
		all = errors.Join(all, err)
	}

	if all != nil {
		return all
	}
	for task := range d.tasks {
		for _, n := range append(slices.Clone(task.Dependencies), parentOf(task)...) {
			if i, ok := d.base.index[n]; ok && d.removed[i] {
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
func (d *draft) restore(c *taskChange, archive *document) error {
	n := c.number
	now := d.peek(n)
	if c.archived {
		now = archive.find(n)
	}
	if now == nil || !sameTask(now, c.after) || c.archived && d.peek(n) != nil {
		return c.changedSince()
	}
	if c.disturbed != nil {
		return c.disturbed
	}

	i, active := d.base.index[n]
	switch {
	case c.unarchived != nil:
		// Its state in the archive is how it came out of it.
		d.changed[i] = c.unarchived
		d.warn(fmt.Sprintf(
			"task %d came out of the archive with the run: tercet task archive %d puts it "+
				"away again",
			n, n,
		))
		d.verdict(c.unarchived, now.Status, true)
	case c.before == nil:
		d.removed[i] = true
		d.verdicts = append(d.verdicts, Verdict{
			Op:      d.op,
			Task:    n,
			From:    now.Status,
			Changed: true,
		})
	case active:
		d.changed[i] = &c.before.task
		d.verdict(&c.before.task, now.Status, true)
	default:
		back := *c.before
		d.verdict(&back.task, now.Status, true)
		// Until it has left the archive it is in both files; an equal updated shows that they are
		// one task.
		back.task.Updated = now.Updated
		d.restored = append(d.restored, back)
		return d.restored[len(d.restored)-1].setMember("updated", now.Updated)
	}

	return nil
}

// runChanges are the changes of one run in the log.
type runChanges struct {
	*history
	run  string
	docs map[int]*document // parsed states, by line
}

// changesOf returns the changes of a run.
func (c *history) changesOf(run string) *runChanges {
	return &runChanges{history: c, run: run, docs: map[int]*document{}}
}

// taskChange is what a run did to a task.
type taskChange struct {
	number int
	before *rawTask // nil if the task was not active before the run
	// after is the task as the run left it, or as it was when the run archived it.
	after      *formats.Task
	archived   bool          // the run archived the task
	unarchived *formats.Task // as it came out of the archive, if the run began with that
	disturbed  error         // another transaction changed the task between those of the run

	run  *runChanges
	last int // the last line of the run about the task
}

// touches reports whether a line has a write, of the run or of others, that changed a task.
func (t *runChanges) touches(l *auditLine, task int, own bool) bool {
	for _, one := range l.transactions() {
		if (one.Run == t.run) != own {
			continue
		}
		for _, v := range one.Verdicts {
			if v.Task == task && v.Changed {
				return true
			}
		}
	}
	return false
}

// tasks lists the tasks that the run changed, ascending.
func (t *runChanges) tasks() []int {
	set := map[int]bool{}
	for i := range t.lines {
		for _, one := range t.lines[i].transactions() {
			for _, v := range one.Verdicts {
				if one.Run == t.run && v.Changed {
					set[v.Task] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// taskAt returns a task as of a line, with its bytes; nil if it was not active then.
func (t *runChanges) taskAt(line, n int) (*rawTask, error) {
	if line < 0 {
		return nil, formats.Fail(formats.CodeNotFound, "",
			"the log does not hold the earlier state of task %d", n)
	}
	doc := t.docs[line]
	if doc == nil {
		src, err := t.at(t.lines[line].Serial)
		if err != nil {
			return nil, err
		}
		if doc, err = parseDocument(stateFile, src); err != nil {
			return nil, err
		}
		t.docs[line] = doc
	}
	if i, ok := doc.index[n]; ok {
		return &rawTask{task: doc.Tasks[i], raw: doc.values[i].Raw(doc.src)}, nil
	}
	return nil, nil
}

// task returns what the run did to a task that it changed.
func (t *runChanges) task(n int) (*taskChange, error) {
	first := -1
	c := &taskChange{number: n, run: t}
	for i := range t.lines {
		if t.touches(&t.lines[i], n, true) {
			c.last = i
			if first < 0 {
				first = i
			}
		}
	}

	var err error
	if c.before, err = t.taskAt(first-1, n); err != nil {
		return nil, err
	}
	after, err := t.taskAt(c.last, n)
	if err != nil {
		return nil, err
	}
	c.archived = after == nil
	for i := c.last; after == nil && i >= first; i-- {
		if after, err = t.taskAt(i-1, n); err != nil {
			return nil, err
		}
	}
	if after == nil {
		return nil, c.changedSince()
	}
	c.after = &after.task

	for i := first; i < c.last; i++ {
		if t.touches(&t.lines[i], n, false) {
			c.disturbed = t.changedAfter(n, i-1)
			break
		}
	}
	if c.before == nil && t.lines[first].Move == moveBack {
		out, err := t.taskAt(first, n)
		if err != nil {
			return nil, err
		}
		if out != nil {
			c.unarchived = &out.task
		}
	}
	return c, nil
}

// changedSince is the error for a task that was changed since the run.
func (c *taskChange) changedSince() error {
	return c.run.changedAfter(c.number, c.last)
}

// changedAfter is the error for a task that was changed after a line.
func (t *runChanges) changedAfter(n, line int) error {
	by := "by hand"
	for i := line + 1; i < len(t.lines); i++ {
		l := &t.lines[i]
		if t.touches(l, n, false) {
			by = fmt.Sprintf("by the write of serial %d", l.Serial)
			if l.Run != "" {
				by += ", of run " + l.Run
			}
			break
		}
	}
	return formats.Fail(formats.CodePrecondition,
		fmt.Sprintf("'tercet state history %d' shows what was written since", n),
		"task %d was changed since the run, %s",
		n, by)
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

// planLines returns the log lines about files other than the state and its archive, by path.
func planLines(root *os.Root) (map[string][]*auditLine, error) {
	parts, err := readSegments(root)
	files := map[string][]*auditLine{}
	for _, p := range parts {
		for l := range auditLines(p.data) {
			switch {
			case l.File == stateFile || l.File == archiveFile || l.Kind == lineRotated:
			case l.Kind == lineAborted:
				if list := files[l.File]; len(list) > 0 && list[len(list)-1].Post == l.Pre {
					files[l.File] = list[:len(list)-1]
				}
			default:
				files[l.File] = append(files[l.File], l)
			}
		}
	}
	return files, err
}

func (op RestorePhases) rewrite(s *session, _ Tx) (*planRewrite, Result, error) {
	var res Result
	marks, err := planLines(s.cfg.Root)
	if err != nil {
		return nil, res, err
	}

	own := func(l *auditLine) bool { return l.Run == op.Run }
	lines := marks[op.Plan]
	first := slices.IndexFunc(lines, own)
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
		case !own(l) || formats.Sum(f.data) != l.Post:
			return nil, res, formats.Fail(formats.CodePrecondition,
				"put the marks of its phases back by hand", "%s was changed since the run", op.Plan)
		case l.Undo == nil:
			return nil, res, formats.Fail(formats.CodePrecondition,
				"put the marks of its phases back by hand",
				"the log does not hold the earlier phases of %s: an older tercet wrote it", op.Plan)
		}
		if f.data, err = jsonx.Splice(f.data, l.Undo); err != nil || formats.Sum(f.data) != l.Pre {
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
	resolved, err := resolveLinks(s.cfg.Root, name)
	if err != nil {
		return nil, err
	}
	src, info, err := readFileInfo(s.cfg.Root, resolved, maxPlan)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noArtifact(task, "", "", name, "does not exist")
	}
	if err != nil {
		return nil, ioFailure("reading", name, err)
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

	line := s.line(tx)
	line.Serial = s.serial
	line.File = f.name
	line.Verdicts = res.Verdicts
	line.Pre = f.pre
	line.Post = formats.Sum(f.data)
	line.Undo = reverseLines(f.src, f.data)
	return res, s.commit(change{
		name:     f.name,
		resolved: f.resolved,
		data:     f.data,
		line:     line,
		readInfo: f.info,
	})
}
