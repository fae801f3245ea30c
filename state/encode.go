package state

import (
	"bytes"
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"tercet/formats"
	"tercet/internal/jsonx"
)

// encode applies the draft to its base: the serial, the next number, and the members that changed.
// Everything else stays byte for byte.
func (d *draft) encode(serial uint64) ([]byte, error) {
	src := d.base.src
	e := encoder{src: src, tasks: d.base.tasks}
	if d.base.bom {
		e.edits = append(e.edits, jsonx.Edit{Start: 0, End: 3})
	}
	e.scalar(d.base.tree.Get("serial"), strconv.FormatUint(serial, 10))
	if d.nextNumber != d.base.NextNumber {
		e.scalar(d.base.tree.Get("next_number"), strconv.Itoa(d.nextNumber))
	}
	e.edits = append(e.edits, jsonx.EditMembers(src, d.base.tree, d.members)...)
	moving := e.tasksToMove(d)
	for _, i := range slices.Sorted(maps.Keys(d.changed)) {
		if !d.removed[i] && !slices.Contains(moving, i) {
			if err := e.change(d.base.full(i), &d.base.Tasks[i], d.changed[i]); err != nil {
				return nil, err
			}
		}
	}

	if err := e.taskList(d, moving); err != nil {
		return nil, err
	}
	slices.SortStableFunc(e.edits, func(a, b jsonx.Edit) int {
		return cmp.Compare(a.Start, b.Start)
	})
	d.edits = e.edits
	d.undo = reverseEdits(src, e.edits)
	data, err := jsonx.AppendSplice(newList[byte](len(src)+1024), src, e.edits)
	if err == nil && d.layout != "" {
		if data, err = layOut(data, d.layout); err == nil {
			d.undo = reverseWhole(src, data)
		}
	}
	return data, err
}

// encoder collects the edits of one write.
type encoder struct {
	src   []byte
	tasks *jsonx.Value
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
func (e *encoder) taskList(d *draft, moving []int) error {
	var c jsonx.ElemChanges
	c.Remove = append(d.removedIndexes(), moving...)
	style := e.style()
	for i := range d.restored {
		raw, err := style.reformat(d.restored[i].raw)
		if err != nil {
			return err
		}
		if !style.oneLine || !e.insert(d, d.restored[i].task.Number, raw) {
			c.Append = append(c.Append, raw)
		}
	}

	type line struct {
		number int
		raw    []byte
	}
	var added []line
	for _, i := range moving {
		raw, err := e.editedTask(d, i)
		if err != nil {
			return err
		}
		added = append(added, line{d.changed[i].Number, raw})
	}

	for _, t := range d.created {
		raw, err := style.write(taskObject(t))
		if err != nil {
			return err
		}
		added = append(added, line{t.Number, raw})
	}

	slices.SortFunc(added, func(a, b line) int { return a.number - b.number })
	for _, l := range added {
		c.Append = append(c.Append, l.raw)
	}
	if len(c.Remove)+len(c.Append) > 0 {
		e.edits = append(e.edits, jsonx.EditElems(e.src, e.tasks, c)...)
	}
	return nil
}

// style is the layout of tasks in their file: whether each is on one line, and whether a space
// follows a colon.
type style struct{ oneLine, spaced bool }

// style derives the layout from the first task that shows it.
func (e *encoder) style() style {
	for _, v := range e.tasks.Elems {
		raw := v.Raw(e.src)
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
func (e *encoder) insert(d *draft, n int, raw []byte) bool {
	tasks := d.base.Tasks
	if len(d.removed) > 0 || !slices.IsSortedFunc(tasks,
		func(a, b formats.Task) int {
			return cmp.Compare(a.Number, b.Number)
		}) {
		return false
	}

	at := slices.IndexFunc(tasks, func(t formats.Task) bool {
		return t.Number > n
	})
	if at < 0 {
		return false
	}

	v := e.tasks.Elems[at]
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
