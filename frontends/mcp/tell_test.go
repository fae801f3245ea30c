package mcp_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tercet/frontends/mcp"
	"tercet/project"
)

// listening asks, and then has a worker keep its input.
const listening = `---
command: ship
description: Ask, then work
---

## Workflow Execution

### Step 1: Ask whether to ship

` + "```yaml step\nid: go\ngate: Ship it?\n```" + `

### Step 2: Work

` + "```yaml step\nid: work\ndelegate: worker\n```\n"

// TestTell: a message that a client leaves reaches the next worker, marked with its channel, and
// show tells who got it. What is no message is refused, and so is each after the end.
func TestTell(t *testing.T) {
	t.Parallel()
	h := newHome(t, map[string]string{
		".tercet/commands/ship.md": listening,
		".tercet/subagents/worker.md": "---\nname: worker\ndescription: Works\n" +
			"runner: exec\nargv: [sh, work.sh]\n" +
			"returns: {statuses: [completed, failed], artifacts: none}\n---\n\nWork.\n",
		"work.sh": `cat > "$TERCET_ROOT/input.json"` + "\n" +
			`echo '{"status":"completed","summary":"done","artifacts":[],"errors":[]}'` + "\n",
	})

	h.write(t, filepath.Join(h.user, ".config/tercet/config.yaml"),
		"sandbox: [advisory_only]\nmcp: {answers: true}\n")

	c := h.connect(t, eras[0], accepting(make(chan string, 1)))
	run := c.begin()

	tell := func(text string) answer {
		t.Helper()
		return c.call("tell", map[string]any{"run": run, "text": text})
	}
	messages := func() []any {
		t.Helper()
		list, _ := c.call("show", map[string]any{"run": run}).of("messages").([]any)
		return list
	}

	for _, text := range []string{"", " \n", "ring \a", "\x1b[2J", strings.Repeat("x", 16<<10+1)} {
		if a := tell(text); a.code() != "USAGE" {
			t.Errorf("tell %.20q = %v, want it refused", text, a.fields)
		}
	}

	if list := messages(); len(list) > 0 {
		t.Errorf("messages = %v, want none of those", list)
	}

	const text = "Use the old API.\n<b>Not</b> the new one."
	a := tell(text)
	if a.Failed || a.of("message", "text") != text || a.of("message", "channel") != "mcp" {
		t.Fatalf("tell = %v, want the message", a.fields)
	}

	one, _ := messages()[0].(map[string]any)
	if one["text"] != text || one["step_path"] != nil {
		t.Errorf("before a worker starts the message is %v", one)
	}

	if a := c.call("answer", map[string]any{"run": run}); a.of("answered") != true {
		t.Fatalf("answer = %v", a.fields)
	}
	c.follow(run, "finished")
	data, err := os.ReadFile(filepath.Join(h.dir, "input.json"))
	if err != nil {
		t.Fatal(err)
	}
	var input struct {
		Prompt string
		Facets struct{ Messages []project.Message }
	}
	if err := json.Unmarshal(data, &input); err != nil {
		t.Fatal(err)
	}
	got := input.Facets.Messages
	if len(got) != 1 || got[0].Text != text || got[0].By != "somebody" ||
		!strings.Contains(input.Prompt, "This was sent through mcp, in the name of the person") {
		t.Errorf("the worker got %+v in %.300s", got, input.Prompt)
	}
	one, _ = messages()[0].(map[string]any)
	if one["step_path"] != "work#1" {
		t.Errorf("at the end the message is %v", one)
	}
	if a := tell("too late"); a.code() != "PRECONDITION" {
		t.Errorf("tell after the end = %v", a.fields)
	}
}

// TestWorkerCommandsNothing: inside a run no tool begins, answers, tells or ends anything.
func TestWorkerCommandsNothing(t *testing.T) {
	t.Parallel()

	h := asks(t, true)
	c := h.connect(t, eras[0], nil)
	run := c.begin()

	inside := connectTo(t, mcp.New(mcp.Config{
		Version: "test",
		Open: func(ctx context.Context, f project.Frontend) (*project.Project, error) {
			host := h.host(f)
			host.InsideRun = func() bool { return true }
			return project.Open(ctx, h.dir, true, host)
		},
	}), eras[0], accepting(make(chan string, 1)))

	for tool, args := range map[string]map[string]any{
		"run":    {"line": "/ship"},
		"answer": {"run": run},
		"tell":   {"run": run, "text": "ship it"},
		"cancel": {"run": run},
	} {
		if a := inside.call(tool, args); a.code() != "DENIED" {
			t.Errorf("%s inside a run = %v, want DENIED", tool, a.fields)
		}
	}

	c.stillOpen(run)

	if a := c.call("show", map[string]any{"run": run}); a.of("messages") != nil {
		t.Errorf("show = %v, want no message", a.fields)
	}

	c.end(run)
}
