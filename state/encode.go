package state

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"

	"tercet/formats"
	"tercet/internal/jsonx"
)

// encode writes the draft over its base: the serial, the next number, and the members that changed. Everything else
// stays byte for byte.
func (d *draft) encode(serial uint64) ([]byte, error) {
	src := d.base.src
	e := encoder{src: src, tasks: d.base.tasks}
	if d.base.bom {
		e.edits = append(e.edits, jsonx.Edit{Start: 0, End: 3})
	}
	e.scalar(d.base.tree.Get("serial"), strconv.FormatUint(serial, 10))
	if d.next != d.base.NextNumber {
		e.scalar(d.base.tree.Get("next_number"), strconv.Itoa(d.next))
	}
	moving := e.relocated(d)
	for _, i := range slices.Sorted(maps.Keys(d.changed)) {
		if !d.removed[i] && !slices.Contains(moving, i) {
			if err := e.change(d.base.values[i], &d.base.Tasks[i], d.changed[i]); err != nil {
				return nil, err
			}
		}
	}
	if err := e.list(d, moving); err != nil {
		return nil, err
	}
	slices.SortStableFunc(e.edits, func(a, b jsonx.Edit) int { return cmp.Compare(a.Start, b.Start) })
	d.edits, d.undo = e.edits, undo(src, e.edits)
	data, err := jsonx.Splice(src, e.edits)
	if err == nil && d.layout != "" {
		if data, err = layOut(data, d.layout); err == nil {
			d.undo = undoWhole(src, data)
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
	e.edits = append(e.edits, jsonx.Edit{Start: v.Start, End: v.End, Text: []byte(raw)})
}

// change makes the edits of one task.
func (e *encoder) change(v *jsonx.Value, old, now *formats.Task) error {
	var changes []jsonx.Change
	var failed error
	set := func(key string, value any) {
		raw, err := jsonx.Marshal(value, "  ")
		if err != nil && failed == nil {
			failed = err
		}
		if was := v.Get(key); was != nil && len(was.Raw(e.src)) > 2 && bytes.IndexByte(was.Raw(e.src), '\n') < 0 &&
			len(raw) > 2 && raw[0] == '[' {
			if raw, err = jsonx.MarshalLine(value); err != nil && failed == nil {
				failed = err
			}
		}
		changes = append(changes, jsonx.Change{Key: key, Raw: raw})
	}
	text := func(key, was, is string) {
		if was != is {
			set(key, is)
		}
	}
	if old.Number != now.Number {
		set("number", now.Number)
	}
	text("title", old.Title, now.Title)
	if written, _ := v.Get("slug").Str(); written == "" && old.Title != now.Title { // absent is empty
		set("slug", now.Slug) // it was made from the title so far, and the task's folder keeps its name
	}
	text("status", old.Status.String(), now.Status.String())
	text("language", old.Language, now.Language)
	text("priority", old.Priority, now.Priority)
	text("effort", old.Effort, now.Effort)
	text("description", old.Description, now.Description)
	if !slices.Equal(old.Dependencies, now.Dependencies) {
		set("dependencies", ints(now.Dependencies))
	}
	if !sameParent(old.Parent, now.Parent) {
		set("parent", orNull(now.Parent))
	}
	text("updated", old.Updated, now.Updated)
	if !slices.Equal(old.Artifacts, now.Artifacts) && !e.artifacts(v.Get("artifacts"), old.Artifacts, now.Artifacts) {
		set("artifacts", artifactObjects(now.Artifacts))
	}
	if old.Prior != now.Prior {
		set("prior", textOrNull(now.Prior.String()))
	}
	if old.BlockedReason != now.BlockedReason {
		set("blocked_reason", textOrNull(now.BlockedReason))
	}
	if !sameLease(old.Lease, now.Lease) {
		set("lease", leaseObject(now.Lease))
	}
	text("session_id", old.Session, now.Session)
	e.edits = append(e.edits, jsonx.EditMembers(e.src, v, changes)...)
	return failed
}

// artifacts edits the array element by element, so that members of others in it survive. It tells whether it could.
func (e *encoder) artifacts(v *jsonx.Value, old, now []formats.Artifact) bool {
	if !v.Is(jsonx.Array) || len(v.Elems) != len(old) || len(now) < len(old) {
		return false
	}
	for i := range old {
		if old[i] == now[i] {
			continue
		}
		var changes []jsonx.Change
		for key, pair := range map[string][2]string{
			"type":    {string(old[i].Type), string(now[i].Type)},
			"summary": {old[i].Summary, now[i].Summary},
		} {
			if pair[0] != pair[1] {
				raw, err := jsonx.Marshal(pair[1], "")
				if err != nil {
					return false
				}
				changes = append(changes, jsonx.Change{Key: key, Raw: raw})
			}
		}
		slices.SortFunc(changes, func(a, b jsonx.Change) int { return cmp.Compare(a.Key, b.Key) })
		if old[i].Deleted != now[i].Deleted {
			changes = append(changes, jsonx.Change{Key: "deleted", Raw: strconv.AppendBool(nil, now[i].Deleted)})
		}
		e.edits = append(e.edits, jsonx.EditMembers(e.src, v.Elems[i], changes)...)
	}
	if len(now) > len(old) {
		add := jsonx.ElemChanges{}
		for _, a := range now[len(old):] {
			raw, err := jsonx.Marshal(artifactObject(a), "  ")
			if err != nil {
				return false
			}
			add.Append = append(add.Append, raw)
		}
		e.edits = append(e.edits, jsonx.EditElems(e.src, v, add)...)
	}
	return true
}

// list removes, brings back and adds whole tasks.
func (e *encoder) list(d *draft, moving []int) error {
	var c jsonx.ElemChanges
	c.Remove = append(d.leaving(), moving...)
	oneLine, spaced := e.layout()
	for i := range d.restored {
		raw := d.restored[i].raw
		if oneLine {
			line, err := relay(raw, "", spaced)
			if err != nil {
				return err
			}
			if e.insert(d, d.restored[i].task.Number, line) {
				continue
			}
			raw = line
		} else if indented, err := relay(raw, "  ", spaced); err == nil {
			raw = indented
		}
		c.Append = append(c.Append, raw)
	}
	moved := 0
	before := func(n int) error {
		for ; moved < len(moving) && d.changed[moving[moved]].Number < n; moved++ {
			raw, err := e.moved(d, moving[moved])
			if err != nil {
				return err
			}
			c.Append = append(c.Append, raw)
		}
		return nil
	}
	for _, t := range d.created {
		if err := before(t.Number); err != nil {
			return err
		}
		indent := "  "
		if oneLine {
			indent = ""
		}
		raw, err := marshalTask(t, indent, spaced)
		if err != nil {
			return err
		}
		c.Append = append(c.Append, raw)
	}
	if err := before(maxNumber + 1); err != nil {
		return err
	}
	if len(c.Remove)+len(c.Append) > 0 {
		e.edits = append(e.edits, jsonx.EditElems(e.src, e.tasks, c)...)
	}
	return nil
}

// layout looks at the tasks that are there: whether each has one line, and whether a space follows their colons.
func (e *encoder) layout() (oneLine, spaced bool) {
	for _, v := range e.tasks.Elems {
		raw := v.Raw(e.src)
		if len(v.Members) < 2 {
			continue
		}
		return bytes.IndexByte(raw, '\n') < 0, bytes.HasPrefix(raw[v.Members[0].Value.Start-v.Start-1:], []byte(" "))
	}
	return false, true
}

// insert puts a line before the first task with a higher number, where the tasks stand one a line and sorted.
func (e *encoder) insert(d *draft, n int, raw []byte) bool {
	tasks := d.base.Tasks
	if len(d.removed) > 0 || !slices.IsSortedFunc(tasks,
		func(a, b formats.Task) int { return cmp.Compare(a.Number, b.Number) }) {
		return false
	}
	at := slices.IndexFunc(tasks, func(t formats.Task) bool { return t.Number > n })
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
	e.edits = append(e.edits, jsonx.Edit{Start: v.Start, End: v.Start, Text: text})
	return true
}

// relay lays the bytes of a task out anew and keeps its literals.
func relay(raw []byte, indent string, spaced bool) ([]byte, error) {
	v, err := jsonx.Parse(raw, jsonx.Limits{})
	if err != nil {
		return nil, err
	}
	if indent == "" && spaced {
		return jsonx.MarshalLine(v)
	}
	return jsonx.Marshal(v, indent)
}

func marshalTask(t *formats.Task, indent string, spaced bool) ([]byte, error) {
	o := taskObject(t)
	if indent == "" && spaced {
		return jsonx.MarshalLine(o)
	}
	return jsonx.Marshal(o, indent)
}

func taskObject(t *formats.Task) *jsonx.Object {
	return new(jsonx.Object).
		Set("number", t.Number).Set("title", t.Title).Set("slug", t.Slug).Set("status", t.Status.String()).
		Set("language", t.Language).Set("priority", t.Priority).Set("effort", t.Effort).Set("description", t.Description).
		Set("dependencies", ints(t.Dependencies)).Set("parent", orNull(t.Parent)).
		Set("created", t.Created).Set("updated", t.Updated).Set("artifacts", artifactObjects(t.Artifacts)).
		Set("prior", textOrNull(t.Prior.String())).Set("blocked_reason", textOrNull(t.BlockedReason)).
		Set("lease", leaseObject(t.Lease)).Set("session_id", textOrNull(t.Session))
}

func artifactObjects(list []formats.Artifact) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = artifactObject(list[i])
	}
	return out
}

func artifactObject(a formats.Artifact) *jsonx.Object {
	o := new(jsonx.Object).Set("type", string(a.Type)).Set("path", a.Path).Set("summary", a.Summary)
	if a.Deleted {
		o.Set("deleted", true)
	}
	return o.Set("created", a.Created)
}

func leaseObject(l *formats.Lease) any {
	if l == nil {
		return nil
	}
	return new(jsonx.Object).
		Set("session_id", l.Session).Set("run", l.Run).Set("host", l.Host).Set("boot_id", l.BootID).
		Set("pid", l.PID).Set("pid_start", l.PIDStart).Set("taken", l.Taken).Set("timeout", l.Timeout)
}

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func orNull(n *int) any {
	if n == nil {
		return nil
	}
	return *n
}
