package jsonx

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Limits bounds what Parse accepts. Zero fields mean DefaultDepth and DefaultBytes.
type Limits struct {
	Depth int // of arrays and objects in one another
	Bytes int // of the text
	// Duplicates accepts an object that has a key twice, for texts of others that are only read: the last value stays, in
	// the place of the first.
	Duplicates bool
}

// The limits that zero fields of Limits stand for.
const (
	DefaultDepth = 64
	DefaultBytes = 64 << 20
)

// Parse reads src as exactly one JSON value with white space around it. A byte order mark at the start is skipped;
// offsets count from the start of src all the same. The error is a *SyntaxError. The tree does not refer to src.
func Parse(src []byte, lim Limits) (*Value, error) {
	p := newParser(src, lim)
	if !p.sized() {
		return nil, p.err
	}
	p.space()
	v := p.value(0)
	if v == nil {
		return nil, p.err
	}
	p.space()
	if p.i < len(p.s) {
		p.expected(p.i, "end of input")
		return nil, p.err
	}
	return v, nil
}

// Stream reads the values of a text that holds any number of them one after the other.
type Stream struct {
	p    *parser
	done bool
}

// NewStream starts reading src.
func NewStream(src []byte, lim Limits) *Stream {
	return &Stream{p: newParser(src, lim)}
}

// Next gives the next value, io.EOF after the last. After any other error, a *SyntaxError, there is no next value.
func (s *Stream) Next() (*Value, error) {
	if s.p.err != nil {
		return nil, s.p.err
	}
	if !s.done && !s.p.sized() {
		return nil, s.p.err
	}
	s.done = true
	s.p.space()
	if s.p.i == len(s.p.s) {
		return nil, io.EOF
	}
	v := s.p.value(0)
	if v == nil {
		return nil, s.p.err
	}
	return v, nil
}

// skimming says what a Skimmer leaves out.
type skimming struct {
	on     bool
	wanted []string // members of the value
	hollow bool     // what is read now is only checked
	buf    []byte   // of the last string with escapes
	none   Value
}

// Skimmer reads values without making trees of them: what is inside of a value's elements and members is checked as
// Parse does, and left out.
type Skimmer struct {
	p     parser
	nodes [64]Value
}

// NewSkimmer makes a Skimmer. The limits hold for each value by itself.
func NewSkimmer(lim Limits) *Skimmer {
	s := &Skimmer{p: *newParser(nil, lim)}
	s.p.skim.on = true
	return s
}

// Skim reads the value that begins at an offset of a text, which may go on behind it: a scalar, an empty array, or an
// object, of whose members the wanted ones hold the same and the others nothing that means anything. The value is good
// until the next call, and as long as text is not changed; nil if there is no valid one, or not all of it.
func (s *Skimmer) Skim(text []byte, at int, wanted ...string) *Value {
	p := &s.p
	p.s = unsafe.String(unsafe.SliceData(text), len(text)) // a copy costs half as much as the rest
	p.i, p.skim.hollow, p.skim.wanted = at, false, wanted
	p.values, p.members, p.elems = s.nodes[:], p.members[:0], p.elems[:0]
	return p.value(0)
}

// parser holds one pass over a text. A method that fails sets err and returns nil or false; the first error stays.
type parser struct {
	s   string
	i   int
	lim Limits
	err error

	values  []Value // what is left of the chunk that values are taken from
	chunk   int     // size of the next chunk
	pool    slab[Member]
	epool   slab[*Value]
	members []Member // stack of the open objects' members
	elems   []*Value // stack of the open arrays' elements
	keys    map[string]int
	skim    skimming
}

func newParser(src []byte, lim Limits) *parser {
	if lim.Depth <= 0 {
		lim.Depth = DefaultDepth
	}
	if lim.Bytes <= 0 {
		lim.Bytes = DefaultBytes
	}
	p := &parser{lim: lim, chunk: 8}
	if len(src) > lim.Bytes {
		p.i = len(src)
		return p
	}
	p.s = string(src)
	if strings.HasPrefix(p.s, bom) {
		p.i = len(bom)
	}
	return p
}

// sized reports whether the text was within the limit. It is asked before the first value.
func (p *parser) sized() bool {
	if p.i > len(p.s) {
		p.err = &SyntaxError{Line: 1, Col: 1, Msg: fmt.Sprintf("size %d bytes exceeds the limit of %d", p.i, p.lim.Bytes)}
		return false
	}
	return true
}

// slab hands out small slices of one backing array, so that a tree of many small objects costs few allocations.
type slab[T any] struct {
	free []T
	size int
}

