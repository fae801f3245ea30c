package router_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/router"
)

// markdown names files as a tool does that has no rule for names.
func markdown(file string) (string, bool) {
	stem, ok := strings.CutSuffix(file, ".md")
	return strings.ReplaceAll(stem, "/", ":"), ok
}

func foreign(name, scope string, files ...string) router.Source {
	return router.Source{
		Name:    name,
		Scope:   scope,
		Dialect: "claude",
		Command: markdown,
		FS:      tree(files...),
	}
}

func TestSpellings(t *testing.T) {
	t.Parallel()
	table := scan(
		t, map[string]string{"c": "git:commit"},
		router.Source{
			Name:  ".tercet/commands",
			Scope: "project",
			FS:    tree("plan.md", "own/build.md"),
		},
		foreign(
			".claude/commands", "project", "git/commit.md", "git/sub/push.md", "plan.md",
			"Fix_It.md", "a/review.md", "node_modules/x.md", ".hidden/y.md", "two words.md",
		),
		foreign("~/.claude/commands", "user", "plan.md", "git/commit.md", "b/review.md", "only.md"),
		library(),
	)
	tests := []struct{ typed, want string }{
		{"git:commit", ".claude/commands/git/commit.md"},
		{"git/commit", ".claude/commands/git/commit.md"},
		{"commit", ".claude/commands/git/commit.md"},
		{"project:git:commit", ".claude/commands/git/commit.md"},
		{"project/git/commit", ".claude/commands/git/commit.md"},
		{"project:git/commit", ".claude/commands/git/commit.md"},
		{"user:git:commit", "~/.claude/commands/git/commit.md"},
		{"c", ".claude/commands/git/commit.md"},
		{"git/sub:push", ".claude/commands/git/sub/push.md"},
		{"push", ".claude/commands/git/sub/push.md"},
		{"plan", ".tercet/commands/plan.md"},
		{"project:plan", ".tercet/commands/plan.md"},
		{"user:plan", "~/.claude/commands/plan.md"},
		{"Fix_It", ".claude/commands/Fix_It.md"},
		{"only", "~/.claude/commands/only.md"},
		{"todo", "library/todo.md"},
		{"review", "library/review.md"}, // the name itself goes before a last part
		{"b:review", "~/.claude/commands/b/review.md"},
		{"build", "unknown"}, // tercet's own namespaces are called in full
		{"x", "unknown"},
		{"y", "unknown"},
		{"project:todo", "unknown"},
	}
	for _, tt := range tests {
		got := "unknown"
		if r, err := table.Route(router.Line{Raw: "/" + tt.typed}); err == nil {
			got = r.Source + "/" + r.File
		}
		if got != tt.want {
			t.Errorf("Route(/%s) = %s, want %s", tt.typed, got, tt.want)
		}
	}

	r, err := table.Route(router.Line{Raw: "/plan"})
	if err != nil {
		t.Fatal(err)
	}
	diff := cmp.Diff(
		[]string{".claude/commands/plan.md", "~/.claude/commands/plan.md", "library/plan.md"},
		r.Shadows,
	)
	if diff != "" {
		t.Errorf("shadows of /plan differ (-want +got):\n%s", diff)
	}
	if r, err := table.Route(router.Line{Raw: "/only"}); err != nil || r.Dialect != "claude" {
		t.Errorf("Route(/only) = %+v, %v, want dialect claude", r, err)
	}
}

// TestNames: the names of a file are told, and the file that hides its plain name.
func TestNames(t *testing.T) {
	t.Parallel()
	table := scan(
		t, nil,
		foreign(".claude/commands", "project", "plan.md", "git/commit.md"),
		foreign("~/.claude/commands", "user", "plan.md"),
		library(),
	)
	for typed, want := range map[string]string{
		"git:commit": "/git:commit /git/commit /commit /project:git:commit",
		"plan":       "/plan /project:plan",
		"user:plan":  "/user:plan .claude/commands/plan.md",
		"todo":       "/todo",
	} {
		r, err := table.Route(router.Line{Raw: "/" + typed})
		if err != nil {
			t.Fatal(err)
		}
		got := strings.TrimSpace(strings.Join(table.Spellings(r), " ") + " " + table.Hides(r))
		if got != want {
			t.Errorf("names of /%s = %q, want %q", typed, got, want)
		}
	}
}

func TestAmbiguousLastPart(t *testing.T) {
	t.Parallel()
	table := scan(
		t, nil,
		foreign("p", "project", "a/check.md", "b/check.md"),
		foreign("u", "user", "a/check.md"),
	)
	_, err := table.Route(router.Line{Raw: "/check"})
	var got *router.AmbiguousCommandError
	if !errors.As(err, &got) {
		t.Fatalf("Route(/check) = %v, want an ambiguous name", err)
	}
	if diff := cmp.Diff([]string{"a:check", "b:check"}, got.Candidates); diff != "" {
		t.Errorf("candidates differ (-want +got):\n%s", diff)
	}
	if got.Help() != "write /a:check or /b:check" {
		t.Errorf("help = %q", got.Help())
	}
}

func TestRouteOfAnotherToolAllocatesNothing(t *testing.T) { //nolint:paralleltest // allocations are counted for the whole process
	table := scan(t, nil, foreign("p", "project", "git/commit.md"), library())
	for _, line := range []string{"/commit a b", "/git/commit", "/project:git:commit x"} {
		n := testing.AllocsPerRun(100, func() {
			if _, err := table.Route(router.Line{Raw: line}); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("Route(%q) allocates %v times, want 0", line, n)
		}
	}
}
