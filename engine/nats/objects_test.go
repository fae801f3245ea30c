package nats_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"tercet/engine/nats/link"
	"tercet/engine/nats/worker"
	"tercet/formats"
	"tercet/project"
)

// hubFolder is the hub's own folder.
func (p *place) hubFolder() string {
	p.t.Helper()
	list, err := filepath.Glob(filepath.Join(p.dir,
		"HOME-owner/.local/state/tercet/team/*/jetstream"))
	if err != nil || len(list) != 1 {
		p.t.Fatalf("the hub's folders are %q, %v", list, err)
	}
	return list[0]
}

// objects lists the buckets that the hub has.
func (p *place) objects() []string {
	p.t.Helper()
	list, err := filepath.Glob(p.hubFolder() + "/jetstream/objects-*/streams/OBJ_*")
	if err != nil {
		p.t.Fatal(err)
	}
	return list
}

// TestLargeEntriesAndDocuments: an entry of the journal of 4 MB and a document of 5 MB travel by
// the object store, also to the worker that goes on with the run, and leave nothing there.
func TestLargeEntriesAndDocuments(t *testing.T) {
	t.Parallel()
	const size = 5 << 20

	p := newPlace(t)
	p.write("home/.tercet/commands/big.md", "---\ncommand: big\ndescription: Much\n---\n"+
		steps("id: long\ndelegate: talker", "delegate: checker"))
	p.write("home/.tercet/subagents/talker.md", "---\nname: talker\ndescription: Talks\n"+
		"role: utility\nrunner: exec\nargv: [sh, talk.sh]\n"+
		"returns: {artifacts: none, fields: {story: string}}\n---\n\nTalks.\n")
	p.write("home/talk.sh",
		"{ printf '{\"status\":\"completed\",\"summary\":\"long\",\"artifacts\":[],"+
			"\"errors\":[],\"story\":\"'\nhead -c 4000000 /dev/zero | tr '\\000' 'x'\n"+
			"printf '\"}'; } > \"$TERCET_RETURN\"\n")

	// worker one stays in the second step while the file hold is there
	p.write("home/.tercet/subagents/checker.md", "---\nname: checker\ndescription: Checks\n"+
		"role: utility\nrunner: exec\nargv: [sh, check.sh]\nreturns: {artifacts: none}\n---\n"+
		"\nChecks.\n")
	p.write("home/check.sh", "name=$(basename \"$TERCET_ROOT\")\n"+
		"while [ \"$name\" = one ] && [ -e '"+p.dir+"/hold' ]; do sleep 0.1; done\n"+
		"size=$(wc -c < \"$TERCET_ROOT\"/.tercet/specs/001_first/big.md)\n"+
		`echo "{\"status\":\"completed\",\"summary\":\"$size bytes\",\"artifacts\":[],`+
		`\"errors\":[]}"`+"\n")

	p.commit()

	p.write("home/.tercet/specs/001_first/big.md", strings.Repeat("0123456789abcde\n", size/16))
	p.write("hold", "")
	one := p.worker("one")

	run := p.submit("/big")
	journal := "home/.tercet/runs/" + run + "/journal.jsonl"

	until(t, "the second step", func() bool {
		return strings.Contains(p.read(journal), `"agent":"checker"`)
	})
	if !strings.Contains(p.read(journal), strings.Repeat("x", 4000000)) {
		t.Error("the home has no entry of 4 MB")
	}

	one.kill()
	p.worker("two")
	p.onTeam(0, "wait", run)

	if !strings.Contains(p.read(journal), fmt.Sprintf(`"summary":"%d bytes"`, size)) {
		t.Errorf("the worker that went on did not have the document of 5 MB:\n%s",
			p.onTeam(0, "show", run))
	}

	p.onTeam(0, "verify", run)
	until(t, "an empty object store", func() bool { return len(p.objects()) == 0 })
}

