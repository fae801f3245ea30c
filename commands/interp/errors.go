package interp

import (
	"errors"
	"fmt"
	"strings"

	"tercet/formats"
)

// stepError is a failure of the engine inside a step. Err is the cause and is inspected for its
// code. The run matches it: what names its step is not wrapped again, and the place goes into
// errors.json.
type stepError struct {
	File string
	Pos  formats.Pos
	Step string
	Err  error
}

// Error names the place, the step and the cause. A cause with a place of its own stands alone.
func (e *stepError) Error() string {
	if cause := e.Err.Error(); strings.HasPrefix(cause, e.File+":") {
		return cause
	}
	return fmt.Sprintf("%s:%d:%d: step %s: %s", e.File, e.Pos.Line, e.Pos.Col, e.Step, e.Err)
}

// Unwrap gives the cause.
func (e *stepError) Unwrap() error {
	return e.Err
}

// withPlace names the step in an error that names none yet.
func (s step) withPlace(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := err.(*stepError); ok { //nolint:errorlint // only the outermost wrapping counts
		return err // it names its step
	}
	return &stepError{s.run.prog.File.Name, s.info.Step.Pos, s.path, err}
}

// asLater finds the error of a run that waits for a time; nil if it is another error.
func asLater(err error) *formats.LaterError {
	e, _ := errors.AsType[*formats.LaterError](err)
	return e
}

// repeatsOnResume tells whether a run that is resumed does again what ended with the error: it
// waits, was interrupted, or could not be recorded.
func repeatsOnResume(err error) bool {
	return asGateOpen(err) != nil || asLater(err) != nil || asInterrupt(err) != nil ||
		isIOError(err) || isDiverged(err)
}

// isIOError tells whether the engine could not read or write something, such as on a full disk, or
// bring it to the home of a team. What a worker could not do is in its return, and no error.
func isIOError(err error) bool {
	if err == nil {
		return false
	}
	if _, unrecorded := errors.AsType[*formats.UnrecordedError](err); unrecorded {
		return true
	}
	code := formats.CodeOf(err)
	return code == formats.CodeIO || code == formats.CodeNotDurable
}

// asInterrupt finds the error of a signal; nil if it is another error.
func asInterrupt(err error) *formats.InterruptedError {
	e, _ := errors.AsType[*formats.InterruptedError](err)
	return e
}

// isDiverged tells whether replay came to something else than the journal has, or, while it is
// verified, to its end.
func isDiverged(err error) bool {
	_, diverged := errors.AsType[*formats.DivergedError](err)
	_, end := errors.AsType[*formats.EndError](err)
	return diverged || end
}

// asGateOpen finds the error of a gate without an answer; nil if it is another error.
func asGateOpen(err error) *formats.GateOpenError {
	open, _ := errors.AsType[*formats.GateOpenError](err)
	return open
}

// errLimit is the failure of a run that reached one of its limits.
func errLimit(what, more string, limit int) error {
	help := "finished work is kept; look at the run with a dry run, or " + more +
		" if it is meant to be this long"
	return formats.Fail(formats.CodeLimit, help, "the run reached its limit of %d %s", limit, what)
}

// errBudget refuses a worker because the run has used what it may use of something.
func errBudget(what, limit, used string) error {
	help := "finished work is kept; raise limits in the command file or in config.yaml, and run " +
		"the command again"
	return formats.Fail(formats.CodeLimit, help, "the run may use %s %s and has used %s",
		limit, what, used)
}

// joinWords joins words with commas.
func joinWords[T ~string](words []T) string {
	return strings.Join(formats.Words(words), ", ")
}
