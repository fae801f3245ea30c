package state

import (
	"bytes"
	"cmp"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"tercet/formats"
	"tercet/internal/jsonx"
)

// changes are what a write changes in a document. An index is a position in the document's tasks.
type changes struct {
	serial     uint64
	nextNumber int
	changed    map[int]*formats.Task // the new content of tasks, by index
	created    []*formats.Task
	removed    map[int]bool // by index
	restored   []rawTask
	renamed    map[int]int    // new number to index
	members    []jsonx.Change // members of the file itself
	layout     Layout         // the new layout of the file; empty: unchanged
}

// encode returns the text of a document with changes, and the edits that lead to it before a new
// layout. What does not change stays byte for byte.
func (d *document) encode(c *changes) (data []byte, edits []jsonx.Edit, err error) {
	e := encoder{doc: d, src: d.src}
	if d.bom {
		e.edits = append(e.edits, jsonx.Edit{Start: 0, End: 3})
	}
	e.scalar(d.tree.Get("serial"), strconv.FormatUint(c.serial, 10))
	if c.nextNumber != d.NextNumber {
		e.scalar(d.tree.Get("next_number"), strconv.Itoa(c.nextNumber))
	}
	e.edits = append(e.edits, jsonx.EditMembers(d.src, d.tree, c.members)...)
	moving := e.tasksToMove(c)
	for _, i := range slices.Sorted(maps.Keys(c.changed)) {
		if !c.removed[i] && !slices.Contains(moving, i) {
			if err := e.change(d.full(i), &d.Tasks[i], c.changed[i]); err != nil {
				return nil, nil, err
			}
		}
	}

	if err := e.taskList(c, moving); err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(e.edits, func(a, b jsonx.Edit) int {
		return cmp.Compare(a.Start, b.Start)
	})
	data, err = jsonx.AppendSplice(newList[byte](len(d.src)+1024), d.src, e.edits)
	if err == nil && c.layout != "" {
		data, err = layOut(data, c.layout)
	}
	return data, e.edits, err
}

// mismatch reads what encode returned and says what differs from the changes, or is empty. tasks are
// the tasks that the file should have.
func (d *document) mismatch(
	data []byte,
	edits []jsonx.Edit,
	c *changes,
	tasks iter.Seq[*formats.Task],
) string {
	if len(c.created)+len(c.removed)+len(c.restored)+len(c.renamed)+len(c.members) == 0 &&
		c.layout == "" && !d.bom {
		return d.editedMismatch(data, edits, c)
	}
	doc, err := parseDocument(d.file, data)
	if err != nil {
		return err.Error()
	}
	if doc.Serial != c.serial || doc.Lineage != d.Lineage || doc.NextNumber != c.nextNumber {
		return "serial, lineage or next number"
	}
	if doc.NextNumber <= doc.highest() {
		return "the next number is not above every task"
	}
	count := 0
	for t := range tasks {
		count++
		if got := doc.find(t.Number); got == nil || !sameTask(got, t) {
			return "task " + strconv.Itoa(t.Number)
		}
	}
	if count != len(doc.Tasks) {
		return "the number of tasks"
	}
	return ""
}

// editedMismatch is mismatch for a text in which only members of tasks changed. It reads these
// tasks and the numbers at the top. The rest is copied from the document, and replacing a valid
// value by a valid value leaves the text around it valid.
func (d *document) editedMismatch(data []byte, edits []jsonx.Edit, c *changes) string {
	by := make([]int, len(edits)+1) // by[i]: how far text after i edits has moved
	for i, e := range edits {
		by[i+1] = by[i] + len(e.Text) - (e.End - e.Start)
	}

	shift := func(at int) int {
		i, _ := slices.BinarySearchFunc(edits, at, func(e jsonx.Edit, at int) int {
			return e.Start - at
		})
		return at + by[i]
	}
	read := func(v *jsonx.Value) (*jsonx.Value, *decoder, error) {
		src := data[shift(v.Start):shift(v.End)]
		now, err := jsonx.Parse(src, jsonx.Limits{})
		return now, &decoder{file: d.file, src: src}, err
	}
	for i, t := range c.changed {
		var got formats.Task
		v, dec, err := read(d.values[i])
		if err == nil {
			dec.task(&got, v, i)
		}
		if err != nil || len(dec.found) > 0 || !sameTask(&got, t) {
			return "task " + strconv.Itoa(t.Number)
		}
	}

	numbers := map[string]int64{"serial": int64(c.serial), "next_number": int64(c.nextNumber)}
	for key, want := range numbers {
		v, dec, err := read(d.tree.Get(key))
		if err != nil || dec.natural(v, key) != want {
			return key
		}
	}
	return ""
}

