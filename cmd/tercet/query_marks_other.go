//go:build !linux

package main

import (
	"io/fs"
	"time"
)

// identity knows no file here.
func identity(fs.FileInfo) (is []byte, changed time.Time, ok bool) { return nil, time.Time{}, false }
