package worktree_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/internal/testkit"
	"tercet/subagents/worktree"
)

func (p *project) here(msg worktree.Message) worktree.CheckoutCommit {
	p.t.Helper()
	done, err := p.CommitInCheckout(p.t.Context(), "r1", msg)
	if err != nil {
		p.t.Fatal(err)
	}
	return done
}

// look is all of a checkout that a commit in it may and may not change.
func (p *project) look() string {
	return p.git(p.top, "log", "--format=%s", "HEAD") + "\n--\n" +
		p.git(p.top, "status", "--porcelain=v1", "--untracked-files=all") + "\n--\n" +
		p.git(p.top, "diff", "--cached")
}

// TestCommitInCheckout: named files come into the checkout's branch, with nothing else, and the
// index follows.
func TestCommitInCheckout(t *testing.T) {
	t.Parallel()
	p := newProject(t, "sub dir")
	p.write(p.Root, "docs/nœud a.md", "two\n")
	p.write(p.Root, "a.txt", "changed by the person\n")
	p.write(p.Root, "untracked.txt", "of the person\n")
	msg := worktree.Message{
		Subject: "docs: add a",
		Session: "s-1",
		Txn:     "t1",
		Only:    []string{"docs/nœud a.md"},
	}
	done := p.here(msg)
	if done.Hash == "" || done.Why != "" || done.After != "" ||
		cmp.Diff([]string{"docs/nœud a.md"}, done.Files) != "" {
		t.Fatalf("CommitInCheckout = %+v", done)
	}
	got := p.git(p.top, "show",
		"--format=%an|%s|%(trailers:key=Tercet-Txn,valueonly,separator=%x20)", "--name-only",
		"HEAD")
	if !strings.Contains(got, "docs: add a|t1") {
		t.Errorf("commit = %s", got)
	}
	got = p.git(p.top, "status", "--porcelain")
	want := " M \"sub dir/a.txt\"\n?? \"sub dir/untracked.txt\""
	if got != want {
		t.Errorf("status = %q, want %q", got, want)
	}
	if again := p.here(msg); again.Hash != done.Hash || cmp.Diff(done.Files, again.Files) != "" {
		t.Errorf("again = %+v, want %+v", again, done)
	}
	msg.Txn = "t2"
	if none := p.here(msg); none.Hash != "" || none.Why != "" {
		t.Errorf("nothing new = %+v", none)
	}
}

// TestCommitInCheckoutState: the state is committed only where git tracks it, and nobody is told
// otherwise.
func TestCommitInCheckoutState(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	p.write(p.Root, ".tercet/state.json", "{\"a\": 1}\n")
	p.write(p.Root, ".tercet/TODO.md", "todo\n")
	only := []string{".tercet/state.json", ".tercet/archive/state.json", ".tercet/TODO.md"}
	done := p.here(worktree.Message{Subject: "todo: archive 1 tasks", Only: only})
	if cmp.Diff([]string{".tercet/state.json"}, done.Files) != "" {
		t.Errorf("files = %+v, want the one that git tracks", done)
	}
	p.git(p.top, "rm", "-q", "--cached", ".tercet/state.json")
	p.git(p.top, "commit", "-qm", "not tracked")
	done = p.here(worktree.Message{Subject: "todo: archive 1 tasks", Only: only})
	if done.Hash != "" || done.Why != "" {
		t.Errorf("nothing tracked = %+v", done)
	}
}

