//go:build linux && (amd64 || arm64)

package faults

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrUnavailable means that this system cannot watch calls; the wrapping error says why.
var ErrUnavailable = errors.New("no system call notifications")

// Available says why calls cannot be watched here; nil if they can, as far as is known without
// trying.
func Available() error {
	action := uint32(unix.SECCOMP_RET_USER_NOTIF)
	at := uintptr(unsafe.Pointer(&action))
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, at); e != 0 {
		return fmt.Errorf("%w: seccomp without user notification: %w", ErrUnavailable, e)
	}
	return nil
}

// Pair makes the two ends of the channel between a program and the test. The program's end goes
// into its extra files; the test closes its copy after the start.
func Pair() (test, program *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	test = os.NewFile(uintptr(fds[0]), "faults-test")
	program = os.NewFile(uintptr(fds[1]), "faults-program")
	return test, program, nil
}

// Enter puts this process, with all its threads, under the filter and sends the notifications to
// the test. It closes program. From then on every file call waits for the test. With changes only
// those wait for which Call.Changes may be true: most calls read, and each wait costs time. The
// test also gets an error.
func Enter(program *os.File, changes bool) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	fd := int(program.Fd())
	listener, err := installFilter(changes)
	if err != nil {
		return errors.Join(err, unix.Sendmsg(fd, []byte(err.Error()), nil, nil, 0), program.Close())
	}

	if err := unix.Sendmsg(fd, []byte{0}, unix.UnixRights(listener), nil, 0); err != nil {
		return os.NewSyscallError("sendmsg", err)
	}
	return errors.Join(os.NewSyscallError("close", unix.Close(listener)), program.Close())
}

// installFilter installs the filter for all threads and gives the descriptor on which the
// notifications come.
func installFilter(changes bool) (int, error) {
	code := instructions(changes)
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, fmt.Errorf("%w: no_new_privs: %w", ErrUnavailable, err)
	}

	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_TSYNC |
		unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH
	// With the last flag a call that was handed over is not begun again because of a signal, which
	// would count it twice.
	for _, f := range []uintptr{flags | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, flags} {
		fd, _, e := unix.RawSyscall(
			unix.SYS_SECCOMP,
			unix.SECCOMP_SET_MODE_FILTER,
			f,
			uintptr(unsafe.Pointer(&prog)),
		)
		runtime.KeepAlive(code)
		if e == 0 {
			return int(fd), nil
		}
		if e != unix.EINVAL {
			return -1, fmt.Errorf("%w: seccomp filter: %w", ErrUnavailable, e)
		}
	}
	return -1, fmt.Errorf("%w: seccomp filter: the kernel does not know its flags", ErrUnavailable)
}

// instructions is the filter: the watched calls are handed over, all others are done.
func instructions(changes bool) []unix.SockFilter {
	const (
		number = 0
		arch   = 4
		flags  = 32
	) // offsets in struct seccomp_data; the last is the lower half of openat's third
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	give := func(k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k}
	}
	jump := func(how uint16, k uint32, yes, no int) unix.SockFilter {
		return unix.SockFilter{
			Code: unix.BPF_JMP | how | unix.BPF_K,
			K:    k,
			Jt:   uint8(yes),
			Jf:   uint8(no),
		}
	}
	own := map[string]uint32{
		"amd64": unix.AUDIT_ARCH_X86_64,
		"arm64": unix.AUDIT_ARCH_AARCH64,
	}[runtime.GOARCH]
	handOver := give(unix.SECCOMP_RET_USER_NOTIF)
	done := give(unix.SECCOMP_RET_ALLOW)
	out := []unix.SockFilter{load(arch), jump(unix.BPF_JEQ, own, 1, 0), done, load(number)}
	for _, c := range watched {
		switch {
		case !changes:
			out = append(out, jump(unix.BPF_JEQ, c.number, 0, 1), handOver)
		case c.number == unix.SYS_OPENAT:
			out = append(out, jump(unix.BPF_JEQ, c.number, 0, 4), load(flags),
				jump(unix.BPF_JSET, unix.O_CREAT|unix.O_TRUNC, 0, 1), handOver, done)
		case (Call{Name: c.name, Flags: unix.O_CREAT}).Changes():
			out = append(out, jump(unix.BPF_JEQ, c.number, 0, 1), handOver)
		}
	}

	return append(out, done)
}
