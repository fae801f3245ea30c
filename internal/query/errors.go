package query

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tercet/internal/jsonx"
)

// Error is an error found in a query before it runs.
type Error struct {
	Src        string
	Offset     int // of the token, in bytes of Src; -1: unknown
	Msg        string
	DidYouMean string // suggestion; may be empty
}

// Pos is the error's line and column in the source, from 1, in bytes; 0, 0 if unknown.
func (e *Error) Pos() (line, col int) {
	if e.Offset < 0 || e.Offset > len(e.Src) {
		return 0, 0
	}
	head := e.Src[:e.Offset]
	return 1 + strings.Count(head, "\n"), len(head) - strings.LastIndexByte(head, '\n')
}

// Error is "column N: message", or the message alone if the position is unknown.
func (e *Error) Error() string {
	if e.Offset < 0 || e.Offset > len(e.Src) {
		return e.Msg
	}
	head := e.Src[:e.Offset]
	line := 1 + strings.Count(head, "\n")
	col := 1 + utf8.RuneCountInString(head[strings.LastIndexByte(head, '\n')+1:])
	if line > 1 {
		return "line " + strconv.Itoa(line) + " column " + strconv.Itoa(col) + ": " + e.Msg
	}
	return "column " + strconv.Itoa(col) + ": " + e.Msg
}

// Errors is several errors of Compile, in source order. errors.As finds the first as an *Error.
type Errors []*Error

// Error joins the messages, one a line.
func (l Errors) Error() string {
	return errors.Join(l.Unwrap()...).Error()
}

// Unwrap returns the errors one by one.
func (l Errors) Unwrap() []error {
	errs := make([]error, len(l))
	for i, e := range l {
		errs[i] = e
	}
	return errs
}

// Bound is the limit of a LimitError.
type Bound string

// The bounds of a run.
const (
	BoundTime    Bound = "time"    // Limit is in milliseconds
	BoundResults Bound = "results" // how many
	BoundOutput  Bound = "output"  // bytes of all results as compact JSON
	BoundMemory  Bound = "memory"  // bytes; not a limit of Run
)

// LimitError reports a query stopped at a limit.
type LimitError struct {
	What  Bound
	Limit int64
}

// Error names the limit.
func (e *LimitError) Error() string {
	switch e.What {
	case BoundTime:
		return fmt.Sprintf("query took longer than %s", time.Duration(e.Limit)*time.Millisecond)
	case BoundResults:
		return fmt.Sprintf("query gave more than %d results", e.Limit)
	case BoundOutput:
		return fmt.Sprintf("query gave more than %d bytes", e.Limit)
	case BoundMemory:
		return fmt.Sprintf("query needs more than %d MiB of memory", e.Limit>>20)
	}
	return fmt.Sprintf("query exceeded its bound of %s", e.What)
}

// valueError is an error of a function or operator that got a value that it has no result for.
type valueError struct{ msg string }

// Error is the message of gojq, which shows the value.
func (e *valueError) Error() string {
	return e.msg
}

// Advice says what to do about an error of a query; empty if there is nothing to say.
func Advice(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		if e.DidYouMean != "" {
			return "did you mean '" + e.DidYouMean + "'?"
		}
		return "filters are written as in jq: '.tasks[].title', '.tasks | map(.number)'"
	}

	if e, ok := errors.AsType[*valueError](err); ok {
		if strings.HasSuffix(e.msg, ": null") {
			return "a key that is not there gives null: the filter keys shows those that are"
		}
		return "each part behind a | gets what the part before gives: try the first parts alone"
	}

	if errors.As(err, new(*jsonx.SyntaxError)) {
		return "an input is JSON, also several values one after the other; -R reads lines of text"
	}
	return ""
}

// errState is the error of `ready` for a value that is not a state.
var errState = errors.New(
	"ready needs a state: an object with tasks that have number, status and dependencies",
)

// errNUL is the error for a result with a NUL, which cannot be terminated by NUL.
var errNUL = errors.New("string with a NUL character cannot be printed with --raw-output0")
