package query

import (
	"context"
	"errors"
	"io"

	"tercet/internal/jsonx"
)

// How much of an input is read at first, and from then on. One value that is looked at in one piece may make it larger.
const (
	firstWindow = 32 << 10
	windowSize  = 256 << 10
)

// window is the part of an input that is in memory: b from i on is not taken yet.
type window struct {
	b    []byte
	i    int
	file io.ReaderAt
	next int64 // where in the file to read on
	end  bool  // there is nothing behind b
	err  error // of the file, or of the context
	ctx  context.Context
}

func newWindow(ctx context.Context, in Input) *window {
	if in.File == nil {
		return &window{b: in.Data, next: int64(len(in.Data)), end: true}
	}
	return &window{ctx: ctx, file: in.File}
}

// more reads on. What is not taken yet stays, at another place.
func (w *window) more() bool {
	if w.end || w.err != nil {
		return false
	}
	if w.err = w.ctx.Err(); w.err != nil {
		return false
	}
	rest := w.b[w.i:]
	switch {
	case w.b == nil:
		w.b = make([]byte, 0, firstWindow)
	case len(rest) > cap(w.b)/2 || cap(w.b) < windowSize:
		w.b = append(make([]byte, 0, max(2*cap(w.b), windowSize)), rest...)
	default:
		w.b = w.b[:copy(w.b, rest)]
	}
	w.i = 0
	n, err := w.file.ReadAt(w.b[len(w.b):cap(w.b)], w.next)
	w.b, w.next = w.b[:len(w.b)+n], w.next+int64(n)
	if errors.Is(err, io.EOF) {
		w.end, err = true, nil
	}
	w.err = err
	return n > 0
}

// skipMark steps over a byte order mark at the start.
func (w *window) skipMark() {
	if len(w.b) == 0 {
		w.more()
	}
	if ahead(w.b, 0, mark) {
		w.i = len(mark)
	}
}

const mark = "\xef\xbb\xbf"

// peek skips white space and gives the next byte, 0 at the end.
func (w *window) peek() byte {
	for {
		if w.i = scanSpace(w.b, w.i); w.i < len(w.b) {
			return w.b[w.i]
		}
		if !w.more() {
			return 0
		}
	}
}

// value gives the place behind the value at i, with all of it in b; false if it cannot be told here.
func (w *window) value(l *layout, s *scanning) (int, bool) {
	for {
		var end int
		if s != nil && w.i < len(w.b) && w.b[w.i] == '{' {
			clear(s.spans)
			end = scanObject(w.b, w.i, 0, l, s)
		} else {
			end = scanValue(w.b, w.i, 0, l)
		}
		if end >= 0 {
			return end, true
		}
		if end == wrong || !w.more() {
			return 0, false
		}
	}
}

// key takes what stands before the value of a member and gives the key as it is written; see scanKey.
func (w *window) key(first bool) (raw []byte, closed, ok bool) {
	for {
		at, end, closed := scanKey(w.b, w.i, first)
		if end >= 0 {
			w.i = end
			return w.b[at.start:at.end], closed, true
		}
		if end == wrong || !w.more() {
			return nil, false, false
		}
	}
}

// element goes to the next element of an array; closed says that there is none.
func (w *window) element(first bool) (closed, ok bool) {
	if first {
		w.i++ // the bracket
	}
	c := w.peek()
	switch {
	case c == ']':
		w.i++
		return true, true
	case first:
		return false, c != 0
	case c != ',':
		return false, false
	}
	w.i++
	c = w.peek()
	return false, c != 0 && c != ']'
}

// partial reads the values of an input as far as a query needs them. It gives up, with false, on everything that is not
// strict JSON, and on some that is: then the parser has to say what it is.
type partial struct {
	*window

	need  *need
	from  *origins
	empty map[string]any // stands for objects of which nothing is needed
	twins twins
	whole bool // every element is kept, whatever the conditions say

	// part is the need of an array whose elements are handed to emit, some at a time; nil if there is none.
	part *need
	emit func(elems []any) bool
	seen bool // part was read in this value

	pin   *pin   // of part; may be nil
	marks *marks // of part, which are made; nil if they are not wanted

	groups *groups // the groups of an array's elements, if the query begins with them
}

