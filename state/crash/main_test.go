//go:build linux && (amd64 || arm64)

// Package crash_test holds the state against crashes, full disks and power cuts: every operation is
// stopped at every system call, every state in which a disk may be left is opened again, and many
// processes are killed while they write. Writers with a planted defect prove that each of these
// finds something.
package crash_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// full makes the tests of this package exhaustive; without it they take samples.
var full = flag.Bool("full", false, "every point, every state, long soaks")

// TestMain runs a child of the tests where the arguments say so: "child KIND FOLDER ARGS...".
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "child" {
		code, err := child(os.Args[2], os.Args[3], os.Args[4:])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}
	if code, ok := inOwnMounts(); ok {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

// inOwnMounts runs the tests in a mount namespace of their own. A program that enters a container
// at that moment, as tests of other packages do, fails when a mount of ours vanishes. ok is false
// in that namespace, and where there is none: then the tests run here.
func inOwnMounts() (code int, ok bool) {
	const inside = "TERCET_TEST_OWN_MOUNTS"
	if os.Geteuid() != 0 || os.Getenv(inside) != "" {
		return 0, false
	}

	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdin = os.Stdin
	cmd.Stdout = os.Stdout
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Unshareflags: syscall.CLONE_NEWNS,
		Pdeathsig:    syscall.SIGKILL,
	}

	runtime.LockOSThread() // Pdeathsig is about this thread
	if err := cmd.Start(); err != nil {
		return 0, false
	}

	err := cmd.Wait()
	if err != nil && cmd.ProcessState.ExitCode() <= 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return cmd.ProcessState.ExitCode(), true
}
