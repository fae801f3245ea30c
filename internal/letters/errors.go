package letters

import (
	"fmt"
	"time"

	"tercet/formats"
)

// TakenError tells that somebody was first.
type TakenError struct{ First Answer }

// Error names who, what and when.
func (e *TakenError) Error() string {
	if e.First.Edited != "" {
		return fmt.Sprintf("%s changed %s at %s, and the run has not asked again yet", e.First.By, e.First.Edited,
			e.First.At.Format(time.DateTime))
	}
	return fmt.Sprintf("%s answered %q at %s", e.First.By, e.First.Choice, e.First.At.Format(time.DateTime))
}

// ErrorCode is PRECONDITION.
func (e *TakenError) ErrorCode() formats.Code { return formats.CodePrecondition }
