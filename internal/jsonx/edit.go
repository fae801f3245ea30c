package jsonx

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Change is a change of one key of an object.
type Change struct {
	Key string
	Raw []byte // the new value as JSON; nil removes the key
}

// EditMembers gives the sorted edits for several changes of one object. (Separate calls would not
// know each other's commas.) Of two changes of one key the later counts. An existing key changes in
// place, a new one goes to the end. The object keeps its layout: separators, and the indentation of
// a raw value with several lines. A raw value must be valid JSON.
func EditMembers(src []byte, obj *Value, changes []Change) []Edit {
	if !obj.Is(Dict) {
		return nil
	}

	items := make([]item, len(obj.Members))
	for i, m := range obj.Members {
		items[i] = item{
			start: m.KeyStart,
			key:   m.Key,
			value: m.Value,
		}
	}

	for _, c := range changes {
		at := slices.IndexFunc(items, func(it item) bool {
			return it.key == c.Key
		})
		if at < 0 {
			at = len(items)
			items = append(items, item{key: c.Key})
		}
		items[at].raw = c.Raw
		items[at].drop = c.Raw == nil
	}

	there := len(obj.Members)
	return newEditor(src, obj, items[:there]).edits(items[there:])
}

// ElemChanges is a set of changes of an array's elements.
type ElemChanges struct {
	Replace map[int][]byte // index to the new value
	Remove  []int          // indexes; overrides Replace
	Append  [][]byte
}

// EditElems gives the sorted edits for several changes of one array. It ignores indexes out of
// range.
func EditElems(src []byte, arr *Value, c ElemChanges) []Edit {
	if !arr.Is(Array) {
		return nil
	}

	items := make([]item, len(arr.Elems))
	for i, e := range arr.Elems {
		items[i] = item{
			start: e.Start,
			value: e,
			raw:   c.Replace[i],
		}
	}

	for _, i := range c.Remove {
		if i >= 0 && i < len(items) {
			items[i].drop = true
		}
	}

	added := make([]item, len(c.Append))
	for i, raw := range c.Append {
		added[i].raw = raw
	}
	return newEditor(src, arr, items).edits(added)
}

// item is a member or an element, one of the source or a new one.
type item struct {
	start int    // of the key or the element
	value *Value // nil if new
	key   string // of a member
	raw   []byte // the new value, nil if it stays
	drop  bool
}

// editor makes the edits of one container.
type editor struct {
	src   []byte
	box   *Value
	items []item
	form  form
}

func newEditor(src []byte, box *Value, items []item) *editor {
	return &editor{
		src:   src,
		box:   box,
		items: items,
		form:  detectForm(src, box, items),
	}
}

func (e *editor) edits(added []item) []Edit {
	added = slices.DeleteFunc(added, func(it item) bool { return it.drop })
	if !slices.ContainsFunc(e.items, func(it item) bool { return !it.drop }) {
		return e.refill(added)
	}

	var out []Edit
	seen := false // a kept item stands before i
	for i := 0; i < len(e.items); i++ {
		it := &e.items[i]
		if !it.drop {
			if it.raw != nil {
				out = append(out, Edit{
					it.value.Start,
					it.value.End,
					e.form.layOut(e.src, it.start, it.raw),
				})
			}
			seen = true
			continue
		}

		run := i
		for i+1 < len(e.items) && e.items[i+1].drop {
			i++
		}
		if seen {
			out = append(out, Edit{Start: e.items[run-1].value.End, End: e.items[i].value.End})
		} else {
			out = append(out, Edit{Start: e.items[run].start, End: e.items[i+1].start})
		}
	}

	if len(added) > 0 {
		end := e.items[len(e.items)-1].value.End
		out = append(out, Edit{end, end, append([]byte(e.form.sep), e.joinItems(added)...)})
	}
	return out
}

