package statefile

import (
	"bytes"
	"cmp"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"tercet/formats"
	"tercet/internal/huge"
	"tercet/internal/jsonx"
	"tercet/internal/order"
)

// Changes are what a write changes in a document. An index is a position in the document's tasks.
type Changes struct {
	Serial     uint64
	NextNumber int
	Changed    map[int]*formats.Task // the new content of tasks, by index
	Replaced   map[int][]byte        // the whole new text of tasks that changed, by index
	Created    []*formats.Task
	Removed    map[int]bool // by index
	Restored   []RawTask
	Renamed    map[int]int    // new number to index
	Members    []jsonx.Change // members of the file itself
	Layout     Layout         // the new layout of the file; empty: unchanged
}

// Encode returns the text of a document with changes, and the edits that lead to it before a new
// layout. What does not change stays byte for byte.
func (d *Document) Encode(c *Changes) (data []byte, edits []jsonx.Edit, err error) {
	e := encoder{doc: d, src: d.Src}
	if d.BOM {
		e.edits = append(e.edits, jsonx.Edit{Start: 0, End: 3})
	}
	e.replaceScalar(d.Tree.Get("serial"), strconv.FormatUint(c.Serial, 10))
	if c.NextNumber != d.NextNumber {
		e.replaceScalar(d.Tree.Get("next_number"), strconv.Itoa(c.NextNumber))
	}
	e.edits = append(e.edits, jsonx.EditMembers(d.Src, d.Tree, c.Members)...)

	moving := e.tasksToMove(c)
	for _, i := range slices.Sorted(maps.Keys(c.Changed)) {
		if !c.Removed[i] && c.Replaced[i] == nil && !slices.Contains(moving, i) {
			if err := e.editTask(d.Full(i), &d.Tasks[i], c.Changed[i]); err != nil {
				return nil, nil, err
			}
		}
	}

	if err := e.editTaskList(c, moving); err != nil {
		return nil, nil, err
	}

	order.Stable(e.edits, func(a, b jsonx.Edit) int {
		return cmp.Compare(a.Start, b.Start)
	})
	data, err = jsonx.AppendSplice(huge.List[byte](len(d.Src)+1024), d.Src, e.edits)

	if err == nil && c.Layout != "" {
		data, err = LayOut(data, c.Layout)
	}
	return data, e.edits, err
}