// partSize is how many elements are handed on at a time.
const partSize = 512

// streamed is up to how deep skipped values are taken piece by piece, so that they need not fit into the window.
const streamed = 3

// read gives the next value; false for done at the end of the input.
func (p *partial) read() (v any, done, ok bool) {
	p.seen = false
	if p.peek() == 0 {
		return nil, true, p.i == len(p.b) && p.err == nil
	}
	v, ok = p.take(p.need)
	return v, false, ok
}

// take reads the value at i.
func (p *partial) take(n *need) (any, bool) {
	switch c := p.peek(); {
	case c == '{' && !n.all && !n.object:
		return p.object(n)
	case c == '[' && !n.all:
		return p.array(n)
	}
	end, ok := p.value(nil, nil)
	if !ok {
		return nil, false
	}
	v, ok := p.decode(p.b[p.i:end], n)
	p.i = end
	return v, ok
}

func (p *partial) object(n *need) (any, bool) {
	m, s := make(map[string]any, len(n.fields)), scanning{need: n}
	for first := true; ; first = false {
		raw, closed, ok := p.key(first)
		if closed || !ok {
			return m, ok
		}
		if k := s.slot(raw); k < 0 {
			ok = p.skip(0, nil)
		} else {
			m[n.fields[k].name], ok = p.take(n.fields[k].need)
		}
		if !ok {
			return nil, false
		}
	}
}

// skip takes a value that is not needed.
func (p *partial) skip(depth int, l *layout) bool {
	c := p.peek()
	if c != '{' && c != '[' || l != nil && c == '{' || depth == streamed {
		end, ok := p.value(l, nil)
		p.i = max(end, p.i)
		return ok
	}
	if c == '[' && l == nil {
		l = &layout{}
	}
	for first := true; ; first = false {
		var closed, ok bool
		if c == '{' {
			_, closed, ok = p.key(first)
		} else {
			closed, ok = p.element(first)
		}
		if closed || !ok {
			return ok
		}
		if !p.skip(depth+1, l) {
			return false
		}
	}
}

func (p *partial) array(n *need) (any, bool) {
	special := n == p.part || p.groups != nil && n == p.groups.array
	if special && p.seen {
		return nil, false // the key is there twice, and the elements are handed on already
	}
	p.seen = p.seen || special
	list := []any{}
	var l layout
	var s scanning
	if n.elems != nil {
		s = scanning{need: n.elems, spans: make([]span, len(n.elems.fields))}
	} else {
		s.need = &need{}
	}
	preds := n.preds()
	if p.whole {
		preds = nil
	}
	for first := true; ; first = false {
		closed, ok := p.element(first)
		if closed || !ok {
			return list, ok
		}
		end, ok := p.value(&l, &s)
		if !ok {
			return nil, false
		}
		raw, start := p.b[p.i:end], p.i
		p.i = end
		if p.marks != nil && n == p.part {
			p.mark(raw, s.spans, start, end)
		}
		if p.groups != nil && n == p.groups.array {
			if !p.grouped(raw, s.spans, start) {
				return nil, false
			}
			continue
		}
		if n.elems == nil {
			if n.count {
				list = append(list, nil)
			}
			continue
		}
		if raw[0] == '{' && useless(preds, p.b, s.spans) {
			continue
		}
		v, ok := p.member(raw, n.elems, s.spans)
		if !ok {
			return nil, false
		}
		list = append(list, v)
		if n == p.part && len(list) == partSize {
			if !p.emit(list) {
				return nil, false
			}
			list = []any{}
		}
	}
}

// mark notes where an element of part stands.
func (p *partial) mark(raw []byte, spans []span, start, end int) {
	number := at(p.b, spans[p.pin.slot])
	if raw[0] != '{' {
		number = nil
	}
	behind := p.next - int64(len(p.b))
	p.marks.add(number, behind+int64(start), behind+int64(end))
}

