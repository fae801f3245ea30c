package control

import (
	"cmp"
	"fmt"

	"tercet/formats"
	"tercet/internal/journal"
)

// WaitingError means that typing a line again does not resume the run.
type WaitingError struct {
	Run journal.Run
	Of  string // "this line", or the line of the run
	Why string // what the run waits for, after ": "; empty if only the user resumes it
}

// Error says what the run waits for.
func (e *WaitingError) Error() string {
	return "run " + e.Run.ID + " of " + e.Of + cmp.Or(e.Why, " did not end")
}

// Return is the return of the line.
func (e *WaitingError) Return() formats.Return {
	id := e.Run.ID
	return formats.Return{
		Status:        formats.StatusSuspended,
		Said:          formats.OutcomeSuspended,
		Summary:       e.Error(),
		BlockedReason: e.Error(),
		NextSteps: fmt.Sprintf(
			"run 'tercet resume %s', or type the line with --new to begin afresh",
			id,
		),
		Resume: &formats.Resume{
			Run:   id,
			Line:  "tercet resume " + id,
			Gate:  e.Run.Gate,
			Until: e.Run.Until,
		},
	}
}

// ArrivedError ends a question that another process answered.
type ArrivedError struct {
	Decision formats.Decision
	Err      error
}

// Error says who answered.
func (e *ArrivedError) Error() string {
	return "answered by " + e.Decision.By
}
