package md

import "strings"

// simpleReader reads the part of YAML that command files are written in: maps and lists in block and flow style, plain and
// quoted scalars of one line, literal and folded blocks without surprises. It gives the very nodes that the third-party
// parser and the converter give, several times as fast. Whatever it is not sure of, and everything that is wrong, it leaves
// to them: it reports nothing, and its result counts only if it read the whole text.
type simpleReader struct {
	text  string
	at    Pos // of text[0] in the file
	i     int // the next byte
	start int // of the line that holds it
	line  int // its number, from 0
	depth int
	lost  bool // something is not simple

	*memory
}

// memory is what nodes are made in. It may serve one text after the other.
type memory struct {
	nodes []Node // in pieces, never moved
	pairs []Entry
	lists []*Node

	entries []Entry // of the maps that are open, innermost last
	items   []*Node // of the lists that are open
}

// Reader reads documents, and the YAML blocks of each, one after the other in the same memory: a document is valid until it
// reads the next one, a block until it reads the next block, both for one goroutine. Text that was read stays valid. The zero
// value is ready.
type Reader struct {
	memory memory // of the present block
	front  memory
	doc    Document
}

// Parse is the function of the same name in the memory of the reader.
func (y *Reader) Parse(src []byte) (*Document, []Problem) {
	y.front.reset()
	problems := Limits{}.parse(&y.doc, src, &y.front)
	return &y.doc, problems
}

// Block is ParseYAML of a block of code of the document.
func (y *Reader) Block(d *Document, b *Block) (*Node, []Problem) {
	if len(b.Body) > DefaultBytes {
		return ParseYAML(b.Body, b.BodyPos)
	}
	y.memory.reset()
	if code := d.code(b); d.clean || simpleBytes(code) {
		if n, ok := readClean(code, b.BodyPos, &y.memory); ok {
			return n, nil
		}
	}
	return Limits{}.orDefault().parseYAML(b.Body, b.BodyPos)
}

// code is the body of a block of code without a copy where it stands in the text as it is.
func (d *Document) code(b *Block) string {
	if line := b.BodyPos.Line; line >= 1 && line <= len(d.starts) {
		from := d.starts[line-1] + b.BodyPos.Col - 1
		if to := from + len(b.Body); to <= len(d.text) && d.text[from:to] == string(b.Body) {
			return d.text[from:to]
		}
	}
	return string(b.Body)
}

func (m *memory) reset() {
	clear(m.nodes)
	m.nodes, m.pairs, m.lists, m.entries, m.items = m.nodes[:0], m.pairs[:0], m.lists[:0], m.entries[:0], m.items[:0]
}

// keep gives the end of a stack a place of its own in an arena.
func keep[T any](arena *[]T, stack []T) []T {
	if len(stack) == 0 {
		return []T{}
	}
	from := len(*arena)
	if from+len(stack) > cap(*arena) {
		*arena, from = make([]T, 0, max(len(stack), 16, 2*cap(*arena))), 0
	}
	*arena = append(*arena, stack...)
	return (*arena)[from:len(*arena):len(*arena)]
}

// maxSimple is how deep a simple text is nested, maxSimpleKeys how many keys a map of it has, maxSimpleKey how long they are.
const (
	maxSimple     = 40
	maxSimpleKeys = 64
	maxSimpleKey  = 200
)

// readSimple reads a text; false if it is not simple.
func readSimple(text string, at Pos, m *memory) (*Node, bool) {
	if !simpleBytes(text) {
		return nil, false
	}
	return readClean(text, at, m)
}

// readClean is readSimple of a text without the bytes that simpleBytes looks for.
func readClean(text string, at Pos, m *memory) (*Node, bool) {
	r := simpleReader{text: text, at: at, memory: m}
	if r.nextLine(); r.end() {
		return nil, false
	}
	n := r.block()
	if r.lost || !r.end() {
		return nil, false
	}
	return n, true
}

// simpleBytes tells whether a text has none of the bytes that are always left to the parser.
func simpleBytes(text string) bool {
	high := false
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ' && c != '\n', c == 0x7f:
			return false
		case c > 0x7f:
			high = true
		}
	}
	if high {
		off, _ := badText([]byte(text), true)
		return off < 0
	}
	return true
}

func (r *simpleReader) end() bool { return r.i >= len(r.text) }

// col is the column of the next byte, from 0.
func (r *simpleReader) col() int { return r.i - r.start }

// peek is the byte at a distance, 0 behind the end: no simple text holds one.
func (r *simpleReader) peek(ahead int) byte {
	if i := r.i + ahead; i < len(r.text) {
		return r.text[i]
	}
	return 0
}

