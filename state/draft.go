package state

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"tercet/formats"
	"tercet/internal/jsonx"
	"tercet/state/history"
	"tercet/state/statefile"
)

// draft is a modified state: a document and the changes that the operations of a transaction make.
type draft struct {
	cfg  Config
	now  time.Time
	tx   Tx
	op   string // name of the operation that is being applied
	base *statefile.Document
	// loadArchive returns the archive, or nil if there is none. It is called only when a number is
	// not active.
	loadArchive func() (*statefile.Document, error)

	nextNumber    int
	changed       map[int]*formats.Task // by index in base
	created       []*formats.Task
	replaced      map[int][]byte // the whole text of changed tasks, by index in base
	removed       map[int]bool   // by index in base
	restored      []statefile.RawTask
	restoredIndex map[int]int // number to index in restored; built by sortRestored
	// removed tasks are deleted instead of archived, because they were created by a run that is
	// undone
	discardRemoved bool
	imported       bool             // restored comes from another file, not from the archive
	renamed        map[int]int      // new number to index in base
	members        []jsonx.Change   // members of the file itself, from an import
	layout         statefile.Layout // the new layout of the file; empty: unchanged
	undo           []jsonx.Edit     // turns the last rendering back into base
	todo           *todoPlan        // what a sync read from TODO.md; nil for other transactions

	numbers  []int // of the created tasks
	verdicts []history.Verdict
	warnings []string
}

func newDraft(
	cfg Config,
	base *statefile.Document,
	tx Tx,
	loadArchive func() (*statefile.Document, error),
) *draft {
	return &draft{
		cfg:         cfg,
		now:         cfg.now(),
		tx:          tx,
		base:        base,
		loadArchive: loadArchive,
		nextNumber:  max(base.NextNumber, base.Highest()+1),
		changed:     map[int]*formats.Task{},
		removed:     map[int]bool{},
		renamed:     map[int]int{},
	}
}

// invalidOp is the error for the operation that is being applied.
func (d *draft) invalidOp(task int, help, format string, args ...any) error {
	return invalidOp(d.op, task, help, format, args...)
}

func (d *draft) warn(text string) {
	d.warnings = append(d.warnings, text)
}

// peek returns a task for reading, or nil if it is not active.
func (d *draft) peek(number int) *formats.Task {
	if i, ok := d.index(number); ok {
		if d.removed[i] {
			return nil
		}
		if t := d.changed[i]; t != nil {
			return t
		}
		return &d.base.Tasks[i]
	}

	i, ok := slices.BinarySearchFunc(d.created, number, func(t *formats.Task, n int) int {
		return t.Number - n
	})
	if ok {
		return d.created[i]
	}
	if len(d.restoredIndex) == len(d.restored) {
		if i, ok := d.restoredIndex[number]; ok {
			return &d.restored[i].Task
		}
		return nil
	}

	for i := range d.restored {
		if d.restored[i].Task.Number == number {
			return &d.restored[i].Task
		}
	}

	return nil
}

// sortRestored sorts restored by number and builds its index.
func (d *draft) sortRestored() {
	slices.SortFunc(d.restored, func(a, b statefile.RawTask) int {
		return a.Task.Number - b.Task.Number
	})
	d.restoredIndex = make(map[int]int, len(d.restored))
	for i := range d.restored {
		d.restoredIndex[d.restored[i].Task.Number] = i
	}
}

// index returns the position in base of the task that has a number in the draft.
func (d *draft) index(number int) (int, bool) {
	if i, ok := d.renamed[number]; ok {
		return i, true
	}
	i, ok := d.base.Index[number]
	if t := d.changed[i]; ok && t != nil && t.Number != number {
		return 0, false // it was renumbered
	}
	return i, ok
}

// editTask returns a copy of a task that the draft will write. It refuses a task with a live lease
// of another session.
func (d *draft) editTask(number int) (*formats.Task, error) {
	t := d.peek(number)
	if t == nil {
		archive, err := d.loadArchive()
		if err != nil {
			return nil, err
		}
		return nil, noTask(number, archive.Find(number) != nil)
	}

	l := t.Lease
	if l != nil && t.Status.InProgress() && l.Session != d.tx.Session && !d.tx.Force &&
		!d.cfg.isStale(l, d.now) {
		return nil, leaseHeld(number, l)
	}

	i, there := d.index(number)
	if !there || d.changed[i] != nil {
		return t, nil // already a copy
	}

	fresh := *t
	fresh.Artifacts = slices.Clone(t.Artifacts)
	d.changed[i] = &fresh
	return &fresh, nil
}

