//go:build unix

package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"tercet/internal/git"
)

// TestPipes: git would wait for a pipe that stands in the place of one of its files; it is not
// started.
func TestPipes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		".git/HEAD", ".git/config", ".git/index", ".git/packed-refs", ".git/shallow",
		".git/commondir", ".git/COMMIT_EDITMSG", ".git/info/exclude", ".git/info/attributes",
		".git/info/grafts", ".git/logs/HEAD", ".git/objects/info/alternates",
		".git/refs/heads/main", ".git/refs/heads/deep/x", ".gitignore", ".gitattributes",
		".mailmap", "sub/.gitignore",
	} {
		r := fresh(t)
		file := filepath.Join(r.Dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(file, 0o600); err != nil {
			t.Fatal(err)
		}
		below := &git.Repo{Starter: r.Starter, Dir: filepath.Join(r.Dir, "sub")}
		_, err := below.StatusPorcelain(t.Context())
		irregular, ok := errors.AsType[*git.IrregularError](err)
		if !ok || irregular.Path != file {
			t.Errorf("StatusPorcelain with a pipe at %s = %v, want an IrregularError of it",
				name, err)
		}
		// These read files without git.
		below.Exists()
		below.WorktreeLock()
		_, err = below.Fingerprint(t.Context())
		if err != nil && !errors.As(err, new(*git.IrregularError)) {
			t.Errorf("Fingerprint with a pipe at %s = %v", name, err)
		}
	}
}

// TestRepositoryElsewhere: the main working tree is the folder of .git also where .git leads
// elsewhere.
func TestRepositoryElsewhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		move func(t *testing.T, dir, to string)
	}{
		{"link", func(t *testing.T, dir, to string) {
			t.Helper()
			err := errors.Join(
				os.Rename(filepath.Join(dir, ".git"), to),
				os.Symlink(to, filepath.Join(dir, ".git")),
			)
			if err != nil {
				t.Fatal(err)
			}
		}},
		{"file", func(t *testing.T, dir, to string) {
			t.Helper()
			raw(t, dir, "init", "-q", "--separate-git-dir", to)
		}},
	} {
		for _, folder := range []string{"repository", ".git"} {
			t.Run(c.name+" "+folder, func(t *testing.T) {
				t.Parallel()
				r := fresh(t)
				base := must[string](t)(filepath.EvalSymlinks(t.TempDir()))
				c.move(t, r.Dir, filepath.Join(base, folder))
				tree := filepath.Join(base, "tree")
				err := r.WorktreeAdd(t.Context(), git.NewWorktree{
					Path:   tree,
					Branch: "task/1",
					Start:  "HEAD",
				})
				if err != nil {
					t.Fatal(err)
				}
				got := must[[]git.Worktree](t)(r.Worktrees(t.Context()))
				if len(got) != 2 || got[0].Path != r.Dir || got[1].Path != tree {
					t.Errorf("Worktrees = %+v, want %s and %s", got, r.Dir, tree)
				}
				if at := must[string](t)(r.WorktreeOfBranch(t.Context(), "main")); at != r.Dir {
					t.Errorf("CheckedOut(main) = %s, want %s", at, r.Dir)
				}
			})
		}
	}
}
