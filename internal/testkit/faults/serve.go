//go:build linux && (amd64 || arm64)

package faults

import (
	"errors"
	"fmt"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notification is struct seccomp_notif.
type notification struct {
	id         uint64
	pid, flags uint32
	number     int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	val   int64
	errno int32
	flags uint32
}

// Listener receives the notifications of one program.
type Listener struct {
	fd    int
	calls map[uint32]call
}

// Accept waits until the program at the other end of test has entered the filter. It closes test.
// The error is ErrUnavailable when the program could not enter.
func Accept(test *os.File) (_ *Listener, err error) {
	defer func() { err = errors.Join(err, test.Close()) }()
	text := make([]byte, 512)
	rights := make([]byte, unix.CmsgSpace(4))
	n, rn, _, _, err := unix.Recvmsg(int(test.Fd()), text, rights, unix.MSG_CMSG_CLOEXEC)
	for errors.Is(err, unix.EINTR) {
		n, rn, _, _, err = unix.Recvmsg(int(test.Fd()), text, rights, unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil {
		return nil, os.NewSyscallError("recvmsg", err)
	}
	if n == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	if rn == 0 {
		return nil, fmt.Errorf("%w: %s", ErrUnavailable, text[:n])
	}

	messages, err := unix.ParseSocketControlMessage(rights[:rn])
	if err != nil {
		return nil, os.NewSyscallError("recvmsg", err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, os.NewSyscallError("recvmsg", err)
	}

	l := &Listener{fd: fds[0], calls: map[uint32]call{}}
	for _, c := range watched {
		l.calls[c.number] = c
	}
	return l, nil
}

// Serve answers the calls of a program by the plan, until it and all its descendants have ended. It
// closes the listener. The caller waits for the program itself, and kills it to end Serve early.
func (l *Listener) Serve(program *os.Process, plan Plan) (out Outcome, err error) {
	defer func() {
		err = errors.Join(err, os.NewSyscallError("close", unix.Close(l.fd)))
	}()
	for {
		poll := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); err != nil {
			if errors.Is(err, unix.EINTR) {
				continue
			}
			return out, os.NewSyscallError("poll", err)
		}
		if poll[0].Revents&unix.POLLIN == 0 {
			return out, nil // no process is under the filter any more
		}
		if err := l.serveCall(program, plan, &out); err != nil {
			return out, err
		}
	}
}

// serveCall answers one notification.
func (l *Listener) serveCall(program *os.Process, plan Plan, out *Outcome) error {
	var n notification
	if err := l.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); err != nil {
		return skipGone("receiving a notification", err)
	}
	if out.Reached && plan.Errno == 0 && isThreadOf(program.Pid, n.pid) {
		return nil // an answer could let its call be done before the thread ends
	}

	what, counted := l.describe(&n, plan)
	r := response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	before := *out
	counted = counted && (plan.Only == nil || plan.Only(what))
	if counted {
		out.Calls++
		what.N = out.Calls
		switch {
		case plan.At == what.N:
			out.Reached = true
			out.Hit = what
			if plan.Errno == 0 {
				own := isThreadOf(program.Pid, n.pid)
				// Its number may belong to another program by now: a child of it made the call, and
				// goes on.
				err := program.Kill()
				if own {
					return err
				}
				break
			}
			r.errno = -int32(plan.Errno)
			r.flags = 0
		case out.Reached && plan.Again != nil && plan.Again(what):
			out.Again++
			r.errno = -int32(plan.Errno)
			r.flags = 0
		}
	}
	if err := l.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)); err != nil {
		*out = before // a signal ended the call; it comes again or not at all
		return skipGone("answering a notification", err)
	}
	if plan.Record != nil && (counted || what.Name == "write" && n.args[0] == 1) {
		plan.Record(what)
	}
	return nil
}

// isThreadOf tells whether a thread is one of the program.
func isThreadOf(pid int, thread uint32) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", pid, thread))
	return err == nil
}

// skipGone drops the error of a call whose thread is gone.
func skipGone(doing string, err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINTR) ||
		errors.Is(err, unix.EINPROGRESS) {
		return nil
	}
	return os.NewSyscallError(doing, err)
}

func (l *Listener) ioctl(request uintptr, arg unsafe.Pointer) error {
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd), request, uintptr(arg)); e != 0 {
		return e
	}
	return nil
}
