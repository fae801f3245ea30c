//go:build !linux

package sandbox

import (
	"errors"
	"fmt"
)

// Enter is for Linux only: elsewhere there are no bounds.
func Enter([]string, []string) error {
	return fmt.Errorf("sandbox %s: %w", Landlock, errors.ErrUnsupported)
}
