package state

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"tercet/formats"
	"tercet/internal/jsonx"
)

// draft is a state in the making: a document and what the operations of a transaction change in it.
type draft struct {
	cfg  Config
	now  time.Time
	tx   Tx
	op   string // the word for the operation that is being applied
	base *document
	// archived gives the archive, nil if there is none. It is read when a number is asked for that
	// is not active.
	archived func() (*document, error)

	next     int
	changed  map[int]*formats.Task // by index in base
	created  []*formats.Task
	removed  map[int]bool // by index in base, of tasks that leave the file
	restored []restored
	numbered map[int]int // number to index in restored, as sortRestored has left it
	// what is removed was made by a run that is taken back, and goes nowhere
	undone   bool
	imported bool           // what is restored came from another file, not from the archive
	renamed  map[int]int    // new number to index in base
	members  []jsonx.Change // of the file itself, that come in with an import
	layout   Layout         // the layout that the file is to get, empty if it stays
	edits    []jsonx.Edit   // of the last encoding: what made it out of base
	undo     []jsonx.Edit   // what turns it back
	todo     *todoPlan      // what a sync did with TODO.md, nil for any other transaction

	numbers  []int // of the tasks made
	verdicts []Verdict
	warnings []string
}

// restored is a task that comes back from the archive or from another file, with its bytes.
type restored struct {
	task formats.Task
	raw  []byte
	from *Import // the other file; nil: it comes from the archive
	at   int     // where it stands there
	done bool    // the other file has it among those that were put away
}

func newDraft(cfg Config, base *document, tx Tx, archived func() (*document, error)) *draft {
	return &draft{
		cfg:      cfg,
		now:      cfg.now(),
		tx:       tx,
		base:     base,
		archived: archived,
		next:     max(base.NextNumber, base.highest()+1),
		changed:  map[int]*formats.Task{},
		removed:  map[int]bool{},
		renamed:  map[int]int{},
	}
}

// refused refuses the operation that is being applied.
func (d *draft) refused(task int, help, format string, args ...any) error {
	return refused(d.op, task, help, format, args...)
}

func (d *draft) warn(text string) {
	d.warnings = append(d.warnings, text)
}

// peek gives a task for reading, nil if it is not active.
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
	if len(d.numbered) == len(d.restored) {
		if i, ok := d.numbered[number]; ok {
			return &d.restored[i].task
		}
		return nil
	}

	for i := range d.restored {
		if d.restored[i].task.Number == number {
			return &d.restored[i].task
		}
	}

	return nil
}

// sortRestored puts the tasks that come back into the order of their numbers.
func (d *draft) sortRestored() {
	slices.SortFunc(d.restored, func(a, b restored) int {
		return a.task.Number - b.task.Number
	})
	d.numbered = make(map[int]int, len(d.restored))
	for i := range d.restored {
		d.numbered[d.restored[i].task.Number] = i
	}
}

// index gives the place of a task in the base, by the number that it has in the draft.
func (d *draft) index(number int) (int, bool) {
	if i, ok := d.renamed[number]; ok {
		return i, true
	}
	i, ok := d.base.index[number]
	if t := d.changed[i]; ok && t != nil && t.Number != number {
		return 0, false // it has another number now
	}
	return i, ok
}

// take gives a task for writing: a copy whose changes the draft keeps. Another session's live lease
// refuses it.
func (d *draft) take(number int) (*formats.Task, error) {
	t := d.peek(number)
	if t == nil {
		archive, err := d.archived()
		if err != nil {
			return nil, err
		}
		return nil, noTask(number, archive.find(number) != nil)
	}
	l := t.Lease
	if l != nil && t.Status.InProgress() && l.Session != d.tx.Session && !d.tx.Force &&
		!d.cfg.stale(l, d.now) {
		return nil, leaseHeld(number, l)
	}
	i, there := d.index(number)
	if !there || d.changed[i] != nil {
		return t, nil // it is the draft's own
	}
	fresh := *t
	fresh.Artifacts = slices.Clone(t.Artifacts)
	d.changed[i] = &fresh
	return &fresh, nil
}

// touch marks a task as changed by this transaction.
func (d *draft) touch(t *formats.Task) {
	t.Updated = stamp(d.now)
	if d.tx.Session != "" {
		t.Session = d.tx.Session
	}
}

func (d *draft) verdict(t *formats.Task, from formats.TaskStatus, changed bool) {
	to := t.Status
	if !changed {
		to = from
	}
	d.verdicts = append(d.verdicts, Verdict{
		Op:      d.op,
		Task:    t.Number,
		From:    from,
		To:      to,
		Changed: changed,
	})
}

