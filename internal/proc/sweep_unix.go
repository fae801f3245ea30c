//go:build unix && !linux

package proc

import "os/exec"

func becomeSubreaper() {}

// blockUntilExit returns when the process has ended. It reaps at once, so in theory the number may
// belong to another group before the group is killed.
func blockUntilExit(cmd *exec.Cmd) {
	ignore(cmd.Wait()) // the exit is read from ProcessState, and no copying is done by os/exec
}

func reap(*exec.Cmd) {}

// sweep finds no process here: there is no subreaper, and the group has been killed.
func sweep(*exec.Cmd, string) {}
