//go:build !unix

package proc

import "os/exec"

// setOwnSession does nothing: here a program outlives the one that started it.
func setOwnSession(*exec.Cmd) {}
