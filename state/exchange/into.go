package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/jsonx"
	"tercet/state/statefile"
)

// Target is the state that an import goes into.
type Target struct {
	Base    *statefile.Document
	Archive *statefile.Document // nil if there is none
	// Fresh gives tasks whose number is taken a new one, instead of failing.
	Fresh bool
	// Conflicts says which side wins where a task changed both here and in a file that was imported
	// before; ResolveNone fails, ResolveUnion is not used.
	Conflicts Resolution
}

// Addition is what an import adds to a state.
type Addition struct {
	Tasks      []Added
	Replaced   []Added         // active tasks that an earlier import added and that changed since
	Unchanged  []*formats.Task // tasks of the file that the state already has
	Members    []jsonx.Change  // members of the state itself
	NextNumber int
	Warnings   []string
}

// Added is a task that an import adds.
type Added struct {
	statefile.RawTask
	Archived bool // it belongs in the archive
	FormOnly bool // it stays as it is, and only its form changes
}

// Into returns what the import adds to a state. It refuses numbers that other tasks have.
func (m *Import) Into(t Target) (*Addition, error) {
	if err := m.Err(); err != nil {
		return nil, err
	}
	a := adder{
		m:        m,
		Target:   t,
		out:      &Addition{NextNumber: max(t.Base.NextNumber, t.Base.Highest()+1)},
		existing: map[int]bool{},
	}

	a.reimport = m.opt.Place != "" &&
		statefile.TextOf(t.Base.Tree.Get(formKey), fromKey) == m.opt.Place
	for i := range t.Base.Tasks {
		a.existing[t.Base.Tasks[i].Number] = true
	}

	if err := a.chooseTasks(); err != nil {
		return nil, err
	}
	if err := a.addTasks(); err != nil {
		return nil, err
	}
	if err := a.storeMembers(); err != nil {
		return nil, err
	}
	if err := a.dropDangling(); err != nil {
		return nil, err
	}

	for i := range a.tasks {
		r := &a.tasks[i]
		if err := r.recordOrigin(); err != nil {
			return nil, err
		}
		one := Added{RawTask: r.RawTask, Archived: r.archived && r.Task.Status.Terminal()}
		if a.replaced[r.Task.Number] {
			a.out.Replaced = append(a.out.Replaced, one)
		} else {
			a.out.Tasks = append(a.out.Tasks, one)
		}
	}

	return a.out, nil
}

// adder works out what one import adds to a state.
type adder struct {
	Target
	m        *Import
	tasks    []record
	existing map[int]bool // the numbers that are active with the import
	taken    map[int]bool // the numbers that other tasks of the state have
	replaced map[int]bool // the numbers of tasks that are replaced
	reimport bool         // the state has the form of this file from an earlier import
	out      *Addition
}

func (a *adder) warn(format string, args ...any) {
	a.out.Warnings = append(a.out.Warnings, fmt.Sprintf(format, args...))
}

// importError is the error for an import that this state cannot take.
func (a *adder) importError(help, format string, args ...any) error {
	return formats.Fail(formats.CodeValidationFailed, help, "import_tasks: "+format, args...)
}

// find returns a task of the state or of its archive, or nil.
func (a *adder) find(n int) *formats.Task {
	if t := a.Base.Find(n); t != nil {
		return t
	}
	return a.Archive.Find(n)
}

