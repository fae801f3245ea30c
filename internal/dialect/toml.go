package dialect

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"tercet/formats"
)

// tomlReader reads the part of TOML that command files use: keys with strings of all four kinds, numbers, truth values,
// dates (as text), arrays and inline tables, and tables, whose keys get the table's name in front of them. Arrays of tables
// are read like tables. A file that breaks it is refused with the place.
type tomlReader struct {
	text  string
	i     int
	table string
	keys  []Key
	notes *notes
}

// maxNested bounds arrays and inline tables inside each other.
const maxNested = 32

// tomlError is where and why the reading stopped.
type tomlError struct {
	at        int
	msg, help string
}

func (n *notes) toml(text string) ([]Key, bool) {
	r := &tomlReader{text: text, notes: n}
	if e := r.file(); e != nil {
		n.add(codeTOML, r.pos(e.at), e.help, e.msg)
		return r.keys, false
	}
	return r.keys, true
}

func (r *tomlReader) pos(off int) formats.Pos {
	off = min(off, len(r.text))
	return formats.Pos{Line: 1 + strings.Count(r.text[:off], "\n"), Col: off - strings.LastIndexByte(r.text[:off], '\n')}
}

func (r *tomlReader) fail(help, format string, args ...any) *tomlError {
	return &tomlError{r.i, fmt.Sprintf(format, args...), help}
}

// blank skips white space and, when lines is set, line ends and comments.
func (r *tomlReader) blank(lines bool) {
	for r.i < len(r.text) {
		switch c := r.text[r.i]; {
		case c == ' ' || c == '\t', c == '\n' && lines:
			r.i++
		case c == '#' && lines:
			r.comment()
		default:
			return
		}
	}
}

func (r *tomlReader) comment() {
	for r.i < len(r.text) && r.text[r.i] != '\n' {
		r.i++
	}
}

func (r *tomlReader) peek() byte {
	if r.i < len(r.text) {
		return r.text[r.i]
	}
	return 0
}

func (r *tomlReader) file() *tomlError {
	seen := map[string]bool{}
	for {
		r.blank(true)
		if r.i >= len(r.text) {
			return nil
		}
		if r.peek() == '[' {
			if e := r.header(); e != nil {
				return e
			}
			continue
		}
		start := r.i
		name, e := r.key()
		if e != nil {
			return e
		}
		value, raw, e := r.assigned()
		if e != nil {
			return e
		}
		if r.blank(false); r.peek() == '#' {
			r.comment()
		}
		if r.i < len(r.text) && r.peek() != '\n' {
			return r.fail("end the line after the value; quotes inside a text need a backslash, or ''' around it", "text after the value of %s", name)
		}
		name = r.table + name
		if seen[name] {
			return &tomlError{start, fmt.Sprintf("key %s stands twice", name), "keep one of the two"}
		}
		seen[name] = true
		r.keys = append(r.keys, Key{Name: name, Pos: r.pos(start), Raw: raw, Value: value})
	}
}

func (r *tomlReader) header() *tomlError {
	start := r.i
	double := strings.HasPrefix(r.text[r.i:], "[[")
	r.i++
	if double {
		r.i++
	}
	r.blank(false)
	name, e := r.key()
	if e != nil {
		return e
	}
	r.blank(false)
	end := "]"
	if double {
		end = "]]"
	}
	if !strings.HasPrefix(r.text[r.i:], end) {
		return r.fail("write ["+name+"]", "expected %s after the name of a table", end)
	}
	r.i += len(end)
	if r.blank(false); r.peek() == '#' {
		r.comment()
	}
	if r.i < len(r.text) && r.peek() != '\n' {
		return r.fail("end the line there", "text after the name of a table")
	}
	r.table = name + "."
	if double {
		r.table = fmt.Sprintf("%s[%d].", name, start)
	}
	return nil
}

// key reads a name, quoted or not, with dots between its parts.
func (r *tomlReader) key() (string, *tomlError) {
	var parts []string
	for {
		r.blank(false)
		start := r.i
		if c := r.peek(); c == '"' || c == '\'' {
			text, e := r.line(c)
			if e != nil {
				return "", e
			}
			parts = append(parts, text)
		} else {
			for r.i < len(r.text) && bare(r.text[r.i]) {
				r.i++
			}
			if r.i == start {
				return "", r.fail(`write prompt = """ ... """`, "expected a key")
			}
			parts = append(parts, r.text[start:r.i])
		}
		if r.blank(false); r.peek() != '.' {
			return strings.Join(parts, "."), nil
		}
		r.i++
	}
}

