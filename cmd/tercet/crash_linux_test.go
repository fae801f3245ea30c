//go:build amd64 || arm64

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/internal/scenario"
	"tercet/internal/testkit"
	"tercet/internal/testkit/faults"
)

var (
	crashCalls = flag.Int(
		"calls",
		0,
		"at how many system calls TestKilledAnywhere kills each workflow, once and twice; 0: "+
			"at a few",
	)
	crashLines = flag.Int(
		"lines",
		0,
		"kill each workflow at every n-th line of its journal, once and twice; 0: at one or two",
	)
	crashSeed = flag.Uint64("seed", 1, "picks the calls and lines of TestKilledAnywhere; 0: any")
)

// mostProcesses is how many processes a workflow may take to its end, beside those that are killed.
const mostProcesses = 12

// crash is a workflow that is killed: a project with what a person types there.
type crash struct {
	pointRun

	root    string // of the project, the person's home and the folder for temporary files
	line    []string
	answers []string // to its gates, in order
	back    string   // the step that a person goes back to at the first gate
	at      int      // the line at which it is always killed; 0: at one of them
	exit    int
	flow    bool // a flow of the pack
	// one more than the fourteen shapes, which is killed at every fourth place only
	sampled bool
	kept    string // a text and the file of a branch that has it, which is not published
	// how often a delegation was started when its result stood in the journal, by its key
	done map[string]int

	only func(faults.Call) bool // the calls that are counted
}

