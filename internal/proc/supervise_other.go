//go:build !linux

package proc

import "io"

// supervisable tells whether a child can have a supervisor here.
const supervisable = false

// Supervise is for Linux only: elsewhere nothing finds a descendant that left its group.
func Supervise(io.Reader, io.Writer) int { return 1 }

// Sweep is for Linux only: elsewhere no process can be told by its session or its environment.
func Sweep(Started) int { return 0 }
