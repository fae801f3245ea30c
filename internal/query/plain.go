package query

import (
	"slices"
	"strings"
)

// plainReader checks queries as workflows are full of them - paths, comparisons, literals, objects, calls of common
// functions - without gojq, several times as fast: it finds what they refer to, and that gojq takes them. Whatever it is not
// sure of, and everything that is wrong, it leaves to gojq. Its result counts only if it read the whole query.
type plainReader struct {
	src   string
	i     int
	vars  []string
	funcs FuncSet
	depth int
	lost  bool // the query is not plain

	refs  []Ref
	calls []Call
	paths []Ref // from the query's own input
	off   int   // more than 0: what is read has another input
}

const (
	maxPlain      = 4 << 10 // bytes of a plain query
	maxPlainDepth = 40
)

// shape is what the reader knows of a piece that it read.
type shape struct {
	kind shapeKind
	ref  int      // of a variable with static suffixes only: its index in refs
	text string   // of a string
	lead []string // the static path that it takes from its input first of all, if that was asked for
}

type shapeKind uint8

const (
	shapeOther shapeKind = iota
	shapeVar
	shapeString
	shapeEscaped // a string with escapes
)

// plainCompile makes the code of a plain query; false if it is not plain.
func plainCompile(src string, opt Options) (*Code, bool) {
	if len(src) > maxPlain {
		return nil, false
	}
	r := plainReader{src: src, vars: opt.Vars, funcs: opt.Funcs}
	if n := strings.Count(src, "$"); n > 0 {
		r.refs = make([]Ref, 0, n)
	}
	r.space()
	r.pipe()
	if r.lost || r.i < len(src) {
		return nil, false
	}
	if len(r.refs) == 0 {
		r.refs = nil // the dollars were in strings
	}
	return &Code{src: src, vars: slices.Clip(opt.Vars), refs: r.refs, calls: r.calls, paths: r.paths, funcs: opt.Funcs, strict: opt.Strict, later: true}, true
}

func (r *plainReader) lose() shape {
	r.lost = true
	r.i = len(r.src)
	return shape{}
}

func (r *plainReader) peek(ahead int) byte {
	if i := r.i + ahead; i < len(r.src) {
		return r.src[i]
	}
	return 0
}

func (r *plainReader) space() {
	for r.i < len(r.src) && (r.src[r.i] == ' ' || r.src[r.i] == '\n' || r.src[r.i] == '\t') {
		r.i++
	}
}

// take goes behind a text if it comes next, and the white space behind it.
func (r *plainReader) take(text string) bool {
	if !strings.HasPrefix(r.src[r.i:], text) {
		return false
	}
	r.i += len(text)
	r.space()
	return true
}

// word is the name that comes next, which is not taken.
func (r *plainReader) word() string {
	i := r.i
	for i < len(r.src) && namePart(r.src[i]) {
		i++
	}
	if i == r.i || digit(r.src[r.i]) {
		return ""
	}
	return r.src[r.i:i]
}

func (r *plainReader) keyword(name string) bool {
	if r.word() != name {
		return false
	}
	return r.take(name)
}

// nest counts how deep the reader is.
func (r *plainReader) nest() bool {
	if r.depth++; r.depth > maxPlainDepth {
		r.lose()
	}
	return !r.lost
}

// pipe reads a | b | c, each a list with commas.
func (r *plainReader) pipe() shape { return r.stages(r.comma) }

// member reads the value of an object, which has no commas.
func (r *plainReader) member() shape { return r.stages(r.expr) }

func (r *plainReader) stages(stage func(lead bool) shape) shape {
	if !r.nest() {
		return shape{}
	}
	first := stage(false)
	out, last, off := first, first, r.off
	for r.peek(0) == '|' && !r.lost {
		if r.i++; r.peek(0) == '=' || r.peek(0) == '|' {
			return r.lose()
		}
		r.space()
		r.off = off + 1
		follows := last.kind == shapeVar
		next := stage(follows)
		if follows && !r.lost && len(next.lead) > 0 {
			r.refs[last.ref].Path = slices.Concat(r.refs[last.ref].Path, next.lead)
		}
		out, last = shape{}, next
	}
	r.off = off
	r.depth--
	return out
}

func (r *plainReader) comma(lead bool) shape {
	out := r.expr(lead)
	for r.peek(0) == ',' && !r.lost {
		r.i++
		r.space()
		r.expr(false)
		out = shape{}
	}
	return out
}

// expr reads operands with operators between them. Only two things about their tree matter here: whether there is more than one
// operand, and that two comparisons have a weaker operator between them.
func (r *plainReader) expr(lead bool) shape {
	out := r.term(lead)
	compared := false
	for !r.lost {
		switch op := r.operator(); {
		case op == "":
			return out
		case strings.IndexByte("=!<>", op[0]) >= 0:
			if compared {
				return r.lose()
			}
			compared = true
		case op == "and", op == "or", op == "//":
			compared = false
		}
		r.space()
		r.term(false)
		out = shape{}
	}
	return shape{}
}

