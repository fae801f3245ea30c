package atomicfile

import (
	"errors"
	"io/fs"
	"os"
)

// Error reports an operation that did not happen: what was there before is unchanged.
type Error struct {
	Op   string // open directory, create, write, sync, close, check, link, rename, remove, make directory
	Path string // as the caller named it
	Err  error  // the errno, or what Options.Before returned
	Left string // base name of a temporary file that could not be removed, usually empty
}

// Error gives "op path: cause".
func (e *Error) Error() string {
	s := e.Op + " " + e.Path + ": " + e.Err.Error()
	if e.Left != "" {
		s += "; " + e.Left + " is left behind"
	}
	return s
}

// Unwrap gives the cause, so that errors.Is finds fs.ErrPermission and the like.
func (e *Error) Unwrap() error { return e.Err }

// NotDurableError reports an operation that happened, but may not survive a loss of power.
type NotDurableError struct {
	Path string
	Err  error
}

// Error gives "path: written, ...: cause".
func (e *NotDurableError) Error() string {
	return e.Path + ": written, but the sync of its directory did not succeed: " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *NotDurableError) Unwrap() error { return e.Err }

func fail(op, path string, err error) *Error {
	return &Error{Op: op, Path: path, Err: cause(err)}
}

// cause drops what the os package says about paths of ours, which Error says in the caller's words.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}
