package jsonx

import (
	"bytes"
	"unicode/utf8"
)

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
