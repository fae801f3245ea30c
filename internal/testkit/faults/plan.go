//go:build linux && (amd64 || arm64)

package faults

import (
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Plan says which call to hit, and how. With Under alone it only watches.
type Plan struct {
	// Under is the folder whose calls count, an absolute path without symbolic links.
	Under string
	// Only selects the calls that count; nil: all.
	Only func(Call) bool
	// At is the number of the call to hit, from 1; 0: none.
	At int
	// Errno is the error of the call; 0 kills the program before the call.
	Errno unix.Errno
	// Again selects later calls that also fail with Errno, as on a full disk; nil: none.
	Again func(Call) bool
	// Record gets every counted call in order, and writes to standard output with N 0; may be nil.
	// Only with Bytes the calls hold the written bytes.
	Record func(Call)
	Bytes  bool
}

// Outcome is the result of a plan.
type Outcome struct {
	Calls   int  // number of counted calls
	Reached bool // whether call number At came
	Hit     Call // that call
	Again   int  // number of later calls that failed too
}

// Call is one system call about a file.
type Call struct {
	N     int    // its number among the counted calls
	Name  string // "openat", without the variants: renameat2 is "renameat"
	Path  string // absolute; for a call with a handle, that file's path
	To    string // the second path of renameat and linkat
	Flags int    // of openat, unlinkat, flock
	Mode  uint32 // of openat, mkdirat, fchmodat
	Pos   int64  // of write: the offset; of ftruncate: the new size
	Size  int    // of write: the number of bytes
	Data  []byte // of write, if Plan.Bytes
}

// Changes reports whether the call can change the disk's content or its durability.
func (c Call) Changes() bool {
	switch c.Name {
	case "openat":
		return c.Flags&(unix.O_CREAT|unix.O_TRUNC) != 0
	case "flock", "close":
		return false
	}
	return true
}

// String is the call in one line, with base names.
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

// isBelow tells whether a path is the folder or below it.
func isBelow(folder, path string) bool {
	rest, ok := strings.CutPrefix(path, folder)
	return ok && folder != "" && (rest == "" || rest[0] == '/')
}
