package history_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tercet/internal/history"
)

func TestHistory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state", "tercet")
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	one := history.Open(dir)
	two := history.Open(dir)
	for _, line := range []string{"/plan 1", "/plan 1", " secret", "", "two\nrows \x1b[31m 日本"} {
		if err := one.Add(line, at); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"/plan 1", "two\nrows \x1b[31m 日本"}
	if got := two.Lines(); !slices.Equal(got, want) {
		t.Errorf("Lines() = %q, want %q", got, want)
	}
	file := filepath.Join(dir, history.Name)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, want mode 0600", info, err)
	}
	if err := os.WriteFile(file, []byte("no JSON\n{\"line\":\"kept\"}\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := one.Lines(); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("Lines() of a damaged file = %q", got)
	}
}

// TestSeveral: no line of several writers is lost.
func TestSeveral(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			h := history.Open(dir)
			for i := range 25 {
				if err := h.Add(fmt.Sprintf("%d of %d", i, w), time.Unix(0, 0)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := len(history.Open(dir).Lines()); n != 100 {
		t.Errorf("%d lines, want 100", n)
	}
}

// TestNewestLinesAreKept: the newest lines are kept.
func TestNewestLinesAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var b strings.Builder
	for i := range history.Most + 1000 {
		fmt.Fprintf(&b, "{\"line\":\"%d\"}\n", i)
	}
	if err := os.WriteFile(
		filepath.Join(dir, history.Name),
		[]byte(b.String()),
		0o600,
	); err != nil {
		t.Fatal(err)
	}
	h := history.Open(dir)
	if err := h.Add("last", time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, history.Name))
	if n := strings.Count(string(data), "\n"); err != nil || n != history.Most {
		t.Errorf("%d lines in the file, %v, want %d", n, err, history.Most)
	}
	lines := h.Lines()
	if len(lines) != history.Most || lines[0] != "1001" || lines[len(lines)-1] != "last" {
		t.Errorf("%d lines from %s to %s", len(lines), lines[0], lines[len(lines)-1])
	}
}
