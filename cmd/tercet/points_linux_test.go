//go:build amd64 || arm64

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/internal/testkit"
	"tercet/internal/testkit/faults"
)

var pointStep = flag.Int(
	"points",
	0,
	"kill shipped commands at every n-th line of the journal; 0: at the first of each kind",
)

// underFaults puts the program under the filter of a test that asks for it.
func underFaults() {
	if os.Getenv("TEST_FAULTS") == "" || filepath.Base(os.Args[0]) != "tercet" {
		return
	}
	err := errors.Join(os.Unsetenv("TEST_FAULTS"), faults.Enter(os.NewFile(3, "faults"), true))
	if err != nil {
		panic(err)
	}
}

const twoPhases = "# Two files\n\n## Write the first\n\n```sh\necho one > one.txt\n```\n\n" +
	"## Write the second\n\n```sh\necho two > two.txt\n```\n\n" +
	"## Verification\n\n```sh\ntest -f one.txt\n```\n"

// pointRun is a project in which a command is killed, with a person's state folder.
type pointRun struct {
	t         *testing.T
	dir, home string
}

func (p pointRun) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	p.t.Helper()

	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(p.t.Context(), 5*time.Minute)
	p.t.Cleanup(cancel)

	cmd := exec.CommandContext(ctx, self, args...)

	var out bytes.Buffer
	// TestMain looks at the name
	cmd.Args[0] = "tercet"
	cmd.Dir = p.dir
	cmd.Stdout = &out
	cmd.Stderr = &out
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + p.home,
		"LANG=C",
		"TERCET_TRUST=1",
		"GIT_CONFIG_NOSYSTEM=1",
		"GORACE=atexit_sleep_ms=0",
	}

	return cmd, &out
}

func (p pointRun) run(args ...string) (int, string) {
	cmd, out := p.command(args...)
	err := cmd.Run()
	if cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// entries are the writes of the journal, of which the n-th kills; with 0 they are counted.
func (p pointRun) entries(n int) faults.Plan {
	return faults.Plan{
		Under: filepath.Join(p.dir, ".tercet/runs"),
		At:    n,
		Only: func(c faults.Call) bool {
			return c.Name == "write" && filepath.Base(c.Path) == "journal.jsonl"
		},
	}
}

// killed runs a command and kills it where the plan says.
func (p pointRun) killed(plan faults.Plan, args ...string) (faults.Outcome, string) {
	p.t.Helper()

	cmd, out := p.command(args...)
	cmd.Env = append(cmd.Env, "TEST_FAULTS=1")

	test, program, err := faults.Pair()
	if err != nil {
		p.t.Fatal(err)
	}

	cmd.ExtraFiles = []*os.File{program}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}

	program.Close()
	l, err := faults.Accept(test)
	var came faults.Outcome
	if err == nil {
		came, err = l.Serve(cmd.Process, plan)
	}

	cmd.Wait() // how it ended is in its state

	if errors.Is(err, faults.ErrUnavailable) {
		p.t.Skip(err)
	}
	if err != nil {
		p.t.Fatal(err)
	}

	return came, out.String()
}

func (p pointRun) git(args ...string) string {
	p.t.Helper()

	cmd := exec.CommandContext(
		p.t.Context(),
		"git",
		append([]string{"-c", "user.name=U", "-c", "user.email=u@localhost"}, args...)...,
	)
	cmd.Dir = p.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "GIT_CONFIG_NOSYSTEM=1"}

	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %q = %v\n%s", args, err, out)
	}

	return strings.TrimSpace(string(out))
}

// end is what there is after a command, without what differs from run to run.
type end struct {
	Tasks, Commits, Branches []string
	Worktrees, Archived      int
	Clean                    string
}

