package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Open opens a regular file or a folder below a root for reading. It never waits: a pipe without a
// writer would block the reader.
func Open(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return checkRegular(f, name)
}

// OpenPath is Open for a path of the file system, whose links may lead anywhere.
func OpenPath(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return checkRegular(f, path)
}

// checkRegular closes an opened file that is neither a regular file nor a folder.
func checkRegular(f *os.File, name string) (*os.File, error) {
	info, err := f.Stat()
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		got := "a device"
		if info.Mode()&fs.ModeNamedPipe != 0 {
			got = "a pipe"
		}
		err = &fs.PathError{
			Op:   "open",
			Path: name,
			Err:  errors.New("expected a regular file, got " + got),
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// FS is what stands below a root, opened by Open.
func FS(root *os.Root) fs.FS {
	return rootFS{root}
}

type rootFS struct{ root *os.Root }

func (t rootFS) Open(name string) (fs.File, error) {
	f, err := Open(t.root, name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Stat follows links that stay below the root.
func (t rootFS) Stat(name string) (fs.FileInfo, error) {
	return t.root.Stat(filepath.FromSlash(name))
}

// ReadFile reads what Open opens.
func ReadFile(root *os.Root, name string) ([]byte, error) {
	return fs.ReadFile(FS(root), filepath.ToSlash(name))
}

// ReadPath reads what OpenPath opens.
func ReadPath(path string) (data []byte, err error) {
	f, err := OpenPath(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(f)
}
