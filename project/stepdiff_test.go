package project_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/project"
	"tercet/state"
)

// building is a command whose agents work one after another, and two side by side, in a worktree.
const building = `---
command: build
description: Some agents write files
arguments: [{name: end, type: string}]
worktree: {per: run}
---

## Workflow Execution

### Step 1: First

` + "```yaml step\nid: first\ndelegate: scribe\nwith: {file: one.txt}\n```" + `

### Step 2: Second

` + "```yaml step\nid: second\ndelegate: scribe\nwith: {file: two.txt}\n```" + `

### Step 3: Keep it

` + "```yaml step\nid: keep\ndelegate: git-workflow-manager\n" +
	"with: {action: commit, message: one and two}\n```" + `

### Step 4: Third

` + "```yaml step\nid: third\ndelegate: scribe\nwith: {file: one.txt}\n```" + `

### Step 5: Keep that

` + "```yaml step\nid: keep2\ndelegate: git-workflow-manager\n" +
	"with: {action: commit, message: three}\n```" + `

### Step 6: Two at once

` + "```yaml step\nid: both\nparallel:\n" +
	"  left: {delegate: scribe, with: {file: left.txt}}\n" +
	"  right: {delegate: scribe, with: {file: right.txt}}\n```" + `

### Step 7: Look

` + "```yaml step\nid: look\ncheck: 1 == 1\n```" + `

### Step 8: Ask

` + "```yaml step\nid: ask\ngate: Go on?\n```" + `

### Step 9: Fail

` + "```yaml step\nid: judge\ncheck: $args.end != \"bad\"\non: {rejected: fail}\n```" + `

### Step 10: Publish

` + "```yaml step\nid: publish\npublish: {to: current, as: merge}\n```\n"

// children is a command whose agents work side by side, each in a worktree of its own.
const children = `---
command: children
description: Two write files
worktree: {per: child}
---

## Workflow Execution

### Step 1: Each

` + "```yaml step\nid: each\nforeach: '[\"one.txt\", \"two.txt\"]'\nas: file\nmax_parallel: " +
	"2\ndo:\n  - {id: write, delegate: scribe, with: {file: $file}}\n" +
	"  - {id: keep, delegate: git-workflow-manager, with: {action: commit, message: one}}\n```" + `

### Step 2: Ask

` + "```yaml step\nid: ask\ngate: Go on?\n```\n"

// scribe adds a line to the file that it is told to. Side by side each waits for the other.
const scribe = `---
name: scribe
description: Writes a file
role: utility
runner: exec
argv: [sh, scribe.sh]
inputs: {file: {type: string, required: true}}
returns: {artifacts: none}
---

Writes.
`

const scribeScript = `file=$(sed -n 's/.*"file": *"\([a-z.]*\)".*/\1/p' | head -1)
echo "line of $file" >>"$file"
case $file in
left.txt) until [ -e right.txt ]; do sleep 0.05; done ;;
right.txt) until [ -e left.txt ]; do sleep 0.05; done ;;
esac
printf '{"status": "completed", "summary": "wrote", "artifacts": []}\n'
`

// openBuilding opens a repository with /build, whose files the user has agreed to.
func openBuilding(t *testing.T) *project.Project {
	t.Helper()

	dir := t.TempDir()
	h := host(t, dir, project.Unattended{})

	env := h.Env
	h.Env = func(name string) string {
		if name == "TERCET_TRUST" {
			return "1"
		}
		return env(name)
	}

	_, err := h.Init(t.Context(), dir, project.Settings{}, state.InitOptions{NextNumber: 1}, false)
	if err != nil {
		t.Fatal(err)
	}

	for name, text := range map[string]string{
		".tercet/commands/build.md":    building,
		".tercet/commands/children.md": children,
		".tercet/subagents/scribe.md":  scribe,
		"scribe.sh":                    scribeScript,
		"one.txt":                      "old\n",
	} {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "config", "user.name", "n")
	git(t, dir, "config", "user.email", "e@example.org")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "first")

	p, err := project.Open(t.Context(), dir, true, h)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})

	return p
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// touched are the files of a patch, each with its added lines.
func touched(patch string) (files []string) {
	for line := range strings.SplitSeq(patch, "\n") {
		if name, ok := strings.CutPrefix(line, "+++ b/"); ok {
			files = append(files, name)
		}
	}
	slices.Sort(files)
	return files
}

