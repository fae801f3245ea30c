package bench_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tercet/internal/testkit"
)

// The files of a project whose command has a script do next to nothing, n times, two at a time. The
// script reads no request: make has none, and sh reads a pipe byte by byte, which takes as long as
// the rest of the script.
const (
	manyCommand = "---\ncommand: many\ndescription: Many small pieces of work\narguments:\n" +
		"  - {name: n, type: integer}\nlimits: {steps: 2000}\n---\n\n" +
		"## Workflow Execution\n\n### Step 1: All\n\n```yaml step\nid: all\n" +
		"foreach: \"[range($args.n)]\"\nmax_parallel: 2\ndelegate: worker\n```\n"
	manyWorker = "---\nname: worker\ndescription: Does nothing\nrunner: exec\nargv: [./work.sh]\n" +
		"returns: {statuses: [completed, failed], artifacts: none}\n---\n\nSay that it is done.\n"
	manyScript = "#!/bin/sh\necho " +
		"'{\"status\":\"completed\",\"summary\":\"done\",\"artifacts\":[],\"errors\":[]}'\n"
	manyMake = "all: $(shell seq -f j%.0f 1000)\nj%:\n\t@./work.sh </dev/null >/dev/null\n"
)

// newManyProject makes a repository of some files with that command, on a disk in memory where
// there is one.
func (l *lab) newManyProject(files int) string {
	base := "/dev/shm"
	if _, err := os.Stat(base); err != nil {
		base = l.dir
	}
	dir, err := os.MkdirTemp(base, "tercet-bench-")
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { os.RemoveAll(dir) })
	subject{
		name: "init",
		argv: []string{l.tercet, "init", "-q"},
		in:   dir,
	}.output(l.t)
	all := map[string]string{
		".tercet/commands/many.md":     manyCommand,
		".tercet/subagents/worker.md":  manyWorker,
		"work.sh":                      manyScript,
		"Makefile":                     manyMake,
		"home/none/tercet/config.yaml": "sandbox: [advisory_only]\n",
		"home/box/tercet/config.yaml":  "sandbox: [container, advisory_only]\n",
	}
	for i := range files {
		all[fmt.Sprintf("src/%d/%d.txt", i/100, i)] = strconv.Itoa(i)
	}

	for name, text := range all {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			l.t.Fatal(err)
		}
		if err := testkit.WriteProgram(file, text); err != nil {
			l.t.Fatal(err)
		}
	}

	for _, argv := range []string{
		"init -q",
		"add -A",
		"-c user.name=x -c user.email=x@localhost commit -qm first",
	} {
		subject{
			name: "git",
			argv: append([]string{"git"}, strings.Fields(argv)...),
			in:   dir,
		}.output(l.t)
	}

	return dir
}

// runMany is the command, n times; home says with what bounds.
func (l *lab) runMany(dir, home string, n int) subject {
	return subject{
		name: "tercet",
		argv: []string{l.tercet, "/many", strconv.Itoa(n)},
		in:   dir,
		env: []string{
			"TERCET_TRUST=1",
			"XDG_CONFIG_HOME=" + filepath.Join(dir, "home", home),
			"XDG_STATE_HOME=" + filepath.Join(dir, "home/state"),
		},
	}
}

// delegations measures what a subagent costs beside the program that it starts.
func (l *lab) delegations() {
	dir := l.newManyProject(10)
	l.t.Setenv("TMPDIR", filepath.Dir(dir)) // a subagent's own folder for what it keeps for a while
	peer := subject{
		name: "make -j2",
		argv: []string{"make", "-s", "-j2"},
		in:   dir,
	}
	l.compare(
		"P8",
		"1,000 delegations, without sandbox",
		l.runMany(dir, "none", 1000),
		peer,
		0.4,
		true,
	)
	bound := "1,000 delegations, bubblewrap"
	if os.Geteuid() == 0 { // it has more of the kernel's files to cover
		bound += " as root"
	}
	l.compare("P8", bound, l.runMany(dir, "box", 1000), peer, 0.2, true)
	few, all := measurePairs(l.t, l.n, l.runMany(dir, "none", 100), l.runMany(dir, "none", 1000))
	l.add(row{
		goal:   "P8",
		what:   "a delegation of 1,000 beside one of 100",
		ours:   cost{all.wall / 1000, all.cpu / 1000},
		theirs: cost{few.wall / 100, few.cpu / 100},
		peer:   "of 100",
		want:   1.2,
	})
	large := l.runMany(l.newManyProject(10_000), "none", 300)
	large.name = "10,000 files"
	small := l.runMany(dir, "none", 300)
	small.name = "10 files"
	l.compare("P8", "300 delegations among 10,000 files beside 10", large, small, 1.2, false)
	peak := l.peakOf(l.runMany(dir, "none", 1000))
	l.add(row{
		goal:   "P8",
		what:   "peak of 1,000 delegations",
		figure: mb(peak),
		limit:  "<= 40 MB",
		met:    peak <= 40<<20,
	})
}
