//go:build !linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
)

// Ruleset works on Linux only.
func Ruleset([]byte) (*os.File, error) {
	return nil, fmt.Errorf("sandbox %s: %w", Landlock, errors.ErrUnsupported)
}

func openSockets() string {
	return ""
}
