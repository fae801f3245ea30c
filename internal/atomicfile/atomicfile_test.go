package atomicfile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tercet/internal/atomicfile"

	"github.com/google/go-cmp/cmp"
)

// folder makes a directory with files, and gives it as a root.
func folder(t *testing.T, files map[string]string) (string, *os.Root) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	return dir, root
}

// rootFS gives every file below dir with its content, directories with a slash.
func rootFS(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			got[rel+"/"] = ""
			return nil
		}
		b, err := os.ReadFile(path)
		got[rel] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func wantTree(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, rootFS(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func mode(t *testing.T, dir, name string) fs.FileMode {
	t.Helper()
	fi, err := os.Stat(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return fi.Mode().Perm()
}

func TestWrite(t *testing.T) {
	t.Parallel()
	dir, root := folder(t, map[string]string{"a": "old", "sub/b": "old"})
	if err := os.Chmod(filepath.Join(dir, "a"), 0o666); err != nil {
		t.Fatal(err)
	}
	err := atomicfile.Write(filepath.Join(dir, "a"), []byte("new"), atomicfile.Options{Mode: 0o600})
	if err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.WriteIn(root, "sub/b", []byte("new"), atomicfile.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.WriteIn(root, "sub/c", nil, atomicfile.Options{Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.WriteIn(root, "d", []byte("d"), atomicfile.Options{}); err != nil {
		t.Fatal(err)
	}
	wantTree(t, dir, map[string]string{
		"a":     "new",
		"sub/":  "",
		"sub/b": "new",
		"sub/c": "",
		"d":     "d",
	})
	for name, want := range map[string]fs.FileMode{"a": 0o666, "sub/b": 0o640, "sub/c": 0o600} {
		if got := mode(t, dir, name); got != want {
			t.Errorf("mode of %s = %v, want %v", name, got, want)
		}
	}
}

func TestBefore(t *testing.T) {
	t.Parallel()
	dir, root := folder(t, map[string]string{"a": "old"})
	conflict := errors.New("changed by another")
	err := atomicfile.WriteIn(root, "a", []byte("new"), atomicfile.Options{Before: func() error {
		files := rootFS(t, dir)
		if files["a"] != "old" || len(files) != 2 {
			t.Errorf("files before the rename = %v, want the old content and one temporary file",
				files)
		}
		for name, content := range files {
			if name != "a" && (!atomicfile.TempFor("a", name) || content != "new") {
				t.Errorf("beside a is %s with %q, want a temporary file with the new content",
					name, content)
			}
		}
		return conflict
	}})
	if !errors.Is(err, conflict) || err.Error() != "check a: changed by another" {
		t.Errorf("WriteIn = %v, want the error of Before", err)
	}
	wantTree(t, dir, map[string]string{"a": "old"})
}

// TestErrors: every failing operation leaves the files as they were and names what it was about.
func TestErrors(t *testing.T) {
	t.Parallel()
	data := []byte("new")
	tests := []struct {
		name string
		do   func(dir string, root *os.Root) error
		is   error
		want string // how the message starts
	}{
		{"write, no directory", func(dir string, _ *os.Root) error {
			return atomicfile.Write(filepath.Join(dir, "none", "a"), data, atomicfile.Options{})
		}, fs.ErrNotExist, "open directory "},
		{"write in, no directory", func(_ string, root *os.Root) error {
			return atomicfile.WriteIn(root, "none/a", data, atomicfile.Options{})
		}, fs.ErrNotExist, "open directory none/a: "},
		{"write over a directory", func(_ string, root *os.Root) error {
			return atomicfile.WriteIn(root, "sub", data, atomicfile.Options{})
		}, nil, "rename sub: "},
		{"write below a file", func(_ string, root *os.Root) error {
			return atomicfile.WriteIn(root, "a/b", data, atomicfile.Options{})
		}, nil, "open directory a/b: "},
		{"write outside", func(_ string, root *os.Root) error {
			return atomicfile.WriteIn(root, "../x", data, atomicfile.Options{})
		}, nil, "open directory ../x: "},
		{"write through a link that leads outside", func(_ string, root *os.Root) error {
			return atomicfile.WriteIn(root, "out/x", data, atomicfile.Options{})
		}, nil, "open directory out/x: "},
		{"write the root", func(_ string, root *os.Root) error {
			return atomicfile.WriteIn(root, ".", data, atomicfile.Options{})
		}, fs.ErrInvalid, "open directory .: "},
		{"write to dot dot", func(_ string, root *os.Root) error {
			return atomicfile.WriteIn(root, "sub/..", data, atomicfile.Options{})
		}, nil, "open directory sub/..: "},
		{"write too long a name", func(_ string, root *os.Root) error {
			return atomicfile.WriteIn(root, strings.Repeat("x", 250), data, atomicfile.Options{})
		}, nil, "create xxx"},
		{"create what is there", func(_ string, root *os.Root) error {
			return atomicfile.Create(root, "a", data, 0)
		}, fs.ErrExist, "create a: "},
		{"create what is a dangling link", func(_ string, root *os.Root) error {
			return atomicfile.Create(root, "dangling", data, 0)
		}, fs.ErrExist, "create dangling: "},
		{"append to a directory", func(_ string, root *os.Root) error {
			return atomicfile.Append(root, "sub", data, 0)
		}, nil, "open sub: "},
		{"append, no directory", func(_ string, root *os.Root) error {
			return atomicfile.Append(root, "none/a", data, 0)
		}, fs.ErrNotExist, "open directory none/a: "},
		{"make a directory over a file", func(_ string, root *os.Root) error {
			return atomicfile.MkdirAll(root, "a/b", 0)
		}, nil, "make directory a/b: "},
		{"make a directory outside", func(_ string, root *os.Root) error {
			return atomicfile.MkdirAll(root, "../x", 0)
		}, nil, "make directory ../x: "},
		{"move what is not there", func(_ string, root *os.Root) error {
			return atomicfile.Move(root, "none", "b")
		}, fs.ErrNotExist, "rename none: "},
		{"move to no directory", func(_ string, root *os.Root) error {
			return atomicfile.Move(root, "a", "none/a")
		}, fs.ErrNotExist, "rename a: "},
		{"back up what is not there", func(_ string, root *os.Root) error {
			return atomicfile.BackupLoose(root, "none", "b")
		}, fs.ErrNotExist, "link none: "},
		{"back up over a directory", func(_ string, root *os.Root) error {
			return atomicfile.BackupLoose(root, "a", "sub")
		}, nil, "rename sub: "},
		{"remove what is not there", func(_ string, root *os.Root) error {
			return atomicfile.Remove(root, "none")
		}, fs.ErrNotExist, "remove none: "},
		{"remove a full directory", func(_ string, root *os.Root) error {
			return atomicfile.Remove(root, "sub")
		}, nil, "remove sub: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir, root := folder(t, map[string]string{"a": "old", "sub/b": "old"})
			outside := t.TempDir()
			for link, to := range map[string]string{"out": outside, "dangling": "nowhere"} {
				if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
					t.Fatal(err)
				}
			}

			err := tt.do(dir, root)
			_, done := errors.AsType[*atomicfile.NotDurableError](err)
			if err == nil || done || !strings.HasPrefix(err.Error(), tt.want) {
				t.Fatalf("error = %v, want one that starts %q", err, tt.want)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("error = %v, want one that wraps %v", err, tt.is)
			}
			if strings.Contains(err.Error(), "left behind") {
				t.Errorf("error = %v", err)
			}
			for _, link := range []string{"out", "dangling"} {
				if err := os.Remove(filepath.Join(dir, link)); err != nil {
					t.Error(err)
				}
			}

			wantTree(t, dir, map[string]string{"a": "old", "sub/": "", "sub/b": "old"})
			wantTree(t, outside, map[string]string{})
		})
	}
}

func TestReadOnlyDirectory(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("the superuser may write everywhere")
	}
	dir, root := folder(t, map[string]string{"a": "old"})
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Error(err)
		}
	})
	err := atomicfile.WriteIn(root, "a", []byte("new"), atomicfile.Options{})
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("WriteIn = %v, want permission denied", err)
	}
	wantTree(t, dir, map[string]string{"a": "old"})
}