// encoder collects the edits of one write.
type encoder struct {
	doc   *document
	src   []byte
	edits []jsonx.Edit
}

func (e *encoder) scalar(v *jsonx.Value, raw string) {
	e.edits = append(e.edits, jsonx.Edit{
		Start: v.Start,
		End:   v.End,
		Text:  []byte(raw),
	})
}

// change makes the edits of one task.
func (e *encoder) change(v *jsonx.Value, old, now *formats.Task) error {
	was := taskValues(old)
	is := taskValues(now)
	// absent is empty
	if written, _ := v.Get("slug").Str(); written == "" && old.Title != now.Title {
		was[2] = "" // the slug was derived from the old title, and the folder keeps its name
	}
	if list := v.Get("artifacts"); list.Is(jsonx.Array) && len(list.Elems) == len(old.Artifacts) &&
		len(now.Artifacts) >= len(old.Artifacts) {
		was[12] = nil
		is[12] = nil
		if err := e.artifacts(list, old.Artifacts, now.Artifacts); err != nil {
			return err
		}
	}
	return e.members(v, taskKeys, was, is)
}

// members makes the edits of the members of an object that changed.
func (e *encoder) members(v *jsonx.Value, keys []string, was, is []any) error {
	var changes []jsonx.Change
	for i, key := range keys {
		if reflect.DeepEqual(was[i], is[i]) {
			continue
		}
		raw, err := jsonx.Marshal(is[i], "  ")
		old := v.Get(key)
		if err == nil && raw[0] == '[' && old != nil && len(old.Raw(e.src)) > 2 &&
			bytes.IndexByte(old.Raw(e.src), '\n') < 0 {
			raw, err = jsonx.MarshalLine(is[i])
		}
		if err != nil {
			return err
		}
		changes = append(changes, jsonx.Change{Key: key, Raw: raw})
	}
	e.edits = append(e.edits, jsonx.EditMembers(e.src, v, changes)...)
	return nil
}

// artifacts edits the array element by element, so that unknown members in it survive.
func (e *encoder) artifacts(v *jsonx.Value, old, now []formats.Artifact) error {
	for i, was := range old {
		err := e.members(v.Elems[i], artifactKeys, artifactValues(was), artifactValues(now[i]))
		if err != nil {
			return err
		}
	}
	var add jsonx.ElemChanges
	for _, a := range now[len(old):] {
		raw, err := jsonx.Marshal(artifactObject(a), "  ")
		if err != nil {
			return err
		}
		add.Append = append(add.Append, raw)
	}
	if len(add.Append) > 0 {
		e.edits = append(e.edits, jsonx.EditElems(e.src, v, add)...)
	}
	return nil
}

// taskList removes, restores and adds whole tasks.
func (e *encoder) taskList(c *changes, moving []int) error {
	var list jsonx.ElemChanges
	list.Remove = append(slices.Sorted(maps.Keys(c.removed)), moving...)
	style := e.doc.style()
	for i := range c.restored {
		raw, err := style.reformat(c.restored[i].raw)
		if err != nil {
			return err
		}
		if !style.oneLine || !e.insert(c, c.restored[i].task.Number, raw) {
			list.Append = append(list.Append, raw)
		}
	}

	type line struct {
		number int
		raw    []byte
	}
	var added []line
	for _, i := range moving {
		raw, err := e.editedTask(i, c.changed[i])
		if err != nil {
			return err
		}
		added = append(added, line{c.changed[i].Number, raw})
	}

	for _, t := range c.created {
		raw, err := style.write(taskObject(t))
		if err != nil {
			return err
		}
		added = append(added, line{t.Number, raw})
	}

	slices.SortFunc(added, func(a, b line) int { return a.number - b.number })
	for _, l := range added {
		list.Append = append(list.Append, l.raw)
	}
	if len(list.Remove)+len(list.Append) > 0 {
		e.edits = append(e.edits, jsonx.EditElems(e.src, e.doc.tasks, list)...)
	}
	return nil
}

// style is the layout of tasks in their file: whether each is on one line, and whether a space
// follows a colon.
type style struct{ oneLine, spaced bool }

// style derives the layout from the first task that shows it.
func (d *document) style() style {
	for _, v := range d.tasks.Elems {
		raw := v.Raw(d.src)
		if len(v.Members) < 2 {
			continue
		}
		return style{
			oneLine: bytes.IndexByte(raw, '\n') < 0,
			spaced:  bytes.HasPrefix(raw[v.Members[0].Value.Start-v.Start-1:], []byte(" ")),
		}
	}
	return style{spaced: true}
}

