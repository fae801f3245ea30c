package history

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/state/files"
	"tercet/state/statefile"
)

// BackupDir has the backups, relative to the project root.
const BackupDir = formats.Workspace + "/backups"

// EachBackup iterates over the readable backups, newest first.
func EachBackup(root *os.Root) iter.Seq2[uint64, []byte] {
	return func(yield func(uint64, []byte) bool) {
		list, err := Backups(root)
		if err != nil {
			return // a caller that needs a backup reports that there is none
		}
		for _, serial := range slices.Backward(list) {
			src, err := files.Read(root, BackupName(serial), files.MaxState)
			if err == nil && !yield(serial, src) {
				return
			}
		}
	}
}

// Backups lists the serials of the backups, ascending.
func Backups(root *os.Root) ([]uint64, error) {
	entries, err := fs.ReadDir(root.FS(), BackupDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	var out []uint64
	for _, e := range entries {
		word, state := strings.CutPrefix(e.Name(), "state-")
		word, json := strings.CutSuffix(word, ".json")
		if n, err := strconv.ParseUint(word, 10, 64); state && json && err == nil {
			out = append(out, n)
		}
	}

	slices.Sort(out)
	return out, err
}

// NewestBackup returns the newest readable backup, or nil.
func NewestBackup(root *os.Root) *statefile.Document {
	for serial, src := range EachBackup(root) {
		if doc, err := statefile.Parse(BackupName(serial), src); err == nil {
			return doc
		}
	}
	return nil
}

// BackupName is the path of the backup of a serial.
func BackupName(serial uint64) string {
	return path.Join(BackupDir, "state-"+fmt.Sprint(serial)+".json")
}
