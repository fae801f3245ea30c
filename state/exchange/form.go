package exchange

import (
	"bytes"
	"maps"
	"slices"

	"tercet/formats"
	"tercet/internal/jsonx"
	"tercet/state/statefile"
)

// formKey is the member of a task, and of the state, that records the form of an imported file.
// What did not change since is exported in that form.
const formKey = "imported_form"

// The lists of the other shape. A file with the last one, or only the second, is an archive.
const (
	listActive    = ShapeProjects
	listCompleted = "completed_projects"
	listArchived  = "archived_projects"
	listBare      = "" // tasks in no list, or in the array that is the whole file
	// in a form: the task was in the other system's archive, and how that is laid out
	listOfArchive = "archive"
)

// recordForm adds to the bytes of a task how its source wrote it: the names of the members in
// order, and for each value that the export would change, what it was (was) and what it would be
// (as). It also records the list, which applies as long as the task has that status.
func (m *Import) recordForm(t *record, source *jsonx.Value, list string) {
	v, err := jsonx.Parse(t.Raw, jsonx.Limits{Depth: jsonx.DefaultDepth - 2})
	if err != nil || source.Get(formKey) != nil {
		return // nested too deeply, or the source uses the key itself
	}
	if m.archive {
		list = listOfArchive
	}

	e := reparse(asProject(&t.Task, v, t.Raw))
	keys := []any{}
	as := new(jsonx.Object)
	was := new(jsonx.Object)
	for i := range e.Members {
		one := &e.Members[i]
		there := source.Get(one.Key)
		if !equalJSON(one.Value, there) && (there != nil || !emptyValue(one.Value)) {
			as.Set(one.Key, one.Value)
		}
	}

	for i := range source.Members {
		one := &source.Members[i]
		keys = append(keys, one.Key)
		if !equalJSON(one.Value, e.Get(one.Key)) {
			was.Set(one.Key, one.Value)
		}
	}

	form := new(jsonx.Object).
		Set("list", list).
		Set("status", t.Task.Status.String()).
		Set("keys", keys).
		Set("as", as).
		Set("was", was)
	if raw, err := jsonx.Marshal(form, ""); err == nil {
		change := []jsonx.Change{{Key: formKey, Raw: raw}}
		if all, err := jsonx.Splice(t.Raw, jsonx.EditMembers(t.Raw, v, change)); err == nil {
			t.Raw = all
		}
	}
}

// overrideMember replaces a member of a task. The export restores what the source had, under the
// key that it has there; if was is nil, nothing.
func (t *record) overrideMember(key, theirs string, was, now any) error {
	if err := t.SetMember(key, now); err != nil {
		return err
	}
	v, err := jsonx.Parse(t.Raw, jsonx.Limits{})
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

	return t.SetMember(formKey, form)
}