// TestStepChanged: what a step changed is told apart from what the steps before and after it
// changed in the same worktree, while the run goes on and after its end.
func TestStepChanged(t *testing.T) {
	t.Parallel()
	p := openBuilding(t)
	r, err := p.Start(t.Context(), "/build", project.Options{Await: true})
	if err != nil {
		t.Fatal(err)
	}
	g := openGate(t, p, r.ID)
	tree := filepath.Join(p.Dir, formats.Workspace, formats.WorktreeFolder, r.ID)
	before := git(t, tree, "status", "--porcelain")

	type want struct {
		files, until, beside string
		commits              int
	}
	check := func(step string, w want) {
		t.Helper()
		c, err := p.StepChanges(t.Context(), r.ID, step)
		if err != nil {
			t.Errorf("%s: %v", step, err)
			return
		}

		got := want{
			strings.Join(touched(c.Patch), " "), c.Until, strings.Join(c.Beside, " "),
			len(c.Commits),
		}
		w.until = strings.ReplaceAll(w.until, "COMMIT", c.Until[max(0, len(c.Until)-12):])

		if got != w {
			t.Errorf("%s: changed %+v, want %+v (%s)\n%s", step, got, w, c.Unknown, c.Patch)
		}
	}
	ended := func() {
		t.Helper()
		check("first#1", want{files: "one.txt", until: "until step second#1 began to work"})
		check("second#1", want{files: "two.txt", until: "until commit COMMIT"})
		check("keep#1", want{files: "one.txt two.txt", commits: 1})
		check("third#1", want{files: "one.txt", until: "until commit COMMIT"})
		check("look#1", want{})
	}
	ended()

	both := want{files: "left.txt right.txt", until: "until now"}
	check("both#1", both)

	paths := map[string]string{}
	d, err := p.Detail(r.ID)
	if err != nil {
		t.Fatal(err)
	}

	for _, s := range d.Steps {
		paths[s.Path] = s.Path
		for _, side := range []string{"left", "right"} {
			if strings.Contains(s.Path, side) {
				paths[side] = s.Path
			}
		}
	}

	left, err := p.StepChanges(t.Context(), r.ID, paths["left"])
	if files := touched(left.Patch); err != nil || !slices.Contains(files, "left.txt") ||
		!slices.Equal(left.Beside, []string{paths["right"]}) {
		t.Errorf("the left step changed %q beside %q, %v", files, left.Beside, err)
	}

	third, err := p.StepChanges(t.Context(), r.ID, "third#1")
	if err != nil || !strings.Contains(third.Patch, " line of one.txt\n+line of one.txt\n") ||
		strings.Contains(third.Patch, "+old") {
		t.Errorf("the third step changed %s, %v, want only its own line", third.Patch, err)
	}
	if after := git(t, tree, "status", "--porcelain"); after != before {
		t.Errorf("the worktree is %q, want %q: nothing may change it", after, before)
	}
	index, err := filepath.Glob(filepath.Join(p.Dir, ".tercet/runs", r.ID, "since-*"))
	if err != nil || len(index) > 0 {
		t.Errorf("%q is left, %v", index, err)
	}
	look, err := p.StepChanges(t.Context(), r.ID, "look#1")
	if err != nil || !strings.Contains(look.Unknown, "nor did the step make a commit") {
		t.Errorf("a check gives %q, %v", look.Unknown, err)
	}
	_, err = p.StepChanges(t.Context(), r.ID, "none#1")
	if formats.CodeOf(err) != formats.CodeNotFound {
		t.Errorf("a step that is none gives %v", err)
	}

	_, err = p.Answer(t.Context(), r.ID, g.ID, project.Reply{Label: g.Choices[0].Label})
	if err != nil {
		t.Fatal(err)
	}
	if ret, err := r.Wait(t.Context()); err != nil || ret.Status != formats.StatusCompleted {
		t.Fatalf("the run ended with %+v, %v", ret, err)
	}
	ended()
	both = want{files: "left.txt right.txt", until: "until commit COMMIT"}
	check("both#1", both)
	git(t, p.Dir, "reflog", "expire", "--expire=now", "--all")
	git(t, p.Dir, "gc", "-q", "--prune=now")
	c, err := p.StepChanges(t.Context(), r.ID, "second#1")
	if err != nil || c.Patch != "" || !strings.Contains(c.Unknown, "git has removed the record") {
		t.Errorf("without its tree a step gives %q, %q, %v", c.Patch, c.Unknown, err)
	}
}

// TestStepChangedByChildren: what a child changed in its own worktree is not taken for the work of
// another one, which began at the same commit.
func TestStepChangedByChildren(t *testing.T) {
	t.Parallel()
	p := openBuilding(t)

	r, err := p.Start(t.Context(), "/children", project.Options{Await: true})
	if err != nil {
		t.Fatal(err)
	}

	openGate(t, p, r.ID)

	for step, want := range map[string]string{
		"each#1[0]/write#1": "one.txt", "each#1[1]/write#1": "two.txt",
		"each#1[0]/keep#1": "one.txt", "each#1[1]/keep#1": "two.txt",
	} {
		c, err := p.StepChanges(t.Context(), r.ID, step)
		got := strings.Join(touched(c.Patch), " ")
		if err != nil || got != want || len(c.Beside) > 0 {
			t.Errorf("%s changed %q beside %q, %v, want %q (%s)", step, got, c.Beside, err, want,
				c.Unknown)
		}
	}
}
