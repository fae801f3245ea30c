package state

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"tercet/formats"
	"tercet/internal/jsonx"
)

// formKey is the member of a task, and of the state, that records the shape of an imported file.
// What did not change since is exported as it was.
const formKey = "imported_form"

// The lists of the other shape. A file with the last one, or only the second, is an archive.
const (
	listActive    = ShapeProjects
	listCompleted = "completed_projects"
	listArchived  = "archived_projects"
	listBare      = "" // tasks in no list, or in the array that is the whole file
	// in a form: the task stands in the other system's archive; how that is laid out
	ofArchive = "archive"
)

// remember adds to the bytes of a task how its source has it. That is the names of the members in
// their order, and each value that the export would change: what it was and what it would be (as).
// It is also the list, as long as the task has that status.
func (m *Import) remember(t *restored, source *jsonx.Value, list string) {
	v, err := jsonx.Parse(t.raw, jsonx.Limits{Depth: jsonx.DefaultDepth - 2})
	if err != nil || source.Get(formKey) != nil {
		return // too deep for it, or a name of theirs
	}
	if m.archive {
		list = ofArchive
	}
	e := parsed(project(&t.task, v, t.raw))
	keys := []any{}
	as := new(jsonx.Object)
	was := new(jsonx.Object)
	for i := range e.Members {
		one := &e.Members[i]
		there := source.Get(one.Key)
		if !alike(one.Value, there) && (there != nil || !empty(one.Value)) {
			as.Set(one.Key, one.Value)
		}
	}

	for i := range source.Members {
		one := &source.Members[i]
		keys = append(keys, one.Key)
		if !alike(one.Value, e.Get(one.Key)) {
			was.Set(one.Key, one.Value)
		}
	}

	form := new(jsonx.Object).Set("list", list).Set("status", t.task.Status.String()).Set(
		"keys", keys,
	).Set("as", as).
		Set("was", was)
	if raw, err := jsonx.Marshal(form, ""); err == nil {
		change := []jsonx.Change{{Key: formKey, Raw: raw}}
		if all, err := jsonx.Splice(t.raw, jsonx.EditMembers(t.raw, v, change)); err == nil {
			t.raw = all
		}
	}
}

// leaveOut gives a member of a task another value than its source has. The export gives back what
// was there, under the name that it has there; nothing if that is nil and not null.
func (t *restored) leaveOut(key, theirs string, was, now any) error {
	if err := t.set(key, now); err != nil {
		return err
	}
	v, err := jsonx.Parse(t.raw, jsonx.Limits{})
	if err != nil || !v.Get(formKey).Is(jsonx.Dict) {
		return err
	}
	form := new(jsonx.Object)
	for i := range v.Get(formKey).Members {
		one := &v.Get(formKey).Members[i]
		form.Set(one.Key, one.Value)
		add, ok := map[string]any{"as": now, "was": was}[one.Key]
		if one.Key == "was" && was == nil {
			ok = false
		}
		if ok && one.Value.Is(jsonx.Dict) && one.Value.Get(theirs) == nil {
			o := new(jsonx.Object)
			for k := range one.Value.Members {
				o.Set(one.Value.Members[k].Key, one.Value.Members[k].Value)
			}
			form.Set(one.Key, o.Set(theirs, add))
		}
	}
	return t.set(formKey, form)
}

// parsed is an object that was made here as one that was read.
func parsed(o *jsonx.Object) *jsonx.Value {
	raw, err := jsonx.Marshal(o, "")
	if err != nil {
		return &jsonx.Value{Kind: jsonx.Dict}
	}
	v, err := jsonx.Parse(raw, jsonx.Limits{})
	if err != nil {
		return &jsonx.Value{Kind: jsonx.Dict}
	}
	return v
}

func alike(a, b *jsonx.Value) bool {
	return a != nil && b != nil && bytes.Equal(jsonx.AppendValue(nil, a), jsonx.AppendValue(nil, b))
}

// empty tells whether a value says nothing.
func empty(v *jsonx.Value) bool {
	return slices.Contains([]string{`""`, "null", "[]"}, string(jsonx.AppendValue(nil, v)))
}

