package trace

import (
	"errors"
	"io"
	"sync"
)

// MaxHeld bounds the bytes that a File keeps in memory before Open. It drops later events.
const MaxHeld = 1 << 20

// File writes the lines of one run. Until Open it keeps them in memory, because a run's folder only
// exists once the run stores something. The zero value is ready.
type File struct {
	mu     sync.Mutex
	held   []byte
	writer io.WriteCloser
	err    error // the first error of a write; nothing is written after it
	closed bool
}

// Add stores or writes a line, with its line feed. After Close, or a failed write, it does nothing.
func (f *File) Add(line []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed || f.err != nil:
	case f.writer != nil:
		f.write(line)
	case len(f.held)+len(line) <= MaxHeld:
		f.held = append(f.held, line...)
	}
}

// Open opens the writer for events and writes the stored ones. The File closes the writer. A second
// call does nothing.
func (f *File) Open(opener func() (io.WriteCloser, error)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.writer != nil {
		return f.err
	}

	to, err := opener()
	if err != nil {
		return err
	}

	f.writer = to
	if len(f.held) > 0 {
		f.write(f.held)
	}
	f.held = nil
	return f.err
}

// Close closes the writer, if there is one, and gives the first write error. It drops events that
// were never written.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	f.held = nil
	if f.writer == nil {
		return f.err
	}
	return errors.Join(f.err, f.writer.Close())
}

func (f *File) write(line []byte) {
	if _, err := f.writer.Write(line); err != nil {
		f.err = err
	}
}
