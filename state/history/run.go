package history

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"tercet/formats"
	"tercet/state/statefile"
)

// RunChanges are the changes of one run in the log.
type RunChanges struct {
	*Timeline
	run  string
	docs map[int]*statefile.Document // parsed states, by line
}

// ChangesOf returns the changes of a run.
func (c *Timeline) ChangesOf(run string) *RunChanges {
	return &RunChanges{Timeline: c, run: run, docs: map[int]*statefile.Document{}}
}

// TaskChange is what a run did to a task.
type TaskChange struct {
	Number int
	Before *statefile.RawTask // nil if the task was not active before the run
	// After is the task as the run left it, or as it was when the run archived it.
	After      *formats.Task
	Archived   bool          // the run archived the task
	Unarchived *formats.Task // as it came out of the archive, if the run began with that
	Disturbed  error         // another transaction changed the task between those of the run

	run  *RunChanges
	last int // the last line of the run about the task
}

// touches reports whether a line has a write, of the run or of others, that changed a task.
func (t *RunChanges) touches(l *Line, task int, own bool) bool {
	for _, one := range l.Transactions() {
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

// Tasks lists the tasks that the run changed, ascending.
func (t *RunChanges) Tasks() []int {
	set := map[int]bool{}
	for i := range t.lines {
		for _, one := range t.lines[i].Transactions() {
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
func (t *RunChanges) taskAt(line, n int) (*statefile.RawTask, error) {
	if line < 0 {
		return nil, formats.Fail(formats.CodeNotFound, "",
			"the log does not hold the earlier state of task %d", n)
	}

	doc := t.docs[line]
	if doc == nil {
		src, err := t.At(t.lines[line].Serial)
		if err != nil {
			return nil, err
		}
		doc, err = statefile.Parse(statefile.Path, src)
		if err != nil {
			return nil, err
		}
		t.docs[line] = doc
	}

	if i, ok := doc.Index[n]; ok {
		return &statefile.RawTask{Task: doc.Tasks[i], Raw: doc.Values[i].Raw(doc.Src)}, nil
	}
	return nil, nil
}

// Task returns what the run did to a task that it changed.
func (t *RunChanges) Task(n int) (*TaskChange, error) {
	first := -1
	c := &TaskChange{Number: n, run: t}
	for i := range t.lines {
		if t.touches(&t.lines[i], n, true) {
			c.last = i
			if first < 0 {
				first = i
			}
		}
	}

	var err error
	c.Before, err = t.taskAt(first-1, n)
	if err != nil {
		return nil, err
	}
	after, err := t.taskAt(c.last, n)
	if err != nil {
		return nil, err
	}

	c.Archived = after == nil
	for i := c.last; after == nil && i >= first; i-- {
		after, err = t.taskAt(i-1, n)
		if err != nil {
			return nil, err
		}
	}
	if after == nil {
		return nil, c.ChangedSince()
	}
	c.After = &after.Task

	for i := first; i < c.last; i++ {
		if t.touches(&t.lines[i], n, false) {
			c.Disturbed = t.changedAfter(n, i-1)
			break
		}
	}
	if c.Before == nil && t.lines[first].Move == MoveBack {
		out, err := t.taskAt(first, n)
		if err != nil {
			return nil, err
		}
		if out != nil {
			c.Unarchived = &out.Task
		}
	}
	return c, nil
}

// ChangedSince is the error for a task that was changed since the run.
func (c *TaskChange) ChangedSince() error {
	return c.run.changedAfter(c.Number, c.last)
}

// changedAfter is the error for a task that was changed after a line.
func (t *RunChanges) changedAfter(n, line int) error {
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

// PlanLines returns the log lines about files other than the state and its archive, by path.
func PlanLines(root *os.Root) (map[string][]*Line, error) {
	parts, err := readSegments(root)
	files := map[string][]*Line{}
	for _, p := range parts {
		for l := range Lines(p.data) {
			switch {
			case l.File == statefile.Path || l.File == statefile.ArchivePath ||
				l.Kind == KindRotated:
			case l.Kind == KindAborted:
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
