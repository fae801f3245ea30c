package jsonx

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// SyntaxError says where a text stops being strict JSON. formats, state and internal/query match it, for the place.
type SyntaxError struct {
	Line   int // from 1
	Col    int // in characters, from 1; a byte order mark is not counted
	Offset int // in bytes, from 0
	Msg    string
	// Conflict is set when the text at Offset is a merge conflict marker of a version control system.
	Conflict bool
}

// Error gives "line:col: message".
func (e *SyntaxError) Error() string {
	return strconv.Itoa(e.Line) + ":" + strconv.Itoa(e.Col) + ": " + e.Msg
}

const bom = "\xef\xbb\xbf"

// Pos gives the line and the column of a byte offset, both from 1. The column counts characters, a malformed byte as
// one; a byte order mark at the start of src counts as none. An offset outside src is taken as its nearest end.
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
