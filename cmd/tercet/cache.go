package main

import (
	"errors"
	"os"
	"path/filepath"

	"tercet/internal/atomicfile"
)

// fileCache is one file in the person's cache folder. Nothing is kept in the project: listing its commands needs no trust.
type fileCache struct{ dir, name string }

// fileCache is a file of this name in the person's cache folder; false where there is no place for it.
func (a *app) fileCache(name string) (fileCache, bool) {
	home := a.env("XDG_CACHE_HOME")
	if home == "" && a.env("HOME") != "" {
		home = filepath.Join(a.env("HOME"), ".cache")
	}
	if !filepath.IsAbs(home) {
		return fileCache{}, false
	}
	return fileCache{dir: filepath.Join(home, "tercet"), name: name}, true
}

// Load reads it.
func (c fileCache) Load() ([]byte, error) { return os.ReadFile(filepath.Join(c.dir, c.name)) }

// Store replaces it.
func (c fileCache) Store(data []byte) (err error) {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return atomicfile.WriteLoose(root, c.name, data, 0o600)
}