// asItWas gives a task of the other shape the form of its source where nothing changed. Artifacts
// that were linked since follow those of the source.
func asItWas(o *jsonx.Object, form *jsonx.Value) *jsonx.Object {
	if !form.Is(jsonx.Dict) {
		return o
	}
	e := parsed(o)
	as := form.Get("as")
	was := form.Get("was")
	if !as.Is(jsonx.Dict) || !was.Is(jsonx.Dict) {
		return o // not as it was written here
	}

	now := map[string]any{}
	theirs := map[string]bool{}
	kept := true
	for i := range e.Members {
		now[e.Members[i].Key] = e.Members[i].Value
	}

	keys := stringsOf(form.Get("keys"))
	for _, key := range keys {
		theirs[key] = true
	}
	list, whole := artifactsBack(as.Get("artifacts"), was.Get("artifacts"), e.Get("artifacts"))
	for i := range as.Members {
		key := as.Members[i].Key
		old := was.Get(key)
		switch {
		case key == "artifacts" && whole:
			now[key] = list
		case key == straysKey && !whole && as.Get("artifacts") != nil:
			// the artifacts do not hold them
		case !alike(as.Members[i].Value, e.Get(key)):
			kept = kept && theirs[key]
		case old != nil:
			now[key] = old
		default:
			delete(now, key)
		}
	}

	for i := range was.Members {
		if one := &was.Members[i]; kept && as.Get(one.Key) == nil {
			now[one.Key] = one.Value
		}
	}

	out := new(jsonx.Object)
	for _, key := range keys {
		if v, ok := now[key]; ok {
			out.Set(key, v)
		}
	}

	for i := range e.Members {
		key := e.Members[i].Key
		v, ok := now[key]
		own := v == any(e.Members[i].Value)
		if ok && !theirs[key] && (!own || !empty(e.Members[i].Value)) {
			out.Set(key, v)
		}
	}

	return out
}

// artifactsBack gives the artifacts of the source with those that came since; false if what was
// taken over has changed.
func artifactsBack(as, was, now *jsonx.Value) (any, bool) {
	switch {
	case alike(as, now):
		return was, was != nil
	case as == nil || !was.Is(jsonx.Array) || len(now.Elems) < len(as.Elems):
		return nil, false
	}
	for i, a := range as.Elems {
		if !alike(a, now.Elems[i]) {
			return nil, false
		}
	}
	list := []any{}
	for _, v := range slices.Concat(was.Elems, now.Elems[len(as.Elems):]) {
		list = append(list, v)
	}
	return list, true
}

func stringsOf(v *jsonx.Value) (out []string) {
	if v.Is(jsonx.Array) {
		for _, e := range v.Elems {
			if s, ok := e.Str(); ok {
				out = append(out, s)
			}
		}
	}
	return out
}

// formed is what is kept of an imported file besides its tasks.
type formed struct {
	tree    *jsonx.Value
	lists   []placed
	archive bool // the file holds nothing but what was put away
}

// placed are the records of a list, in the order of the file.
type placed struct {
	list    string
	records []place
}

// place is one record, with the number of the task that it became; 0: it was left out.
type place struct {
	value *jsonx.Value
	n     int
}

// recordKey is the member that holds a record that was left out, in an order where other records
// have their numbers.
const recordKey = "record"

// leaveOut keeps the record at an offset as it is, because its task does not come along.
func (f *formed) leaveOut(at int) {
	f.renumber(at, 0)
}

// renumber says which task the record at an offset has become.
func (f *formed) renumber(at, n int) {
	for _, l := range f.lists {
		for i := range l.records {
			if l.records[i].value.Start == at {
				l.records[i].n = n
			}
		}
	}
}

// leftOut gives the records that did not become tasks. With placed those that the order has are not
// among them.
func (f *formed) leftOut(placed bool) []*jsonx.Value {
	var out []*jsonx.Value
	for _, l := range f.lists {
		if placed && l.list != listBare {
			continue
		}
		for _, p := range l.records {
			if p.n == 0 {
				out = append(out, p.value)
			}
		}
	}
	return out
}

// order gives the numbers of the tasks by list, as they stand in the file, and between them what
// was left out.
func (f *formed) order() *jsonx.Object {
	order := new(jsonx.Object)
	for _, l := range f.lists {
		if l.list == listBare {
			continue
		}
		list := []any{}
		for _, p := range l.records {
			if p.n == 0 {
				list = append(list, new(jsonx.Object).Set(recordKey, p.value))
			} else {
				list = append(list, p.n)
			}
		}
		order.Set(l.list, list)
	}
	return order
}

