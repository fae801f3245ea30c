//go:build !linux

package proc

// supervisable tells whether a child can have a supervisor here.
const supervisable = false

// Supervise is for Linux only: elsewhere nothing finds a descendant that left its group.
func Supervise([]string, []string, Enter) int { return 125 }

// Sweep is for Linux only: elsewhere no process can be told by its session or its environment.
func Sweep(Started) int { return 0 }