// operator takes the operator that comes next; an empty text if there is none, or one that is not plain.
func (r *plainReader) operator() string {
	c, next := r.peek(0), r.peek(1)
	size := 1
	switch c {
	case '=', '!':
		if next != '=' || r.peek(2) == '=' {
			return ""
		}
		size = 2
	case '<', '>':
		if next == '=' {
			size = 2
		}
	case '/':
		if next == '/' {
			size, next = 2, r.peek(2)
		}
		if next == '=' {
			return ""
		}
	case '+', '-', '*', '%':
		if next == '=' {
			return ""
		}
	case 'a', 'o':
		w := r.word()
		if w != "and" && w != "or" {
			return ""
		}
		size = len(w)
	default:
		return ""
	}
	op := r.src[r.i : r.i+size]
	r.i += size
	return op
}

// term reads an operand with its suffixes and the white space behind it.
func (r *plainReader) term(lead bool) shape {
	if !r.nest() {
		return shape{}
	}
	out := r.head(lead)
	before := r.i
	r.space()
	// What follows a space could be a suffix all the same.
	if c := r.peek(0); r.i > before && c != 0 && strings.IndexByte(".[?", c) >= 0 {
		return r.lose()
	}
	r.depth--
	return out
}

func (r *plainReader) head(lead bool) shape {
	switch c := r.peek(0); {
	case c == '$':
		return r.variable()
	case c == '.':
		return r.path(lead)
	case c == '"':
		text, static := r.text()
		switch {
		case r.suffixes(nil):
			return shape{}
		case !static:
			return shape{kind: shapeEscaped}
		}
		return shape{kind: shapeString, text: text}
	case digit(c):
		r.number()
	case c == '(':
		r.i++
		r.space()
		r.pipe()
		r.closing(')')
	case c == '[':
		r.i++
		if r.space(); r.peek(0) != ']' {
			r.pipe()
		}
		r.closing(']')
	case c == '{':
		r.object()
	case c == '-':
		if r.i++; r.peek(0) == '-' || r.peek(0) == '+' {
			return r.lose()
		}
		r.head(false)
		return shape{}
	default:
		if !r.named() {
			return r.lose()
		}
	}
	r.suffixes(nil)
	return shape{}
}

// closing takes a bracket, but not the white space behind it.
func (r *plainReader) closing(c byte) {
	if r.peek(0) != c {
		r.lose()
		return
	}
	r.i++
}

func (r *plainReader) variable() shape {
	at := r.i
	r.i++
	name := r.word()
	r.i += len(name)
	name = r.src[at:r.i]
	if r.lost || !slices.Contains(r.vars, name) || name == "$ENV" || strings.HasPrefix(name, "$__") {
		return r.lose()
	}
	ref := len(r.refs)
	r.refs = append(r.refs, Ref{Var: name, Offset: at})
	all := true
	var keys [6]string
	path := keys[:0]
	r.suffixesOf(&path, &all)
	if r.lost {
		return shape{}
	}
	r.refs[ref].Path = append([]string(nil), path...)
	if !all {
		return shape{}
	}
	return shape{kind: shapeVar, ref: ref}
}

// path reads a term that starts with a dot.
func (r *plainReader) path(lead bool) shape {
	var out shape
	var keys []string
	own, at := r.off == 0, r.i
	collect := &keys
	if !lead && !own {
		collect = nil
	}
	r.i++
	switch c := r.peek(0); {
	case c == '.' || digit(c):
		return r.lose()
	case nameStart(c) || c == '"' || c == '[':
		if key, static := r.dotted(); !static {
			collect = nil
		} else if collect != nil {
			keys = append(keys, key)
		}
	default: // the input itself
		return out
	}
	r.suffixes(collect)
	if lead && collect != nil {
		out.lead = keys
	}
	if own && len(keys) > 0 && !r.lost {
		r.paths = append(r.paths, Ref{Var: ".", Path: keys, Offset: at})
	}
	return out
}

// dotted reads what stands behind a dot, or a bracket; static tells that it is a key that is written down.
func (r *plainReader) dotted() (key string, static bool) {
	switch c := r.peek(0); {
	case c == '"':
		if key, static = r.text(); !static {
			r.lose()
		}
		return key, static
	case c == '[':
		return r.bracket()
	case nameStart(c):
		key = r.word()
		r.i += len(key)
		return key, true
	default:
		r.lose()
		return "", false
	}
}

// suffixes reads the suffixes of a term and collects the static path, unless keys is nil; it tells whether there were any.
func (r *plainReader) suffixes(keys *[]string) bool {
	all := true
	return r.suffixesOf(keys, &all)
}

// suffixesOf is suffixes where all is made false by one that is not static.
func (r *plainReader) suffixesOf(keys *[]string, all *bool) bool {
	from := r.i
	for !r.lost {
		switch r.peek(0) {
		case '?':
			r.i++
			continue
		case '.':
			r.i++
		case '[':
		default:
			return r.i > from
		}
		key, static := r.dotted()
		*all = *all && static
		if keys != nil && *all {
			*keys = append(*keys, key)
		}
	}
	return true
}

// bracket reads [], [query] and slices.
func (r *plainReader) bracket() (key string, static bool) {
	r.i++
	r.space()
	if r.peek(0) == ']' {
		r.i++
		return "", false
	}
	if !r.take(":") {
		s := r.pipe()
		if s.kind == shapeEscaped {
			r.lose()
		}
		if r.peek(0) == ']' {
			r.i++
			return s.text, s.kind == shapeString && !r.lost
		}
		if !r.take(":") {
			r.lose()
			return "", false
		}
		if r.peek(0) == ']' {
			r.i++
			return "", false
		}
	}
	r.pipe()
	r.closing(']')
	return "", false
}
