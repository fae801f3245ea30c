package agentcli

import (
	"fmt"
	"strings"

	"tercet/formats"
)

// MissingError reports that an Exec was built without a part it cannot work without: a defect of the program.
type MissingError struct{ What string }

// Error names the part.
func (e *MissingError) Error() string { return "expected " + e.What + ", got nothing" }

// ErrorCode is BUG.
func (e *MissingError) ErrorCode() formats.Code { return formats.CodeBug }

// ExitError reports a program that ended with a failure and without a return.
type ExitError struct {
	Agent  string
	Argv   []string
	Exit   int
	Signal string   // empty unless a signal ended it
	Last   []string // last lines of its error output
}

// Error states how the program ended, and its last words.
func (e *ExitError) Error() string {
	how := fmt.Sprintf("exit code %d", e.Exit)
	if e.Signal != "" {
		how = e.Signal
	}
	msg := fmt.Sprintf("%s: %s ended with %s and without a return", e.Agent, e.Argv[0], how)
	if len(e.Last) > 0 {
		msg += ": " + strings.Join(e.Last, " | ")
	}
	return msg
}

// ErrorCode is UNKNOWN_ERROR: the program did not say what went wrong.
func (e *ExitError) ErrorCode() formats.Code { return formats.CodeUnknown }

// Help says what to do next.
func (e *ExitError) Help() string {
	return "run the program by hand with the request on its standard input"
}

// FolderError reports a file operation on the delegation's folder that did not work.
type FolderError struct {
	Op  string
	Err error // the cause, inspected by callers; it names the path
}

// Error states operation and cause.
func (e *FolderError) Error() string { return e.Op + ": " + e.Err.Error() }

// Unwrap gives the cause.
func (e *FolderError) Unwrap() error { return e.Err }

// ErrorCode is IO.
func (e *FolderError) ErrorCode() formats.Code { return formats.CodeIO }