func (s style) write(v any) ([]byte, error) {
	switch {
	case !s.oneLine:
		return jsonx.Marshal(v, "  ")
	case s.spaced:
		return jsonx.MarshalLine(v)
	}
	return jsonx.Marshal(v, "")
}

// reformat applies the layout to the bytes of a task and keeps its literals.
func (s style) reformat(raw []byte) ([]byte, error) {
	v, err := jsonx.Parse(raw, jsonx.Limits{})
	if err != nil {
		return nil, err
	}
	return s.write(v)
}

// insert puts a task before the first one with a higher number, if the tasks are sorted, one on
// each line. It returns false if they are not.
func (e *encoder) insert(c *changes, n int, raw []byte) bool {
	if len(c.removed) > 0 || !e.doc.sorted() {
		return false
	}
	at := slices.IndexFunc(e.doc.Tasks, func(t formats.Task) bool {
		return t.Number > n
	})
	if at < 0 {
		return false
	}

	v := e.doc.tasks.Elems[at]
	start := bytes.LastIndexByte(e.src[:v.Start], '\n') + 1
	indent := e.src[start:v.Start]
	if start == 0 || len(bytes.TrimSpace(indent)) > 0 {
		return false
	}

	sep := ",\n"
	if bytes.HasSuffix(e.src[:start], []byte("\r\n")) {
		sep = ",\r\n"
	}
	text := append(append(slices.Clone(raw), sep...), indent...)
	e.edits = append(e.edits, jsonx.Edit{
		Start: v.Start,
		End:   v.Start,
		Text:  text,
	})
	return true
}

// sorted reports whether the tasks are sorted by number.
func (d *document) sorted() bool {
	return slices.IsSortedFunc(d.Tasks, func(a, b formats.Task) int {
		return cmp.Compare(a.Number, b.Number)
	})
}

// tasksToMove returns the renumbered tasks that must move to the end, if tasks are sorted and one
// on each line.
func (e *encoder) tasksToMove(c *changes) []int {
	if len(c.renamed) == 0 || !e.doc.style().oneLine || !e.doc.sorted() {
		return nil
	}
	return slices.SortedFunc(maps.Values(c.renamed), func(a, b int) int {
		return cmp.Compare(c.changed[a].Number, c.changed[b].Number)
	})
}

// editedTask returns the bytes of a task with its changes.
func (e *encoder) editedTask(i int, now *formats.Task) ([]byte, error) {
	v := e.doc.full(i)
	one := encoder{doc: e.doc, src: e.src}
	if err := one.change(v, &e.doc.Tasks[i], now); err != nil {
		return nil, err
	}
	return edited(e.src, v, one.edits)
}

// taskKeys are the members of a task, in the order in which they are written.
var taskKeys = []string{
	"number", "title", "slug", "status", "language", "priority", "effort", "description",
	"dependencies", "parent", "created", "updated", "artifacts", "prior", "blocked_reason", "lease",
	"session_id", issueKey,
}

// issueKey is absent from most tasks. A value that is not a string is treated as an unknown member.
const issueKey = "issue_url"

// taskValues returns the values of a task in the order of taskKeys.
func taskValues(t *formats.Task) []any {
	return []any{
		t.Number,
		t.Title,
		t.Slug,
		t.Status.String(),
		t.Language,
		t.Priority,
		t.Effort,
		t.Description,
		append([]int{}, t.Dependencies...),
		orNull(t.Parent),
		t.Created,
		t.Updated,
		artifactObjects(t.Artifacts),
		textOrNull(t.Prior.String()),
		textOrNull(t.BlockedReason),
		orNull(t.Lease),
		textOrNull(t.Session),
		textOrNull(t.Issue),
	}
}

func taskObject(t *formats.Task) *jsonx.Object {
	o := new(jsonx.Object)
	for i, v := range taskValues(t) {
		if v != nil || taskKeys[i] != issueKey {
			o.Set(taskKeys[i], v)
		}
	}
	return o
}

var artifactKeys = []string{"type", "path", "summary", "deleted", "created"}

func artifactValues(a formats.Artifact) []any {
	return []any{string(a.Type), a.Path, a.Summary, a.Deleted, a.Created}
}

func artifactObjects(list []formats.Artifact) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = artifactObject(list[i])
	}
	return out
}

// artifactObject encodes an artifact; deleted is left out if it is false.
func artifactObject(a formats.Artifact) *jsonx.Object {
	o := new(jsonx.Object)
	for i, v := range artifactValues(a) {
		if v != false {
			o.Set(artifactKeys[i], v)
		}
	}
	return o
}

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func orNull[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}
