package worktree_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/subagents/worktree"
)

// TestWatch: a worker that moves refs is found out. The run's own branch is put back, everything
// else is asked about, and no commit is lost in any case.
func TestWatch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		worker func(p *project, tree worktree.Tree)
		asks   bool // the refs that moved come back, and can be put back
		notes  bool // with asks: each is a branch that only gained commits
		code   formats.Code
		says   string // a part of the error, or of what moved
	}{
		{name: "nothing", worker: func(*project, worktree.Tree) {}},
		{
			name: "files",
			worker: func(p *project, tree worktree.Tree) {
				p.write(tree.Dir, "b.txt", "two\n")
			},
		},
		{
			name: "tercet commits",
			worker: func(p *project, tree worktree.Tree) {
				p.write(tree.Dir, "b.txt", "two\n")
				_, err := p.Commit(p.t.Context(), tree.Dir, worktree.Message{
					Subject: "two",
					Txn:     "t1",
				})
				if err != nil {
					p.t.Fatal(err)
				}
			},
		},
		{
			name: "another run opens, commits, publishes and closes",
			worker: func(p *project, _ worktree.Tree) {
				other := p.open(worktree.Spec{
					Run:  "r2",
					Task: 2,
					Slug: "b",
				})
				p.write(other.Dir, "c.txt", "three\n")
				_, err := p.Commit(p.t.Context(), other.Dir, worktree.Message{
					Subject: "three",
					Txn:     "t2",
				})
				if err != nil {
					p.t.Fatal(err)
				}
				_, err = p.Publish(p.t.Context(), other.Dir, worktree.Target{Txn: "t3"})
				if err != nil {
					p.t.Fatal(err)
				}
				if _, err := p.Close(p.t.Context(), other.Dir); err != nil {
					p.t.Fatal(err)
				}
			},
		},
		{
			name: "a fetch",
			worker: func(p *project, tree worktree.Tree) {
				p.git(tree.Dir, "update-ref", "refs/remotes/origin/main", "HEAD")
			},
		},
		{
			name: "a branch with a name of its own for a commit that was there",
			worker: func(p *project, tree worktree.Tree) {
				p.git(tree.Dir, "branch", "keep")
			},
		},
		{
			name: "packed",
			worker: func(p *project, tree worktree.Tree) {
				p.git(tree.Dir, "pack-refs", "--all")
			},
		},
		{
			name: "a commit on its own branch",
			code: formats.CodeDenied,
			says: "refs/heads/task/1-a moved from",
			worker: func(p *project, tree worktree.Tree) {
				p.write(tree.Dir, "b.txt", "two\n")
				p.git(tree.Dir, "add", "-A")
				p.git(tree.Dir, "commit", "-qm", "mine")
			},
		},
		{
			name: "a commit on its own branch that says it is tercet's",
			code: formats.CodeDenied,
			says: "refs/heads/task/1-a moved from",
			worker: func(p *project, tree worktree.Tree) {
				p.git(tree.Dir, "commit", "-q", "--allow-empty", "-m", "mine\n\nTercet-Txn: mine")
			},
		},
		{
			name: "a commit of its own below one of tercet's",
			code: formats.CodeDenied,
			says: "refs/heads/task/1-a moved from",
			worker: func(p *project, tree worktree.Tree) {
				p.git(tree.Dir, "commit", "-q", "--allow-empty", "-m", "mine")
				p.git(tree.Dir, "commit", "-q", "--allow-empty", "-m", "tercet's\n\nTercet-Txn: t1")
			},
		},
		{
			name:  "main moved by a commit that says it is tercet's",
			asks:  true,
			notes: true,
			says:  "refs/heads/main moved from",
			worker: func(p *project, tree worktree.Tree) {
				p.git(p.top, "update-ref", "refs/heads/main", p.git(
					tree.Dir, "commit-tree", "-p", "main", "-m",
					"sly\n\nTercet-Wip: r1\nTercet-Txn: sly", "HEAD^{tree}",
				))
			},
		},
		{
			name: "another branch checked out",
			code: formats.CodeDenied,
			says: "HEAD of this worktree moved from refs/heads/task/1-a to refs/heads/side",
			worker: func(p *project, tree worktree.Tree) {
				p.git(tree.Dir, "switch", "-qc", "side")
			},
		},
		{
			name: "its own branch deleted",
			code: formats.CodeDenied,
			says: "refs/heads/task/1-a moved from",
			worker: func(p *project, tree worktree.Tree) {
				p.git(tree.Dir, "commit", "-q", "--allow-empty", "-m", "mine")
				p.git(tree.Dir, "update-ref", "-d", "refs/heads/task/1-a")
			},
		},
		{
			name:   "main moved",
			asks:   true,
			notes:  true,
			says:   "refs/heads/main moved from",
			worker: moveMain,
		},
		{
			name: "main moved to another commit",
			asks: true,
			says: "refs/heads/main moved from",
			worker: func(p *project, _ worktree.Tree) {
				p.git(
					p.top,
					"update-ref",
					"refs/heads/main",
					p.git(p.top, "commit-tree", "-m", "sly", "HEAD^{tree}"),
				)
			},
		},
		{
			name: "the branch of another run moved",
			asks: true,
			says: "refs/heads/task/2-b moved from",
			worker: func(p *project, _ worktree.Tree) {
				p.git(
					p.top,
					"update-ref",
					"refs/heads/task/2-b",
					p.git(p.top, "commit-tree", "-p", "HEAD", "-m", "sly", "HEAD^{tree}"),
				)
			},
		},
		{
			name: "a new branch with a commit",
			asks: true,
			says: "refs/heads/new moved from nothing",
			worker: func(p *project, _ worktree.Tree) {
				p.git(
					p.top,
					"branch",
					"new",
					p.git(p.top, "commit-tree", "-p", "HEAD", "-m", "sly", "HEAD^{tree}"),
				)
			},
		},
		{
			name: "a branch with a commit that no other has, deleted",
			asks: true,
			worker: func(p *project, tree worktree.Tree) {
				p.git(tree.Dir, "update-ref", "-d", "refs/heads/precious")
			},
		},
		{
			name: "a tag moved",
			asks: true,
			says: "refs/tags/v1 moved from",
			worker: func(p *project, tree worktree.Tree) {
				p.git(tree.Dir, "tag", "-f", "v1", "precious")
			},
		},
		{
			name: "the checkout on another branch",
			asks: true,
			worker: func(p *project, _ worktree.Tree) {
				p.git(p.top, "symbolic-ref", "HEAD", "refs/heads/precious")
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "")
			p.git(p.top, "tag", "v1")
			p.git(
				p.top,
				"branch",
				"precious",
				p.git(p.top, "commit-tree", "-p", "HEAD", "-m", "precious", "HEAD^{tree}"),
			)
			p.git(p.top, "branch", "task/2-b")
			tree := p.open(worktree.Spec{
				Run:  "r1",
				Task: 1,
				Slug: "a",
			})
			before := p.refs()
			w, err := p.WatchRefs(tree.Dir)
			if err != nil {
				t.Fatal(err)
			}
			tt.worker(p, tree)
			moved, err := w.Check(t.Context(), formats.Request{Agent: "w", Run: "r1"})
			if (len(moved) > 0) != tt.asks {
				t.Fatalf("Look = %v, %v, want moved refs: %v", moved, err, tt.asks)
			}
			for _, one := range moved {
				if one.Forward != tt.notes {
					t.Errorf("Look = %+v, want forward: %v", one, tt.notes)
				}
			}

			if said := formats.MovedText(moved); tt.asks && !strings.Contains(said, tt.says) {
				t.Errorf("Look = %q, want %q", said, tt.says)
			}
			if formats.CodeOf(err) != tt.code && (err != nil || tt.code != "") ||
				err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("Look = %v, want %q with %q", err, tt.code, tt.says)
			}
			for range 2 * len(moved) { // once more, as after a kill
				_, err := worktree.RestoreRefs(t.Context(), p.Git(p.top), p.Git(p.top), "r1", moved)
				if err != nil {
					t.Fatal(err)
				}
			}
			if tt.asks || err != nil {
				for ref, hash := range before {
					if now := p.refs()[ref]; now != hash {
						t.Errorf("%s is %s, want %s again", ref, now, hash)
					}
				}
			}
			if tt.name == "a commit on its own branch" {
				stray := p.git(p.top, "for-each-ref", "--format=%(subject)", "refs/tercet/stray/r1")
				if stray != "mine" || p.read(tree.Dir, "b.txt") != "two\n" ||
					!strings.Contains(err.Error(), "kept as refs/tercet/stray/r1/") {
					t.Errorf("stray = %q, %v; want the commit kept, and its files", stray, err)
				}
			}
		})
	}
}

