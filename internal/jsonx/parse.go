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
	Depth int // nesting of arrays and objects
	Bytes int // of the text
	// Duplicates accepts duplicate keys, for foreign texts that tercet only reads: the last value
	// counts, at the place of the first.
	Duplicates bool
}

// The defaults of Limits.
const (
	DefaultDepth = 64
	DefaultBytes = 64 << 20
)

// Parse reads src as exactly one JSON value with optional white space around it. It skips a byte
// order mark; offsets still count from the start of src. The error is a *SyntaxError. The tree does
// not refer to src.
func Parse(src []byte, lim Limits) (*Value, error) {
	return newParser(lim).parseWhole(string(src))
}

// parseWhole reads a text that is one value.
func (p *parser) parseWhole(text string) (*Value, error) {
	p.start(text)
	v := p.parseTop()
	p.skipSpace()
	if p.err == nil && p.i < len(p.s) {
		p.failExpected(p.i, "end of input")
	}
	if p.err != nil {
		return nil, p.err
	}
	return v, nil
}

// ParseEach reads src as Parse does, for texts that are mostly one long list: the elements of the
// array that the top object has under key are given to each, one by one, and are dropped then. In
// the tree they keep their kind and place only; ParseAt reads one of them again. The function may
// keep texts of an element, but neither the element nor its members. All texts are parts of src,
// which must not change.
func ParseEach(src []byte, lim Limits, key string, each func(i int, v *Value)) (*Value, error) {
	p := newParser(lim)
	p.each = each
	p.eachKey = key
	return p.parseWhole(unsafe.String(unsafe.SliceData(src), len(src)))
}

// ParseAt reads the value that ends where v does, from the text in which v was found. Its texts are
// parts of src.
func ParseAt(src []byte, v *Value, lim Limits) (*Value, error) {
	p := newParser(lim)
	p.s = unsafe.String(unsafe.SliceData(src), v.End)
	p.i = v.Start
	out := p.parseTop()
	if p.err != nil {
		return nil, p.err
	}
	return out, nil
}

// Stream reads a text with any number of JSON values.
type Stream struct{ p *parser }

// NewStream starts reading src.
func NewStream(src []byte, lim Limits) *Stream {
	p := newParser(lim)
	p.start(string(src))
	return &Stream{p}
}

// Next gives the next value, io.EOF after the last. Any other error is a *SyntaxError and ends the
// stream.
func (s *Stream) Next() (*Value, error) {
	s.p.skipSpace()
	if s.p.err == nil && s.p.i == len(s.p.s) {
		return nil, io.EOF
	}
	if v := s.p.parseTop(); v != nil {
		return v, nil
	}
	return nil, s.p.err
}

// skimming says what a Skimmer leaves out.
type skimming struct {
	on      bool
	wanted  []string // members of the value
	discard bool     // what is read now is only checked
	none    Value
}

// Skimmer reads values without building trees: it checks nested content as Parse does, and drops
// it.
type Skimmer struct {
	p     parser
	nodes [64]Value
}

// NewSkimmer makes a Skimmer. The limits apply to each value.
func NewSkimmer(lim Limits) *Skimmer {
	s := &Skimmer{p: *newParser(lim)}
	s.p.skim.on = true
	return s
}

// Skim reads the value at an offset of a text, which may continue after it. The result is a scalar,
// an empty array, or an object with the wanted members as such values; all other members are empty.
// It is valid until the next call, while text is unchanged; nil if the value is invalid or
// incomplete.
func (s *Skimmer) Skim(text []byte, at int, wanted ...string) *Value {
	p := &s.p
	p.s = unsafe.String(unsafe.SliceData(text), len(text)) // a copy costs half as much as the rest
	p.i = at
	p.skim.discard = false
	p.skim.wanted = wanted
	p.values = s.nodes[:]
	p.members = p.members[:0]
	p.elems = p.elems[:0]
	return p.parseValue(0)
}