func (r *simpleReader) pos(off int) Pos {
	if r.line == 0 {
		return Pos{r.at.Line, r.at.Col + off}
	}
	return Pos{r.at.Line + r.line, off - r.start + 1}
}

func (r *simpleReader) lose() *Node {
	r.lost = true
	r.i = len(r.text)
	return nil
}

// node makes a node that starts at the next byte.
func (r *simpleReader) node(kind NodeKind, style Style) *Node {
	if len(r.nodes) == cap(r.nodes) {
		r.nodes = make([]Node, 0, max(16, 2*cap(r.nodes)))
	}
	r.nodes = r.nodes[:len(r.nodes)+1]
	n := &r.nodes[len(r.nodes)-1]
	n.Kind, n.Style, n.Pos = kind, style, r.pos(r.i)
	return n
}

func (r *simpleReader) spaces() {
	for r.i < len(r.text) && r.text[r.i] == ' ' {
		r.i++
	}
}

// nextLine goes to the first character of the next line that has one. At the start of the text that is the first line.
func (r *simpleReader) nextLine() {
	for {
		r.spaces()
		if r.peek(0) != '\n' {
			return
		}
		r.newline()
	}
}

func (r *simpleReader) newline() {
	r.i++
	r.start = r.i
	r.line++
}

// lineEnd goes to the next line; there must be nothing left on this one.
func (r *simpleReader) lineEnd() {
	r.spaces()
	if !r.end() && r.text[r.i] != '\n' {
		r.lose()
		return
	}
	r.nextLine()
}

// dash tells whether a list item starts here.
func (r *simpleReader) dash() bool {
	return r.peek(0) == '-' && (r.peek(1) == ' ' || r.peek(1) == '\n' || r.peek(1) == 0)
}

// block reads the map or the list of which the first key or dash comes next.
func (r *simpleReader) block() *Node {
	if r.depth++; r.depth > maxSimple {
		return r.lose()
	}
	var n *Node
	if r.dash() {
		n = r.list()
	} else {
		n = r.mapping()
	}
	r.depth--
	return n
}

// sibling tells whether the next line goes on with the collection at this column; a line that is indented more is not simple.
func (r *simpleReader) sibling(col int) bool {
	if r.lost || r.end() || r.col() < col {
		return false
	}
	if r.col() > col {
		r.lose()
		return false
	}
	return true
}

func (r *simpleReader) mapping() *Node {
	n, col, from := r.node(Map, BlockStyle), r.col(), len(r.entries)
	for more := true; more; more = r.sibling(col) {
		if r.dash() {
			return r.lose()
		}
		key := r.key()
		if r.lost {
			return nil
		}
		value := r.value(col)
		if r.lost || !r.entry(from, key, value) {
			return r.lose()
		}
	}
	return r.closeMap(n, from)
}

// entry adds to the map whose entries start at from. A key that stands twice is reported by others.
func (r *simpleReader) entry(from int, key, value *Node) bool {
	if key.Value == "<<" || len(r.entries)-from >= maxSimpleKeys {
		return false
	}
	for _, e := range r.entries[from:] {
		if e.Key.Value == key.Value {
			return false
		}
	}
	r.entries = append(r.entries, Entry{key, value})
	return true
}

func (r *simpleReader) closeMap(n *Node, from int) *Node {
	if r.lost {
		return nil
	}
	n.Entries = keep(&r.pairs, r.entries[from:])
	r.entries = r.entries[:from]
	if n.Style == BlockStyle {
		n.End = n.Entries[len(n.Entries)-1].Value.End
	}
	return n
}

// key reads an unquoted key of a block map and its colon.
func (r *simpleReader) key() *Node {
	if !r.plainStart() || r.text[r.i] == '.' || r.text[r.i] == '-' {
		return r.lose()
	}
	for i := r.i; i < len(r.text) && i-r.i < maxSimpleKey; i++ {
		switch r.text[i] {
		case '\n':
			return r.lose()
		case '#', ':':
			if r.text[i] == '#' && r.text[i-1] != ' ' {
				continue
			}
			if r.text[i] == '#' || r.text[i-1] == ' ' {
				return r.lose()
			}
			if i+1 < len(r.text) && r.text[i+1] != ' ' && r.text[i+1] != '\n' {
				continue
			}
			n := r.plain(i)
			r.i++
			return n
		}
	}
	return r.lose()
}

// value reads what stands behind the colon of a key at a column, and goes to the next line.
func (r *simpleReader) value(col int) *Node {
	colon, at := r.i, r.pos(r.i)
	r.spaces()
	if c := r.peek(0); c != '\n' && c != 0 {
		return r.inline(col)
	}
	r.nextLine()
	switch {
	case !r.end() && (r.col() > col || r.col() == col && r.dash()):
		return r.block()
	default:
		n := r.node(Scalar, Plain)
		n.Pos, n.End, n.Type, n.raw = at, at, Null, r.text[colon:colon]
		return n
	}
}

