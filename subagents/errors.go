package subagents

import (
	"errors"
	"fmt"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// UnknownAgentError reports a delegation to a name that no subagent has.
type UnknownAgentError struct {
	Name       string
	DidYouMean []string // nearest first, may be empty
}

// Error states the name.
func (e *UnknownAgentError) Error() string { return fmt.Sprintf("unknown subagent %q", e.Name) }

// ErrorCode is NOT_FOUND.
func (e *UnknownAgentError) ErrorCode() formats.Code { return formats.CodeNotFound }

// Help offers the nearest names.
func (e *UnknownAgentError) Help() string {
	if len(e.DidYouMean) == 0 {
		return "add subagents/" + e.Name + ".md to the workspace"
	}
	return "did you mean '" + strings.Join(e.DidYouMean, "' or '") + "'?"
}

// CycleError reports a delegation to a name that is on its own path.
type CycleError struct {
	Name string
	Path []string // of the caller
}

// Error states the name and the path.
func (e *CycleError) Error() string {
	return fmt.Sprintf("%s would delegate to %q, which is already on that path", strings.Join(e.Path, " > "), e.Name)
}

// ErrorCode is CYCLE_DETECTED.
func (e *CycleError) ErrorCode() formats.Code { return formats.CodeCycle }

// Help says what to do next.
func (e *CycleError) Help() string { return "let the command delegate to each of them in turn" }

// ReturnError reports a return that breaks the contract of its subagent. An Agent gives it when what came back could not
// be read as a return at all; the Dispatcher makes it of every other violation.
type ReturnError struct {
	Agent    string
	Raw      []byte   // what came back, byte for byte
	Problems []string // every violation, a sentence each, never empty
	File     string   // where Raw is kept, relative to the project root; empty before the Dispatcher has kept it
	// Partial is what could be read, so that the contract is asked of it too; nil if nothing could.
	Partial *formats.Return
}

// Error lists the violations.
func (e *ReturnError) Error() string {
	msg := fmt.Sprintf("the return of %s breaks its contract: %s", e.Agent, strings.Join(e.Problems, "; "))
	if e.File != "" {
		msg += " (raw text in " + e.File + ")"
	}
	return msg
}

// ErrorCode is INVALID_RETURN.
func (e *ReturnError) ErrorCode() formats.Code { return formats.CodeInvalidReturn }

// Help says what to do next.
func (e *ReturnError) Help() string {
	if e.File == "" {
		return "compare the return with the subagent's file"
	}
	return "compare " + e.File + " with the subagent's file"
}

// InputError reports input that a subagent's contract does not take.
type InputError struct {
	Agent    string
	Problems []string // a sentence each, never empty
}

// Error lists what is wrong.
func (e *InputError) Error() string {
	return fmt.Sprintf("input of %s: %s", e.Agent, strings.Join(e.Problems, "; "))
}

// ErrorCode is VALIDATION_FAILED.
func (e *InputError) ErrorCode() formats.Code { return formats.CodeValidationFailed }

// Help says what to do next.
func (e *InputError) Help() string {
	return "compare the step's `with` with the inputs of subagents/" + e.Agent + ".md"
}

// DuplicateError reports a second definition of one name.
type DuplicateError struct {
	Name        string
	File, First string
}

// Error states both files.
func (e *DuplicateError) Error() string {
	return fmt.Sprintf("subagent %q is defined in %s and in %s", e.Name, e.First, e.File)
}

// ErrorCode is CONFIG.
func (e *DuplicateError) ErrorCode() formats.Code { return formats.CodeConfig }

// MissingError reports that a value was built without a part it cannot work without: a defect of the program.
type MissingError struct{ What string }

// Error names the part.
func (e *MissingError) Error() string { return "expected " + e.What + ", got nothing" }

// ErrorCode is BUG.
func (e *MissingError) ErrorCode() formats.Code { return formats.CodeBug }

// PlaceError reports a file operation on a run's folder or on a task's folder that did not work.
type PlaceError struct {
	Op   string // "make", "read", "place", "keep"
	Path string // relative to the project root
	Err  error  // the cause, inspected by callers
}

// Error states operation, path and cause.
func (e *PlaceError) Error() string { return fmt.Sprintf("%s %s: %v", e.Op, e.Path, e.Err) }

// Unwrap gives the cause.
func (e *PlaceError) Unwrap() error { return e.Err }

// ErrorCode is NOT_DURABLE for a document that is in its place but may not survive a loss of power, the code of the cause
// if it has one, else IO.
func (e *PlaceError) ErrorCode() formats.Code {
	if _, ok := errors.AsType[*atomicfile.NotDurableError](e.Err); ok {
		return formats.CodeNotDurable
	}
	if c := formats.CodeOf(e.Err); c != formats.CodeUnknown {
		return c
	}
	return formats.CodeIO
}

// NameError reports an id or a slug that cannot be the name of a folder.
type NameError struct {
	What string // "run id", "slug"
	Got  string
}

// Error states what stood there.
func (e *NameError) Error() string {
	return fmt.Sprintf("expected a %s that can name a folder, got %q", e.What, e.Got)
}

// ErrorCode is INVALID_STATE.
func (e *NameError) ErrorCode() formats.Code { return formats.CodeInvalidState }

// StateChangedError reports that state.json was changed while a worker ran, by anybody but the writers of the state.
type StateChangedError struct {
	Agent  string
	Undone bool   // the change was taken back
	File   string // what stood there is kept in, relative to the project root; empty if the file was removed
	Err    error  // why it was not taken back
}

// Error states the change and what became of it.
func (e *StateChangedError) Error() string {
	msg := "state.json was changed while " + e.Agent + " ran, and not by tercet"
	if e.Undone {
		return msg + ": the change was taken back"
	}
	return msg + fmt.Sprintf(": it could not be taken back: %v", e.Err)
}

// ErrorCode is DENIED.
func (e *StateChangedError) ErrorCode() formats.Code { return formats.CodeDenied }

// Help says what to do next.
func (e *StateChangedError) Help() string {
	if !e.Undone {
		return "run 'tercet state verify'"
	}
	if e.File == "" {
		return "let the subagent return what it wants changed"
	}
	return "what stood there is in " + e.File + ", 'diff " + e.File + " .tercet/state.json' shows it; if the change was yours, make it again while no command runs, " +
		"by 'tercet task' or by hand; a subagent returns what it wants changed"
}
