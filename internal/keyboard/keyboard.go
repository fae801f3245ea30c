// Package keyboard reads a terminal only during a call of Read.
//
// Promise: a wait that ends by its context, its timeout or Wake consumes no input. Unread puts
// unused input back, and Read gives it first. Raw and Restore keep what the user types meanwhile.
//
// It will not decode keys, and prints nothing.
//
// Concurrency: any goroutine may call Wake and Restore; everything else belongs to one caller at a
// time.
package keyboard

import (
	"bytes"
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
	tty      *os.File
	wake     [2]int // a pipe that ends a wait
	unread   []byte
	noReport bool // the terminal did not say where its cursor is

	mu    sync.Mutex
	saved *term.State // before Raw, nil outside of it
}

// Read gives raw input bytes; it gives none after a timeout or Wake. A negative timeout waits
// without end. The error is the context's, or io.EOF if the terminal closed or the user typed its
// end.
func (k *Keyboard) Read(ctx context.Context, within time.Duration) ([]byte, error) {
	if out := k.takeUnread(); len(out) > 0 {
		return out, nil
	}
	return k.read(ctx, within)
}

// Unread puts input back: the next Read returns it first.
func (k *Keyboard) Unread(data []byte) {
	k.unread = append(append([]byte(nil), data...), k.unread...)
}

// takeUnread returns what Unread put back, once.
func (k *Keyboard) takeUnread() []byte {
	out := k.unread
	k.unread = nil
	return out
}

// Drop discards all unread input.
func (k *Keyboard) Drop() {
	k.unread = nil
	flush(k.tty)
}

// Whether the terminal has drawn what was written before: it says where its cursor is. reportTime
// is how long that may take, also far away.
const (
	askCursor  = "\x1b[6n"
	reportTime = time.Second
)

// Catch drops what was typed before the terminal had drawn all that was written, and then writes
// text: the terminal's answer stands in the input behind it, however slow the terminal is. A Ctrl-C
// is not dropped. The input of a terminal that does not answer in time stays, and it is asked once
// only. Raw has to be in effect.
func (k *Keyboard) Catch(ctx context.Context, out io.Writer, text string) error {
	if k.noReport {
		_, err := io.WriteString(out, text)
		return err
	}
	if _, err := io.WriteString(out, askCursor+text); err != nil {
		return err
	}

	late := time.After(reportTime)
	var typed []byte
	for {
		data, err := k.Read(ctx, reportTime)
		if err != nil {
			return err
		}
		typed = append(typed, data...)
		if at, end := findReport(typed); at >= 0 {
			rest := typed[end:]
			if bytes.IndexByte(typed[:at], interrupt) >= 0 {
				rest = append([]byte{interrupt}, rest...)
			}
			k.Unread(rest)
			return nil
		}
		select {
		case <-late:
			k.noReport = true
			k.Unread(typed)
			return nil
		default:
		}
	}
}

// interrupt is Ctrl-C.
const interrupt byte = 0x03

// findReport finds where a terminal says where its cursor is, as in "\x1b[24;80R"; at is negative
// without.
func findReport(typed []byte) (at, end int) {
	for at := range typed {
		rest, ok := bytes.CutPrefix(typed[at:], []byte("\x1b["))
		if !ok {
			continue
		}
		n := bytes.IndexFunc(rest, func(r rune) bool { return r != ';' && (r < '0' || r > '9') })
		if n > 0 && rest[n] == 'R' {
			return at, at + len("\x1b[") + n + 1
		}
	}
	return -1, 0
}

// Raw delivers each key at once without echo, and marks pastes, until Restore.
func (k *Keyboard) Raw(out io.Writer) error {
	was, err := term.MakeRaw(int(k.tty.Fd()))
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.saved = was
	_, err = io.WriteString(out, "\x1b[?2004h")
	return err
}

// Restore undoes Raw and Guard, and shows the cursor; any goroutine may call it, repeatedly.
func (k *Keyboard) Restore(out io.Writer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.saved == nil {
		return
	}
	io.WriteString(out, endPasteMarks)         //nolint:errcheck // a closed terminal needs no more
	_ = term.Restore(int(k.tty.Fd()), k.saved) //nolint:errcheck // as above
	k.saved = nil
}

const (
	// endPasteMarks ends the marks of pastes and shows the cursor.
	endPasteMarks = "\x1b[?2004l\x1b[?25h"
	// settleTime is how long a terminal may take for what was written last.
	settleTime = 150 * time.Millisecond
)

// Settle gives the terminal 150 ms to read what was written, and then calls Restore. Restore makes
// Ctrl-C, Ctrl-Z and Ctrl-\ signals again, and such a signal discards what the terminal has not
// read yet.
func (k *Keyboard) Settle(out io.Writer) {
	io.WriteString(out, endPasteMarks) //nolint:errcheck // a terminal that is gone needs no more
	<-time.After(settleTime)
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
