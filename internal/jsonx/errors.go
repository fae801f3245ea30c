package jsonx

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// SyntaxError is the place where a text stops being strict JSON. formats, state and internal/query
// match it.
type SyntaxError struct {
	Line   int // from 1
	Col    int // in characters, from 1, without a byte order mark
	Offset int // in bytes, from 0
	Msg    string
	// Conflict means that a merge conflict marker is at Offset.
	Conflict bool
}

// Error gives "line:col: message".
func (e *SyntaxError) Error() string {
	return strconv.Itoa(e.Line) + ":" + strconv.Itoa(e.Col) + ": " + e.Msg
}

const bom = "\xef\xbb\xbf"

// Pos gives line and column of a byte offset, both from 1. The column counts characters; a
// malformed byte is one, a byte order mark none. An offset outside src means its nearest end.
func Pos(src []byte, offset int) (line, col int) {
	offset = min(max(offset, 0), len(src))
	head := src[:offset]
	line = 1 + bytes.Count(head, []byte{'\n'})
	start := bytes.LastIndexByte(head, '\n') + 1
	if start == 0 && bytes.HasPrefix(head, []byte(bom)) {
		start = len(bom)
	}
	return line, 1 + utf8.RuneCount(head[start:])
}
