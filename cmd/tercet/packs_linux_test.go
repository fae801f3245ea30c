//go:build amd64 || arm64

package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/testkit"
	"tercet/internal/testkit/faults"
)

// TestPacksAreWholeAfterKills kills add, update and remove before each file that they write, move
// or delete: the next command leaves the workspace as it was before, or as it is afterwards.
func TestPacksAreWholeAfterKills(t *testing.T) {
	t.Parallel()
	testkit.OnlyDeep(t, "kills at every change of a file")

	base := pointRun{
		t:    t,
		dir:  t.TempDir(),
		home: t.TempDir(),
	}

	pack := t.TempDir()
	w := packWorld{t: t}
	write := func(version, line string) {
		w.put(pack+"/pack.yaml", "name: mini\nversion: "+version+"\ndescription: Small\n")
		w.put(
			pack+"/commands/mini.md",
			"---\ncommand: mini\ndescription: Small\n---\n\n## Workflow Execution\n\n"+
				"### Step 1: End\n\n```yaml step\nreturn: "+line+"\n```\n",
		)
	}

	write("1.0.0", "one")
	for _, args := range [][]string{
		{"init"},
		{"pack", "add", pack},
		{"pack", "update", "mini"},
		{"pack", "remove", "mini"},
	} {
		if args[0] == "init" {
			base.run(args...)
			continue
		}

		before := packTree(t, base.dir)
		p := base.copy(t)
		if code, out := p.run(args...); code != 0 {
			t.Fatalf("%q = %d\n%s", args, code, out)
		}
		after := packTree(t, p.dir)

		points := 0
		for n := 1; ; n++ {
			k := base.copy(t)
			if came, _ := k.killed(k.changes(n), args...); !came.Reached {
				break
			}
			points++

			k.run("pack", "list")
			got := packTree(t, k.dir)
			if cmp.Diff(before, got) != "" && cmp.Diff(after, got) != "" {
				t.Errorf("%q killed at %d is neither as before nor as after:\n%s",
					args, n, cmp.Diff(after, got))
			}
		}

		if points < 3 {
			t.Errorf("%q was killed at %d points, want more", args, points)
		}

		base = p
		write("1.1.0", "two")
	}
}

