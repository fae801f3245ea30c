package proc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The runtime's part of a fork, as in syscall.ForkExec: it blocks signals in the parent and resets
// the handlers in the child.
//
//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

//go:linkname afterForkInChild syscall.runtime_AfterForkInChild
func afterForkInChild()

// forkStep is a step of a child between fork and exec.
type forkStep uint32

const (
	stepNone forkStep = iota
	stepStream
	stepGroup
	stepNoNewPrivs
	stepLandlock
	stepExec
)

// String names the step in errors.
func (s forkStep) String() string {
	return [...]string{
		"fork", "streams", "setpgid", "no_new_privs", "landlock_restrict_self", "exec",
	}[s]
}

// forkedChild is all data that a child needs between fork and exec, where it can neither allocate
// nor grow its stack.
type forkedChild struct {
	path    *byte
	argv    []*byte
	env     []*byte
	streams [statusDescriptor + 1]int // above their own numbers; negative: none
	group   bool                      // becomes a process group leader
	ruleset int
	errPipe int       // write end of a pipe that exec closes
	failure [2]uint32 // step and errno that the child writes to errPipe
}

// forkExecRuleset is syscall.ForkExec for a program that a landlock ruleset restricts, with
// no_new_privs, before its first instruction.
//
// The child restricts itself, because a restricted thread of this process would be in the landlock
// domain of the program: the program could signal and trace it, and through its memory act without
// any restriction.
func forkExecRuleset(
	path string,
	argv []string,
	attr *syscall.ProcAttr,
	ruleset int,
) (pid int, err error) {
	c := &forkedChild{group: attr.Sys.Setpgid, ruleset: ruleset}
	c.path, err = syscall.BytePtrFromString(path)
	if err != nil {
		return 0, err
	}

	c.argv, err = syscall.SlicePtrFromStrings(argv)
	if err != nil {
		return 0, err
	}
	c.env, err = syscall.SlicePtrFromStrings(attr.Env)
	if err != nil {
		return 0, err
	}

	for i := range c.streams {
		c.streams[i] = -1
		if i == len(attr.Files) {
			break
		}
		c.streams[i] = int(attr.Files[i])
		if c.streams[i] < len(c.streams) {
			return 0, fmt.Errorf("stream %d: expected a descriptor of its own, got %d",
				i, c.streams[i])
		}
	}

	// No descriptor that another goroutine has just opened may reach the child.
	syscall.ForkLock.Lock()
	failed, report, err := os.Pipe()
	if err != nil {
		syscall.ForkLock.Unlock()
		return 0, err
	}
	defer func() { ignore(failed.Close()) }() // read only
	c.errPipe = int(report.Fd())
	forked, errno := c.fork()
	afterFork()
	syscall.ForkLock.Unlock()
	ignore(report.Close()) // nothing was written to it here
	runtime.KeepAlive(c)
	if errno != 0 {
		return 0, fmt.Errorf("%s: %w", stepNone, errno)
	}

	pid = int(forked)
	failure := make([]byte, unsafe.Sizeof(c.failure))
	_, err = io.ReadFull(failed, failure)
	if errors.Is(err, io.EOF) {
		return pid, nil // the program runs: exec closed the pipe
	}

	for {
		_, waited := unix.Wait4(pid, nil, 0, nil)
		if waited != unix.EINTR {
			break
		}
	}
	if err != nil {
		return 0, fmt.Errorf("a child ended before it could start the program: %w", err)
	}

	step := forkStep(binary.NativeEndian.Uint32(failure[:4]))
	return 0, fmt.Errorf("%s: %w", step, syscall.Errno(binary.NativeEndian.Uint32(failure[4:])))
}

// fork creates the child, which execs the program, or reports the failed step and exits. The child
// has none of the other threads of this process, so it only makes raw system calls.
//
// Where forkFlags share the memory, the parent waits until exec, and the child writes on its stack
// meanwhile. So the parent returns at once, and the caller calls afterFork.
//
//go:noinline
//go:norace
func (c *forkedChild) fork() (pid uintptr, errno syscall.Errno) {
	flags := uintptr(unix.SIGCHLD | forkFlags)
	stack := uintptr(0)
	if runtime.GOARCH == "s390x" { // the first two arguments of clone are swapped there
		flags, stack = stack, flags
	}
	beforeFork()
	pid, errno = rawClone(flags, stack)
	if pid != 0 || errno != 0 {
		return pid, errno
	}

	afterForkInChild()
	step, errno := c.execRestricted()
	c.failure = [2]uint32{uint32(step), uint32(errno)}
	syscall.RawSyscall( //nolint:errcheck // there is nobody else to tell
		unix.SYS_WRITE,
		uintptr(c.errPipe),
		uintptr(unsafe.Pointer(&c.failure)),
		unsafe.Sizeof(c.failure),
	)
	for {
		syscall.RawSyscall(unix.SYS_EXIT, 1, 0, 0) //nolint:errcheck // it does not return
	}
}

// execRestricted restricts the child and execs the program. It returns only if a step fails.
//
//go:nosplit
//go:norace
func (c *forkedChild) execRestricted() (step forkStep, errno syscall.Errno) {
	for i, fd := range c.streams {
		if fd < 0 {
			continue
		}
		if _, _, errno = syscall.RawSyscall(unix.SYS_DUP3, uintptr(fd), uintptr(i), 0); errno != 0 {
			return stepStream, errno
		}
	}
	if c.group {
		if _, _, errno = syscall.RawSyscall(unix.SYS_SETPGID, 0, 0, 0); errno != 0 {
			return stepGroup, errno
		}
	}
	_, _, errno = syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0)
	if errno != 0 {
		return stepNoNewPrivs, errno
	}
	_, _, errno = syscall.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(c.ruleset), 0, 0)
	if errno != 0 {
		return stepLandlock, errno
	}
	_, _, errno = syscall.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(c.path)),
		uintptr(unsafe.Pointer(&c.argv[0])), uintptr(unsafe.Pointer(&c.env[0])))
	return stepExec, errno
}