// refill writes a container that keeps none of its items.
func (e *editor) refill(added []item) []Edit {
	all := Edit{Start: e.box.Start + 1, End: e.box.End - 1}
	if len(added) > 0 {
		all.Text = append(append([]byte(e.form.lead), e.joinItems(added)...), e.form.tail...)
	} else if len(e.items) == 0 {
		return nil
	}
	return []Edit{all}
}

// joinItems is new items with what separates them.
func (e *editor) joinItems(added []item) []byte {
	var out []byte
	for i, it := range added {
		if i > 0 {
			out = append(out, e.form.sep...)
		}
		if e.box.Kind == Dict {
			out = append(AppendString(out, it.key), e.form.colon...)
		}
		out = append(out, e.form.fitValue(it.raw)...)
	}
	return out
}

// form is how the items of one container are laid out.
type form struct {
	lead  string // between the opening bracket and the first item
	sep   string // between two items, with the comma
	colon string // between a key and its value
	tail  string // between the last item and the closing bracket
	lines bool   // each item has its own line
	base  string // the indentation of an item that has its own line
	unit  string // one step of indentation
	nl    string // how lines end
}

// detectForm finds the layout of an array or object, to insert items as its author would have
// written them.
func detectForm(src []byte, box *Value, items []item) form {
	f := form{
		nl:    "\n",
		unit:  "  ",
		colon: ": ",
		sep:   ", ",
	}
	if len(items) == 0 {
		f.guessEmpty(src, box)
		return f
	}

	last := items[len(items)-1]
	f.lead = string(src[box.Start+1 : items[0].start])
	f.tail = string(src[last.value.End : box.End-1])
	indent, own := ownLine(src, last.start)
	f.lines = own
	f.base = indent
	if box.Kind == Dict {
		f.colon = colonOf(src, last)
	} else if !own {
		f.colon = nestedColon(src, last.value)
	}

	switch {
	case len(items) > 1:
		f.sep = string(src[items[len(items)-2].value.End:last.start])
	case own:
		f.sep = "," + f.lead
	case box.Kind == Dict && f.colon == ":",
		box.Kind == Array && f.lead == "" && !hasSpaceAfterColon(src):
		f.sep = ","
	}

	if own {
		if strings.Contains(f.sep+f.lead, "\r\n") {
			f.nl = "\r\n"
		}
		outer := lineIndent(src, box.Start)
		if unit, ok := strings.CutPrefix(indent, outer); ok && unit != "" {
			f.unit = unit
		}
	}
	return f
}

// guessEmpty guesses the layout of a container without items. Its items get lines of their own if
// it has its line to itself, after its key at most.
func (f *form) guessEmpty(src []byte, box *Value) {
	if !hasSpaceAfterColon(src) {
		f.sep = ","
		f.colon = ":"
	}

	i := bytes.IndexByte(src, '\n')
	if i < 0 || !startsLine(src, box.Start) {
		return
	}
	if i > 0 && src[i-1] == '\r' {
		f.nl = "\r\n"
	}

	f.unit = docUnit(src, f.unit)
	outer := lineIndent(src, box.Start)
	f.lines = true
	f.base = outer + f.unit
	f.colon = ": "
	f.lead = f.nl + f.base
	f.sep = "," + f.lead
	f.tail = f.nl + outer
}

// ownLine gives the white space that a line begins with, and reports whether nothing else of it
// stands before at. The first line of a text does not count.
func ownLine(src []byte, at int) (indent string, own bool) {
	indent = lineIndent(src, at)
	start := at - len(indent)
	return indent, start > 0 && src[start-1] == '\n'
}

// startsLine is ownLine for a value that may have its key before it. A value at the start of the
// text counts.
func startsLine(src []byte, at int) bool {
	line := src[bytes.LastIndexByte(src[:at], '\n')+1 : at]
	line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte(bom)))
	if len(line) == 0 {
		return true
	}
	key, ok := bytes.CutSuffix(line, []byte(":"))
	if !ok {
		return false
	}
	key = bytes.TrimSpace(key)
	return len(key) > 1 && key[0] == '"' && stringEnd(key, 0) == len(key)
}

