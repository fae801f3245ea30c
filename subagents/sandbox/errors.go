package sandbox

import (
	"fmt"
	"strings"

	"tercet/formats"
)

// BlockedError says that a command needs a better tier than works here.
type BlockedError struct {
	Need Tier
	Best Tier // what works and is allowed; Blocked if nothing does
	Why  []string
}

// Error states both tiers and the reasons.
func (e *BlockedError) Error() string {
	msg := fmt.Sprintf("%s: expected the tier %s for this command, got %s", Blocked, e.Need, e.Best)
	if len(e.Why) > 0 {
		msg += ": " + strings.Join(e.Why, "; ")
	}
	return msg
}

// ErrorCode is DENIED.
func (e *BlockedError) ErrorCode() formats.Code { return formats.CodeDenied }

// Help says what to do next.
func (e *BlockedError) Help() string {
	return "'tercet sandbox probe' tells what is missing; or run the command yourself"
}

// TierError names a tier that does not exist.
type TierError struct{ Name string }

// Error implements error.
func (e *TierError) Error() string {
	return fmt.Sprintf("expected container, platform_permission or advisory_only, got %q", e.Name)
}

// ErrorCode is USAGE.
func (e *TierError) ErrorCode() formats.Code { return formats.CodeUsage }

// EnterError says that a process could not be put within bounds. Nothing ran.
type EnterError struct {
	Means Means
	Err   error
}

// Error implements error.
func (e *EnterError) Error() string { return fmt.Sprintf("sandbox %s: %v", e.Means, e.Err) }

// Unwrap returns the cause.
func (e *EnterError) Unwrap() error { return e.Err }
