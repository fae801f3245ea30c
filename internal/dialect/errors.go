package dialect

import (
	"strings"

	"tercet/formats"
)

// UsageError reports a value that a file asks for and that was not given.
type UsageError struct {
	Command string
	Missing []string // names, in the order in which the file has them
	Usage   string   // "/review <file> <ticket>"
}

// Error names what is missing.
func (e *UsageError) Error() string {
	return "/" + e.Command + ": missing " + strings.Join(e.Missing, ", ")
}

// ErrorCode is USAGE.
func (e *UsageError) ErrorCode() formats.Code { return formats.CodeUsage }

// Help shows how it is given.
func (e *UsageError) Help() string { return "usage: " + e.Usage }
