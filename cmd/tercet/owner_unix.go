//go:build unix

package main

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedByUser reports whether a file is one of this user.
func ownedByUser(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}
