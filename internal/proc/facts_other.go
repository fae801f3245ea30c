//go:build !linux && !darwin

package proc

import "os"

// startOf says only whether there is a process with that number: its start time cannot be known here.
func startOf(pid int) (string, bool, error) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return "", false, err
	}
	running := exists(p)
	return "", running, p.Release()
}

func bootID() string { return "" }
