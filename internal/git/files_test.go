package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tercet/internal/git"
)

// TestFilesSayWhatGitSays compares what is read from git's files with what git says, for each form
// that HEAD, a branch and an object can have.
func TestFilesSayWhatGitSays(t *testing.T) {
	t.Parallel()
	overwrite := func(name, text string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			err := os.WriteFile(filepath.Join(dir, ".git", name), []byte(text), 0o644)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	run := func(lines ...string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			for _, line := range lines {
				raw(t, dir, strings.Fields(line)...)
			}
		}
	}
	for name, change := range map[string]func(t *testing.T, dir string){
		"as it is":       run(),
		"packed refs":    run("pack-refs --all"),
		"packed objects": run("gc -q"),
		"moved on since packing": run(
			"pack-refs --all", "commit -q --allow-empty -m second",
		),
		"deleted since packing": run(
			"checkout -q -b other", "pack-refs --all", "branch -q -D main",
		),
		"detached":        run("checkout -q --detach"),
		"before a commit": run("checkout -q --orphan new"),
		"a deep branch":   run("checkout -q -b main2/deep/x"),
		"a symbolic branch": run("symbolic-ref refs/heads/alias refs/heads/main",
			"symbolic-ref HEAD refs/heads/alias"),
		"not a branch":      run("update-ref refs/other/x HEAD", "symbolic-ref HEAD refs/other/x"),
		"a tag of a commit": run("tag -a -m t v1", "checkout -q v1"),
		"a missing commit":  overwrite("refs/heads/main", strings.Repeat("1", 40)+"\n"),
		"a broken branch":   overwrite("refs/heads/main", "0123\n"),
		"an empty branch":   overwrite("refs/heads/main", ""),
		"a branch that is a tree": func(t *testing.T, dir string) {
			t.Helper()
			overwrite("refs/heads/main", raw(t, dir, "rev-parse", "HEAD^{tree}")+"\n")(t, dir)
		},
		"a submodule": run(
			"update-index --add --cacheinfo 160000,"+strings.Repeat("1", 40)+",mods/one",
			"update-index --add --cacheinfo 160000,"+strings.Repeat("2", 40)+",z",
		),
		"an index of version 4": run("update-index --index-version 4"),
		"an index with more flags": run(
			"update-index --skip-worktree a.txt",
			"update-index --add --cacheinfo 160000,"+strings.Repeat("1", 40)+",mods/one",
		),
		"a split index": run(
			"update-index --add --cacheinfo 160000,"+strings.Repeat("1", 40)+",mods/one",
			"update-index --split-index",
		),
		"an index that is no index": overwrite("index", "DIRC\x00\x00\x00\x02\xff\xff\xff\xff"),
		"no index": func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Remove(filepath.Join(dir, ".git/index")); err != nil {
				t.Fatal(err)
			}
		},
		"HEAD is a link": func(t *testing.T, dir string) {
			t.Helper()
			head := filepath.Join(dir, ".git/HEAD")
			err := errors.Join(os.Remove(head), os.Symlink("refs/heads/main", head))
			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := fresh(t)
			change(t, r.Dir)
			// A variable of git makes every call ask git.
			asking := &git.Repo{Starter: starter(t, "GIT_CEILING_DIRECTORIES=/"), Dir: r.Dir}
			same := func(what string, ask func(*git.Repo) (string, error)) {
				want, wantErr := ask(asking)
				got, gotErr := ask(r)
				if got != want || (gotErr == nil) != (wantErr == nil) ||
					errors.Is(gotErr, git.ErrNoCommit) != errors.Is(wantErr, git.ErrNoCommit) {
					t.Errorf("%s = %q, %v, want %q, %v", what, got, gotErr, want, wantErr)
				}
			}
			same("CurrentBranch", func(r *git.Repo) (string, error) {
				return r.CurrentBranch(t.Context())
			})
			revs := []string{"HEAD", "refs/heads/main"}
			branches := []string{"main"}
			if name == "as it is" {
				revs = append(revs, "refs/heads/none", "refs/heads/main2", "main", "HEAD~0",
					raw(t, r.Dir, "hash-object", "-w", "a.txt"))
				branches = append(branches, "none", "main2", "new")
			}
			for _, rev := range revs {
				same("Resolve "+rev, func(r *git.Repo) (string, error) {
					return r.Resolve(t.Context(), rev)
				})
				same("Tree "+rev, func(r *git.Repo) (string, error) {
					return r.Tree(t.Context(), rev)
				})
			}
			same("Submodules", func(r *git.Repo) (string, error) {
				list, err := r.Submodules(t.Context())
				return strings.Join(list, ","), err
			})
			for _, branch := range branches {
				same("BranchExists "+branch, func(r *git.Repo) (string, error) {
					there, err := r.BranchExists(t.Context(), branch)
					return strings.Repeat("there", map[bool]int{true: 1}[there]), err
				})
			}
			if name != "as it is" && name != "packed refs" && name != "detached" {
				return
			}
			tree := filepath.Join(t.TempDir(), "tree")
			err := r.WorktreeAdd(t.Context(), git.NewWorktree{
				Path:   tree,
				Branch: "task/1",
				Start:  "HEAD",
			})
			if err != nil {
				t.Fatal(err)
			}
			inTree := *r
			inTree.Dir = tree
			askingInTree := *asking
			askingInTree.Dir = tree
			for what, ask := range map[string]func(*git.Repo) (string, error){
				"top":    func(r *git.Repo) (string, error) { return r.Toplevel(t.Context()) },
				"HEAD":   func(r *git.Repo) (string, error) { return r.Head(t.Context()) },
				"branch": func(r *git.Repo) (string, error) { return r.CurrentBranch(t.Context()) },
			} {
				want, wantErr := ask(&askingInTree)
				got, gotErr := ask(&inTree)
				if got != want || gotErr != nil || wantErr != nil {
					t.Errorf("%s of the worktree = %q, %v, want %q, %v",
						what, got, gotErr, want, wantErr)
				}
			}
		})
	}
}

// TestFilesOfABrokenWorktree: a worktree whose link is broken is not taken for the repository
// around it.
func TestFilesOfABrokenWorktree(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	write(t, r.Dir, "inner/.git", "gitdir: /nowhere\n")
	inner := *r
	inner.Dir = filepath.Join(r.Dir, "inner")
	if head, err := inner.Head(t.Context()); !errors.Is(err, git.ErrNoRepo) {
		t.Errorf("Head() = %q, %v, want ErrNoRepo", head, err)
	}
	if name, err := inner.CurrentBranch(t.Context()); !errors.Is(err, git.ErrNoRepo) {
		t.Errorf("CurrentBranch() = %q, %v, want ErrNoRepo", name, err)
	}
	if top, err := inner.Toplevel(t.Context()); !errors.Is(err, git.ErrNoRepo) {
		t.Errorf("Toplevel() = %q, %v, want ErrNoRepo", top, err)
	}
}
