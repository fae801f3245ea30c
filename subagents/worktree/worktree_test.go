package worktree_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"tercet/formats"
	"tercet/internal/git"
	"tercet/internal/proc"
	"tercet/internal/testkit"
	"tercet/subagents/worktree"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// project is a repository with one commit, and a project in it.
type project struct {
	*worktree.Manager
	t   *testing.T
	top string
}

func starter(t *testing.T) *proc.Starter {
	t.Helper()
	s, err := proc.NewStarter(proc.Starter{
		Allow: func(context.Context, proc.Command) error { return nil },
		Env: []string{
			"PATH=" + os.Getenv("PATH"),
			"GIT_CONFIG_GLOBAL=/dev/null",
		},
		Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// templates are the repositories that newProject copies, by the folder of the project in them.
var templates sync.Map

// newProject makes a repository whose project root is its folder sub, "" for the top.
func newProject(t *testing.T, sub string) *project {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &project{t: t, top: top}
	root := filepath.Join(top, sub)
	p.Manager, err = worktree.New(worktree.Manager{
		Git:  repositories(starter(t)),
		Root: root,
		Base: filepath.Join(root, ".tercet/worktrees"),
		TrackCommits: func() func(string) bool {
			return func(txn string) bool { return strings.HasPrefix(txn, "t") }
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	template, _ := templates.LoadOrStore(sub, &testkit.Template{})
	template.(*testkit.Template).Copy(t, top, func() {
		if err := p.Git(top).Init(t.Context(), "main"); err != nil {
			t.Fatal(err)
		}
		p.write(root, "a.txt", "one\n")
		p.write(root, ".gitignore", "*.ignored\n")
		p.write(root, ".tercet/.gitignore", "worktrees/\n")
		p.write(root, ".tercet/state.json", "{}\n")
		p.git(top, "add", "-A")
		p.git(top, "commit", "-qm", "first")
	})
	return p
}

// repositories gives repositories as a project does: their settings are shared.
func repositories(s *proc.Starter) func(dir string) *git.Repo {
	settings := &git.Cache{}
	return func(dir string) *git.Repo {
		return &git.Repo{Starter: s, Dir: dir, Cache: settings}
	}
}

// git runs plain git, as a user would.
func (p *project) git(dir string, args ...string) string {
	p.t.Helper()
	r, err := starter(p.t).Run(p.t.Context(), proc.Command{
		Argv: append(
			[]string{"git", "-c", "user.name=U", "-c", "user.email=u@example.org"},
			args...,
		),
		Dir:     dir,
		Purpose: proc.PurposeGit,
	})
	if err != nil || r.Exit != 0 {
		p.t.Fatalf("git %s = exit %d, %v: %s", strings.Join(args, " "), r.Exit, err, r.Stderr)
	}
	return strings.TrimSuffix(string(r.Stdout), "\n")
}

func (p *project) write(dir, name, text string) {
	p.t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) read(dir, name string) string {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

func (p *project) open(s worktree.Spec) worktree.Tree {
	p.t.Helper()
	tree, err := p.Open(p.t.Context(), s)
	if err != nil {
		p.t.Fatal(err)
	}
	return tree
}

func (p *project) commit(dir, subject, txn string) (string, []string) {
	p.t.Helper()
	done, err := p.Commit(p.t.Context(), dir, worktree.Message{
		Subject: subject,
		Session: "s-1",
		Txn:     txn,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return done.Hash, done.Files
}

func (p *project) close(dir string) worktree.CloseResult {
	p.t.Helper()
	c, err := p.Close(p.t.Context(), dir)
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// tidy reports what a call left lying about.
func (p *project) tidy(want ...string) {
	p.t.Helper()
	var got []string
	list, err := os.ReadDir(p.Base)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.t.Fatal(err)
	}
	for _, e := range list {
		got = append(got, e.Name())
	}
	if d := cmp.Diff(want, got); d != "" {
		p.t.Errorf("worktrees on disk (-want +got)\n%s", d)
	}
	if n := strings.Count(p.git(p.top, "worktree", "list"), "\n"); n != len(want) {
		p.t.Errorf("git knows %d worktrees, want %d", n, len(want))
	}
}

const umlaut = "öffne \"das\"\nfenster.txt"

func TestFromOpenToClose(t *testing.T) {
	t.Parallel()
	for _, sub := range []string{"", "projects/p"} {
		t.Run("sub="+sub, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, sub)
			first := p.git(p.top, "rev-parse", "HEAD")
			tree := p.open(worktree.Spec{
				Run:  "r1",
				Task: 196,
				Slug: "add_ranges",
			})
			want := worktree.Tree{
				Dir:    filepath.Join(p.Base, "r1", sub),
				Branch: "task/196-add_ranges",
				Base:   first,
				Head:   first,
			}
			if d := cmp.Diff(want, tree); d != "" {
				t.Fatalf("Open() (-want +got)\n%s", d)
			}
			p.write(tree.Dir, "a.txt", "two\n")
			p.write(tree.Dir, umlaut, "new\n")
			p.write(tree.Dir, ".tercet/state.json", "stale\n")
			p.write(tree.Dir, ".tercet/new", "stale\n")
			p.write(tree.Dir, "x.ignored", "x\n")
			p.git(tree.Dir, "add", "-A") // the index of an agent counts for nothing
			hash, files := p.commit(tree.Dir, "task 196 phase 1: write", "t1")
			if d := cmp.Diff([]string{"a.txt", umlaut}, files); d != "" {
				t.Errorf("Commit() files (-want +got)\n%s", d)
			}
			got := p.git(tree.Dir, "show", "-s", "--format=%an|%P|%B", hash)
			if got != "tercet|"+first+"|task 196 phase 1: write\n\nSession: s-1\nTercet-Txn: t1\n" {
				t.Errorf("commit = %q", got)
			}
			again, files := p.commit(tree.Dir, "other words", "t1")
			if again != hash || len(files) != 2 {
				t.Errorf("Commit() with the same transaction = %q, %q, want %q", again, files, hash)
			}
			if none, files := p.commit(tree.Dir, "nothing", "t2"); none != "" || files != nil {
				t.Errorf("Commit() of nothing = %q, %q, want none", none, files)
			}

			// the workspace may be dirty
			p.write(p.Root, ".tercet/state.json", "{\"changed\": true}\n")
			p.write(p.Root, ".tercet/TODO.md", "x\n")
			pub, err := p.Publish(t.Context(), tree.Dir, worktree.Target{Session: "s-1", Txn: "t3"})
			if err != nil {
				t.Fatal(err)
			}
			head := p.git(p.top, "rev-parse", "HEAD")
			if pub.Commit != head || pub.Message != "merged task/196-add_ranges into main" {
				t.Errorf("Publish() = %+v, want main at %s", pub, head)
			}
			if d := cmp.Diff([]string{"a.txt", umlaut}, pub.Files); d != "" {
				t.Errorf("Publish() files (-want +got)\n%s", d)
			}
			if got := p.git(p.top, "show", "-s", "--format=%P", head); got != first+" "+hash {
				t.Errorf("parents of the merge = %q, want %q", got, first+" "+hash)
			}
			if p.read(p.Root, "a.txt") != "two\n" || p.read(p.Root, umlaut) != "new\n" ||
				p.read(p.Root, ".tercet/state.json") != "{\"changed\": true}\n" {
				t.Error("the checkout does not show the merge beside its own workspace")
			}
			twice, err := p.Publish(t.Context(), tree.Dir, worktree.Target{})
			if err != nil || twice.Commit != head || len(twice.Files) > 0 {
				t.Errorf("Publish() again = %+v, %v, want nothing new", twice, err)
			}
			p.tidy("r1")
			if c := p.close(tree.Dir); c.Wip != "" || !c.Removed || !c.Deleted {
				t.Errorf("Close() = %+v, want worktree and branch gone", c)
			}
			if c := p.close(tree.Dir); !c.Removed {
				t.Errorf("Close() again = %+v, want it gone", c)
			}
			p.tidy()
			if got := p.git(p.top, "branch", "--format=%(refname:short)"); got != "main" {
				t.Errorf("branches = %q, want main", got)
			}
		})
	}
}

func TestContinueABranch(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	spec := worktree.Spec{
		Run:  "r1",
		Task: 7,
		Slug: "x",
	}
	one := p.open(spec)
	p.write(one.Dir, "b.txt", "phase 1\n")
	phase1, _ := p.commit(one.Dir, "task 7 phase 1: b", "t1")
	if same := p.open(spec); same.Dir != one.Dir || same.Head != phase1 || !same.Continued {
		t.Errorf("Open() of an open run = %+v, want the same tree", same)
	}
	p.write(one.Dir, "b.txt", "half of phase 2\n")
	p.write(one.Dir, "c.txt", "half of phase 2\n")

	// The run ended without closing; the next one takes over.
	p.write(p.top, "main.txt", "x\n")
	p.git(p.top, "add", "main.txt")
	p.git(p.top, "commit", "-qm", "meanwhile")
	spec.Run = "r2"
	two := p.open(spec)
	if !two.Continued || two.Head != phase1 || two.Base != one.Base {
		t.Errorf("Open() = %+v, want to continue at %s", two, phase1)
	}
	if got := p.read(two.Dir, "b.txt"); got != "phase 1\n" {
		t.Errorf("b.txt = %q, want the last whole commit", got)
	}
	const wip = "tercet/wip/7-r1"
	got := p.git(p.top, "show", wip+":b.txt") + p.git(p.top, "show", wip+":c.txt")
	if got != "half of phase 2half of phase 2" {
		t.Errorf("loose work on %s = %q", wip, got)
	}
	p.tidy("r2")

	pub, err := p.Publish(t.Context(), two.Dir, worktree.Target{})
	if err != nil || p.read(p.top, "b.txt") != "phase 1\n" || p.read(p.top, "main.txt") != "x\n" {
		t.Errorf("Publish() beside new commits = %+v, %v", pub, err)
	}
	if c := p.close(two.Dir); !c.Deleted {
		t.Errorf("Close() = %+v, want the merged branch deleted", c)
	}
	spec.Run = "r3"
	if three := p.open(spec); three.Continued || three.Head != pub.Commit {
		t.Errorf("Open() after the merge = %+v, want a new beginning", three)
	}
}

func TestStaleBranchBeginsAnew(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	p.git(p.top, "branch", "task/9-x")
	p.write(p.top, "b.txt", "x\n")
	p.git(p.top, "add", "b.txt")
	p.git(p.top, "commit", "-qm", "second")
	tree := p.open(worktree.Spec{
		Run:  "r",
		Task: 9,
		Slug: "x",
	})
	if tree.Continued || tree.Head != p.git(p.top, "rev-parse", "HEAD") {
		t.Errorf("Open() = %+v, want the branch at the checkout's commit", tree)
	}
}

func TestCloseKeepsLooseWork(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	tree := p.open(worktree.Spec{
		Run:  "r1",
		Task: 7,
		Slug: "x",
	})
	p.write(tree.Dir, "b.txt", "committed\n")
	last, _ := p.commit(tree.Dir, "task 7 phase 1: b", "")
	p.write(tree.Dir, "b.txt", "loose\n")
	if err := os.Remove(filepath.Join(tree.Dir, "a.txt")); err != nil {
		t.Fatal(err)
	}
	p.git(p.top, "branch", "tercet/wip/7-r1") // the name is taken
	c := p.close(tree.Dir)
	if c.Wip != "tercet/wip/7-r1-2" || !c.Removed || c.Deleted {
		t.Errorf("Close() = %+v, want loose work on its own branch and the task's branch kept", c)
	}
	if got := p.git(p.top, "rev-parse", "task/7-x"); got != last {
		t.Errorf("task/7-x = %s, want its last whole commit %s", got, last)
	}
	got := p.git(p.top, "diff", "--name-status", "task/7-x", c.Wip)
	if got != "D\ta.txt\nM\tb.txt" {
		t.Errorf("loose work = %q, want a deletion and a change", got)
	}
	p.tidy()
}

// A run that was killed leaves loose work; once the next run has done the same, its branch goes.
// Work that is nowhere else stays.
func TestLooseWorkThatCameInIsSwept(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	for _, c := range []struct{ loose, done, want string }{
		{"the same\n", "the same\n", ""},
		{"another\n", "one\n", "tercet/wip/7-r2"},
	} {
		left := p.open(worktree.Spec{
			Run:  map[string]string{"": "r1", "tercet/wip/7-r2": "r2"}[c.want],
			Task: 7,
			Slug: "x",
		})
		p.write(left.Dir, "b.txt", c.loose)
		tree := p.open(worktree.Spec{
			Run:  "r3",
			Task: 7,
			Slug: "x",
		}) // closes the one that was left
		p.write(tree.Dir, "b.txt", c.done)
		p.commit(tree.Dir, "task 7: b", "")
		if _, err := p.Publish(t.Context(), tree.Dir, worktree.Target{}); err != nil {
			t.Fatal(err)
		}
		p.close(tree.Dir)
		got := p.git(p.top, "for-each-ref", "--format=%(refname:short)", "refs/heads/tercet")
		if got != c.want {
			t.Errorf("loose %q, done %q: branches %q, want %q", c.loose, c.done, got, c.want)
		}
	}
}

func TestConflict(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	tree := p.open(worktree.Spec{
		Run:  "r1",
		Task: 7,
		Slug: "x",
	})
	p.write(tree.Dir, "a.txt", "theirs\n")
	p.commit(tree.Dir, "task 7: a", "")
	p.write(p.top, "a.txt", "mine\n")
	p.git(p.top, "commit", "-qam", "mine")
	head := p.git(p.top, "rev-parse", "HEAD")
	_, err := p.Publish(t.Context(), tree.Dir, worktree.Target{})
	c, ok := errors.AsType[*worktree.ConflictError](err)
	if !ok || !cmp.Equal(c.Files, []string{"a.txt"}) ||
		formats.CodeOf(err) != formats.CodeRejected || formats.HelpOf(err) == "" {
		t.Errorf("Publish() = %v, want a ConflictError of a.txt", err)
	}
	got := p.git(p.top, "rev-parse", "HEAD")
	if got != head || p.read(p.top, "a.txt") != "mine\n" ||
		p.git(p.top, "status", "--porcelain") != "" {
		t.Error("the conflict changed the checkout")
	}
	p.tidy("r1")
}

// TestCheckoutInTheWay: the merge stops only at what it would write over, and nothing is changed
// then.
func TestCheckoutInTheWay(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		dirty func(*project)
		files []string
		help  string
	}{
		{
			"changed",
			func(p *project) { p.write(p.top, "a.txt", "mine\n") },
			[]string{"a.txt"},
			"commit or stash",
		},
		{
			"staged",
			func(p *project) {
				p.write(p.top, "c.txt", "mine\n")
				p.git(p.top, "add", "c.txt")
			},
			[]string{"c.txt"},
			"commit or stash",
		},
		{
			"untracked",
			func(p *project) { p.write(p.top, "c.txt", "mine\n") },
			[]string{"c.txt"},
			"move them away",
		},
		{
			"a file where the merge has a folder",
			func(p *project) { p.write(p.top, "d", "mine\n") },
			[]string{"d"},
			"move them away",
		},
		{
			"a folder where the merge has a file",
			func(p *project) { p.write(p.top, "c.txt/mine", "mine\n") },
			[]string{"c.txt/mine"},
			"move them away",
		},
		{
			"locked",
			func(p *project) { p.write(p.top, ".git/index.lock", "") },
			nil,
			".git/index.lock; then",
		},
		{
			"locked branch",
			func(p *project) {
				p.write(p.top, ".git/refs/heads/main.lock", "")
			},
			nil,
			".git/refs/heads/main.lock; then",
		},
		{
			"ignored and in the way",
			func(p *project) { p.write(p.top, "b.ignored", "mine\n") },
			nil,
			"move away the files",
		},
		{"in a merge", mergeInProgress, nil, "finish it or abort it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "")
			tree := p.open(worktree.Spec{
				Run:  "r1",
				Task: 7,
				Slug: "x",
			})
			workInSeveralFiles(p, tree.Dir)
			tt.dirty(p)
			status := p.git(p.top, "status", "--porcelain")
			head := p.git(p.top, "rev-parse", "main")

			_, err := p.Publish(t.Context(), tree.Dir, worktree.Target{})

			n, ok := errors.AsType[*worktree.NotCleanError](err)
			if !ok || !cmp.Equal(n.Files, tt.files) {
				t.Errorf("Publish() = %v, want a NotCleanError of %q", err, tt.files)
			}
			help := formats.HelpOf(err)
			if !strings.Contains(help, tt.help) || !strings.Contains(help, "git merge task/7-x") {
				t.Errorf("Publish() helps with %q, want %q and the merge", help, tt.help)
			}
			if p.git(p.top, "rev-parse", "main") != head ||
				p.git(p.top, "status", "--porcelain") != status {
				t.Error("Publish() changed the checkout or its branch")
			}
			if strings.HasPrefix(tt.name, "ignored") && p.read(p.top, "b.ignored") != "mine\n" {
				t.Error("Publish() overwrote an ignored file")
			}
			if err := os.RemoveAll(filepath.Join(p.top, ".git/index.lock")); err != nil {
				t.Fatal(err)
			}
			p.tidy("r1")
		})
	}
}

// workInSeveralFiles commits work that changes a.txt, and adds b.ignored, c.txt and d/e.txt.
func workInSeveralFiles(p *project, dir string) {
	p.write(dir, "a.txt", "theirs\n")
	p.write(dir, "b.ignored", "theirs\n")
	p.write(dir, "c.txt", "theirs\n")
	p.write(dir, "d/e.txt", "theirs\n")
	p.git(dir, "add", "-f", ".")
	p.git(dir, "commit", "-qm", "by hand")
}

// mergeInProgress leaves the checkout in a merge without a conflict that waits for its commit.
func mergeInProgress(p *project) {
	p.git(p.top, "switch", "-qc", "side")
	p.write(p.top, "side.txt", "side\n")
	p.git(p.top, "add", "side.txt")
	p.git(p.top, "commit", "-qm", "side")
	p.git(p.top, "switch", "-q", "main")
	p.git(p.top, "merge", "-q", "--no-ff", "--no-commit", "side")
}

// TestCheckoutWithOtherWork: work of the user that the merge does not touch stays as it is, and
// does not stop it.
func TestCheckoutWithOtherWork(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	p.write(p.top, "other.txt", "before\n")
	p.git(p.top, "add", "other.txt")
	p.git(p.top, "commit", "-qm", "another file")
	tree := p.open(worktree.Spec{
		Run:  "r1",
		Task: 7,
		Slug: "x",
	})
	workInSeveralFiles(p, tree.Dir)
	p.write(p.top, "other.txt", "mine\n")
	p.write(p.top, "staged.txt", "mine\n")
	p.git(p.top, "add", "staged.txt")
	p.write(p.top, "notes.txt", "mine\n")
	p.write(p.top, "mine.ignored", "mine\n")
	status := p.git(p.top, "status", "--porcelain", "--ignored")

	done, err := p.Publish(t.Context(), tree.Dir, worktree.Target{})

	if err != nil || !slices.Contains(done.Files, "c.txt") {
		t.Fatalf("Publish() = %v, %v, want c.txt published", done, err)
	}
	if got := p.git(p.top, "status", "--porcelain", "--ignored"); got != status {
		t.Errorf("git status gives %q after the merge, want %q as before", got, status)
	}
	if p.read(p.top, "a.txt") != "theirs\n" || p.read(p.top, "other.txt") != "mine\n" {
		t.Error("the files of the checkout are not those of the merge and of the user")
	}
	p.tidy("r1")
}

// TestLockOfALinkedWorktree: the index of a linked worktree has its lock in the repository, and
// that one is named.
func TestLockOfALinkedWorktree(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	linked := filepath.Join(t.TempDir(), "it's linked")
	p.git(p.top, "worktree", "add", "-q", "-b", "other", linked)
	tree := p.open(worktree.Spec{
		Run:  "r1",
		Task: 7,
		Slug: "x",
	})
	p.write(tree.Dir, "b.txt", "x\n")
	p.commit(tree.Dir, "task 7: b", "")
	lock := p.git(linked, "rev-parse", "--git-path", "index.lock")
	p.write(filepath.Dir(lock), "index.lock", "")
	_, err := p.Publish(t.Context(), tree.Dir, worktree.Target{To: "other"})
	if !strings.Contains(
		formats.HelpOf(err),
		"rm "+worktree.Quoted(lock)+"; then on other: git merge task/7-x",
	) {
		t.Errorf("Publish() = %v, help %q, want the lock file %s", err, formats.HelpOf(err), lock)
	}
}

func TestPublishToAnotherBranch(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	p.git(p.top, "branch", "release")
	main := p.git(p.top, "rev-parse", "main")
	tree := p.open(worktree.Spec{Run: "r1", Task: 7})
	if tree.Branch != "task/7" {
		t.Errorf("Open() branch = %q, want task/7", tree.Branch)
	}
	p.write(tree.Dir, "b.txt", "x\n")
	p.commit(tree.Dir, "task 7: b", "")
	p.write(p.top, "a.txt", "dirty, and no business of this merge\n")
	pub, err := p.Publish(t.Context(), tree.Dir, worktree.Target{To: "release"})
	if err != nil || p.git(p.top, "rev-parse", "release") != pub.Commit ||
		p.git(p.top, "rev-parse", "main") != main {
		t.Errorf("Publish(release) = %+v, %v, want release moved and main not", pub, err)
	}
	if c := p.close(tree.Dir); !c.Deleted {
		t.Errorf("Close() = %+v, want the branch deleted, since release holds its commits", c)
	}
	_, err = p.Publish(t.Context(), p.top, worktree.Target{To: "none"})
	if formats.CodeOf(err) != formats.CodeNotFound {
		t.Errorf("Publish(none) = %v, want %s", err, formats.CodeNotFound)
	}
}

func TestInterruptedOpen(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	place := filepath.Join(p.Base, "r1")
	p.git(p.top, "worktree", "add", "-q", "--no-checkout", "-b", "task/7-x", place)
	tree := p.open(worktree.Spec{
		Run:  "r1",
		Task: 7,
		Slug: "x",
	})
	if p.read(tree.Dir, "a.txt") != "one\n" || p.git(tree.Dir, "status", "--porcelain") != "" {
		t.Error("Open() gave a worktree without its files")
	}
	p.git(
		p.top,
		"worktree",
		"add",
		"-q",
		"--no-checkout",
		"-b",
		"task/8-y",
		filepath.Join(p.Base, "r2"),
	)
	if c := p.close(filepath.Join(p.Base, "r2")); c.Wip != "" || !c.Removed {
		t.Errorf("Close() of an unfilled worktree = %+v, want it removed without loose work", c)
	}
}

func TestNestedRepositoryKeepsTheWorktree(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	tree := p.open(worktree.Spec{
		Run:  "r1",
		Task: 7,
		Slug: "x",
	})
	inner := filepath.Join(tree.Dir, "inner")
	if err := os.Mkdir(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	p.git(inner, "init", "-q")
	p.write(inner, "f", "x\n")
	p.git(inner, "add", "f")
	p.git(inner, "commit", "-qm", "inner")
	p.write(tree.Dir, "b.txt", "x\n")
	if _, files := p.commit(tree.Dir, "task 7: b", ""); !cmp.Equal(files, []string{"b.txt"}) {
		t.Errorf("Commit() files = %q, want b.txt only", files)
	}
	c := p.close(tree.Dir)
	if c.Removed || c.KeptReason != "it holds repositories of its own: inner/" ||
		p.read(inner, "f") != "x\n" {
		t.Errorf("Close() = %+v, want the worktree kept for inner/", c)
	}
	_, err := p.Open(t.Context(), worktree.Spec{
		Run:  "r2",
		Task: 7,
		Slug: "x",
	})
	if c, ok := errors.AsType[*git.CheckedOutError](err); !ok ||
		formats.CodeOf(err) != formats.CodePrecondition {
		t.Errorf("Open() = %v, %v, want a CheckedOutError", c, err)
	}
}

// TestLockedWorktreeStays: what a person locked stays with all that is in it, is said to, and can
// be closed once it is unlocked. A lock that git left on a worktree that it did not finish keeps
// nothing.
func TestLockedWorktreeStays(t *testing.T) {
	t.Parallel()
	p := newProject(t, "")
	tree := p.open(worktree.Spec{
		Run:  "r1",
		Task: 7,
		Slug: "a",
	})
	p.write(tree.Dir, "b.txt", "loose\n")
	p.git(p.top, "worktree", "lock", "--reason", "I look at it", tree.Dir)
	c := p.close(tree.Dir)
	if c.Removed || c.Wip != "" || c.KeptReason != "it is locked: I look at it" ||
		p.read(tree.Dir, "b.txt") != "loose\n" {
		t.Errorf("Close() = %+v, want it kept for its lock", c)
	}
	_, err := p.Discard(t.Context(), tree.Dir, "r1", worktree.Message{
		Subject: "discarded",
		Txn:     "t1",
	})
	if formats.CodeOf(err) != formats.CodePrecondition ||
		formats.HelpOf(err) != "run git worktree unlock "+tree.Dir ||
		p.read(tree.Dir, "b.txt") != "loose\n" {
		t.Errorf("Discard() = %v, help %q, want it refused", err, formats.HelpOf(err))
	}
	err = p.Git(p.top).WorktreeRemove(t.Context(), tree.Dir)
	if err == nil || !strings.Contains(err.Error(), "a locked working tree") {
		t.Errorf("WorktreeRemove() = %v, want git's refusal", err)
	}
	p.git(p.top, "worktree", "unlock", tree.Dir)
	p.git(p.top, "worktree", "lock", "--reason", "initializing", tree.Dir)
	if c := p.close(tree.Dir); !c.Removed || c.KeptReason != "" {
		t.Errorf("Close() = %+v, want it removed", c)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := starter(t)
	repo := repositories(s)
	made := func() func(string) bool { return nil }
	for _, m := range []worktree.Manager{
		{Root: "/r", Base: "/b", TrackCommits: made},
		{Git: repo, Base: "/b", TrackCommits: made},
		{Git: repo, Root: "/r", Base: "b", TrackCommits: made},
		{Git: repo, Root: "/r", Base: "/b"},
	} {
		if _, err := worktree.New(m); err == nil {
			t.Errorf("New(%+v) = nil, want an error", m)
		}
	}

	spec := worktree.Spec{Run: "r", Task: 1}
	none := t.TempDir()
	_, err := (&worktree.Manager{
		Git:  repo,
		Root: none,
		Base: none,
	}).Open(t.Context(), spec)
	if formats.CodeOf(err) != formats.CodeConfig ||
		!strings.Contains(formats.HelpOf(err), "git init") {
		t.Errorf("Open() outside a repository = %v, want %s", err, formats.CodeConfig)
	}
	p := newProject(t, "")
	p.git(p.top, "clone", "-q", "--bare", ".", filepath.Join(none, "bare"))
	_, err = (&worktree.Manager{
		Git:  repo,
		Root: filepath.Join(none, "bare"),
		Base: none,
	}).Open(t.Context(), spec)
	if formats.CodeOf(err) != formats.CodeConfig ||
		!strings.Contains(formats.HelpOf(err), "clone") {
		t.Errorf("Open() in a bare repository = %v, want %s", err, formats.CodeConfig)
	}
	young := newProject(t, "")
	young.git(young.top, "update-ref", "-d", "refs/heads/main")
	if _, err := young.Open(t.Context(), spec); formats.CodeOf(err) != formats.CodePrecondition {
		t.Errorf("Open() before the first commit = %v, want %s", err, formats.CodePrecondition)
	}
	for _, run := range []string{"", ".", "..", "a/b", "../x", "/abs"} {
		_, err := p.Open(t.Context(), worktree.Spec{Run: run, Task: 1})
		if formats.CodeOf(err) != formats.CodeUsage {
			t.Errorf("Open(run %q) = %v, want %s", run, err, formats.CodeUsage)
		}
	}

	for _, branch := range []string{"-f", "a b", "a..b"} {
		_, err := p.Open(t.Context(), worktree.Spec{Run: "r", Branch: branch})
		if formats.CodeOf(err) != formats.CodeUsage {
			t.Errorf("Open(branch %q) = %v, want %s", branch, err, formats.CodeUsage)
		}
	}

	if _, err := p.Open(t.Context(), worktree.Spec{Run: "r", Branch: "main"}); formats.CodeOf(
		err,
	) != formats.CodePrecondition {
		t.Errorf("Open(main) = %v, want %s", err, formats.CodePrecondition)
	}
	if _, err := p.Close(t.Context(), p.top); formats.CodeOf(err) != formats.CodeUsage {
		t.Errorf("Close(the user's checkout) = %v, want %s", err, formats.CodeUsage)
	}
	if _, err := p.Publish(
		t.Context(), p.top,
		worktree.Target{},
	); formats.CodeOf(err) != formats.CodePrecondition {
		t.Errorf("Publish(the user's checkout) = %v, want %s", err, formats.CodePrecondition)
	}
	tree := p.open(spec)
	p.git(p.top, "checkout", "-q", "--detach")
	_, err = p.Publish(t.Context(), tree.Dir, worktree.Target{})
	if formats.CodeOf(err) != formats.CodePrecondition ||
		!strings.HasSuffix(formats.HelpOf(err), "git merge "+tree.Branch) {
		t.Errorf("Publish() to a detached checkout = %v, %q, want %s",
			err, formats.HelpOf(err), formats.CodePrecondition)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Open(ended, spec)
	if formats.CodeOf(err) != formats.CodeCancelled || !errors.Is(err, context.Canceled) {
		t.Errorf("Open() with an ended context = %v, want %s", err, formats.CodeCancelled)
	}
}

// TestPublishOfAKilledProcess: what a killed attempt left of its worktree goes, however far it
// came, and the attempt that follows a merge whose end nobody heard of tells the same as that one.
func TestPublishOfAKilledProcess(t *testing.T) {
	t.Parallel()
	for _, as := range []string{"", worktree.AsSquash} {
		for name, left := range map[string]func(p *project, place string){
			"a folder": func(p *project, place string) {
				p.write(place, "x.txt", "x")
			},
			"a tree": func(p *project, place string) {
				p.git(p.top, "worktree", "add", "-q", "--detach", place)
			},
			"one that is begun": func(p *project, place string) {
				p.git(
					p.top, "worktree", "add", "-q", "--lock", "--reason", "initializing",
					"--detach", place,
				)
			},
			"its record": func(p *project, place string) {
				p.git(
					p.top, "worktree", "add", "-q", "--lock", "--reason", "initializing",
					"--detach", place,
				)
				if err := os.RemoveAll(place); err != nil {
					t.Fatal(err)
				}
			},
		} {
			t.Run(as+" "+name, func(t *testing.T) {
				t.Parallel()
				p := newProject(t, "")
				tree := p.open(worktree.Spec{Run: "r1", Task: 7})
				p.write(tree.Dir, "b.txt", "x\n")
				p.commit(tree.Dir, "task 7: b", "t1")
				left(p, filepath.Join(p.Base, "publish-r1"))
				target := worktree.Target{
					To:      "main",
					Run:     "r1",
					Txn:     "t1",
					As:      as,
					Message: "b",
				}
				first, err := p.Publish(t.Context(), tree.Dir, target)
				if err != nil {
					t.Fatal(err)
				}
				again, err := p.Publish(t.Context(), tree.Dir, target)
				if d := cmp.Diff(first, again); d != "" || err != nil || len(first.Files) != 1 {
					t.Errorf("Publish again = %v (-first +again)\n%s", err, d)
				}
				trees := p.git(p.top, "worktree", "list", "--porcelain")
				if strings.Contains(trees, "publish-") {
					t.Errorf("left over:\n%s", trees)
				}
				p.tidy("r1")
			})
		}
	}
}

// TestTargetMovesMeanwhile commits to the target while the merge is being made.
func TestTargetMovesMeanwhile(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"main", "release"} {
		for _, times := range []int{1, 9} {
			t.Run(fmt.Sprintf("%s %d", to, times), func(t *testing.T) {
				t.Parallel()
				p := newProject(t, "")
				p.git(p.top, "branch", "release")
				tree := p.open(worktree.Spec{Run: "r1", Task: 7})
				p.write(tree.Dir, "b.txt", "x\n")
				p.commit(tree.Dir, "task 7: b", "")
				moved := 0
				repo := p.Git
				p.Git = func(dir string) *git.Repo {
					if strings.HasPrefix(filepath.Base(dir), "publish-") && moved < times {
						moved++
						p.advance(to, fmt.Sprintf("new%d", moved))
					}
					return repo(dir)
				}
				pub, err := p.Publish(t.Context(), tree.Dir, worktree.Target{To: to})
				if times > 3 {
					if formats.CodeOf(err) != formats.CodeTransient {
						t.Errorf("Publish() to a restless branch = %v, want %s",
							err, formats.CodeTransient)
					}
					p.tidy("r1")
					return
				}
				if err != nil || p.git(p.top, "rev-parse", to) != pub.Commit ||
					p.git(p.top, "ls-tree", "--name-only", to, "b.txt", "new1") != "b.txt\nnew1" {
					t.Errorf("Publish() = %+v, %v, want both changes on %s", pub, err, to)
				}
				p.tidy("r1")
			})
		}
	}
}

// advance adds a commit with a new file to a branch, and to the checkout if the branch is checked
// out there.
func (p *project) advance(branch, file string) {
	p.t.Helper()
	if branch == "main" {
		p.write(p.top, file, "x\n")
		p.git(p.top, "add", file)
		p.git(p.top, "commit", "-qm", file)
		return
	}
	other := p.t.TempDir()
	p.git(p.top, "worktree", "add", "-qf", other, branch)
	p.write(other, file, "x\n")
	p.git(other, "add", file)
	p.git(other, "commit", "-qm", file)
	p.git(p.top, "worktree", "remove", other)
}
