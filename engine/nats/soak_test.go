package nats_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// The whole matrix takes long: scripts/soak.sh asks for 200 tasks and 20 kills.
var (
	manyTasks = flag.Int("tasks", 6, "the tasks of TestManyTasks")
	manyKills = flag.Int("kills", 2, "the workers that die meanwhile")
	manySeed  = flag.Uint64("seed", 1, "of the random times of their deaths")
)

// TestManyTasks: four workers do many tasks while some of them die at random times and are started
// again. Every task is done once, the state is right, its work is in the remote, no lease is left,
// and each journal is what a replay decides.
func TestManyTasks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	// each task adds a file of its own, so that no two merges conflict
	p.write("home/.tercet/commands/one.md", "---\ncommand: one\ndescription: One file\n"+
		"arguments: [{name: task_number, type: task, required: true}]\n"+
		"during: {status: implementing, failed: partial}\nworktree: {per: run}\n---\n"+
		steps("delegate: filer", "publish: {to: main, as: merge}",
			"status: partial"))
	p.write("home/.tercet/subagents/filer.md", "---\nname: filer\ndescription: Adds a file\n"+
		"role: utility\nrunner: exec\nargv: [sh, filer.sh]\n"+
		"returns: {statuses: [completed, failed], artifacts: none}\n---\n\nWorks.\n")
	p.write("home/filer.sh", "name=$(git symbolic-ref --short HEAD | tr / -)\n"+
		"echo line >> \"work-$name\"\nsleep 0.3\n"+
		`echo '{"status":"completed","summary":"done","artifacts":[],"errors":[]}'`+"\n")
	p.commit()
	p.addTasks(*manyTasks)

	const workers = 4
	started := make([]*process, workers)
	for i := range workers {
		started[i] = p.anotherWorker(i)
	}
	began := time.Now()
	runs := strings.Fields(p.submit(fmt.Sprintf("/one 1-%d", *manyTasks)))
	random := rand.New(rand.NewPCG(*manySeed, 0))
	kills := 0
	limit := time.Now().Add(time.Hour)
	for {
		ended := 0
		for _, r := range p.status().Runs {
			if r.State == "stuck" || r.State == "broken" {
				t.Fatalf("run %s: %s", r.Run, r.Why)
			}
			if r.State == "ended" {
				ended++
			}
		}
		if ended == len(runs) && kills >= *manyKills {
			break
		}
		if time.Now().After(limit) {
			t.Fatalf("%d of %d runs have ended", ended, len(runs))
		}
		// the deaths are spread over the work
		if kills < *manyKills && ended*(*manyKills+1) >= kills*len(runs) {
			i := random.IntN(workers)
			time.Sleep(time.Duration(random.IntN(2000)) * time.Millisecond)
			started[i].kill()
			started[i] = p.anotherWorker(i)
			kills++
			continue
		}
		time.Sleep(300 * time.Millisecond)
	}
	t.Logf("%d tasks, %d kills: %s", len(runs), kills,
		time.Since(began).Round(100*time.Millisecond))

	out := p.run(0, "owner", "home", "git", "ls-tree", "-r", "--name-only", "main")
	if got := strings.Count(out, "work-"); got != *manyTasks {
		t.Errorf("%d files were published, want %d", got, *manyTasks)
	}
	for name := range strings.Lines(out) {
		if name = strings.TrimSpace(name); !strings.HasPrefix(name, "work-") {
			continue
		}
		if got := p.read("home/" + name); got != "line\n" {
			t.Errorf("%s: %q, want one line: the task was done once", name, got)
		}
	}
	var tasks struct {
		Tasks []struct {
			Number int
			Status string
			Lease  any
		}
	}
	if err := json.Unmarshal([]byte(p.read("home/.tercet/state.json")), &tasks); err != nil {
		t.Fatal(err)
	}
	for _, one := range tasks.Tasks {
		if one.Number <= *manyTasks && (one.Status != "partial" || one.Lease != nil) {
			t.Errorf("task %d: %s with lease %v, want partial without", one.Number, one.Status,
				one.Lease)
		}
	}
	for _, run := range runs {
		trees := p.run(0, "owner", "remote.git", "git", "for-each-ref", "refs/tercet/runs/"+run)
		if trees == "" {
			t.Errorf("the remote has no tree of run %s", run)
		}
		p.onTeam(0, "verify", run)
	}
}