// TestCommitInCheckoutRefuses: whatever of the person's could be touched keeps it from committing,
// and changes nothing.
func TestCommitInCheckoutRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		make func(p *project)
		only []string
		want string
	}{
		"detached": {
			func(p *project) { p.git(p.top, "checkout", "-q", "--detach") },
			nil,
			"the checkout is on no branch",
		},
		"staged": {func(p *project) {
			p.write(p.top, "a.txt", "x\n")
			p.git(p.top, "add", "a.txt")
		}, nil, "other changes are staged"},
		"announced": {func(p *project) {
			p.write(p.top, "n.txt", "x\n")
			p.git(p.top, "add", "-N", "n.txt")
		}, nil, "other changes are staged"},
		"staged itself": {
			func(p *project) { p.git(p.top, "add", "doc.md") },
			nil,
			"other changes are staged",
		},
		"merge": {func(p *project) {
			p.git(p.top, "switch", "-qc", "side")
			p.git(p.top, "commit", "-qm", "side", "--allow-empty")
			p.git(p.top, "switch", "-q", "main")
			p.git(p.top, "merge", "-q", "--no-ff", "--no-commit", "side")
		}, nil, "a merge is in progress"},
		"rebase": {
			func(p *project) {
				p.write(p.top, ".git/rebase-merge/head-name", "refs/heads/main\n")
			},
			nil,
			"a rebase is in progress",
		},
		"cherry-pick": {
			func(p *project) {
				p.write(p.top, ".git/CHERRY_PICK_HEAD", p.git(p.top, "rev-parse", "HEAD"))
			},
			nil,
			"a cherry-pick is in progress",
		},
		"git at work": {
			func(p *project) { p.write(p.top, ".git/index.lock", "") },
			nil,
			"another git command is at work",
		},
		"ignored": {
			func(p *project) { p.write(p.top, "doc.ignored", "x\n") },
			[]string{"doc.ignored"},
			"doc.ignored is ignored by git",
		},
		"not there": {func(*project) {}, []string{"none.md"}, "none.md is not there"},
		"a folder": {
			func(p *project) { p.write(p.top, "dir/a.md", "x\n") },
			[]string{"dir"},
			"dir is no regular file",
		},
		"a link": {
			func(p *project) { link(p, "doc.md", "link.md") },
			[]string{"link.md"},
			"link.md is a link",
		},
		"behind a one": {func(p *project) {
			p.write(p.top, "real/a.md", "x\n")
			link(p, "real", "linked")
		}, []string{"linked/a.md"}, "linked/a.md lies behind the link linked"},
		"a submodule": {func(p *project) {
			submodule(p)
			p.write(p.top, "mod/a.md", "x\n")
		}, []string{"mod/a.md"}, "mod/a.md lies in the repository mod"},
		"changed before": {func(p *project) {
			_, err := p.PrepareWorker(p.t.Context(), formats.Request{
				Run:   "r1",
				Txn:   "t0",
				Dir:   p.Root,
				Terms: formats.Terms{Commits: true},
			})
			if err != nil {
				p.t.Fatal(err)
			}
		}, nil, "doc.md was changed before the run began"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "")
			p.write(p.top, "doc.md", "text\n")
			tt.make(p)
			if tt.only == nil {
				tt.only = []string{"doc.md"}
			}
			lock := filepath.Join(p.top, ".git/index.lock")
			before := p.git(p.top, "rev-parse", "HEAD")
			locked := os.Remove(lock) == nil
			if locked {
				p.write(p.top, ".git/index.lock", "")
			}
			done := p.here(worktree.Message{
				Subject: "docs: add doc",
				Txn:     "t1",
				Only:    tt.only,
			})
			if done.Hash != "" || done.Why != tt.want {
				t.Errorf("CommitInCheckout = %+v, want %q", done, tt.want)
			}
			if after := p.git(p.top, "rev-parse", "HEAD"); after != before {
				t.Errorf("HEAD moved from %s to %s", before, after)
			}
		})
	}

	t.Run("no commit yet", func(t *testing.T) {
		t.Parallel()
		p := newProject(t, "")
		p.git(p.top, "checkout", "-q", "--orphan", "fresh")
		p.git(p.top, "rm", "-rq", "--cached", ".")
		done := p.here(worktree.Message{Subject: "x", Only: []string{"a.txt"}})
		if done.Why != "branch fresh has no commit yet" {
			t.Errorf("CommitInCheckout = %+v", done)
		}
	})
	t.Run("no repository", func(t *testing.T) {
		t.Parallel()
		p := newProject(t, "")
		if err := os.RemoveAll(filepath.Join(p.top, ".git")); err != nil {
			t.Fatal(err)
		}
		done := p.here(worktree.Message{Subject: "x", Only: []string{"a.txt"}})
		if done.Why != "the project is in no git repository" {
			t.Errorf("CommitInCheckout = %+v", done)
		}
	})
	t.Run("not a document", func(t *testing.T) {
		t.Parallel()
		p := newProject(t, "")
		for _, only := range []string{".tercet/config.yaml", "../out.md", "/etc/passwd"} {
			_, err := p.CommitInCheckout(t.Context(), "r1", worktree.Message{
				Subject: "x",
				Only:    []string{only},
			})
			if formats.CodeOf(err) != formats.CodeUsage {
				t.Errorf("CommitInCheckout(%s) = %v, want USAGE", only, err)
			}
		}
	})
	t.Run("a secret", func(t *testing.T) {
		t.Parallel()
		p := newProject(t, "")
		p.write(p.top, "doc.md", "key=AK"+"IAABCDEFGH12345678\n")
		_, err := p.CommitInCheckout(t.Context(), "r1", worktree.Message{
			Subject: "x",
			Only:    []string{"doc.md"},
		})
		if formats.CodeOf(err) != formats.CodeSecretFound ||
			!strings.Contains(err.Error(), "doc.md:1: cloud key") {
			t.Errorf("CommitInCheckout = %v, want SECRET_FOUND with the place", err)
		}
		if got := p.git(p.top, "status", "--porcelain"); got != "?? doc.md" {
			t.Errorf("status = %q", got)
		}
	})
}

func link(p *project, to, name string) {
	p.t.Helper()
	if err := os.Symlink(to, filepath.Join(p.top, name)); err != nil {
		p.t.Fatal(err)
	}
}

