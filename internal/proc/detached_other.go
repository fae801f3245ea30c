//go:build !unix

package proc

import "os/exec"

// ownSession does nothing: here a program outlives the one that started it.
func ownSession(*exec.Cmd) {}
