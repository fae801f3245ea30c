//go:build unix

package keyboard

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Keyboard is a terminal that is read.
type Keyboard struct {
	tty  *os.File
	wake [2]int // a pipe that ends a wait
	kept []byte

	mu  sync.Mutex
	was *term.State // before Raw, nil outside of it
}

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

// Read gives what was typed: bytes as they come, or nothing after a time or when it was woken. A negative time has no
// end. The error is that of the context, or io.EOF where the terminal is gone or its end was typed.
func (k *Keyboard) Read(ctx context.Context, within time.Duration) ([]byte, error) {
	if out := k.Kept(); len(out) > 0 {
		return out, nil
	}
	return k.read(ctx, within)
}

// Typed waits for a time until there is something to read, and leaves it there.
func (k *Keyboard) Typed(ctx context.Context, within time.Duration) bool {
	ready, err := k.poll(ctx, within)
	return ready && err == nil
}

// poll tells whether there is something to read; the times and errors are those of Read.
func (k *Keyboard) poll(ctx context.Context, within time.Duration) (ready bool, err error) {
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
	if ready, err := k.poll(ctx, within); !ready || err != nil {
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

// Keep puts back what was read and not used.
func (k *Keyboard) Keep(data []byte) { k.kept = append(append([]byte(nil), data...), k.kept...) }

// Kept takes what was put back.
func (k *Keyboard) Kept() []byte {
	out := k.kept
	k.kept = nil
	return out
}

// Drop forgets all that was typed and not read.
func (k *Keyboard) Drop() {
	k.kept = nil
	flush(k.tty)
}

// Raw gives each key at once and prints none of them, and marks pastes, until Restore.
func (k *Keyboard) Raw(out io.Writer) error {
	was, err := term.MakeRaw(int(k.tty.Fd()))
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.was = was
	_, err = io.WriteString(out, "\x1b[?2004h")
	return err
}

// Guard reads keys that are for nobody until the context ends: none is shown and none is kept, but what was put back
// before stays. An Escape that begins no other key and Ctrl-Z are told; Ctrl-C is a signal as ever. Where another
// process has the terminal, keys are left alone. Restore undoes it.
func (k *Keyboard) Guard(ctx context.Context, told func(key byte)) {
	fd := int(k.tty.Fd())
	was, err := term.GetState(fd)
	mode, failed := unix.IoctlGetTermios(fd, getMode)
	if err != nil || failed != nil || !Foreground(k.tty) {
		return
	}
	k.mu.Lock()
	k.was = was
	mode.Lflag &^= unix.ICANON | unix.ECHO
	mode.Cc[unix.VMIN], mode.Cc[unix.VTIME], mode.Cc[unix.VSUSP] = 1, 0, noKey
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

// Foreground tells whether this process may use the terminal, or another one has it.
func Foreground(tty *os.File) bool {
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// Restore undoes Raw and Guard, and shows the cursor; it may be called from anywhere, and again.
func (k *Keyboard) Restore(out io.Writer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.was == nil {
		return
	}
	io.WriteString(out, "\x1b[?2004l\x1b[?25h") //nolint:errcheck // a terminal that is gone needs no more
	_ = term.Restore(int(k.tty.Fd()), k.was)    //nolint:errcheck // as above
	k.was = nil
}

// settle is how long a terminal may take for what was written last.
const settle = 150 * time.Millisecond

// Settle is Restore behind what must not be lost. Where keys are signals, Ctrl-C, Ctrl-Z and Ctrl-\ throw away what the
// terminal has not read yet, so that they stay plain keys until it had the time.
func (k *Keyboard) Settle(out io.Writer) {
	<-time.After(settle)
	k.Restore(out)
}

// Hold remembers how the terminal is. back brings it there again after a program had it; hard also undoes what one that
// died may have left: another screen, the mouse, the keys of a keypad.
func (k *Keyboard) Hold(out io.Writer) (back func(hard bool)) {
	was, err := term.GetState(int(k.tty.Fd()))
	return func(hard bool) {
		undo := "\x1b[?2004l\x1b[?25h\x1b[0m"
		if hard {
			undo += "\x1b[?47l\x1b[?1l\x1b>\x1b[?1000l\x1b[?1002l\x1b[?1006l\r\n"
		}
		io.WriteString(out, undo) //nolint:errcheck // a terminal that is gone needs no more
		if err == nil {
			_ = term.Restore(int(k.tty.Fd()), was) //nolint:errcheck // as above
		}
	}
}

// File is the terminal itself, for a program that gets it.
func (k *Keyboard) File() *os.File { return k.tty }