// submodule puts a repository into the one of the project, as git knows it.
func submodule(p *project) {
	p.t.Helper()
	sub := filepath.Join(p.t.TempDir(), "mod")
	if err := os.MkdirAll(sub, 0o755); err != nil {
		p.t.Fatal(err)
	}
	p.git(sub, "init", "-q", "-b", "main")
	p.git(sub, "commit", "-qm", "inside", "--allow-empty")
	p.git(p.top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub, "mod")
	p.git(p.top, "commit", "-qm", "with a submodule")
}

// TestCommitInCheckoutHooks: no hook runs and nothing is signed.
func TestCommitInCheckoutHooks(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	for _, hook := range []string{
		"pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change",
	} {
		p.write(p.top, ".git/hooks/"+hook, "#!/bin/sh\necho ran >> "+p.top+"/ran\n")
		if err := os.Chmod(filepath.Join(p.top, ".git/hooks", hook), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.git(p.top, "config", "commit.gpgSign", "true")
	p.git(p.top, "config", "gpg.program", "false")
	p.write(p.top, "doc.md", "text\n")
	done := p.here(worktree.Message{Subject: "docs: add doc", Only: []string{"doc.md"}})
	if done.Hash == "" {
		t.Fatalf("CommitInCheckout = %+v", done)
	}
	if _, err := os.Stat(filepath.Join(p.top, "ran")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a hook ran")
	}
}

var killStep = flag.Int("kills", 7, "kill before every n-th call of git")

var errDead = errors.New("killed")

// dying is the project as a process sees it that ends before its n-th call of git; 0: it does not
// end. It tells how many there were.
func (p *project) dying(n int) (*worktree.Manager, *int) {
	p.t.Helper()
	calls := new(int)
	return p.allowing(func() error {
		*calls++
		if n > 0 && *calls >= n {
			return errDead
		}
		return nil
	}), calls
}

// allowing is the project as a process sees it that does something before each call of git.
func (p *project) allowing(do func() error) *worktree.Manager {
	p.t.Helper()
	s, err := proc.NewStarter(proc.Starter{
		Allow: func(context.Context, proc.Command) error { return do() },
		Env: []string{
			"PATH=" + os.Getenv("PATH"),
			"GIT_CONFIG_GLOBAL=/dev/null",
		},
		Now: time.Now,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	m := *p.Manager
	m.Git = repositories(s)
	return &m
}

// kept keeps a copy of the repository with its worktrees, which hold its path, and gives what puts
// it back.
func (p *project) kept() (again func()) {
	p.t.Helper()
	dir := p.t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(p.top)); err != nil {
		p.t.Fatal(err)
	}
	return func() {
		if err := errors.Join(os.RemoveAll(p.top), os.CopyFS(p.top, os.DirFS(dir))); err != nil {
			p.t.Fatal(err)
		}
	}
}

// everyKill does something in a process that is killed before its n-th call of git, and then in one
// that is not, for every n of a sample, or all with -kills 1: what is left is what one leaves that
// nobody kills.
func everyKill(
	t *testing.T,
	begin func(t *testing.T) *project,
	do func(p *project, m *worktree.Manager) error,
	end func(p *project) string,
) {
	t.Helper()
	p := begin(t)
	again := p.kept()
	m, calls := p.dying(0)
	if err := do(p, m); err != nil {
		t.Fatal(err)
	}
	want := end(p)
	total := *calls
	if total < 5 {
		t.Fatalf("%d calls of git, want some", total)
	}
	step := *killStep
	if !testkit.Deep() {
		step *= 3
	}
	// not the same ones each time
	for n := 1 + len(t.Name())%step; n <= total; n += step {
		again()
		dead, _ := p.dying(n)
		_ = do(p, dead) // what it says is heard by nobody
		alive, _ := p.dying(0)
		if err := do(p, alive); err != nil {
			t.Errorf("killed before call %d of %d, then: %v", n, total, err)
			continue
		}
		if d := cmp.Diff(want, end(p)); d != "" {
			t.Errorf("killed before call %d of %d (-whole +again)\n%s", n, total, d)
		}
	}

	t.Logf("%d kills", total)
}

// TestCommitInCheckoutEveryKill: the commit is made once, and the index fits it, wherever the
// process ended.
func TestCommitInCheckoutEveryKill(t *testing.T) {
	t.Parallel()
	everyKill(t, func(t *testing.T) *project {
		t.Helper()
		p := newProject(t, "")
		p.write(p.top, "doc.md", "text\n")
		p.write(p.top, "a.txt", "of the person\n")
		return p
	}, func(p *project, m *worktree.Manager) error {
		_, err := m.CommitInCheckout(p.t.Context(), "r1", worktree.Message{
			Subject: "docs: add doc",
			Txn:     "t1",
			Only:    []string{"doc.md"},
		})
		return err
	}, (*project).look)
}
