package proc

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNoAllow says that a Starter has nobody to ask for leave, so it starts nothing.
var ErrNoAllow = errors.New("a starter without an allow function starts nothing")

// ErrNoNow says that a Starter has no clock.
var ErrNoNow = errors.New("a starter needs a clock")

// NotFoundError says that a program is not on the PATH that the child would see.
type NotFoundError struct {
	Name string
}

// Error implements error.
func (e *NotFoundError) Error() string { return fmt.Sprintf("program %q is not on PATH", e.Name) }

// DeniedError says that Starter.Allow refused a command. It wraps the reason.
type DeniedError struct {
	Argv []string
	Err  error
}

// Error implements error.
func (e *DeniedError) Error() string {
	return fmt.Sprintf("not allowed to start %q: %v", strings.Join(e.Argv, " "), e.Err)
}

// Unwrap returns the reason.
func (e *DeniedError) Unwrap() error { return e.Err }

// StartError says that a child could not be started or prepared. It wraps the cause.
type StartError struct {
	Argv []string
	Err  error
}

// Error implements error.
func (e *StartError) Error() string {
	return fmt.Sprintf("starting %q: %v", strings.Join(e.Argv, " "), e.Err)
}

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// OutputError says that the child ran, but its output could not be kept in File or its temporary folder File could
// not be removed. The Result beside it is valid. It wraps the cause.
type OutputError struct {
	File string
	Err  error
}

// Error implements error.
func (e *OutputError) Error() string { return fmt.Sprintf("output of a child: %s: %v", e.File, e.Err) }

// Unwrap returns the cause.
func (e *OutputError) Unwrap() error { return e.Err }
