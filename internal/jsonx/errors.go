package jsonx

import "strconv"

// SyntaxError says where a text stops being strict JSON.
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

// SpliceError reports an edit that does not fit the source or the edit before it.
type SpliceError struct {
	Index      int // which edit, from 0
	Start, End int // its range
	Msg        string
}

// Error names the edit and its range.
func (e *SpliceError) Error() string {
	return "edit " + strconv.Itoa(e.Index) + " [" + strconv.Itoa(e.Start) + ":" + strconv.Itoa(e.End) + "]: " + e.Msg
}

// EncodeError reports a value that has no JSON form.
type EncodeError struct {
	Path string // where in the value, as .key and [index]; empty at the top
	Msg  string
}

// Error gives "path: message".
func (e *EncodeError) Error() string {
	if e.Path == "" {
		return e.Msg
	}
	return e.Path + ": " + e.Msg
}