// chooseTasks leaves out the tasks that an earlier import added, and finds the numbers that are
// taken.
func (a *adder) chooseTasks() error {
	a.taken = map[int]bool{}
	a.replaced = map[int]bool{}
	var conflicts, archived []int
	inFile := map[int]bool{}
	for i := range a.m.tasks {
		inFile[a.m.tasks[i].Task.Number] = true
	}

	gone := func(n int) bool {
		return !inFile[n] && a.find(n) == nil
	}
	depends := cycleEdges(a.m.tasks, statefile.DependenciesOf)
	within := cycleEdges(a.m.tasks, statefile.ParentOf)
	for _, t := range a.m.tasks {
		n := t.Task.Number
		now := t.Task // as an earlier import left it
		now.Dependencies = slices.DeleteFunc(slices.Clone(now.Dependencies),
			func(to int) bool { return gone(to) || depends[edge{n, to}] })
		if now.Parent != nil && (gone(*now.Parent) || within[edge{n, *now.Parent}]) {
			now.Parent = nil
		}

		old := a.find(n)
		if was, ok := a.importedBefore(n); ok && was.from == t.source.opt.Place {
			changed := was.task != digestOfTask(old)
			here := a.Base.Find(n) != nil
			switch {
			case was.record == t.sum:
				a.out.Unchanged = append(a.out.Unchanged, old)
			case !here && (t.archived || a.Conflicts == ResolveOurs):
				a.out.Unchanged = append(a.out.Unchanged, old)
				a.warn("%stask %d is archived here, so that its change is not taken over",
					t.where(), n)
			case !here:
				archived = append(archived, n)
			case changed && a.Conflicts == ResolveOurs:
				if err := a.keepOurs(n, t.sum); err != nil {
					return err
				}
			case changed && a.Conflicts == ResolveNone:
				conflicts = append(conflicts, n)
			default:
				a.replaced[n] = true
				a.tasks = append(a.tasks, t)
			}
			continue
		}

		if old != nil && statefile.SameTask(old, &now) {
			a.out.Unchanged = append(a.out.Unchanged, old)
			continue
		}
		if old != nil {
			a.taken[n] = true
		}
		a.tasks = append(a.tasks, t)
	}

	return a.checkChosen(archived, conflicts)
}

// checkChosen refuses the import if a task that changed in the file is archived here, if one
// changed on both sides, or if its number is taken.
func (a *adder) checkChosen(archived, conflicts []int) error {
	if len(archived) > 0 {
		return a.importError(
			"bring them back first with 'tercet task unarchive', or keep yours with --ours",
			"%s changed in %s, and the archive has them here",
			taskNames(archived), a.m.File,
		)
	}
	if len(conflicts) > 0 {
		return a.importError(
			"take those of the file with --theirs, or keep yours with --ours; the others are "+
				"taken over either way",
			"%s changed here and in %s since the last import",
			taskNames(conflicts), a.m.File,
		)
	}

	if len(a.taken) > 0 && !a.Fresh {
		return a.importError(
			"give the imported ones new numbers with --fresh-numbers, or import "+
				"into a workspace without tasks",
			"the state has other tasks with the numbers %s",
			statefile.JoinNumbers(slices.Sorted(maps.Keys(a.taken))),
		)
	}
	return nil
}

// addTasks gives tasks whose number is taken a new one, and rewrites the references to them.
func (a *adder) addTasks() error {
	next := max(a.out.NextNumber, a.m.NextNumber)
	for _, t := range a.tasks {
		next = max(next, t.Task.Number+1)
	}

	renamed := map[int]int{}
	for _, n := range slices.Sorted(maps.Keys(a.taken)) {
		renamed[n] = next
		a.warn("task %d of the file is task %d here", n, next)
		next++
	}

	for i := range a.tasks {
		if err := a.tasks[i].Renumber(renamed); err != nil {
			return err
		}
		a.existing[a.tasks[i].Task.Number] = true
	}
	a.out.NextNumber = next
	if fileNext := a.m.NextNumber; fileNext > 0 && fileNext != next && len(a.tasks) > 0 {
		a.warn("the next number is %d; in the file it is %d", next, fileNext)
	}
	return nil
}

// setMember sets a member of the state, unless it has that value.
func (a *adder) setMember(key string, raw []byte) {
	if v, err := jsonx.Parse(raw, jsonx.Limits{}); err == nil &&
		equalJSON(a.Base.Tree.Get(key), v) {
		return
	}
	a.out.Members = append(a.out.Members, jsonx.Change{Key: key, Raw: raw})
}

// storeMembers keeps the unknown members of the file; if the file has another shape, in a member of
// their own. Members that the state already has stay.
func (a *adder) storeMembers() error {
	m := a.m
	members := a.Base.Tree
	if m.Shape == ShapeProjects {
		members = members.Get(importedKey)
	}
	var added []jsonx.Change
	for _, c := range m.unknown {
		old := members.Get(c.Key)
		switch {
		case old == nil || m.archive || a.reimport:
			added = append(added, c)
		case !bytes.Equal(jsonx.AppendValue(nil, old), c.Raw):
			a.warn("member %q of the file is left out: the state has another one", c.Key)
		}
	}

	if err := errors.Join(a.storeLeftOut(), a.storeSource()); err != nil {
		return err
	}
	if m.Shape != ShapeProjects {
		a.out.Members = append(a.out.Members, added...)
		return nil
	}

	if err := a.storeForm(); err != nil || len(added) == 0 || m.archive {
		return err
	}
	o := new(jsonx.Object)
	if members.Is(jsonx.Dict) && !a.reimport {
		for _, one := range members.Members {
			o.Set(one.Key, one.Value)
		}
	}
	for _, c := range added {
		o.Set(c.Key, json.RawMessage(c.Raw))
	}

	raw, err := jsonx.Marshal(o, "  ")
	a.setMember(importedKey, raw)
	return err
}

