//go:build unix

package proc

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// launch starts cmd as the leader of a new session. Without a terminal it can neither be stopped by
// one nor change one.
func launch(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	becomeSubreaper()
	return cmd.Start()
}

// detach starts cmd like launch does, to outlive this process.
func detach(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}

// RedirectOutput makes a file the standard output and the error output of this process.
func RedirectOutput(f *os.File) error {
	for _, fd := range []int{unix.Stdout, unix.Stderr} {
		if err := unix.Dup2(int(f.Fd()), fd); err != nil {
			return os.NewSyscallError("dup2", err)
		}
	}
	return nil
}

func interrupt(cmd *exec.Cmd) {
	signalGroup(cmd, unix.SIGINT)
}

func terminate(cmd *exec.Cmd) {
	signalGroup(cmd, unix.SIGTERM)
}

func kill(cmd *exec.Cmd) {
	signalGroup(cmd, unix.SIGKILL)
}

func signalGroup(cmd *exec.Cmd, sig unix.Signal) {
	ignore(unix.Kill(-cmd.Process.Pid, sig)) // a group that is already empty needs no signal
}

func signalName(st *os.ProcessState) string {
	ws, ok := st.Sys().(syscall.WaitStatus)
	if !ok || !ws.Signaled() {
		return ""
	}
	return unix.SignalName(ws.Signal())
}

// openSpill opens a file of a run's folder for the output of a child. It does not follow a link,
// and does not block on a FIFO.
func openSpill(file string) (*os.File, error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC | unix.O_NOFOLLOW | unix.O_NONBLOCK
	//nolint:forbidigo // the run's own folder: not state that is replaced
	return os.OpenFile(file, flags, 0o600)
}
