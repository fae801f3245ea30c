package query

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"
)

// A file of tasks is mostly asked for one of them, by its number. While such a file is read to its end, and with that
// checked, the places of some elements are noted: marks. They hold only if the numbers rise from element to element. Whoever
// knows that the file is still the same hands them back, and then only the elements between two marks are read. What a mark
// leads to is checked again; where it is not what was noted, the file is read as if there were no marks.

// markEvery is how many elements there are from one mark to the next.
const markEvery = 64

// maxStretch is how many bytes are read at once, at most, between two marks.
const maxStretch = 64 << 20

// pin is the one value that a field of an element must have for a query to look at the element.
type pin struct {
	field        string
	slot, number int
}

// pinOf gives nil if a query looks at more than the elements of one number. In an and only the left side counts: what stands
// before the comparison may be an error.
func pinOf(n *need) *pin {
	var found *pin
	for _, c := range n.preds() {
		for c.kind == predAnd {
			c = c.l
		}
		if c.kind != predCompare || c.op != gojq.OpEq {
			return nil
		}
		v, ok := c.args[0].value.(int)
		p := pin{c.field, c.slot, v}
		if !ok || found != nil && *found != p {
			return nil
		}
		found = &p
	}
	return found
}

// marks are places of elements of one array, in the order of their numbers, which rise.
type marks struct {
	key    string // which array, and which field holds the number
	marks  []place
	count  int   // of elements
	end    int64 // behind the last element
	broken bool  // the numbers do not rise
	last   int64
}

// place is where an element starts.
type place struct{ number, at int64 }

func (p *plan) markKey() string { return strings.Join(p.path, "\x00") + "\x00\x00" + p.pin.field }

// plainNumber reads a number that is written as digits alone.
func plainNumber(raw []byte) (int64, bool) {
	if len(raw) == 0 || len(raw) > maxIntDigits || raw[0] < '1' || raw[0] > '9' || scanDigits(raw, 0) != len(raw) {
		return 0, false
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return n, err == nil
}

// add notes an element that has this number.
func (m *marks) add(raw []byte, from, to int64) {
	if m.broken {
		return
	}
	n, ok := plainNumber(raw)
	if !ok || n <= m.last {
		m.broken = true
		return
	}
	if m.count%markEvery == 0 {
		m.marks = append(m.marks, place{n, from})
	}
	m.count++
	m.last, m.end = n, to
}

// bytes writes the marks so that readMarks reads them.
func (m *marks) bytes() []byte {
	out := binary.AppendUvarint(nil, uint64(len(m.key)))
	out = append(out, m.key...)
	out = binary.AppendUvarint(out, uint64(m.count))
	out = binary.AppendUvarint(out, uint64(m.end))
	var last place
	for _, p := range m.marks {
		out = binary.AppendUvarint(out, uint64(p.number-last.number))
		out = binary.AppendUvarint(out, uint64(p.at-last.at))
		last = p
	}
	return binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
}

// readMarks gives the marks for a key; false if these bytes hold none.
func readMarks(data []byte, key string) (*marks, bool) {
	if len(data) < 4 || crc32.ChecksumIEEE(data[:len(data)-4]) != binary.LittleEndian.Uint32(data[len(data)-4:]) {
		return nil, false
	}
	data = data[:len(data)-4]
	ok := true
	next := func() int64 {
		v, n := binary.Uvarint(data)
		if n <= 0 || v > 1<<60 {
			ok, data = false, nil
			return 0
		}
		data = data[n:]
		return int64(v)
	}
	size := next()
	if size != int64(len(key)) || int(size) > len(data) || string(data[:size]) != key {
		return nil, false
	}
	data = data[size:]
	m := &marks{key: key, count: int(next()), end: next()}
	var last place
	for ok && len(data) > 0 {
		p := place{last.number + next(), last.at + next()}
		ok = ok && p.number > last.number && p.at > last.at && p.at < m.end
		m.marks = append(m.marks, p)
		last = p
	}
	return m, ok && len(m.marks) == (m.count+markEvery-1)/markEvery
}

// between gives the place of the mark before an element, how many elements follow from there, and where they end. ok is
// false if the element is before all of them.
func (m *marks) between(number int64) (from place, count int, to int64, ok bool) {
	i, found := slices.BinarySearchFunc(m.marks, number, func(p place, n int64) int {
		switch {
		case p.number < n:
			return -1
		case p.number > n:
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	if i < 0 {
		return place{}, 0, 0, false
	}
	if i+1 < len(m.marks) {
		return m.marks[i], markEvery, m.marks[i+1].at, true
	}
	return m.marks[i], m.count - i*markEvery, m.end, true
}

// marked gives what a query looks at of the elements, by the marks of its input.
func (p *partial) marked(in Input, plan *plan) ([]any, bool) {
	m, ok := readMarks(in.Marks, plan.markKey())
	if !ok || in.File == nil {
		return nil, false
	}
	from, count, to, ok := m.between(int64(plan.pin.number))
	if !ok {
		return []any{}, true
	}
	if to-from.at > maxStretch {
		return nil, false
	}
	b := make([]byte, to-from.at)
	if n, err := in.File.ReadAt(b, from.at); n < len(b) || err != nil && !errors.Is(err, io.EOF) {
		return nil, false
	}
	return p.stretch(&window{b: b, end: true}, from.number, count)
}

// stretch reads so many elements, of which the first has this number, to the end of a window.
func (p *partial) stretch(w *window, number int64, count int) ([]any, bool) {
	p.window = w
	n := p.part.elems
	preds, list, last := p.part.preds(), []any{}, number-1
	var l layout
	s := scanning{need: n, spans: make([]span, len(n.fields))}
	for i := range count {
		if i > 0 {
			if closed, ok := w.element(false); closed || !ok {
				return nil, false
			}
		}
		end, ok := w.value(&l, &s)
		if !ok || w.b[w.i] != '{' {
			return nil, false
		}
		raw := w.b[w.i:end]
		w.i = end
		got, ok := plainNumber(at(w.b, s.spans[p.pin.slot]))
		if !ok || got <= last || i == 0 && got != number {
			return nil, false
		}
		last = got
		if useless(preds, w.b, s.spans) {
			continue
		}
		v, ok := p.member(raw, n, s.spans)
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
	if w.peek() == ',' {
		w.i++
	}
	return list, w.peek() == 0 && w.i == len(w.b)
}
