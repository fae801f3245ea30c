//go:build unix

package proc

import (
	"os/exec"
	"syscall"
)

// setOwnSession lets a program outlive this one, and keeps the keys of the terminal from it.
func setOwnSession(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}
