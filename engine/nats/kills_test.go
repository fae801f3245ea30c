package nats_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tercet/engine/nats/link"
	"tercet/formats"
	"tercet/internal/journal"
)

// killStep asks for kills at more calls, as scripts/soak.sh does.
var killStep = flag.Int("every", 0,
	"kill the worker of each shipped command at every n-th call, before and after it; 0: once")

// shipped are the commands that change something, in an order in which each has something to do.
var shipped = []struct {
	line string
	code int
}{
	{"/research 4", 0},
	{"/plan 4", 0},
	{"--yes /implement 4", 0},
	{"/review 4", 3}, // no check is known here
	{"/plan 5", 0},
	{"/revise 5 another", 0},
	{"--yes /todo", 0},
}

// phases is the text of a task with two phases.
const phases = "# Two files\n\n## Write the first\n\n```sh\necho one > one.txt\n```\n\n" +
	"## Write the second\n\n```sh\necho two > two.txt\n```\n\n" +
	"## Verification\n\n```sh\ntest -f one.txt\n```\n"

// TestKilledAtEveryLine: the worker of each shipped command dies at a line of its journal, or at
// another call to its home: before the call, or when it was answered. Another worker finishes the
// run. Each finished step is done once, the home has what undisturbed runs leave, and a replay
// decides the same.
func TestKilledAtEveryLine(t *testing.T) {
	t.Parallel()
	whole := newShipped(t)
	whole.plan(tapPlan{})
	worker := whole.underTap("one")
	for i := range shipped {
		whole.finish(i, whole.begin(i))
	}
	worker.kill()
	calls := whole.tapped()
	if len(calls) != len(shipped) {
		t.Fatalf("%d runs ended under the tap, want %d", len(calls), len(shipped))
	}
	want := whole.left()
	t.Logf("calls of the commands: %d", calls)

	if *killStep == 0 {
		plans := make([]tapPlan, len(shipped))
		for i, n := range calls {
			plans[i] = tapPlan{When: []string{before, after}[i%2], Call: 1 + n*(i+1)/(len(calls)+1)}
		}
		killShipped(t, plans, calls, want)
		return
	}
	for at := 1; at <= slices.Max(calls); at += *killStep {
		for _, when := range []string{before, after} {
			t.Run(fmt.Sprintf("%s %d", when, at), func(t *testing.T) {
				t.Parallel()
				plans := slices.Repeat([]tapPlan{{When: when, Call: at}}, len(shipped))
				killShipped(t, plans, calls, want)
			})
		}
	}
}

// killShipped does the shipped commands, of which each loses its worker as its plan says, and looks
// for what they leave without that.
func killShipped(t *testing.T, plans []tapPlan, calls []int, want left) {
	t.Helper()
	p := newShipped(t)

	at := 0
	start := func() *process { return p.underTap([]string{"one", "two"}[at]) }
	p.plan(plans[0])
	worker := start()

	for i, plan := range plans {
		p.plan(plan)
		run := p.begin(i)
		if plan.Call <= calls[i] {
			until(t,
				fmt.Sprintf("the death of the worker of %s at call %d", shipped[i].line, plan.Call),
				worker.ended)
			p.plan(tapPlan{})
			at = 1 - at
			worker = start() // the other one
		}

		p.finish(i, run)
		if t.Failed() {
			t.Fatalf("%s: the worker died %s call %d", shipped[i].line, plan.When, plan.Call)
		}
	}

	if got := p.left(); !reflect.DeepEqual(got, want) {
		t.Errorf("killed %v\nleft %s\nwant %s", plans, got, want)
	}
}

// newShipped makes a team with tasks for the shipped commands.
func newShipped(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	p.write("home/task.md", phases)
	p.push()
	for range 2 {
		p.run(0, "owner", "home", "tercet", "/task", "--from", "task.md")
	}
	return p
}

// begin submits one of the shipped commands.
func (p *place) begin(i int) (run string) {
	p.t.Helper()
	args := append([]string{"tercet", "--on", "team"}, strings.Fields(shipped[i].line)...)
	return strings.TrimSpace(p.run(0, "anna", ".", args...))
}

// finish waits for the end of a run, and checks its journal at the home.
func (p *place) finish(i int, run string) {
	p.t.Helper()
	p.run(shipped[i].code, "anna", ".", "tercet", "--on", "team", "wait", run)

	out := p.onTeam(0, "verify", run)
	if !strings.Contains(out, "identical") {
		p.t.Errorf("verify: %s", out)
	}

	var seen []string
	for _, r := range p.journal(run) {
		if r.Type != formats.EntryDelegationResult {
			continue
		}
		if slices.Contains(seen, r.Step+r.Key) {
			p.t.Errorf("run %s: the result of %s stands in the journal twice", run, r.Step)
		}
		seen = append(seen, r.Step+r.Key)
	}
}