// parser holds one pass over a text. A method that fails sets err and returns nil or false; the
// first error stays.
type parser struct {
	s   string
	i   int
	lim Limits
	err *SyntaxError

	values  []Value  // what is left of the chunk that values are taken from
	chunk   int      // size of the next chunk
	members []Member // stack of the open objects' members
	elems   []*Value // stack of the open arrays' elements
	keys    map[string]int
	buf     []byte // of the last string with escapes
	skim    skimming

	each      func(i int, v *Value) // see ParseEach
	eachKey   string
	scratch   []Value // the nodes of the element that is given to each
	eachDepth int     // the depth of objects that are such elements; 0: none is being read
	stubs     []Value // what is left of the chunk that hollow elements are taken from
}

func newParser(lim Limits) *parser {
	if lim.Depth <= 0 {
		lim.Depth = DefaultDepth
	}
	if lim.Bytes <= 0 {
		lim.Bytes = DefaultBytes
	}
	return &parser{lim: lim, chunk: 8}
}

// start begins to read a text.
func (p *parser) start(text string) {
	if len(text) > p.lim.Bytes {
		msg := fmt.Sprintf("size %d bytes exceeds the limit of %d", len(text), p.lim.Bytes)
		p.err = &SyntaxError{
			Line: 1,
			Col:  1,
			Msg:  msg,
		}
		return
	}
	p.s = text
	if strings.HasPrefix(p.s, bom) {
		p.i = len(bom)
	}
}

// parseTop reads a value that no other holds; nil after an error.
func (p *parser) parseTop() *Value {
	if p.err != nil {
		return nil
	}
	p.skipSpace()
	return p.parseValue(0)
}