func TestLinkIsReplaced(t *testing.T) {
	t.Parallel()
	dir, root := folder(t, map[string]string{"real": "old"})
	if err := os.Symlink("real", filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.WriteIn(root, "a", []byte("new"), atomicfile.Options{}); err != nil {
		t.Fatal(err)
	}
	wantTree(t, dir, map[string]string{"real": "old", "a": "new"})
	if got := mode(t, dir, "a"); got != 0o640 {
		t.Errorf("mode = %v, want that of the file behind the link, 0640", got)
	}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	dir, root := folder(t, map[string]string{"sub/b": "old"})
	if err := atomicfile.Create(root, "sub/a", []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantTree(t, dir, map[string]string{"sub/": "", "sub/a": "new", "sub/b": "old"})
	if got := mode(t, dir, "sub/a"); got != 0o600 {
		t.Errorf("mode = %v, want 0600", got)
	}
	// Of many at once one wins.
	var wg sync.WaitGroup
	won := make(chan string, 16)
	for i := range cap(won) {
		wg.Go(func() {
			content := fmt.Sprint(i)
			err := atomicfile.Create(root, "one", []byte(content), 0)
			switch {
			case err == nil:
				won <- content
			case !errors.Is(err, fs.ErrExist):
				t.Errorf("Create = %v, want nil or that it exists", err)
			}
		})
	}

	wg.Wait()
	close(won)
	if len(won) != 1 {
		t.Fatalf("%d writers created the file, want 1", len(won))
	}
	wantTree(t, dir, map[string]string{"sub/": "", "sub/a": "new", "sub/b": "old", "one": <-won})
}

func TestAppend(t *testing.T) {
	t.Parallel()
	dir, root := folder(t, nil)
	for i := range 3 {
		err := atomicfile.Append(root, "log", []byte(fmt.Sprintf("line %d\n", i)), 0o600)
		if err != nil {
			t.Fatal(err)
		}
	}
	wantTree(t, dir, map[string]string{"log": "line 0\nline 1\nline 2\n"})
	if got := mode(t, dir, "log"); got != 0o600 {
		t.Errorf("mode = %v, want 0600", got)
	}
}

func TestMkdirAll(t *testing.T) {
	t.Parallel()
	dir, root := folder(t, map[string]string{"sub/b": "old"})
	for range 2 {
		if err := atomicfile.MkdirAll(root, "sub/x/y/z", 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := atomicfile.MkdirAll(root, ".", 0); err != nil {
		t.Errorf("MkdirAll of the root = %v, want nil", err)
	}
	wantTree(t, dir, map[string]string{
		"sub/":       "",
		"sub/b":      "old",
		"sub/x/":     "",
		"sub/x/y/":   "",
		"sub/x/y/z/": "",
	})
	if got := mode(t, dir, "sub/x/y"); got != 0o700 {
		t.Errorf("mode = %v, want 0700", got)
	}
}

func TestMoveRemoveBackup(t *testing.T) {
	t.Parallel()
	dir, root := folder(t, map[string]string{"a": "1", "sub/b": "2", "c": "3"})
	for _, err := range []error{
		atomicfile.Move(root, "a", "sub/a"),
		atomicfile.Move(root, "c", "d"),
		atomicfile.Move(root, "sub/b", "d"),
		atomicfile.BackupLoose(root, "sub/a", "sub/a.bak"),
		atomicfile.BackupLoose(root, "sub/a", "sub/a.bak"),
		atomicfile.WriteIn(root, "sub/a", []byte("4"), atomicfile.Options{}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	wantTree(t, dir, map[string]string{"d": "2", "sub/": "", "sub/a": "4", "sub/a.bak": "1"})
	for _, name := range []string{"sub/a", "sub/a.bak", "sub"} {
		if err := atomicfile.Remove(root, name); err != nil {
			t.Fatal(err)
		}
	}
	wantTree(t, dir, map[string]string{"d": "2"})
}

func TestCopyAcrossFileSystems(t *testing.T) {
	t.Parallel()
	dir, root := folder(t, map[string]string{"a": "1", "sub/b": "2"})
	if err := atomicfile.CopyIn(root, "a", "sub/a"); err != nil {
		t.Fatal(err)
	}
	wantTree(t, dir, map[string]string{"a": "1", "sub/": "", "sub/a": "1", "sub/b": "2"})
	if got := mode(t, dir, "sub/a"); got != 0o640 {
		t.Errorf("mode = %v, want 0640", got)
	}
	if err := atomicfile.CopyIn(root, "sub", "x"); err == nil {
		t.Error("copy of a directory = nil, want an error")
	}
}

func TestTempFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, candidate string
		want            bool
	}{
		{"state.json", "state.json.tmp-12-0123456789abcdef", true},
		{"dir/state.json", "state.json.tmp-1-ffffffffffffffff", true},
		{"state.json", "state.json", false},
		{"state.json", "state.json.bak", false},
		{"state.json", "state.json.tmp-12-0123456789abcde", false},
		{"state.json", "state.json.tmp-12-0123456789abcdeg", false},
		{"state.json", "state.json.tmp--0123456789abcdef", false},
		{"state.json", "state.json.tmp-1x-0123456789abcdef", false},
		{"state", "state.json.tmp-12-0123456789abcdef", false},
		{"state.json", "xstate.json.tmp-12-0123456789abcdef", false},
	} {
		if got := atomicfile.TempFor(tt.name, tt.candidate); got != tt.want {
			t.Errorf("TempFor(%q, %q) = %v, want %v", tt.name, tt.candidate, got, tt.want)
		}
	}
}

// TestReaders: whoever reads while others write sees one whole content.
func TestReaders(t *testing.T) {
	t.Parallel()
	whole := func(i int) string {
		return strings.Repeat(fmt.Sprint(i%10), 50_000)
	}
	dir, root := folder(t, map[string]string{"a": whole(0)})
	var writers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for i := range 20 {
				err := atomicfile.WriteIn(root, "a", []byte(whole(w+i)), atomicfile.Options{})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}

	done := make(chan struct{})
	go func() {
		writers.Wait()
		close(done)
	}()
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		b, err := os.ReadFile(filepath.Join(dir, "a"))
		if err != nil {
			t.Fatal(err)
		}
		if s := string(b); len(s) != 50_000 || strings.Trim(s, s[:1]) != "" {
			t.Fatalf("read %d bytes of a mixture", len(s))
		}
	}
}

func BenchmarkWriteIn(b *testing.B) {
	root, err := os.OpenRoot(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := root.Close(); err != nil {
			b.Error(err)
		}
	}()
	data := []byte(strings.Repeat("x", 80_000))
	b.ReportAllocs()
	for b.Loop() {
		if err := atomicfile.WriteIn(root, "a", data, atomicfile.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
