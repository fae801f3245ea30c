//go:build !linux && !darwin

package proc

import (
	"errors"
	"os"
	"syscall"
)

// startOf only reports whether there is a process with that number: its start time is unknown here.
func startOf(pid int) (string, bool, error) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return "", false, err
	}
	// A process that exists but cannot be signaled counts as running.
	err = p.Signal(syscall.Signal(0))
	runs := err == nil || errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported)
	return "", runs, p.Release()
}

func bootID() string {
	return ""
}