// journal is that of a run at the home.
func (p *place) journal(run string) []journal.Record {
	p.t.Helper()
	records, err := journal.Read([]byte(p.read("home/" + journal.Folder + "/" + run + "/" +
		journal.Name)))
	if err != nil {
		p.t.Fatal(err)
	}
	return records
}

// left is what the home has after runs, without what differs from run to run.
type left struct {
	Tasks    []string // with status, lease and documents
	Archived []string
	Commits  []string
	Branches []string
	Tree     string // of main, where the work is
	Changes  string // in the checkout
	Places   string // the worktrees
	// Documents are those of the tasks, by name.
	Documents map[string]string
}

func (l left) String() string {
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// varying are the parts of documents that differ from run to run: ids of runs, times, hashes and
// durations.
var varying = regexp.MustCompile(
	`\br[0-9a-z]{9,}\b|\b20\d\d-?\d\d-?\d\d([T ][0-9:.Z+-]+)?|\b[0-9a-f]{7,64}\b|\b[0-9.]+ m?s\b`)

func (p *place) left() (l left) {
	p.t.Helper()

	git := func(args ...string) string {
		return strings.TrimSpace(p.run(0, "owner", "home", append([]string{"git"}, args...)...))
	}

	l.Tasks = p.tasks("state.json")
	l.Archived = p.tasks("archive/state.json")
	l.Commits = strings.Split(git("log", "--format=%s", "main"), "\n")
	l.Branches = strings.Split(git("for-each-ref", "--format=%(refname)", "refs/heads"), "\n")
	l.Tree = git("ls-tree", "main", "one.txt", "two.txt")
	l.Changes = git("status", "--porcelain", "--", ":!.tercet")
	l.Places = varying.ReplaceAllString(git("worktree", "list"), "-")
	l.Places = strings.ReplaceAll(l.Places, p.dir, "")

	l.Documents = map[string]string{}
	for _, folder := range []string{"specs", "reviews", "archive"} {
		top := filepath.Join(p.dir, "home/.tercet")
		err := filepath.WalkDir(filepath.Join(top, folder), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() == "state.json" {
				return err
			}
			data, err := os.ReadFile(name)
			rel := strings.TrimPrefix(name, top)
			key := varying.ReplaceAllString(rel, "-")
			l.Documents[key] = varying.ReplaceAllString(string(data), "-")
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			p.t.Fatal(err)
		}
	}

	p.run(0, "owner", "home", "tercet", "state", "verify")
	return l
}

// tasks lists the tasks of a state of the home.
func (p *place) tasks(name string) (list []string) {
	p.t.Helper()
	text := p.read("home/.tercet/" + name)

	if text == "" {
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

	if err := json.Unmarshal([]byte(text), &state); err != nil {
		p.t.Fatal(err)
	}

	for _, one := range state.Tasks {
		list = append(list, fmt.Sprint(one.Number, one.Status, one.Lease, one.Artifacts))
	}
	return list
}

// TestDeadBeforeItSaidSo: a worker dies when its run has ended and before it said so. The run has
// ended all the same: the next worker that gets it only says so, and no step is done again.
func TestDeadBeforeItSaidSo(t *testing.T) {
	t.Parallel()
	p := newPlace(t)

	p.plan(tapPlan{When: after, End: true})
	one := p.underTap("one")
	run := p.submit("/make 1")
	until(t, "the death of the worker", one.ended)

	p.onTeam(0, "wait", run)

	before := p.journal(run)

	two := p.worker("two")
	until(t, "that the dead worker has nothing", func() bool {
		return !slices.ContainsFunc(p.status().Workers, func(w link.Worker) bool {
			return w.Run == run
		})
	})

	p.onTeam(0, "--wait", "/make", "2")

	if strings.Contains(two.text(), run) {
		t.Errorf("the next worker worked on the run that had ended:\n%s", two.text())
	}

	if !reflect.DeepEqual(p.journal(run), before) {
		t.Error("the journal changed after the end of the run")
	}

	want := strings.Repeat("line by one\n", 2) + strings.Repeat("line by two\n", 2)
	if got := p.read("home/made.txt"); got != want {
		t.Errorf("published: %q, want %q", got, want)
	}

	p.onTeam(0, "verify", run)
}
