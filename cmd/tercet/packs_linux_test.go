//go:build amd64 || arm64

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/testkit/faults"
)

// TestPacksAreWholeAfterKills kills add, update and remove before each file that they write, move or delete: the next command
// leaves the workspace as it was before, or as it is afterwards.
func TestPacksAreWholeAfterKills(t *testing.T) {
	t.Parallel()
	base := pointRun{t: t, dir: t.TempDir(), home: t.TempDir()}
	pack := t.TempDir()
	w := packWorld{t: t}
	write := func(version, line string) {
		w.put(pack+"/pack.yaml", "name: mini\nversion: "+version+"\ndescription: Small\n")
		w.put(pack+"/commands/mini.md", "---\ncommand: mini\ndescription: Small\n---\n\n## Workflow Execution\n\n### Step 1: End\n\n```yaml step\nreturn: "+line+"\n```\n")
	}
	write("1.0.0", "one")
	for _, args := range [][]string{{"init"}, {"pack", "add", pack}, {"pack", "update", "mini"}, {"pack", "remove", "mini"}} {
		if args[0] == "init" {
			base.run(args...)
			continue
		}
		before, p := packTree(t, base.dir), base.copy(t)
		if code, out := p.run(args...); code != 0 {
			t.Fatalf("%q = %d\n%s", args, code, out)
		}
		after, points := packTree(t, p.dir), 0
		for n := 1; ; n++ {
			k := base.copy(t)
			if came, _ := k.killed(k.changes(n), args...); !came.Reached {
				break
			}
			points++
			k.run("pack", "list")
			if got := packTree(t, k.dir); cmp.Diff(before, got) != "" && cmp.Diff(after, got) != "" {
				t.Errorf("%q killed at %d is neither as before nor as after:\n%s", args, n, cmp.Diff(after, got))
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
		if err != nil || d.IsDir() || strings.HasPrefix(name, "packs.lock") || strings.HasPrefix(name, "packs.pending.") || !strings.HasPrefix(name, "packs") && !strings.HasPrefix(name, "commands") {
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
	return faults.Plan{Under: filepath.Join(p.dir, ".tercet"), At: n, Only: func(c faults.Call) bool {
		return (strings.HasPrefix(c.Name, "rename") || strings.HasPrefix(c.Name, "unlink") || strings.HasPrefix(c.Name, "link")) &&
			!strings.Contains(c.Path, "packs.lock")
	}}
}
