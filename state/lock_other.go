//go:build !unix

package state

import "io/fs"

const lockFlags = 0

// canWrite is false where the promises of a write cannot be kept.
const canWrite = false

func owner(string) string {
	return ""
}

func linkCount(fs.FileInfo) uint64 {
	return 1
}
