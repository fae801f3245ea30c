package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tercet/internal/query"
)

// TestUseMarks: what is kept of a file comes back as long as the file is the same one, and of a file that was changed a
// moment ago nothing is kept.
func TestUseMarks(t *testing.T) {
	t.Parallel()
	cache, name := t.TempDir(), filepath.Join(t.TempDir(), "state.json")
	a := newApp(stdio{}, func(name string) string { return map[string]string{"XDG_CACHE_HOME": cache}[name] })
	write := func(size int) {
		if err := os.WriteFile(name, bytes.Repeat([]byte(" "), size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(now time.Time) query.Input {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		in := []query.Input{{Name: name, File: f}}
		a.useMarks(in, now)
		return in[0]
	}
	write(markedSize)
	if in := ask(time.Now()); in.Marks != nil || in.Keep != nil {
		t.Errorf("of a new file there are marks %q, or they would be kept", in.Marks)
	}
	later := time.Now().Add(time.Hour)
	ask(later).Keep([]byte("marks"))
	if got := ask(later).Marks; string(got) != "marks" {
		t.Errorf("marks = %q, want what was kept", got)
	}
	if got := ask(time.Now()).Marks; string(got) != "marks" {
		t.Errorf("marks = %q, want what was kept, whenever that was", got)
	}
	stale := ask(later)
	write(markedSize)
	if got := ask(later).Marks; got != nil {
		t.Errorf("marks of a file that was written again = %q, want none", got)
	}
	stale.Keep([]byte("stale"))
	if got := ask(later).Marks; got != nil {
		t.Errorf("marks of what was there before = %q, want none", got)
	}
	write(markedSize - 1)
	if in := ask(later); in.Keep != nil {
		t.Error("marks of a small file would be kept")
	}
}
