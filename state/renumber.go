package state

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"tercet/formats"
	"tercet/internal/jsonx"
)

// apply returns a task another number and rewrites the references to it. Document folders keep
// their names.
func (op Renumber) apply(d *draft) error {
	t, err := d.editTask(op.Task)
	if err != nil {
		return err
	}

	if _, stale := d.cfg.effective(t, d.now); t.Status.InProgress() && !stale && !d.tx.Force {
		return d.refused(op.Task, "wait until the work ends",
			"expected a task that nobody works on, got one that is %s", t.Status.String())
	}
	if _, old := d.base.index[op.Task]; !old {
		return d.refused(op.Task, "", "expected a task that was there before the transaction")
	}

	to := cmp.Or(op.To, d.nextNumber)
	if to == op.Task {
		d.verdict(t, t.Status, false)
		return nil
	}
	if to < d.nextNumber || to > maxNumber {
		return d.refused(op.Task,
			"lower numbers were given before, and a number is never given twice",
			"expected a number from %d, got %d", d.nextNumber, to)
	}

	if err := d.unreferenced(op); err != nil {
		return err
	}
	t.Number = to
	d.renamed[to] = d.base.index[op.Task]
	d.nextNumber = to + 1
	d.touch(t)
	for _, n := range d.referring(op.Task) {
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
	d.verdict(t, t.Status, true)
	return nil
}

// unreferenced refuses a number that an archived task refers to, because the archive is not written
// here.
func (d *draft) unreferenced(op Renumber) error {
	archive, err := d.archived()
	if err != nil || archive == nil {
		return err
	}
	for i := range archive.Tasks {
		if a := &archive.Tasks[i]; refersTo(a, op.Task) {
			return d.refused(op.Task, fmt.Sprintf("unarchive task %d first", a.Number),
				"the archived task %d refers to it", a.Number)
		}
	}
	return nil
}

func refersTo(t *formats.Task, n int) bool {
	return slices.Contains(t.Dependencies, n) || t.Parent != nil && *t.Parent == n
}

func (d *draft) referring(n int) []int {
	var out []int
	for t := range d.tasks {
		if refersTo(t, n) {
			out = append(out, t.Number)
		}
	}
	return out
}

// edited applies edits to the bytes of one value.
func edited(src []byte, v *jsonx.Value, edits []jsonx.Edit) ([]byte, error) {
	slices.SortStableFunc(edits, func(a, b jsonx.Edit) int {
		return cmp.Compare(a.Start, b.Start)
	})
	for i := range edits {
		edits[i].Start -= v.Start
		edits[i].End -= v.Start
	}
	return jsonx.Splice(v.Raw(src), edits)
}

func (op SetLayout) apply(d *draft) error {
	if op.To != LayoutLines && op.To != LayoutPretty {
		return d.refused(0, "", "expected layout lines or pretty, got %q", op.To)
	}
	data, err := layOut(d.base.src, op.To)
	if err != nil {
		return err
	}
	d.verdicts = append(d.verdicts, Verdict{Op: d.op, Changed: !bytes.Equal(data, d.base.src)})
	if !bytes.Equal(data, d.base.src) {
		d.layout = op.To
	}
	return nil
}

// layOut rewrites a state in a layout and keeps every literal. The layout lines sorts the tasks by
// number.
func layOut(src []byte, to Layout) ([]byte, error) {
	tree, err := jsonx.Parse(src, jsonx.Limits{})
	if err != nil {
		return nil, err
	}
	if to == LayoutPretty {
		out, err := jsonx.Marshal(tree, "  ")
		return append(out, '\n'), err
	}
	var b bytes.Buffer
	for i, m := range tree.Members {
		fmt.Fprintf(&b, "%s\n  %s: ", []string{"{", ","}[min(i, 1)], jsonx.AppendString(nil, m.Key))
		if m.Key == "tasks" && m.Value.Is(jsonx.Array) && len(m.Value.Elems) > 0 {
			err = layLines(&b, m.Value.Elems)
		} else {
			var line []byte
			line, err = jsonx.MarshalLine(m.Value)
			b.Write(line)
		}
		if err != nil {
			return nil, err
		}
	}
	b.WriteString("\n}\n")
	return b.Bytes(), nil
}

func layLines(b *bytes.Buffer, tasks []*jsonx.Value) error {
	sorted := slices.Clone(tasks)
	slices.SortStableFunc(sorted, func(a, c *jsonx.Value) int {
		x, _ := a.Get("number").Int() // a state that was read has numbers
		y, _ := c.Get("number").Int() // the same
		return cmp.Compare(x, y)
	})
	for i, v := range sorted {
		line, err := jsonx.MarshalLine(v)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "%s\n    %s", []string{"[", ","}[min(i, 1)], line)
	}
	b.WriteString("\n  ]")
	return nil
}
