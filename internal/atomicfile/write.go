package atomicfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// Options says how to write a file. The zero value is the default.
type Options struct {
	// Mode applies to a new file, less the umask; zero means 0644. An existing file keeps its mode.
	Mode fs.FileMode
	// Before runs when the new content is on the disk, just before the rename: the last moment to
	// compare the old content. If it fails, the write fails and wraps its error.
	Before func() error
	// Alone says that no other process writes to this name now. What killed writes to it left is
	// removed first.
	Alone bool
}

const (
	defaultMode    fs.FileMode = 0o644
	defaultDirMode fs.FileMode = 0o755
)

// Write makes data the content of the file at path. Any error except a *NotDurableError means that
// nothing happened.
func Write(path string, data []byte, opt Options) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return fail("open directory", path, err)
	}
	err = replace(root, target{shown: path, base: filepath.Base(path)}, data, opt)
	return closeDir(root, path, err)
}

// WriteIn is Write for a name relative to root; links cannot lead outside root.
func WriteIn(root *os.Root, name string, data []byte, opt Options) error {
	return withDir(root, name, func(dir *os.Root, t target) error {
		return replace(dir, t, data, opt)
	})
}

// Create writes a new file; if it exists, the error wraps fs.ErrExist. Where the file system has
// hard links, the name appears with its whole content.
func Create(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	return withDir(root, name, func(dir *os.Root, t target) error {
		return create(dir, t, data, mode)
	})
}

// Remove removes a file or an empty directory; if it does not exist, the error wraps
// fs.ErrNotExist.
func Remove(root *os.Root, name string) error {
	return withDir(root, name, func(dir *os.Root, t target) error {
		if err := dir.Remove(t.base); err != nil {
			return fail("remove", t.shown, err)
		}
		return syncDir(dir, t.shown)
	})
}

// MkdirAll makes a directory and its missing parents, and syncs the directories with new entries.
// Mode 0 means 0755, less the umask.
func MkdirAll(root *os.Root, dir string, mode fs.FileMode) error {
	mode = cmp.Or(mode, defaultDirMode)

	var changed []string // directories that will get an entry
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		_, err := root.Stat(d)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || d == filepath.Dir(d) {
			return fail("make directory", dir, err)
		}
		changed = append(changed, filepath.Dir(d))
	}

	if err := root.MkdirAll(dir, mode); err != nil {
		return fail("make directory", dir, err)
	}

	for _, d := range changed {
		err := withDir(root, filepath.Join(d, "x"),
			func(sub *os.Root, _ target) error { return syncDir(sub, dir) })
		if err != nil {
			return err
		}
	}
	return nil
}

// target is the name that an operation is about: as the caller calls it, and in its directory.
type target struct {
	shown string
	base  string
	loose bool // nothing is synced
}

// withDir opens the directory of name once, so that every step happens in the same directory even
// if a link is put in its way.
func withDir(root *os.Root, name string, do func(dir *os.Root, t target) error) error {
	t := target{shown: name, base: filepath.Base(name)}
	if t.base == "." || t.base == ".." || t.base == string(filepath.Separator) {
		return fail("open directory", name, fs.ErrInvalid)
	}
	dir, err := root.OpenRoot(filepath.Dir(name))
	if err != nil {
		return fail("open directory", name, err)
	}
	return closeDir(dir, name, do(dir, t))
}

// closeDir closes a directory after what was done in it. The first error counts.
func closeDir(dir *os.Root, shown string, err error) error {
	if cerr := dir.Close(); err == nil && cerr != nil {
		return &NotDurableError{Path: shown, Err: cause(cerr)}
	}
	return err
}

func replace(dir *os.Root, t target, data []byte, opt Options) error {
	if opt.Alone {
		if err := Sweep(dir, ".", t.base); err != nil {
			return err
		}
	}

	temp, err := stage(dir, t, data, opt.Mode)
	if err != nil {
		return err
	}
	if opt.Before != nil {
		if err := opt.Before(); err != nil {
			return discard(dir, temp, fmt.Errorf("check %s: %w", t.shown, err))
		}
	}

	if err := rename(dir, temp, t); err != nil || t.loose {
		return err
	}
	return syncDir(dir, t.shown)
}

