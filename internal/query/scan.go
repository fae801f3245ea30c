package query

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// What the functions of this file give instead of the place behind what they step over.
const (
	short = -1 // the bytes end before it does
	wrong = -2 // it is not strict JSON, or something that is left to the parser
)

// maxScanned is how deep values may be nested here, and maxNames how many different keys there may be.
const (
	maxScanned = 500
	maxNames   = 256
)

// scanner steps over values and checks them as strictly as the parser does, keys that stand twice in one object
// included. Objects of one text mostly have the same keys in the same order: where the key comes that came last time,
// one comparison stands for reading it.
type scanner struct {
	names map[string]int  // the keys, as they are written without their quotes; from 1, 0 is the start
	texts []string        // of each key, with its quotes and its colon
	first []int           // of each key the one that came first in the last object that was its value
	next  []int           // of each key the one that came behind it last time
	want  map[string]int  // the members of an element that are looked at, to their index in spans
	slots [maxNames]uint8 // of each key 1 more than its index in spans, 0 if it is not wanted
	spans []span          // where the wanted members of the element stand
}

// span is where a value stands; end is 0 if there is none.
type span struct{ start, end int }

func newScanner() *scanner {
	return &scanner{names: map[string]int{"": 0}, texts: []string{""}, first: []int{0}, next: []int{0}}
}

// looksFor sets the members whose places element notes.
func (s *scanner) looksFor(fields []field) {
	s.want, s.spans = make(map[string]int, len(fields)), make([]span, len(fields))
	clear(s.slots[:])
	for i, f := range fields {
		s.want[f.name] = i
		if k, ok := s.names[f.name]; ok {
			s.slots[k] = uint8(i + 1)
		}
	}
}

// name gives the number of a key that was read; false if it is left to the parser.
func (s *scanner) name(raw []byte) (int, bool) {
	if k, ok := s.names[string(raw)]; ok && k > 0 {
		return k, true
	}
	k := len(s.texts)
	if k == maxNames || !unescaped(raw) {
		return 0, false
	}
	word := string(raw)
	s.names[word] = k
	s.texts = append(s.texts, `"`+word+`":`)
	s.first, s.next = append(s.first, 0), append(s.next, 0)
	if at, ok := s.want[word]; ok {
		s.slots[k] = uint8(at + 1)
	}
	return k, true
}

// element steps over the element of an array at i and notes the places of the wanted members, if it is an object.
func (s *scanner) element(b []byte, i int) int {
	clear(s.spans)
	if i < len(b) && b[i] == '{' {
		return s.object(b, i, 0, 0)
	}
	return s.value(b, i, 1, 0)
}

// value steps over the value of the key in.
func (s *scanner) value(b []byte, i, depth, in int) int {
	if i >= len(b) {
		return short
	}
	switch c := b[i]; {
	case c == '"':
		return scanString(b, i+1)
	case c == '{':
		return s.object(b, i, depth, in)
	case c == '[':
		return s.array(b, i, depth, in)
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

func (s *scanner) array(b []byte, i, depth, in int) int {
	if depth >= maxScanned {
		return wrong
	}
	i = scanSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		if i = s.value(b, i, depth+1, in); i < 0 {
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

// object steps over the object at i, which is the value of the key in; one of depth 0 is an element.
func (s *scanner) object(b []byte, i, depth, in int) int {
	if depth >= maxScanned {
		return wrong
	}
	i = scanSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	var seen [maxNames / 64]uint64
	for last, follows := in, &s.first; ; follows = &s.next {
		k := (*follows)[last]
		if text := s.texts[k]; k > 0 && i+len(text) <= len(b) && string(b[i:i+len(text)]) == text {
			i += len(text)
		} else if k, i = s.key(b, i); i < 0 {
			return i
		}
		(*follows)[last], last = k, k
		if seen[k/64]>>(k%64)&1 != 0 {
			return wrong // the key is there twice
		}
		seen[k/64] |= 1 << (k % 64)
		start := scanSpace(b, i)
		if i = s.value(b, start, depth+1, k); i < 0 {
			return i
		}
		if depth == 0 && s.slots[k] > 0 {
			s.spans[s.slots[k]-1] = span{start, i}
		}
		i = scanSpace(b, i)
		switch {
		case i >= len(b):
			return short
		case b[i] == '}':
			return i + 1
		case b[i] != ',':
			return wrong
		}
		i = scanSpace(b, i+1)
	}
}

// key steps over a key and its colon, and gives its number.
func (s *scanner) key(b []byte, i int) (k, end int) {
	raw, end := scanKey(b, i)
	if end < 0 {
		return 0, end
	}
	k, ok := s.name(raw)
	if !ok {
		return 0, wrong
	}
	return k, end
}

// scanKey steps over a key and its colon, and gives what stands between the quotes.
func scanKey(b []byte, i int) (raw []byte, end int) {
	if i >= len(b) {
		return nil, short
	}
	if b[i] != '"' {
		return nil, wrong
	}
	start := i + 1
	if i = scanString(b, start); i < 0 {
		return nil, i
	}
	raw = b[start : i-1]
	i = scanSpace(b, i)
	switch {
	case i >= len(b):
		return nil, short
	case b[i] != ':':
		return nil, wrong
	}
	return raw, i + 1
}

// The bytes of a word of eight, for looking at eight bytes at a time.
const (
	ones   = 0x0101010101010101
	highs  = 0x8080808080808080
	blanks = ' ' * ones
)

// scanString gives the place behind the string whose content starts at i.
func scanString(b []byte, i int) int {
	for i < len(b) {
		if i+8 <= len(b) {
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
		}
		c := b[i]
		switch {
		case c == '"':
			return i + 1
		case c == '\\':
			i = scanEscape(b, i)
		case c < ' ':
			return wrong
		case c < utf8.RuneSelf:
			i++
		default:
			r, size := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && size == 1 && utf8.FullRune(b[i:]) {
				return wrong
			}
			if r == utf8.RuneError && size == 1 {
				return short
			}
			i += size
		}
		if i < 0 {
			return i
		}
	}
	return short
}

func scanEscape(b []byte, i int) int {
	if i+1 >= len(b) {
		return short
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if i+6 > len(b) {
			return short
		}
		r, err := strconv.ParseUint(string(b[i+2:i+6]), 16, 16)
		if err == nil && !utf16.IsSurrogate(rune(r)) { // pairs are left to the parser
			return i + 6
		}
	}
	return wrong
}

func scanSpace(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case '\n':
			i++
			for i+8 <= len(b) && binary.LittleEndian.Uint64(b[i:]) == blanks {
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

// scanNumber gives the place behind the number at i.
func scanNumber(b []byte, i int) int {
	end, plain := i, b[i] != '-' && b[i] != '0'
	for end < len(b) && (digit(b[end]) || numeric(b[end])) {
		plain = plain && digit(b[end])
		end++
	}
	if end == len(b) {
		return short
	}
	if !plain && !json.Valid(b[i:end]) {
		return wrong
	}
	return end
}

func numeric(c byte) bool { return c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E' }

func scanWord(b []byte, i int, word string) int {
	end := i + len(word)
	if end >= len(b) {
		return short
	}
	if string(b[i:end]) != word || namePart(b[end]) || numeric(b[end]) {
		return wrong
	}
	return end
}
