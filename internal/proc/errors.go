package proc

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNoAllow means that a Starter has no Allow function, so it starts nothing.
var ErrNoAllow = errors.New("a starter without an allow function starts nothing")

// ErrNoNow means that a Starter has no clock.
var ErrNoNow = errors.New("a starter needs a clock")

// The kinds of errors of Run. Each wraps its cause as well.
var (
	// ErrDenied means that Starter.Allow refused a command.
	ErrDenied = errors.New("not allowed to start")
	// ErrStart means that a child could not be started or prepared.
	ErrStart = errors.New("starting")
	// ErrOutput means that the child ran, but its output could not be stored, or its temporary
	// folder not removed. The Result is valid too.
	ErrOutput = errors.New("output of a child")
	// ErrEvicted means that the child was ended because it held a lock of tercet. The Result is
	// valid too.
	ErrEvicted = errors.New("ended, because it held a lock of tercet")
)

// errSandboxFailed means that a sandbox could not be made around a program, which therefore never
// ran.
var errSandboxFailed = errors.New("the sandbox could not be made")

func outputError(file string, err error) error {
	return fmt.Errorf("%w: %s: %w", ErrOutput, file, err)
}

func wrapError(kind error, what string, err error) error {
	return fmt.Errorf("%w %s: %w", kind, what, err)
}

// NotFoundError means that a program is not on the PATH of the child, or that its path is not an
// executable file.
type NotFoundError struct {
	Name  string
	There bool // a file that is there and not executable
}

// Error implements error.
func (e *NotFoundError) Error() string {
	switch {
	case e.There:
		return fmt.Sprintf("file %q is not executable; chmod +x makes it so", e.Name)
	case strings.ContainsRune(e.Name, '/'):
		return fmt.Sprintf("file %q is not there", e.Name)
	}
	return fmt.Sprintf("program %q is not on PATH", e.Name)
}
