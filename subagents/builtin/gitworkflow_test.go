package builtin_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/formats/returns"
	"tercet/internal/git"
	"tercet/internal/proc"
	"tercet/subagents/builtin"
	"tercet/subagents/worktree"
)

// repo is a real repository with one commit, and its worktrees.
type repo struct {
	t   *testing.T
	dir string
	w   builtin.GitWorkflow
	req formats.Request
}

func newRepo(t *testing.T, init bool) *repo {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := proc.NewStarter(proc.Starter{
		Allow: func(context.Context, proc.Command) error { return nil },
		Now:   time.Now,
		Env: []string{
			"PATH=" + os.Getenv("PATH"),
			"HOME=" + base,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "project")
	settings := &git.Cache{}
	r := &repo{
		t:   t,
		dir: dir,
		w: builtin.GitWorkflow{Trees: &worktree.Manager{
			Git: func(dir string) *git.Repo {
				return &git.Repo{Starter: s, Dir: dir, Cache: settings}
			},
			Root: dir,
			Base: filepath.Join(dir, ".tercet", "worktrees"),
		}},
	}
	if err := os.MkdirAll(filepath.Join(dir, ".tercet"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.req = formats.Request{
		Agent:   "git-workflow-manager",
		Task:    &formats.Task{Number: 7, Slug: "fix_it"},
		Run:     "r1",
		Session: "sess_1_aaaaaa",
		Dir:     dir,
	}
	if !init {
		return r
	}

	main := r.w.Trees.Git(dir)
	if err := main.Init(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	r.write(dir, ".tercet/.gitignore", "*\n")
	r.write(dir, "a.txt", "one\n")
	if err := main.Add(t.Context(), "a.txt"); err != nil {
		t.Fatal(err)
	}
	if _, err := main.Commit(t.Context(), "first"); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *repo) write(dir, name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// do runs one action and goes on in the worktree that it opens, as a command does.
func (r *repo) do(txn string, input map[string]any) formats.Return {
	r.t.Helper()
	r.req.Input = input
	r.req.Txn = txn
	ret, err := r.w.Run(r.t.Context(), r.req)
	if err != nil {
		r.t.Fatal(err)
	}
	switch ret.Metadata.Worktree {
	case "":
	case formats.WorktreeClosed:
		r.req.Dir = r.dir
	default:
		r.req.Dir = filepath.Join(r.dir, filepath.FromSlash(ret.Metadata.Worktree))
	}
	return ret
}

func TestGitWorkflow(t *testing.T) {
	t.Parallel()
	r := newRepo(t, true)
	open := r.do("t1", map[string]any{"action": "open"})
	if open.Status != formats.StatusCompleted || r.req.Dir == r.dir ||
		open.Fields["branch"] != "task/7-fix_it" ||
		open.Fields["worktree"] != ".tercet/worktrees/r1" {
		t.Fatalf("open = %+v", open)
	}
	got := r.do("t2", map[string]any{"action": "commit", "message": "nothing"})
	if got.Status != formats.StatusCompleted || got.Fields["commit"] != nil {
		t.Errorf("commit of nothing = %+v", got)
	}
	r.write(r.req.Dir, "a.txt", "two\n")
	first := r.do("t3", map[string]any{"action": "commit", "message": "task 7 phase 1: change a"})
	if first.Fields["commit"] == nil || cmp.Diff([]any{"a.txt"}, first.Fields["files"]) != "" ||
		!strings.HasSuffix(first.Summary, "task 7 phase 1: change a (1 files)") {
		t.Errorf("commit = %+v", first)
	}
	again := r.do("t3", map[string]any{"action": "commit", "message": "task 7 phase 1: change a"})
	if again.Fields["commit"] != first.Fields["commit"] {
		t.Errorf("commit with the same transaction = %+v, want %v", again, first.Fields["commit"])
	}
	if got, err := os.ReadFile(filepath.Join(r.dir, "a.txt")); err != nil ||
		string(got) != "one\n" {
		t.Errorf("checkout before publish = %q, %v", got, err)
	}
	pub := r.do("t4", map[string]any{
		"action":  "publish",
		"to":      "current",
		"as":      "merge",
		"message": "task 7",
	})
	if pub.Status != formats.StatusCompleted || pub.Fields["branch"] != "main" ||
		pub.Summary != "task 7: merged task/7-fix_it into main" {
		t.Errorf("publish = %+v", pub)
	}
	if got, err := os.ReadFile(filepath.Join(r.dir, "a.txt")); err != nil ||
		string(got) != "two\n" {
		t.Errorf("checkout after publish = %q, %v", got, err)
	}
	got = r.do("t5", map[string]any{"action": "close"})
	if got.Fields["removed"] != true || r.req.Dir != r.dir {
		t.Errorf("close = %+v", got)
	}
	if got := r.do("t6", map[string]any{"action": "close"}); got.Summary != "no worktree is open" {
		t.Errorf("close again = %+v", got)
	}
}

func TestGitWorkflowKeepsWork(t *testing.T) {
	t.Parallel()
	r := newRepo(t, true)
	r.do("t1", map[string]any{"action": "open"})
	r.write(r.req.Dir, "a.txt", "half\n")
	got := r.do("t2", map[string]any{"action": "close", "keep": true})
	if got.Summary != "worktree kept" || r.req.Dir == r.dir {
		t.Errorf("close with keep = %+v", got)
	}
	got = r.do("t3", map[string]any{"action": "close"})
	if got.Fields["wip"] != "tercet/wip/7-r1" || got.Fields["removed"] != true {
		t.Errorf("close with loose work = %+v", got)
	}
}

func TestGitWorkflowDoesNotPublish(t *testing.T) {
	t.Parallel()
	prepare := func(t *testing.T) *repo {
		t.Helper()
		r := newRepo(t, true)
		r.do("t1", map[string]any{"action": "open"})
		r.write(r.req.Dir, "a.txt", "theirs\n")
		r.do("t2", map[string]any{"action": "commit", "message": "change"})
		return r
	}
	t.Run("a file in the way", func(t *testing.T) {
		t.Parallel()
		r := prepare(t)
		r.write(r.dir, "a.txt", "mine\n")
		got := r.do("t3", map[string]any{"action": "publish"})
		if got.Outcome() != formats.OutcomePartial || got.Fields["branch"] != "main" ||
			!strings.Contains(got.NextSteps, "git merge task/7-fix_it") ||
			!strings.Contains(got.Summary, "a.txt") {
			t.Errorf("publish = %+v, want partial with the merge command", got)
		}
	})
	t.Run("no repository any more", func(t *testing.T) {
		t.Parallel()
		r := prepare(t)
		err := os.Rename(filepath.Join(r.dir, ".git"), filepath.Join(r.dir, "away"))
		if err != nil {
			t.Fatal(err)
		}
		got := r.do("t3", map[string]any{"action": "publish"})
		if len(got.Errors) != 1 || got.Errors[0].Code != formats.CodeConfig {
			t.Errorf("publish = %+v, want %s", got, formats.CodeConfig)
		}
	})
	t.Run("no worktree any more", func(t *testing.T) {
		t.Parallel()
		r := prepare(t)
		if err := os.RemoveAll(r.req.Dir); err != nil {
			t.Fatal(err)
		}
		got := r.do("t3", map[string]any{"action": "publish"})
		if len(got.Errors) != 1 || got.Errors[0].Code != formats.CodePrecondition ||
			!strings.Contains(got.Errors[0].Message, "is gone") {
			t.Errorf("publish = %+v, want %s", got, formats.CodePrecondition)
		}
	})
	t.Run("conflict", func(t *testing.T) {
		t.Parallel()
		r := prepare(t)
		r.write(r.dir, "a.txt", "ours\n")
		main := r.w.Trees.Git(r.dir)
		if err := main.Add(t.Context(), "a.txt"); err != nil {
			t.Fatal(err)
		}
		if _, err := main.Commit(t.Context(), "ours"); err != nil {
			t.Fatal(err)
		}
		got := r.do("t3", map[string]any{"action": "publish", "to": "main"})
		if got.Outcome() != formats.OutcomeRejected || len(got.Issues) != 1 ||
			got.Issues[0].Files[0] != "a.txt" || got.Errors[0].Code != formats.CodeRejected {
			t.Errorf("publish = %+v, want rejected with a.txt", got)
		}
		if bad := returns.Validate(got, formats.AgentInfo{NoArtifacts: true}); bad != nil {
			t.Errorf("Validate = %v", bad)
		}
	})
}

// TestBranchOfAPerson: a branch of the task that has commits of a person is gone on with, and that
// is said.
func TestBranchOfAPerson(t *testing.T) {
	t.Parallel()
	r := newRepo(t, true)
	r.do("t1", map[string]any{"action": "open"})
	r.write(r.req.Dir, "a.txt", "two\n")
	r.do("t2", map[string]any{"action": "commit", "message": "by tercet"})
	got := r.do("t3", map[string]any{"action": "open"})
	if got.Fields["continued"] != true || got.Warnings != nil {
		t.Errorf("open = %+v, want no warning", got)
	}
	mine := r.w.Trees.Git(r.req.Dir)
	r.write(r.req.Dir, "a.txt", "three\n")
	if err := mine.Add(t.Context(), "a.txt"); err != nil {
		t.Fatal(err)
	}
	if _, err := mine.Commit(t.Context(), "by a person"); err != nil {
		t.Fatal(err)
	}
	got = r.do("t4", map[string]any{"action": "open"})
	if len(got.Warnings) != 1 ||
		!strings.Contains(got.Warnings[0], "task/7-fix_it has commits that tercet did not make") {
		t.Errorf("open = %+v, want a warning", got)
	}
}

func TestGitWorkflowRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		init  bool
		input map[string]any
		want  formats.Code
		help  string
	}{
		{false, map[string]any{"action": "open"}, formats.CodeConfig, "git init"},
		{false, map[string]any{"action": "publish"}, formats.CodeConfig, "git init"},
		{
			true,
			map[string]any{"action": "commit", "message": "x"},
			formats.CodePrecondition,
			"open",
		},
		{true, map[string]any{"action": "publish"}, formats.CodePrecondition, "open"},
		{true, map[string]any{"action": "open", "branch": "a..b"}, formats.CodeUsage, ""},
		{true, map[string]any{"action": "commit"}, formats.CodeValidationFailed, ""},
		{true, map[string]any{"action": "pull"}, formats.CodeValidationFailed, ""},
		{true, map[string]any{"action": "push", "to": "x"}, formats.CodeValidationFailed, ""},
		{true, map[string]any{"action": "pending", "files": []any{"../x"}}, formats.CodeUsage, ""},
		{true, map[string]any{"action": "publish", "as": "fax"}, formats.CodeValidationFailed, ""},
		{true, map[string]any{"action": "open", "message": "x"}, formats.CodeValidationFailed, ""},
		{true, nil, formats.CodeValidationFailed, ""},
	} {
		r := newRepo(t, tt.init)
		ret := r.do("t1", tt.input)
		if ret.Status != formats.StatusFailed || ret.Errors[0].Code != tt.want ||
			!strings.Contains(ret.Errors[0].Recommendation, tt.help) {
			t.Errorf("Run(%v) = %+v, want %s with help %q", tt.input, ret, tt.want, tt.help)
		}
	}
}

// TestCoAuthor: the rules of a project name an author beside the one of git; a value that is none
// names nobody.
func TestCoAuthor(t *testing.T) {
	t.Parallel()
	r := newRepo(t, true)
	r.w.Open = func(_ context.Context, name string) ([]byte, error) {
		return os.ReadFile(filepath.Join(r.dir, name))
	}
	if err := os.MkdirAll(filepath.Join(r.dir, ".claude", "rules"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.do("t1", map[string]any{"action": "open"})
	for i, rules := range []string{
		"", "Co-Authored-By: Ada Lovelace <ada@example.org>", "Co-Authored-By: none",
		"Co-Authored-By: enabled",
	} {
		r.write(r.dir, ".claude/rules/project-rules.md", "# Rules\n\n"+rules+"\n")
		r.write(r.req.Dir, "a.txt", strings.Repeat("x", i))
		r.do("c"+rules, map[string]any{"action": "commit", "message": "work"})
	}
	got, err := r.w.Trees.Git(r.req.Dir).Trailers(t.Context(), "main", "HEAD", "Co-Authored-By")
	diff := cmp.Diff([]string{"", "", "Ada Lovelace <ada@example.org>", ""}, got)
	if err != nil || diff != "" {
		t.Errorf("authors of the commits: %v (-want +got)\n%s", err, diff)
	}
}
