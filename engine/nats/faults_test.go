package nats_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tercet/engine/nats/link"
	"tercet/formats"
	"tercet/team"
)

// TestTheHubIsAway: it is killed while an agent works, and comes back after 8 s without its queue,
// which it makes anew from the journals of the home. The run stops at its next line and goes on.
func TestTheHubIsAway(t *testing.T) {
	t.Parallel()
	p := newPlace(t)

	p.write("hold", "")
	one := p.worker("one")
	run := p.submit("/make 1")
	p.untilHeld(run)

	address := p.address()
	p.own.kill()
	if err := os.Remove(filepath.Join(p.dir, "hold")); err != nil {
		t.Fatal(err)
	}

	queues, err := filepath.Glob(filepath.Join(p.dir,
		"HOME-owner/.local/state/tercet/team/*/jetstream"))
	if err != nil || len(queues) != 1 {
		t.Fatalf("the queue is in %q, %v", queues, err)
	}
	if err := os.RemoveAll(queues[0]); err != nil {
		t.Fatal(err)
	}

	if out := p.onTeam(1, "status"); !strings.Contains(out, "tercet hub") {
		t.Errorf("status without a hub:\n%s", out)
	}

	time.Sleep(8 * time.Second)
	p.own = p.hub(address)
	p.untilReady()

	p.onTeam(0, "wait", run)
	if got := p.read("home/made.txt"); got != "line by one\nline by one\n" {
		t.Errorf("published: %q, want each line once\n%s", got, one.text())
	}

	p.onTeam(0, "verify", run)
}

// TestTheRemoteIsAway while a snapshot is pushed: the run stops with the reason after three
// attempts, and nothing is lost when it is resumed.
func TestTheRemoteIsAway(t *testing.T) {
	t.Parallel()
	p := newPlace(t)

	p.write("hold", "")
	p.worker("one")
	run := p.submit("/make 1")
	p.untilHeld(run)

	remote := filepath.Join(p.dir, "remote.git")
	if err := os.Rename(remote, remote+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(p.dir, "hold")); err != nil {
		t.Fatal(err)
	}

	out := p.onTeam(1, "wait", run)
	if !strings.Contains(out, "does not get on") || !strings.Contains(out, "remote.git") {
		t.Errorf("wait says:\n%s", out)
	}

	if err := os.Rename(remote+".away", remote); err != nil {
		t.Fatal(err)
	}

	p.onTeam(0, "resume", run)
	p.onTeam(0, "wait", run)

	if got := p.read("home/made.txt"); got != "line by one\nline by one\n" {
		t.Errorf("published: %q, want each line once", got)
	}
}

// TestAnAgentHasNoWayToTheTeam: the connection of its run is not open in it, tercet refuses it, and
// the key of the worker cannot be read.
func TestAnAgentHasNoWayToTheTeam(t *testing.T) {
	t.Parallel()
	p := newPlace(t)

	p.write("home/.tercet/commands/pry.md",
		"---\ncommand: pry\ndescription: Pry\nworktree: {per: run}\n---\n"+
			steps("delegate: nosy", "publish: {to: main, as: merge}"))
	p.write("home/.tercet/subagents/nosy.md",
		"---\nname: nosy\ndescription: Pries\nrole: utility\n"+
			"runner: exec\nargv: [sh, nosy.sh]\nreturns: {statuses: "+
			"[completed, failed], artifacts: none}\n---\n\nWorks.\n")
	p.write("home/nosy.sh", "{ ls -l /proc/$$/fd | grep -c socket:\n"+
		"tercet --on team status >/dev/null 2>&1; echo status $?\n"+
		"env -u TERCET_RUN tercet --on team status >/dev/null 2>&1; echo hidden $?\n"+
		"cat '"+p.dir+"'/HOME-one/.local/state/tercet/team/workers/*.json >/dev/null 2>&1; "+
		"echo key $?\n"+
		"} > pried.txt\n"+
		`echo '{"status":"completed","summary":"done","artifacts":[],"errors":[]}'`+"\n")
	p.commit()

	p.worker("one")
	run := p.submit("/pry")
	p.onTeam(0, "wait", run)

	got := p.read("home/pried.txt")
	if !strings.HasPrefix(got, "0\nstatus 77\nhidden ") || strings.Contains(got, "hidden 0\n") {
		t.Errorf("the agent found %q, want no socket and two refusals", got)
	}
	if _, err := exec.LookPath("bwrap"); err == nil && !strings.HasSuffix(got, "key 1\n") {
		t.Errorf("the agent found %q, want that the key cannot be read", got)
	}
}

// TestAnIdleWorkerDies: a worker that was killed while it waited for a run gets none.
func TestAnIdleWorkerDies(t *testing.T) {
	t.Parallel()

	p := newPlace(t)
	one := p.worker("one")
	until(t, "the worker", func() bool { return len(p.status().Workers) == 1 })

	one.kill()
	run := p.submit("/make 1")

	p.worker("two")
	p.onTeam(0, "wait", run)

	if said := p.own.text(); strings.Contains(said, "worker one has it") {
		t.Errorf("the run was given to a worker that had been killed:\n%s", said)
	}
}

