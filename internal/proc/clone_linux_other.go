//go:build linux && !amd64 && !arm64

package proc

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// forkFlags are none: the child has a copy of the memory.
const forkFlags = 0

// rawClone is the system call clone.
//
//go:nosplit
//go:norace
func rawClone(flags, stack uintptr) (pid uintptr, errno syscall.Errno) {
	pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE, flags, stack, 0, 0, 0, 0)
	return pid, errno
}
