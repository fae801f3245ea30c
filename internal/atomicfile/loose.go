package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// WriteLoose is WriteIn without sync, for content that is worthless after a crash. Readers see the
// old or the new content; after a loss of power the file may be old or missing.
func WriteLoose(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	return withDir(root, name, func(dir *os.Root, t target) error {
		t.loose = true
		return replace(dir, t, data, Options{Mode: mode})
	})
}

// BackupLoose makes to a copy of the current name, and to is never missing meanwhile. Where
// possible it is a hard link. Later writes of this package to name leave the copy alone. The
// directory is not synced; the copy's content is as durable as that of name.
func BackupLoose(root *os.Root, name, to string) error {
	// A link is there at once and as a whole; the way over a temporary name is only for a name that
	// is taken.
	err := root.Link(name, to)
	if err == nil {
		return nil
	}

	link := filepath.Join(filepath.Dir(to), tempName(filepath.Base(to)))
	if errors.Is(err, fs.ErrExist) {
		err = root.Link(name, link)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fail("link", name, err)
	}
	if err != nil {
		return copyIn(root, name, to)
	}
	return withDir(root, to, func(dir *os.Root, t target) error {
		temp := filepath.Base(link)
		if err := rename(dir, temp, t); err != nil {
			return err
		}
		// A rename between two names of one file does nothing and leaves both.
		if err := dir.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fail("remove", t.shown, err)
		}
		return nil
	})
}

// RemoveLoose is Remove without sync: after a loss of power the file may exist again.
func RemoveLoose(root *os.Root, name string) error {
	if err := root.Remove(name); err != nil {
		return fail("remove", name, err)
	}
	return nil
}

// Cut shortens a file to size bytes and syncs it, to drop a torn last line.
func Cut(root *os.Root, name string, size int64) error {
	f, err := root.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return fail("open", name, err)
	}
	err = f.Truncate(size)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fail("write", name, err)
	}
	return nil
}

// Sweep removes the temporary files of killed writes to the given names in the directory dir;
// without names, of all writes there. The caller must hold the lock of all these files. A missing
// directory is no error.
func Sweep(root *os.Root, dir string, names ...string) error {
	entries, err := fs.ReadDir(FS(root), filepath.ToSlash(filepath.Clean(dir)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fail("open directory", dir, err)
	}

	var all error
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), tempMark)
		if !TempFor(name, e.Name()) || len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		temp := filepath.Join(dir, e.Name())
		if err := root.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = errors.Join(all, fail("remove", temp, err))
		}
	}
	return all
}

// Move renames from to to and replaces an existing file; both directories are synced. A regular
// file is copied and then removed where a rename cannot cross from one file system to the other.
func Move(root *os.Root, from, to string) error {
	err := root.Rename(from, to)
	if errors.Is(err, syscall.EXDEV) {
		if err := copyIn(root, from, to); err != nil {
			return err
		}
		return Remove(root, from)
	}
	if err != nil {
		return fail("rename", from, err)
	}

	err = withDir(root, to, func(dir *os.Root, t target) error {
		return syncDir(dir, t.shown)
	})
	if err != nil {
		return err
	}

	if filepath.Dir(from) == filepath.Dir(to) {
		return nil
	}
	return withDir(root, from, func(dir *os.Root, t target) error { return syncDir(dir, t.shown) })
}

// copyIn writes the content of the regular file from to to, with its mode.
func copyIn(root *os.Root, from, to string) error {
	fi, err := root.Lstat(from)
	if err != nil {
		return fail("open", from, err)
	}
	if !fi.Mode().IsRegular() {
		return fail("rename", from, syscall.EXDEV)
	}

	data, err := root.ReadFile(from)
	if err != nil {
		return fail("read", from, err)
	}
	return WriteIn(root, to, data, Options{Mode: fi.Mode().Perm()})
}

// WriteScratch writes a file that only this process uses, and that nothing relies on after a crash:
// it is not synced. A file or link of that name is removed first.
func WriteScratch(path string, data []byte) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail("remove", path, err)
	}

	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fail("open", path, err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return fail("write", path, err)
	}
	return nil
}
