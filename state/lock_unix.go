//go:build unix

package state

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// lockFlags keep the lock file from being a link that is followed or a FIFO that blocks.
const lockFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// canWrite is false where the promises of a write cannot be kept.
const canWrite = true

// owner names the user that a file belongs to, as words to append.
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

// links counts the names of a file, 1 if that is not known.
func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink) //nolint:unconvert // its width differs between systems
	}
	return 1
}
