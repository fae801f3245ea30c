package query

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// What the functions of this file give instead of the place behind a value.
const (
	short = -1 // the bytes end inside the value, or with it
	wrong = -2 // it is not strict JSON, or something that is left to the parser
)

// maxScanned is how deep values may be nested here; deeper ones are left to the parser.
const maxScanned = 500

// The bytes of a word of eight, for looking at eight bytes at a time.
const (
	ones   = 0x0101010101010101
	highs  = 0x8080808080808080
	blanks = ' ' * ones
)

// scanString gives the place behind the string whose content starts at i.
func scanString(b []byte, i int) int {
	for i+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:])
		// A byte that is a quote, a backslash, a control character or not ASCII leaves its highest bit; so may some behind
		// it, but none before it.
		q, e := x^'"'*ones, x^'\\'*ones
		m := ((q - ones) | (e - ones) | (x - blanks) | x) & highs
		if m == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(m) >> 3
		if b[i] == '"' {
			return i + 1
		}
		if i = scanRune(b, i); i < 0 {
			return i
		}
	}
	for i < len(b) {
		if b[i] == '"' {
			return i + 1
		}
		if i = scanRune(b, i); i < 0 {
			return i
		}
	}
	return short
}

// scanRune gives the place behind a character of a string, or an escape, which is not the quote.
func scanRune(b []byte, i int) int {
	switch c := b[i]; {
	case c == '\\':
		return scanEscape(b, i)
	case c < ' ':
		return wrong
	case c < utf8.RuneSelf:
		return i + 1
	}
	if r, size := utf8.DecodeRune(b[i:]); r != utf8.RuneError || size > 1 {
		return i + size
	}
	if !utf8.FullRune(b[i:]) {
		return short
	}
	return wrong
}

func scanEscape(b []byte, i int) int {
	if i+1 >= len(b) {
		return short
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
	default:
		return wrong
	}
	r := hexUnit(b, i)
	switch {
	case r < 0:
		return r
	case r < 0xd800 || r > 0xdfff:
		return i + 6
	}
	low := hexUnit(b, i+6)
	switch {
	case low == short:
		return short
	case r > 0xdbff || low < 0xdc00 || low > 0xdfff:
		return wrong
	}
	return i + 12
}

// hexUnit reads the escape \uXXXX at i.
func hexUnit(b []byte, i int) int {
	if i+6 > len(b) {
		return short
	}
	if b[i] != '\\' || b[i+1] != 'u' {
		return wrong
	}
	r := 0
	for _, c := range b[i+2 : i+6] {
		switch {
		case digit(c):
			r = r<<4 | int(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | int(c|0x20-'a'+10)
		default:
			return wrong
		}
	}
	return r
}

func scanSpace(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case '\n':
			i++
			for i+8 <= len(b) {
				x := binary.LittleEndian.Uint64(b[i:]) ^ blanks
				if x != 0 {
					i += bits.TrailingZeros64(x) >> 3
					break
				}
				i += 8
			}
		case ' ', '\r', '\t':
			i++
		default:
			return i
		}
	}
	return i
}

func scanDigits(b []byte, i int) int {
	for i < len(b) && digit(b[i]) {
		i++
	}
	return i
}

// scanNumber gives the place behind the number at i.
func scanNumber(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if j := scanDigits(b, i); j > i {
		i = j
	} else if i < len(b) {
		return wrong
	}
	if i < len(b) && b[i] == '.' {
		j := scanDigits(b, i+1)
		if j == i+1 && j < len(b) {
			return wrong
		}
		i = j
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		j := scanDigits(b, i)
		if j == i && j < len(b) {
			return wrong
		}
		i = j
	}
	return ended(b, i)
}

// ended gives i if a number or a word ends there.
func ended(b []byte, i int) int {
	if i >= len(b) {
		return short
	}
	if c := b[i]; namePart(c) || c == '.' || c == '-' || c == '+' {
		return wrong
	}
	return i
}

func scanWord(b []byte, i int, word string) int {
	end := i + len(word)
	if end >= len(b) {
		return short
	}
	if string(b[i:end]) != word {
		return wrong
	}
	return ended(b, end)
}

// layout is what was learnt of arrays and objects that stand at one place of a text, one after the other: what stands
// between their values. Where the next one has the same, one comparison stands for reading it. The zero value knows
// nothing; a nil *layout learns nothing.
type layout struct {
	steps  []step
	close  string // what stands behind the last value
	elems  *layout
	misses int
}

// step is one member of an object.
type step struct {
	before string // what stands before the value: of the first member from the opening bracket on
	slot   int    // where its place is wanted, or -1
	inside *layout
}

// The bounds of what is learnt of one place.
const (
	maxSteps  = 64
	maxBefore = 256
	maxMisses = 4096
)

// scanning goes through values and keeps where some of the members of objects stand.
type scanning struct {
	need  *need
	spans []span // by the index of the need's fields
}