func bare(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

func (r *tomlReader) assigned() (any, string, *tomlError) {
	if r.blank(false); r.peek() != '=' {
		return nil, "", r.fail("write key = value", "expected = after the key")
	}
	r.i++
	r.blank(false)
	start := r.i
	value, e := r.value(0)
	if e != nil {
		return nil, "", e
	}
	if text, ok := value.(string); ok {
		return value, text, nil
	}
	return value, strings.TrimSpace(r.text[start:r.i]), nil
}

func (r *tomlReader) value(depth int) (any, *tomlError) {
	if depth > maxNested {
		return nil, r.fail("flatten the value", "arrays nested too deeply")
	}
	rest := r.text[r.i:]
	switch c := r.peek(); {
	case strings.HasPrefix(rest, `"""`) || strings.HasPrefix(rest, "'''"):
		return r.lines(rest[:3])
	case c == '"' || c == '\'':
		return r.line(c)
	case c == '[':
		return r.array(depth)
	case c == '{':
		return r.inline(depth)
	}
	end := r.i
	for end < len(r.text) && strings.IndexByte(" \t\n#,]}", r.text[end]) < 0 {
		end++
	}
	word := r.text[r.i:end]
	v, ok := scalar(word)
	if !ok {
		return nil, r.fail(`put the text into quotes: "`+word+`"`, "expected a value, got %.40q", word)
	}
	r.i = end
	return v, nil
}

// scalar reads a number, a truth value or a date.
func scalar(word string) (any, bool) {
	switch word {
	case "true":
		return true, true
	case "false":
		return false, true
	case "":
		return nil, false
	case "inf", "+inf", "-inf", "nan", "+nan", "-nan":
		return word, true
	}
	if strings.IndexByte("+-0123456789", word[0]) < 0 {
		return nil, false
	}
	digits := strings.ReplaceAll(word, "_", "")
	if i, err := strconv.ParseInt(digits, 0, 64); err == nil {
		return int(i), true
	}
	if f, err := strconv.ParseFloat(digits, 64); err == nil {
		return f, true
	}
	return word, len(word) >= 8 && strings.Trim(word, "0123456789-:.TZ+tz") == ""
}

func (r *tomlReader) array(depth int) (any, *tomlError) {
	out := []any{}
	for r.i++; ; {
		r.blank(true)
		if r.peek() == ']' {
			r.i++
			return out, nil
		}
		v, e := r.value(depth + 1)
		if e != nil {
			return nil, e
		}
		out = append(out, v)
		r.blank(true)
		switch r.peek() {
		case ',':
			r.i++
		case ']':
		default:
			return nil, r.fail("close the list with ]", "expected , or ] in a list")
		}
	}
}

func (r *tomlReader) inline(depth int) (any, *tomlError) {
	out := map[string]any{}
	for r.i++; ; {
		r.blank(true)
		if r.peek() == '}' {
			r.i++
			return out, nil
		}
		name, e := r.key()
		if e != nil {
			return nil, e
		}
		if r.blank(false); r.peek() != '=' {
			return nil, r.fail("write {key = value}", "expected = after the key")
		}
		r.i++
		r.blank(false)
		if out[name], e = r.value(depth + 1); e != nil {
			return nil, e
		}
		r.blank(true)
		switch r.peek() {
		case ',':
			r.i++
		case '}':
		default:
			return nil, r.fail("close the table with }", "expected , or } in a table")
		}
	}
}

// line reads a string of one line, basic or literal.
func (r *tomlReader) line(quote byte) (string, *tomlError) {
	start := r.i
	r.i++
	var b strings.Builder
	for r.i < len(r.text) {
		switch c := r.text[r.i]; {
		case c == quote:
			r.i++
			return b.String(), nil
		case c == '\n':
			return "", &tomlError{start, "quoted text without a closing quote on its line", `close the quote, or write """ around a text of several lines`}
		case c == '\\' && quote == '"':
			if e := r.escape(&b); e != nil {
				return "", e
			}
		default:
			b.WriteByte(c)
			r.i++
		}
	}
	return "", &tomlError{start, "quoted text without a closing quote", "close the quote"}
}

// lines reads a string of several lines, basic or literal. A line feed directly after the opening is not part of it.
func (r *tomlReader) lines(mark string) (string, *tomlError) {
	start := r.i
	r.i += len(mark)
	if r.peek() == '\n' {
		r.i++
	}
	var b strings.Builder
	for r.i < len(r.text) {
		rest := r.text[r.i:]
		switch c := rest[0]; {
		case strings.HasPrefix(rest, mark):
			// Up to two quotes may stand directly before the closing ones.
			extra := 0
			for extra < 2 && len(rest) > 3+extra && rest[3+extra] == mark[0] {
				extra++
			}
			b.WriteString(rest[:extra])
			r.i += len(mark) + extra
			return b.String(), nil
		case c == '\\' && mark == `"""`:
			if joined := strings.TrimLeft(rest[1:], " \t"); strings.HasPrefix(joined, "\n") {
				r.i += len(rest) - len(strings.TrimLeft(joined, " \t\n"))
				continue
			}
			if e := r.escape(&b); e != nil {
				return "", e
			}
		default:
			b.WriteByte(c)
			r.i++
		}
	}
	return "", &tomlError{start, "text opened by " + mark + " is not closed", "end it with " + mark}
}

// escape reads what a backslash stands for.
func (r *tomlReader) escape(b *strings.Builder) *tomlError {
	if r.i+1 >= len(r.text) {
		return r.fail("write \\\\ for a backslash", "backslash at the end of the file")
	}
	c := r.text[r.i+1]
	if at := strings.IndexByte(`btnfre"\`, c); at >= 0 {
		b.WriteByte("\b\t\n\f\r\x1b\"\\"[at])
		r.i += 2
		return nil
	}
	width := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if width > 0 && r.i+2+width <= len(r.text) {
		code, err := strconv.ParseUint(r.text[r.i+2:r.i+2+width], 16, 32)
		if err == nil && utf8.ValidRune(rune(code)) {
			b.WriteRune(rune(code))
			r.i += 2 + width
			return nil
		}
	}
	return r.fail(`write \\ for a backslash, or put ''' around the text`, "unknown escape \\%c in a text with double quotes", c)
}