// Mismatch reads what encode returned and says what differs from the changes, or is empty. tasks
// are the tasks that the file should have.
func (d *Document) Mismatch(
	data []byte,
	edits []jsonx.Edit,
	c *Changes,
	tasks iter.Seq[*formats.Task],
) string {
	whole := len(c.Replaced) + len(c.Created) + len(c.Removed) + len(c.Restored) +
		len(c.Renamed) + len(c.Members)
	if whole == 0 && c.Layout == "" && !d.BOM {
		return d.editedMismatch(data, edits, c)
	}

	doc, err := Parse(d.File, data)
	if err != nil {
		return err.Error()
	}
	if doc.Serial != c.Serial || doc.Lineage != d.Lineage || doc.NextNumber != c.NextNumber {
		return "serial, lineage or next number"
	}
	if doc.NextNumber <= doc.Highest() {
		return "the next number is not above every task"
	}

	count := 0
	for t := range tasks {
		count++
		if got := doc.Find(t.Number); got == nil || !SameTask(got, t) {
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
func (d *Document) editedMismatch(data []byte, edits []jsonx.Edit, c *Changes) string {
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
		return now, &decoder{file: d.File, src: src}, err
	}
	for i, t := range c.Changed {
		var got formats.Task
		v, dec, err := read(d.Values[i])
		if err == nil {
			dec.task(&got, v, i)
		}
		if err != nil || len(dec.found) > 0 || !SameTask(&got, t) {
			return "task " + strconv.Itoa(t.Number)
		}
	}

	numbers := map[string]int64{"serial": int64(c.Serial), "next_number": int64(c.NextNumber)}
	for key, want := range numbers {
		v, dec, err := read(d.Tree.Get(key))
		if err != nil || dec.natural(v, key) != want {
			return key
		}
	}
	return ""
}

// encoder collects the edits of one write.
type encoder struct {
	doc   *Document
	src   []byte
	edits []jsonx.Edit
}

func (e *encoder) replaceScalar(v *jsonx.Value, raw string) {
	e.edits = append(e.edits, jsonx.Edit{
		Start: v.Start,
		End:   v.End,
		Text:  []byte(raw),
	})
}

// editTask makes the edits of one task.
func (e *encoder) editTask(v *jsonx.Value, old, now *formats.Task) error {
	was := TaskValues(old)
	is := TaskValues(now)

	// absent is empty
	if written, _ := v.Get("slug").Str(); written == "" && old.Title != now.Title {
		was[2] = "" // the slug was derived from the old title, and the folder keeps its name
	}

	if list := v.Get("artifacts"); list.Is(jsonx.Array) && len(list.Elems) == len(old.Artifacts) &&
		len(now.Artifacts) >= len(old.Artifacts) {
		was[12] = nil
		is[12] = nil
		if err := e.editArtifacts(list, old.Artifacts, now.Artifacts); err != nil {
			return err
		}
	}

	return e.editMembers(v, TaskKeys(), was, is)
}

// editMembers makes the edits of the members of an object whose values changed from was to is. An
// array that stood on one line stays on one.
func (e *encoder) editMembers(v *jsonx.Value, keys []string, was, is []any) error {
	var changes []jsonx.Change
	for i, key := range keys {
		if reflect.DeepEqual(was[i], is[i]) {
			continue
		}

		raw, err := jsonx.Marshal(is[i], "  ")
		if err == nil && raw[0] == '[' && e.isOnOneLine(v.Get(key)) {
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

// isOnOneLine tells whether a value is written on one line; nothing and an empty array are not.
func (e *encoder) isOnOneLine(v *jsonx.Value) bool {
	if v == nil {
		return false
	}
	raw := v.Raw(e.src)
	return len(raw) > len("[]") && !bytes.Contains(raw, []byte("\n"))
}

// editArtifacts edits the array element by element, so that unknown members in it survive.
func (e *encoder) editArtifacts(v *jsonx.Value, old, now []formats.Artifact) error {
	for i, was := range old {
		before := artifactValues(was)
		after := artifactValues(now[i])
		err := e.editMembers(v.Elems[i], ArtifactKeys(), before, after)
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

// editTaskList removes, restores and adds whole tasks.
func (e *encoder) editTaskList(c *Changes, moving []int) error {
	var list jsonx.ElemChanges
	list.Remove = append(slices.Sorted(maps.Keys(c.Removed)), moving...)
	list.Replace = map[int][]byte{}

	style := e.doc.Style()
	for i, task := range c.Replaced {
		raw, err := style.Reformat(task)
		if err != nil {
			return err
		}
		list.Replace[i] = raw
	}
	for i := range c.Restored {
		raw, err := style.Reformat(c.Restored[i].Raw)
		if err != nil {
			return err
		}
		if !style.OneLine || !e.insertSorted(c, c.Restored[i].Task.Number, raw) {
			list.Append = append(list.Append, raw)
		}
	}

	type line struct {
		number int
		raw    []byte
	}
	var added []line
	for _, i := range moving {
		raw, err := e.editedTask(i, c.Changed[i])
		if err != nil {
			return err
		}
		added = append(added, line{c.Changed[i].Number, raw})
	}

	for _, t := range c.Created {
		raw, err := style.encode(TaskObject(t))
		if err != nil {
			return err
		}
		added = append(added, line{t.Number, raw})
	}

	slices.SortFunc(added, func(a, b line) int { return a.number - b.number })
	for _, l := range added {
		list.Append = append(list.Append, l.raw)
	}
	if len(list.Remove)+len(list.Append)+len(list.Replace) > 0 {
		e.edits = append(e.edits, jsonx.EditElems(e.src, e.doc.List, list)...)
	}
	return nil
}

// Style is the layout of tasks in their file: whether each is on one line, and whether a space
// follows a colon.
type Style struct{ OneLine, spaced bool }

// Style derives the layout from the first task that shows it.
func (d *Document) Style() Style {
	for _, v := range d.List.Elems {
		raw := v.Raw(d.Src)
		if len(v.Members) < 2 {
			continue
		}
		return Style{
			OneLine: bytes.IndexByte(raw, '\n') < 0,
			spaced:  bytes.HasPrefix(raw[v.Members[0].Value.Start-v.Start-1:], []byte(" ")),
		}
	}
	return Style{spaced: true}
}

func (s Style) encode(v any) ([]byte, error) {
	switch {
	case !s.OneLine:
		return jsonx.Marshal(v, "  ")
	case s.spaced:
		return jsonx.MarshalLine(v)
	}
	return jsonx.Marshal(v, "")
}

// Reformat applies the layout to the bytes of a task and keeps its literals.
func (s Style) Reformat(raw []byte) ([]byte, error) {
	v, err := jsonx.Parse(raw, jsonx.Limits{})
	if err != nil {
		return nil, err
	}
	return s.encode(v)
}

// insertSorted puts a task before the first one with a higher number, if the tasks are sorted, one
// on each line. It returns false if they are not.
func (e *encoder) insertSorted(c *Changes, n int, raw []byte) bool {
	if len(c.Removed) > 0 || !e.doc.Sorted() {
		return false
	}
	at := slices.IndexFunc(e.doc.Tasks, func(t formats.Task) bool {
		return t.Number > n
	})
	if at < 0 {
		return false
	}

	v := e.doc.List.Elems[at]
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

// Sorted reports whether the tasks are sorted by number.
func (d *Document) Sorted() bool {
	return slices.IsSortedFunc(d.Tasks, func(a, b formats.Task) int {
		return cmp.Compare(a.Number, b.Number)
	})
}

// tasksToMove returns the renumbered tasks that must move to the end, if tasks are sorted and one
// on each line.
func (e *encoder) tasksToMove(c *Changes) []int {
	if len(c.Renamed) == 0 || !e.doc.Style().OneLine || !e.doc.Sorted() {
		return nil
	}
	return slices.SortedFunc(maps.Values(c.Renamed), func(a, b int) int {
		return cmp.Compare(c.Changed[a].Number, c.Changed[b].Number)
	})
}

// editedTask returns the bytes of a task with its changes.
func (e *encoder) editedTask(i int, now *formats.Task) ([]byte, error) {
	v := e.doc.Full(i)
	one := encoder{doc: e.doc, src: e.src}
	if err := one.editTask(v, &e.doc.Tasks[i], now); err != nil {
		return nil, err
	}
	return EditValue(e.src, v, one.edits)
}

// TaskKeys lists the members of a task, in the order in which they are written.
func TaskKeys() []string {
	return []string{
		"number", "title", "slug", "status", "language", "priority", "effort", "description",
		"dependencies", "parent", "created", "updated", "artifacts", "prior",
		"blocked_reason", "lease",
		"session_id", IssueKey,
	}
}

// IssueKey is absent from most tasks. A value that is not a string is treated as an unknown member.
const IssueKey = "issue_url"

// TaskValues returns the values of a task in the order of taskKeys.
func TaskValues(t *formats.Task) []any {
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
		ArtifactObjects(t.Artifacts),
		textOrNull(t.Prior.String()),
		textOrNull(t.BlockedReason),
		orNull(t.Lease),
		textOrNull(t.Session),
		textOrNull(t.Issue),
	}
}

// TaskObject returns a task as it is written.
func TaskObject(t *formats.Task) *jsonx.Object {
	o := new(jsonx.Object)
	keys := TaskKeys()
	for i, v := range TaskValues(t) {
		if v != nil || keys[i] != IssueKey {
			o.Set(keys[i], v)
		}
	}
	return o
}

// ArtifactKeys lists the members of an artifact, in the order in which they are written.
func ArtifactKeys() []string {
	return []string{"type", "path", "summary", "deleted", "created"}
}

func artifactValues(a formats.Artifact) []any {
	return []any{string(a.Type), a.Path, a.Summary, a.Deleted, a.Created}
}

// ArtifactObjects returns artifacts as they are written.
func ArtifactObjects(list []formats.Artifact) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = artifactObject(list[i])
	}
	return out
}

// artifactObject encodes an artifact; deleted is left out if it is false.
func artifactObject(a formats.Artifact) *jsonx.Object {
	o := new(jsonx.Object)
	keys := ArtifactKeys()
	for i, v := range artifactValues(a) {
		if v != false {
			o.Set(keys[i], v)
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