// dirty tells whether the transaction changed anything.
func (d *draft) dirty() bool {
	if len(d.created)+len(d.removed)+len(d.restored)+len(d.members) > 0 || d.layout != "" {
		return true
	}
	for i, t := range d.changed {
		if !sameTask(&d.base.Tasks[i], t) {
			return true
		}
	}
	return false
}

// tasks gives the active tasks of the draft in their order.
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
		if !yield(&d.restored[i].task) {
			return
		}
	}
	for _, t := range d.created {
		if !yield(t) {
			return
		}
	}
}

// leaving lists the indexes of the tasks that leave the file, ascending.
func (d *draft) leaving() []int {
	return slices.Sorted(maps.Keys(d.removed))
}

// touched lists the tasks that the transaction made, changed or brought back.
func (d *draft) touched() []*formats.Task {
	var out []*formats.Task
	for _, i := range slices.Sorted(maps.Keys(d.changed)) {
		if !d.removed[i] {
			out = append(out, d.changed[i])
		}
	}
	for i := range d.restored {
		out = append(out, &d.restored[i].task)
	}
	return append(out, d.created...)
}

// check holds the invariants that the format alone cannot: dependencies and parents exist, and
// nothing depends on itself.
func (d *draft) check() error {
	depends := loops{next: dependenciesOf, task: d.peek}
	within := loops{next: parentOf, task: d.peek}
	for _, t := range d.touched() {
		i, old := d.base.index[t.Number]
		if old && slices.Equal(d.base.Tasks[i].Dependencies, t.Dependencies) &&
			same(d.base.Tasks[i].Parent, t.Parent) {
			continue
		}
		for _, n := range t.Dependencies {
			if err := d.exists(t, "dependency", n); err != nil {
				return err
			}
		}
		if t.Parent != nil {
			if err := d.exists(t, "parent", *t.Parent); err != nil {
				return err
			}
		}
		if loop := depends.from(t.Number); loop != "" {
			return d.refused(t.Number, "leave one of them out",
				"its dependencies form a circle: %s", loop)
		}
		if loop := within.from(t.Number); loop != "" {
			return d.refused(t.Number, "", "it would be a part of itself: %s", loop)
		}
	}

	return nil
}

func (d *draft) exists(t *formats.Task, what string, n int) error {
	if d.peek(n) != nil {
		return nil
	}
	archive, err := d.archived()
	if err != nil {
		return err
	}
	if archive.find(n) != nil {
		return nil
	}
	if i, ok := d.base.index[n]; ok && d.removed[i] {
		return nil
	}
	return d.refused(t.Number, "", "%s", what+" "+number(n)+" does not exist")
}

func dependenciesOf(t *formats.Task) []int {
	return t.Dependencies
}

func parentOf(t *formats.Task) []int {
	if t.Parent == nil {
		return nil
	}
	return []int{*t.Parent}
}

// loops finds circles in a graph of tasks. What was walked once is not walked again.
type loops struct {
	next func(*formats.Task) []int
	task func(int) *formats.Task
	way  []int       // from the start to here
	seen map[int]int // by number: where it stands on the way, -1 behind it
}

// from gives a circle that can be reached from a task, "5 -> 3 -> 5", or nothing.
func (l *loops) from(n int) (loop string) {
	if l.seen == nil {
		l.seen = map[int]int{}
	}
	if at, seen := l.seen[n]; at < 0 {
		return ""
	} else if seen {
		for _, on := range l.way[at:] {
			loop += number(on) + " -> "
		}
		return loop + number(n)
	}

	l.seen[n] = len(l.way)
	l.way = append(l.way, n)
	if t := l.task(n); t != nil {
		for _, to := range l.next(t) {
			if loop = l.from(to); loop != "" {
				break
			}
		}
	}
	l.way = l.way[:len(l.way)-1]
	l.seen[n] = -1
	if loop != "" {
		delete(l.seen, n)
	}
	return loop
}

func same[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

func sameTask(a, b *formats.Task) bool {
	return a.Number == b.Number && a.Title == b.Title && a.Slug == b.Slug && a.Status == b.Status &&
		a.Language == b.Language && a.Priority == b.Priority && a.Effort == b.Effort &&
		a.Description == b.Description &&
		slices.Equal(a.Dependencies, b.Dependencies) && same(a.Parent, b.Parent) &&
		a.Created == b.Created && a.Updated == b.Updated &&
		slices.Equal(a.Artifacts, b.Artifacts) && a.Prior == b.Prior &&
		a.BlockedReason == b.BlockedReason && same(a.Lease, b.Lease) && a.Session == b.Session &&
		a.Issue == b.Issue
}
