package state

import (
	"maps"
	"slices"

	"tercet/formats"
	"tercet/internal/jsonx"
)

// depthOfTask is how many brackets are open where a task begins.
const depthOfTask = 2

// carry gives the document of data, which came out of the base by the edits of this draft. What no edit touched is known
// from the base and not read again: these bytes were copied, and a valid value in the place of a valid value leaves the text
// around it valid. It is false where more changed than members of tasks, new tasks at the end, and the numbers at the top;
// then the whole text has to be read.
func (d *draft) carry(data []byte) (*document, bool) {
	if d.base.bom || d.layout != "" || len(d.removed)+len(d.restored)+len(d.renamed) > 0 || len(d.base.values) == 0 {
		return nil, false
	}
	f := carrier{d: d, base: d.base, edits: d.edits}
	f.doc = &document{Doc: d.base.Doc, file: d.base.file, src: data, index: d.base.index}
	f.doc.Tasks = slices.Grow(slices.Clone(d.base.Tasks), len(d.created))
	if !f.root() {
		return nil, false
	}
	f.doc.sha = digest(data)
	return f.doc, true
}

// carrier walks over a document and the edits made to it, from the start to the end.
type carrier struct {
	d     *draft
	base  *document
	doc   *document
	edits []jsonx.Edit // sorted
	next  int          // of the edits
	shift int          // what the edits before the next one add
}

// at gives the place that an offset of the base has in the new text: behind the edits that start before it. It is asked with
// rising offsets.
func (f *carrier) at(offset int) int {
	for f.next < len(f.edits) && f.edits[f.next].Start < offset {
		e := f.edits[f.next]
		f.shift += len(e.Text) - (e.End - e.Start)
		f.next++
	}
	return offset + f.shift
}

func (f *carrier) root() bool {
	old := f.base.tree
	root := &jsonx.Value{Kind: jsonx.Dict, Start: f.at(old.Start), Members: slices.Clone(old.Members)}
	for i := range root.Members {
		m := &root.Members[i]
		m.KeyStart = f.at(m.KeyStart)
		var ok bool
		if m.Value == f.base.tasks {
			m.Value, ok = f.tasks()
		} else {
			m.Value, ok = f.member(m.Key, m.Value)
		}
		if !ok {
			return false
		}
	}
	root.End = f.at(old.End)
	f.doc.tree = root
	return f.next == len(f.edits) && root.End <= len(f.doc.src)
}

// member takes over a member of the document that is not its tasks.
func (f *carrier) member(key string, v *jsonx.Value) (*jsonx.Value, bool) {
	start, before := f.at(v.Start), f.next
	end := f.at(v.End)
	switch {
	case f.next > before:
		now, err := jsonx.ParseAt(f.doc.src, start, end, 1)
		if err != nil {
			return nil, false
		}
		dec := decoder{file: f.doc.file, src: f.doc.src}
		switch key {
		case "serial":
			f.doc.Serial = uint64(dec.natural(now, key))
		case "next_number":
			f.doc.NextNumber = int(dec.natural(now, key))
		default:
			return nil, false
		}
		return now, len(dec.found) == 0
	case f.shift == 0:
		return v, true
	}
	return v.Moved(f.shift), true
}

// tasks takes over the tasks, reads those again that were edited, and the new ones. Of the others the new document knows the
// place; read gives them when they are asked for. The first and the last are always read, because a new task is laid out
// as they are.
func (f *carrier) tasks() (*jsonx.Value, bool) {
	old := f.base.tasks
	list := &jsonx.Value{Kind: jsonx.Array, Start: f.at(old.Start), Elems: make([]*jsonx.Value, len(old.Elems), len(old.Elems)+len(f.d.created))}
	places := make([]jsonx.Value, 0, len(old.Elems))
	last := len(old.Elems) - 1
	for i, v := range old.Elems {
		start, before := f.at(v.Start), f.next
		end := f.at(v.End)
		touched := f.next > before
		switch {
		case touched || (i == 0 || i == last) && (f.shift != 0 || len(v.Members) == 0):
			now, ok := f.task(i, start, end, touched)
			if !ok {
				return nil, false
			}
			list.Elems[i] = now
		case f.shift == 0:
			list.Elems[i] = v
		default:
			places = append(places, jsonx.Value{Kind: jsonx.Dict, Start: start, End: end})
			list.Elems[i] = &places[len(places)-1]
		}
	}
	if !f.created(list, old.Elems[last].End) {
		return nil, false
	}
	list.End = f.at(old.End)
	src := f.doc.src
	if list.End > len(src) || src[list.Start] != '[' || src[list.End-1] != ']' {
		return nil, false
	}
	f.doc.tasks, f.doc.values = list, list.Elems
	return list, true
}

// task reads one task of the base again, as it is now.
func (f *carrier) task(i, start, end int, touched bool) (*jsonx.Value, bool) {
	v, err := jsonx.ParseAt(f.doc.src, start, end, depthOfTask)
	if err != nil || !touched {
		return v, err == nil
	}
	t, ok := f.decode(v, i)
	f.doc.Tasks[i] = t
	return v, ok && t.Number == f.base.Tasks[i].Number
}

func (f *carrier) decode(v *jsonx.Value, i int) (formats.Task, bool) {
	var t formats.Task
	dec := decoder{file: f.doc.file, src: f.doc.src}
	dec.task(&t, v, i)
	return t, len(dec.found) == 0
}

// created reads the tasks that were added behind the last one, which ended at end.
func (f *carrier) created(list *jsonx.Value, end int) bool {
	if len(f.d.created) == 0 {
		return true
	}
	from := f.at(end)
	to := f.at(end + 1)
	// The comma before the first of them is the one behind a number that stands for the tasks before.
	text := slices.Concat([]byte("[0"), f.doc.src[from:to-1], []byte("]"))
	v, err := jsonx.Parse(text, jsonx.Limits{})
	if err != nil || len(v.Elems) != 1+len(f.d.created) {
		return false
	}
	f.doc.index = maps.Clone(f.base.index)
	for _, e := range v.Elems[1:] {
		e = e.Moved(from - len("[0"))
		t, ok := f.decode(e, len(list.Elems))
		if _, twice := f.doc.index[t.Number]; !ok || twice {
			return false
		}
		f.doc.index[t.Number] = len(list.Elems)
		f.doc.Tasks = append(f.doc.Tasks, t)
		list.Elems = append(list.Elems, e)
	}
	return true
}

// read gives the tree of the task at an index. A document that was carried over has not read all of them.
func (d *document) read(i int) (*jsonx.Value, error) {
	v := d.values[i]
	if len(v.Members) > 0 { // every task has some
		return v, nil
	}
	return jsonx.ParseAt(d.src, v.Start, v.End, depthOfTask)
}