// describeForm describes the layout of a file of the other shape: the keys, and the order of the
// tasks. It adds the next number if that differs here.
func (a *adder) describeForm(m *Import) *jsonx.Object {
	keys := []any{}
	for _, one := range m.tree.Members {
		keys = append(keys, one.Key)
	}

	form := new(jsonx.Object)
	if place := m.opt.Place; place != "" && !m.archive {
		form.Set(fromKey, place)
	}
	form.Set("keys", keys).Set("order", m.order())

	if m.archive {
		beside := new(jsonx.Object)
		for _, c := range m.unknown {
			beside.Set(c.Key, json.RawMessage(c.Raw))
		}
		return form.Set("members", beside)
	}

	if len(a.Base.Tasks) > 0 && !a.reimport || m.opt.Fresh {
		return form // numbers are assigned here
	}
	if was := m.tree.Get("next_project_number"); was != nil {
		form.Set("was", was)
	}
	return form.Set("as", a.out.NextNumber)
}

// hasForm reports whether the state already has the form of a file of this kind.
func (a *adder) hasForm() bool {
	existing := a.Base.Tree.Get(formKey)
	if a.m.archive {
		return existing.Get(listOfArchive) != nil
	}
	return existing.Get("keys") != nil
}

// storeForm stores the form of the first imported file, or that of the same file as it is now.
func (a *adder) storeForm() error {
	if a.hasForm() && !a.reimport {
		return nil
	}

	form := a.describeForm(a.m)
	if a.m.archive {
		form = new(jsonx.Object).Set(listOfArchive, form)
	} else if archive := a.m.opt.Archive; archive != nil && archive.archive {
		form.Set(listOfArchive, a.describeForm(archive))
	}

	existing := a.Base.Tree.Get(formKey)
	out := new(jsonx.Object)
	for _, v := range []*jsonx.Value{existing, reparse(form)} {
		for i := 0; v.Is(jsonx.Dict) && i < len(v.Members); i++ {
			if v == existing || a.reimport || existing.Get(v.Members[i].Key) == nil {
				out.Set(v.Members[i].Key, v.Members[i].Value)
			}
		}
	}

	raw, err := jsonx.Marshal(out, "  ")
	a.setMember(formKey, raw)
	return err
}

// leftOutKey is the member of state.json with the left-out records that no form has a place for.
const leftOutKey = "imported_left_out"

// storeLeftOut stores each left-out record once.
func (a *adder) storeLeftOut() error {
	files := []*Import{a.m}
	if a.m.opt.Archive != nil {
		files = append(files, a.m.opt.Archive)
	}
	existing := a.Base.Tree.Get(leftOutKey)
	var list []any
	known := map[string]bool{}
	if existing.Is(jsonx.Array) {
		for _, v := range existing.Elems {
			list = append(list, v)
			known[string(jsonx.AppendValue(nil, v))] = true
		}
	}

	form := a.Base.Tree.Get(formKey)
	for _, order := range []*jsonx.Value{form.Get("order"), form.Get(listOfArchive).Get("order")} {
		for i := 0; order.Is(jsonx.Dict) && i < len(order.Members); i++ {
			for _, record := range recordsOf(order.Members[i].Value) {
				known[string(jsonx.AppendValue(nil, record))] = true
			}
		}
	}

	before := len(list)
	for _, file := range files {
		placed := a.m.Shape == ShapeProjects && (a.reimport || !a.hasForm()) &&
			(file == a.m || file.archive)
		for _, v := range file.leftOutRecords(placed) {
			if raw := string(jsonx.AppendValue(nil, v)); !known[raw] {
				known[raw] = true
				list = append(list, v)
			}
		}
	}

	if len(list) == before {
		return nil
	}
	raw, err := jsonx.Marshal(list, "  ")
	a.setMember(leftOutKey, raw)
	return err
}

