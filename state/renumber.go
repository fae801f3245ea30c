package state

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"tercet/formats"
	"tercet/state/history"
	"tercet/state/statefile"
)

// apply returns a task another number and rewrites the references to it. Document folders keep
// their names.
func (op Renumber) apply(d *draft) error {
	t, err := d.editTask(op.Task)
	if err != nil {
		return err
	}

	if _, stale := d.cfg.effectiveStatus(t, d.now); t.Status.InProgress() && !stale && !d.tx.Force {
		return d.invalidOp(op.Task, "wait until the work ends",
			"expected a task that nobody works on, got one that is %s", t.Status.String())
	}
	if _, old := d.base.Index[op.Task]; !old {
		return d.invalidOp(op.Task, "", "expected a task that was there before the transaction")
	}

	to := cmp.Or(op.To, d.nextNumber)
	if to == op.Task {
		d.addVerdict(t, t.Status, false)
		return nil
	}
	if to < d.nextNumber || to > statefile.MaxNumber {
		return d.invalidOp(op.Task,
			"lower numbers were given before, and a number is never given twice",
			"expected a number from %d, got %d", d.nextNumber, to)
	}

	if err := d.checkUnreferenced(op); err != nil {
		return err
	}

	t.Number = to
	d.renamed[to] = d.base.Index[op.Task]
	d.nextNumber = to + 1
	d.touch(t)

	for _, n := range d.tasksReferringTo(op.Task) {
		other, err := d.editTask(n)
		if err != nil {
			return err
		}
		other.Dependencies = slices.Clone(other.Dependencies)
		for i, dep := range other.Dependencies {
			if dep == op.Task {
				other.Dependencies[i] = to
			}
		}
		if other.Parent != nil && *other.Parent == op.Task {
			other.Parent = &to
		}
		d.touch(other)
	}

	if len(t.Artifacts) > 0 {
		d.warn(fmt.Sprintf(
			"task %d: its documents stay where they are, and in their text it is still called %d",
			to, op.Task,
		))
	}
	d.addVerdict(t, t.Status, true)
	return nil
}

// checkUnreferenced refuses a number that an archived task refers to, because the archive is not
// written here.
func (d *draft) checkUnreferenced(op Renumber) error {
	archive, err := d.loadArchive()
	if err != nil || archive == nil {
		return err
	}

	for i := range archive.Tasks {
		if a := &archive.Tasks[i]; refersTo(a, op.Task) {
			return d.invalidOp(op.Task, fmt.Sprintf("unarchive task %d first", a.Number),
				"the archived task %d refers to it", a.Number)
		}
	}
	return nil
}

func refersTo(t *formats.Task, n int) bool {
	return slices.Contains(t.Dependencies, n) || t.Parent != nil && *t.Parent == n
}

func (d *draft) tasksReferringTo(n int) []int {
	var out []int
	for t := range d.tasks {
		if refersTo(t, n) {
			out = append(out, t.Number)
		}
	}
	return out
}

func (op SetLayout) apply(d *draft) error {
	if op.To != statefile.LayoutLines && op.To != statefile.LayoutPretty {
		return d.invalidOp(0, "", "expected layout lines or pretty, got %q", op.To)
	}

	data, err := statefile.LayOut(d.base.Src, op.To)
	if err != nil {
		return err
	}

	d.verdicts = append(d.verdicts,
		history.Verdict{Op: d.op, Changed: !bytes.Equal(data, d.base.Src)})
	if !bytes.Equal(data, d.base.Src) {
		d.layout = op.To
	}
	return nil
}
