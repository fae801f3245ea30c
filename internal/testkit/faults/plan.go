//go:build linux && (amd64 || arm64)

package faults

import (
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Plan says which call is hit, and how. The zero value besides Under watches and hits nothing.
type Plan struct {
	// Under is the folder whose calls are counted, an absolute path without symbolic links.
	Under string
	// Only picks the calls that are counted among those; nil: all.
	Only func(Call) bool
	// At is the number of the call that is hit, from 1; 0 hits none.
	At int
	// Errno is what the call fails with; 0 kills the program before the call is done.
	Errno unix.Errno
	// Again picks later calls that fail with Errno as well, as on a disk that stays full; nil: none.
	Again func(Call) bool
	// Record takes every counted call in order, and writes to the standard output with N 0; nil: nobody asks. The bytes
	// of writes are in it only with Bytes.
	Record func(Call)
	Bytes  bool
}

// Outcome is what came of a plan.
type Outcome struct {
	Calls   int  // how many were counted
	Reached bool // the call of the number came
	Hit     Call // that call
	Again   int  // how many later calls failed as well
}

// Call is one system call about a file.
type Call struct {
	N     int    // its number among the counted calls
	Name  string // "openat", without the variants: renameat2 is "renameat"
	Path  string // absolute; of a call with a handle, the file that it stands for
	To    string // the second path of renameat and linkat
	Flags int    // of openat, unlinkat, flock
	Mode  uint32 // of openat, mkdirat, fchmodat
	Pos   int64  // of write: the offset; of ftruncate: the new size
	Size  int    // of write: the number of bytes
	Data  []byte // of write, if they were asked for
}

// Changes tells whether the call can change what is on the disk, or what of it is durable.
func (c Call) Changes() bool {
	switch c.Name {
	case "openat":
		return c.Flags&(unix.O_CREAT|unix.O_TRUNC) != 0
	case "flock", "close":
		return false
	}
	return true
}

// String gives the call in one line, with base names.
func (c Call) String() string {
	out := fmt.Sprintf("%d %s %s", c.N, c.Name, filepath.Base(c.Path))
	if c.To != "" {
		out += " -> " + filepath.Base(c.To)
	}
	switch {
	case c.Name == "write":
		out += fmt.Sprintf(" %d bytes at %d", c.Size, c.Pos)
	case c.Name == "openat" && c.Flags&unix.O_CREAT != 0:
		out += " O_CREAT"
	case c.Name == "flock" && c.Flags&unix.LOCK_UN != 0:
		out += " LOCK_UN"
	}
	return out
}

// within tells whether a path is the folder or below it.
func within(folder, path string) bool {
	rest, ok := strings.CutPrefix(path, folder)
	return ok && folder != "" && (rest == "" || rest[0] == '/')
}
