package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tercet/internal/atomicfile"
)

// SealKey gives the key of a lineage, and makes it on first use. It lies in the user's own folder, which sandboxed
// workers cannot read.
func SealKey(home string, fresh func() string) func(lineage string) []byte {
	return func(lineage string) []byte {
		if home == "" || !fs.ValidPath(lineage) || strings.Contains(lineage, "/") || len(lineage) > 100 {
			return nil
		}
		dir := filepath.Join(home, "keys")
		making := os.MkdirAll(dir, 0o700)
		root, err := os.OpenRoot(dir)
		if err != nil || making != nil {
			return nil // the log says less then
		}
		defer root.Close() //nolint:errcheck // what was written is closed
		key, err := root.ReadFile(lineage)
		if errors.Is(err, fs.ErrNotExist) {
			// Of two processes one makes it, and both take what is there then.
			if err = atomicfile.Create(root, lineage, []byte(fresh()), 0o600); err == nil || errors.Is(err, fs.ErrExist) {
				key, err = root.ReadFile(lineage)
			}
		}
		if err != nil {
			return nil
		}
		return key
	}
}