// projects reads a list of the other shape.
func (m *Import) projects(list string, status formats.TaskStatus) {
	v := m.tree.Get(list)
	if !v.Is(jsonx.Array) {
		return
	}
	if status != "" && len(v.Elems) > 0 {
		m.find(DamageNote, v.Start, formats.Count(len(v.Elems), "project")+" for the archive", "")
	}
	first := len(m.tasks)
	m.list(list, v.Elems, status)
	for _, e := range v.Elems {
		// one that cannot be read is left out
		if first < len(m.tasks) && m.tasks[first].at == e.Start {
			m.remember(&m.tasks[first], e, list)
			first++
		}
	}
}

// formOf says how a file of the other shape is laid out: the names of its members, and the order of
// its tasks if that is not by number. If the next number is another one here, it adds that.
func (d *draft) formOf(m *Import) *jsonx.Object {
	keys := []any{}
	for _, one := range m.tree.Members {
		keys = append(keys, one.Key)
	}
	form := new(jsonx.Object).Set("keys", keys).Set("order", m.order())
	if m.archive {
		beside := new(jsonx.Object)
		for _, c := range m.rest {
			beside.Set(c.Key, json.RawMessage(c.Raw))
		}
		return form.Set("members", beside)
	}
	if len(d.base.Tasks) > 0 || m.opt.Fresh {
		return form // numbers were given here
	}
	if was := m.tree.Get("next_project_number"); was != nil {
		form.Set("was", was)
	}
	return form.Set("as", d.next)
}

// hasForm tells whether the state has the form of another file of this kind.
func (d *draft) hasForm(m *Import) bool {
	there := d.base.tree.Get(formKey)
	if m.archive {
		return there.Get(ofArchive) != nil
	}
	return there.Get("keys") != nil
}

// keepForm keeps the form of a file, the first one that came.
func (d *draft) keepForm(m *Import) error {
	if d.hasForm(m) {
		return nil
	}
	form := d.formOf(m)
	there := d.base.tree.Get(formKey)
	o := new(jsonx.Object)
	if m.archive {
		form = new(jsonx.Object).Set(ofArchive, form)
	} else if a := m.opt.Archive; a != nil && a.archive {
		form.Set(ofArchive, d.formOf(a))
	}
	for _, v := range []*jsonx.Value{there, parsed(form)} {
		for i := 0; v.Is(jsonx.Dict) && i < len(v.Members); i++ {
			if v == there || there.Get(v.Members[i].Key) == nil {
				o.Set(v.Members[i].Key, v.Members[i].Value)
			}
		}
	}
	form = o
	raw, err := jsonx.Marshal(form, "  ")
	d.members = append(d.members, jsonx.Change{Key: formKey, Raw: raw})
	return err
}

// leftOutKey is the member of state.json with the records that an import left out and that no form
// has a place for.
const leftOutKey = "imported_left_out"