func (p pointRun) end() (e end) {
	p.t.Helper()
	tasks := func(file string) (out []string) {
		text, err := os.ReadFile(filepath.Join(p.dir, ".tercet", file))
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}

		var state struct {
			Tasks []struct {
				Number    int
				Status    string
				Lease     any
				Artifacts []struct{ Type string }
			}
		}
		if err := errors.Join(err, json.Unmarshal(text, &state)); err != nil {
			p.t.Fatalf("%s: %v\n%s", file, err, text)
		}
		for _, task := range state.Tasks {
			var kinds []string
			for _, a := range task.Artifacts {
				kinds = append(kinds, a.Type)
			}
			slices.Sort(kinds)
			out = append(
				out,
				fmt.Sprint(task.Number, task.Status, task.Lease, slices.Compact(kinds)),
			)
		}

		return out
	}
	e.Tasks = tasks("state.json")
	e.Archived = len(tasks("archive/state.json"))
	e.Commits = strings.Split(p.git("log", "--format=%s", "main"), "\n")
	e.Branches = strings.Split(p.git("for-each-ref", "--format=%(refname)", "refs"), "\n")
	places, err := filepath.Glob(filepath.Join(p.dir, ".tercet/worktrees/*"))
	if err != nil {
		p.t.Fatal(err)
	}
	e.Worktrees = strings.Count(p.git("worktree", "list"), "\n") + len(places)
	e.Clean = p.git("status", "--porcelain", "--", ":!.tercet")
	return e
}

// copy is the same project once more.
func (p pointRun) copy(t *testing.T) pointRun {
	t.Helper()

	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	out := pointRun{
		t:    t,
		dir:  filepath.Join(real, "project"),
		home: filepath.Join(real, "home"),
	}
	err = errors.Join(os.CopyFS(out.dir, os.DirFS(p.dir)), copyHome(out.home, p.home))
	if err != nil {
		t.Fatal(err)
	}

	return out
}

// TestEveryJournalLineCanBeGoneOnFrom kills each shipped command that changes something before a
// line of its journal is written, types the same line once more, and looks for what an
// uninterrupted run leaves, and for nothing beside it.
func TestEveryJournalLineCanBeGoneOnFrom(t *testing.T) {
	t.Parallel()
	if err := faults.Available(); err != nil {
		t.Skip(err)
	}
	testkit.OnlyDeep(t, "many whole runs")
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}

	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	p := pointRun{
		t:    t,
		dir:  filepath.Join(root, "project"),
		home: filepath.Join(root, "home"),
	}

	err = errors.Join(
		os.MkdirAll(p.dir, 0o755),
		os.MkdirAll(p.home, 0o755),
		os.WriteFile(filepath.Join(p.dir, "task.md"), []byte(twoPhases), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}

	p.git("init", "-q", "-b", "main")
	p.git("add", "task.md")
	p.git("commit", "-q", "-m", "a task")

	do := func(args ...string) {
		if code, out := p.run(args...); code != 0 {
			t.Fatalf("%q = %d\n%s", args, code, out)
		}
	}

	do("init")
	do("/task", "--from", "task.md")

	for _, c := range []struct {
		line string
		exit int
	}{
		{"/research 1", 0},
		{"/plan 1", 0},
		{"/revise 1 another", 0},
		{"--yes /implement 1", 0},
		{"/review 1", 3}, // no check is known here
		{"--yes /todo", 0},
	} {
		args := strings.Fields(c.line)

		p.points(c.exit, args)
		// its phase for a person would keep /implement from completing
		if c.exit == 0 && args[0] != "/revise" {
			do(args...)
		}
	}
}

// lines picks the lines before which a command is killed: every so many, or with 0 the first of
// each kind of entry, and the one behind the first change of the state, whose lease is that of a
// process which is gone.
func (p pointRun) lines(all, step int) (out []int) {
	p.t.Helper()
	if step > 0 {
		for n := 1; n <= all; n += step {
			out = append(out, n)
		}
		return out
	}

	names, err := filepath.Glob(filepath.Join(p.dir, journal.Folder, "*", journal.Name))
	if err != nil || len(names) == 0 {
		p.t.Fatalf("journals %q, %v", names, err)
	}
	slices.SortFunc(names, func(a, b string) int { // the newest is that of the command
		return strings.Compare(started(p.t, b), started(p.t, a))
	})
	data, err := os.ReadFile(names[0])
	if err != nil {
		p.t.Fatal(err)
	}
	records, err := journal.Read(data)
	if err != nil || len(records) != all {
		p.t.Fatalf("%d lines in the journal, %v; want %d", len(records), err, all)
	}
	seen := map[formats.EntryType]bool{}
	for i, r := range records {
		if !seen[r.Type] ||
			i > 0 && records[i-1].Type == formats.EntryStateCommitted && !seen["behind"] {
			out = append(out, i+1)
		}
		seen[r.Type] = true
		seen["behind"] = seen["behind"] || i > 0 && records[i-1].Type == formats.EntryStateCommitted
	}

	return out
}

