package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"time"

	"tercet/internal/query"
)

const (
	// markedSize is from what size on marks of a file are kept: a smaller one is read as fast.
	markedSize = 256 << 10
	// settled is for how long a file must not have been changed before marks of it are kept: a change within the resolution of
	// its times would not show.
	settled = 2 * time.Second
)

// useMarks gives the inputs what is known of them from an earlier query, in the person's cache folder, and takes what this
// one finds out. Marks hold for the very file: the same device, inode, size and times.
func (a *app) useMarks(inputs []query.Input, now time.Time) {
	for i := range inputs {
		f, ok := inputs[i].File.(*os.File)
		if !ok {
			continue
		}
		info, err := f.Stat()
		if err != nil || info.Size() < markedSize {
			continue
		}
		is, changed, ok := identity(info)
		name, err := filepath.Abs(inputs[i].Name)
		if !ok || err != nil {
			continue
		}
		sum := sha256.Sum256([]byte(name))
		cache, ok := a.fileCache("marks-" + hex.EncodeToString(sum[:8]))
		if !ok {
			continue
		}
		if data, err := cache.Load(); err == nil && bytes.HasPrefix(data, is) {
			inputs[i].Marks = data[len(is):]
		}
		if now.Sub(changed) < settled {
			continue
		}
		inputs[i].Keep = func(marks []byte) {
			if info, err := f.Stat(); err == nil {
				if still, _, _ := identity(info); bytes.Equal(still, is) {
					_ = cache.Store(append(is, marks...)) //nolint:errcheck // without a place for it, the next query reads the file as this one did
				}
			}
		}
	}
}
