package schema

import (
	"fmt"

	"tercet/formats"
)

// TextError says where a text stops being JSON.
type TextError struct {
	Pos     formats.Pos
	Message string
}

// Error gives "line:col: message".
func (e *TextError) Error() string { return fmt.Sprintf("%d:%d: %s", e.Pos.Line, e.Pos.Col, e.Message) }

// Fault is one thing that is wrong in a schema itself.
type Fault struct {
	Pos     formats.Pos
	Message string
	Help    string
}

// Violation is one thing in which a value breaks its schema.
type Violation struct {
	Path     string // of the value, as jq writes it below the name that Validate was given
	Expected string
	Got      string
}

// String is the violation in one line.
func (v Violation) String() string { return v.Path + ": expected " + v.Expected + ", got " + v.Got }
