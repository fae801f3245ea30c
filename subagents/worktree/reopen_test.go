package worktree_test

import (
	"testing"

	"tercet/formats"
	"tercet/subagents/worktree"
)

// TestReopen: the worktree of a run that failed is what it was, with the commits of the run and the
// work that is in no commit, also if a process is killed before any call of git and another one
// does it again.
func TestReopen(t *testing.T) {
	t.Parallel()
	task := worktree.Spec{
		Run:  "r1",
		Task: 7,
		Slug: "a",
	}
	spec := worktree.Spec{Run: "r1", Branch: "task/7-a"}
	for n := 0; ; n++ {
		p := newProject(t, "")
		tree := p.open(task)
		p.write(tree.Dir, "b.txt", "committed\n")
		head, _ := p.commit(tree.Dir, "of the task", "t1")
		p.write(tree.Dir, "a.txt", "changed\n")
		p.write(tree.Dir, "new.txt", "loose\n")
		closed := p.close(tree.Dir)
		if closed.Wip == "" || !p.closed() {
			t.Fatalf("Close = %+v, want it gone, with a branch for loose work", closed)
		}
		repo := worktree.Repository{Trees: p.Manager}
		if err := repo.CanReopen(t.Context(), spec.Branch, head, closed.Wip); err != nil {
			t.Fatal(err)
		}
		m, calls := p.dying(n)
		err := worktree.Repository{Trees: m}.Reopen(t.Context(), spec, head, closed.Wip)
		if n == 0 && err != nil {
			t.Fatal(err)
		}
		if err := repo.Reopen(t.Context(), spec, head, closed.Wip); err != nil {
			t.Fatalf("Reopen after a kill before call %d: %v", n, err)
		}
		got := p.git(tree.Dir, "status", "--porcelain")
		want := " M a.txt\n?? new.txt"
		if got != want {
			t.Errorf("status after a kill before call %d = %q, want %q", n, got, want)
		}
		if on := p.git(tree.Dir, "symbolic-ref", "HEAD"); on != "refs/heads/task/7-a" {
			t.Errorf("HEAD after a kill before call %d = %q", n, on)
		}
		text := p.read(tree.Dir, "new.txt") + p.read(tree.Dir, "b.txt")
		if text != "loose\ncommitted\n" {
			t.Errorf("files after a kill before call %d = %q", n, text)
		}
		if n > 0 && *calls < n {
			return
		}
	}
}

// TestMayReopen: a branch that has moved on, or work that is gone, is refused.
func TestMayReopen(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	tree := p.open(worktree.Spec{
		Run:  "r1",
		Task: 7,
		Slug: "a",
	})
	p.write(tree.Dir, "b.txt", "committed\n")
	head, _ := p.commit(tree.Dir, "of the task", "t1")
	p.write(tree.Dir, "new.txt", "loose\n")
	closed := p.close(tree.Dir)
	repo := worktree.Repository{Trees: p.Manager}
	p.advance("task/7-a", "other.txt")
	for wip, want := range map[string]string{
		closed.Wip:      "branch task/7-a has moved on since the run failed",
		"tercet/wip/no": "branch tercet/wip/no with the work of the run is gone",
	} {
		err := repo.CanReopen(t.Context(), "task/7-a", head, wip)
		if formats.CodeOf(err) != formats.CodeInvalidState || err.Error() != want {
			t.Errorf("MayReopen with %s = %v, want %s", wip, err, want)
		}
	}
	if err := repo.CanReopen(t.Context(), "task/8-gone", head, ""); err != nil {
		t.Errorf("MayReopen of a branch that was deleted = %v, want no error", err)
	}
}
