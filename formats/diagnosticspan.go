package formats

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"tercet/internal/nearest"
)

// Fix is a change of the text from Start up to End that mends a finding. A finding has one only if there is one
// candidate.
type Fix struct {
	Start Pos    `json:"start"`
	End   Pos    `json:"end"`
	Text  string `json:"text"`
}

// complete gives a finding the end of the word that it points at, and the fix where its advice names one candidate for
// that word. The source is the text of its file; lines holds its lines.
func (d *Diagnostic) complete(lines [][]byte) {
	if d.Pos.Line < 1 || d.Pos.Line > len(lines) || d.Pos.Col < 1 {
		return
	}
	line := string(bytes.TrimSuffix(lines[d.Pos.Line-1], []byte{'\r'}))
	if d.Pos.Line == 1 {
		line = strings.TrimPrefix(line, "\ufeff")
	}
	from := d.Pos.Col - 1
	if from > len(line) {
		return
	}
	if d.End.IsZero() {
		d.End = Pos{Line: d.Pos.Line, Col: from + max(1, extent(line[from:])) + 1}
		if from == len(line) {
			d.End.Col = d.Pos.Col
		}
	}
	candidate, ok := nearest.Candidate(d.Help)
	if d.Fix != nil || !ok || d.End.Line != d.Pos.Line || d.End.Col-1 > len(line) {
		return
	}
	fix := &Fix{Start: d.Pos, End: d.End, Text: candidate}
	written := line[from : d.End.Col-1]
	if written != "" && (written[0] == '"' || written[0] == '\'') && len(written) > 1 &&
		written[len(written)-1] == written[0] {
		fix.Start.Col, fix.End.Col = fix.Start.Col+1, fix.End.Col-1
		written = written[1 : len(written)-1]
	}
	if strings.TrimLeft(written, "$") != "" && strings.Contains(d.Message, strings.TrimLeft(written, "$")) {
		if strings.HasPrefix(written, "$") && !strings.HasPrefix(candidate, "$") {
			fix.Start.Col++
		}
		d.Fix = fix
	}
}

// extent is the length of what stands at the start of a text: a name, a quoted text, a value in brackets, the marks and
// words of a heading or a fence, else one character.
func extent(s string) int {
	if s == "" {
		return 0
	}
	switch c := s[0]; {
	case c == '#' || c == '`' || c == '~' || strings.HasPrefix(s, "Step "):
		return len(strings.TrimRight(s, " \t"))
	case c == '"' || c == '\'':
		if end := strings.IndexByte(s[1:], c); end >= 0 {
			return end + 2
		}
		return len(strings.TrimRight(s, " \t"))
	case c == '{' || c == '[':
		return bracketed(s)
	case c == '$' && len(s) > 1 && nameByte(s[1]):
		return 1 + nameLength(s[1:])
	case strings.HasPrefix(s, "${{"):
		if end := strings.Index(s, "}}"); end >= 0 {
			return end + 2
		}
		return len("${{")
	case c == '<':
		if end := strings.IndexByte(s, '>'); end >= 0 {
			return end + 1
		}
	case strings.HasPrefix(s, "---"):
		return len("---")
	case nameByte(c):
		return nameLength(s)
	}
	_, size := utf8.DecodeRuneInString(s)
	return size
}

// bracketed is the length of a value in brackets, up to the one that closes it or the end of the line.
func bracketed(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(strings.TrimRight(s, " \t"))
}

// nameByte tells the characters of names, ids and agents apart from punctuation.
func nameByte(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= utf8.RuneSelf
}

// nameLength is the length of the name at the start of a text; a dash counts only inside of it.
func nameLength(s string) int {
	i := 0
	for i < len(s) && nameByte(s[i]) {
		i++
	}
	return len(strings.TrimRight(s[:i], "-"))
}
