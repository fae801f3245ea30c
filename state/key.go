package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// keysFolder is the name of the folder of keys in the user's own folder.
const keysFolder = "keys"

// SealKey returns a function that looks up the key of a lineage and creates it on first use. The
// keys are in the user's own folder, which sandboxed workers cannot read. It returns nil where
// CheckKeys refuses the folder.
func SealKey(home string, fresh func() string) func(lineage string) []byte {
	return func(lineage string) []byte {
		if home == "" || !fs.ValidPath(lineage) || strings.Contains(lineage, "/") ||
			len(lineage) > 100 {
			return nil
		}

		dir := filepath.Join(home, keysFolder)
		making := os.MkdirAll(dir, 0o700)
		root, err := os.OpenRoot(dir)
		if err != nil || making != nil {
			return nil // the log says less then
		}
		defer root.Close() //nolint:errcheck // what was written is closed
		if CheckKeys(home) != nil {
			return nil
		}

		key, err := atomicfile.ReadFile(root, lineage)
		if errors.Is(err, fs.ErrNotExist) {
			// If two processes race to create the key, both read the one that won.
			err = atomicfile.Create(root, lineage, []byte(fresh()), 0o600)
			if err == nil || errors.Is(err, fs.ErrExist) {
				key, err = atomicfile.ReadFile(root, lineage)
			}
		}
		if err != nil {
			return nil
		}
		return key
	}
}

// CheckKeys refuses a key folder that others can write to or that is a symbolic link, and keys that
// are not regular files private to the user: whoever knows a key can forge the user's answers.
func CheckKeys(home string) error {
	dir := filepath.Join(home, keysFolder)
	if info, err := os.Stat(home); err == nil && info.Mode().Perm()&0o022 != 0 {
		return badKeys(home, "others may write there", "run chmod 700 "+home)
	}

	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return formats.Broken(formats.CodeIO, dir, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return badKeys(dir, "it is a symbolic link", "put the folder itself there: rm "+dir)
	case !info.IsDir():
		return badKeys(dir, "it is no folder", "move it away")
	case info.Mode().Perm()&0o022 != 0:
		return badKeys(dir, "others may write there", "run chmod 700 "+dir+
			"; if somebody else was there, remove the folder, and begin runs that wait anew")
	}

	entries, err := os.ReadDir(dir)
	if err != nil {
		return formats.Broken(formats.CodeIO, dir, err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // it is gone
		}
		file := filepath.Join(dir, e.Name())
		switch {
		case !info.Mode().IsRegular():
			return badKeys(file, "it is not a regular file", "move it away")
		case info.Mode().Perm()&0o077 != 0:
			return badKeys(
				file,
				"others may read it",
				"remove it, and begin runs that wait anew: rm "+file,
			)
		}
	}

	return nil
}

func badKeys(name, why, help string) error {
	return formats.Fail(formats.CodeIO, help, "keys in %s are not used: %s", name, why)
}