func lineIndent(src []byte, at int) string {
	line := src[bytes.LastIndexByte(src[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// docUnit gives the first indentation of the text, which is one step.
func docUnit(src []byte, otherwise string) string {
	_, rest, _ := bytes.Cut(src, []byte{'\n'})
	for line := range bytes.Lines(rest) {
		text := bytes.TrimLeft(line, " \t")
		if n := len(line) - len(text); n > 0 && len(bytes.TrimRight(text, "\r\n")) > 0 {
			return string(line[:n])
		}
	}
	return otherwise
}

// hasSpaceAfterColon reports whether the text writes a space after its first colon; a text without
// a colon counts as one.
func hasSpaceAfterColon(src []byte) bool {
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '"':
			i = stringEnd(src, i) - 1
		case ':':
			return i+1 < len(src) && isSpace(src[i+1])
		}
	}
	return true
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t'
}

// colonOf gives what stands between the key and the value of a member, without line breaks.
func colonOf(src []byte, it item) string {
	i := it.value.Start
	for i > it.start && (isSpace(src[i-1]) || src[i-1] == ':') {
		i--
	}
	s := src[i:it.value.Start]
	if bytes.ContainsAny(s, "\r\n") {
		return ": "
	}
	return string(s)
}

// nestedColon gives the colon of an element's first member, to write a new element the same way.
func nestedColon(src []byte, v *Value) string {
	if v.Kind == Dict && len(v.Members) > 0 {
		m := v.Members[0]
		return colonOf(src, item{start: m.KeyStart, value: m.Value})
	}
	if hasSpaceAfterColon(src) {
		return ": "
	}
	return ":"
}

// layOut lays out the new value of an item that starts at start.
func (f form) layOut(src []byte, start int, raw []byte) []byte {
	indent, own := ownLine(src, start)
	f.lines = own
	f.base = indent
	return f.fitValue(raw)
}

func (f form) fitValue(raw []byte) []byte {
	raw = bytes.TrimSpace(raw)
	if bytes.IndexByte(raw, '\n') < 0 {
		return raw
	}
	if !f.lines {
		return toOneLine(raw, f.colon != ":")
	}
	return reindent(raw, f)
}

// reindent keeps the lines of raw and gives them the indentation of the surroundings. That is the
// base, and for each step that raw has, one step as wide as the document's.
func reindent(raw []byte, f form) []byte {
	step := len(docUnit(raw, "  "))
	out := make([]byte, 0, len(raw)+len(raw)/2)
	for i, line := range bytes.Split(raw, []byte{'\n'}) {
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if i == 0 {
			out = append(out, line...)
			continue
		}

		text := bytes.TrimLeft(line, " \t")
		out = append(out, f.nl...)
		out = append(out, f.base...)
		for range (len(line) - len(text)) / step {
			out = append(out, f.unit...)
		}
		out = append(out, text...)
	}
	return out
}

// Edit replaces the bytes Start to End of a source by Text; Start == End inserts, an empty Text
// removes.
type Edit struct {
	Start, End int
	Text       []byte
}

// Splice applies sorted, non-overlapping edits and copies every other byte of src into a new slice.
// Insertions at one place keep their order. An edit that does not fit is an error.
func Splice(src []byte, edits []Edit) ([]byte, error) {
	return AppendSplice(make([]byte, 0, len(src)+1024), src, edits)
}

// AppendSplice appends to out what Splice gives.
func AppendSplice(out, src []byte, edits []Edit) ([]byte, error) {
	at := 0
	for i, e := range edits {
		if e.Start < 0 || e.End < e.Start || e.End > len(src) {
			return nil, fmt.Errorf("edit %d [%d:%d]: range is not inside the source",
				i, e.Start, e.End)
		}
		if e.Start < at {
			return nil, fmt.Errorf("edit %d [%d:%d]: starts before the end of the edit before it",
				i, e.Start, e.End)
		}
		out = append(append(out, src[at:e.Start]...), e.Text...)
		at = e.End
	}
	return append(out, src[at:]...), nil
}
