package proc

import (
	"errors"
	"fmt"
)

// ErrNoAllow says that a Starter has nobody to ask for leave, so it starts nothing.
var ErrNoAllow = errors.New("a starter without an allow function starts nothing")

// ErrNoNow says that a Starter has no clock.
var ErrNoNow = errors.New("a starter needs a clock")

// The kinds of errors of Run. Each wraps its cause beside the kind.
var (
	// ErrDenied says that Starter.Allow refused a command.
	ErrDenied = errors.New("not allowed to start")
	// ErrStart says that a child could not be started or prepared.
	ErrStart = errors.New("starting")
	// ErrOutput says that the child ran, but its output could not be kept, or its temporary folder not be removed. The
	// Result beside it is valid.
	ErrOutput = errors.New("output of a child")
)

func lost(file string, err error) error { return fmt.Errorf("%w: %s: %w", ErrOutput, file, err) }

func failed(kind error, what string, err error) error {
	return fmt.Errorf("%w %s: %w", kind, what, err)
}

// NotFoundError says that a program is not on the PATH that the child would see.
type NotFoundError struct {
	Name string
}

// Error implements error.
func (e *NotFoundError) Error() string { return fmt.Sprintf("program %q is not on PATH", e.Name) }