// readCrash makes the project of an archive, or of a test of the pack flows, as 'flow NAME'. The
// first line of an archive's comment is what is typed.
func readCrash(t *testing.T, name string) *crash {
	t.Helper()
	c := newCrash(t)

	title := "Kill me"
	before := "true"
	var tasks [][]string
	archives := []string{"all", name}
	if test, ok := strings.CutPrefix(name, "flow "); ok {
		archives = archives[:1]
		c.play(test)
	}

	for _, file := range archives {
		a, err := txtar.ParseFile(filepath.Join("testdata", "killed", file+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			data := f.Data
			// a file of another package's tests
			if from, ok := bytes.CutPrefix(data, []byte("from ")); ok {
				data, err = os.ReadFile(filepath.FromSlash(strings.TrimSpace(string(from))))
				if err != nil {
					t.Fatal(err)
				}
			}

			to := filepath.Join(c.dir, f.Name)
			if in, ok := strings.CutPrefix(f.Name, "home/"); ok {
				to = filepath.Join(c.home, in)
			}

			err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, data, 0o755))
			if err != nil {
				t.Fatal(err)
			}
		}

		for line := range strings.Lines(string(a.Comment)) {
			word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch word {
			case "$":
				c.line = strings.Fields(rest)
			case "agents:", "reviewers:":
				role := map[string]string{"agents:": "utility", "reviewers:": "reviewer"}[word]
				for name := range strings.FieldsSeq(rest) {
					name, tools, _ := strings.Cut(name, "+")
					text := fmt.Sprintf(
						"---\nname: %s\ndescription: Is a script\nrole: %s\ntools: [write, %s]\n"+
							"runner: exec\nargv: [./work.sh]\n"+
							"returns: {artifacts: [{type: documentation, optional: true}, {type: "+
							"summary, optional: true}]}\n---\n\nWork.\n",
						name, role, cmp.Or(tools, "read"),
					)
					err := os.WriteFile(
						filepath.Join(c.dir, ".tercet/subagents", name+".md"),
						[]byte(text),
						0o600,
					)
					if err != nil {
						t.Fatal(err)
					}
				}
			case "back:":
				c.back = rest
			case "flow:":
				c.play(rest)
			case "kept:":
				c.kept = rest
			case "task:":
				title = rest
			case "tasks:":
				tasks = append(tasks, append([]string{"task"}, strings.Fields(rest)...))
			case "sh:":
				before = rest
			case "gate:":
				c.answers = append(c.answers, rest)
			case "exit:", "at:":
				to := map[string]*int{"exit:": &c.exit, "at:": &c.at}[word]
				*to, err = strconv.Atoi(rest)
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}

	for _, args := range append([][]string{{"init", "-q"}, {"task", "add", title}}, tasks...) {
		if code, out := c.run(args...); code != 0 {
			t.Fatalf("%q = %d\n%s", args, code, out)
		}
	}

	for _, args := range []string{"init -q --template= -b main", "add -A", "commit -q -m first"} {
		c.git(strings.Fields(args)...)
	}
	c.git("-c", "alias.do=!"+before, "do")
	return c
}

// play takes a test of the pack flows: its line, the pack's files as they are, and as a script each
// subagent that the test has returns for.
func (c *crash) play(name string) {
	c.t.Helper()
	from := os.DirFS(flows)
	test, err := scenario.Parse(name, []byte(readIn(c.t, from, "tests/"+name+".json")))
	if err != nil {
		c.t.Fatal(err)
	}
	c.flow = true
	c.exit = test.Expect.Exit
	c.line = append([]string{"--json", "--yes"}, strings.Fields(test.Line)...)
	w := packWorld{t: c.t, dir: c.dir}
	w.add(from)
	for file, text := range test.Files {
		w.put(filepath.Join(c.dir, file), text)
	}

	for agent, returns := range test.Returns {
		file := filepath.Join(c.dir, ".tercet/subagents", agent+".md")
		text := readIn(c.t, from, "subagents/"+agent+".md")
		if strings.Contains(text, "\nrunner: builtin\n") { // Go does its work
			continue
		}
		w.put(file, strings.Replace(
			text,
			"\ndescription:",
			"\nrunner: exec\nargv: [./work.sh]\ndescription:",
			1,
		))
		for i, ret := range returns {
			dir := filepath.Join(c.dir, "returns", agent, strconv.Itoa(i+1))
			w.put(filepath.Join(dir, "return"), ret.Text)
			for path, text := range ret.Writes {
				w.put(
					filepath.Join(
						dir,
						map[bool]string{true: "out", false: "tree"}[strings.HasSuffix(path, ".md")],
						path,
					),
					text,
				)
			}
		}
	}
}

func newCrash(t *testing.T) *crash {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	c := &crash{
		root: root,
		only: faults.Call.Changes,
		pointRun: pointRun{
			t:    t,
			dir:  filepath.Join(root, "project"),
			home: filepath.Join(root, "home"),
		},
	}

	err = errors.Join(
		os.Mkdir(c.dir, 0o755),
		os.Mkdir(c.home, 0o755),
		os.Mkdir(filepath.Join(root, "tmp"), 0o755),
	)
	if err != nil {
		t.Fatal(err)
	}

	return c
}

// copyHome copies a home. os.CopyFS gives files that others may read, and tercet refuses such keys.
func copyHome(to, from string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	keys, err := filepath.Glob(filepath.Join(to, ".local/state/tercet/keys/*"))
	for _, key := range keys {
		err = errors.Join(err, os.Chmod(key, 0o600))
	}
	return err
}

// clone makes a second project like this one.
func (c *crash) clone(t *testing.T) *crash {
	t.Helper()

	out := newCrash(t)
	out.line = c.line
	out.answers = c.answers
	out.back = c.back
	out.at = c.at
	out.exit = c.exit
	out.kept = c.kept
	out.only = c.only

	err := errors.Join(os.CopyFS(out.dir, os.DirFS(c.dir)), copyHome(out.home, c.home))
	if err != nil {
		t.Fatal(err)
	}

	return out
}

// crashRun is what a workflow did on the way to its end, in all its processes.
type crashRun struct {
	calls int      // that are counted, of all processes
	lines int      // of the journal, before it and behind it, of a workflow that is not killed
	kills []string // the calls before which it was killed
	code  int
	out   []byte // of the process that came to the end; nil: that was killed behind it
	said  strings.Builder
}

// drive types the line, and does what a person would do until the run is over. It kills the process
// before each of the calls, counted over all processes; what a killed process leaves running,
// nobody waits for.
func (c *crash) drive(kills ...int) *crashRun {
	w := &crashRun{}

	for range mostProcesses + len(kills) {
		args := c.next()
		if args == nil {
			return w
		}
		if w.code != 0 && slices.Equal(args, c.line) {
			break
		}

		at := 0
		switch {
		case len(kills) > len(w.kills):
			at = kills[len(w.kills)] - w.calls
		case len(kills) > 0:
			at = unwatched
		}

		c.process(w, at, args...)
	}

	said := w.said.String()
	c.t.Fatalf("it does not come to its end\n%s", said[max(0, len(said)-4000):])
	return w
}

// next is what a person types to get on, nil when the run is over.
func (c *crash) next() []string {
	c.t.Helper()
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		c.t.Fatal(err)
	}
	defer root.Close()
	runs, err := journal.Runs(root, false)
	if err != nil || len(runs) > 1 {
		c.t.Fatalf("runs = %v, %v; want one at most", runs, err)
	}
	if len(runs) == 0 {
		return c.line
	}

	r := runs[0]
	records, err := journal.Load(root, r.ID)
	if err != nil {
		c.t.Fatal(err)
	}
	c.finished(records)
	if journal.Finished(records) {
		return nil
	}

	decided := 0
	if c.back != "" && r.Gate != "" &&
		!slices.ContainsFunc(records, func(r journal.Record) bool {
			return r.Type == formats.EntryWentBack
		}) {
		return []string{"--yes", "resume", "--json", "--from", c.back, r.ID}
	}

	for _, one := range records {
		if one.Type == formats.EntryGateDecided {
			decided++
		}
	}

	given, err := filepath.Glob(filepath.Join(c.dir, journal.Folder, r.ID, "answers", "*.json"))
	if err != nil {
		c.t.Fatal(err)
	}
	if r.Gate != "" && decided < len(c.answers) && len(given) <= decided {
		return []string{"approve", r.ID, "--choice", c.answers[decided]}
	}

	line := []string{"resume", "--json", r.ID}
	if slices.Contains(c.line, "--yes") { // it counts for one process
		line = append([]string{"--yes"}, line...)
	}
	return line
}

