//go:build !linux && !darwin

package proc

import (
	"errors"
	"os"
	"syscall"
)

// startOf says only whether there is a process with that number: its start time cannot be known
// here.
func startOf(pid int) (string, bool, error) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return "", false, err
	}
	// A process that was found and cannot be asked runs.
	err = p.Signal(syscall.Signal(0))
	runs := err == nil || errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported)
	return "", runs, p.Release()
}

func bootID() string {
	return ""
}
