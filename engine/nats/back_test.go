package nats_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAFailedRunGoesOn: a person anywhere lets a run that failed go on from a step. Another worker
// has its documents and its worktree then, and does only what is left. What cannot be is refused.
func TestAFailedRunGoesOn(t *testing.T) {
	t.Parallel()
	p := newPlace(t)

	p.write("home/.tercet/commands/draft.md", "---\ncommand: draft\ndescription: Draft\n"+
		"arguments: [{name: task_number, type: task, required: true}]\n"+
		"during: {status: implementing}\nworktree: {per: run}\n---\n"+
		steps("id: one\ndelegate: drafter", "id: two\ndelegate: builder",
			"publish: {to: main, as: merge}", "status: partial"))
	p.write("home/.tercet/subagents/drafter.md", "---\nname: drafter\ndescription: Drafts\n"+
		"role: utility\nrunner: exec\nargv: [sh, draft.sh]\n"+
		"returns: {statuses: [completed, failed], artifacts: [{type: report}]}\n---\n\nDrafts.\n")
	p.write("home/.tercet/subagents/builder.md", "---\nname: builder\ndescription: Builds\n"+
		"role: utility\nrunner: exec\nargv: [sh, build.sh]\n"+
		"returns: {statuses: [completed, failed], artifacts: none}\n---\n\nBuilds.\n")

	name := "$(basename \"$TERCET_ROOT\")"
	p.write("home/draft.sh", "echo \"draft by "+name+"\" >> made.txt\n"+
		"echo '# A draft' > \"$TERCET_OUT/draft.md\"\n"+
		`echo '{"status":"completed","summary":"drafted",`+
		`"artifacts":[{"type":"report","path":"draft.md"}],"errors":[]}'`+"\n")
	p.write("home/build.sh", "echo \"build by "+name+"\" >> made.txt\n"+
		"while [ -e '"+p.dir+"/hold' ]; do sleep 0.1; done\n"+
		"if [ -e '"+p.dir+"/mended' ]; then\n"+
		`echo '{"status":"completed","summary":"built","artifacts":[],"errors":[]}'`+"\nelse\n"+
		`echo '{"status":"failed","summary":"no","artifacts":[],`+
		`"errors":[{"type":"execution","code":"UNKNOWN_ERROR","message":"no"}]}'`+"\nfi\n")

	p.commit()

	one := p.worker("one")
	p.write("hold", "")
	run := p.submit("/draft 1")
	until(t, "the second step", func() bool {
		return strings.Contains(p.read("one/.tercet/worktrees/"+run+"/made.txt"), "build by one")
	})
	p.refuseBack(75, "a worker works on run "+run, run, "--from", "one")
	p.remove("hold")
	p.onTeam(1, "wait", run)
	one.kill()
	const document = "specs/001_first/reports/research-001.md"
	if _, there := p.documents("home")[document]; there {
		t.Error("the document of a failed run is in the folder of the task")
	}

	journal := p.read("home/.tercet/runs/" + run + "/journal.jsonl")
	p.refuseBack(2, `no step of the run is named "three"`, run, "--from", "three")
	p.refuseBack(6, `the team has no run "nobody"`, "nobody", "--from", "two")
	p.refuseBack(75, "--yes resume "+run+" --from one", run, "--from", "one")
	p.refuseBack(2, "expected a step behind --from", run, "--from=")
	p.refuseBack(2, "--yes goes with --from", run, "--yes")
	p.refuseBack(1, "run "+run+" has ended", run)
	if p.read("home/.tercet/runs/"+run+"/journal.jsonl") != journal {
		t.Error("a refusal changed the journal")
	}

	p.write("mended", "")
	said := p.onTeam(0, "resume", run, "--from", "two")
	if !strings.Contains(said, "keeps one#1 (completed) drafted") ||
		!strings.Contains(said, "drops two#1 (failed)") {
		t.Errorf("resume said:\n%s", said)
	}

	p.worker("two")
	p.onTeam(0, "wait", run)
	const want = "draft by one\nbuild by one\nbuild by two\n"
	if got := p.read("home/made.txt"); got != want {
		t.Errorf("published: %q, want %q", got, want)
	}

	if got := p.documents("home")[document]; got != "# A draft\n" {
		t.Errorf("the home has the document %q", got)
	}

	out := p.onTeam(0, "verify", run)
	if !strings.Contains(out, "identical") {
		t.Errorf("verify: %s", out)
	}

	j := p.read("home/.tercet/runs/" + run + "/journal.jsonl")
	if !strings.Contains(j, `"by":"anna"`) {
		t.Error("the journal does not tell who let the run go on")
	}

	p.refuseBack(1, "has ended well", run, "--from", "two")

	p.remove("mended")
	undone := p.submit("/draft 2")
	p.onTeam(1, "wait", undone)
	p.run(0, "owner", "home", "tercet", "--yes", "undo", undone)
	p.refuseBack(1, "run "+undone+" was taken back", undone, "--from", "two")
}

// TestAWaitingRunGoesBack: a run that waits for an answer asks again.
func TestAWaitingRunGoesBack(t *testing.T) {
	t.Parallel()
	p := newPlace(t)

	p.worker("one")
	run := p.submit("/ask")

	p.onTeam(75, "wait", run)
	first := p.onTeam(0, "--json", "gates")
	p.onTeam(0, "pause", run)
	p.onTeam(0, "--yes", "resume", "--from=step", run)

	until(t, "another question", func() bool {
		now := p.onTeam(0, "--json", "gates")
		return strings.Contains(now, run) && now != first
	})

	p.onTeam(75, "wait", run)
	p.onTeam(0, "approve", run)
	p.onTeam(0, "wait", run)

	out := p.onTeam(0, "verify", run)
	if !strings.Contains(out, "identical") {
		t.Errorf("verify: %s", out)
	}
}

// refuseBack checks that a run does not go on, and why.
func (p *place) refuseBack(code int, why string, args ...string) {
	p.t.Helper()
	out := p.run(code, "anna", ".",
		append([]string{"tercet", "--on", "team", "resume"}, args...)...)
	if !strings.Contains(out, why) {
		p.t.Errorf("resume %q said, want %q:\n%s", args, why, out)
	}
}

func (p *place) remove(name string) {
	p.t.Helper()
	if err := os.Remove(filepath.Join(p.dir, name)); err != nil {
		p.t.Fatal(err)
	}
}