// recordsOf returns the left-out records of an order.
func recordsOf(order *jsonx.Value) []*jsonx.Value {
	var out []*jsonx.Value
	for i := 0; order.Is(jsonx.Array) && i < len(order.Elems); i++ {
		if v := order.Elems[i]; v.Is(jsonx.Dict) && v.Get(recordKey) != nil {
			out = append(out, v.Get(recordKey))
		}
	}
	return out
}

// dropDangling removes references of the imported tasks that lead nowhere or that close a cycle.
// The notes of the task keep them.
func (a *adder) dropDangling() error {
	gone := func(n int) bool { return !a.existing[n] && a.Archive.Find(n) == nil }
	depends := cycleEdges(a.tasks, statefile.DependenciesOf)
	within := cycleEdges(a.tasks, statefile.ParentOf)
	var all []string
	for _, t := range a.addedByNumber() {
		var notes []string
		var remaining, missing, closing []int
		for _, n := range t.Task.Dependencies {
			switch {
			case gone(n):
				missing = append(missing, n)
			case depends[edge{t.Task.Number, n}]:
				closing = append(closing, n)
			default:
				remaining = append(remaining, n)
			}
		}

		if len(missing) > 0 {
			verb := "does"
			if len(missing) > 1 {
				verb = "do"
			}
			notes = append(notes, "depends on "+taskNames(missing)+", which "+verb+" not exist")
		}
		if len(closing) > 0 {
			notes = append(notes, "depends on "+taskNames(closing)+", which would close a circle")
		}
		if len(notes) > 0 {
			was := t.Task.Dependencies
			t.Task.Dependencies = append([]int{}, remaining...)
			err := t.overrideMember("dependencies", "dependencies", was, t.Task.Dependencies)
			if err != nil {
				return err
			}
		}

		if p := t.Task.Parent; p != nil && (gone(*p) || within[edge{t.Task.Number, *p}]) {
			why := "which does not exist"
			if !gone(*p) {
				why = "which would close a circle"
			}
			notes = append(notes, fmt.Sprintf("is part of task %d, %s", *p, why))
			t.Task.Parent = nil
			if err := t.overrideMember("parent", "parent_task", *p, nil); err != nil {
				return err
			}
		}

		for _, text := range notes {
			all = append(all, fmt.Sprintf("%stask %d %s", t.where(), t.Task.Number, text))
		}
		if err := t.addNotes(notes); err != nil {
			return err
		}
	}

	if len(all) > 0 && a.m.opt.Strict {
		return a.importError(
			"leave --strict out, and such references are kept in the notes of their tasks",
			"%s", strings.Join(all, "; "))
	}
	a.m.kept["reference"] = len(all)
	for _, text := range all {
		a.warn("%s; its notes keep the reference", text)
	}
	return nil
}

// addedByNumber returns the tasks that are added, sorted by number.
func (a *adder) addedByNumber() []*record {
	out := make([]*record, len(a.tasks))
	for i := range a.tasks {
		out[i] = &a.tasks[i]
	}
	slices.SortFunc(out, func(x, y *record) int { return x.Task.Number - y.Task.Number })
	return out
}

// taskNames lists tasks in a sentence.
func taskNames(list []int) string {
	return "task " + strings.ReplaceAll(statefile.JoinNumbers(list), ", ", " and task ")
}

// edge is a reference from one task to another.
type edge struct{ from, to int }

// cycleEdges returns the references among imported tasks that close a cycle.
func cycleEdges(list []record, next func(*formats.Task) []int) map[edge]bool {
	tasks := make(map[int]*formats.Task, len(list))
	for i := range list {
		tasks[list[i].Task.Number] = &list[i].Task
	}

	const (
		open = iota + 1
		done
	)
	seen := map[int]int{}
	closing := map[edge]bool{}
	var visit func(t *formats.Task)
	visit = func(t *formats.Task) {
		seen[t.Number] = open
		for _, n := range next(t) {
			to := tasks[n]
			switch {
			case to == nil: // a task of the state, which refers to no imported task
			case seen[n] == open:
				closing[edge{t.Number, n}] = true
			case seen[n] != done:
				visit(to)
			}
		}
		seen[t.Number] = done
	}
	for _, n := range slices.Sorted(maps.Keys(tasks)) {
		if seen[n] == 0 {
			visit(tasks[n])
		}
	}

	return closing
}