// TestARemoteWithoutSnapshots: where the remote takes no refs of tercet, snapshots go to the home
// through the object store, one of 60 MB too. The worker that goes on with the run has it, the work
// is published, and what the home kept goes with the run.
func TestARemoteWithoutSnapshots(t *testing.T) {
	t.Parallel()
	const size = 60 << 20

	p := newPlace(t)
	p.run(0, "owner", "remote.git", "git", "config", "receive.hideRefs", "refs/tercet")
	p.write("home/.tercet/commands/large.md", "---\ncommand: large\ndescription: Large\n"+
		"worktree: {per: run}\n---\n"+
		steps("id: one\ndelegate: filler", "id: two\ndelegate: maker", "id: three\ndelegate: maker",
			"publish: {to: main, as: merge}"))
	p.write("home/.tercet/subagents/filler.md",
		"---\nname: filler\ndescription: Fills\nrole: utility\n"+
			"runner: exec\nargv: [sh, fill.sh]\nreturns: {artifacts: none}\n---\n\nFills.\n")
	// what compresses badly
	p.write("home/fill.sh",
		fmt.Sprintf("openssl enc -aes-128-ctr -pass pass:1 -nosalt -md md5 < /dev/zero "+
			"2>/dev/null | head -c %d > large.bin\n", size)+
			`echo '{"status":"completed","summary":"done","artifacts":[],"errors":[]}'`+"\n")

	p.commit()

	p.write("hold", "")
	one := p.worker("one")
	run := p.submit("/large")
	p.untilHeld(run)
	one.kill()

	p.worker("two")
	p.onTeam(0, "wait", run)

	if got := p.read("home/made.txt"); got != "line by one\nline by two\n" {
		t.Errorf("published: %q, want a line of each worker", got)
	}
	if info, err := os.Stat(filepath.Join(p.dir, "home/large.bin")); err != nil ||
		info.Size() != size {
		t.Errorf("the large file was not published: %v, %v", info, err)
	}

	p.onTeam(0, "verify", run)

	refs := func(in string) string {
		return p.run(0, "owner", in, "git", "for-each-ref", "refs/tercet/runs")
	}

	if got := refs("remote.git"); got != "" {
		t.Errorf("the remote has snapshots: %s", got)
	}
	if got := refs("home"); !strings.Contains(got, run) {
		t.Errorf("the home kept no snapshot of run %s: %q", run, got)
	}

	until(t, "an empty object store", func() bool { return len(p.objects()) == 0 })

	p.write("HOME-owner/.config/tercet/config.yaml", "retention: {age: 1ms}\n")
	p.run(0, "owner", "home", "tercet", "gc")
	if got := refs("home"); got != "" {
		t.Errorf("gc left snapshots: %s", got)
	}
}

// TestObjectsOfAJob: a worker reaches the objects of a job that it holds and nothing else, until it
// has done it.
func TestObjectsOfAJob(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := newPlace(t)
	one := p.worker("one")
	until(t, "the worker", func() bool { return strings.Contains(one.text(), "ready in") })
	one.kill() // it has joined, and its key takes its place
	keys, err := filepath.Glob(filepath.Join(p.dir,
		"HOME-one/.local/state/tercet/team/workers/*.json"))
	if err != nil || len(keys) != 1 {
		t.Fatalf("the worker's key is in %q, %v", keys, err)
	}
	me, err := link.ReadMember(keys[0])
	if err != nil {
		t.Fatal(err)
	}
	conn, err := link.Connect(me)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	var clone project.CloneState
	dir := filepath.Join(p.dir, "one")
	out, err := p.command("one", "one", "tercet", "__team", "prepare", "", dir).Output()
	if err == nil {
		err = json.Unmarshal(out, &clone)
	}
	if err != nil {
		t.Fatal(err)
	}
	version, err := worker.Version(filepath.Join(programs, "tercet"))
	if err != nil {
		t.Fatal(err)
	}
	take := func() (given link.TakeReply) {
		t.Helper()
		until(t, "a job", func() bool {
			err := conn.Ask(ctx, link.Take, link.TakeRequest{
				Version: version,
				Files:   clone.Files,
				Base:    clone.Base,
			}, &given)
			if err != nil || given.Fault != nil {
				t.Fatal(err, given.Fault)
			}
			return given.ID != ""
		})
		return given
	}
	p.submit("/make 1")
	job := take()

	for _, wrong := range []string{"", "another", job.Run} {
		if _, err := conn.Objects(ctx, wrong); formats.CodeOf(err) != formats.CodeNotDurable {
			t.Errorf("the objects of job %q: %v", wrong, err)
		}
	}
	all, err := conn.Objects(ctx, job.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	data := []byte(strings.Repeat("text", 1<<20))
	name, err := all.Put(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := all.Take(ctx, name); err != nil || string(got) != string(data) {
		t.Errorf("Take = %d bytes, %v", len(got), err)
	}
	if _, err := all.Take(ctx, name); err == nil {
		t.Error("an object was taken twice")
	}

	// with the right of the job alone
	raw, err := link.ConnectJob(me, job.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	js, err := jetstream.New(raw)
	if err != nil {
		t.Fatal(err)
	}

	within, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err = js.CreateObjectStore(within, jetstream.ObjectStoreConfig{Bucket: "own"})
	if err == nil {
		t.Error("a worker made a bucket")
	}

	within, cancel = context.WithTimeout(ctx, time.Second)
	defer cancel()
	question := link.Subject(me.Name, link.State)
	if _, err := raw.RequestWithContext(within, question, []byte("{}")); err == nil {
		t.Error("the connection to the objects reached another service")
	}

	if _, err := link.ConnectJob(me, "another"); err == nil {
		t.Error("a connection for a job that nobody holds was let in")
	}

	// the job is over
	err = conn.Ask(ctx, link.Done, link.Report{ID: job.ID, Code: 1}, &link.ReportReply{})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the end of the bucket", func() bool { return len(p.objects()) == 0 })
	until(t, "the end of the connection", func() bool { return !raw.IsConnected() })
	if _, err := conn.Objects(ctx, job.ID); formats.CodeOf(err) != formats.CodeNotDurable {
		t.Errorf("the objects of a job that is over: %v", err)
	}
}