// TestALostSnapshot: somebody removed the snapshots of a run from the remote, and its worker died.
// A worker that lacks them does not begin, and says which commit is missing. The worker whose clone
// still has it goes on, and nothing is done twice.
func TestALostSnapshot(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("hold", "")
	one := p.worker("one")
	run := p.submit("/make 1")
	p.untilHeld(run)
	one.kill()
	if err := os.Remove(filepath.Join(p.dir, "hold")); err != nil {
		t.Fatal(err)
	}
	refs := p.run(0, "owner", "remote.git", "git", "for-each-ref", "--format=%(refname)",
		"refs/tercet/runs")
	if !strings.Contains(refs, run) {
		t.Fatalf("the remote has no snapshot of run %s: %q", run, refs)
	}
	for ref := range strings.FieldsSeq(refs) {
		p.run(0, "owner", "remote.git", "git", "update-ref", "-d", ref)
	}
	p.run(0, "owner", "remote.git", "git", "prune", "--expire=now")
	journal := p.journal(run)

	two := p.worker("two")
	out := p.onTeam(1, "wait", run)
	if !strings.Contains(out, "the remote does not have the snapshot") ||
		!strings.Contains(out, "refs/tercet/runs/"+run) {
		t.Errorf("wait says:\n%s", out)
	}
	if now := p.journal(run); !reflect.DeepEqual(now, journal) {
		t.Errorf("the journal has %d lines instead of %d", len(now), len(journal))
	}
	two.kill()
	p.worker("one")
	p.onTeam(0, "resume", run)
	p.onTeam(0, "wait", run)
	if got := p.read("home/made.txt"); got != "line by one\nline by one\n" {
		t.Errorf("published: %q, want each line once", got)
	}
}

// TestTheHomeIsRestored from a copy that is older than what its workers have: the home's journals
// decide, whose lines all belong to the state and the documents beside them. A run goes on from
// there. A journal that was damaged is refused with the reason, and no other run suffers.
func TestTheHomeIsRestored(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("hold", "")
	p.worker("one")
	run := p.submit("/make 1")
	p.untilHeld(run)
	address := p.address()
	p.own.kill()
	p.run(0, "owner", ".", "cp", "-a", "home", "copy")
	p.own = p.hub(address)
	p.untilReady()
	if err := os.Remove(filepath.Join(p.dir, "hold")); err != nil {
		t.Fatal(err)
	}
	p.onTeam(0, "wait", run)
	newer := len(p.journal(run))

	p.own.kill()
	if err := os.RemoveAll(filepath.Join(p.dir, "home")); err != nil {
		t.Fatal(err)
	}

	p.run(0, "owner", ".", "mv", "copy", "home")
	if older := len(p.journal(run)); older >= newer {
		t.Fatalf("the copy has %d lines, and the home had %d", older, newer)
	}

	name := filepath.Join(p.dir, "home/.tercet/runs", run, "journal.jsonl")
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}

	bad := bytes.Replace(good, []byte(`"task_number"`), []byte(`"task_numbes"`), 1)
	if bytes.Equal(bad, good) {
		bad = bytes.Replace(good, []byte(`"run_started"`), []byte(`"run_startes"`), 1)
	}
	if err := os.WriteFile(name, bad, 0o600); err != nil {
		t.Fatal(err)
	}

	p.own = p.hub(address)
	p.untilReady()
	p.onTeam(0, "--wait", "/make", "2")

	out := p.onTeam(1, "wait", run)
	if !strings.Contains(out, "journal.jsonl:1:1: line does not match its hash") ||
		!strings.Contains(out, "from a copy") {
		t.Errorf("wait for a run with a damaged journal:\n%s", out)
	}

	if err := os.WriteFile(name, good, 0o600); err != nil {
		t.Fatal(err)
	}
	p.onTeam(0, "wait", run)
	if got := p.read("home/made.txt"); got != "line by one\nline by one\n" {
		t.Errorf("published: %q, want the same two lines of both runs", got)
	}
	p.onTeam(0, "verify", run)
}

// TestARunThatIsNotHeld: a worker that sends lines for a run which another worker has, or a job
// that is over, is refused, although the hub knows its key.
func TestARunThatIsNotHeld(t *testing.T) {
	t.Parallel()
	p := newPlace(t)

	p.write("hold", "")
	p.worker("one")
	run := p.submit("/make 1")
	p.untilHeld(run)

	two := p.worker("two")
	until(t, "the key of the second worker", func() bool { return p.key("two") != "" })
	two.kill()

	me, err := link.ReadMember(p.key("two"))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := link.Connect(me)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	before := p.journal(run)
	home := &team.Client{Call: func(ctx context.Context, call []byte) ([]byte, error) {
		m := nats.NewMsg(link.Subject(me.Name, link.Call))
		m.Data = call
		m.Header.Set("Job", "not-its-own")
		answer, err := conn.RequestMsgWithContext(ctx, m)
		if err != nil {
			return nil, err
		}
		return answer.Data, nil
	}}

	_, err = home.History(t.Context(), run, "t9")
	if formats.CodeOf(err) != formats.CodeNotDurable ||
		!strings.Contains(err.Error(), "another worker has") {
		t.Errorf("taking the run: %v", err)
	}

	err = home.Append(t.Context(),
		formats.SharedLines{Run: run, Taker: "t9", Lines: []byte("{}\n")})
	if formats.CodeOf(err) != formats.CodeNotDurable {
		t.Errorf("a line: %v", err)
	}

	if now := p.journal(run); !reflect.DeepEqual(now, before) {
		t.Errorf("the journal has %d lines instead of %d", len(now), len(before))
	}

	if err := os.Remove(filepath.Join(p.dir, "hold")); err != nil {
		t.Fatal(err)
	}
	p.onTeam(0, "wait", run)
}
