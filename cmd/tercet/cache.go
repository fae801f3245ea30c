package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tercet/commands"
	"tercet/internal/atomicfile"
)

// fileCache is one file in the person's cache folder. Nothing is kept in the project: listing its commands needs no trust.
type fileCache struct{ dir, name string }

// catalogCache is the cache of the command listing of one project root; nil where there is no place for it.
func (a *app) catalogCache(dir string) commands.Cache {
	sum := sha256.Sum256([]byte(dir))
	cache, ok := a.fileCache("catalog-" + hex.EncodeToString(sum[:8]))
	if !ok {
		return nil
	}
	return cache
}

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

// stamp tells when a command file was changed. What is inside the program has no time.
func (w *world) stamp(source, file string) (commands.Stamp, error) {
	if source == librarySource {
		return commands.Stamp{}, nil
	}
	info, err := fs.Stat(w.sources[source], file)
	if err != nil {
		return commands.Stamp{}, err
	}
	return commands.Stamp{Time: info.ModTime().UnixNano(), Size: info.Size()}, nil
}

// surroundings stands for what a listing depends on beside the command files: the program and the subagents.
func (w *world) surroundings() string {
	sum := sha256.New()
	if exe, err := os.Executable(); err == nil {
		if info, err := os.Stat(exe); err == nil {
			fmt.Fprintln(sum, version, info.Size(), info.ModTime().UnixNano())
		}
	}
	for _, name := range w.set.Names() {
		if def, _, ok := w.set.Lookup(name, ""); ok {
			fmt.Fprintf(sum, "%s %d\n", name, len(def.Src))
			sum.Write(def.Src)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
