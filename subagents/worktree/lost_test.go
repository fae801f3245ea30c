package worktree_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/subagents/worktree"
)

// found tells where some text stands in the files of branches.
func (p *project) found(text string) string {
	p.t.Helper()
	for ref := range strings.FieldsSeq(p.git(p.top, "for-each-ref",
		"--format=%(refname)", "refs/heads")) {
		for name := range strings.SplitSeq(
			strings.TrimSuffix(p.git(p.top, "ls-tree", "-r", "-z", "--name-only", ref), "\x00"),
			"\x00",
		) {
			if name != "" && strings.Contains(p.git(p.top, "show", ref+":"+name), text) {
				return "kept"
			}
		}
	}
	return "lost"
}

// closed tells whether the worktree of the run is gone.
func (p *project) closed() bool {
	_, err := os.Stat(filepath.Join(p.Base, "r1"))
	return err != nil
}

// checkout is what stands in the person's checkout and on main.
func (p *project) checkout() string {
	p.t.Helper()
	return p.git(p.top, "log", "--first-parent", "--format=%s", "main") + "\n" +
		p.git(p.top, "status", "--porcelain") + "\n" +
		p.read(p.top, "a.txt")
}

// TestWorkIsNotLost: four ways to lose work, each also with a kill before any call of git: it can
// be had again, main and the checkout are what they are without the kill, and what was not merged
// is not told to be.
func TestWorkIsNotLost(t *testing.T) {
	t.Parallel()
	task := worktree.Spec{
		Run:  "r1",
		Task: 7,
		Slug: "a",
	}
	dir := func(p *project) string { return filepath.Join(p.Base, "r1") }
	for name, tt := range map[string]struct {
		begin func(p *project)
		do    func(p *project, m *worktree.Manager) error
		end   func(p *project) string
		want  string
	}{
		"uncommitted success": {
			begin: func(p *project) {
				p.write(p.open(task).Dir, "b.txt", "precious\n")
			},
			do: func(p *project, m *worktree.Manager) error {
				_, err := m.Close(p.t.Context(), dir(p))
				return err
			},
			want: "first\n\none\nkept",
		},
		"merge conflict": {
			begin: func(p *project) {
				tree := p.open(task)
				p.write(tree.Dir, "a.txt", "precious\n")
				p.commit(tree.Dir, "of the task", "t1")
				p.write(p.top, "a.txt", "of the person\n")
				p.git(p.top, "commit", "-qam", "second")
			},
			do: func(p *project, m *worktree.Manager) error {
				_, err := m.Publish(p.t.Context(), dir(p), worktree.Target{Txn: "t2"})
				if errors.As(err, new(*worktree.ConflictError)) {
					return nil
				}
				return errors.Join(err, errors.New("expected a conflict"))
			},
			want: "second\nfirst\n\nof the person\nkept",
		},
		"dirty main": {
			begin: func(p *project) {
				tree := p.open(task)
				p.write(tree.Dir, "b.txt", "precious\n")
				p.commit(tree.Dir, "of the task", "t1")
				p.write(p.top, "b.txt", "of the person\n")
			},
			do: func(p *project, m *worktree.Manager) error {
				_, err := m.Publish(p.t.Context(), dir(p), worktree.Target{Txn: "t2"})
				if errors.As(err, new(*worktree.NotCleanError)) {
					return nil
				}
				return errors.Join(err, errors.New("expected a checkout that is not clean"))
			},
			want: "first\n?? b.txt\none\nkept",
		},
		"a name outside ASCII": {
			begin: func(p *project) {
				p.write(
					p.open(worktree.Spec{Run: "r1", Branch: "task/7-größe_日本"}).Dir,
					"größe 日本.txt",
					"precious\n",
				)
			},
			do: func(p *project, m *worktree.Manager) error {
				if p.closed() {
					return nil
				}
				_, err := m.Commit(p.t.Context(), dir(
					p,
				), worktree.Message{Subject: "größe", Txn: "t1"})
				if err == nil {
					_, err = m.Publish(p.t.Context(), dir(p), worktree.Target{Txn: "t2"})
				}
				if err == nil {
					_, err = m.Close(p.t.Context(), dir(p))
				}
				return err
			},
			want: "Merge branch 'task/7-größe_日本'\nfirst\n\none\nkept",
		},
		"squashed": {
			begin: func(p *project) {
				tree := p.open(task)
				p.write(tree.Dir, "b.txt", "precious\n")
				p.commit(tree.Dir, "of the task", "t1")
			},
			do: func(p *project, m *worktree.Manager) error {
				if p.closed() {
					return nil
				}
				_, err := m.Publish(p.t.Context(), dir(p), worktree.Target{
					As:      worktree.AsSquash,
					Message: "task 7: a",
					Txn:     "t2",
				})
				if err == nil {
					_, err = m.Close(p.t.Context(), dir(p))
				}
				return err
			},
			want: "task 7: a\nfirst\n\none\nkept",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyKill(t, func(t *testing.T) *project {
				t.Helper()
				p := newProject(t, "")
				tt.begin(p)
				return p
			}, tt.do, func(p *project) string {
				end := p.checkout() + p.found("precious")
				if end != tt.want {
					t.Errorf("end = %q, want %q", end, tt.want)
				}
				return end
			})
		})
	}
}

