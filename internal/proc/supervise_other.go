//go:build !linux

package proc

import "io"

// canSupervise reports whether a child can have a supervisor here.
const canSupervise = false

// Supervise works on Linux only.
func Supervise(io.Reader, io.Writer, Restrict) int {
	return 1
}

// Sweep works on Linux only: other systems do not identify a process by session and environment.
func Sweep(Started) int {
	return 0
}

// OrphanedGits works on Linux only, like Sweep.
func OrphanedGits(string) []int {
	return nil
}
