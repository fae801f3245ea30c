package nats_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAKeptSessionStays with the worker whose agent has it: the next worker begins a new one, and
// the journal says why.
func TestAKeptSessionStays(t *testing.T) {
	t.Parallel()
	p := newPlace(t)

	p.write("home/.tercet/commands/rounds.md", "---\ncommand: rounds\ndescription: Rounds\n---\n"+
		steps("id: write\ndelegate: thinker\nsession: keep",
			"gate: Good?\nchoices: {good: next, again: {redo: [write]}}"))
	p.write("home/.tercet/subagents/thinker.md", "---\nname: thinker\ndescription: Thinks\n"+
		"role: utility\nrunner: claude\nreturns: {artifacts: none}\n---\n\nThinks.\n")
	p.commit()
	for _, name := range []string{"one", "two"} {
		p.write("HOME-"+name+"/.config/tercet/config.yaml", "sandbox: {agents: off}\n")
		p.write("HOME-"+name+"/bin/claude", `#!/bin/sh
case $1 in --version) echo 2.1.329; exit ;; esac
how=none id=-
while test $# -gt 0; do
	case $1 in
	--session-id) how=new id=$2 ;;
	--resume) how=resume id=$2 ;;
	esac
	shift
done
cat > /dev/null
echo "$how $id" >> "$HOME/calls"
mkdir -p "$HOME/.claude/projects/here"
echo "$how" >> "$HOME/.claude/projects/here/$id.jsonl"
echo '{"status": "completed", "summary": "wrote"}' > "$TERCET_RETURN"
echo '{"type": "system", "subtype": "init", "model": "m", "session_id": "'$id'"}'
echo '{"type": "result", "subtype": "success", "is_error": false, "result": "done", "num_turns": 1, "session_id": "'$id'"}'
`)
		if err := os.Chmod(filepath.Join(p.dir, "HOME-"+name, "bin/claude"), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	one := p.worker("one")
	run := p.submit("/rounds")

	calls := func() int { return strings.Count(p.read("HOME-one/calls")+p.read("HOME-two/calls"), "\n") }
	again := func() {
		t.Helper()
		before := calls()
		p.onTeam(75, "wait", run)
		p.onTeam(0, "approve", run, "--choice", "again")
		until(t, "the next round", func() bool { return calls() > before })
	}

	again()

	waits := func() {
		t.Helper()
		until(t, "the question", func() bool {
			return strings.Contains(p.onTeam(0, "status"), run+"  waiting")
		})
	}

	waits()

	if got := p.read("HOME-one/calls"); strings.Count(got, "new ") != 1 ||
		strings.Count(got, "resume ") != 1 {
		t.Errorf("the calls on one worker: %q, want a new session, and the same again", got)
	}

	p.run(0, "one", "one", "tercet", "worker", "--drain")
	<-one.done
	p.worker("two")

	again()
	waits()

	if got := p.read("HOME-two/calls"); strings.Count(got, "\n") != 1 ||
		!strings.HasPrefix(got, "new ") {
		t.Errorf("the calls on the next worker: %q, want a new session", got)
	}

	journal := p.read("home/.tercet/runs/" + run + "/journal.jsonl")
	if !strings.Contains(journal, "claude no longer has its session") {
		t.Errorf("the journal does not say that the session stayed behind:\n%s", journal)
	}

	p.onTeam(0, "approve", run, "--choice", "good")
	p.onTeam(0, "wait", run)
	p.onTeam(0, "verify", run)
}
