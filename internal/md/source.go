package md

import (
	"bytes"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"
)

// lines is a text with the places of its bytes in a file.
type lines struct {
	text   string
	at     Pos   // of the first byte
	starts []int // offset of each line; there is at least one
}

func linesOf(text string, at Pos) lines {
	starts := append(make([]int, 0, 1+strings.Count(text, "\n")), 0)
	for i := range len(text) {
		if text[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return lines{text, at, starts}
}

// LineCount gives the number of lines; an empty file has one.
func (l *lines) LineCount() int {
	return len(l.starts)
}

// Line gives a line, counted from 1, without its end; empty if it does not exist.
func (l *lines) Line(n int) string {
	switch {
	case n < 1 || n > len(l.starts):
		return ""
	case n < len(l.starts):
		return l.text[l.starts[n-1] : l.starts[n]-1]
	}
	return l.text[l.starts[n-1]:]
}

// lineNumber is that of the line, from 1, that holds an offset.
func (l *lines) lineNumber(off int) int {
	return sort.SearchInts(l.starts, off+1)
}

// pos turns an offset into a place in the file.
func (l *lines) pos(off int) Pos {
	n := l.lineNumber(off)
	col := off - l.starts[n-1] + 1
	if n == 1 {
		return Pos{l.at.Line, l.at.Col + col - 1}
	}
	return Pos{l.at.Line + n - 1, col}
}

// lineAt returns the line that holds the offset, without its end, and the offset of its first byte.
func (l *lines) lineAt(off int) (string, int) {
	n := l.lineNumber(off)
	return strings.TrimSuffix(l.Line(n), "\r"), l.starts[n-1]
}

func (l *lines) problem(code Code, from, to int, msg, help string) Problem {
	return Problem{
		Code: code,
		Pos:  l.pos(from),
		End:  l.pos(max(from, to)),
		Msg:  msg,
		Help: help,
	}
}

// source is one YAML text. The cursor of offset is a line and a column in characters, both from 1,
// and a byte offset.
type source struct {
	lines
	line, col, off int
}

// offset turns the parser's line and column, which counts characters, into an offset. Nodes come in
// source order, so the cursor makes the whole walk linear even when everything stands on one line.
func (s *source) offset(line, col int) int {
	switch {
	case line < 1:
		return 0
	case line > len(s.starts):
		return len(s.text)
	case line != s.line || col < s.col:
		s.line = line
		s.col = 1
		s.off = s.starts[line-1]
	}
	for s.col < col && s.off < len(s.text) && s.text[s.off] != '\n' {
		_, size := utf8.DecodeRuneInString(s.text[s.off:])
		s.off += size
		s.col++
	}
	return s.off
}

// readText gives a file or a block of YAML as lines. It gives false for one larger than the limit,
// or with a byte that is no text. In a block it also refuses control characters, and YAML's line
// ends besides LF and CRLF.
func readText(src []byte, at Pos, limit int, block bool) (lines, Problem, bool) {
	if len(src) > limit {
		return linesOf("", at), Problem{
			CodeTooLarge,
			at,
			at,
			fmt.Sprintf("text of %d bytes, the limit is %d", len(src), limit),
			"split the file",
		}, false
	}

	l := linesOf(string(bytes.TrimPrefix(src, []byte(bom))), at)
	for i, r := range l.text {
		what := ""
		switch {
		case r >= ' ' && r < 0x7f, r == '\n', r == '\t':
			continue
		case r == utf8.RuneError && !strings.HasPrefix(l.text[i:], "\ufffd"):
			what = fmt.Sprintf("the byte 0x%02x, which is not UTF-8", l.text[i])
		case r == 0:
			what = "a NUL byte"
		case !block, r == '\r' && strings.HasPrefix(l.text[i:], "\r\n"):
		case r == '\r':
			what = "a carriage return inside a line"
		case r < 0xa0, r == 0x2028, r == 0x2029, r == 0xfeff, r == 0xfffe, r == 0xffff:
			what = fmt.Sprintf("the control character U+%04X", r)
		}
		switch {
		case what == "":
		case block:
			return linesOf("", at), l.problem(CodeBadText, i, i+1, "text holds "+what,
				"remove it, or write it as an escape in double quotes"), false
		default:
			return linesOf(
					"", at,
				), l.problem(
					CodeBadText,
					i,
					i+1,
					"file holds "+what,
					"save the file as UTF-8 text",
				), false
		}
	}

	return l, Problem{}, true
}
