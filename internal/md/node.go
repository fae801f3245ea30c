package md

import (
	"strings"
	"unicode/utf8"
)

// NodeKind says what a Node is, in the word for messages.
type NodeKind string

// The kinds of a Node.
const (
	Scalar NodeKind = "value"
	Map    NodeKind = "map"
	List   NodeKind = "list"
)

// Style is the notation of a Node.
type Style uint8

// The styles of scalars, then those of maps and lists.
const (
	Plain Style = iota + 1
	SingleQuoted
	DoubleQuoted
	Literal
	Folded
	FlowStyle
	BlockStyle
)

// ScalarType is the type of a scalar by the YAML 1.2 core schema, as a word for messages. Quoted
// text is always Str; so are on, off, yes, no, infinities and NaN, which JSON cannot hold.
type ScalarType string

// The types of a scalar.
const (
	Str   ScalarType = "string"
	Int   ScalarType = "integer"
	Float ScalarType = "number"
	Bool  ScalarType = "boolean"
	Null  ScalarType = "null"
)

// Node is one value of a YAML text. Value is the text of a scalar without quotes and escapes.
// Entries are the content of a map, Items of a list, in source order. A duplicate key has two
// entries, and a Problem.
type Node struct {
	Kind     NodeKind
	Style    Style
	Type     ScalarType // of a scalar, else empty
	Pos, End Pos
	Value    string
	Entries  []Entry
	Items    []*Node

	raw    string // source text of a scalar
	indent int    // columns before the text of a block scalar
}

// Entry is one key of a map with its value; neither is nil.
type Entry struct{ Key, Value *Node }

// Get gives the value of the first entry with a key; nil if there is none. A nil Node, and a Node
// that is not a map, have no keys.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for i := range n.Entries {
		if n.Entries[i].Key.Value == key {
			return n.Entries[i].Value
		}
	}
	return nil
}

// Absent reports whether a value was left out ("key:"), as opposed to a written null.
func (n *Node) Absent() bool {
	return n != nil && n.Type == Null && n.raw == ""
}

// IsStr reports whether the node is a scalar of type string.
func (n *Node) IsStr() bool {
	return n != nil && n.Type == Str
}

// Any gives the value as map[string]any, []any, string, int, float64, bool or nil. An integer
// outside the range of int is a float64. The last of duplicate keys wins.
func (n *Node) Any() any {
	switch {
	case n == nil || n.Type == Null:
		return nil
	case n.Kind == Map:
		m := make(map[string]any, len(n.Entries))
		for _, e := range n.Entries {
			m[e.Key.Value] = e.Value.Any()
		}
		return m
	case n.Kind == List:
		l := make([]any, len(n.Items))
		for i, it := range n.Items {
			l[i] = it.Any()
		}
		return l
	case n.Type == Bool:
		return n.Value[0] == 't' || n.Value[0] == 'T'
	case n.Type == Int || n.Type == Float:
		return parseNumber(n.Value)
	}
	return n.Value
}

// ValuePos gives the file position of the byte at offset in Value. It accounts for quotes, escapes,
// indentation of block scalars and folded lines, so that errors in an expression point at the
// token.
func (n *Node) ValuePos(offset int) Pos {
	if n == nil || n.Kind != Scalar {
		return Pos{}
	}
	offset = max(0, min(offset, len(n.Value)))
	switch n.Style {
	case Literal:
		before := n.Value[:offset]
		return Pos{
			n.Pos.Line + 1 + strings.Count(before, "\n"),
			n.indent + len(before) - strings.LastIndexByte(before, '\n'),
		}
	case Folded:
		start := strings.IndexByte(n.raw, '\n') + 1
		if skipBlank(n.Value, 0) == 0 {
			start = skipBlank(n.raw, start)
		}
		return n.walkTo(start, offset)
	case SingleQuoted, DoubleQuoted:
		return n.walkTo(1, offset)
	case Plain, FlowStyle, BlockStyle:
	}
	return n.walkTo(0, offset)
}

// walkTo walks value and source side by side from the source offset r and returns the place of the
// value offset.
func (n *Node) walkTo(r, offset int) Pos {
	for v := 0; v < offset && r < len(n.raw); {
		c := n.raw[r]
		switch {
		case skipBlank(n.raw, r) > r: // line ends and blanks are one space, or fewer line ends
			rEnd := skipBlank(n.raw, r)
			vEnd := skipBlank(n.Value, v)
			if offset < vEnd {
				return n.rawPos(min(r+offset-v, rEnd))
			}
			r = rEnd
			v = vEnd
		case n.Style == SingleQuoted && c == '\'':
			r += 2
			v++
		case n.Style == DoubleQuoted && c == '\\' && r+1 < len(n.raw):
			next := skipBlank(n.raw, r+1)
			if n.raw[r+1] == '\n' || n.raw[r+1] == '\r' { // joins the lines
				r = next
				continue
			}
			_, width := utf8.DecodeRuneInString(n.Value[v:])
			// by the length of the escape
			r += max(2, map[byte]int{'x': 4, 'u': 6, 'U': 10}[n.raw[r+1]])
			v += width
		default:
			r++
			v++
		}
	}

	if n.Style == DoubleQuoted && strings.HasPrefix(n.raw[min(r, len(n.raw)):], "\\\n") {
		r++
	}
	if r < len(n.raw) && (n.raw[r] == '\n' || n.raw[r] == '\r') && offset < len(n.Value) {
		r = skipBlank(n.raw, r)
	}
	return n.rawPos(min(r, len(n.raw)))
}

func (n *Node) rawPos(r int) Pos {
	before := n.raw[:r]
	if i := strings.LastIndexByte(before, '\n'); i >= 0 {
		return Pos{n.Pos.Line + strings.Count(before, "\n"), r - i}
	}
	return Pos{n.Pos.Line, n.Pos.Col + r}
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t'
}

func skipBlank(s string, i int) int {
	for i < len(s) && (isSpace(s[i]) || s[i] == '\n' || s[i] == '\r') {
		i++
	}
	return i
}

// Source gives a scalar as written, with its quotes or block header.
func (n *Node) Source() string {
	return n.raw
}
