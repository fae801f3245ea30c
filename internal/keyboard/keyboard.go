// Package keyboard reads a terminal only during a call of Read.
//
// Promise: a wait that ends by its context, its timeout or Wake consumes no input. Keep puts unused
// input back, and Read gives it first. Raw and Restore keep what the user types meanwhile.
//
// It will not decode keys, and prints nothing.
//
// Concurrency: any goroutine may call Wake and Restore; everything else belongs to one caller at a
// time.
package keyboard

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// The keys that Guard reports.
const (
	Escape byte = 0x1b
	Stop   byte = 0x1a // Ctrl-Z
)

// Keyboard is a terminal to read from.
type Keyboard struct {
	tty  *os.File
	wake [2]int // a pipe that ends a wait
	kept []byte

	mu  sync.Mutex
	was *term.State // before Raw, nil outside of it
}

// Read gives raw input bytes; it gives none after a timeout or Wake. A negative timeout waits
// without end. The error is the context's, or io.EOF if the terminal closed or the user typed its
// end.
func (k *Keyboard) Read(ctx context.Context, within time.Duration) ([]byte, error) {
	if out := k.Kept(); len(out) > 0 {
		return out, nil
	}
	return k.read(ctx, within)
}

// Keep puts unused input back.
func (k *Keyboard) Keep(data []byte) {
	k.kept = append(append([]byte(nil), data...), k.kept...)
}

// Kept takes the input that Keep put back.
func (k *Keyboard) Kept() []byte {
	out := k.kept
	k.kept = nil
	return out
}

// Drop discards all unread input.
func (k *Keyboard) Drop() {
	k.kept = nil
	flush(k.tty)
}

// Raw delivers each key at once without echo, and marks pastes, until Restore.
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

// Restore undoes Raw and Guard, and shows the cursor; any goroutine may call it, repeatedly.
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

// off ends the marks of pastes and shows the cursor. settle is how long a terminal may take for
// what was written last.
const (
	off    = "\x1b[?2004l\x1b[?25h"
	settle = 150 * time.Millisecond
)

// Settle gives the terminal 150 ms to read what was written, and then calls Restore. Restore makes
// Ctrl-C, Ctrl-Z and Ctrl-\ signals again, and such a signal discards what the terminal has not
// read yet.
func (k *Keyboard) Settle(out io.Writer) {
	io.WriteString(out, off) //nolint:errcheck // a terminal that is gone needs no more
	<-time.After(settle)
	k.Restore(out)
}

// Hold saves the terminal's settings. back restores them after another program used it; hard also
// undoes the alternate screen, mouse and keypad modes of a crashed one.
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

// File is the terminal, to hand to another program.
func (k *Keyboard) File() *os.File {
	return k.tty
}
