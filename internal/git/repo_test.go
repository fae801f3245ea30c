package git_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/git"
	"tercet/internal/proc"
	"tercet/internal/testkit"
)

const odd = "odd \"näme\"\n-☃ *.txt"

// starter allows everything and knows no configuration of the user.
func starter(t *testing.T, env ...string) *proc.Starter {
	t.Helper()
	s, err := proc.NewStarter(proc.Starter{
		Allow: func(context.Context, proc.Command) error { return nil },
		Env: append(
			[]string{
				"PATH=" + os.Getenv("PATH"),
				"HOME=" + t.TempDir(),
				"GIT_CONFIG_GLOBAL=/dev/null",
			},
			env...,
		),
		Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// raw runs plain git, as a user would.
func raw(t *testing.T, dir string, args ...string) string {
	t.Helper()
	r, err := starter(t).Run(t.Context(), proc.Command{
		Argv: append(
			[]string{"git", "-c", "user.name=U", "-c", "user.email=u@example.org"},
			args...,
		),
		Dir:     dir,
		Purpose: proc.PurposeGit,
		Env:     []string{"GIT_AUTHOR_DATE=2024-01-02T03:04:05+02:00"},
	})
	if err != nil || r.Exit != 0 {
		t.Fatalf("git %s = exit %d, %v: %s", strings.Join(args, " "), r.Exit, err, r.Stderr)
	}
	return strings.TrimSuffix(string(r.Stdout), "\n")
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var firstCommit, noCommit testkit.Template

// fresh is a repository with one commit of a.txt and sub/b.txt.
func fresh(t *testing.T) *git.Repo {
	t.Helper()
	r := folder(t)
	firstCommit.Copy(t, r.Dir, func() {
		if err := r.Init(t.Context(), "main"); err != nil {
			t.Fatal(err)
		}
		write(t, r.Dir, "a.txt", "one\n")
		write(t, r.Dir, "sub/b.txt", "two\n")
		commit(t, r, "first", "a.txt", "sub/b.txt")
	})
	return r
}

func empty(t *testing.T) *git.Repo {
	t.Helper()
	r := folder(t)
	noCommit.Copy(t, r.Dir, func() {
		if err := r.Init(t.Context(), "main"); err != nil {
			t.Fatal(err)
		}
	})
	return r
}

func folder(t *testing.T) *git.Repo {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &git.Repo{Starter: starter(t), Dir: dir, Cache: &git.Cache{}}
}

func commit(t *testing.T, r *git.Repo, subject string, paths ...string) string {
	t.Helper()
	if err := r.Add(t.Context(), paths...); err != nil {
		t.Fatal(err)
	}
	hash, err := r.Commit(t.Context(), subject)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// must fails the test on an error and gives the value.
func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestOutsideARepository(t *testing.T) {
	t.Parallel()
	r := &git.Repo{Starter: starter(t, "GIT_CEILING_DIRECTORIES=/"), Dir: t.TempDir()}
	for name, f := range map[string]func() error{
		"Toplevel": func() error {
			_, err := r.Toplevel(t.Context())
			return err
		},
		"Status": func() error {
			_, err := r.StatusPorcelain(t.Context())
			return err
		},
		"Head": func() error {
			_, err := r.Head(t.Context())
			return err
		},
	} {
		if err := f(); !errors.Is(err, git.ErrNoRepo) {
			t.Errorf("%s() = %v, want %v", name, err, git.ErrNoRepo)
		}
	}
}

func TestMissingProgram(t *testing.T) {
	t.Parallel()
	r := &git.Repo{Starter: starter(t, "PATH="+t.TempDir()), Dir: t.TempDir()}
	_, err := r.Head(t.Context())
	if nf, ok := errors.AsType[*proc.NotFoundError](err); !ok || nf.Name != "git" {
		t.Errorf("Head() = %v, want a NotFoundError of git", err)
	}
	if !errors.Is(err, git.ErrNotInstalled) {
		t.Errorf("Head() = %v, want ErrMissing", err)
	}
}

func TestBeforeTheFirstCommit(t *testing.T) {
	t.Parallel()
	r := empty(t)
	if b := must[string](t)(r.CurrentBranch(t.Context())); b != "main" {
		t.Errorf("CurrentBranch() = %q, want main", b)
	}
	if _, err := r.Head(t.Context()); !errors.Is(err, git.ErrNoCommit) {
		t.Errorf("Head() = %v, want %v", err, git.ErrNoCommit)
	}
	if l, err := r.Log(t.Context(), 5); len(l) != 0 || err != nil {
		t.Errorf("Log() = %v, %v, want none", l, err)
	}
	if _, err := r.Commit(t.Context(), "x"); !errors.Is(err, git.ErrNothingStaged) {
		t.Errorf("Commit() = %v, want %v", err, git.ErrNothingStaged)
	}
	if files, err := os.ReadDir(filepath.Join(r.Dir, ".git/hooks")); err == nil && len(files) > 0 {
		t.Errorf("Init left %d hooks, want none", len(files))
	}
}

func TestReadingFromASubfolder(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	write(t, r.Dir, "sub/"+odd, "three\n")
	commit(t, r, "second: ünicode", "sub/"+odd)
	sub := &git.Repo{Starter: r.Starter, Dir: filepath.Join(r.Dir, "sub")}
	if top := must[string](t)(sub.Toplevel(t.Context())); top != r.Dir {
		t.Errorf("Toplevel() = %q, want %q", top, r.Dir)
	}
	if d := cmp.Diff([]string{"b.txt", odd}, must[[]string](t)(sub.LsFiles(t.Context()))); d != "" {
		t.Errorf("LsFiles() (-want +got)\n%s", d)
	}
	d := cmp.Diff([]string{"a.txt"}, must[[]string](t)(r.LsFiles(t.Context(), "a.txt", "*.none")))
	if d != "" {
		t.Errorf("LsFiles(a.txt) (-want +got)\n%s", d)
	}
	log := must[[]git.Commit](t)(sub.Log(t.Context(), 10, odd))
	if len(log) != 1 || log[0].Subject != "second: ünicode" ||
		log[0].Hash != must[string](t)(r.Head(t.Context())) ||
		!strings.HasPrefix(log[0].Hash, log[0].Short) || log[0].Date.IsZero() {
		t.Errorf("Log(%q) = %+v, want the second commit", odd, log)
	}
	if n := len(must[[]git.Commit](t)(r.Log(t.Context(), 10))); n != 2 {
		t.Errorf("Log() = %d commits, want 2", n)
	}
	if n := len(must[[]git.Commit](t)(r.Log(t.Context(), 1))); n != 1 {
		t.Errorf("Log(1) = %d commits, want 1", n)
	}
	nasty := []string{"\x01a", "\nb", "\n\x01c"}
	for _, name := range nasty {
		write(t, r.Dir, name, "four\n")
	}

	commit(t, r, "/third", nasty...)
	slices.Sort(nasty)
	log = must[[]git.Commit](t)(r.Log(t.Context(), 10))
	if d := cmp.Diff(nasty, log[0].Files); len(log) != 3 || log[0].Subject != "/third" || d != "" {
		t.Errorf("Log() = %+v, want the third commit with its files (-want +got)\n%s", log, d)
	}
}

func TestStatusAddCommit(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	write(t, r.Dir, "a.txt", "changed\n")
	write(t, r.Dir, odd, "new\n")
	write(t, r.Dir, "[a].txt", "pattern\n")
	raw(t, r.Dir, "mv", "sub/b.txt", "sub/c.txt")
	want := []git.Entry{
		{Code: "R ", Path: "sub/c.txt", Orig: "sub/b.txt"},
		{Code: " M", Path: "a.txt"},
		{Code: "??", Path: "[a].txt"},
		{Code: "??", Path: odd},
	}
	d := cmp.Diff(want, must[[]git.Entry](t)(r.StatusPorcelain(t.Context())), byPath())
	if d != "" {
		t.Errorf("StatusPorcelain() (-want +got)\n%s", d)
	}
	if err := os.Remove(filepath.Join(r.Dir, "sub/c.txt")); err != nil {
		t.Fatal(err)
	}
	sub := &git.Repo{Starter: r.Starter, Dir: filepath.Join(r.Dir, "sub")}
	before := must[string](t)(r.Head(t.Context()))
	if err := os.MkdirAll(sub.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// [a].txt as a pattern would name a.txt.
	if err := sub.Add(t.Context(), "[a].txt", odd, "sub/c.txt"); err != nil {
		t.Fatal(err)
	}
	hash, err := sub.Commit(
		t.Context(),
		"odd names\n\n# not a comment",
		git.Trailer{Key: "Tercet-Txn", Value: "t-1"},
		git.Trailer{Key: "Session", Value: "s"},
	)
	if err != nil {
		t.Fatal(err)
	}
	got := raw(t, r.Dir, "show", "-s", "--format=%B", hash)
	if got != "odd names\n\n# not a comment\n\nTercet-Txn: t-1\nSession: s\n" {
		t.Errorf("message = %q", got)
	}
	got = raw(t, r.Dir, "show", "-s", "--format=%an %ae %cn", hash)
	if got != "tercet tercet@localhost tercet" {
		t.Errorf("identity = %q, want tercet", got)
	}
	wantStat := []git.Stat{
		{Path: "[a].txt", Added: 1},
		{Path: odd, Added: 1},
		{Path: "sub/b.txt", Deleted: 1},
	}
	d = cmp.Diff(wantStat, must[[]git.Stat](t)(r.DiffStat(t.Context(), before, hash)))
	if d != "" {
		t.Errorf("DiffStat() (-want +got)\n%s", d)
	}
	diff := string(must[[]byte](t)(r.Diff(t.Context(), hash, "", "a.txt")))
	if !strings.Contains(diff, "-one\n+changed\n") {
		t.Errorf("Diff(working tree) = %q, want one replaced by changed", diff)
	}
	d = cmp.Diff(
		[]git.Entry{{Code: " M", Path: "a.txt"}},
		must[[]git.Entry](t)(r.StatusPorcelain(t.Context())),
	)
	if d != "" {
		t.Errorf("StatusPorcelain() after (-want +got)\n%s", d)
	}
	if err := r.Add(t.Context(), "a.txt"); err != nil {
		t.Fatal(err)
	}
	if err := r.Unstage(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Commit(t.Context(), "nothing"); !errors.Is(err, git.ErrNothingStaged) {
		t.Errorf("Commit() after Unstage = %v, want %v", err, git.ErrNothingStaged)
	}
	if _, ok := errors.AsType[*git.Error](r.Add(t.Context(), "missing.txt")); !ok {
		t.Error("Add(missing.txt) gave no Error")
	}
}

func byPath() cmp.Option {
	return cmp.Transformer("byPath", func(l []git.Entry) map[string]git.Entry {
		m := map[string]git.Entry{}
		for _, e := range l {
			m[e.Path] = e
		}
		return m
	})
}

func TestIdentityOfTheUserStands(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	raw(t, r.Dir, "config", "user.name", "Ada")
	raw(t, r.Dir, "config", "user.email", "ada@example.org")
	write(t, r.Dir, "a.txt", "x\n")
	hash := commit(t, r, "mine", "a.txt")
	got := raw(t, r.Dir, "show", "-s", "--format=%an <%ae>", hash)
	if got != "Ada <ada@example.org>" {
		t.Errorf("identity = %q, want Ada", got)
	}
}

func TestCommitByTrailer(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	look := func(v string) string {
		return must[string](
			t,
		)(r.CommitByTrailer(t.Context(), git.Trailer{Key: "Tercet-Txn", Value: v}))
	}
	write(t, r.Dir, "a.txt", "x\n")
	if err := r.Add(t.Context(), "a.txt"); err != nil {
		t.Fatal(err)
	}
	hash := must[string](t)(r.Commit(
		t.Context(),
		"quotes Tercet-Txn: abcd in its text",
		git.Trailer{Key: "Tercet-Txn", Value: "abcdef"},
	))
	raw(t, r.Dir, "checkout", "-q", "--detach", "HEAD~1")
	raw(t, r.Dir, "worktree", "add", "-q", "--detach", filepath.Join(t.TempDir(), "begun"))
	// as git has it while it makes one
	write(t, r.Dir, ".git/worktrees/begun/HEAD", strings.Repeat("0", len(hash))+"\n")
	for v, want := range map[string]string{"abcdef": hash, "abcd": "", "none": ""} {
		if got := look(v); got != want {
			t.Errorf("CommitByTrailer(%q) = %q, want %q", v, got, want)
		}
	}

	for _, bad := range []git.Trailer{
		{Key: "", Value: "x"},
		{Key: "a b", Value: "x"},
		{Key: "K", Value: "x\ny"},
		{Key: "K", Value: ""},
		{Key: "-K", Value: "x"},
	} {
		if _, err := r.Commit(t.Context(), "x", bad); !isNameError(err) {
			t.Errorf("Commit(%q) = %v, want that the name is refused", bad, err)
		}
	}
}

func isNameError(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "expected a ")
}

func TestRefs(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	first := must[string](t)(r.Head(t.Context()))
	write(t, r.Dir, "a.txt", "x\n")
	second := commit(t, r, "second", "a.txt")
	if err := r.CreateBranch(t.Context(), "task/1-ü", first); err != nil {
		t.Fatal(err)
	}
	if is := must[bool](t)(r.BranchExists(t.Context(), "task/1-ü")); !is {
		t.Error("BranchExists() = false, want true")
	}
	if is := must[bool](t)(r.BranchExists(t.Context(), "task")); is {
		t.Error("BranchExists(task) = true, want false")
	}
	d := cmp.Diff([]string{"task/1-ü"}, must[[]string](t)(r.Branches(t.Context(), "task/")))
	if d != "" {
		t.Errorf("Branches() (-want +got)\n%s", d)
	}
	err := r.CreateBranch(t.Context(), "task/1-ü", second)
	if s, ok := errors.AsType[*git.StaleError](err); !ok || s.Actual != first || s.Expected != "" {
		t.Errorf("CreateBranch of an existing one = %v, want a StaleError", err)
	}
	const ref = "refs/heads/task/1-ü"
	if err := r.UpdateRef(t.Context(), ref, second, first); err != nil {
		t.Errorf("UpdateRef() = %v, want nil", err)
	}
	s, ok := errors.AsType[*git.StaleError](r.UpdateRef(t.Context(), ref, first, first))
	if !ok || s.Actual != second {
		t.Errorf("UpdateRef of a moved one = %v, want a StaleError", s)
	}
	if got := must[string](t)(r.Resolve(t.Context(), "task/1-ü")); got != second {
		t.Errorf("Resolve() = %q, want %q", got, second)
	}
	c, ok := errors.AsType[*git.CheckedOutError](r.DeleteBranch(t.Context(), "main", second))
	if !ok || c.Path != r.Dir {
		t.Errorf("DeleteBranch(main) = %v, want a CheckedOutError", c)
	}
	_, ok = errors.AsType[*git.StaleError](r.DeleteBranch(t.Context(), "task/1-ü", first))
	if !ok {
		t.Error("DeleteBranch of a moved one gave no StaleError")
	}
	if err := r.DeleteBranch(t.Context(), "task/1-ü", second); err != nil {
		t.Errorf("DeleteBranch() = %v, want nil", err)
	}
	if is := must[bool](t)(r.BranchExists(t.Context(), "task/1-ü")); is {
		t.Error("BranchExists() after DeleteBranch = true, want false")
	}
	got := must[[]string](t)(r.BranchesContaining(t.Context(), first))
	if !cmp.Equal(got, []string{"main"}) {
		t.Errorf("BranchesWith() = %q, want main", got)
	}
	if err := r.CreateBranch(t.Context(), "wip", first); err != nil {
		t.Fatal(err)
	}
	write(t, r.Dir, "a.txt", "uncommitted\n")
	if err := r.SetHead(t.Context(), "wip"); err != nil {
		t.Fatal(err)
	}
	b := must[string](t)(r.CurrentBranch(t.Context()))
	if b != "wip" || readFile(t, r.Dir, "a.txt") != "uncommitted\n" {
		t.Errorf("CurrentBranch() after SetHead = %q, want wip with the file as it was", b)
	}
	if err := r.SetHead(t.Context(), "none"); err == nil {
		t.Error("SetHead(none) = nil, want an error")
	}
	if b := must[string](t)(r.MergeBase(t.Context(), first, second)); b != first {
		t.Errorf("MergeBase() = %q, want %q", b, first)
	}
	for _, tt := range []struct {
		a, b string
		want bool
	}{{first, second, true}, {second, first, false}, {first, first, true}} {
		if got := must[bool](t)(r.IsAncestor(t.Context(), tt.a, tt.b)); got != tt.want {
			t.Errorf("IsAncestor(%s, %s) = %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}

	if _, err := r.Resolve(t.Context(), "nope"); !errors.Is(err, git.ErrNoCommit) {
		t.Errorf("Resolve(nope) = %v, want %v", err, git.ErrNoCommit)
	}
}

func TestNamesAreNoOptions(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	cx := t.Context()
	for _, bad := range []string{"--upload-pack=touch x", "-f", "", "a..b", "^a", "a\nb"} {
		errs := map[string]error{
			"UpdateRef":   r.UpdateRef(cx, "refs/heads/x", bad, ""),
			"FastForward": r.FastForward(cx, bad),
			"WorktreeAdd": r.WorktreeAdd(cx, git.NewWorktree{
				Path:  filepath.Join(t.TempDir(), "w"),
				Start: bad,
			}),
			"Init":   r.Init(cx, bad),
			"branch": r.CreateBranch(cx, bad, "HEAD"),
		}
		_, errs["Resolve"] = r.Resolve(cx, bad)
		_, errs["DiffStat"] = r.DiffStat(cx, bad, "HEAD")
		_, errs["Diff"] = r.Diff(cx, bad, "HEAD")
		_, errs["MergeBase"] = r.MergeBase(cx, "HEAD", bad)
		_, errs["IsAncestor"] = r.IsAncestor(cx, bad, "HEAD")
		_, errs["Merge"] = r.MergeInWorktree(cx, bad, "m")
		for name, err := range errs {
			if name == "branch" && bad == "^a" || isNameError(err) {
				continue
			}
			t.Errorf("%s(%q) = %v, want that the name is refused", name, bad, err)
		}
	}
	// A file may be named like an option.
	write(t, r.Dir, "--all", "x\n")
	commit(t, r, "option", "--all")
	if d := cmp.Diff([]string{"--all"}, must[[]string](t)(r.LsFiles(cx, "--all"))); d != "" {
		t.Errorf("LsFiles(--all) (-want +got)\n%s", d)
	}
}

// TestHiddenFolder: a patch leaves out the hidden folder of the project, which may lie below the
// top, and no other folder of that name.
func TestHiddenFolder(t *testing.T) {
	t.Parallel()
	top := fresh(t)
	for _, name := range []string{".state/a", "sub/.state/a", "sub/deep/.state/a"} {
		write(t, top.Dir, name, "one\n")
	}
	commit(t, top, "with such folders", ".")
	for _, name := range []string{
		".state/a", "sub/.state/a", "sub/deep/.state/a", // known files
		".state/new", "sub/.state/new", "sub/deep/.state/new",
	} {
		write(t, top.Dir, name, "changed\n")
	}

	below := *top
	below.Dir = filepath.Join(top.Dir, "sub")
	for _, tt := range []struct {
		repo   *git.Repo
		hidden string // as the patch would name it
		shown  []string
	}{
		{top, ".state/", []string{"sub/.state/", "sub/deep/.state/"}},
		{&below, "sub/.state/", []string{".state/", "sub/deep/.state/"}},
	} {
		patch, err := tt.repo.FullPatch(t.Context(), nil, ".state")
		if err != nil {
			t.Fatal(err)
		}
		since, err := tt.repo.PatchSince(t.Context(), "HEAD", ".state")
		if err != nil {
			t.Fatal(err)
		}
		if since != patch {
			t.Errorf("PatchSince differs from FullPatch:\n%s\n%s", since, patch)
		}

		for _, name := range []string{"a", "new"} {
			if strings.Contains(patch, "+++ b/"+tt.hidden+name) {
				t.Errorf("the patch of %s shows %s%s", tt.repo.Dir, tt.hidden, name)
			}
			for _, folder := range tt.shown {
				if !strings.Contains(patch, "+++ b/"+folder+name+"\n") {
					t.Errorf("the patch of %s lacks %s%s:\n%s", tt.repo.Dir, folder, name, patch)
				}
			}
		}
	}
}