func (s *slab[T]) take(from []T) []T {
	n := len(from)
	if n > len(s.free) {
		s.size = min(max(2*s.size, 16), 4096)
		s.free = make([]T, max(s.size, n))
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	copy(out, from)
	return out
}

func (p *parser) alloc(k Kind, start int) *Value {
	if p.skim.hollow {
		return &p.skim.none
	}
	if len(p.values) == 0 {
		p.chunk = min(2*p.chunk, 2048)
		p.values = make([]Value, p.chunk)
	}
	v := &p.values[0]
	p.values = p.values[1:]
	*v = Value{Kind: k, Start: start}
	return v
}

func (p *parser) space() {
	s, i := p.s, p.i
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\r' || s[i] == '\t') {
		i++
	}
	p.i = i
}

func (p *parser) value(depth int) *Value {
	if p.i >= len(p.s) {
		p.expected(p.i, "a value")
		return nil
	}
	start := p.i
	switch c := p.s[start]; {
	case c == '"':
		text, ok := p.str()
		if !ok {
			return nil
		}
		v := p.alloc(String, start)
		v.text, v.End = text, p.i
		return v
	case c == '{':
		return p.object(depth + 1)
	case c == '[':
		return p.array(depth + 1)
	case c == '-' || isDigit(c):
		return p.number()
	case isWord(c):
		return p.word()
	}
	p.expected(start, "a value")
	return nil
}

func (p *parser) open(depth int) bool {
	if depth > p.lim.Depth {
		p.fail(p.i, fmt.Sprintf("nesting is deeper than the limit of %d", p.lim.Depth))
		return false
	}
	p.i++
	p.space()
	return true
}

func (p *parser) array(depth int) *Value {
	start := p.i
	if !p.open(depth) {
		return nil
	}
	v := p.alloc(Array, start)
	if p.i < len(p.s) && p.s[p.i] == ']' {
		p.i++
		v.End = p.i
		return v
	}
	base, outer := len(p.elems), p.skim.hollow
	p.skim.hollow = p.skim.on
	for {
		e := p.value(depth)
		if e == nil {
			return nil
		}
		p.elems = append(p.elems, e)
		more, ok := p.next(']', "a value")
		if !ok {
			return nil
		}
		if !more {
			break
		}
	}
	if !p.skim.on {
		v.Elems = p.epool.take(p.elems[base:])
	}
	p.elems, p.skim.hollow = p.elems[:base], outer
	v.End = p.i
	return v
}

// next steps over a comma, or over the closing bracket, which ends the list.
func (p *parser) next(closing byte, then string) (more, ok bool) {
	p.space()
	if p.i < len(p.s) {
		switch p.s[p.i] {
		case closing:
			p.i++
			return false, true
		case ',':
			comma := p.i
			p.i++
			p.space()
			if p.i < len(p.s) && p.s[p.i] == closing {
				p.fail(comma, fmt.Sprintf("trailing comma, expected %s after it", then))
				return false, false
			}
			return true, true
		}
	}
	p.expected(p.i, fmt.Sprintf("\",\" or %q", string(rune(closing))))
	return false, false
}

func (p *parser) object(depth int) *Value {
	start := p.i
	if !p.open(depth) {
		return nil
	}
	v := p.alloc(Dict, start)
	if p.i < len(p.s) && p.s[p.i] == '}' {
		p.i++
		v.End = p.i
		return v
	}
	base, outer := len(p.members), p.skim.hollow
	for {
		if !p.member(depth) {
			return nil
		}
		more, ok := p.next('}', "a key")
		if !ok {
			return nil
		}
		if !more {
			break
		}
	}
	v.End = p.i
	if !p.unique(base) {
		return nil
	}
	if !p.skim.on {
		v.Members = p.pool.take(p.members[base:])
	} else if depth == 1 {
		v.Members = p.members[base:]
	}
	p.members, p.skim.hollow = p.members[:base], outer
	return v
}

func (p *parser) member(depth int) bool {
	start := p.i
	p.skim.hollow = false // a key is read in full
	if start >= len(p.s) || p.s[start] != '"' {
		p.expected(start, "a key in double quotes")
		return false
	}
	key, ok := p.str()
	if !ok {
		return false
	}
	p.space()
	if p.i >= len(p.s) || p.s[p.i] != ':' {
		p.expected(p.i, "\":\"")
		return false
	}
	p.i++
	p.space()
	p.skim.hollow = p.skim.on && (depth > 1 || !slices.Contains(p.skim.wanted, key))
	v := p.value(depth)
	if v == nil {
		return false
	}
	p.members = append(p.members, Member{Key: key, KeyStart: start, Value: v})
	return true
}

// smallObject is up to how many keys comparing each with each is cheaper than a map.
const smallObject = 24

// unique finds a key that stands twice among the members from base on.
func (p *parser) unique(base int) bool {
	ms := p.members[base:]
	if len(ms) > smallObject {
		return p.uniqueMany(base)
	}
	for i := 1; i < len(ms); i++ {
		for j := range i {
			if ms[i].Key != ms[j].Key {
				continue
			}
			if !p.lim.Duplicates {
				p.duplicate(ms[j], ms[i])
				return false
			}
			ms[j].Value = ms[i].Value
			ms = append(ms[:i], ms[i+1:]...)
			i--
			break
		}
	}
	p.members = p.members[:base+len(ms)]
	return true
}

