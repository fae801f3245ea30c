package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// NotDurableError reports a change that happened, but may not survive a loss of power. state,
// subagents and templates/meta match it; any other error of this package means that nothing
// happened.
type NotDurableError struct {
	Path string
	Err  error
}

// Error gives "path: written, ...: cause".
func (e *NotDurableError) Error() string {
	return e.Path + ": written, but the sync of its directory did not succeed: " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *NotDurableError) Unwrap() error {
	return e.Err
}

// fail says what did not happen: "op path: cause".
func fail(op, path string, err error) error {
	return fmt.Errorf("%s %s: %w", op, path, cause(err))
}

// cause drops what the os package says about paths of ours, which fail says in the caller's words.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}