// finished holds that no worker is started again whose result stands in the journal.
func (c *crash) finished(records []journal.Record) {
	c.t.Helper()

	data, err := os.ReadFile(filepath.Join(c.root, "starts"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.t.Fatal(err)
	}

	if c.done == nil {
		c.done = map[string]int{}
	}

	for _, r := range records {
		if r.Type != formats.EntryDelegationResult {
			continue
		}
		n := strings.Count(string(data), " "+r.Key+"\n")
		if was, ok := c.done[r.Key]; ok && n > was {
			c.t.Errorf("%s was started again, and its result stood in the journal", r.Step)
		}
		c.done[r.Key] = n
	}
}

// unwatched is a process whose calls nobody counts.
const unwatched = -1

// process runs the program, and kills it before one of its calls; 0: at none.
func (c *crash) process(w *crashRun, at int, args ...string) {
	c.t.Helper()
	cmd, _ := c.command(args...)
	cmd.Env = append(cmd.Env, "TMPDIR="+filepath.Join(c.root, "tmp"))
	streams := [2]*os.File{}
	for i := range streams { // no pipe, which whoever outlives the program would hold
		f, err := os.CreateTemp(c.t.TempDir(), "said")
		if err != nil {
			c.t.Fatal(err)
		}
		defer f.Close()
		streams[i] = f
	}

	cmd.Stdout = streams[0]
	cmd.Stderr = streams[1]
	if at == unwatched {
		cmd.Run() // how it ended is in its state
		w.ended(c, cmd, 0)
		return
	}

	test, program, err := faults.Pair()
	if err != nil {
		c.t.Fatal(err)
	}

	cmd.Env = append(cmd.Env, "TEST_FAULTS=1")
	cmd.ExtraFiles = []*os.File{program}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	program.Close()

	l, err := faults.Accept(test)
	if errors.Is(err, faults.ErrUnavailable) {
		cmd.Wait() // it ended by itself
		c.t.Skip(err)
	}
	if err != nil {
		c.t.Fatal(err)
	}

	came := make(chan served, 1)
	plan := faults.Plan{
		Under: c.root,
		At:    at,
		Only:  c.only,
	}

	if at == 0 {
		unsynced := false
		plan.Bytes = true
		plan.Record = func(call faults.Call) {
			if ofJournal(call) {
				w.lines++
				if call.Name == "write" && unsynced {
					c.t.Errorf(
						"call %d writes a line of the journal, and the one before it is not synced",
						call.N,
					)
				}
				unsynced = call.Name == "write" && !decided.Match(call.Data)
			}
		}
	}

	go func() {
		out, err := l.Serve(cmd.Process, plan)
		came <- served{out, err}
	}()

	cmd.Wait() // how it ended is in its state
	if cmd.ProcessState.ExitCode() < 0 && at > 0 {
		w.ended(c, cmd, at)
		w.kills = append(w.kills, strings.Join(args, " ")+" at "+strconv.Itoa(at))
		c.t.Cleanup(func() {
			if out := c.served(came); out.err != nil {
				c.t.Error(out.err)
			}
		})
		return
	}

	out := c.served(came)
	if out.err != nil {
		c.t.Fatal(out.err)
	}
	w.ended(c, cmd, out.Calls)
}

// served is what came of a process under a filter.
type served struct {
	faults.Outcome
	err error
}

// served waits for the last process under a filter, and names those that do not end.
func (c *crash) served(came <-chan served) (out served) {
	select {
	case out = <-came:
	case <-time.After(patience):
		out.err = fmt.Errorf("%q still run", standingIn(c.root))
	}
	return out
}

// decided are the lines that a run decides again: they are on the disk with the next one that is
// not.
var decided = regexp.MustCompile(`"type":"(step_scheduled|step_finished|loop_entered)"`)

// ofJournal are the calls that write a line of the journal: killed before its write it is not
// there, killed before its sync it is there and nothing is done yet of what comes behind it.
func ofJournal(c faults.Call) bool {
	return (c.Name == "write" || c.Name == "fsync") && filepath.Base(c.Path) == journal.Name
}

// ended takes in what a process said, if it came to its end also as the last word of the run.
func (w *crashRun) ended(c *crash, cmd *exec.Cmd, calls int) {
	c.t.Helper()

	var text [2]string
	for i, stream := range []any{cmd.Stdout, cmd.Stderr} {
		data, err := os.ReadFile(stream.(*os.File).Name())
		if err != nil {
			c.t.Fatal(err)
		}
		text[i] = string(data)
	}

	w.calls += calls
	code := cmd.ProcessState.ExitCode()
	fmt.Fprintf(&w.said, "$ tercet %s\n%s%s[%d]\n",
		strings.Join(cmd.Args[1:], " "), text[0], text[1], code)

	w.out = nil
	if code >= 0 {
		w.code = code
		w.out = []byte(text[0])
	}
}

// finalState is what there is after a workflow, without what differs from run to run.
type finalState struct {
	Files    map[string]string
	Return   []string
	Changes  []string // of the state
	Steps    []string // what the journal has
	Starts   []string // of workers
	Commits  []string
	Branches []string
}

var changing = regexp.MustCompile(
	`[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+(Z|[+-][0-9:]+)?|[0-9a-f]{12,64}|` +
		`"?serial"?:? [0-9]+|sess_[0-9a-z_]+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`,
)

// collect looks at everything, and holds what must be so whatever happened: nothing twice, nothing
// that still runs.
func (c *crash) collect(w *crashRun, kills int) (l finalState) {
	t := c.t
	t.Helper()
	if still := standingIn(c.root); len(still) > 0 {
		t.Errorf("%q still run", still)
	}

	root, err := os.OpenRoot(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()

	runs, err := journal.Runs(root, false)
	if err != nil || len(runs) != 1 {
		t.Fatalf("runs = %v, %v; want one", runs, err)
	}
	id := runs[0].ID
	for _, args := range [][]string{{"state", "verify"}, {"verify", id}} {
		if code, out := c.run(args...); code != 0 {
			t.Errorf("%q = %d\n%s", args, code, out)
		}
	}

	plain := func(s string) string {
		return changing.ReplaceAllString(strings.ReplaceAll(s, id, "RUN"), "…")
	}

	l.Files = map[string]string{}
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() &&
			slices.Contains([]string{".git", ".tercet/runs", ".tercet/backups"}, name):
			return fs.SkipDir
		case strings.HasPrefix(name, ".tercet/TASK.md"):
			// a kill behind the last entry leaves the view of the one before
			return nil
		case d.IsDir(),
			slices.Contains(
				[]string{
					".tercet/audit.jsonl",
					".tercet/state.json.bak",
					".tercet/state.lock.info",
				},
				name,
			):
			return nil
		}
		data, err := fs.ReadFile(root.FS(), name)
		l.Files[plain(name)] = plain(string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	if w.out != nil {
		l.Return = c.returned(w, plain)
	}
	l.Changes = c.changes(plain)
	l.Steps = c.steps(root, id, plain)
	l.Starts = c.starts(kills)

	log := strings.Split(
		c.git("log", "--format=%s %(trailers:key=Tercet-Txn,separator=)", "--all"),
		"\n",
	)
	c.once(
		"commit",
		slices.DeleteFunc(log, func(line string) bool {
			return !strings.Contains(line, "Tercet-Txn")
		}),
	)

	l.Commits = strings.Split(plain(c.git("log", "--format=%s", "main")), "\n")
	slices.Sort(l.Commits) // of two of one second either may come first

	var kept []string
	text, file, _ := strings.Cut(c.kept, " ")
	for ref := range strings.FieldsSeq(c.git("for-each-ref", "--format=%(refname)")) {
		// What a killed attempt left; and where loose work is set aside, the branch of the task
		// that has nothing (docs/rough-edges.md).
		empty := c.kept != "" && ref != "refs/heads/main" &&
			c.git("rev-parse", ref) == c.git("rev-parse", "main")
		if !strings.Contains(ref, "/tercet/wip/") && !empty {
			l.Branches = append(l.Branches, plain(ref))
		}
		if c.kept != "" &&
			strings.Contains(c.git("log", "-p", "--format=", ref, "--", file), "\n+"+text) {
			kept = append(kept, ref)
		}
	}

	if c.kept != "" &&
		(len(kept) == 0 || slices.Contains(kept, "refs/heads/main") ||
			strings.Contains(l.Files[".tercet/state.json"], `"completed"`)) {
		t.Errorf("%s is on %q, want it on a branch and not on main; the state is\n%s",
			c.kept, kept, l.Files[".tercet/state.json"])
	}
	if trees := c.git("worktree", "list"); strings.Contains(trees, "\n") {
		t.Errorf("worktrees are left:\n%s", trees)
	}

	for _, pattern := range []string{
		"tmp/tercet-*",
		"home/.local/state/tercet/children/*",
		"project/.tercet/worktrees/*",
	} {
		names, err := filepath.Glob(filepath.Join(c.root, pattern))
		for end := time.Now().Add(patience); len(names) > 0 &&
			time.Now().Before(end); <-time.After(10 * time.Millisecond) {
			// the supervisor of a killed process puts away after it
			names, err = filepath.Glob(filepath.Join(c.root, pattern))
		}
		if err != nil || len(names) > 0 {
			t.Errorf("%q is left, %v", names, err)
		}
	}

	return l
}

// once tells of what is in a list twice.
func (c *crash) once(what string, list []string) {
	c.t.Helper()
	seen := map[string]bool{}
	for _, one := range list {
		if seen[one] {
			c.t.Errorf("%s %s was made twice", what, one)
		}
		seen[one] = true
	}
}

// returned is what the program printed, without what was measured.
func (c *crash) returned(w *crashRun, plain func(string) string) []string {
	c.t.Helper()

	var ret struct {
		Status, Summary, Text string
		Artifacts, Errors     []map[string]any
		Fields                map[string]any
		NextSteps             any `json:"next_steps"`
	}

	if err := json.Unmarshal(w.out, &ret); err != nil {
		c.t.Fatalf("%v: %s\n%s", err, w.out, w.said.String())
	}

	out, err := json.MarshalIndent(ret, "", " ")
	if err != nil {
		c.t.Fatal(err)
	}

	return append(strings.Split(plain(string(out)), "\n"), fmt.Sprint(w.code))
}

// changes are the transactions of the state that were made, without those about leases; each was
// made once.
func (c *crash) changes(plain func(string) string) (out []string) {
	c.t.Helper()
	data, err := os.ReadFile(filepath.Join(c.dir, ".tercet/audit.jsonl"))
	if err != nil {
		c.t.Fatal(err)
	}
	var txns []string
	for line := range strings.Lines(string(data)) {
		var l struct {
			Kind, Txn string
			Ops       []map[string]any
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			c.t.Fatal(err)
		}
		l.Ops = slices.DeleteFunc(l.Ops, func(op map[string]any) bool {
			return op["op"] == "set_lease"
		})
		ops, err := json.Marshal(l.Ops)
		if err != nil {
			c.t.Fatal(err)
		}
		at := slices.Index(txns, l.Txn)
		switch {
		case l.Kind == "write":
			txns = append(txns, l.Txn)
			out = append(out, plain(string(ops)))
		case l.Kind == "aborted" && at >= 0:
			txns = slices.Delete(txns, at, at+1)
			out = slices.Delete(out, at, at+1)
		}
	}

	c.once("change", txns)
	return slices.DeleteFunc(out, func(ops string) bool { return ops == "[]" })
}

// steps is what the journal has, without what belongs to a process. What ran side by side may have
// ended in any order.
func (c *crash) steps(root *os.Root, id string, plain func(string) string) (out []string) {
	c.t.Helper()

	records, err := journal.LoadComplete(root, id)
	if err != nil {
		c.t.Fatal(err)
	}

	for _, r := range records {
		if r.Type == formats.EntrySuspended || r.Type == formats.EntryResumed {
			continue
		}
		line := fmt.Sprintf("%s %s.%d", r.Type, r.Step, r.Attempt)
		if r.Type == formats.EntryStepFinished || r.Type == formats.EntryLoopEntered {
			line += fmt.Sprintf(" %s", r.Data)
		}
		out = append(out, plain(line))
	}

	slices.Sort(out)
	return out
}

// starts are the delegations to workers that were started, none more often than it was killed and
// once.
func (c *crash) starts(kills int) []string {
	c.t.Helper()

	data, err := os.ReadFile(filepath.Join(c.root, "starts"))
	if err != nil {
		c.t.Fatal(err)
	}

	count := map[string]int{}
	names := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		count[line]++
		name, _, _ := strings.Cut(line, " ")
		names[name] = true
	}

	for line, n := range count {
		if n > 1+kills {
			c.t.Errorf("killed %d times: %s was started %d times",
				kills, strings.TrimSpace(line), n)
		}
	}

	return slices.Sorted(maps.Keys(names))
}

// TestKilledAnywhere kills workflows of every shape before system calls of theirs and at lines of
// their journals, once and twice, goes on as a person would, and finds what a run that nobody
// killed leaves.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	if err := faults.Available(); err != nil {
		t.Skip(err)
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}

	seed := *crashSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-seed %d", seed)

	files, err := filepath.Glob("testdata/killed/*.txtar")
	if err != nil {
		t.Fatal(err)
	}

	for number, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		// large: with the flags alone
		flow := slices.Contains([]string{"delivery", "maintenance", "discovery", "implement"}, name)
		if name == "all" || flow && *crashCalls+*crashLines == 0 ||
			!testkit.Deep() && number%12 > 0 {
			continue
		}

		t.Run(name, func(t *testing.T) {
			t.Parallel()

			first := readCrash(t, name)
			first.sampled = slices.Contains(
				[]string{
					"abreast", "agent", "back", "conflict", "dirty", "implement", "loose", "named",
				},
				name,
			)

			whole := first.clone(t)
			w := whole.drive()
			if w.code != first.exit {
				t.Fatalf("exit code %d, want %d\n%s", w.code, first.exit, w.said.String())
			}

			want := whole.collect(w, 0)
			h := fnv.New64()
			h.Write([]byte(name))
			random := rand.New(rand.NewPCG(seed, h.Sum64()))
			t.Logf("%d calls, %d at lines", w.calls, w.lines)

			first.atCalls(t, want, w.calls, number, random)
			lines := *first
			lines.only = ofJournal
			lines.atLines(t, want, w.lines, random)
		})
	}
}