// packTree are the files of a workspace that belong to packs.
func packTree(t *testing.T, dir string) map[string]string {
	t.Helper()

	out := map[string]string{}
	root := os.DirFS(filepath.Join(dir, ".tercet"))

	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(name, "packs.lock") ||
			strings.HasPrefix(name, "packs.pending.") ||
			!strings.HasPrefix(name, "packs") && !strings.HasPrefix(name, "commands") {
			return err
		}
		data, err := fs.ReadFile(root, name)
		out[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return out
}

// changes are the renames, links and removals in the workspace, of which the n-th kills.
func (p pointRun) changes(n int) faults.Plan {
	return faults.Plan{
		Under: filepath.Join(p.dir, ".tercet"),
		At:    n,
		Only: func(c faults.Call) bool {
			return (strings.HasPrefix(c.Name, "rename") || strings.HasPrefix(c.Name, "unlink") ||
				strings.HasPrefix(c.Name, "link")) &&
				!strings.Contains(c.Path, "packs.lock")
		},
	}
}

// TestFlowsCloseTheirIssue runs /delivery-flow and /maintenance-flow with --push: the branch is at
// the remote, with all commits, and the request names the issue of the planning document; main is
// as it was, here and there.
func TestFlowsCloseTheirIssue(t *testing.T) {
	t.Parallel()
	testkit.OnlyDeep(t, "whole runs of the largest flows")

	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}

	const issue = "https://github.test/o/clock/issues/12"
	const opened = "https://github.test/o/clock/issues/31"
	core := "returns/analyst-core/1/return"
	for name, edits := range map[string][][3]string{ // a file, what stands there, what is to
		"delivery-analysis": {{
			"docs/design-notes/date.md",
			"# Date\n",
			"# Date\n\n> GitHub Issue: [#12](" + issue + ")\n",
		}},
		"maintenance-patch": {
			{core, "GITHUB_ISSUE: none", "GITHUB_ISSUE: " + issue},
			{"returns/analyst-intake/1/return", "repo_state: local-only", "repo_state: github"},
			{
				"returns/analyst-intake/1/out/docs/design-notes/date.md",
				"GitHub Issue: none",
				"GitHub Issue: [#12](" + issue + ")",
			},
		},
		// it has none: one is opened
		"maintenance-kind": {{
			"returns/analyst-intake/1/return",
			"repo_state: local-only",
			"repo_state: github",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := readCrash(t, "flow "+name)
			w := packWorld{t: t}
			for _, e := range edits {
				w.put(
					filepath.Join(c.dir, e[0]),
					strings.Replace(readIn(t, os.DirFS(c.dir), e[0]), e[1], e[2], 1),
				)
			}

			w.put(filepath.Join(c.dir, "docs/project-rules.md"), "Remote type: github\n")
			gh := filepath.Join(c.root, "bin/gh")
			w.put(
				gh,
				"#!/bin/sh\necho \"$*\" >> \"${0%/*}/log\"\n"+
					"[ \"$1 $2\" != 'pr list' ] || echo '[]'\n"+
					"[ \"$1 $2\" != 'pr create' ] || echo https://github.test/pull/1\n"+
					"[ \"$1 $2\" != 'issue list' ] || echo '[]'\n"+
					"[ \"$1 $2\" != 'issue create' ] || echo "+opened+"\n",
			)
			remote := filepath.Join(c.root, "remote.git")
			c.git("init", "-q", "--bare", "-b", "main", remote)
			c.git("remote", "add", "origin", remote)
			c.git("add", "-A")
			c.git("commit", "-q", "-m", "a remote")
			c.git("push", "-q", "origin", "main")
			before := c.git("rev-parse", "main")

			line := c.line
			if !slices.Contains(line, "--push") {
				line = append(line, "--push")
			}
			cmd, said := c.command(line...)
			cmd.Env = append(cmd.Env, "PATH="+filepath.Dir(gh)+":"+os.Getenv("PATH"))

			var out strings.Builder
			cmd.Stdout = &out
			if err := errors.Join(os.Chmod(gh, 0o755), cmd.Run()); err != nil {
				t.Fatalf("%q: %v\n%s%s", line, err, &out, said)
			}

			var ret struct {
				Fields struct{ Push, Request, Issue string }
			}
			err := json.Unmarshal([]byte(out.String()), &ret)
			if err != nil || ret.Fields.Push != "pushed" ||
				ret.Fields.Request != "https://github.test/pull/1" {
				t.Errorf("pushed %+v, %v\n%s", ret.Fields, err, &out)
			}

			asked := readIn(t, os.DirFS(c.root), "bin/log")
			closes := "Closes #12"
			files := 0
			if name == "maintenance-kind" {
				closes = "Closes #31"
				files = 1
				log := c.git("--git-dir", remote, "log", "-p", "--branches=tercet/*")
				if ret.Fields.Issue != opened ||
					!strings.Contains(log, "+> GitHub Issue: [#31]("+opened+")") ||
					!strings.Contains(asked, "issue create --title=Date ") {
					t.Errorf("issue %q, gh was asked\n%s\n%s", ret.Fields.Issue, asked, log)
				}
			}

			if strings.Count(asked, "pr create") != 1 || strings.Count(asked, closes) != 1 ||
				strings.Count(asked, "issue create") != files {
				t.Errorf("gh was asked\n%s", asked)
			}

			there := c.git("ls-remote", "--heads", "origin")
			if c.git("rev-parse", "main") != before ||
				!strings.Contains(there, before+"\trefs/heads/main") {
				t.Errorf("main was %s, and at the remote there is\n%s", before, there)
			}

			work := c.git("--git-dir",
				remote, "log", "--format=%s", "--branches=tercet/*", "--not", "main")
			if !strings.Contains(work, "(TASK-001)") ||
				!strings.Contains(
					c.git(
						"--git-dir", remote, "log", "--name-only", "--format=",
						"--branches=tercet/*",
					),
					"clock.go",
				) {
				t.Errorf("commits at the remote\n%s", work)
			}
		})
	}
}
