package cassette

import (
	"fmt"

	"tercet/formats"
)

// DriftError refuses a call whose prompt is not the recorded one.
type DriftError struct {
	Agent, Step string
	File        string // of the recording
	Diff        string // lines with - of the recording and + of this run
}

// Error states the place and shows the difference.
func (e *DriftError) Error() string {
	return fmt.Sprintf("the prompt of %s in step %s differs from the recorded one in %s:\n%s", e.Agent, e.Step, e.File, e.Diff)
}

// ErrorCode is USAGE: the recording is not of this run.
func (e *DriftError) ErrorCode() formats.Code { return formats.CodeUsage }

// Help says what to do next.
func (e *DriftError) Help() string { return "record anew with --record if the change is meant" }

// MissingError reports a call that is not on the cassette.
type MissingError struct{ Agent, Step, File string }

// Error names the call.
func (e *MissingError) Error() string {
	return fmt.Sprintf("expected a recording of %s in step %s as %s, got none", e.Agent, e.Step, e.File)
}

// ErrorCode is USAGE.
func (e *MissingError) ErrorCode() formats.Code { return formats.CodeUsage }

// Help says what to do next.
func (e *MissingError) Help() string { return "record the whole command with --record" }

// FileError reports a file of a cassette, or of the tree, that could not be read or written.
type FileError struct {
	Op, File string
	Err      error // the cause, inspected by callers
}

// Error states operation, file and cause.
func (e *FileError) Error() string { return fmt.Sprintf("%s %s: %v", e.Op, e.File, e.Err) }

// Unwrap gives the cause.
func (e *FileError) Unwrap() error { return e.Err }

// ErrorCode is IO.
func (e *FileError) ErrorCode() formats.Code { return formats.CodeIO }
