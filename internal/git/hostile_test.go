package git_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/git"
)

// hostile arms a repository: everything in it that can run a program makes a file in the folder it
// returns.
func hostile(t *testing.T, r *git.Repo) string {
	t.Helper()
	canaries := t.TempDir()
	touch := func(name string) string {
		return "touch " + filepath.Join(canaries, name) + "; cat; true"
	}
	for _, hook := range []string{
		"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-checkout",
		"post-merge", "pre-merge-commit", "reference-transaction", "post-index-change",
		"pre-auto-gc", "post-rewrite",
	} {
		file := filepath.Join(r.Dir, ".git/hooks", hook)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		err := os.WriteFile(
			file,
			[]byte("#!/bin/sh\ntouch "+filepath.Join(canaries, "hook-"+hook)+"\n"),
			0o755,
		)
		if err != nil {
			t.Fatal(err)
		}
	}

	write(
		t, r.Dir,
		".git/info/attributes",
		"*.txt filter=evil diff=evil merge=evil\n*.eq filter=a=b\n*.dot filter=x.y\n"+
			"*.wt filter=bound\n",
	)
	write(
		t, r.Dir,
		".git/bound",
		"[filter \"bound\"]\n smudge = "+touch("bound-smudge")+"\n clean = "+touch("bound-clean")+
			"\n",
	)
	for key, value := range map[string]string{
		"core.fsmonitor":                  "touch " + filepath.Join(canaries, "fsmonitor"),
		"core.editor":                     touch("editor"),
		"core.pager":                      touch("pager"),
		"core.sshCommand":                 touch("ssh"),
		"core.askPass":                    touch("askpass"),
		"sequence.editor":                 touch("sequence"),
		"filter.evil.clean":               touch("clean"),
		"filter.evil.smudge":              touch("smudge"),
		"filter.evil.required":            "true",
		"filter.a=b.clean":                touch("clean-eq"),
		"filter.a=b.smudge":               touch("smudge-eq"),
		"filter.x.y.clean":                touch("clean-dot"),
		"filter.x.y.process":              touch("process-dot"),
		"diff.evil.command":               touch("diff-command"),
		"diff.evil.textconv":              touch("textconv"),
		"diff.external":                   touch("diff-external"),
		"merge.evil.driver":               touch("merge-driver"),
		"merge.evil.name":                 "evil",
		"pull.twohead":                    "evil",
		"commit.gpgSign":                  "true",
		"gpg.program":                     filepath.Join(r.Dir, ".git/hooks/pre-commit"),
		"log.showSignature":               "true",
		"merge.verifySignatures":          "true",
		"gc.auto":                         "1",
		"gc.autoDetach":                   "false",
		"uploadpack.packObjectsHook":      touch("pack"),
		"alias.status":                    "!" + touch("alias"),
		"pager.log":                       touch("pager-log"),
		"includeIf.onbranch:task/**.path": filepath.Join(r.Dir, ".git/bound"),
	} {
		raw(t, r.Dir, "config", key, value)
	}

	return canaries
}

func TestNothingOfTheRepositoryRuns(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	canaries := hostile(t, r)
	everything(t, r)
	left, err := os.ReadDir(canaries)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		t.Errorf("the repository ran its %s", f.Name())
	}
	// The traps are live: plain git springs them.
	write(t, r.Dir, "a.txt", "sprung\n")
	raw(t, r.Dir, "status")
	raw(t, r.Dir, "add", "a.txt")
	if left, err = os.ReadDir(canaries); err != nil || len(left) < 2 {
		t.Errorf("plain git sprang %d traps, %v, want at least 2", len(left), err)
	}
}

func TestEmbeddedBareRepositoryIsRefused(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	raw(t, r.Dir, "init", "-q", "--bare", "inner")
	inner := filepath.Join(r.Dir, "inner")
	canary := filepath.Join(t.TempDir(), "canary")
	raw(t, inner, "config", "core.fsmonitor", "touch "+canary)
	raw(t, inner, "config", "core.bare", "false")
	raw(t, inner, "config", "core.worktree", "..")
	_, err := (&git.Repo{Starter: r.Starter, Dir: inner}).StatusPorcelain(t.Context())
	if err == nil {
		t.Error("StatusPorcelain() in an embedded bare repository = nil, want an error")
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("the embedded repository ran its fsmonitor")
	}
}

func TestSubmoduleIsNotEntered(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	inner := fresh(t)
	canary := filepath.Join(t.TempDir(), "canary")
	raw(
		t, r.Dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.Dir,
		"mod",
	)
	raw(t, r.Dir, "commit", "-qm", "submodule")
	raw(t, filepath.Join(r.Dir, "mod"), "config", "core.fsmonitor", "touch "+canary)
	raw(t, r.Dir, "config", "submodule.mod.ignore", "none")
	write(t, r.Dir, "mod/a.txt", "changed\n")
	write(t, r.Dir, "a.txt", "changed\n")
	if st := must[[]git.Entry](t)(r.StatusPorcelain(t.Context())); len(st) != 1 {
		t.Errorf("StatusPorcelain() = %v, want a.txt only", st)
	}
	_ = must[[]byte](t)(r.Diff(t.Context(), "HEAD", ""))
	commit(t, r, "with a submodule", "a.txt")
	if _, err := os.Stat(canary); err == nil {
		t.Error("the submodule ran its fsmonitor")
	}
	raw(t, r.Dir, "status")
	if _, err := os.Stat(canary); err != nil {
		t.Errorf("plain git did not spring the trap: %v", err)
	}
}

