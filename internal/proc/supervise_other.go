//go:build !linux

package proc

import "io"

// supervisable reports whether a child can have a supervisor here.
const supervisable = false

// Supervise works on Linux only.
func Supervise(io.Reader, io.Writer, Restrict) int {
	return 1
}

// Sweep works on Linux only: other systems do not identify a process by session and environment.
func Sweep(Started) int {
	return 0
}

// Orphans works on Linux only, like Sweep.
func Orphans(string) []int {
	return nil
}
