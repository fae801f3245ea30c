package bench_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// rowLength is how many steps P13 has in a row.
const rowLength = 100

const rowCommand = `---
command: row
description: Small pieces of work, one after another
arguments:
  - {name: n, type: integer}
limits: {steps: 2000}
---

## Workflow Execution

### Step 1: All

` + "```yaml step" + `
id: all
foreach: "[range($args.n)]"
delegate: worker
` + "```\n"

// awfRow is the same for awf: a chain of states.
func awfRow(n int) string {
	var out strings.Builder
	out.WriteString("name: row\nversion: \"1.0.0\"\nstates:\n  initial: s1\n")
	for i := range n {
		next := "s" + strconv.Itoa(i+2)
		if i == n-1 {
			next = "done"
		}
		fmt.Fprintf(&out, "  s%d:\n    type: step\n    command: ./work.sh\n    on_success: %s\n"+
			"    on_failure: error\n",
			i+1, next)
	}
	out.WriteString(
		"  done:\n    type: terminal\n    status: success\n  error:\n    type: terminal\n" +
			"    status: failure\n",
	)
	return out.String()
}

// daguRow is the same for dagu: a graph in which each step depends on the one before it.
func daguRow(n int) string {
	var out strings.Builder
	out.WriteString("name: row\nsteps:\n")
	for i := range n {
		fmt.Fprintf(&out, "  - name: s%d\n    command: ./work.sh\n", i+1)
		if i > 0 {
			fmt.Fprintf(&out, "    depends: [s%d]\n", i)
		}
	}
	return out.String()
}

// row measures steps in a row, where nothing that starts beside a worker is hidden by another
// worker. It is the default tier, and tercet's own folder is outside of the tree, as it is for a
// user.
func (l *lab) row() {
	dir := l.newManyProject(10)
	l.t.Setenv("TMPDIR", filepath.Dir(dir)) // a subagent's own folder for what it keeps for a while
	for name, text := range map[string]string{
		".tercet/commands/row.md": rowCommand,
		".awf/workflows/row.yaml": awfRow(rowLength),
		"row.yaml":                daguRow(rowLength),
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			l.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			l.t.Fatal(err)
		}
	}

	home := l.t.TempDir()
	env := []string{
		"TERCET_TRUST=1",
		"XDG_CONFIG_HOME=" + filepath.Join(home, "config"),
		"XDG_STATE_HOME=" + filepath.Join(home, "state"),
		"XDG_DATA_HOME=" + filepath.Join(home, "data"),
		"DAGU_HOME=" + filepath.Join(home, "dagu"),
	}
	ours := subject{
		name: "tercet",
		argv: []string{l.tercet, "/row", strconv.Itoa(rowLength)},
		in:   dir,
		env:  env,
	}
	what := fmt.Sprintf("%d steps in a row, %s", rowLength, l.defaultTier(dir, env))

	starts := subject{
		name:  fmt.Sprintf("%d times tercet version", rowLength),
		argv:  []string{l.tercet, "version"},
		in:    dir,
		times: rowLength,
	}
	a, b := measurePairs(l.t, l.n, ours, starts)
	l.add(row{
		goal:    "P13",
		what:    what,
		ours:    a,
		theirs:  b,
		peer:    starts.name,
		want:    0.7,
		cpuOnly: true,
	})

	for _, peer := range []struct {
		tool
		argv []string
		want float64
	}{
		{find("dagu", "dagu", "version"), []string{"start", "row.yaml"}, 1},
		{find("awf", "awf", "version"), []string{"run", "row"}, 0},
	} {
		if peer.path == "" {
			l.missing("P13", what, peer.name)
			continue
		}
		theirs := subject{
			name: peer.name,
			argv: append([]string{peer.path}, peer.argv...),
			in:   dir,
			env:  env,
		}
		a, b := measurePairs(l.t, l.n, ours, theirs)
		l.add(row{
			goal:    "P13",
			what:    what,
			ours:    a,
			theirs:  b,
			peer:    peer.name,
			want:    peer.want,
			cpuOnly: true,
		})
	}
}

// defaultTier names the first tier that works here.
func (l *lab) defaultTier(dir string, env []string) string {
	out := subject{
		name: "sandbox probe",
		argv: []string{l.tercet, "sandbox", "probe"},
		in:   dir,
		env:  env,
	}.output(l.t)
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if i := slices.Index(fields, "yes"); i > 0 {
			return fields[i-1]
		}
	}
	return "no tier"
}
