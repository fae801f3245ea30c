package md

import "strings"

// plainStart tells whether an unquoted scalar starts here, of those that are simple.
func (r *simpleReader) plainStart() bool {
	switch c := r.peek(0); {
	case isWordByte(c), c > 0x7f:
		return true
	case c == '-':
		return isWordByte(r.peek(1)) || r.peek(1) == '-' && isWordByte(r.peek(2))
	default:
		return c != 0 && strings.IndexByte("$./(+~=^;\\<", c) >= 0
	}
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// plain makes the unquoted scalar that goes up to end.
func (r *simpleReader) plain(end int) *Node {
	n := r.node(Scalar, Plain)
	n.raw = r.text[r.i:end]
	n.Value, n.End, n.Type = n.raw, r.pos(end), resolve(n.raw)
	r.i = end
	return n
}

// quoted reads a scalar in quotes that ends on the same line.
func (r *simpleReader) quoted() *Node {
	quote := r.text[r.i]
	n := r.node(Scalar, SingleQuoted)
	if quote == '"' {
		n.Style = DoubleQuoted
	}
	n.Type = Str
	special := false // it holds an escape
	i := r.i + 1
	for ; ; i++ {
		if i >= len(r.text) || r.text[i] == '\n' {
			return r.lose()
		}
		if c := r.text[i]; c == '\\' && quote == '"' {
			special = true
			i++
		} else if c == quote {
			if quote == '"' || i+1 == len(r.text) || r.text[i+1] != quote {
				break
			}
			special = true
			i++
		}
	}
	n.raw, n.End = r.text[r.i:i+1], r.pos(i+1)
	n.Value = n.raw[1 : len(n.raw)-1]
	r.i = i + 1
	switch {
	case special && quote == '\'':
		n.Value = strings.ReplaceAll(n.Value, "''", "'")
	case special:
		var ok bool
		if n.Value, ok = unescape(n.Value); !ok {
			return r.lose()
		}
	}
	return n
}

// unescape takes the simple escapes out of a text in double quotes.
func unescape(s string) (string, bool) {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' {
			i++ // quoted has seen that there is one more
			switch c = s[i]; c {
			case '"', '\\', '/':
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			default:
				return "", false
			}
		}
		b.WriteByte(c)
	}
	return b.String(), true
}

// flow reads {...} or [...]; outer is the column of the block collection around it.
func (r *simpleReader) flow(outer int) *Node {
	if r.depth++; r.depth > maxSimple {
		return r.lose()
	}
	var n *Node
	if r.text[r.i] == '{' {
		n = r.flowMap(outer)
	} else {
		n = r.flowList(outer)
	}
	r.depth--
	if r.lost {
		return nil
	}
	r.i++
	n.End = r.pos(r.i)
	return n
}

// flowSpace goes to the next character inside brackets. A further line must be indented more than the block around it.
func (r *simpleReader) flowSpace(outer int) {
	r.spaces()
	if r.peek(0) != '\n' {
		return
	}
	r.newline()
	if r.spaces(); r.col() <= outer || r.peek(0) == '\n' {
		r.lose()
	}
}

// flowNext takes a comma and goes to what follows it; false at the closing bracket.
func (r *simpleReader) flowNext(outer int, closer byte) bool {
	if r.lost {
		return false
	}
	r.flowSpace(outer)
	switch r.peek(0) {
	case closer:
		return false
	case ',':
		r.i++
		r.flowSpace(outer)
		return true
	default:
		r.lose()
		return false
	}
}

func (r *simpleReader) flowMap(outer int) *Node {
	n, from := r.node(Map, FlowStyle), len(r.entries)
	r.i++
	r.flowSpace(outer)
	for more := r.peek(0) != '}'; more; more = r.flowNext(outer, '}') {
		key, colon := r.flowScalar()
		if r.lost || !colon {
			return r.lose()
		}
		r.i++
		r.spaces()
		value := r.flowValue(outer)
		if r.lost || !r.entry(from, key, value) {
			return r.lose()
		}
	}
	return r.closeMap(n, from)
}

func (r *simpleReader) flowList(outer int) *Node {
	n, from := r.node(List, FlowStyle), len(r.items)
	r.i++
	r.flowSpace(outer)
	for more := r.peek(0) != ']'; more; more = r.flowNext(outer, ']') {
		item := r.flowValue(outer)
		if r.lost {
			return nil
		}
		r.items = append(r.items, item)
	}
	return r.closeList(n, from)
}

func (r *simpleReader) flowValue(outer int) *Node {
	if c := r.peek(0); c == '{' || c == '[' {
		return r.flow(outer)
	}
	n, colon := r.flowScalar()
	if colon {
		return r.lose()
	}
	return n
}

// flowScalar reads a scalar inside brackets; colon tells that a colon and a space follow it.
func (r *simpleReader) flowScalar() (n *Node, colon bool) {
	from := r.i
	switch c := r.peek(0); {
	case c == '"' || c == '\'':
		n = r.quoted()
	case r.plainStart():
		end := r.flowPlainEnd()
		if r.lost {
			return nil, false
		}
		n = r.plain(end)
	default:
		return r.lose(), false
	}
	if r.peek(0) != ':' {
		return n, false
	}
	if r.peek(1) != ' ' || r.i-from > maxSimpleKey {
		return r.lose(), false
	}
	return n, true
}

// flowPlainEnd finds the end of an unquoted scalar inside brackets.
func (r *simpleReader) flowPlainEnd() int {
	i := r.i
scan:
	for ; i < len(r.text); i++ {
		switch c := r.text[i]; c {
		case ',', ']', '}':
			break scan
		case '[', '{', '\n':
			r.lose()
			return i
		case '#':
			if r.text[i-1] == ' ' {
				r.lose()
				return i
			}
		case ':':
			if i+1 == len(r.text) || strings.IndexByte(",[]{}\n", r.text[i+1]) >= 0 || r.text[i-1] == ' ' {
				r.lose()
				return i
			}
			if r.text[i+1] == ' ' {
				break scan
			}
		}
	}
	for r.text[i-1] == ' ' {
		i--
	}
	return i
}
