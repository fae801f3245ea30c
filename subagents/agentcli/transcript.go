package agentcli

import (
	"bytes"
	"maps"
	"os"
	"slices"
)

// maxLine bounds one line of a program's output; a longer one is not read.
const maxLine = 8 << 20

// lineReader cuts a stream into lines.
type lineReader struct {
	each func(line []byte) bool // false ends the program
	rest []byte
	skip bool // the line is too long
	done bool
}

// take is proc.Command.Watch.
func (l *lineReader) take(p []byte) bool {
	for !l.done {
		head, tail, ok := bytes.Cut(p, []byte("\n"))
		if !l.skip {
			l.rest = append(l.rest, head...)
		}
		if len(l.rest) > maxLine {
			l.rest = nil
			l.skip = true
		}
		if !ok {
			return true
		}
		p = tail
		l.flush()
	}
	return false
}

func (l *lineReader) flush() {
	if line := bytes.TrimSpace(l.rest); !l.skip && len(line) > 0 && !l.each(line) {
		l.done = true
	}
	l.rest = l.rest[:0]
	l.skip = false
}

// end reads a last line that has no line break.
func (l *lineReader) end() {
	if !l.done {
		l.flush()
	}
}

// transcript keeps what a program printed in the run's folder, without secrets.
type transcript struct {
	file *os.File
	mask func([]byte) []byte
	err  error // the first
}

func newTranscript(name string, mask func([]byte) []byte) (*transcript, error) {
	f, err := createNew(name)
	if err != nil {
		return nil, err
	}
	return &transcript{file: f, mask: mask}, nil
}

func (t *transcript) line(line []byte) {
	if t.err != nil {
		return
	}
	kept := slices.Clone(line)
	if t.mask != nil {
		kept = t.mask(kept)
	}
	if _, err := t.file.Write(append(kept, '\n')); err != nil {
		t.err = onFolder("keep the output", err)
	}
}

func (t *transcript) close() error {
	if err := t.file.Close(); err != nil && t.err == nil {
		t.err = onFolder("keep the output", err)
	}
	return t.err
}

// keepErrors writes the error output, if there is any.
func keepErrors(name string, text []byte, mask func([]byte) []byte) error {
	if len(text) == 0 {
		return nil
	}
	t, err := newTranscript(name, mask)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(text) {
		t.line(bytes.TrimRight(line, "\n"))
	}
	return t.close()
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