// scanValue gives the place behind the value at i.
func scanValue(b []byte, i, depth int, l *layout) int {
	if i >= len(b) {
		return short
	}
	switch c := b[i]; {
	case c == '"':
		return scanString(b, i+1)
	case c == '{':
		return scanObject(b, i, depth, l, nil)
	case c == '[':
		return scanArray(b, i, depth, l)
	case c == '-' || digit(c):
		return scanNumber(b, i)
	case c == 'n':
		return scanWord(b, i, "null")
	case c == 't':
		return scanWord(b, i, "true")
	case c == 'f':
		return scanWord(b, i, "false")
	}
	return wrong
}

func scanArray(b []byte, i, depth int, l *layout) int {
	if depth >= maxScanned {
		return wrong
	}
	var inside *layout
	if l != nil {
		if l.elems == nil {
			l.elems = &layout{}
		}
		inside = l.elems
	}
	i = scanSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		if i = scanValue(b, i, depth+1, inside); i < 0 {
			return i
		}
		i = scanSpace(b, i)
		switch {
		case i >= len(b):
			return short
		case b[i] == ']':
			return i + 1
		case b[i] != ',':
			return wrong
		}
		i = scanSpace(b, i+1)
	}
}

// scanObject gives the place behind the object at i. If s is set, it notes the places of the fields of its need: of two
// with one name the last, as decoding does.
func scanObject(b []byte, i, depth int, l *layout, s *scanning) int {
	if depth >= maxScanned {
		return wrong
	}
	for at := 0; ; at++ {
		var slot int
		st := l.expected(b, i, at)
		if st != nil {
			i += len(st.before)
			slot = st.slot
		} else {
			if at > 0 && l != nil && l.close != "" && ahead(b, i, l.close) {
				return i + len(l.close)
			}
			key, end, closed := scanKey(b, i, at == 0)
			if end < 0 {
				return end
			}
			if closed {
				if l != nil && at > 0 && end-i <= maxBefore {
					l.close = string(b[i:end])
				}
				return end
			}
			slot = s.slot(b[key.start:key.end])
			at, st = l.learn(b[i:end], at, slot)
			i = end
		}
		start := i
		if i = scanValue(b, i, depth+1, st.within(b, i)); i < 0 {
			return i
		}
		if slot >= 0 {
			s.spans[slot] = span{start, i}
		}
	}
}

func ahead(b []byte, i int, text string) bool {
	return i+len(text) <= len(b) && string(b[i:i+len(text)]) == text
}

// expected gives the step if its text stands at i.
func (l *layout) expected(b []byte, i, at int) *step {
	if l == nil || at >= len(l.steps) {
		return nil
	}
	if st := &l.steps[at]; ahead(b, i, st.before) {
		return st
	}
	return nil
}

// within is the layout of the arrays or objects that are the value of this member.
func (st *step) within(b []byte, i int) *layout {
	if st == nil {
		return nil
	}
	if st.inside == nil && i < len(b) && (b[i] == '{' || b[i] == '[') {
		st.inside = &layout{}
	}
	return st.inside
}

// learn notes what stands before the value at i, which is not what was expected. It gives the step that it is.
func (l *layout) learn(before []byte, at, slot int) (int, *step) {
	if l == nil || l.misses > maxMisses {
		return at, nil
	}
	l.misses++
	// Members may be left out or stand in another order: the steps go on where the text is known.
	for k := range l.steps {
		if l.steps[k].before == string(before) {
			return k, &l.steps[k]
		}
	}
	if len(l.steps) >= maxSteps || len(before) > maxBefore {
		return at, nil
	}
	l.steps = append(l.steps, step{before: string(before), slot: slot})
	return len(l.steps) - 1, &l.steps[len(l.steps)-1]
}

// slot gives the index of the field with this name as it is written, -1 if it is not wanted.
func (s *scanning) slot(raw []byte) int {
	if s == nil {
		return -1
	}
	v, ok := decodeScalar(raw)
	name, isText := v.(string)
	if !ok || !isText {
		return -1
	}
	return s.need.index(name)
}

// scanKey reads what stands between two values of an object: the opening bracket if it is the first, or a comma, the key,
// which it gives with its quotes, and the colon. closed says that there is the closing bracket instead.
func scanKey(b []byte, i int, first bool) (key span, end int, closed bool) {
	if first {
		i = scanSpace(b, i+1)
		if i < len(b) && b[i] == '}' {
			return key, i + 1, true
		}
	} else {
		i = scanSpace(b, i)
		switch {
		case i >= len(b):
			return key, short, false
		case b[i] == '}':
			return key, i + 1, true
		case b[i] != ',':
			return key, wrong, false
		}
		i = scanSpace(b, i+1)
	}
	if i >= len(b) {
		return key, short, false
	}
	if b[i] != '"' {
		return key, wrong, false
	}
	key.start = i
	if i = scanString(b, i+1); i < 0 {
		return key, i, false
	}
	key.end = i
	i = scanSpace(b, i)
	switch {
	case i >= len(b):
		return key, short, false
	case b[i] != ':':
		return key, wrong, false
	}
	// More white space may follow behind the end of the bytes.
	if i = scanSpace(b, i+1); i >= len(b) {
		return key, short, false
	}
	return key, i, false
}
