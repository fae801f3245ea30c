package trust

import "fmt"

// PlaceError says why a folder cannot hold the records.
type PlaceError struct {
	Dir string
	Why string
}

// Error implements error.
func (e *PlaceError) Error() string {
	return fmt.Sprintf("trust store %s is not used: %s", e.Dir, e.Why)
}

// RecordError says that a record cannot be read; it counts as none.
type RecordError struct {
	Path string
	Err  error
}

// Error implements error.
func (e *RecordError) Error() string {
	return fmt.Sprintf("trust record %s is not used: %v", e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *RecordError) Unwrap() error { return e.Err }

// LimitError says that a project lists more than is looked at.
type LimitError struct {
	What string
	Most int64
}

// Error implements error.
func (e *LimitError) Error() string {
	return fmt.Sprintf("expected at most %d %s, got more", e.Most, e.What)
}