func TestWorkingTreeElsewhereIsRefused(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	raw(t, r.Dir, "config", "core.worktree", t.TempDir())
	err := r.Add(t.Context(), "a.txt")
	want := "the repository of " + r.Dir + " has its working tree elsewhere"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("Add() = %v, want %s", err, want)
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	last := must[git.Fingerprint](t)(r.Fingerprint(t.Context()))
	same := func(what string, want ...string) {
		t.Helper()
		now := must[git.Fingerprint](t)(r.Fingerprint(t.Context()))
		if d := cmp.Diff(want, last.Changes(now)); d != "" {
			t.Errorf("changes after %s (-want +got)\n%s", what, d)
		}
		last = now
	}
	write(t, r.Dir, "a.txt", "x\n")
	commit(t, r, "work", "a.txt")
	same("work")
	write(t, r.Dir, ".git/hooks/pre-commit.sample", "x") // what git runs under no setting
	same("a sample of a hook")
	write(t, r.Dir, ".git/hooks/pre-commit", "x")
	same("a new hook", ".git/hooks/pre-commit")
	if err := os.Chmod(filepath.Join(r.Dir, ".git/hooks/pre-commit"), 0o755); err != nil {
		t.Fatal(err)
	}
	same("a hook that can run", ".git/hooks/pre-commit")
	raw(t, r.Dir, "config", "core.fsmonitor", "x")
	same("configuration", ".git/config")
	write(t, r.Dir, ".git/info/attributes", "* filter=x\n")
	same("attributes", ".git/info/attributes")
	raw(t, r.Dir, "config", "include.path", "inc")
	same("an include", ".git/config", "what the configuration includes")
	write(t, r.Dir, ".git/inc", "[core]\n\teditor = x\n")
	same("an included file", "what the configuration includes")
	if err := os.Remove(filepath.Join(r.Dir, ".git/hooks/pre-commit")); err != nil {
		t.Fatal(err)
	}
	same("a hook that is gone", ".git/hooks/pre-commit")
	write(t, r.Dir, "away", "x")
	if err := os.Symlink("../../away", filepath.Join(r.Dir, ".git/hooks/pre-push")); err != nil {
		t.Fatal(err)
	}
	same("a hook that is a link", ".git/hooks/pre-push")
	write(t, r.Dir, "away", "y")
	same("a hook behind a link", ".git/hooks/pre-push")
}

// A worktree shares configuration and hooks with its repository: what is written through either of
// them shows, and so does a worktree that is made to belong to another repository.
func TestFingerprintOfAWorktree(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	tree := filepath.Join(t.TempDir(), "tree")
	err := r.WorktreeAdd(t.Context(), git.NewWorktree{
		Path:   tree,
		Branch: "task/1",
		Start:  "HEAD",
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &git.Repo{Starter: r.Starter, Dir: tree}
	before := must[git.Fingerprint](t)(w.Fingerprint(t.Context()))
	write(t, tree, "a.txt", "work\n")
	commit(t, w, "work", "a.txt")
	if got := before.Changes(must[git.Fingerprint](t)(w.Fingerprint(t.Context()))); len(got) != 0 {
		t.Errorf("changes after work in the worktree = %q, want none", got)
	}
	write(t, r.Dir, ".git/hooks/post-checkout", "#!/bin/sh\n")
	raw(t, tree, "config", "filter.x.clean", "touch x")
	want := []string{".git/config", ".git/hooks/post-checkout"}
	d := cmp.Diff(want, before.Changes(must[git.Fingerprint](t)(w.Fingerprint(t.Context()))))
	if d != "" {
		t.Errorf("changes (-want +got)\n%s", d)
	}
	before = must[git.Fingerprint](t)(w.Fingerprint(t.Context()))
	other := fresh(t)
	write(t, tree, ".git", "gitdir: "+filepath.Join(other.Dir, ".git")+"\n")
	got := before.Changes(must[git.Fingerprint](t)(w.Fingerprint(t.Context())))
	if !slices.Contains(got, "the repository of this folder") {
		t.Errorf("changes after the worktree was given to another repository = %q", got)
	}
}

// A killed git leaves locks. Those of what belongs to a run are taken away, and no others.
func TestUnlock(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	base := t.TempDir()
	for name, branch := range map[string]string{
		"run":       "task/1",
		"run.child": "task/1.child",
		"other":     "task/other",
	} {
		tree := git.NewWorktree{
			Path:   filepath.Join(base, name),
			Branch: branch,
			Start:  "HEAD",
		}
		if err := r.WorktreeAdd(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
	}

	theirs := []string{
		"index.lock", "worktrees/other/index.lock", "worktrees/other/HEAD.lock",
		"refs/heads/task/other.lock", "refs/heads/main.lock", "away.lock",
	}
	locks := append([]string{
		"worktrees/run/index.lock", "worktrees/run/HEAD.lock", "worktrees/run.child/HEAD.lock",
		"refs/heads/task/1.lock", "refs/heads/tercet/wip/1-run-2.lock",
	}, theirs...)
	for _, lock := range locks {
		write(t, r.Dir, ".git/"+lock, "")
	}

	write(t, r.Dir, ".git/worktrees/run.child/HEAD", "ref: refs/heads/../../away\n")
	if err := r.RemoveStaleLocks("run"); err != nil {
		t.Error(err)
	}
	var left []string
	for _, lock := range locks {
		if _, err := os.Stat(filepath.Join(r.Dir, ".git", lock)); err == nil {
			left = append(left, lock)
		}
	}

	if d := cmp.Diff(theirs, left); d != "" {
		t.Errorf("locks after Unlock() (-want +got)\n%s", d)
	}
}
