package md

import (
	"bytes"
	"fmt"
	"sort"
	"unicode/utf8"
)

// source is one YAML text with what is needed to turn places in it into places in the file.
type source struct {
	src    []byte
	text   string // the same bytes; nodes keep pieces of it
	at     Pos    // of src[0] in the file
	starts []int  // offset of each line
	line   int    // cursor of offset: line, column in runes (both from 1), byte offset
	col    int
	off    int
}

func newSource(src []byte, at Pos) *source {
	return &source{src: src, text: string(src), at: at, starts: lineStarts(src), line: 1, col: 1}
}

// lineStarts returns the offset of the first byte of every line; there is at least one.
func lineStarts(src []byte) []int {
	starts := make([]int, 1, 1+bytes.Count(src, []byte{'\n'}))
	for i, c := range src {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// pos turns an offset into a place in the file.
func (s *source) pos(off int) Pos {
	i := sort.SearchInts(s.starts, off+1) - 1
	col := off - s.starts[i] + 1
	if i == 0 {
		return Pos{s.at.Line, s.at.Col + col - 1}
	}
	return Pos{s.at.Line + i, col}
}

// offset turns the parser's line and column, which counts characters, into an offset. Nodes come in source order, so
// the cursor makes the whole walk linear even when everything stands on one line.
func (s *source) offset(line, col int) int {
	if line < 1 {
		return 0
	}
	if line > len(s.starts) {
		return len(s.src)
	}
	if line != s.line || col < s.col {
		s.line, s.col, s.off = line, 1, s.starts[line-1]
	}
	for s.col < col && s.off < len(s.src) && s.src[s.off] != '\n' {
		_, size := utf8.DecodeRune(s.src[s.off:])
		s.off += size
		s.col++
	}
	return s.off
}

// lineAt returns the line that holds the offset, without its end, and the offset of its first byte.
func (s *source) lineAt(off int) (string, int) {
	i := sort.SearchInts(s.starts, off+1) - 1
	start, end := s.starts[i], len(s.text)
	if i+1 < len(s.starts) {
		end = s.starts[i+1] - 1
	}
	if end > start && s.text[end-1] == '\r' {
		end--
	}
	return s.text[start:end], start
}

func (s *source) problem(code Code, from, to int, msg, help string) Problem {
	return Problem{Code: code, Pos: s.pos(from), End: s.pos(max(from, to)), Msg: msg, Help: help}
}

// badText returns the offset and the description of the first byte sequence that a text file must not hold, or -1.
// In strict mode, for YAML, that includes every character that YAML takes for a line end besides LF and CRLF.
func badText(src []byte, strict bool) (int, string) {
	for i := 0; i < len(src); {
		c := src[i]
		if c >= ' ' && c < 0x7f || c == '\n' || c == '\t' {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			switch {
			case c == 0:
				return i, "a NUL byte"
			case c == '\r' && (!strict || i+1 < len(src) && src[i+1] == '\n'):
			case c == '\r':
				return i, "a carriage return inside a line"
			case strict:
				return i, fmt.Sprintf("the control character U+%04X", c)
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(src[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return i, fmt.Sprintf("the byte 0x%02x, which is not UTF-8", c)
		case strict && (r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff):
			return i, fmt.Sprintf("the control character U+%04X", r)
		}
		i += size
	}
	return -1, ""
}