// keepLeftOut keeps what is left out of a file, once.
func (d *draft) keepLeftOut(m *Import) error {
	files := []*Import{m}
	if m.opt.Archive != nil {
		files = append(files, m.opt.Archive)
	}
	there := d.base.tree.Get(leftOutKey)
	var list []any
	known := map[string]bool{}
	if there.Is(jsonx.Array) {
		for _, v := range there.Elems {
			list = append(list, v)
			known[string(jsonx.AppendValue(nil, v))] = true
		}
	}
	form := d.base.tree.Get(formKey)
	for _, order := range []*jsonx.Value{form.Get("order"), form.Get(ofArchive).Get("order")} {
		for i := 0; order.Is(jsonx.Dict) && i < len(order.Members); i++ {
			for _, record := range recordsOf(order.Members[i].Value) {
				known[string(jsonx.AppendValue(nil, record))] = true
			}
		}
	}

	before := len(list)
	for _, file := range files {
		placed := m.Shape == ShapeProjects && !d.hasForm(m) && (file == m || file.archive)
		for _, v := range file.leftOut(placed) {
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
	d.members = append(d.members, jsonx.Change{Key: leftOutKey, Raw: raw})
	return err
}

// recordsOf gives the records that were left out, from an order.
func recordsOf(order *jsonx.Value) []*jsonx.Value {
	var out []*jsonx.Value
	for i := 0; order.Is(jsonx.Array) && i < len(order.Elems); i++ {
		if v := order.Elems[i]; v.Is(jsonx.Dict) && v.Get(recordKey) != nil {
			out = append(out, v.Get(recordKey))
		}
	}
	return out
}

// exportProjects gives the state in the other shape, laid out as the file that it came from. With
// ofTheirs that is the archive of the other system, else its state. What was put away here is among
// the completed projects.
func exportProjects(d, archive *document, ofTheirs bool) ([]byte, error) {
	form := d.tree.Get(formKey)
	members := d.tree.Get(importedKey)
	lists := map[string]map[int]any{
		listActive:    {},
		listCompleted: {},
		listArchived:  {},
		ofArchive:     {},
	}
	for _, doc := range []*document{d, archive} {
		for i := 0; doc != nil && i < len(doc.Tasks); i++ {
			t := &doc.Tasks[i]
			value := doc.full(i)
			theirs := value.Get(formKey)
			list := listActive
			if doc == archive || t.Status == formats.Completed {
				list = listCompleted
			}
			was := textOf(theirs, "list")
			if lists[was] != nil && textOf(theirs, "status") == t.Status.String() &&
				(doc == d || was != listActive) {
				list = was
			}
			lists[list][t.Number] = asItWas(project(t, value, doc.src), theirs)
		}
	}

	file := new(jsonx.Object)
	given := map[string]any{}
	if ofTheirs {
		form = form.Get(ofArchive)
		order := form.Get("order")
		members = form.Get("members")
		if !order.Is(jsonx.Dict) || len(order.Members) == 0 {
			return nil, formats.Fail(
				formats.CodeNotFound,
				"leave --archive out",
				"no archive of another system was imported",
			)
		}
		for _, one := range order.Members[1:] { // the first has what stands in no other
			own := map[int]any{}
			for _, n := range numbersOf(one.Value) {
				if t, ok := lists[ofArchive][n]; ok {
					own[n] = t
					delete(lists[ofArchive], n)
				}
			}
			given[one.Key] = own
		}
		given[order.Members[0].Key] = lists[ofArchive]
	} else {
		given[listActive] = lists[listActive]
		given["next_project_number"] = d.NextNumber
		if as, ok := form.Get("as").Int(); ok && int(as) == d.NextNumber {
			delete(given, "next_project_number")
			if was := form.Get("was"); was != nil {
				given["next_project_number"] = was
			}
		}
		for _, list := range []string{listCompleted, listArchived} {
			if form == nil && list == listCompleted || len(lists[list]) > 0 ||
				slices.Contains(stringsOf(form.Get("keys")), list) {
				given[list] = lists[list]
			}
		}
	}
	if members.Is(jsonx.Dict) {
		for i := range members.Members {
			given[members.Members[i].Key] = members.Members[i].Value
		}
	}
	names := slices.Concat(
		stringsOf(form.Get("keys")),
		[]string{"next_project_number", listActive, listCompleted},
		slices.Sorted(maps.Keys(given)),
	)
	for _, name := range names {
		if tasks, ok := given[name].(map[int]any); ok {
			given[name] = ordered(tasks, form.Get("order").Get(name))
		}
		if v, ok := given[name]; ok {
			file.Set(name, v)
		}
	}

	out, err := jsonx.Marshal(file, "  ")
	if err != nil {
		return nil, &formats.Failure{
			Code:    formats.CodeBug,
			Message: "encoding the projects",
			Err:     err,
		}
	}
	return append(out, '\n'), nil
}

func numbersOf(v *jsonx.Value) (out []int) {
	for i := 0; v.Is(jsonx.Array) && i < len(v.Elems); i++ {
		n, _ := v.Elems[i].Int() // anything else is the number of no task
		out = append(out, int(n))
	}
	return out
}

// ordered gives tasks in the order of their source, with what was left out of it in its place.
// Those that the source does not have come last, by number.
func ordered(tasks map[int]any, order *jsonx.Value) []any {
	out := []any{}
	take := func(n int) {
		if t, ok := tasks[n]; ok {
			out = append(out, t)
			delete(tasks, n)
		}
	}
	for i := 0; order.Is(jsonx.Array) && i < len(order.Elems); i++ {
		v := order.Elems[i]
		if v.Is(jsonx.Dict) && v.Get(recordKey) != nil {
			out = append(out, v.Get(recordKey))
			continue
		}
		n, _ := v.Int() // anything else is the number of no task
		take(int(n))
	}
	for _, n := range slices.Sorted(maps.Keys(tasks)) {
		take(n)
	}
	return out
}