// reparse encodes an object and parses it.
func reparse(o *jsonx.Object) *jsonx.Value {
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

func equalJSON(a, b *jsonx.Value) bool {
	return a != nil && b != nil && bytes.Equal(jsonx.AppendValue(nil, a), jsonx.AppendValue(nil, b))
}

// emptyValue reports whether a value is "", null or [].
func emptyValue(v *jsonx.Value) bool {
	return slices.Contains([]string{`""`, "null", "[]"}, string(jsonx.AppendValue(nil, v)))
}

// restoreForm restores the form of the source where nothing changed. Artifacts that were linked
// since follow those of the source. A form that recordForm did not make restores nothing.
func restoreForm(o *jsonx.Object, form *jsonx.Value) *jsonx.Object {
	as := form.Get("as")
	was := form.Get("was")
	if !as.Is(jsonx.Dict) || !was.Is(jsonx.Dict) {
		return o
	}

	exported := reparse(o)
	keys := stringsOf(form.Get("keys"))
	inSource := map[string]bool{}
	for _, key := range keys {
		inSource[key] = true
	}
	values := restoreValues(exported, as, was, inSource)

	out := new(jsonx.Object)
	for _, key := range keys {
		if v, ok := values[key]; ok {
			out.Set(key, v)
		}
	}

	// What the source did not have comes last, unless it is empty.
	for i := range exported.Members {
		one := &exported.Members[i]
		v, ok := values[one.Key]
		restored := v != any(one.Value)
		if ok && !inSource[one.Key] && (restored || !emptyValue(one.Value)) {
			out.Set(one.Key, v)
		}
	}
	return out
}

// restoreValues gives the values of an exported task by their keys: that of the source (was) where
// the export is still what it was right after the import (as), else the exported one.
func restoreValues(exported, as, was *jsonx.Value, inSource map[string]bool) map[string]any {
	values := map[string]any{}
	for i := range exported.Members {
		values[exported.Members[i].Key] = exported.Members[i].Value
	}

	list, whole := restoreArtifacts(
		as.Get("artifacts"), was.Get("artifacts"), exported.Get("artifacts"),
	)
	unchanged := true
	for i := range as.Members {
		key := as.Members[i].Key
		old := was.Get(key)
		switch {
		case key == "artifacts" && whole:
			values[key] = list
		case key == unlinkableKey && !whole && as.Get("artifacts") != nil:
			// the artifacts do not include them
		case !equalJSON(as.Members[i].Value, exported.Get(key)):
			unchanged = unchanged && inSource[key]
		case old != nil:
			values[key] = old
		default:
			delete(values, key)
		}
	}

	for i := range was.Members {
		if one := &was.Members[i]; unchanged && as.Get(one.Key) == nil {
			values[one.Key] = one.Value
		}
	}
	return values
}

// restoreArtifacts returns the artifacts of the source followed by those linked since; false if the
// imported ones changed.
func restoreArtifacts(as, was, now *jsonx.Value) (any, bool) {
	switch {
	case equalJSON(as, now):
		return was, was != nil
	case as == nil || !was.Is(jsonx.Array) || len(now.Elems) < len(as.Elems):
		return nil, false
	}

	for i, a := range as.Elems {
		if !equalJSON(a, now.Elems[i]) {
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

// fileForm is the form of an imported file: everything but its tasks.
type fileForm struct {
	tree    *jsonx.Value
	lists   []recordList
	archive bool // the file has archived tasks only
}

// recordList are the records of a list, in the order of the file.
type recordList struct {
	list    string
	records []sourceRecord
}

// sourceRecord is one record and the number of the task that it became; 0 if it was left out.
type sourceRecord struct {
	value *jsonx.Value
	n     int
}

// recordKey is the member that holds a left-out record, in an order where other records are
// numbers.
const recordKey = "record"

// keepRecord keeps the record at an offset as it is, because its task is not imported.
func (f *fileForm) keepRecord(at int) {
	f.renumber(at, 0)
}

// renumber sets which task the record at an offset has become.
func (f *fileForm) renumber(at, n int) {
	for _, l := range f.lists {
		for i := range l.records {
			if l.records[i].value.Start == at {
				l.records[i].n = n
			}
		}
	}
}

// leftOutRecords returns the records that did not become tasks. With placed, it omits those that
// the order contains.
func (f *fileForm) leftOutRecords(placed bool) []*jsonx.Value {
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

// order returns the task numbers by list, in file order, with the left-out records in between.
func (f *fileForm) order() *jsonx.Object {
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

// readProjects reads a list of the other shape.
func (m *Import) readProjects(list string, status formats.TaskStatus) {
	v := m.tree.Get(list)
	if !v.Is(jsonx.Array) {
		return
	}
	if status != "" && len(v.Elems) > 0 {
		m.report(DamageNote, v.Start, formats.Count(len(v.Elems), "project")+" for the archive", "")
	}

	first := len(m.tasks)
	m.addRecords(list, v.Elems, status)
	for _, e := range v.Elems {
		// an unreadable record was left out
		if first < len(m.tasks) && m.tasks[first].offset == e.Start {
			m.recordForm(&m.tasks[first], e, list)
			first++
		}
	}
}

// Export returns the state in the other shape, laid out like the file that it came from;
// with foreignArchive, the archive of the other system. Tasks archived here are among the completed
// projects.
func Export(d, archive *statefile.Document, foreignArchive bool) ([]byte, error) {
	form := d.Tree.Get(formKey)
	members := d.Tree.Get(importedKey)
	lists := projectLists(d, archive)
	var given map[string]any
	if foreignArchive {
		form = form.Get(listOfArchive)
		members = form.Get("members")
		order := form.Get("order")
		if !order.Is(jsonx.Dict) || len(order.Members) == 0 {
			return nil, formats.Fail(
				formats.CodeNotFound,
				"leave --archive out",
				"no archive of another system was imported",
			)
		}
		given = archiveMembers(order, lists[listOfArchive])
	} else {
		given = stateMembers(form, lists, d.NextNumber)
	}
	if members.Is(jsonx.Dict) {
		for i := range members.Members {
			given[members.Members[i].Key] = members.Members[i].Value
		}
	}

	out, err := jsonx.Marshal(orderMembers(form, given), "  ")
	if err != nil {
		return nil, &formats.Failure{
			Code:    formats.CodeBug,
			Message: "encoding the projects",
			Err:     err,
		}
	}
	return append(out, '\n'), nil
}

// projectLists gives the tasks as projects, by the list that they belong to and by number. A task
// goes back to the list that it came from unless its status has changed since.
func projectLists(d, archive *statefile.Document) map[string]map[int]any {
	lists := map[string]map[int]any{
		listActive:    {},
		listCompleted: {},
		listArchived:  {},
		listOfArchive: {},
	}
	for _, doc := range []*statefile.Document{d, archive} {
		for i := 0; doc != nil && i < len(doc.Tasks); i++ {
			t := &doc.Tasks[i]
			value := doc.Full(i)
			theirs := value.Get(formKey)
			list := listActive
			if doc == archive || t.Status == formats.Completed {
				list = listCompleted
			}
			was := statefile.TextOf(theirs, "list")
			if lists[was] != nil && statefile.TextOf(theirs, "status") == t.Status.String() &&
				(doc == d || was != listActive) {
				list = was
			}
			lists[list][t.Number] = restoreForm(asProject(t, value, doc.Src), theirs)
		}
	}
	return lists
}

// archiveMembers parts the projects of the archive by the lists of order. The first list also gets
// those that no list has.
func archiveMembers(order *jsonx.Value, archived map[int]any) map[string]any {
	given := map[string]any{}
	for _, one := range order.Members[1:] {
		own := map[int]any{}
		for _, n := range numbersOf(one.Value) {
			if t, ok := archived[n]; ok {
				own[n] = t
				delete(archived, n)
			}
		}
		given[one.Key] = own
	}

	given[order.Members[0].Key] = archived
	return given
}

// stateMembers are the members of the other system's state: its lists, and the next number as it
// was written, if that still is the next one.
func stateMembers(
	form *jsonx.Value, lists map[string]map[int]any, nextNumber int,
) map[string]any {
	given := map[string]any{
		listActive:            lists[listActive],
		"next_project_number": nextNumber,
	}
	if as, ok := form.Get("as").Int(); ok && int(as) == nextNumber {
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
	return given
}

// orderMembers makes an object of the members: in the order of the file that they came from, and
// then by name.
func orderMembers(form *jsonx.Value, given map[string]any) *jsonx.Object {
	names := slices.Concat(
		stringsOf(form.Get("keys")),
		[]string{"next_project_number", listActive, listCompleted},
		slices.Sorted(maps.Keys(given)),
	)

	file := new(jsonx.Object)
	for _, name := range names {
		if tasks, ok := given[name].(map[int]any); ok {
			given[name] = orderTasks(tasks, form.Get("order").Get(name))
		}
		if v, ok := given[name]; ok {
			file.Set(name, v)
		}
	}
	return file
}

func numbersOf(v *jsonx.Value) (out []int) {
	for i := 0; v.Is(jsonx.Array) && i < len(v.Elems); i++ {
		n, _ := v.Elems[i].Int() // anything else is the number of no task
		out = append(out, int(n))
	}
	return out
}

// orderTasks returns tasks in the order of their source, with left-out records in their place.
// Tasks that the source does not have come last, by number.
func orderTasks(tasks map[int]any, order *jsonx.Value) []any {
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
