package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"tercet/internal/atomicfile"
)

func TestLoose(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	read := func(name string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, text := range []string{"one\ntwo", "three\nfour"} {
		if err := atomicfile.WriteLoose(root, "a", []byte(text), 0); err != nil {
			t.Fatal(err)
		}
		if got := read("a"); got != text {
			t.Errorf("WriteLoose: got %q, want %q", got, text)
		}
	}

	for range 2 { // the second time both are names of one file
		if err := atomicfile.BackupLoose(root, "a", "b"); err != nil {
			t.Fatal(err)
		}
	}

	if err := atomicfile.WriteLoose(root, "a", []byte("new"), 0); err != nil {
		t.Fatal(err)
	}
	if got := read("b"); got != "three\nfour" {
		t.Errorf("BackupLoose: the copy is %q after a write, want the old content", got)
	}
	if err := atomicfile.BackupLoose(root, "none", "c"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("BackupLoose of nothing = %v, want fs.ErrNotExist", err)
	}
	if err := atomicfile.Cut(root, "b", 6); err != nil {
		t.Fatal(err)
	}
	if got := read("b"); got != "three\n" {
		t.Errorf("Cut: got %q", got)
	}
	if err := atomicfile.RemoveLoose(root, "b"); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.RemoveLoose(root, "b"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("RemoveLoose of nothing = %v, want fs.ErrNotExist", err)
	}
	const killed = "a.tmp-123-0123456789abcdef"
	for _, name := range []string{killed, "other.tmp-123-0123456789abcdef", "a.tmp-mine"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if err := errors.Join(
		atomicfile.Sweep(root, ".", "a"),
		atomicfile.Sweep(root, "nowhere", "a"),
	); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}

	want := []string{"a", "a.tmp-mine", "other.tmp-123-0123456789abcdef"}
	if len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("Sweep: left %q, want %q", got, want)
	}
}