// rename gives a temporary file its name; it is gone on an error.
func rename(dir *os.Root, temp string, t target) error {
	if err := dir.Rename(temp, t.base); err != nil {
		return discard(dir, temp, fail("rename", t.shown, err))
	}
	return nil
}

func create(dir *os.Root, t target, data []byte, mode fs.FileMode) error {
	if _, err := dir.Lstat(t.base); err == nil {
		return fail("create", t.shown, fs.ErrExist)
	}

	temp, err := stage(dir, t, data, mode)
	if err != nil {
		return err
	}

	err = dir.Link(temp, t.base)
	switch {
	case err == nil:
		if err := dir.Remove(temp); err != nil {
			return &NotDurableError{Path: t.shown, Err: cause(err)}
		}
	case errors.Is(err, fs.ErrExist):
		return discard(dir, temp, fail("create", t.shown, fs.ErrExist))
	default:
		if err := dir.Remove(temp); err != nil {
			return wrapLeftBehind(fail("create", t.shown, err), temp)
		}
		if err := writeNew(dir, t, t.base, data, modeOrDefault(mode)); err != nil {
			return err
		}
	}

	return syncDir(dir, t.shown)
}

// stage writes data to a new temporary file beside t and syncs it. The file has the mode of the
// file at t, if there is one.
func stage(dir *os.Root, t target, data []byte, mode fs.FileMode) (temp string, err error) {
	temp = tempName(t.base)
	mode = modeOrDefault(mode)
	keep := false
	if fi, err := dir.Stat(t.base); err == nil && fi.Mode().IsRegular() {
		mode = fi.Mode().Perm()
		keep = true
	}

	if err := writeNew(dir, t, temp, data, mode); err != nil {
		return "", err
	}
	if keep {
		// The umask has cut the mode of a new file; that of the old one is to stay.
		if err := dir.Chmod(temp, mode); err != nil {
			return "", discard(dir, temp, fail("create", t.shown, err))
		}
	}

	return temp, nil
}

func modeOrDefault(mode fs.FileMode) fs.FileMode {
	if mode == 0 {
		return defaultMode
	}
	return mode.Perm()
}

// writeNew makes the file name with data, and syncs it unless t is loose; it is gone again on an
// error.
func writeNew(dir *os.Root, t target, name string, data []byte, mode fs.FileMode) error {
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fail("create", t.shown, err)
	}

	op := "write"
	_, err = f.Write(data)
	if err == nil && !t.loose {
		op = "sync"
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil && cerr != nil {
		op = "close"
		err = cerr
	}
	if err != nil {
		return discard(dir, name, fail(op, t.shown, err))
	}
	return nil
}

// discard removes a file of ours after an error, and says so if it cannot.
func discard(dir *os.Root, name string, err error) error {
	if rerr := dir.Remove(name); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
		return wrapLeftBehind(err, name)
	}
	return err
}

func wrapLeftBehind(err error, name string) error {
	return fmt.Errorf("%w; %s is left behind", err, name)
}

// syncDir syncs a directory after its entries changed. Windows cannot do that; some file systems
// have no such thing and say so with EINVAL or ENOTSUP.
func syncDir(dir *os.Root, shown string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := dir.Open(".")
	if err == nil {
		if err = d.Sync(); errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
			err = nil
		}
		err = errors.Join(cause(err), cause(d.Close()))
	}
	if err != nil {
		return &NotDurableError{Path: shown, Err: cause(err)}
	}
	return nil
}

const tempMark = ".tmp-"

// tempName gives a name that no other writer has: base.tmp-<pid>-<16 hexadecimal digits>.
func tempName(base string) string {
	return fmt.Sprintf("%s%s%d-%016x", base, tempMark, os.Getpid(), rand.Uint64())
}

// TempFor reports whether candidate, a base name, is a temporary file of a write to name. The write
// may still be running: remove the file only under the lock of name.
func TempFor(name, candidate string) bool {
	rest, ok := strings.CutPrefix(candidate, filepath.Base(name)+tempMark)
	if !ok {
		return false
	}
	pid, random, ok := strings.Cut(rest, "-")
	return ok && consistsOf(pid, "0123456789") &&
		len(random) == 16 && consistsOf(random, "0123456789abcdef")
}

func consistsOf(s, allowed string) bool {
	return s != "" && strings.Trim(s, allowed) == ""
}
