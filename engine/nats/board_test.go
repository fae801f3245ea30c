package nats_test

import (
	"strings"
	"testing"
)

// TestABoardTravels: what agents posted on one worker stands in the requests of those that another
// worker calls after it died.
func TestABoardTravels(t *testing.T) {
	t.Parallel()
	p := newPlace(t)

	talk := func(a, b string) string {
		return "parallel: {" + a + ": {delegate: speaker}, " + b +
			": {delegate: speaker}}\nboard: talk"
	}

	p.write("home/.tercet/commands/talk.md", "---\ncommand: talk\ndescription: Talk\n"+
		"worktree: {per: run}\n---\n"+
		steps(talk("a", "b"), "delegate: pairer", talk("c", "d"),
			`return: '${{ $board.talk | map(.summary) | join(", ") }}'`))
	p.write("home/.tercet/subagents/speaker.md", "---\nname: speaker\ndescription: Speaks\n"+
		"role: utility\nrunner: exec\nargv: [sh, speak.sh]\nreturns: {artifacts: none}\n---\n"+
		"\nSpeaks.\n")
	p.write("home/speak.sh", "heard=$(grep -o 'spoken on [a-z]*' | sort -u)\n"+
		`echo "{\"status\":\"completed\",\"summary\":\"spoken on $(basename "$TERCET_ROOT")`+
		` after [$heard]\",\"artifacts\":[],\"errors\":[]}"`+"\n")
	p.commit()

	one := p.worker("one")
	run := p.submit("/talk")
	until(t, "the second step", func() bool {
		return p.read("one/.tercet/worktrees/"+run+"/pair-one") != ""
	})
	one.kill()

	p.write("go", "")
	p.worker("two")
	p.onTeam(0, "wait", run)

	want := "spoken on one after [], spoken on one after [], " +
		"spoken on two after [spoken on one], spoken on two after [spoken on one]"
	if j := p.read("home/.tercet/runs/" + run + "/journal.jsonl"); !strings.Contains(j, want) {
		t.Errorf("the run returned something else than %s:\n%s", want, j)
	}

	out := p.onTeam(0, "show", run)
	if !strings.Contains(out, "Board 'talk': version 4") {
		t.Errorf("show:\n%s", out)
	}

	out = p.onTeam(0, "verify", run)
	if !strings.Contains(out, "identical") {
		t.Errorf("verify: %s", out)
	}
}
