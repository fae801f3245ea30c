//go:build unix

package state

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// lockFlags refuse to follow a link and to block on a FIFO.
const lockFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// canWrite is false where the promises of a write cannot be kept.
const canWrite = true

// owner names the user that a file belongs to, as words to append to a message.
func owner(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return ", it belongs to the user with id " + strconv.FormatUint(uint64(st.Uid), 10)
	}
	return ""
}

// linkCount returns the number of hard links of a file, or 1 if it is unknown.
func linkCount(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink) //nolint:unconvert // its width differs between systems
	}
	return 1
}