// inline reads a value that starts on the line of its key or dash; col is the column of the collection that holds it.
func (r *simpleReader) inline(col int) *Node {
	var n *Node
	switch c := r.peek(0); {
	case c == '|' || c == '>':
		return r.blockScalar(col)
	case c == '{' || c == '[':
		n = r.flow(col)
	case c == '"' || c == '\'':
		n = r.quoted()
	case !r.plainStart():
		return r.lose()
	default:
		end, colon := r.plainEnd()
		if colon || r.lost {
			return r.lose()
		}
		n = r.plain(end)
	}
	if r.lost {
		return nil
	}
	r.lineEnd()
	return n
}

// plainEnd finds the end of an unquoted scalar of block context on this line; colon tells that it is a key.
func (r *simpleReader) plainEnd() (end int, colon bool) {
	i := r.i
	for ; i < len(r.text) && r.text[i] != '\n'; i++ {
		switch c := r.text[i]; {
		case c == ':' && (i+1 == len(r.text) || r.text[i+1] == ' ' || r.text[i+1] == '\n'):
			return i, true
		case c == '#' && r.text[i-1] == ' ':
			r.lose()
			return i, false
		}
	}
	for r.text[i-1] == ' ' {
		i--
	}
	return i, false
}

func (r *simpleReader) list() *Node {
	n, col, from := r.node(List, BlockStyle), r.col(), len(r.items)
	for more := true; more; more = r.sibling(col) && r.dash() {
		if r.i++; r.peek(0) != ' ' {
			return r.lose()
		}
		r.spaces()
		item := r.item(col)
		if r.lost {
			return nil
		}
		r.items = append(r.items, item)
	}
	return r.closeList(n, from)
}

// item reads what stands behind a dash at a column.
func (r *simpleReader) item(col int) *Node {
	if !r.plainStart() {
		return r.inline(col)
	}
	_, colon := r.plainEnd()
	switch {
	case r.lost:
		return nil
	case colon:
		return r.block()
	default:
		return r.inline(col)
	}
}

func (r *simpleReader) closeList(n *Node, from int) *Node {
	if r.lost {
		return nil
	}
	n.Items = keep(&r.lists, r.items[from:])
	r.items = r.items[:from]
	if n.Style == BlockStyle {
		n.End = n.Items[len(n.Items)-1].End
	}
	return n
}

// blockScalar reads a literal or a folded text and goes to the next line.
func (r *simpleReader) blockScalar(outer int) *Node {
	n := r.node(Scalar, Literal)
	n.Type = Str
	if r.peek(0) == '>' {
		n.Style = Folded
	}
	from := r.i
	r.i++
	strip := r.peek(0) == '-'
	if strip {
		r.i++
	}
	if r.peek(0) != '\n' {
		return r.lose()
	}
	r.newline()
	var b strings.Builder
	blank, end, endPos := 0, 0, Pos{}
	for !r.end() {
		if r.text[r.i] == '\n' {
			blank++
			r.newline()
			continue
		}
		r.spaces()
		if r.end() || r.text[r.i] == '\n' {
			return r.lose() // a line of spaces only
		}
		if end == 0 {
			n.indent = r.col()
		}
		if r.col() < n.indent || n.indent <= outer {
			break
		}
		stop := strings.IndexByte(r.text[r.i:], '\n')
		if stop < 0 || !r.fold(&b, n, blank, end == 0) {
			return r.lose()
		}
		end, blank = r.i+stop, 0
		b.WriteString(r.text[r.start+n.indent : end])
		endPos = r.pos(end)
		if n.Style == Folded && r.text[end-1] == ' ' {
			return r.lose()
		}
		r.i = end
		r.newline()
	}
	if end == 0 {
		return r.lose()
	}
	if !strip {
		b.WriteByte('\n')
	}
	r.nextLine()
	n.Value, n.raw, n.End = b.String(), r.text[from:end], endPos
	return n
}

// fold writes what separates a line of a block scalar from the one before it; false when that is not simple.
func (r *simpleReader) fold(b *strings.Builder, n *Node, blank int, first bool) bool {
	if n.Style == Folded && (blank > 0 || r.col() > n.indent) {
		return false
	}
	switch {
	case first:
		return blank == 0
	case n.Style == Folded:
		b.WriteByte(' ')
		return true
	}
	for range blank + 1 {
		b.WriteByte('\n')
	}
	return true
}
