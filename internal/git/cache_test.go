package git_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tercet/internal/git"
	"tercet/internal/proc"
)

// TestCache counts what git is asked: again only where a file of the configuration has changed,
// and each time where the files do not tell.
func TestCache(t *testing.T) {
	t.Parallel()
	var asked []string
	home := t.TempDir()
	s, err := proc.NewStarter(proc.Starter{
		Allow: func(_ context.Context, c proc.Command) error {
			if slices.Contains(c.Argv, "--show-toplevel") || slices.Contains(c.Argv, "config") {
				asked = append(asked, c.Argv[2])
			}
			return nil
		},
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home},
		Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &git.Repo{Starter: s, Dir: dir, Cache: &git.Cache{}}
	if err := r.Init(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	const both = "rev-parse config"
	for _, step := range []struct{ name, file, text, want string }{
		{name: "at first", want: both},
		{name: "again"},
		{"the repository has a filter", ".git/config", "\n[filter \"x\"]\n\tclean = false\n", both},
		{name: "again with the filter"},
		{"the user has one", "HOME/.gitconfig", "[filter \"y\"]\n\tclean = false\n", both},
		{"in the other file", "HOME/.config/git/config", "[merge \"z\"]\n\tdriver = false\n", both},
		{name: "again with all"},
		{"a worktree's own file", ".git/config.worktree", "[core]\n\tquotePath = true\n", both},
		{"a file is included", "HOME/.gitconfig", "[include]\n\tpath = other\n", both},
		{name: "again with the included file", want: both},
	} {
		asked = nil
		if step.file != "" {
			name := filepath.Join(dir, step.file)
			if below, ok := strings.CutPrefix(step.file, "HOME/"); ok {
				name = filepath.Join(home, below)
			}
			add(t, name, step.text)
		}
		if _, err := r.StatusPorcelain(t.Context()); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := strings.Join(asked, " "); got != step.want {
			t.Errorf("%s: git was asked %q, want %q", step.name, got, step.want)
		}
	}
}

// add appends text to a file.
func add(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(old, text...), 0o644); err != nil {
		t.Fatal(err)
	}
}
