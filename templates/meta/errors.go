package meta

import (
	"errors"
	"fmt"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// AnswerError reports input that is no answer to what /meta asks.
type AnswerError struct{ Problems []string }

// Error lists what is wrong.
func (e *AnswerError) Error() string { return strings.Join(e.Problems, "; ") }

// ErrorCode is VALIDATION_FAILED.
func (e *AnswerError) ErrorCode() formats.Code { return formats.CodeValidationFailed }

// Help shows the form of the line.
func (e *AnswerError) Help() string {
	return `/meta NAME --shape single|sequential|conditional|iterative --agents a,b "what it does"`
}

// ExistsError reports a file that is there already.
type ExistsError struct{ File string }

// Error names the file.
func (e *ExistsError) Error() string { return e.File + " exists and is not overwritten" }

// ErrorCode is PRECONDITION.
func (e *ExistsError) ErrorCode() formats.Code { return formats.CodePrecondition }

// Help says what to do next.
func (e *ExistsError) Help() string {
	if strings.HasPrefix(e.File, subagentFolder) {
		return "the file is there but no subagent came of it: run 'tercet lint " + e.File + "'"
	}
	return "choose another name, or remove the file"
}

// WorkspaceError reports that there is no folder to write into.
type WorkspaceError struct{ Folder string }

// Error names the folder.
func (e *WorkspaceError) Error() string { return fmt.Sprintf("expected folder %s, got none", e.Folder) }

// ErrorCode is NO_WORKSPACE.
func (e *WorkspaceError) ErrorCode() formats.Code { return formats.CodeNoWorkspace }

// Help says what to do next.
func (e *WorkspaceError) Help() string { return "run 'tercet init'" }

// MissingError reports that a value was built without a part it cannot work without: a defect of the program.
type MissingError struct{ What string }

// Error names the part.
func (e *MissingError) Error() string { return "expected " + e.What + ", got nothing" }

// ErrorCode is BUG.
func (e *MissingError) ErrorCode() formats.Code { return formats.CodeBug }

// WriteError reports a file that was not written, or not taken back.
type WriteError struct {
	File string
	Err  error
}

// Error gives the file and the cause.
func (e *WriteError) Error() string { return fmt.Sprintf("write %s: %v", e.File, e.Err) }

// Unwrap gives the cause.
func (e *WriteError) Unwrap() error { return e.Err }

// ErrorCode is IO, or NOT_DURABLE for what is there but may not survive a loss of power.
func (e *WriteError) ErrorCode() formats.Code {
	if _, ok := errors.AsType[*atomicfile.NotDurableError](e.Err); ok {
		return formats.CodeNotDurable
	}
	return formats.CodeIO
}
