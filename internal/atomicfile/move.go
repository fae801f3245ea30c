package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// Move renames from to to, which is replaced if it is there; both directories are synced. A regular file is copied and
// then removed where a rename cannot cross from one file system to the other.
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
	if err := in(root, to, func(dir *os.Root, t target) error { return durable(dir, t.shown) }); err != nil {
		return err
	}
	if filepath.Dir(from) == filepath.Dir(to) {
		return nil
	}
	return in(root, from, func(dir *os.Root, t target) error { return durable(dir, t.shown) })
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
