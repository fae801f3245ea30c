package git_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tercet/internal/git"
)

// added lists what EachAddedLine shows as FILE:LINE:TEXT, long texts by their length.
func added(t *testing.T, r *git.Repo, from, to string) []string {
	t.Helper()
	var got []string
	err := r.EachAddedLine(t.Context(), from, to, func(file string, number int, text string) {
		if len(text) > 100 {
			text = fmt.Sprint(len(text))
		}
		got = append(got, fmt.Sprintf("%s:%d:%s", file, number, text))
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	return got
}

func TestAdded(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	odd := "an \"odd\"\tname.txt"
	write(t, r.Dir, "a.txt", "-- one\n++ two\nthree\n")
	write(t, r.Dir, "b c.txt", "x\n")
	commit(t, r, "first", "a.txt", "b c.txt")
	base := must[string](t)(r.Head(t.Context()))

	write(t, r.Dir, "a.txt", "-- one\n++ 2\n@@ -1 +1 @@\nthree\n--- 4")
	write(t, r.Dir, "b c.txt", "x\ny\r\n")
	write(t, r.Dir, odd, "z\n")
	write(t, r.Dir, ".gitattributes", "*.bin binary\n")
	write(t, r.Dir, "d.bin", "\x00\n+++ b/false\n")
	write(t, r.Dir, "long.txt", strings.Repeat("x", 5<<19)+"\nend\n")
	write(t, r.Dir, "loose.txt", "not staged\n")
	want := []string{
		".gitattributes:1:*.bin binary", "a.txt:2:++ 2", "a.txt:3:@@ -1 +1 @@", "a.txt:5:--- 4",
		odd + ":1:z", "b c.txt:2:y\r", "d.bin:1:\x00", "d.bin:2:+++ b/false", "long.txt:2:end",
	}
	err := r.Add(t.Context(), ".gitattributes", "a.txt", "b c.txt", "d.bin", "long.txt", odd)
	if err != nil {
		t.Fatal(err)
	}
	staged := added(t, r, "", "")
	long := 0
	staged = slices.DeleteFunc(staged, func(s string) bool {
		var n int
		_, err := fmt.Sscanf(s, "long.txt:1:%d", &n)
		long += n
		return err == nil
	})
	slices.Sort(want)
	if !slices.Equal(staged, want) || long != 5<<19 {
		t.Errorf("Added(staged) = %q and %d bytes of a long line, want %q and %d",
			staged, long, want, 5<<19)
	}

	// A line that came and went again, and what only the merge itself adds.
	raw(t, r.Dir, "reset", "-q", "--hard")
	for _, name := range []string{".gitattributes", "d.bin", "long.txt", odd} {
		if err := os.Remove(filepath.Join(r.Dir, name)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}

	write(t, r.Dir, "e.txt", "gone again\n")
	commit(t, r, "came", "e.txt")
	write(t, r.Dir, "e.txt", "stays\n")
	commit(t, r, "went", "e.txt")
	raw(t, r.Dir, "checkout", "-q", "-b", "side", base)
	write(t, r.Dir, "s.txt", "of the side\n")
	commit(t, r, "side", "s.txt")
	raw(t, r.Dir, "checkout", "-q", "-")
	raw(t, r.Dir, "merge", "-q", "--no-commit", "--no-ff", "side")
	write(t, r.Dir, "m.txt", "of the merge\n")
	commit(t, r, "merge", "m.txt")
	got := added(t, r, base, "HEAD")
	want = []string{
		"e.txt:1:gone again", "e.txt:1:stays", "m.txt:1:of the merge", "s.txt:1:of the side",
	}
	if !slices.Equal(got, want) {
		t.Errorf("Added(range) = %q, want %q", got, want)
	}
	if got := added(t, r, "side", "HEAD"); slices.Contains(got, "s.txt:1:of the side") {
		t.Errorf("Added(side..HEAD) = %q, want nothing of side", got)
	}
	if err := r.EachAddedLine(t.Context(), "--output=x", "HEAD", func(string, int, string) {}); err == nil {
		t.Error("Added takes an option for a commit")
	}
}
