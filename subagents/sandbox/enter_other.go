//go:build !linux

package sandbox

import (
	"errors"
	"fmt"
)

// Enter works on Linux only.
func Enter([]string, []string) error {
	return fmt.Errorf("sandbox %s: %w", Landlock, errors.ErrUnsupported)
}

func openSockets() string { return "" }
