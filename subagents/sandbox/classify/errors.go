package classify

import (
	"fmt"

	"tercet/formats"
)

// SyntaxError says that a text is no shell command.
type SyntaxError struct {
	Pos     formats.Pos
	Message string
}

// Error states the place and what is wrong there.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("command:%d:%d: %s: %s", e.Pos.Line, e.Pos.Col, formats.CodeUsage, e.Message)
}

// ErrorCode is USAGE.
func (e *SyntaxError) ErrorCode() formats.Code { return formats.CodeUsage }

// Help says what to do next.
func (e *SyntaxError) Help() string {
	return "put quotes around the command, so that it arrives as it was meant"
}

// SizeError says that a text is longer than what is looked at.
type SizeError struct{ Size int }

// Error states limit and size.
func (e *SizeError) Error() string {
	return fmt.Sprintf("expected a command of at most %d bytes, got %d", MaxSource, e.Size)
}

// ErrorCode is LIMIT.
func (e *SizeError) ErrorCode() formats.Code { return formats.CodeLimit }

// Help says what to do next.
func (e *SizeError) Help() string { return "put the commands into a file and review that file" }
