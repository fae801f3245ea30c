//go:build unix

package keyboard

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// New makes the keyboard of a terminal, which stays open until the process ends.
func New(tty *os.File) (*Keyboard, error) {
	k := &Keyboard{tty: tty}
	if err := unix.Pipe(k.wake[:]); err != nil {
		return nil, err
	}
	for _, fd := range k.wake {
		unix.CloseOnExec(fd)
		if err := unix.SetNonblock(fd, true); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// Wake ends the wait of Read.
func (k *Keyboard) Wake() {
	_, _ = unix.Write(k.wake[1], []byte{0}) //nolint:errcheck // a full pipe wakes as well
}

// Typed reports whether input is waiting, without consuming it; times and errors are those of Read.
func (k *Keyboard) Typed(ctx context.Context, within time.Duration) (ready bool, err error) {
	defer context.AfterFunc(ctx, k.Wake)()
	wait := -1
	if within >= 0 {
		wait = int(within.Milliseconds())
	}
	fd := int(k.tty.Fd())
	both := []unix.PollFd{
		{Fd: int32(fd), Events: unix.POLLIN},        //nolint:gosec // a descriptor is small
		{Fd: int32(k.wake[0]), Events: unix.POLLIN}, //nolint:gosec // as above
	}

	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	_, err = unix.Poll(both, wait)
	if both[1].Revents != 0 {
		var buf [4096]byte
		_, _ = unix.Read(k.wake[0], buf[:]) //nolint:errcheck // only to empty it
	}

	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case errors.Is(err, unix.EINTR):
		return false, nil
	}
	return both[0].Revents != 0, err
}

// read is Read without what was put back.
func (k *Keyboard) read(ctx context.Context, within time.Duration) ([]byte, error) {
	if ready, err := k.Typed(ctx, within); !ready || err != nil {
		return nil, err
	}

	var buf [4096]byte
	n, err := unix.Read(int(k.tty.Fd()), buf[:])
	switch {
	case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
		return nil, nil
	case errors.Is(err, unix.EIO), err == nil && n == 0: // the terminal was closed
		return nil, io.EOF
	case err != nil:
		return nil, err
	}
	return buf[:n:n], nil
}

// Guard discards keys until the context ends, without echo; input that Unread put back stays. It
// reports Ctrl-Z, and an Escape that begins no other key; Ctrl-C stays a signal. While another
// process has the terminal, it reads nothing. Restore undoes it.
func (k *Keyboard) Guard(ctx context.Context, told func(key byte)) {
	fd := int(k.tty.Fd())
	was, err := term.GetState(fd)
	mode, failed := unix.IoctlGetTermios(fd, getMode)
	if err != nil || failed != nil || !Foreground(k.tty) {
		return
	}

	k.mu.Lock()
	k.saved = was
	mode.Lflag &^= unix.ICANON | unix.ECHO
	mode.Cc[unix.VMIN] = 1
	mode.Cc[unix.VTIME] = 0
	mode.Cc[unix.VSUSP] = noKey
	err = unix.IoctlSetTermios(fd, setMode, mode)
	k.mu.Unlock()

	const alone = 50 * time.Millisecond // what begins with Escape and is a key comes at once
	for err == nil {
		var data []byte
		data, err = k.read(ctx, -1)
		if bytes.IndexByte(data, Stop) >= 0 {
			told(Stop)
		}
		if err != nil || !bytes.HasSuffix(data, []byte{Escape}) {
			continue
		}
		if data, err = k.read(ctx, alone); err == nil && len(data) == 0 {
			told(Escape)
		}
	}
}

// Foreground reports whether this process has the terminal.
func Foreground(tty *os.File) bool {
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}
