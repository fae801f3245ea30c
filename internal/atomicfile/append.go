package atomicfile

import (
	"errors"
	"io/fs"
	"os"
)

// Append adds line, which should end with a line feed, to the end of the file and syncs it. It
// makes a missing file with mode. After a partial write it cuts the file back, so a file may have
// only one writer at a time.
func Append(root *os.Root, name string, line []byte, mode fs.FileMode) error {
	return withDir(root, name, func(dir *os.Root, t target) error {
		f, err := dir.OpenFile(t.base, os.O_WRONLY|os.O_APPEND, 0)
		made := errors.Is(err, fs.ErrNotExist)
		if made {
			f, err = dir.OpenFile(t.base, os.O_WRONLY|os.O_APPEND|os.O_CREATE, modeOrDefault(mode))
		}
		if err != nil {
			return fail("open", t.shown, err)
		}
		err = appendTo(f, t, line)
		if cerr := f.Close(); err == nil && cerr != nil {
			err = fail("close", t.shown, cerr)
		}
		if err != nil || !made {
			return err
		}
		return syncDir(dir, t.shown)
	})
}

func appendTo(f *os.File, t target, line []byte) error {
	fi, err := f.Stat()
	if err != nil {
		return fail("open", t.shown, err)
	}
	if n, err := f.Write(line); err != nil {
		if n > 0 {
			err = errors.Join(cause(err), cause(f.Truncate(fi.Size())))
		}
		return fail("write", t.shown, err)
	}
	if err := f.Sync(); err != nil {
		return fail("sync", t.shown, err)
	}
	return nil
}