// TestCommitOfTheKilled: git goes on when tercet is killed, and makes the commit while the process
// that resumes the run looks for it: that commit is told, wherever it comes.
func TestCommitOfTheKilled(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	tree := p.open(worktree.Spec{
		Run:  "r1",
		Task: 7,
		Slug: "a",
	})
	// the last call of seven tells the files of the commit
	for calls, at := 6, 2; at <= calls; at += 2 {
		name := fmt.Sprintf("%d.txt", at)
		txn := fmt.Sprintf("t%d", at)
		made := ""
		n := 0
		p.write(tree.Dir, name, "precious\n")
		m := p.allowing(func() error {
			n++
			if n == at {
				made, _ = p.commit(tree.Dir, "of the task", txn)
			}
			return nil
		})
		done, err := m.Commit(t.Context(), tree.Dir, worktree.Message{
			Subject: "of the task",
			Txn:     txn,
		})
		if err != nil || done.Hash == "" || done.Hash != made || len(done.Files) != 1 {
			t.Errorf("made before call %d of %d: Commit = %+v, %v; want %q",
				at, n, done, err, made)
		}
	}
}

// TestFirstCommit: of a commit that no earlier process can have made, none is looked for.
func TestFirstCommit(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	tree := p.open(worktree.Spec{
		Run:  "r1",
		Task: 7,
		Slug: "a",
	})
	msg := worktree.Message{
		Subject: "of the task",
		Txn:     "t1",
	}
	commit := func() (worktree.CommitResult, int) {
		n := 0
		m := p.allowing(func() error {
			n++
			return nil
		})
		done, err := m.Commit(t.Context(), tree.Dir, msg)
		if err != nil {
			t.Fatal(err)
		}
		return done, n
	}
	p.write(tree.Dir, "a.txt", "precious\n")
	made, _ := commit()
	if again, _ := commit(); made.Hash == "" || again.Hash != made.Hash {
		t.Errorf("made %+v, then %+v; want the same commit", made, again)
	}
	_, looking := commit()
	msg.First = true
	if none, calls := commit(); none.Hash != "" || calls >= looking {
		t.Errorf("made %+v with %d calls of git, looked for with %d; want none and fewer",
			none, calls, looking)
	}
}

// TestChildren: children part from where the run is, with what lies loose there, and come back to
// its branch; of what is discarded everything is in a bundle.
func TestChildren(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	run := p.open(worktree.Spec{
		Run:  "r1",
		Task: 7,
		Slug: "a",
	})
	p.write(run.Dir, "b.txt", "loose\n")
	spec := worktree.Spec{
		Run:     "r1",
		Child:   "x",
		Message: worktree.Message{Subject: "work", Txn: "t1"},
	}
	x := p.open(spec)
	spec.Child = "y"
	spec.Base = x.Base
	y := p.open(spec)
	if x.Branch != "task/7-a.x" || y.Branch != "task/7-a.y" || x.Base != y.Base ||
		p.read(x.Dir, "b.txt") != "loose\n" {
		t.Fatalf("children = %+v, %+v", x, y)
	}
	for _, tree := range []worktree.Tree{x, y} {
		p.write(tree.Dir, "b.txt", "of "+tree.Branch+"\n")
		p.commit(tree.Dir, "of a child", "t-"+tree.Branch)
	}

	to := worktree.Target{
		Run:   "r1",
		Child: true,
		Txn:   "t2",
	}
	if done, err := p.Publish(t.Context(), x.Dir, to); err != nil ||
		p.read(run.Dir, "b.txt") != "of task/7-a.x\n" {
		t.Fatalf("Publish = %+v, %v", done, err)
	}
	if c := p.close(x.Dir); !c.Deleted || !c.Removed {
		t.Errorf("Close of a child that is merged = %+v", c)
	}
	if _, err := p.Publish(t.Context(), y.Dir, to); !errors.As(err, new(*worktree.ConflictError)) {
		t.Errorf("Publish of the other = %v, want a conflict", err)
	}
	p.write(y.Dir, "c.txt", "loose too\n")
	bundle, err := p.Discard(t.Context(), y.Dir, "r1", worktree.Message{
		Subject: "discarded",
		Txn:     "t3",
	})
	if err != nil || !strings.HasPrefix(bundle, ".tercet/runs/r1/task-7-a.y-") {
		t.Fatalf("Discard = %s, %v", bundle, err)
	}
	p.tidy("r1")
	if got := p.git(p.top, "branch", "--format=%(refname:short)"); got != "main\ntask/7-a" {
		t.Errorf("branches = %q", got)
	}
	p.git(
		p.top,
		"fetch",
		"-q",
		filepath.Join(p.top, bundle),
		"refs/heads/task/7-a.y:refs/heads/again",
	)
	if got := p.git(p.top, "show", "again:c.txt"); got != "loose too" {
		t.Errorf("out of the bundle = %q", got)
	}
	if got := p.git(p.top, "log", "--format=%s", "main"); got != "first" {
		t.Errorf("main = %q", got)
	}
}

