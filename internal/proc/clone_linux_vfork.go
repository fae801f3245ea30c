//go:build linux && (amd64 || arm64)

package proc

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// forkFlags let the child use the memory of this process until it execs, while the thread that
// forked waits. A copy of the page tables, and of each page that is written afterwards, takes
// longer than the rest of a start.
const forkFlags = unix.CLONE_VM | unix.CLONE_VFORK

// rawClone is the system call clone. It keeps its return address in a register, because the child
// writes over the stack before the parent returns.
//
//go:noescape
func rawClone(flags, stack uintptr) (pid uintptr, errno syscall.Errno)
