// Package history stores the lines entered at the prompt, over sessions and processes.
//
// Promise: a line is appended as one JSON object, to a file that only its owner can read. A line
// that begins with a space is not kept, and neither is one that repeats the line before. The file
// holds the newest 10,000 lines, and several processes may write it at once.
//
// It does not detect secrets: to keep one out, begin the line with a space.
//
// Concurrency: a History belongs to one goroutine; files are shared under a lock.
package history

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"tercet/internal/atomicfile"
)

// Name is the file's name in its folder.
const Name = "history.jsonl"

const (
	// Most bounds the number of kept lines.
	Most = 10_000
	// slack is how many more may stand in the file before it is written anew.
	slack = 1_000
)

// entry is a line of the file. Keys that it does not know are lost when the file is written anew.
type entry struct {
	Time time.Time `json:"time"`
	Line string    `json:"line"`
}

// History is one user's lines.
type History struct {
	folder string
	lines  []string // oldest first
	size   int64    // of the file, when it was read last
}

// Open opens the history in a folder, which may not exist yet.
func Open(folder string) *History {
	return &History{folder: folder}
}

// Lines gives all lines, oldest first, also those that other processes added since the last call.
// It skips unreadable entries.
func (h *History) Lines() []string {
	name := filepath.Join(h.folder, Name)
	info, err := os.Stat(name)
	if err != nil || info.Size() == h.size {
		return h.lines
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return h.lines
	}

	h.size = int64(len(data))
	h.lines = nil
	for line := range bytes.Lines(data) {
		var e entry
		if json.Unmarshal(line, &e) == nil && e.Line != "" {
			h.lines = append(h.lines, e.Line)
		}
	}
	h.lines = h.lines[max(0, len(h.lines)-Most):]
	return h.lines
}

// Add stores a line with its time, unless it repeats the one before or begins with a space: as in
// shells, that keeps it out of the history.
func (h *History) Add(line string, at time.Time) (err error) {
	before := h.Lines()
	if line == "" || line[0] == ' ' {
		return nil
	}
	if n := len(before); n > 0 && before[n-1] == line {
		return nil
	}

	text, err := json.Marshal(entry{at.UTC().Truncate(time.Second), line})
	if err != nil {
		return err
	}
	if err = os.MkdirAll(h.folder, 0o700); err != nil {
		return err
	}

	root, err := os.OpenRoot(h.folder)
	if err != nil {
		return err
	}
	defer func() { err = firstError(err, root.Close()) }()

	lock := flock.New(filepath.Join(h.folder, "history.lock"), flock.SetPermissions(0o600))
	if err = lock.Lock(); err != nil {
		return err
	}
	defer func() { err = firstError(err, lock.Close()) }()
	if err = atomicfile.Append(root, Name, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return h.shorten(root)
}

// shorten writes the file anew when it holds too many lines.
func (h *History) shorten(root *os.Root) error {
	data, err := root.ReadFile(Name)
	if err != nil || bytes.Count(data, []byte("\n")) <= Most+slack {
		return err
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	data = bytes.Join(lines[max(0, len(lines)-1-Most):], nil)
	return atomicfile.WriteIn(root, Name, data, atomicfile.Options{Mode: 0o600})
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
