package letters

import (
	"fmt"
	"time"

	"tercet/formats"
)

// TakenError means that an earlier answer counts.
type TakenError struct{ First Answer }

// Error names the earlier answer, its author and its time.
func (e *TakenError) Error() string {
	if e.First.Edited != "" {
		return fmt.Sprintf("%s changed %s at %s, and the run has not asked again yet",
			e.First.By, e.First.Edited, e.First.At.Format(time.DateTime))
	}
	return fmt.Sprintf("%s answered %q at %s",
		e.First.By, e.First.Choice, e.First.At.Format(time.DateTime))
}

// ErrorCode is PRECONDITION.
func (e *TakenError) ErrorCode() formats.Code {
	return formats.CodePrecondition
}
