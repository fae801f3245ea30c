package proc_test

import (
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"tercet/internal/proc"
)

// TestWaitPolled: the end of a child is seen and the child left to be reaped; of a process that is
// no child nothing is seen.
func TestWaitPolled(t *testing.T) {
	t.Parallel()
	fd, err := unix.PidfdOpen(unix.Getpid(), unix.PIDFD_NONBLOCK)
	if err != nil {
		t.Skipf("no descriptors of processes here: %v", err)
	}
	unix.Close(fd)
	if proc.WaitPolled(unix.Getpid()) {
		t.Error("waited for a process that is no child")
	}
	cmd := exec.Command("sh", "-c", "read x; exit 3")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan bool)
	go func() { ended <- proc.WaitPolled(cmd.Process.Pid) }()
	in.Close()
	if !<-ended {
		t.Error("the end of a child was not seen")
	}
	_ = cmd.Wait() // it exits with 3
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("the child was not left to be reaped: %v", cmd.ProcessState)
	}
}
