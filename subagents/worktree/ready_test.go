package worktree_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tercet/formats"
	"tercet/subagents/worktree"
)

// worker is the request of a worker in a worktree.
func worker(tree worktree.Tree, txn string, again bool) formats.Request {
	r := formats.Request{
		Run:  "r1",
		Step: "code",
		Txn:  txn,
		Dir:  tree.Dir,
	}
	if again {
		r.Begun = formats.BegunAgain
	}
	return r
}

func (p *project) ready(r formats.Request) string {
	p.t.Helper()
	said, err := p.PrepareWorker(p.t.Context(), r)
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.Join(said, "\n")
}

// killed opens a worktree, does work that no step commits, starts a worker there and lets it do
// half of its own.
func killed(p *project) worktree.Tree {
	p.t.Helper()
	tree := p.open(worktree.Spec{
		Run:  "r1",
		Task: 7,
		Slug: "a",
	})
	p.write(tree.Dir, "done.txt", "of a step before\n")
	p.write(tree.Dir, "a.txt", "of a step before\n")
	p.ready(worker(tree, "t1", false))
	p.write(tree.Dir, "half ñ.txt", "ha")
	p.write(tree.Dir, "a.txt", "half\n")
	if err := os.Remove(filepath.Join(tree.Dir, "done.txt")); err != nil {
		p.t.Fatal(err)
	}
	p.write(tree.Dir, "staged.txt", "x\n")
	p.git(tree.Dir, "add", "staged.txt")
	return tree
}

// asBefore is what a worktree has of what killed makes.
func (p *project) asBefore(tree worktree.Tree) string {
	p.t.Helper()
	return p.git(tree.Dir, "status", "--porcelain=v1", "--untracked-files=all") + "\n" +
		p.read(tree.Dir, "a.txt") + p.read(tree.Dir, "done.txt") +
		p.git(tree.Dir, "symbolic-ref", "HEAD") + "\n" + p.git(tree.Dir, "log", "--format=%s")
}

const before = " M a.txt\n?? done.txt\nof a step before\nof a step before\nrefs/heads/task/7-a\n" +
	"first"

// TestReady: a worker that is started again finds its worktree as it was, and what the killed
// attempt did is on a branch.
func TestReady(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	tree := killed(p)
	said := p.ready(worker(tree, "t1", true))
	want := "what the killed attempt of step code left is on branch tercet/wip/7-r1"
	if said != want {
		t.Errorf("Ready says %q, want %q", said, want)
	}
	if got := p.asBefore(tree); got != before {
		t.Errorf("worktree = %q, want %q", got, before)
	}
	got := p.git(p.top, "show", "--format=%s", "tercet/wip/7-r1")
	want = "half"
	if !strings.Contains(got, want) || !strings.Contains(got, "staged.txt") {
		t.Errorf("branch = %s, want what was half done", got)
	}
	if got := p.git(p.top, "show", "tercet/wip/7-r1:half ñ.txt"); got != "ha" {
		t.Errorf("half file = %q", got)
	}
	if said := p.ready(worker(tree, "t1", true)); said != "" {
		t.Errorf("a third start says %q, want nothing", said)
	}
	// The first start of another step sets nothing aside.
	if said := p.ready(worker(tree, "t2", true)); said != "" || p.asBefore(tree) != before {
		t.Errorf("the first start of a step says %q", said)
	}
}

