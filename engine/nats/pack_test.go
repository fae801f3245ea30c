package nats_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestAFlowOfAPack asks its question, gets the answer from elsewhere, and goes to its end on a
// worker. Its author is a program, because no agent is here, and it has a worktree, because work in
// the checkout does not travel.
func TestAFlowOfAPack(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.addFlow()

	p.edit("home/.tercet/commands/doc-flow.md", "\ntiers: ", "\nworktree: {per: run}\ntiers: ")
	publish := fmt.Sprintf(step, "publish: {to: main, as: merge}")
	p.edit("home/.tercet/commands/doc-flow.md", "### Step 10: Return",
		"### Step 10: Publish\n\n"+publish+"### Step 11: Return")

	p.commit()

	p.worker("one")
	run := p.submit("/doc-flow --types lld --lang en --slug clock --approval autonomous")
	p.onTeam(75, "wait", run)

	out := p.onTeam(0, "gates")
	if !strings.Contains(out, "Write lld as Minimal?") {
		t.Errorf("gates: %s", out)
	}

	p.onTeam(0, "approve", run)
	p.onTeam(0, "wait", run)

	if got := p.read("home/docs/deliverables/clock/lld.en.md"); got != "# Clock\n" {
		t.Errorf("the home has the document %q", got)
	}
	if got := p.read("home/docs/DOC_FLOW_RESULT.md"); !strings.Contains(got, "lld.en.md") {
		t.Errorf("the home has the result %q", got)
	}

	out = p.onTeam(0, "verify", run)
	if !strings.Contains(out, "identical") {
		t.Errorf("verify: %s", out)
	}
}

// TestAFlowInTheCheckout: what the flow's author writes into the checkout does not travel. The run
// stops with the reason at once, because another attempt would pay the author again.
func TestAFlowInTheCheckout(t *testing.T) {
	t.Parallel()

	p := newPlace(t)
	p.addFlow()
	p.commit()

	one := p.worker("one")
	run := p.submit("/doc-flow --types lld --lang en --slug clock --approval autonomous")

	p.onTeam(75, "wait", run)
	p.onTeam(0, "approve", run)

	out := p.onTeam(1, "wait", run)
	if !strings.Contains(out, "work in the checkout does not travel to another machine") ||
		!strings.Contains(out, "lld.en.md") {
		t.Errorf("wait says:\n%s", out)
	}

	// to the question, and to the document
	if n := strings.Count(one.text(), ": exit "); n != 2 {
		t.Errorf("%d attempts, want 2", n)
	}
}

// addFlow adds the pack flows to the home, with a script as the author of its /doc-flow.
func (p *place) addFlow() {
	p.t.Helper()
	p.run(0, "owner", "home", "tercet", "pack", "add", "flows")
	p.edit("home/.tercet/subagents/flows/lld-author.md", "timeout: 30m",
		"runner: exec\nargv: [sh, author.sh]\ntimeout: 30m")
	p.write("home/author.sh", "at=docs/deliverables/clock\nmkdir -p \"$TERCET_OUT/$at\"\n"+
		"echo '# Clock' > \"$TERCET_OUT/$at/lld.en.md\"\ncat > \"$TERCET_RETURN\" << END\n"+
		"AGENT_RESULT: lld-author\nSTATUS: success\nSUMMARY: written\n"+
		"OUTPUT_FILE: $at/lld.en.md\nTEMPLATE_USED: lld.en\nTEMPLATE_VERSION: 1.0\n"+
		"INPUT_ARTIFACTS:\nSKIPPED_SECTIONS:\nARTIFACTS:\n  - $at/lld.en.md\nEND\n")
}

// edit replaces a text of a file.
func (p *place) edit(name, old, text string) {
	p.t.Helper()
	was := p.read(name)
	if strings.Count(was, old) != 1 {
		p.t.Fatalf("%s has %q not once:\n%s", name, old, was)
	}
	p.write(name, strings.Replace(was, old, text, 1))
}
