package offline

import (
	"fmt"
	"strings"

	"tercet/formats"
)

// RoleError reports a role for which there is no offline worker.
type RoleError struct{ Role formats.Role }

// Error states the role.
func (e *RoleError) Error() string { return fmt.Sprintf("the offline runner has no %s", e.Role) }

// ErrorCode is TOOL_UNAVAILABLE.
func (e *RoleError) ErrorCode() formats.Code { return formats.CodeToolUnavailable }

// Help says what to do next.
func (e *RoleError) Help() string { return "choose an agent CLI with --runner or in config.yaml" }

// MissingError reports that a worker was built without a part it cannot work without: a defect of the program.
type MissingError struct{ What string }

// Error names the part.
func (e *MissingError) Error() string { return "expected " + e.What + ", got nothing" }

// ErrorCode is BUG.
func (e *MissingError) ErrorCode() formats.Code { return formats.CodeBug }

// InputError reports an input that a worker cannot work with.
type InputError struct {
	Name string // of the input
	Want string
	Got  string // as it is shown; empty: nothing
}

// Error states what was expected and got.
func (e *InputError) Error() string {
	got := "nothing"
	if e.Got != "" {
		got = e.Got
	}
	return fmt.Sprintf("input %s: expected %s, got %s", e.Name, e.Want, got)
}

// ErrorCode is VALIDATION_FAILED.
func (e *InputError) ErrorCode() formats.Code { return formats.CodeValidationFailed }

// Help says what to do next.
func (e *InputError) Help() string { return "compare the step's `with` with the subagent's inputs" }

// NoPlanError reports a task without a plan where one is needed.
type NoPlanError struct{ Task int }

// Error states the task.
func (e *NoPlanError) Error() string { return fmt.Sprintf("task %d has no plan", e.Task) }

// ErrorCode is PRECONDITION.
func (e *NoPlanError) ErrorCode() formats.Code { return formats.CodePrecondition }

// Help says what to do next.
func (e *NoPlanError) Help() string { return fmt.Sprintf("make one with /plan %d", e.Task) }

// NoRepositoryError reports a tree that no git repository holds.
type NoRepositoryError struct{ Err error }

// Error states what is missing.
func (e *NoRepositoryError) Error() string { return "the project is no git repository" }

// Unwrap gives the cause.
func (e *NoRepositoryError) Unwrap() error { return e.Err }

// ErrorCode is CONFIG.
func (e *NoRepositoryError) ErrorCode() formats.Code { return formats.CodeConfig }

// Help says what to do next.
func (e *NoRepositoryError) Help() string { return "run git init and commit the files" }

// WriteError reports a document or a script that could not be written into the run's folder.
type WriteError struct {
	Name string
	Err  error // the cause, inspected by callers
}

// Error states the file and the cause.
func (e *WriteError) Error() string { return fmt.Sprintf("write %s: %v", e.Name, e.Err) }

// Unwrap gives the cause.
func (e *WriteError) Unwrap() error { return e.Err }

// ErrorCode is IO.
func (e *WriteError) ErrorCode() formats.Code { return formats.CodeIO }

// RejectedError reports commands that a person did not approve.
type RejectedError struct{ Plan, Note string }

// Error states the plan and the note.
func (e *RejectedError) Error() string {
	msg := "the commands of " + e.Plan + " were not approved"
	if e.Note != "" {
		msg += ": " + e.Note
	}
	return msg
}

// ErrorCode is REJECTED.
func (e *RejectedError) ErrorCode() formats.Code { return formats.CodeRejected }

// Help says what to do next.
func (e *RejectedError) Help() string {
	return "change the plan with /revise, or run its phases by hand"
}

// ScriptError reports commands of a phase that did not end with exit 0.
type ScriptError struct {
	Phase  int
	Name   string
	Verify bool     // the phase's verification, not its commands
	How    string   // "exit 1", "signal SIGKILL", "no end after 30m0s", "more output than 64 MiB"
	Tail   []string // last lines of the output
	Late   bool     // a limit of time ended it
}

// Error states the phase, how it ended and the last lines.
func (e *ScriptError) Error() string {
	what := "the commands"
	if e.Verify {
		what = "the verification"
	}
	msg := fmt.Sprintf("%s of phase %d (%s) ended with %s", what, e.Phase, e.Name, e.How)
	if len(e.Tail) > 0 {
		msg += "\n" + strings.Join(e.Tail, "\n")
	}
	return msg
}

// ErrorCode is TIMEOUT for a limit of time, VALIDATION_FAILED for a verification, UNKNOWN_ERROR for commands.
func (e *ScriptError) ErrorCode() formats.Code {
	switch {
	case e.Late:
		return formats.CodeTimeout
	case e.Verify:
		return formats.CodeValidationFailed
	default:
		return formats.CodeUnknown
	}
}

// Help says what to do next.
func (e *ScriptError) Help() string {
	if e.Verify {
		return "the commands ran, but the verification says no: revise the plan with /revise"
	}
	return "nothing of the phase counts as done: mend its commands with /revise"
}

// ToolError reports a program that is not installed.
type ToolError struct{ Name string }

// Error states the program.
func (e *ToolError) Error() string { return fmt.Sprintf("program %q is not on PATH", e.Name) }

// ErrorCode is TOOL_UNAVAILABLE.
func (e *ToolError) ErrorCode() formats.Code { return formats.CodeToolUnavailable }

// Help says what to do next.
func (e *ToolError) Help() string { return "install " + e.Name }
