// Package testkit holds what the tests of several packages share. Only tests use it. It promises
// that a machine with much else to do is never a failure, and that what a test leaves out is said.
// Its functions may be called side by side.
package testkit

import (
	"io/fs"
	"os"
	"sync"
	"testing"
	"testing/fstest"
	"time"
)

// Widen calls try with a time limit that covers the start of a program. It doubles the limit for as
// long as try says that the program had not come far enough: a slow machine needs more time, and a
// program that never starts is a failure.
func Widen(tb testing.TB, least time.Duration, try func(limit time.Duration) (started bool)) {
	tb.Helper()
	const enough = 2 * time.Minute
	for limit := least; !try(limit); limit *= 2 {
		if tb.Failed() {
			return
		}
		if limit > enough {
			tb.Fatalf("the program had not come far enough within %s", limit)
		}
	}
}

// Deep tells whether the tests that take long are wanted too, by TEST_DEEP=1 in the environment:
// kills at every place, corpora, every line of a journal, long random runs. make check sets it.
func Deep() bool {
	return os.Getenv("TEST_DEEP") != "" //nolint:forbidigo // only tests ask
}

// OnlyDeep skips a test unless those that take long are wanted; why says what takes long in it.
func OnlyDeep(tb testing.TB, why string) {
	tb.Helper()
	if !Deep() {
		tb.Skipf("%s: TEST_DEEP=1 runs it", why)
	}
}

// A Template is a folder that is made once, such as a repository with a commit, and copied for each
// test: making it takes several processes. The zero value is ready. Links are not copied, and of
// modes only who may run a file.
type Template struct {
	once  sync.Once
	files fstest.MapFS
}

// Copy fills the folder to. The first caller makes the template there.
func (m *Template) Copy(tb testing.TB, to string, build func()) {
	tb.Helper()

	built := false
	m.once.Do(func() {
		build()
		m.files = readAll(tb, to)
		built = true
	})
	if built {
		return
	}

	if m.files == nil {
		tb.Fatal("the test that made the template failed")
	}
	if err := os.CopyFS(to, m.files); err != nil {
		tb.Fatal(err)
	}
}

// readAll reads the files below a folder, whose modes stay.
func readAll(tb testing.TB, dir string) fstest.MapFS {
	tb.Helper()
	files := fstest.MapFS{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		file := &fstest.MapFile{Mode: info.Mode(), ModTime: info.ModTime()}
		if info.Mode().IsRegular() {
			file.Data, err = fs.ReadFile(os.DirFS(dir), name)
			if err != nil {
				return err
			}
		}
		files[name] = file
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return files
}
