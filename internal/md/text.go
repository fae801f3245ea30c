package md

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// InlineCode returns the content of the code spans of a text, in order.
func InlineCode(text string) []string {
	var spans []string
	scanSpans(text, func(_, code string) {
		if code != "" {
			spans = append(spans, code)
		}
	})
	return spans
}

// scanSpans cuts a text into plain pieces and code spans. A run of backticks opens a span if a run of the same length
// follows; a backslash before it makes it text. visit gets each plain piece with the span after it, "" at the end.
func scanSpans(text string, visit func(plain, code string)) {
	last := lastRuns(text)
	plain := 0
	for i := 0; i < len(text); {
		switch text[i] {
		case '\\':
			i = min(i+2, len(text))
		case '`':
			n := runLength(text, i)
			if last[n] <= i {
				i += n
				continue
			}
			end := closingRun(text, i+n, n)
			visit(text[plain:i], spanContent(text[i+n:end]))
			i = end + n
			plain = i
		default:
			i++
		}
	}
	visit(text[plain:], "")
}

// lastRuns maps the length of a run of backticks to the offset of the last such run.
func lastRuns(text string) map[int]int {
	if strings.IndexByte(text, '`') < 0 {
		return nil
	}
	last := map[int]int{}
	for i := 0; i < len(text); {
		if text[i] != '`' {
			i++
			continue
		}
		n := runLength(text, i)
		last[n] = i
		i += n
	}
	return last
}

func runLength(text string, i int) int {
	n := 1
	for i+n < len(text) && text[i+n] == text[i] {
		n++
	}
	return n
}

// closingRun returns the offset of the next run of exactly n backticks; there is one.
func closingRun(text string, i, n int) int {
	for i < len(text) {
		if text[i] != '`' {
			i++
			continue
		}
		if m := runLength(text, i); m != n {
			i += m
			continue
		}
		break
	}
	return i
}

// spanContent joins lines and takes one space off each side, as markdown does.
func spanContent(s string) string {
	s = strings.ReplaceAll(s, "\n", " ")
	if len(s) > 2 && s[0] == ' ' && s[len(s)-1] == ' ' && strings.Trim(s, " ") != "" {
		return s[1 : len(s)-1]
	}
	return s
}

// marked are the characters that plainText does not take as they are.
const marked = "\n`*_\\\t"

// plainText returns a text on one line without escapes, code marks and emphasis marks. Links and HTML stay as they are.
func plainText(raw string) string {
	plain := true
	for i := 0; i < len(marked) && plain; i++ {
		plain = strings.IndexByte(raw, marked[i]) < 0
	}
	if plain {
		return strings.TrimSpace(raw)
	}
	var b strings.Builder
	b.Grow(len(raw))
	scanSpans(raw, func(plain, code string) {
		plainPiece(&b, plain)
		b.WriteString(code)
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// mark is an open run of emphasis marks.
type mark struct{ from, size int }

// plainPiece writes a piece without code spans. Emphasis is found by pairs of runs of the same mark and length that stand
// at the edges of words.
func plainPiece(b *strings.Builder, s string) {
	drop := emphasis(s)
	for i := 0; i < len(s); {
		if len(drop) > 0 && i == drop[0].from {
			i += drop[0].size
			drop = drop[1:]
			continue
		}
		if s[i] == '\\' && i+1 < len(s) && isPunct(s[i+1]) {
			i++
		}
		b.WriteByte(s[i])
		i++
	}
}

// emphasis returns the runs of marks that are emphasis, in order.
func emphasis(s string) []mark {
	if !strings.ContainsAny(s, "*_") {
		return nil
	}
	var open [8]mark // open runs by mark and length: * and _, 1 to 3
	dropped := map[int]int{}
	var order []mark
	for i := 0; i < len(s); {
		c := s[i]
		if c == '\\' {
			i += 2
			continue
		}
		if c != '*' && c != '_' {
			i++
			continue
		}
		n := runLength(s, i)
		if n > 3 {
			i += n
			continue
		}
		slot := n
		if c == '_' {
			slot += 4
		}
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		after, _ := utf8.DecodeRuneInString(s[i+n:])
		m := mark{i, n}
		switch prev := open[slot]; {
		case prev.size > 0 && i > 0 && !unicode.IsSpace(before) && (c == '*' || i+n == len(s) || !isWord(after)):
			open[slot] = mark{}
			dropped[prev.from], dropped[i] = n, n
		case i+n < len(s) && !unicode.IsSpace(after) && (c == '*' || i == 0 || !isWord(before)):
			open[slot] = m
		}
		order = append(order, m)
		i += n
	}
	kept := order[:0]
	for _, m := range order {
		if dropped[m.from] > 0 {
			kept = append(kept, m)
		}
	}
	return kept
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func isPunct(c byte) bool {
	return c >= '!' && c <= '/' || c >= ':' && c <= '@' || c >= '[' && c <= '`' || c >= '{' && c <= '~'
}
