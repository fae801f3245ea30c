//go:build !linux

package sandbox

import (
	"errors"
	"fmt"

	"tercet/internal/proc"
)

// Enter is for Linux only: elsewhere there are no bounds.
func Enter([]string, []string) error {
	return fmt.Errorf("sandbox %s: %w", None, errors.ErrUnsupported)
}

// Starts is nil: elsewhere there are no bounds.
func Starts(string, []string) proc.Enter { return nil }
