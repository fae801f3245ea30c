//go:build !unix

package main

import "io/fs"

// ownedByUser reports whether a file is one of this user; this system does not tell.
func ownedByUser(fs.FileInfo) bool {
	return true
}
