package query

import (
	"strings"
	"unicode/utf8"
)

// text reads a string without interpolations; static tells that it has no escapes either, so that its text is what is written.
func (r *plainReader) text() (text string, static bool) {
	from, static := r.i+1, true
	for r.i++; r.i < len(r.src); r.i++ {
		switch c := r.src[r.i]; {
		case c == '"':
			r.i++
			return r.src[from : r.i-1], static
		case c == '\\':
			if r.i++; strings.IndexByte(`"\/nt`, r.peek(0)) < 0 {
				r.lose()
				return "", false
			}
			static = false
		case c < ' ' || c == 0x7f:
			r.lose()
			return "", false
		case c >= utf8.RuneSelf:
			ch, size := utf8.DecodeRuneInString(r.src[r.i:])
			if ch == utf8.RuneError {
				r.lose()
				return "", false
			}
			r.i += size - 1
		}
	}
	r.lose()
	return "", false
}

// number reads digits, perhaps with a point between them.
func (r *plainReader) number() {
	for digit(r.peek(0)) {
		r.i++
	}
	if r.peek(0) == '.' {
		if r.i++; !digit(r.peek(0)) {
			r.lose()
			return
		}
		for digit(r.peek(0)) {
			r.i++
		}
	}
	if c := r.peek(0); c == '.' || nameStart(c) {
		r.lose()
	}
}

func (r *plainReader) object() {
	r.i++
	for r.space(); r.peek(0) != '}' && !r.lost; {
		r.pair()
		if r.peek(0) == '}' {
			break
		}
		if !r.take(",") || r.peek(0) == '}' {
			r.lose()
			return
		}
	}
	r.closing('}')
}

// pair reads one member of an object and the white space behind it.
func (r *plainReader) pair() {
	switch c := r.peek(0); {
	case c == '$':
		from := len(r.refs)
		if s := r.variable(); s.kind != shapeVar || len(r.refs) != from+1 || len(r.refs[from].Path) > 0 || r.src[r.i-1] == '?' {
			r.lose()
			return
		}
		r.space()
		return
	case c == '(':
		r.i++
		r.space()
		r.pipe()
		r.closing(')')
		if r.space(); r.peek(0) != ':' {
			r.lose()
			return
		}
	case c == '"':
		r.text()
	case nameStart(c):
		r.i += len(r.word())
	default:
		r.lose()
		return
	}
	r.space()
	if r.take(":") {
		r.member()
	}
}

// named reads what starts with a name: a constant, a condition, a call.
func (r *plainReader) named() bool {
	name, at := r.word(), r.i
	switch name {
	case "":
		return false
	case "null", "true", "false":
		r.i += len(name)
		return true
	case "if":
		return r.condition()
	}
	r.i += len(name)
	call := len(r.calls)
	r.calls = append(r.calls, Call{Function{Name: name}, at})
	args := 0
	if r.peek(0) == '(' {
		r.i++
		r.space()
		r.off++ // most functions give their arguments inputs of their own
		for more := true; more; more = r.take(";") {
			r.pipe()
			args++
		}
		r.off--
		r.closing(')')
	}
	if r.lost || !r.known(name, args) {
		return false
	}
	r.calls[call].Args = args
	return true
}

// known tells whether a plain query may call a function.
func (r *plainReader) known(name string, args int) bool {
	switch args {
	case 0:
		return plain0(name) || r.funcs == Workflow && plainWorkflow0(name)
	case 1:
		return plain1(name) || r.funcs == Workflow && plainWorkflow1(name)
	case 2:
		return plain2(name)
	default:
		return false
	}
}

// condition reads if, then, elif, else and end.
func (r *plainReader) condition() bool {
	r.keyword("if")
	for {
		r.pipe()
		if !r.keyword("then") {
			return false
		}
		r.pipe()
		if !r.keyword("elif") {
			break
		}
	}
	if r.keyword("else") {
		r.pipe()
	}
	if r.lost || r.word() != "end" {
		return false
	}
	r.i += len("end")
	return true
}
