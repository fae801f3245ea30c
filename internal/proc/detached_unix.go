//go:build unix

package proc

import (
	"os/exec"
	"syscall"
)

// ownSession lets a program outlive this one, and keeps the keys of the terminal from it.
func ownSession(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}
