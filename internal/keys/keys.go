// Package keys has the user's keys, which seal what a worker must not forge: the audit log of a
// workspace, the journals of runs, the record of packs. They are in the user's own folder, outside
// every project, which sandboxed workers cannot read.
//
// A missing key is made at its first use. All functions are safe for concurrent use, also between
// processes.
package keys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// folder is the name of the folder of keys in the user's own folder.
const folder = "keys"

// Of returns a function that looks up a key by its name, such as the lineage of a state, and
// creates it on first use from what fresh returns. It returns nil where Check refuses the folder.
func Of(home string, fresh func() string) func(name string) []byte {
	return func(name string) []byte {
		if home == "" || !fs.ValidPath(name) || strings.Contains(name, "/") ||
			len(name) > 100 {
			return nil
		}

		dir := filepath.Join(home, folder)
		making := os.MkdirAll(dir, 0o700)
		root, err := os.OpenRoot(dir)
		if err != nil || making != nil {
			return nil // the log says less then
		}
		defer root.Close() //nolint:errcheck // what was written is closed
		if Check(home) != nil {
			return nil
		}

		key, err := atomicfile.ReadFile(root, name)
		if errors.Is(err, fs.ErrNotExist) {
			// If two processes race to create the key, both read the one that won.
			err = atomicfile.Create(root, name, []byte(fresh()), 0o600)
			if err == nil || errors.Is(err, fs.ErrExist) {
				key, err = atomicfile.ReadFile(root, name)
			}
		}
		if err != nil {
			return nil
		}
		return key
	}
}

// Check refuses a key folder that others can write to or that is a symbolic link, and keys that
// are not regular files private to the user: whoever knows a key can forge the user's answers.
func Check(home string) error {
	dir := filepath.Join(home, folder)
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
