// Package keyboard reads a terminal only while somebody waits for it.
//
// Promise: a wait ends with its context, after its time or by Wake, and takes nothing then. What was read and not used
// can be put back and is read first. Raw and its undoing leave what was typed meanwhile in the terminal.
//
// It will not decode keys, and prints nothing.
//
// Concurrency: Wake and Restore may be called from anywhere; everything else belongs to one caller at a time.
package keyboard

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// The keys that Guard tells of.
const (
	Escape byte = 0x1b
	Stop   byte = 0x1a // Ctrl-Z
)

// Keyboard is a terminal that is read.
type Keyboard struct {
	tty  *os.File
	wake [2]int // a pipe that ends a wait
	kept []byte

	mu  sync.Mutex
	was *term.State // before Raw, nil outside of it
}

// Read gives what was typed: bytes as they come, or nothing after a time or when it was woken. A negative time has no
// end. The error is that of the context, or io.EOF where the terminal is gone or its end was typed.
func (k *Keyboard) Read(ctx context.Context, within time.Duration) ([]byte, error) {
	if out := k.Kept(); len(out) > 0 {
		return out, nil
	}
	return k.read(ctx, within)
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

// Restore undoes Raw and Guard, and shows the cursor; it may be called from anywhere, and again.
func (k *Keyboard) Restore(out io.Writer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.was == nil {
		return
	}
	io.WriteString(out, off)                 //nolint:errcheck // a terminal that is gone needs no more
	_ = term.Restore(int(k.tty.Fd()), k.was) //nolint:errcheck // as above
	k.was = nil
}

// off ends the marks of pastes and shows the cursor. settle is how long a terminal may take for what was written last.
const (
	off    = "\x1b[?2004l\x1b[?25h"
	settle = 150 * time.Millisecond
)

// Settle is Restore that is not lost, nor what was written before. Where keys are signals, Ctrl-C, Ctrl-Z and Ctrl-\
// throw away what the terminal has not read yet, so that they stay plain keys until it had the time.
func (k *Keyboard) Settle(out io.Writer) {
	io.WriteString(out, off) //nolint:errcheck // a terminal that is gone needs no more
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
