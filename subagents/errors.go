package subagents

import (
	"errors"
	"fmt"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// ReturnError reports a return that breaks the subagent's contract. An Agent returns it for output
// that cannot be read; the Dispatcher makes it from any other violation.
type ReturnError struct {
	Agent    string
	Raw      []byte   // the output, byte for byte
	Problems []string // every violation, one sentence each, never empty
	// where Raw is stored, relative to the project root; empty until the Dispatcher has stored it
	File string
	// Partial is the readable part, to check against the contract too; nil if there is none.
	Partial *formats.Return
}

// Error lists the violations.
func (e *ReturnError) Error() string {
	msg := fmt.Sprintf("the return of %s breaks its contract: %s",
		e.Agent, strings.Join(e.Problems, "; "))
	if e.File != "" {
		msg += " (raw text in " + e.File + ")"
	}
	return msg
}

// ErrorCode is INVALID_RETURN.
func (e *ReturnError) ErrorCode() formats.Code {
	return formats.CodeInvalidReturn
}

// Help says what to do next.
func (e *ReturnError) Help() string {
	if e.File == "" {
		return "compare the return with the subagent's file"
	}
	return "compare " + e.File + " with the subagent's file"
}

// onFile is a failed file operation on a run's folder or on a task's folder; the path is relative
// to the project root. A document that is in its place but may not survive a loss of power is
// NOT_DURABLE.
func onFile(op, path string, err error) error {
	out := formats.OnFile(op, path, err)
	if _, ok := errors.AsType[*atomicfile.NotDurableError](err); ok {
		out.Code = formats.CodeNotDurable
	}
	return out
}

// BadInput reports input that the contract does not allow; each problem is a sentence.
func BadInput(agent string, problems []string) error {
	return formats.Fail(formats.CodeValidationFailed,
		"compare the step's `with` with the inputs of subagents/"+agent+".md",
		"input of %s: %s", agent, strings.Join(problems, "; "))
}

// notAName is an id or a slug that cannot be the name of a folder.
func notAName(what, got string) error {
	return formats.Fail(formats.CodeInvalidState, "",
		"expected a %s that can name a folder, got %q", what, got)
}
