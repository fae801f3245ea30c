package question

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// Lines reads an input line by line in one goroutine, so that a wait that a signal ends loses nothing.
type Lines struct {
	in   *bufio.Reader
	tty  *os.File // the input if it is a terminal, else nil
	once sync.Once
	ch   chan read
}

type read struct {
	text string
	err  error
}

// NewLines makes the reader of an input; tty is that input if it is a terminal, else nil.
func NewLines(in io.Reader, tty *os.File) *Lines {
	return &Lines{in: bufio.NewReader(in), tty: tty, ch: make(chan read)}
}

// follow reads until the end of the input. A terminal goes on after Ctrl-D.
func (l *Lines) follow() {
	for {
		text, err := l.in.ReadString('\n')
		l.ch <- read{strings.TrimRight(text, "\r\n"), err}
		if err != nil && l.tty == nil {
			close(l.ch)
			return
		}
	}
}

// Next gives the next line without its line feed; io.EOF comes with the last, unended one.
func (l *Lines) Next(ctx context.Context) (string, error) {
	l.once.Do(func() { go l.follow() })
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

// quiet is how long nothing may come on a terminal until what was typed, or pasted, has all come.
const quiet = 20 * time.Millisecond

// Drop empties a terminal before a question: it gives the lines that were typed so far, and drops one that was begun.
func (l *Lines) Drop() []string {
	if l.tty == nil {
		return nil
	}
	out := l.Rest()
	flush(l.tty)
	return out
}

// Rest gives the lines that a terminal has sent and nobody has read. Behind an answer they are the rest of a paste.
func (l *Lines) Rest() []string {
	if l.tty == nil {
		return nil
	}
	l.once.Do(func() { go l.follow() })
	var out []string
	for len(out) < 1000 {
		select {
		case got := <-l.ch:
			if got.text != "" {
				out = append(out, got.text)
			}
		case <-time.After(quiet):
			return out
		}
	}
	return out
}
