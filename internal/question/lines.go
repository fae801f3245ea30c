package question

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"tercet/formats"
	"tercet/internal/keyboard"
)

// Lines reads an input line by line, so that a wait interrupted by a signal loses nothing. It reads
// a terminal only while a caller waits for a line, and any other input in one goroutine.
type Lines struct {
	in   *bufio.Reader
	once sync.Once
	ch   chan read

	tty  *keyboard.Keyboard // the input if it is a terminal, else nil
	text []byte             // of a terminal: what was read and not yet given out
}

type read struct {
	text string
	err  error
}

// NewLines makes the reader of an input; tty is the same input if it is a terminal, else nil.
func NewLines(in io.Reader, tty *keyboard.Keyboard) *Lines {
	return &Lines{
		in:  bufio.NewReader(in),
		tty: tty,
		ch:  make(chan read),
	}
}

// readAll reads until the end of the input.
func (l *Lines) readAll() {
	for first := true; ; first = false {
		text, err := l.in.ReadString('\n')
		if first {
			text = string(formats.WithoutBOM([]byte(text)))
		}
		l.ch <- read{strings.TrimRight(text, "\r\n"), err}
		if err != nil {
			close(l.ch)
			return
		}
	}
}

// Next gives the next line without its line feed; io.EOF comes with a last line without one.
func (l *Lines) Next(ctx context.Context) (string, error) {
	if l.tty != nil {
		return l.nextTyped(ctx, -1)
	}
	l.once.Do(func() { go l.readAll() })
	select {
	case got, ok := <-l.ch:
		if !ok {
			return "", io.EOF
		}
		return got.text, got.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// errNothingTyped says that nothing came in time.
var errNothingTyped = errors.New("nothing was typed")

// nextTyped gives the next line of a terminal, errNothingTyped if within a time none came.
func (l *Lines) nextTyped(ctx context.Context, within time.Duration) (string, error) {
	for {
		if at := bytes.IndexAny(l.text, "\r\n"); at >= 0 {
			line := string(l.text[:at])
			l.text = bytes.TrimPrefix(l.text[at:], []byte("\r"))
			l.text = bytes.TrimPrefix(l.text, []byte("\n"))
			return line, nil
		}
		data, err := l.tty.Read(ctx, within)
		switch {
		case errors.Is(err, io.EOF):
			line := string(l.text)
			l.text = nil
			return line, io.EOF
		case err != nil:
			return "", err
		case len(data) == 0 && within >= 0:
			return "", errNothingTyped
		}
		l.text = append(l.text, data...)
	}
}

// typingPause is how long nothing may come on a terminal until what was typed, or pasted, has all
// come.
const typingPause = 20 * time.Millisecond

// Drop clears a terminal's input before a question: it gives the complete lines typed so far, and
// drops an incomplete one.
func (l *Lines) Drop(ctx context.Context) []string {
	if l.tty == nil {
		return nil
	}
	out := l.Rest(ctx)
	l.text = nil
	l.tty.Drop()
	return out
}

// Rest gives the unread lines of a terminal. After an answer they are the rest of a paste.
func (l *Lines) Rest(ctx context.Context) []string {
	var out []string
	for l.tty != nil && len(out) < 1000 {
		line, err := l.nextTyped(ctx, typingPause)
		if err != nil {
			break
		}
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}
