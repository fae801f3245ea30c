package instructions_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"tercet/internal/instructions"
)

func tree(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func paths(files []instructions.File) string {
	var out []string
	for _, f := range files {
		out = append(out, f.Path)
	}
	return strings.Join(out, " ")
}

// TestFolders holds which files of folders each runner gets: those that its tool looks up there,
// for the work in that folder, and none twice.
func TestFolders(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"CLAUDE.md":                    "Of claude.",
		"sub/CLAUDE.md":                "Of sub. @style.md",
		"sub/style.md":                 "Tabs.",
		"sub/deep/CLAUDE.md":           "Of deep.",
		"same/CLAUDE.md":               "Of claude.",
		"sub/AGENTS.md":                "Of agents.",
		"sub/GEMINI.md":                "Of gemini.",
		"node_modules/a/CLAUDE.md":     "Not of the project.",
		".hidden/CLAUDE.md":            "Not of the project.",
		"vendor/example.org/CLAUDE.md": "Not of the project.",
	}
	list, left := instructions.Read(tree(files))
	if len(left) > 0 {
		t.Errorf("left out %v", left)
	}
	for runner, want := range map[string]string{
		"claude":   "CLAUDE.md sub/CLAUDE.md sub/style.md sub/deep/CLAUDE.md",
		"gemini":   "CLAUDE.md sub/GEMINI.md",
		"codex":    "CLAUDE.md",
		"opencode": "CLAUDE.md",
		"copilot":  "CLAUDE.md",
	} {
		got := instructions.Select(list, runner)
		if paths(got) != want {
			t.Errorf("%s gets %q, want %q", runner, paths(got), want)
		}
		for _, f := range got {
			if f.Path == "sub/style.md" && f.Folder != "sub" ||
				f.Path == "CLAUDE.md" && f.Folder != "" {
				t.Errorf("%s holds below %q", f.Path, f.Folder)
			}
		}
	}

	for i := range 600 {
		files[fmt.Sprintf("many/%03d/x.txt", i)] = "x"
	}
	files["many/599/CLAUDE.md"] = "Too far."
	list, left = instructions.Read(tree(files))
	if len(left) != 1 || !strings.Contains(left[0].Why, "no more folders") {
		t.Errorf("of 600 folders left out %v, want one that says so", left)
	}
	if got := paths(instructions.Select(list, "claude")); strings.Contains(got, "many") {
		t.Errorf("got %q, want nothing beyond the bound", got)
	}
}

// TestFor holds which files each runner gets.
func TestFor(t *testing.T) {
	t.Parallel()
	all := map[string]string{
		"CLAUDE.md":                       "Of claude. See @docs/go.md, and `@docs/code.md`.",
		"docs/go.md":                      "Use @style.md. @go.md\n```\n@fence.md\n```\n",
		"docs/style.md":                   "Tabs.",
		"docs/code.md":                    "Not imported.",
		"docs/fence.md":                   "Not imported.",
		"AGENTS.md":                       "Of all. @docs/go.md is text here.",
		"GEMINI.md":                       "Of gemini.",
		".github/copilot-instructions.md": "Of all. @docs/go.md is text here.",
	}
	files, left := instructions.Read(tree(all))
	if len(left) > 0 {
		t.Errorf("left out %v", left)
	}
	for runner, want := range map[string]string{
		"claude":   "CLAUDE.md docs/go.md docs/style.md",
		"codex":    "AGENTS.md",
		"opencode": "AGENTS.md",
		"gemini":   "GEMINI.md",
		"copilot":  ".github/copilot-instructions.md", // the same text as AGENTS.md
		"acp":      "AGENTS.md",
	} {
		if got := paths(instructions.Select(files, runner)); got != want {
			t.Errorf("%s gets %q, want %q", runner, got, want)
		}
	}
	files, _ = instructions.Read(tree(map[string]string{"CLAUDE.md": "Of claude."}))
	if got := paths(instructions.Select(files, "codex")); got != "CLAUDE.md" {
		t.Errorf("codex gets %q of a project with CLAUDE.md alone", got)
	}
	if got := instructions.Select(nil, "codex"); got != nil {
		t.Errorf("got %v of nothing", got)
	}
}

// TestLeftOut holds what is no part of the instructions, and that it is told.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	files, left := instructions.Read(tree(map[string]string{
		"CLAUDE.md": "@.env @big.md @bin.md @../out.md @/etc/passwd @~/me.md @none.md me@b.md " +
			"@good.md. @CLAUDE.md",
		".env":    "KEY=1",
		"big.md":  strings.Repeat("x", 1+64<<10),
		"bin.md":  "a\x00",
		"good.md": "Good.",
		"b.md":    "No.",
	}))
	if got := paths(files); got != "CLAUDE.md good.md" {
		t.Errorf("got %q", got)
	}
	var told []string
	for _, l := range left {
		told = append(told, l.Path+": "+l.Why)
	}
	want := ".env: its name is that of a file with secrets|big.md: it has more than 64 KiB|" +
		"bin.md: it is no text in UTF-8"
	if got := strings.Join(told, "|"); got != want {
		t.Errorf("told %q, want %q", got, want)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("see @a.md and `@b.md`", "@../CLAUDE.md")
	f.Add("```\n@a.md\n```\n@a/../a.md", "@CLAUDE.md @a.md")
	f.Fuzz(func(t *testing.T, text, other string) {
		files, _ := instructions.Read(tree(map[string]string{
			"CLAUDE.md": text, "a.md": other, "d/b.md": other, "secret/.env": "K=1",
		}))
		seen := map[string]bool{}
		for _, one := range files {
			if seen[one.Path] || strings.Contains(one.Path, ".env") || len(one.Text) > 64<<10 {
				t.Fatalf("got %+v", files)
			}
			seen[one.Path] = true
		}
	})
}
