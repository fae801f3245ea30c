package worktree_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/subagents/worktree"
)

// TestTakeBack: what a run merged is found by its transactions and reverted in one commit; what was
// changed since refuses, and the same again finds that it is done.
func TestTakeBack(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	tree := p.open(worktree.Spec{
		Run:  "r1",
		Task: 7,
		Slug: "x",
	})
	p.write(tree.Dir, "a.txt", "two\n")
	p.commit(tree.Dir, "task 7 phase 1", "t1")
	p.write(tree.Dir, umlaut, "new\n")
	p.commit(tree.Dir, "task 7 phase 2", "t2")
	done, err := p.Publish(t.Context(), tree.Dir, worktree.Target{Session: "s-1", Txn: "t3"})
	if err != nil {
		t.Fatal(err)
	}
	p.close(tree.Dir)
	list, err := p.LandedCommits(t.Context(), []string{"t0", "t1", "t2", "t3", "t4"}, "")
	want := []worktree.LandedCommit{{
		Commit: done.Commit,
		To:     "main",
		Files:  []string{"a.txt", umlaut},
	}}
	if diff := cmp.Diff(want, list); diff != "" || err != nil {
		t.Fatalf("Brought = %v (-want +got)\n%s", err, diff)
	}
	edited := func(want ...string) {
		t.Helper()
		if got, err := p.EditedFiles(t.Context(), list[0]); err != nil || !cmp.Equal(got, want) {
			t.Errorf("Edited = %q, %v, want %q", got, err, want)
		}
	}
	edited()
	msg := worktree.Message{Subject: "Undo", Txn: "t-undo"}
	p.write(p.top, "a.txt", "mine\n")
	edited("a.txt")
	if _, err := p.Revert(
		t.Context(), list, msg,
	); formats.CodeOf(err) != formats.CodePrecondition {
		t.Errorf("TakeBack over loose work = %v, want PRECONDITION", err)
	}
	p.git(p.top, "commit", "-qam", "mine")
	edited("a.txt")
	before := p.git(p.top, "rev-parse", "HEAD")
	if _, err := p.Revert(
		t.Context(), list, msg,
	); formats.CodeOf(err) != formats.CodePrecondition ||
		!strings.Contains(err.Error(), "was changed since") {
		t.Errorf("TakeBack of what was changed = %v, want PRECONDITION", err)
	}
	got := p.git(p.top, "rev-parse", "HEAD")
	if got != before || p.read(p.top, "a.txt") != "mine\n" {
		t.Error("a refused TakeBack changed something")
	}
	p.git(p.top, "reset", "-q", "--hard", "HEAD~1")
	p.write(p.top, "other.txt", "later\n")
	p.git(p.top, "add", "other.txt")
	p.git(p.top, "commit", "-qm", "later, elsewhere")
	edited()
	hash, err := p.Revert(t.Context(), list, msg)
	if err != nil || hash != p.git(p.top, "rev-parse", "HEAD") ||
		p.read(p.top, "a.txt") != "one\n" {
		t.Errorf("TakeBack = %q, %v, a.txt %q", hash, err, p.read(p.top, "a.txt"))
	}
	if got := p.git(p.top, "status", "--porcelain", "--", "a.txt", umlaut); got != "" {
		t.Errorf("the checkout is not clean: %s", got)
	}
	if done, err := p.IsReverted(t.Context(), "t-undo"); err != nil || !done {
		t.Errorf("TookBack = %t, %v, want it found", done, err)
	}
	p.tidy()
}

// TestSetBack: a branch with work that was not merged goes back to where the run found it, and the
// work stays.
func TestSetBack(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	tree := p.open(worktree.Spec{
		Run:  "r1",
		Task: 7,
		Slug: "x",
	})
	p.write(tree.Dir, "a.txt", "two\n")
	work, _ := p.commit(tree.Dir, "task 7 phase 1", "t1")
	p.close(tree.Dir)
	if list, err := p.LandedCommits(t.Context(), []string{"t1"}, ""); err != nil || len(list) > 0 {
		t.Errorf("Brought = %v, %v, want nothing", list, err)
	}
	kept, err := p.ResetBranch(t.Context(), tree.Branch, "r1", tree.Head)
	if err != nil || kept != "tercet/wip/7-r1" || p.git(p.top, "rev-parse", kept) != work ||
		p.git(p.top, "rev-parse", tree.Branch) != tree.Head {
		t.Errorf("SetBack = %q, %v", kept, err)
	}
	for branch, head := range map[string]string{
		tree.Branch: tree.Head,
		"main":      tree.Head,
		"task/none": tree.Head,
	} {
		if kept, err := p.ResetBranch(t.Context(), branch, "r1", head); err != nil || kept != "" {
			t.Errorf("SetBack of %s = %q, %v, want nothing to do", branch, kept, err)
		}
	}
	// Killed between the two: the branch that keeps the work is there already.
	p.git(p.top, "update-ref", "refs/heads/"+tree.Branch, work)
	kept, err = p.ResetBranch(t.Context(), tree.Branch, "r1", tree.Head)
	if err != nil || kept != "tercet/wip/7-r1" {
		t.Errorf("SetBack again = %q, %v, want the same branch", kept, err)
	}
}

// TestLeftover: only worktrees of runs that are over, and only branches whose work others have.
func TestLeftover(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	over := p.open(worktree.Spec{Run: "rover", Task: 1})
	open := p.open(worktree.Spec{Run: "ropen", Task: 2})
	p.write(over.Dir, "a.txt", "loose\n")
	child := filepath.Join(p.Base, "rover.x")
	merge := filepath.Join(p.Base, "publish-rover")
	for _, place := range []string{child, merge, filepath.Join(p.Base, "publish-ropen")} {
		p.git(p.top, "worktree", "add", "-q", "--detach", place)
	}

	p.git(p.top, "branch", "tercet/wip/3-merged")
	p.git(p.top, "branch", "mine/merged")
	p.git(p.top, "checkout", "-q", "-b", "task/4-own")
	p.write(p.top, "b.txt", "own\n")
	p.git(p.top, "add", "b.txt")
	p.git(p.top, "commit", "-qm", "own")
	p.git(p.top, "branch", "tercet/wip/4-same")
	p.git(p.top, "checkout", "-q", "main")
	l, err := p.FindLeftover(t.Context(), func(run string) bool {
		return run == "rover"
	})
	want := worktree.Leftover{
		Trees:    []string{merge, filepath.Join(p.Base, "rover"), child},
		Branches: []worktree.Tip{{Branch: "tercet/wip/3-merged", Commit: over.Head}},
	}
	if diff := cmp.Diff(want, l); diff != "" || err != nil {
		t.Fatalf("Leftover = %v (-want +got)\n%s", err, diff)
	}
	if err := p.RemoveLeftover(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	p.tidy("publish-ropen", "ropen")
	branches := p.git(p.top, "branch", "--format=%(refname:short)")
	const left = "main\nmine/merged\ntask/2\ntask/4-own\ntercet/wip/1-rover\ntercet/wip/4-same"
	if branches != left {
		t.Errorf("branches = %s, want %s", branches, left)
	}
	_ = open
}
