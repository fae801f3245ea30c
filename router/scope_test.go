package router_test

import (
	"errors"
	"strings"
	"testing"

	"tercet/router"
)

// tool is the folder of a tool, as the edge gives it to the router.
func tool(name, scope, tool string, files ...string) router.Source {
	s := foreign(name, scope, files...)
	s.Dialect = tool
	s.Tool = tool
	return s
}

// TestScopes: every file has a name that leads to it, words that two tools could be meant by are
// asked back, and what is preferred has the plain name.
func TestScopes(t *testing.T) {
	t.Parallel()
	shipped := library()
	shipped.Scope = "tercet"
	table, err := router.Scan(
		router.Names{
			Aliases: map[string]string{"p": "tercet:plan"},
			Prefer:  map[string]string{"plan": "tercet", "both": "gemini", "todo": "cursor"},
		},
		router.Source{
			Name:  ".tercet/commands",
			Scope: "project",
			FS:    tree("claude/plan.md", "own.md"),
		},
		tool(".claude/commands", "project", "claude", "plan.md", "both.md", "own.md"),
		tool(".gemini/commands", "project", "gemini", "both.md", "review.md"),
		tool("~/.claude/commands", "user", "claude", "both.md", "review.md"),
		tool("~/.codex/prompts", "user", "codex", "review.md"),
		shipped,
	)
	if err != nil {
		t.Fatal(err)
	}
	for typed, want := range map[string]string{
		"plan":                "library/plan.md",
		"p":                   "library/plan.md",
		"tercet:plan":         "library/plan.md",
		"claude:plan":         ".claude/commands/plan.md", // not the folder
		"claude/plan":         ".claude/commands/plan.md",
		"project:claude:plan": ".tercet/commands/claude/plan.md",
		"project:plan":        ".claude/commands/plan.md",
		"both":                ".gemini/commands/both.md",
		"project:both":        "write /claude:both or /gemini:both",
		"user:both":           "~/.claude/commands/both.md",
		"user:claude:both":    "~/.claude/commands/both.md",
		"own":                 ".tercet/commands/own.md",
		"project:own":         ".tercet/commands/own.md",
		"claude:own":          ".claude/commands/own.md",
		"user:review":         "write /claude:review or /codex:review",
		"tercet:own":          "/help lists the commands",
		"tercet:revew":        "did you mean /tercet:review?",
	} {
		r, err := table.Route(router.Line{Raw: "/" + typed})
		got := r.Source + "/" + r.File
		var help interface{ Help() string }
		if errors.As(err, &help) {
			got = help.Help()
		}
		if got != want {
			t.Errorf("Route(/%s) = %s, want %s", typed, got, want)
		}
	}

	if got := strings.Join(table.UnmatchedPreferences(), " "); got != "cursor:todo" {
		t.Errorf("unmet %q, want cursor:todo", got)
	}
	files := map[string]bool{}
	for _, e := range table.Files() {
		files[e.Source+"/"+e.File] = true
	}
	if all := len(table.Commands()) + len(table.Hidden()); len(files) != all {
		t.Errorf(
			"%d files, want the %d of commands and of what they hide: %v", len(files), all, files,
		)
	}
	for _, h := range table.Hidden() {
		if !files[h.Source+"/"+h.File] {
			t.Errorf("Files lacks the hidden %s/%s", h.Source, h.File)
		}
		r, err := table.Route(router.Line{Raw: "/" + h.Call})
		if err != nil || r.Source != h.Source || r.File != h.File {
			t.Errorf("%s/%s is called /%s, which leads to %s/%s, %v",
				h.Source, h.File, h.Call, r.Source, r.File, err)
		}
	}

	for _, e := range table.Commands() {
		r, err := table.Route(router.Line{Raw: "/" + e.Name})
		if err != nil || r.Source != e.Source || r.File != e.File {
			t.Errorf("/%s is listed for %s/%s and leads to %s/%s, %v",
				e.Name, e.Source, e.File, r.Source, r.File, err)
		}
	}

	for source, want := range map[string]string{
		"library":            "run tercet /tercet:review 1, then /todo; see a/review",
		".gemini/commands":   "run tercet /review 1, then /todo; see a/review",
		"~/.claude/commands": "run tercet /claude:review 1, then /todo; see a/review",
	} {
		got := table.RewriteCalls(
			source,
			"run tercet /review 1, then /todo; see a/review",
			func(string, string) bool { return true },
		)
		if got != want {
			t.Errorf("CallsAsMeant(%s) = %q, want %q", source, got, want)
		}
		got = table.RewriteCalls(source, "/review 1", func(string, string) bool {
			return false
		})
		if got != "/review 1" {
			t.Errorf("CallsAsMeant(%s) = %q where /review is a workflow, want it as it is",
				source, got)
		}
	}
}
