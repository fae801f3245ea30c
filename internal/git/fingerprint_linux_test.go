package git_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	gitpkg "tercet/internal/git"
)

// TestStatFingerprint: every change shows, also one that keeps name, size and time, and nothing
// else does.
func TestStatFingerprint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{
			"-c", "user.name=n", "-c", "user.email=e@example.org",
		}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	r := &gitpkg.Repo{Dir: dir}
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fingerprint := func() string {
		t.Helper()
		got, ok := r.StatFingerprint("skipped")
		if !ok {
			t.Fatal("StatFingerprint gave no answer")
		}
		return got
	}
	old := time.Now().Add(-time.Hour)
	write("src/a", "one")
	write("skipped/b", "one")
	write(".gitignore", "ignored\n")
	last := fingerprint()
	for _, one := range []struct {
		name   string
		change func()
	}{
		{"a new file", func() { write("src/c", "") }},
		{"an ignored file", func() { write("ignored", "") }},
		{"another size", func() { write("src/a", "longer") }},
		{"a commit", func() { git("commit", "-q", "--allow-empty", "-m", "more") }},
		{"another branch", func() {
			git("checkout", "-q", "-b", "other"+time.Now().Format("150405.000"))
		}},
		{"packed refs", func() { git("pack-refs", "--all") }},
		{"a file is gone", func() { os.Remove(filepath.Join(dir, "src/a")) }},
		{"an executable", func() { os.Chmod(filepath.Join(dir, ".gitignore"), 0o755) }},
		{"an empty folder", func() { os.Mkdir(filepath.Join(dir, "empty"), 0o755) }},
		{"a time set back", func() { os.Chtimes(filepath.Join(dir, ".gitignore"), old, old) }},
	} {
		one.change()
		now := fingerprint()
		if now == last {
			t.Errorf("%s does not show", one.name)
		}
		last = now
	}
	write("skipped/b", "other")
	if now := fingerprint(); now != last {
		t.Error("what is skipped shows")
	}
}

// BenchmarkStatFingerprint covers a thousand files in ten folders.
func BenchmarkStatFingerprint(b *testing.B) {
	dir := b.TempDir()
	for i := range 1000 {
		folder := filepath.Join(dir, "src", strconv.Itoa(i/100))
		err := errors.Join(
			os.MkdirAll(folder, 0o755),
			os.WriteFile(filepath.Join(folder, strconv.Itoa(i)+".txt"), []byte("text\n"), 0o644),
		)
		if err != nil {
			b.Fatal(err)
		}
	}
	cmd := exec.CommandContext(b.Context(), "git", "init", "-q", dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	r := gitpkg.Repo{Dir: dir}
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := r.StatFingerprint(); !ok {
			b.Fatal("StatFingerprint gives nothing")
		}
	}
}