// member decodes an element whose fields stand at spans of the window.
func (p *partial) member(raw []byte, n *need, spans []span) (any, bool) {
	if raw[0] == '{' && !n.all && !n.object {
		return p.fields(p.b, n, spans)
	}
	return p.decode(raw, n)
}

// useless tells whether an element meets none of the conditions.
func useless(preds []*pred, b []byte, spans []span) bool {
	for _, c := range preds {
		if c.test(b, spans) != no {
			return false
		}
	}
	return len(preds) > 0
}

// fields makes the object whose needed members stand at spans of b.
func (p *partial) fields(b []byte, n *need, spans []span) (any, bool) {
	if len(n.fields) == 0 {
		return p.empty, true
	}
	key, same := p.twins.key(b, n, spans)
	if same != nil {
		return same, true
	}
	m := make(map[string]any, len(n.fields))
	for i, s := range spans {
		if s.end == 0 {
			continue
		}
		v, ok := p.decode(at(b, s), n.fields[i].need)
		if !ok {
			return nil, false
		}
		m[n.fields[i].name] = v
	}
	p.twins.add(key, m)
	return m, true
}

// twins lets elements that are the same as far as they are needed be one object, which nobody changes: of a status there are
// few values, and of a number there are many, where it gives up.
type twins struct {
	of      *need
	objects map[string]map[string]any
	buf     []byte
	found   int
}

// The bounds of twins: how many objects it knows at most, of how many bytes, and how many have to be found for each of them.
const (
	maxTwins    = 256
	maxTwinSize = 96
)

// key gives what tells an object from others, nothing if it cannot be shared, and the object if there is one.
func (t *twins) key(b []byte, n *need, spans []span) ([]byte, map[string]any) {
	if t.of == nil {
		t.of, t.objects = n, map[string]map[string]any{}
	}
	if t.of != n || len(t.objects) == maxTwins && t.found < maxTwins {
		return nil, nil
	}
	t.buf = t.buf[:0]
	for _, s := range spans {
		raw := at(b, s)
		if len(raw) > 0 && (raw[0] == '{' || raw[0] == '[') || len(t.buf)+len(raw) > maxTwinSize {
			return nil, nil
		}
		t.buf = append(append(t.buf, raw...), 0) // no value holds a NUL
	}
	m, ok := t.objects[string(t.buf)]
	if ok {
		t.found++
	}
	return t.buf, m
}

func (t *twins) add(key []byte, m map[string]any) {
	if key != nil && len(t.objects) < maxTwins {
		t.objects[string(key)] = m
	}
}

// decode makes a value of its bytes, which were scanned, as far as it is needed.
func (p *partial) decode(raw []byte, n *need) (any, bool) {
	switch {
	case raw[0] != '{' && raw[0] != '[':
		return decodeScalar(raw)
	case n.all, n.object && raw[0] == '{':
		v, err := jsonx.Parse(raw, limits())
		if err != nil {
			return nil, false
		}
		return decode(v, p.from), true
	case raw[0] == '{':
		s := scanning{need: n, spans: make([]span, len(n.fields))}
		if end := scanObject(raw, 0, 0, nil, &s); end != len(raw) {
			return nil, false
		}
		return p.fields(raw, n, s.spans)
	}
	return p.elements(raw, n)
}

// elements makes an array of its bytes.
func (p *partial) elements(raw []byte, n *need) (any, bool) {
	list := []any{}
	w := window{b: raw, end: true}
	for first := true; ; first = false {
		closed, ok := w.element(first)
		if closed || !ok {
			return list, ok
		}
		end, ok := w.value(nil, nil)
		if !ok {
			return nil, false
		}
		switch {
		case n.elems != nil:
			v, ok := p.decode(raw[w.i:end], n.elems)
			if !ok {
				return nil, false
			}
			list = append(list, v)
		case n.count:
			list = append(list, nil)
		}
		w.i = end
	}
}
