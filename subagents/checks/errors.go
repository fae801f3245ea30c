package checks

import (
	"fmt"

	"tercet/formats"
)

// ToolError says that the program of a check is not installed.
type ToolError struct {
	Check Check
	Err   error // the cause
}

// Error implements error.
func (e *ToolError) Error() string {
	return fmt.Sprintf("the %s check of the %s project cannot run: %v", e.Check.Kind, e.Check.Stack, e.Err)
}

// Unwrap returns the cause.
func (e *ToolError) Unwrap() error { return e.Err }

// ErrorCode is TOOL_UNAVAILABLE.
func (e *ToolError) ErrorCode() formats.Code { return formats.CodeToolUnavailable }

// Help says what to do next.
func (e *ToolError) Help() string {
	return fmt.Sprintf("install %s, or leave this check out with --only", e.Check.Argv[0])
}
