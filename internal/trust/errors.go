package trust

import "tercet/formats"

// RefusedError means that the user has not agreed to files of the project that can start programs.
type RefusedError struct {
	*formats.Failure

	Verdict *Verdict
}

// Unwrap returns the Failure, which has the code.
func (e *RefusedError) Unwrap() error {
	return e.Failure
}
