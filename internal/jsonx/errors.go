package jsonx

import "strconv"

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