// TestReadySideBySide: what several children left at once is on a branch for each.
func TestReadySideBySide(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	p.open(worktree.Spec{
		Run:  "r1",
		Task: 7,
		Slug: "a",
	})
	var trees []worktree.Tree
	for _, child := range []string{"x", "y", "z"} {
		tree := p.open(worktree.Spec{
			Run:   "r1",
			Task:  7,
			Slug:  "a",
			Child: child,
		})
		trees = append(trees, tree)
		p.ready(worker(tree, child, false))
		p.write(tree.Dir, child+".txt", child)
	}

	var all sync.WaitGroup
	said := make([]string, len(trees))
	for i, tree := range trees {
		all.Go(func() {
			txn := []string{"x", "y", "z"}[i]
			lines, err := p.PrepareWorker(t.Context(), worker(tree, txn, true))
			said[i] = strings.Join(lines, "\n")
			if err != nil {
				t.Error(err)
			}
		})
	}

	all.Wait()
	slices.Sort(said)
	if len(slices.Compact(said)) != len(trees) || said[0] == "" {
		t.Errorf("Ready says %q, want a branch for each", said)
	}
	got := p.git(p.top, "branch", "--list", "tercet/wip/*")
	if strings.Count(got, "\n") != len(trees)-1 {
		t.Errorf("branches = %s, want %d", got, len(trees))
	}
}

// TestReadyCommits: commits of a killed worker are kept with what it left, and its branch is where
// it was.
func TestReadyCommits(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	tree := killed(p)
	p.git(tree.Dir, "commit", "-qm", "of the worker")
	p.git(tree.Dir, "switch", "-qc", "side")
	p.ready(worker(tree, "t1", true))
	if got := p.asBefore(tree); got != before {
		t.Errorf("worktree = %q, want %q", got, before)
	}
	got := p.git(p.top, "log", "--format=%s", "tercet/wip/7-r1")
	if got != "wip: what a killed attempt of code left\nof the worker\nfirst" {
		t.Errorf("branch = %q", got)
	}
}

// TestReadySecrets: what no commit may hold goes to the run's folder, where only the owner reads
// it.
func TestReadySecrets(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	tree := killed(p)
	p.write(tree.Dir, "conf/.env", "TOKEN=1\n")
	p.write(tree.Dir, "inner/.git/HEAD", "ref: refs/heads/main\n")
	p.git(filepath.Join(tree.Dir, "inner"), "init", "-q")
	p.write(tree.Dir, "inner/b.txt", "b\n")
	said := p.ready(worker(tree, "t1", true))
	for _, want := range []string{
		"conf/.env is in .tercet/runs/r1/aside/conf/.env",
		"inner is in .tercet/runs/r1/aside/inner",
		"tercet/wip/7-r1",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("Ready says %q, want %q in it", said, want)
		}
	}

	if got := p.asBefore(tree); got != before {
		t.Errorf("worktree = %q, want %q", got, before)
	}
	if p.read(p.top, ".tercet/runs/r1/aside/conf/.env") != "TOKEN=1\n" ||
		p.read(p.top, ".tercet/runs/r1/aside/inner/b.txt") != "b\n" {
		t.Error("what was set aside is not what it was")
	}
	info, err := os.Stat(filepath.Join(p.top, ".tercet/runs/r1/aside"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("aside = %v, %v, want 0700", info, err)
	}
	got := p.git(p.top, "log", "--all", "--format=", "--name-only")
	if strings.Contains(got, ".env") {
		t.Errorf("a commit holds it: %s", got)
	}
}

// TestReadyEveryKill: wherever the process ends while it sets aside, the worker finds the same, and
// nothing is lost.
func TestReadyEveryKill(t *testing.T) {
	t.Parallel()
	everyKill(t, func(t *testing.T) *project {
		t.Helper()
		p := newProject(t, "")
		killed(p)
		return p
	}, func(p *project, m *worktree.Manager) error {
		_, err := m.PrepareWorker(
			p.t.Context(),
			worker(worktree.Tree{Dir: filepath.Join(p.Base, "r1")}, "t1", true),
		)
		return err
	}, func(p *project) string {
		list := strings.Fields(p.git(p.top, "for-each-ref",
			"--format=%(refname:short)", "refs/heads/tercet/wip"))
		if len(list) == 0 {
			return "nothing was kept"
		}
		return p.asBefore(worktree.Tree{Dir: filepath.Join(p.Base, "r1")}) + p.git(
			p.top, "show",
			list[0]+":half ñ.txt",
		) + p.git(p.top, "show", list[0]+":a.txt")
	})
}
