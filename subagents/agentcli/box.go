package agentcli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"tercet/formats/returns"
)

// box is the private folder into which one call of a program writes its return, beside the folder
// for documents. It is held open from before the program starts, so that a folder put in its place
// later is not read.
type box struct {
	dir  string // absolute
	file string // where the return is expected
	root *os.Root
}

const (
	returnName   = "return.json"
	promptSuffix = "-prompt.md"
	outSuffix    = "-stdout"
	errSuffix    = "-stderr"
)

func newBox(out string) (*box, error) {
	for n := 1; ; n++ {
		dir := filepath.Join(filepath.Dir(out), fmt.Sprintf("call-%d", n))
		if usedBefore(dir) && n < 1000 {
			continue
		}

		err := os.Mkdir(dir, 0o700)
		if errors.Is(err, fs.ErrExist) && n < 1000 {
			continue
		}
		if err != nil {
			return nil, onFolder("make the folder of the return", err)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, onFolder("open the folder of the return", err)
		}
		return &box{
			dir:  dir,
			file: filepath.Join(dir, returnName),
			root: root,
		}, nil
	}
}

// usedBefore tells whether an earlier call had this folder. Its folder is removed, its prompt and
// its output are kept.
func usedBefore(dir string) bool {
	for _, kept := range []string{promptSuffix, outSuffix, errSuffix} {
		if _, err := os.Lstat(dir + kept); err == nil {
			return true
		}
	}
	return false
}

// createNew makes a file of the run's folder that is not there yet, for the eyes of this user.
func createNew(name string) (*os.File, error) {
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return nil, onFolder("write into the run's folder", err)
	}
	f, err := root.OpenFile(filepath.Base(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err = errors.Join(err, root.Close()); err != nil {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
		return nil, onFolder("write into the run's folder", err)
	}
	return f, nil
}

// writeNew writes such a file.
func writeNew(name string, data []byte) error {
	f, err := createNew(name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return onFolder("write into the run's folder", err)
	}
	return nil
}

// read gives the content of the return's file, nil if there is none. A file that cannot be a return
// is named in bad.
func (b *box) read() (raw []byte, bad []string, err error) {
	info, err := b.root.Lstat(returnName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, onFolder("read the return", err)
	case !info.Mode().IsRegular():
		return nil, []string{
			"expected a regular file as return_path, got " + info.Mode().Type().String(),
		}, nil
	}

	f, unreadable := b.root.OpenFile(returnName, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if unreadable != nil {
		violation := "expected a file that can be read as return_path, got " + unreadable.Error()
		return nil, []string{violation}, nil //nolint:nilerr // it is a violation
	}

	raw, err = io.ReadAll(io.LimitReader(f, returns.MaxSize+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, nil, onFolder("read the return", err)
	}
	if raw == nil {
		raw = []byte{}
	}
	return raw, nil, nil
}

// close removes the folder, and the outputs beside it that are empty.
func (b *box) close() error {
	err := b.root.Close()
	for _, out := range []string{b.dir + outSuffix, b.dir + errSuffix} {
		if info, statErr := os.Lstat(out); statErr == nil && info.Size() == 0 {
			err = errors.Join(err, os.Remove(out))
		}
	}
	if err = errors.Join(err, os.RemoveAll(b.dir)); err != nil {
		return onFolder("remove the folder of the return", err)
	}
	return nil
}