// touch marks a task as changed by this transaction.
func (d *draft) touch(t *formats.Task) {
	t.Updated = timestamp(d.now)
	if d.tx.Session != "" {
		t.Session = d.tx.Session
	}
}

func (d *draft) addVerdict(t *formats.Task, from formats.TaskStatus, changed bool) {
	to := t.Status
	if !changed {
		to = from
	}
	d.verdicts = append(d.verdicts, history.Verdict{
		Op:      d.op,
		Task:    t.Number,
		From:    from,
		To:      to,
		Changed: changed,
	})
}

// hasChanges reports whether the transaction changed anything.
func (d *draft) hasChanges() bool {
	if len(d.created)+len(d.removed)+len(d.restored)+len(d.members) > 0 || d.layout != "" {
		return true
	}
	for i, t := range d.changed {
		if d.replaced[i] != nil || !statefile.SameTask(&d.base.Tasks[i], t) {
			return true
		}
	}
	return false
}

// tasks iterates over the active tasks of the draft in file order.
func (d *draft) tasks(yield func(*formats.Task) bool) {
	for i := range d.base.Tasks {
		if d.removed[i] {
			continue
		}
		t := cmp.Or(d.changed[i], &d.base.Tasks[i])
		if !yield(t) {
			return
		}
	}
	for i := range d.restored {
		if !yield(&d.restored[i].Task) {
			return
		}
	}
	for _, t := range d.created {
		if !yield(t) {
			return
		}
	}
}

// removedIndexes lists the indexes of the tasks that leave the file, ascending.
func (d *draft) removedIndexes() []int {
	return slices.Sorted(maps.Keys(d.removed))
}

// touchedTasks lists the tasks that the transaction created, changed or restored.
func (d *draft) touchedTasks() []*formats.Task {
	var out []*formats.Task
	for _, i := range slices.Sorted(maps.Keys(d.changed)) {
		if !d.removed[i] {
			out = append(out, d.changed[i])
		}
	}
	for i := range d.restored {
		out = append(out, &d.restored[i].Task)
	}
	return append(out, d.created...)
}

// check enforces what the format cannot: dependencies and parents exist, and nothing depends on
// itself.
func (d *draft) check() error {
	dependencies := statefile.Cycles{Next: statefile.DependenciesOf, Task: d.peek}
	parents := statefile.Cycles{Next: statefile.ParentOf, Task: d.peek}
	for _, t := range d.touchedTasks() {
		i, old := d.base.Index[t.Number]
		if old && slices.Equal(d.base.Tasks[i].Dependencies, t.Dependencies) &&
			statefile.Same(d.base.Tasks[i].Parent, t.Parent) {
			continue
		}
		for _, n := range t.Dependencies {
			if err := d.checkExists(t, "dependency", n); err != nil {
				return err
			}
		}
		if t.Parent != nil {
			if err := d.checkExists(t, "parent", *t.Parent); err != nil {
				return err
			}
		}
		if loop := dependencies.From(t.Number); loop != "" {
			return d.invalidOp(t.Number, "leave one of them out",
				"its dependencies form a circle: %s", loop)
		}
		if loop := parents.From(t.Number); loop != "" {
			return d.invalidOp(t.Number, "", "it would be a part of itself: %s", loop)
		}
	}

	return nil
}

func (d *draft) checkExists(t *formats.Task, what string, n int) error {
	if d.peek(n) != nil {
		return nil
	}

	archive, err := d.loadArchive()
	if err != nil {
		return err
	}
	if archive.Find(n) != nil {
		return nil
	}

	if i, ok := d.base.Index[n]; ok && d.removed[i] {
		return nil
	}
	return d.invalidOp(t.Number, "", "%s", what+" "+strconv.Itoa(n)+" does not exist")
}
