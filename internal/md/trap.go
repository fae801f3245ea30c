package md

import "strings"

// flowRun follows the entries of one {...} map and joins the pieces that YAML cut an unquoted value into.
type flowRun struct {
	report   func(code Code, from, to int, msg, help string)
	text     string
	from, to int  // the value with its pieces
	open     bool // a piece was seen
	value    bool // the run starts at a value, not at a key
	lastFrom int  // start of the last plain value, -1: none
	seen     bool
}

// keep notes an ordinary entry, which ends a run.
func (r *flowRun) keep(value *Node, end int) {
	r.end()
	r.seen, r.lastFrom = true, -1
	if value.Kind == Scalar && value.Style == Plain && !value.Absent() {
		r.lastFrom = end - len(value.raw)
	}
}

// end reports the run if there is one.
func (r *flowRun) end() {
	if !r.open {
		return
	}
	r.open = false
	if r.value {
		r.report(CodeFlowTrap, r.from, r.to, `", " ends an unquoted value inside {...}`,
			"quote the value: "+quote(r.text[r.from:r.to]))
		return
	}
	r.report(CodeFlowTrap, r.from, r.to, "entry without a colon inside {...}",
		"write key: value, or quote the value that this belongs to")
}

// cut reports whether the entry is a piece of text without a colon, and notes it.
func (c *converter) cut(r *flowRun, key, value *Node, keyEnd int) bool {
	if !value.Absent() || key.Kind != Scalar || key.Absent() {
		return false
	}
	if next := skipBlank(c.text, keyEnd); next < len(c.text) && c.text[next] == ':' {
		return false
	}
	if !r.open {
		r.open, r.from, r.value = true, keyEnd-len(key.raw), false
		if r.seen && r.lastFrom >= 0 {
			r.from, r.value = r.lastFrom, true
		}
	}
	r.to = keyEnd
	return true
}

// quote returns the text as a YAML scalar in quotes, single ones when possible.
func quote(v string) string {
	switch {
	case !strings.Contains(v, "'"):
		return "'" + v + "'"
	case !strings.ContainsAny(v, "\"\\"):
		return `"` + v + `"`
	default:
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	}
}

// trapScanner walks a YAML text that the parser refused, far enough to find an unquoted value inside {...} or [...]
// that stopped at a bracket, a brace, a colon or a comma which its author took for text.
type trapScanner struct {
	text  string
	i     int
	stack []byte // open brackets
	colon bool   // inside {...}: the entry has had its colon
}

// flowTrap returns the piece of source that should have been quoted.
func flowTrap(text string, until int) (from, to int, ok bool) {
	t := trapScanner{text: text}
	for t.i < len(text) && t.i <= until {
		var start int
		if len(t.stack) == 0 {
			start, ok = t.block()
		} else {
			start, ok = t.flow()
		}
		if ok {
			return start, intendedEnd(text, start), start <= until
		}
	}
	return 0, 0, false
}

// block takes one token of block context.
func (t *trapScanner) block() (int, bool) {
	switch c := t.text[t.i]; {
	case isSpace(c) || c == '\n' || c == '\r':
		t.i++
	case c == '#':
		t.line()
	case c == '\'' || c == '"':
		t.quoted()
	case c == '{' || c == '[':
		t.push(c)
	case c == '|' || c == '>':
		t.blockScalar()
	case (c == '-' || c == '?' || c == ':') && t.i+1 < len(t.text) && isSpace(t.text[t.i+1]):
		t.i++
	default:
		t.plainBlock()
	}
	return 0, false
}

func (t *trapScanner) push(c byte) {
	t.stack = append(t.stack, c)
	t.colon = false
	t.i++
}

func (t *trapScanner) line() {
	if n := strings.IndexByte(t.text[t.i:], '\n'); n >= 0 {
		t.i += n + 1
		return
	}
	t.i = len(t.text)
}

func (t *trapScanner) quoted() {
	t.i = quotedEnd(t.text, t.i)
}

// plainBlock skips an unquoted scalar up to a colon or the end of the line.
func (t *trapScanner) plainBlock() {
	for t.i < len(t.text) && t.text[t.i] != '\n' {
		c := t.text[t.i]
		t.i++
		if c == ':' && (t.i == len(t.text) || skipBlank(t.text, t.i) > t.i) {
			return
		}
	}
}

// blockScalar skips the lines that are indented more than the one with the header.
func (t *trapScanner) blockScalar() {
	start := strings.LastIndexByte(t.text[:t.i], '\n') + 1
	outer := indentOf(t.text[start:])
	t.line()
	for t.i < len(t.text) {
		rest := t.text[t.i:]
		width := indentOf(rest)
		if width <= outer && width < len(rest) && rest[width] != '\n' && rest[width] != '\r' {
			return
		}
		t.line()
	}
}

func indentOf(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }

// flow takes one token of flow context and reports the start of a value that was cut.
func (t *trapScanner) flow() (int, bool) {
	switch c := t.text[t.i]; {
	case isSpace(c) || c == '\n' || c == '\r':
		t.i++
	case c == '#' && t.i > 0 && skipBlank(t.text, t.i-1) > t.i-1:
		t.line()
	case c == '\'' || c == '"':
		t.quoted()
	case c == '{' || c == '[':
		t.push(c)
	case c == '}' || c == ']':
		t.stack = t.stack[:len(t.stack)-1]
		t.colon = true
		t.i++
	case c == ',':
		t.colon = false
		t.i++
	case c == ':':
		t.colon = true
		t.i++
	default:
		return t.plainFlow()
	}
	return 0, false
}

// plainFlow takes an unquoted scalar of flow context; true when it was cut.
func (t *trapScanner) plainFlow() (int, bool) {
	start, top := t.i, t.stack[len(t.stack)-1]
	for ; t.i < len(t.text); t.i++ {
		rest := t.text[t.i+1:]
		switch c := t.text[t.i]; c {
		case '[', '{':
			return start, true
		case ']', '}':
			return start, false
		case ',':
			piece := t.text[start:t.i]
			return start, strings.Count(piece, "(") > strings.Count(piece, ")") || strings.Count(piece, `"`)%2 == 1
		case ':':
			if rest == "" || strings.IndexByte(" \t\r\n,[]{}", rest[0]) >= 0 {
				return start, top == '{' && t.colon && !strings.Contains(t.text[start:t.i], "\n") && !t.startsLine(start)
			}
		case '#':
			if isSpace(t.text[t.i-1]) {
				return start, false
			}
		}
	}
	return start, false
}

// startsLine reports a place with nothing but white space before it on its line: a key there is the next one, not a
// piece of the value before it.
func (t *trapScanner) startsLine(i int) bool {
	before := strings.TrimRight(t.text[:i], " \t")
	return before == "" || before[len(before)-1] == '\n'
}

// intendedEnd returns where a value that starts at from was meant to end: brackets and quotes balanced, up to a comma,
// a closing bracket of the surroundings, or the end of the line.
func intendedEnd(text string, from int) int {
	depth, i := 0, from
	for ; i < len(text); i++ {
		switch c := text[i]; c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth == 0 && c != ')' {
				return from + len(strings.TrimRight(text[from:i], " \t"))
			}
			depth = max(depth-1, 0)
		case '"':
			if n := strings.IndexByte(text[i+1:], '"'); n >= 0 && !strings.Contains(text[i+1:i+1+n], "\n") {
				i += n + 1
			}
		case ',':
			if depth == 0 {
				return from + len(strings.TrimRight(text[from:i], " \t"))
			}
		case '\n', '\r':
			return from + len(strings.TrimRight(text[from:i], " \t"))
		}
	}
	return i
}