func (p *parser) uniqueMany(base int) bool {
	if p.keys == nil || len(p.keys) > 1024 {
		p.keys = make(map[string]int, len(p.members)-base)
	}
	clear(p.keys)
	ms := p.members[base:]
	n := 0
	for _, m := range ms {
		if at, ok := p.keys[m.Key]; ok {
			if !p.lim.Duplicates {
				p.duplicate(ms[at], m)
				return false
			}
			ms[at].Value = m.Value
			continue
		}
		p.keys[m.Key] = n
		ms[n] = m
		n++
	}
	p.members = p.members[:base+n]
	return true
}

func (p *parser) duplicate(first, second Member) {
	line, col := Pos([]byte(p.s[:first.KeyStart]), first.KeyStart)
	p.fail(second.KeyStart, fmt.Sprintf("duplicate key %q, first at %d:%d", second.Key, line, col))
}

func (p *parser) word() *Value {
	start := p.i
	end := start
	for end < len(p.s) && (isWord(p.s[end]) || isDigit(p.s[end])) {
		end++
	}
	var k Kind
	switch p.s[start:end] {
	case "null":
		k = Null
	case "true", "false":
		k = Bool
	default:
		p.expected(start, "a value")
		return nil
	}
	v := p.alloc(k, start)
	v.text, v.End = p.s[start:end], end
	p.i = end
	return v
}

func (p *parser) number() *Value {
	start := p.i
	end, ok := scanNumber(p.s, start)
	if !ok || end < len(p.s) && (isWord(p.s[end]) || isDigit(p.s[end]) || p.s[end] == '.' || p.s[end] == '-' ||
		p.s[end] == '+') {
		p.fail(start, fmt.Sprintf("invalid number %s", quote(p.run(start))))
		return nil
	}
	v := p.alloc(Number, start)
	v.text, v.End = p.s[start:end], end
	p.i = end
	return v
}

// scanNumber finds the end of the number at start; what follows it is not looked at.
func scanNumber(s string, i int) (end int, ok bool) {
	if s[i] == '-' {
		i++
	}
	switch {
	case i >= len(s) || !isDigit(s[i]):
		return i, false
	case s[i] == '0':
		i++
	default:
		i = digits(s, i)
	}
	if i < len(s) && s[i] == '.' {
		at := i + 1
		if i = digits(s, at); i == at {
			return i, false
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		at := i
		if i = digits(s, at); i == at {
			return i, false
		}
	}
	return i, true
}

func digits(s string, i int) int {
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

// run is the stretch of letters, digits and signs at i: what a person takes for one word.
func (p *parser) run(i int) string {
	end := i
	for end < len(p.s) && (isWord(p.s[end]) || isDigit(p.s[end]) || p.s[end] == '.' || p.s[end] == '-' ||
		p.s[end] == '+') {
		end++
	}
	return p.s[i:end]
}

// maxShown is how much of a wrong word a message repeats.
const maxShown = 20

func quote(s string) string {
	if len(s) > maxShown {
		s = s[:maxShown] + "..."
	}
	return fmt.Sprintf("%q", s)
}

func (p *parser) fail(at int, msg string) {
	if p.err != nil || p.skim.on { // nobody asks a Skimmer why
		return
	}
	line, col := Pos([]byte(p.s[:at]), at)
	p.err = &SyntaxError{Line: line, Col: col, Offset: at, Msg: msg}
}

func (p *parser) expected(at int, want string) {
	if at >= len(p.s) {
		p.fail(at, "expected "+want+", got end of input")
		return
	}
	if mark := conflict(p.s, at); mark != "" {
		line, col := Pos([]byte(p.s[:at]), at)
		p.err = &SyntaxError{
			Line: line, Col: col, Offset: at,
			Msg: fmt.Sprintf("expected %s, got merge conflict marker %q", want, mark), Conflict: true,
		}
		return
	}
	got := p.run(at)
	if got == "" {
		r, size := utf8.DecodeRuneInString(p.s[at:])
		if r == utf8.RuneError && size == 1 {
			p.fail(at, fmt.Sprintf("expected %s, got byte 0x%02x", want, p.s[at]))
			return
		}
		got = p.s[at : at+size]
	}
	p.fail(at, "expected "+want+", got "+quote(got))
}

// conflict gives the merge conflict marker that starts a line at i, or nothing.
func conflict(s string, i int) string {
	if i > 0 && s[i-1] != '\n' {
		return ""
	}
	for _, mark := range []string{"<<<<<<<", "=======", ">>>>>>>", "|||||||"} {
		if strings.HasPrefix(s[i:], mark) {
			return mark
		}
	}
	return ""
}
