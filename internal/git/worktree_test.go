package git_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/git"
	"tercet/internal/testkit"
)

func TestWorktrees(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	cx := t.Context()
	head := must[string](t)(r.Head(cx))
	base := must[string](t)(filepath.EvalSymlinks(t.TempDir()))
	one := filepath.Join(base, "öne\nline")
	two := filepath.Join(base, "two")
	err := r.WorktreeAdd(cx, git.NewWorktree{
		Path:   one,
		Branch: "task/1",
		Start:  "HEAD",
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := readFile(t, one, "sub/b.txt"); got != "two\n" {
		t.Errorf("sub/b.txt in the worktree = %q, want two", got)
	}
	if err := r.WorktreeAdd(cx, git.NewWorktree{Path: two, Start: head}); err != nil {
		t.Fatal(err)
	}
	if is := (&git.Repo{Starter: r.Starter, Dir: two}).HasIndex(); !is {
		t.Error("HasIndex() = false, want true")
	}
	raw(t, r.Dir, "worktree", "add", "-q", "--no-checkout", "--detach", two+"b")
	if is := (&git.Repo{Starter: r.Starter, Dir: two + "b"}).HasIndex(); is {
		t.Error("HasIndex() of a worktree without files = true, want false")
	}
	if err := r.WorktreeRemove(cx, two+"b"); err != nil {
		t.Fatal(err)
	}
	want := []git.Worktree{
		{Path: r.Dir, Head: head, Branch: "main"},
		{Path: two, Head: head},
		{Path: one, Head: head, Branch: "task/1"},
	}
	if d := cmp.Diff(want, must[[]git.Worktree](t)(r.Worktrees(cx))); d != "" {
		t.Errorf("Worktrees() (-want +got)\n%s", d)
	}
	write(t, one, "a.txt", "changed and not committed\n")
	if err := r.WorktreeRemove(cx, one); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(one); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat after WorktreeRemove = %v, want it gone", err)
	}
	if err := r.WorktreeAdd(cx, git.NewWorktree{Path: one, Branch: "task/1"}); err != nil {
		t.Errorf("WorktreeAdd of an existing branch = %v, want nil", err)
	}
	if err := os.RemoveAll(two); err != nil {
		t.Fatal(err)
	}
	if trees := must[[]git.Worktree](t)(r.Worktrees(cx)); len(trees) != 3 {
		t.Errorf("Worktrees() = %+v, want the second one prunable", trees)
	}
	if err := r.WorktreePrune(cx); err != nil {
		t.Fatal(err)
	}
	if n := len(must[[]git.Worktree](t)(r.Worktrees(cx))); n != 2 {
		t.Errorf("Worktrees() after WorktreePrune = %d, want 2", n)
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	cx := t.Context()
	first := must[string](t)(r.Head(cx))
	raw(t, r.Dir, "checkout", "-q", "-b", "side")
	write(t, r.Dir, "a.txt", "side\n")
	write(t, r.Dir, odd, "side\n")
	side := commit(t, r, "side", "a.txt", odd)
	raw(t, r.Dir, "checkout", "-q", "main")

	m := must[git.Merge](
		t,
	)(r.MergeInWorktree(cx, "side", "Merge side", git.Trailer{Key: "Tercet-Txn", Value: "m1"}))
	got := raw(t, r.Dir, "show", "-s", "--format=%P|%s|%an", "HEAD")
	if got != first+" "+side+"|Merge side|tercet" || len(m.Conflicts) > 0 {
		t.Errorf("MergeInWorktree() = %+v with %q, want a merge commit", m, got)
	}
	got = must[string](t)(r.CommitByTrailer(cx, git.Trailer{Key: "Tercet-Txn", Value: "m1"}))
	if got != m.Commit {
		t.Errorf("CommitByTrailer(m1) = %q, want %q", got, m.Commit)
	}
	again := must[git.Merge](t)(r.MergeInWorktree(cx, "side", "Merge side"))
	if again.Commit != m.Commit {
		t.Errorf("MergeInWorktree() again = %+v, want up to date", again)
	}

	raw(t, r.Dir, "checkout", "-q", "-b", "other", first)
	write(t, r.Dir, "a.txt", "other\n")
	write(t, r.Dir, odd, "other\n")
	other := commit(t, r, "other", "a.txt", odd)
	c := must[git.Merge](t)(r.MergeInWorktree(cx, "main", "Merge main"))
	if d := cmp.Diff(git.Merge{Commit: other, Conflicts: []string{"a.txt", odd}}, c); d != "" {
		t.Errorf("MergeInWorktree() with conflicts (-want +got)\n%s", d)
	}
	st := must[[]git.Entry](t)(r.StatusPorcelain(cx))
	if len(st) > 0 || readFile(t, r.Dir, "a.txt") != "other\n" {
		t.Errorf("after a conflict status = %v, want the state before", st)
	}
}

func TestFastForward(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	cx := t.Context()
	raw(t, r.Dir, "checkout", "-q", "-b", "ahead")
	write(t, r.Dir, "a.txt", "ahead\n")
	ahead := commit(t, r, "ahead", "a.txt")
	raw(t, r.Dir, "checkout", "-q", "main")
	write(t, r.Dir, "a.txt", "local\n")
	_, ok := errors.AsType[*git.Error](r.FastForward(cx, "ahead"))
	if !ok || readFile(t, r.Dir, "a.txt") != "local\n" {
		t.Error("FastForward over a local change gave no Error, or lost it")
	}
	raw(t, r.Dir, "checkout", "-q", "--", "a.txt")
	if err := r.FastForward(cx, "ahead"); err != nil {
		t.Fatal(err)
	}
	got := must[string](t)(r.Head(cx))
	if got != ahead || readFile(t, r.Dir, "a.txt") != "ahead\n" {
		t.Errorf("after FastForward head = %s, want %s with its file", got, ahead)
	}
	raw(t, r.Dir, "checkout", "-q", "-b", "apart", "HEAD~1")
	write(t, r.Dir, "a.txt", "apart\n")
	commit(t, r, "apart", "a.txt")
	if err := r.FastForward(cx, "ahead"); !errors.Is(err, git.ErrNotFastForward) {
		t.Errorf("FastForward of a diverged branch = %v, want %v", err, git.ErrNotFastForward)
	}
}

// TestWorktreeIsOlderThanItsIndex: git need not read a file of a new worktree again, and still sees
// one that changes at once and keeps its size.
func TestWorktreeIsOlderThanItsIndex(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	const files = 100
	for i := range files {
		write(t, r.Dir, fmt.Sprintf("many/%d.txt", i), "old\n")
	}
	raw(t, r.Dir, "add", "-A")
	raw(t, r.Dir, "commit", "-q", "-m", "many")
	tree := filepath.Join(t.TempDir(), "tree")
	err := r.WorktreeAdd(t.Context(), git.NewWorktree{Path: tree, Branch: "task/1", Start: "HEAD"})
	if err != nil {
		t.Fatal(err)
	}
	write(t, tree, "many/7.txt", "new\n")
	in := &git.Repo{Starter: r.Starter, Dir: tree}
	got := must[[]git.Entry](t)(in.StatusPorcelain(t.Context()))
	if d := cmp.Diff([]git.Entry{{Code: " M", Path: "many/7.txt"}}, got); d != "" {
		t.Errorf("StatusPorcelain() (-want +got)\n%s", d)
	}
	index, err := os.Stat(filepath.Join(r.Dir, ".git", "worktrees", "tree", "index"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		file, err := os.Stat(filepath.Join(tree, fmt.Sprintf("many/%d.txt", i)))
		if err != nil {
			t.Fatal(err)
		}
		if i != 7 && file.ModTime().Unix() >= index.ModTime().Unix() {
			t.Fatalf("%s has the time %s, that of the index is %s", file.Name(), file.ModTime(),
				index.ModTime())
		}
	}
}

// TestWorktreeBesideAnother: git fails at a worktree that another process is just making; it is
// asked again until that is there.
func TestWorktreeBesideAnother(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	write(t, r.Dir, "a.txt", "x\n")
	commit(t, r, "first", "a.txt")
	for name, text := range map[string]string{
		"HEAD":      "ref: refs/heads/begun\n",
		"gitdir":    "/nowhere/.git\n",
		"commondir": "",
	} {
		write(t, r.Dir, ".git/worktrees/begun/"+name, text)
	}

	done := make(chan error, 1)
	go func() {
		<-time.After(200 * time.Millisecond)
		done <- os.RemoveAll(filepath.Join(r.Dir, ".git/worktrees/begun"))
	}()
	path := filepath.Join(t.TempDir(), "tree")
	err := r.WorktreeAdd(t.Context(), git.NewWorktree{
		Path:   path,
		Branch: "work",
		Start:  "HEAD",
	})
	if err != nil {
		t.Error(err)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	default:
		t.Error("git did not mind the worktree that was begun: this test shows nothing")
	}

	list, err := r.Worktrees(t.Context())
	if err != nil || len(list) != 2 || list[1].Branch != "work" {
		t.Errorf("Worktrees = %v, %v", list, err)
	}
}

// TestWorktreeFillsUpAgain: a process writes into a working tree while git removes it.
func TestWorktreeFillsUpAgain(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	bin := t.TempDir()
	write(t, r.Dir, "a.txt", "a")
	raw(t, r.Dir, "add", ".")
	raw(t, r.Dir, "commit", "-qm", "first")
	tree := filepath.Join(r.Dir, "tree")
	raw(t, r.Dir, "worktree", "add", "-q", tree)
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\n" + real +
		" \"$@\" || exit $?\ncase \" $* \" in\n*' worktree remove '*)\n" +
		"mkdir " + tree + "\necho x >" + tree + "/new\necho \"error: failed to delete '" + tree +
		"': Directory not empty\" >&2\nexit 255;;\nesac\n"
	err = testkit.WriteProgram(filepath.Join(bin, "git"), script)
	if err != nil {
		t.Fatal(err)
	}
	r.Starter = starter(t, "PATH="+bin+":"+os.Getenv("PATH"))
	if err := r.WorktreeRemove(t.Context(), tree); err != nil {
		t.Errorf("WorktreeRemove = %v, want the folder removed", err)
	}
	if _, err := os.Stat(tree); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat = %v, want it gone", err)
	}
}