// started is the time at which a run began, as its journal has it.
func started(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	records, err := journal.Read(data)
	if err != nil || len(records) == 0 {
		return ""
	}
	return records[0].Time.Format(time.RFC3339Nano)
}

// points kills a command at its lines.
func (p pointRun) points(exit int, args []string) {
	t := p.t

	name := strings.TrimPrefix(
		args[slices.IndexFunc(args, func(s string) bool {
			return s[0] == '/'
		})],
		"/",
	)

	whole := p.copy(t)
	lines, said := whole.killed(whole.entries(0), args...)
	if lines.Calls < 5 {
		t.Fatalf("%s: %d lines in the journal\n%s", name, lines.Calls, said)
	}

	if code, out := p.copy(t).run(args...); code != exit {
		t.Fatalf("%q = %d, want %d\n%s", args, code, exit, out)
	}

	want := whole.end()
	for _, n := range whole.lines(lines.Calls, *pointStep) {
		t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
			one := p.copy(t)
			came, first := one.killed(one.entries(n), args...)
			if !came.Reached {
				t.Fatalf("the run ended after %d lines\n%s", came.Calls, first)
			}

			code, again := one.run(args...)
			if d := cmp.Diff(want, one.end()); d != "" {
				t.Errorf(
					"killed before line %d and run again (exit %d), (-want +got)\n%s\nfirst:\n"+
						"%s\nagain:\n%s",
					n, code, d, first, again,
				)
			}

			if left := standingIn(one.dir); len(left) > 0 {
				t.Errorf("killed before line %d: %q still run", n, left)
			}

			if code, out := one.run("state", "verify"); code != 0 {
				t.Errorf("state verify = %d\n%s", code, out)
			}
		})
	}
}

// TestKilledOnTheWay kills /delivery-flow at Standard, with screens, two tasks and a rollback, at a
// hundred lines of its journal or more that -seed picks, with -lines at three hundred, before the
// line is written or behind it: a run is killed again and again on its way to the end. It leaves
// what a run that nobody killed leaves, by the same workers in the same order; no worker whose
// result was there is started again, no kill starts more than one.
func TestKilledOnTheWay(t *testing.T) {
	t.Parallel()
	if err := faults.Available(); err != nil {
		t.Skip(err)
	}
	testkit.OnlyDeep(t, "many processes")
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}

	seed := *crashSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-seed %d", seed)

	random := rand.New(rand.NewPCG(seed, 16))

	first := readCrash(t, "delivery")
	first.only = ofJournal
	whole := first.clone(t)
	w := whole.drive()
	if w.code != first.exit {
		t.Fatalf("exit code %d, want %d\n%s", w.code, first.exit, w.said.String())
	}
	want := whole.collect(w, 0)

	sequence, _ := whole.sequence()

	most := 100
	if *crashLines > 0 {
		most = 300
	}

	for all := 0; all < most; {
		points := make([]int, 400)
		at := 0
		for i := range points {
			at += 1 + random.IntN(farthest)
			points[i] = at
		}

		one := first.clone(t)
		w := one.drive(points...)
		one.compare(t, want, w)

		got, again := one.sequence()
		if again > len(w.kills) {
			t.Errorf("killed %d times: %d workers were started again", len(w.kills), again)
		}
		if d := cmp.Diff(sequence, got); d != "" {
			t.Errorf("workers in their order (-whole +killed)\n%s", d)
		}

		all += len(w.kills)
		if t.Failed() || len(w.kills) == 0 {
			t.Fatalf("%d kills in all", all)
		}

		t.Logf("killed %d times, %d workers started again", len(w.kills), again)
	}
}

// sequence are the workers in the order in which they were first started, and how many of them were
// started again.
func (c *crash) sequence() (first []string, again int) {
	c.t.Helper()
	for line := range strings.Lines(readIn(c.t, os.DirFS(c.root), "starts")) {
		if step, _, _ := strings.Cut(line, " "); slices.Contains(first, step) {
			again++
		} else {
			first = append(first, step)
		}
	}
	return first, again
}

// farthest is how many lines of the journal behind the last kill the next one is at most, before a
// line and behind it counted apart.
const farthest = 9