// TestSubmodule: what is done in the folder of a submodule, which no commit of the worktree holds,
// keeps the worktree.
func TestSubmodule(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	submodule(p)
	tree := p.open(worktree.Spec{
		Run:  "r1",
		Task: 7,
		Slug: "a",
	})
	p.write(tree.Dir, "mod/b.txt", "precious\n")
	p.write(tree.Dir, "c.txt", "c\n")
	if _, files := p.commit(tree.Dir, "of the task", "t1"); len(files) != 1 {
		t.Errorf("commit of %q, want the file beside the submodule", files)
	}
	if c := p.close(tree.Dir); c.Removed ||
		c.KeptReason != "it holds repositories of its own: mod/" {
		t.Errorf("Close = %+v, want it kept for mod/", c)
	}
	if p.read(tree.Dir, "mod/b.txt") != "precious\n" {
		t.Error("the file is gone")
	}
}

// TestInsideASubmodule: a project that is a submodule of another one works like any other.
func TestInsideASubmodule(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	outer := newProject(t, "")
	outer.git(
		outer.top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", p.top, "mod",
	)
	p.top = filepath.Join(outer.top, "mod")
	p.Root = p.top
	p.Base = filepath.Join(p.top, ".tercet/worktrees")
	tree := p.open(worktree.Spec{
		Run:  "r1",
		Task: 7,
		Slug: "a",
	})
	p.write(tree.Dir, "b.txt", "b\n")
	p.commit(tree.Dir, "of the task", "t1")
	_, err := p.Publish(t.Context(), tree.Dir, worktree.Target{})
	if err != nil || p.read(p.top, "b.txt") != "b\n" {
		t.Errorf("Publish = %v, want the work in the checkout", err)
	}
}

// TestWorktreeOfTheRunOnly: no work is done in a worktree that is gone, or in that of the project
// from which this one was copied.
func TestWorktreeOfTheRunOnly(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	other := newProject(t, "")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(p.top, link); err != nil {
		t.Fatal(err)
	}
	tree := p.open(worktree.Spec{
		Run:  "r1",
		Task: 7,
		Slug: "a",
	})
	theirs := other.open(worktree.Spec{
		Run:  "r1",
		Task: 7,
		Slug: "a",
	})
	for dir, want := range map[string]string{
		tree.Dir:                    "",
		p.top:                       "",
		theirs.Dir:                  "not of this project",
		filepath.Join(p.Base, "r2"): "is gone",
		filepath.Join(link, ".tercet/worktrees/r1"): "",
	} {
		_, err := p.PrepareWorker(t.Context(), formats.Request{
			Run: "r1",
			Txn: "t1",
			Dir: dir,
		})
		if want == "" && err != nil ||
			want != "" &&
				(formats.CodeOf(err) != formats.CodePrecondition ||
					!strings.Contains(err.Error(), want)) {
			t.Errorf("Ready(%s) = %v, want %q", dir, err, want)
		}
	}
}

// TestSparse: a checkout that has only some files gives a worktree like it, and what is made
// outside of them is committed.
func TestSparse(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	p.write(p.top, "in/a.txt", "in\n")
	p.write(p.top, "out/a.txt", "out\n")
	p.git(p.top, "add", "-A")
	p.git(p.top, "commit", "-qm", "two folders")
	p.git(p.top, "sparse-checkout", "set", "in")
	tree := p.open(worktree.Spec{
		Run:  "r1",
		Task: 7,
		Slug: "a",
	})
	p.write(tree.Dir, "in/b.txt", "b\n")
	p.write(tree.Dir, "out/b.txt", "b\n")
	if _, files := p.commit(tree.Dir, "of the task", "t1"); len(files) != 2 {
		t.Errorf("commit of %q, want both files", files)
	}
	if _, err := p.Publish(t.Context(), tree.Dir, worktree.Target{Txn: "t2"}); err != nil {
		t.Fatal(err)
	}
	got := p.git(p.top, "ls-tree", "-r", "--name-only", "main", "in", "out")
	if got != "in/a.txt\nin/b.txt\nout/a.txt\nout/b.txt" {
		t.Errorf("main has %q", got)
	}
	if c := p.close(tree.Dir); !c.Removed || c.Wip != "" {
		t.Errorf("Close = %+v", c)
	}
}
