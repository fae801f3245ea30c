package md

import "strings"

// plainEnd returns the end of an unquoted scalar: its value is its source with runs of white space
// replaced.
func (s *source) plainEnd(off int, value string) int {
	for i := range len(value) {
		if c := value[i]; isSpace(c) || c == '\n' {
			continue
		}
		off = skipBlank(s.text, off) + 1
	}
	return off
}

// quotedEnd returns the offset after the quote that closes the one at off.
func quotedEnd(text string, off int) int {
	if off >= len(text) {
		return off
	}
	quote := text[off]
	for i := off + 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] != quote:
		case quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		default:
			return i + 1
		}
	}
	return len(text)
}

// blockEnd returns the end of the block scalar whose header starts at off, and the column, from 0,
// of its text. Its lines are blank or indented more than the collection around it; blank lines at
// the end do not count.
func (s *source) blockEnd(off, outer int) (end, indent int) {
	header, start := s.lineAt(off)
	end = start + len(header)
	if comment := strings.Index(s.text[off:end], " #"); comment >= 0 {
		end = off + comment
	}
	end = off + len(strings.TrimRight(s.text[off:end], " \t"))

	indent = -1
	for i := 1; i < 3 && off+i < len(s.text); i++ {
		if c := s.text[off+i]; c >= '1' && c <= '9' {
			indent = max(outer, 0) + int(c-'0')
		}
	}

	for _, at := range s.starts[s.lineNumber(start):] {
		line, next := s.lineAt(at)
		text := strings.TrimLeft(line, " ")
		if text == "" {
			continue
		}
		width := len(line) - len(text)
		if indent < 0 && width > outer {
			indent = width
		}
		if indent < 0 || width < indent {
			break
		}
		end = next + len(line)
	}

	return end, max(indent, 0)
}

// closingBracket returns the offset after the bracket that ends the flow collection which starts at
// start and whose last child ends at end. A pair inside a list ([a: b]) has no brackets of its own.
func (s *source) closingBracket(start, end int, opener, closer byte) int {
	if start >= len(s.text) || s.text[start] != opener {
		return end
	}
	for i := max(end, start+1); i < len(s.text); i++ {
		switch s.text[i] {
		case closer:
			return i + 1
		case '#':
			comment, _, _ := strings.Cut(s.text[i:], "\n")
			i += len(comment)
		}
	}
	return end
}