func (p *parser) alloc(k Kind, start int) *Value {
	if p.skim.discard {
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

func (p *parser) skipSpace() {
	s := p.s
	i := p.i
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	p.i = i
}

// is tells whether a byte stands here.
func (p *parser) is(c byte) bool {
	return p.i < len(p.s) && p.s[p.i] == c
}

func (p *parser) parseValue(depth int) *Value {
	if p.i >= len(p.s) {
		p.failExpected(p.i, "a value")
		return nil
	}

	start := p.i
	c := p.s[start]
	switch {
	case c == '"':
		text, ok := p.parseString()
		if !ok {
			return nil
		}
		v := p.alloc(String, start)
		v.text = text
		v.End = p.i
		return v
	case c == '{':
		return p.parseObject(depth + 1)
	case c == '[':
		return p.parseArray(depth + 1)
	case c == '-' || isDigit(c):
		return p.parseNumber()
	case isWord(c):
		return p.parseWord()
	}

	p.failExpected(start, "a value")
	return nil
}

// parseList steps over the brackets of an array or an object and the commas in it, and reads each
// item in between.
func (p *parser) parseList(
	depth int,
	closing byte,
	what string,
	item func(p *parser, depth int) bool,
) bool {
	if depth > p.lim.Depth {
		p.fail(p.i, fmt.Sprintf("nesting is deeper than the limit of %d", p.lim.Depth))
		return false
	}

	p.i++
	p.skipSpace()
	if p.is(closing) {
		p.i++
		return true
	}

	for item(p, depth) {
		p.skipSpace()
		comma := p.i
		if p.is(closing) {
			p.i++
			return true
		}
		if !p.is(',') {
			p.failExpected(p.i, fmt.Sprintf("\",\" or %q", string(rune(closing))))
			return false
		}
		p.i++
		p.skipSpace()
		if p.is(closing) {
			p.fail(comma, fmt.Sprintf("trailing comma, expected %s after it", what))
			return false
		}
	}

	return false
}

func (p *parser) parseArray(depth int) *Value {
	v := p.alloc(Array, p.i)
	base := len(p.elems)
	outer := p.skim.discard
	p.skim.discard = p.skim.on

	if !p.parseList(depth, ']', "a value", (*parser).parseElem) {
		return nil
	}

	if !p.skim.on {
		v.Elems = slices.Clone(p.elems[base:])
	}
	p.elems = p.elems[:base]
	p.skim.discard = outer
	v.End = p.i
	return v
}

// parseArrayEach reads an array whose elements are given to each.
func (p *parser) parseArrayEach(depth int) *Value {
	v := p.alloc(Array, p.i)
	base := len(p.elems)
	if p.scratch == nil {
		p.scratch = make([]Value, 256)
	}

	read := func(p *parser, depth int) bool {
		nodes := p.values
		p.values = p.scratch
		p.eachDepth = depth + 1
		e := p.parseValue(depth)
		p.values = nodes
		p.eachDepth = 0

		if e == nil {
			return false
		}
		p.each(len(p.elems)-base, e)

		if len(p.stubs) == 0 {
			p.stubs = make([]Value, 2048)
		}
		p.stubs[0] = Value{
			Kind:  e.Kind,
			Start: e.Start,
			End:   e.End,
		}
		p.elems = append(p.elems, &p.stubs[0])
		p.stubs = p.stubs[1:]
		return true
	}
	if !p.parseList(depth, ']', "a value", read) {
		return nil
	}

	v.Elems = slices.Clone(p.elems[base:])
	p.elems = p.elems[:base]
	v.End = p.i
	return v
}

func (p *parser) parseElem(depth int) bool {
	e := p.parseValue(depth)
	p.elems = append(p.elems, e)
	return e != nil
}

func (p *parser) parseObject(depth int) *Value {
	v := p.alloc(Dict, p.i)
	base := len(p.members)
	outer := p.skim.discard
	if !p.parseList(depth, '}', "a key", (*parser).parseMember) || !p.checkDuplicates(base) {
		return nil
	}

	switch {
	case p.skim.on && depth > 1:
	case p.skim.on, depth == p.eachDepth:
		v.Members = p.members[base:] // until the next value is read
	default:
		v.Members = slices.Clone(p.members[base:])
	}

	p.members = p.members[:base]
	p.skim.discard = outer
	v.End = p.i
	return v
}

func (p *parser) parseMember(depth int) bool {
	start := p.i
	p.skim.discard = false // a key is read in full
	if !p.is('"') {
		p.failExpected(start, "a key in double quotes")
		return false
	}

	key, ok := p.parseString()
	if !ok {
		return false
	}
	p.skipSpace()
	if !p.is(':') {
		p.failExpected(p.i, "\":\"")
		return false
	}

	p.i++
	p.skipSpace()
	p.skim.discard = p.skim.on && (depth > 1 || !slices.Contains(p.skim.wanted, key))
	var v *Value
	if p.each != nil && depth == 1 && key == p.eachKey && p.is('[') {
		v = p.parseArrayEach(depth + 1)
	} else {
		v = p.parseValue(depth)
	}

	p.members = append(p.members, Member{
		Key:      key,
		KeyStart: start,
		Value:    v,
	})
	return v != nil
}

// smallObject is up to how many keys comparing each with each is cheaper than a map.
const smallObject = 24

// checkDuplicates finds a key that stands twice among the members from base on.
func (p *parser) checkDuplicates(base int) bool {
	ms := p.members[base:]
	kept := p.members[base:base]
	many := len(ms) > smallObject
	p.keys = nil
	if many {
		p.keys = make(map[string]int, len(ms))
	}

	seen := uint64(0) // by a few bits of the keys: most are told apart without comparing them
	for _, m := range ms {

		bit := bitOf(m.Key)
		at, twice := p.keys[m.Key]
		if !many && seen&bit != 0 {
			at = slices.IndexFunc(kept, func(k Member) bool {
				return k.Key == m.Key
			})
			twice = at >= 0
		}

		switch {
		case twice && !p.lim.Duplicates:
			p.failDuplicate(kept[at], m)
			return false
		case twice:
			kept[at].Value = m.Value
			continue
		case many:
			p.keys[m.Key] = len(kept)
		}
		kept = append(kept, m)
		seen = seen | bit
	}

	p.members = p.members[:base+len(kept)]
	return true
}

// bitOf gives one of 64 bits, the same for the same key.
func bitOf(key string) uint64 {
	if key == "" {
		return 1
	}
	return 1 << ((len(key) + 5*int(key[0]) + 23*int(key[len(key)-1])) % 64)
}

func (p *parser) failDuplicate(first, second Member) {
	line, col := Pos([]byte(p.s[:first.KeyStart]), first.KeyStart)
	p.fail(second.KeyStart, fmt.Sprintf("duplicate key %q, first at %d:%d", second.Key, line, col))
}

func (p *parser) parseWord() *Value {
	end := p.i
	for end < len(p.s) && (isWord(p.s[end]) || isDigit(p.s[end])) {
		end++
	}

	switch p.s[p.i:end] {
	case "null":
		return p.takeLiteral(Null, end)
	case "true", "false":
		return p.takeLiteral(Bool, end)
	}
	p.failExpected(p.i, "a value")
	return nil
}

func (p *parser) parseNumber() *Value {
	start := p.i
	end, ok := scanNumber(p.s, start)
	if !ok || p.wordAt(end) != "" {
		p.fail(start, "invalid number "+quote(p.wordAt(start)))
		return nil
	}
	return p.takeLiteral(Number, end)
}

// takeLiteral is the value whose text goes from here up to end.
func (p *parser) takeLiteral(k Kind, end int) *Value {
	v := p.alloc(k, p.i)
	v.text = p.s[p.i:end]
	v.End = end
	p.i = end
	return v
}

// scanNumber finds the end of the number at start; what follows it is not looked at.
func scanNumber(s string, i int) (end int, ok bool) {
	if i < len(s) && s[i] == '-' {
		i++
	}
	switch {
	case i >= len(s) || !isDigit(s[i]):
		return i, false
	case s[i] == '0':
		i++
	default:
		i = skipDigits(s, i)
	}

	if i < len(s) && s[i] == '.' {
		at := i + 1
		if i = skipDigits(s, at); i == at {
			return i, false
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		at := i
		if i = skipDigits(s, at); i == at {
			return i, false
		}
	}
	return i, true
}

func skipDigits(s string, i int) int {
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool {
	return '0' <= c && c <= '9'
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}

// wordAt is the stretch of letters, digits and signs at i: what a reader takes for one word.
func (p *parser) wordAt(i int) string {
	end := i
	for end < len(p.s) &&
		(isWord(p.s[end]) || isDigit(p.s[end]) || p.s[end] == '.' || p.s[end] == '-' ||
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
	if p.err != nil || p.skim.on { // a Skimmer gives no reason
		return
	}
	line, col := Pos([]byte(p.s[:at]), at)
	p.err = &SyntaxError{
		Line:     line,
		Col:      col,
		Offset:   at,
		Msg:      msg,
		Conflict: conflictMarker(p.s, at) != "",
	}
}

func (p *parser) failExpected(at int, want string) {
	got := "end of input"
	if at < len(p.s) {
		r, size := utf8.DecodeRuneInString(p.s[at:])
		mark := conflictMarker(p.s, at)
		run := p.wordAt(at)
		switch {
		case mark != "":
			got = fmt.Sprintf("merge conflict marker %q", mark)
		case run != "":
			got = quote(run)
		case r == utf8.RuneError && size == 1:
			got = fmt.Sprintf("byte 0x%02x", p.s[at])
		default:
			got = quote(p.s[at : at+size])
		}
	}
	p.fail(at, "expected "+want+", got "+got)
}

// conflictMarker gives the merge conflict marker that starts a line at i, or nothing.
func conflictMarker(s string, i int) string {
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
