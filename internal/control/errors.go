package control

import (
	"fmt"

	"tercet/formats"
	"tercet/internal/journal"
)

// WaitingError means that the run waits and typing its line again does not resume it.
type WaitingError struct{ Run journal.Run }

// Error says what the run waits for.
func (e *WaitingError) Error() string {
	return fmt.Sprintf("run %s of this line: %s", e.Run.ID, e.Run.Waits())
}

// Return is the return of the line.
func (e *WaitingError) Return() formats.Return {
	id := e.Run.ID
	return formats.Return{
		Status: formats.StatusSuspended, Said: formats.OutcomeSuspended, Summary: e.Error(), BlockedReason: e.Error(),
		NextSteps: fmt.Sprintf("run 'tercet resume %s', or type the line with --new to begin afresh", id),
		Resume:    &formats.Resume{Run: id, Line: "tercet resume " + id, Gate: e.Run.Gate, Until: e.Run.Until},
	}
}

// ArrivedError ends a question that another process answered.
type ArrivedError struct {
	Decision formats.Decision
	Err      error
}

// Error says who answered.
func (e *ArrivedError) Error() string { return "answered by " + e.Decision.By }