func moveMain(p *project, tree worktree.Tree) {
	p.git(
		p.top,
		"update-ref",
		"refs/heads/main",
		p.git(tree.Dir, "commit-tree", "-p", "main", "-m", "sly", "HEAD^{tree}"),
	)
}

// refs are all refs with HEAD of the checkout, as git tells them.
func (p *project) refs() map[string]string {
	p.t.Helper()
	out := map[string]string{"HEAD": p.git(p.top, "symbolic-ref", "HEAD")}
	for line := range strings.Lines(p.git(
		p.top,
		"for-each-ref",
		"--format=%(refname) %(objectname)",
	)) {
		name, hash, _ := strings.Cut(strings.TrimSpace(line), " ")
		out[name] = hash
	}
	return out
}

// TestWatchInTheCheckout: a worker in the person's own checkout may commit and go to another
// branch, but not take commits away. Outside of a repository nothing is looked at.
func TestWatchInTheCheckout(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	w, err := p.WatchRefs(p.top)
	if err != nil {
		t.Fatal(err)
	}
	p.git(p.top, "commit", "-q", "--allow-empty", "-m", "mine")
	p.git(p.top, "switch", "-qc", "side")
	p.git(p.top, "commit", "-q", "--allow-empty", "-m", "more")
	look := func(want int) {
		t.Helper()
		moved, err := w.Check(t.Context(), formats.Request{Agent: "w", Run: "r1"})
		if err != nil || len(moved) != want {
			t.Errorf("Look = %v, %v, want %d", moved, err, want)
		}
	}
	look(0)
	p.git(p.top, "branch", "-f", "main", "main~1")
	p.git(p.top, "reset", "-q", "--soft", "HEAD~1")
	look(0) // everything is where it was
	p.git(p.top, "commit", "-q", "--allow-empty", "-m", "precious")
	w, err = p.WatchRefs(p.top)
	if err != nil {
		t.Fatal(err)
	}
	p.git(p.top, "reset", "-q", "--soft", "HEAD~1")
	look(1)
	if err := os.RemoveAll(filepath.Join(p.top, ".git")); err != nil {
		t.Fatal(err)
	}
	w, err = p.WatchRefs(p.top)
	if err != nil {
		t.Fatal(err)
	}
	look(0)
}