// atCalls kills the workflow before some of its calls.
func (c *crash) atCalls(t *testing.T, want finalState, all, number int, random *rand.Rand) {
	t.Helper()

	n := *crashCalls
	if c.sampled {
		n = (n + 3) / 4
	}

	points := n
	if n == 0 && *crashLines == 0 && c.kept == "" {
		points = 1
		if number%3 == 0 && testkit.Deep() { // twenty in all
			points = 2
		}
	}

	for i := range points {
		at := 1 + all*i/points + random.IntN(max(1, all/points))
		again := at + 1 + random.IntN(all)
		both := n > 0 && !c.flow

		odd := number%2 == 1
		if c.flow { // a run is long
			odd = i%2 == 1
		}

		if both || !odd {
			c.killedAt(t, want, at)
		}
		if both || odd {
			c.killedAt(t, want, at, again)
		}
	}
}

// atLines kills the workflow before a line of its journal and behind it.
func (c *crash) atLines(t *testing.T, want finalState, all int, random *rand.Rand) {
	t.Helper()

	step := *crashLines
	if step == 0 && *crashCalls == 0 && testkit.Deep() {
		c.killedAt(t, want, cmp.Or(c.at, 1+random.IntN(all)))
		return
	}

	first := 1
	if c.sampled {
		step *= 4
		first += random.IntN(max(1, step))
	}

	for at := first; step > 0 && at <= all; at += step {
		c.killedAt(t, want, at)
		if !c.flow { // a run is long, and TestKilledOnTheWay kills one many times
			c.killedAt(t, want, at, at+1+random.IntN(all))
		}
	}
}

// killedAt kills the workflow at some calls, and compares what it leaves.
func (c *crash) killedAt(t *testing.T, want finalState, kills ...int) {
	t.Helper()
	t.Run(fmt.Sprint(kills), func(t *testing.T) {
		t.Parallel()
		one := c.clone(t)
		w := one.drive(kills...)
		one.compare(t, want, w)
	})
}

// compare compares what is left of a workflow with what one leaves that nobody killed.
func (c *crash) compare(t *testing.T, want finalState, w *crashRun) {
	t.Helper()

	got := c.collect(w, len(w.kills))
	if w.out == nil {
		got.Return = want.Return
	}

	if d := diff.Diff(want, got); d != "" {
		t.Errorf("(-whole +killed)\n%s", d)
	}

	if t.Failed() {
		t.Logf("killed at %q\n%s", w.kills, w.said.String())
		for _, name := range []string{".tercet/runs/*/journal.jsonl", ".tercet/audit.jsonl"} {
			files, err := filepath.Glob(filepath.Join(c.dir, name))
			for _, file := range files {
				text, rerr := os.ReadFile(file)
				t.Logf("%s %v\n%s", name, errors.Join(err, rerr), text)
			}
		}
	}
}
