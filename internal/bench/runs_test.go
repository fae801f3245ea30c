package bench_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// waitCommand runs n steps, two fifths of them delegations, and waits at a gate then, so that the
// run can be resumed again and again.
func waitCommand() string {
	text := "---\ncommand: wait\ndescription: Many steps and a gate\narguments:\n" +
		"  - {name: n, type: integer}\nlimits: {steps: 2000, spawns: 2000}\n---\n\n" +
		"## Workflow Execution\n"
	for i := range 5 { // a loop has at most 1,000 elements
		does := "delegate: worker\nmax_parallel: 2"
		if i > 1 {
			does = "do:\n  - {check: 1 == 1}"
		}
		text += fmt.Sprintf(
			"\n### Step %d: Part\n\n```yaml step\nid: part%d\nforeach: \"[range($args.n / 5)]\"\n"+
				"%s\n```\n",
			i+1, i, does,
		)
	}
	return text + "\n### Step 6: Ask\n\n```yaml step\ngate: Go on?\n```\n"
}

// waits is a command that ends because its run waits at its gate.
func (l *lab) waits(dir string, args ...string) subject {
	s := l.runMany(dir, "none", 0)
	s.argv = append([]string{"/bin/sh", "-c", `"$@"; test $? = 75`, "sh", l.tercet}, args...)
	return s
}

// runs measures runs that outlive their processes.
func (l *lab) runs() {
	for _, n := range []int{1000, 5000} {
		dir := l.newManyProject(10)
		if err := os.WriteFile(
			filepath.Join(dir, ".tercet/commands/wait.md"),
			[]byte(waitCommand()),
			0o600,
		); err != nil {
			l.t.Fatal(err)
		}
		begun := l.peakOnce(l.waits(dir, "/wait", strconv.Itoa(n)))
		all, err := filepath.Glob(filepath.Join(dir, ".tercet/runs/r*"))
		if err != nil || len(all) != 1 {
			l.t.Fatalf("runs %q, %v; want one", all, err)
		}
		resume := l.waits(dir, "resume", filepath.Base(all[0]))
		if n == 5000 {
			for what, peak := range map[string]int{
				"of the run":    begun,
				"of its resume": l.peakOf(resume),
			} {
				l.add(row{
					goal:   "P9",
					what:   "5,000 finished steps: peak " + what,
					figure: mb(peak),
					limit:  "<= 60 MB",
					met:    peak <= 60<<20,
				})
			}
			continue
		}
		l.addLimit("P9", "resume of a run with 1,000 finished steps", resume, 1000)
		l.addLimit("P9", "tercet runs over 1,000 runs", l.listing(dir, 1000), 200)
	}
}

// listing makes a project of n runs out of one that is small, and lists them.
func (l *lab) listing(dir string, n int) subject {
	l.waits(dir, "--new", "/wait", "5").output(l.t)
	var small string
	err := fs.WalkDir(
		os.DirFS(filepath.Join(dir, ".tercet/runs")),
		".",
		func(name string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Base(name) != "journal.jsonl" {
				return err
			}
			info, err := d.Info()
			if err == nil && info.Size() < 1<<16 {
				small = filepath.Dir(name)
			}
			return err
		},
	)
	if err != nil || small == "" {
		l.t.Fatalf("no small run, %v", err)
	}
	to := l.newManyProject(10)
	data, err := os.ReadFile(filepath.Join(dir, ".tercet/runs", small, "journal.jsonl"))
	if err != nil {
		l.t.Fatal(err)
	}
	for i := range n {
		folder := filepath.Join(to, ".tercet/runs", fmt.Sprintf("r%09d", i))
		if err := os.MkdirAll(folder, 0o700); err != nil {
			l.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "journal.jsonl"), data, 0o600); err != nil {
			l.t.Fatal(err)
		}
	}

	s := l.runMany(to, "none", 0)
	s.argv = []string{l.tercet, "runs", "--all"}
	if lines := strings.Count(s.output(l.t), "\n"); lines < n {
		l.t.Fatalf("%d lines of runs, want %d", lines, n)
	}
	return s
}

// addLimit is a row of what somebody waits for, at most so many milliseconds.
func (l *lab) addLimit(goal, what string, s subject, limit int) {
	took, _ := measurePairs(l.t, l.n, s, s)
	l.add(row{
		goal:   goal,
		what:   what,
		figure: show(took.wall) + " / " + show(took.cpu),
		limit:  fmt.Sprintf("<= %d ms", limit),
		met:    took.wall.Milliseconds() <= int64(limit),
	})
}
