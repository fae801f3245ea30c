package mcp_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tercet/project"
)

// ship asks before it ships.
const ship = `---
command: ship
description: Ask before anything happens
---

## Workflow Execution

### Step 1: Ask whether to ship

` + "```yaml step" + `
id: go
gate: Ship it?
evidence: plan.md
choices: {approve: next, again: {redo: [go]}, reject: fail}
` + "```" + `

### Step 2: Say what was answered

` + "```yaml step" + `
return: "shipped: ${{ $steps.go.choice }} (${{ $steps.go.note }})"
` + "```" + `
`

// asks is a home whose project asks, and whose user lets clients pass answers on or not.
func asks(t *testing.T, allowed bool) *home {
	t.Helper()
	h := newHome(t, map[string]string{
		".tercet/commands/ship.md": ship,
		"plan.md":                  "ship it\n",
		// of a project this counts for nothing
		".tercet/config.yaml": "runner: offline\nmcp: {answers: true}\n",
	})

	if allowed {
		h.write(t, filepath.Join(h.user, ".config/tercet/config.yaml"), "mcp: {answers: true}\n")
	}

	return h
}

// accepting is a client whose hook answers every form with its first choice, as a script would.
func accepting(seen chan<- string) *sdk.ClientOptions {
	return &sdk.ClientOptions{ElicitationHandler: func(
		_ context.Context, r *sdk.ElicitRequest,
	) (*sdk.ElicitResult, error) {
		seen <- r.Params.Message
		return &sdk.ElicitResult{
			Action:  "accept",
			Content: map[string]any{"choice": "approve", "note": "by a hook"},
		}, nil
	}}
}

// begin starts /ship and waits until it asks.
func (c *client) begin() (run string) {
	c.t.Helper()

	begun := c.call("run", map[string]any{"line": "/ship"})
	run, _ = begun.of("run").(string)
	if run == "" {
		c.t.Fatalf("run = %v, want a run", begun.fields)
	}

	a := c.follow(run, "asking")
	if a.of("question", "question") != "Ship it?" {
		c.t.Fatalf("show = %v, want the question", a.fields)
	}

	return run
}

// stillOpen fails unless the run asks as before.
func (c *client) stillOpen(run string) {
	c.t.Helper()
	if a := c.call("show", map[string]any{"run": run}); a.of("state") != "asking" {
		c.t.Errorf("the run is %v, want its question open", a.fields)
	}
}

// end ends a run, so that its process does.
func (c *client) end(run string) {
	c.t.Helper()
	if a := c.call("cancel", map[string]any{"run": run}); a.Failed ||
		a.of("status") != "cancelled" {
		c.t.Errorf("cancel = %v, want the run cancelled", a.fields)
	}
}

// TestAnswerNeedsConfiguration: a client whose hook accepts everything answers nothing unless the
// user's own configuration says so. Where it does, that hook answers in the user's name.
func TestAnswerNeedsConfiguration(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			seen := make(chan string, 9)
			c := asks(t, false).connect(t, era, accepting(seen))
			run := c.begin()
			a := c.call("answer", map[string]any{"run": run})
			why, _ := a.of("why").(string)
			if a.of("answered") != false || !strings.Contains(why, "mcp: {answers: true}") ||
				len(seen) > 0 {
				t.Errorf(
					"answer = %v, %d forms shown, want it left to a person", a.fields, len(seen),
				)
			}
			c.stillOpen(run)
			c.end(run)

			h := asks(t, true)
			c = h.connect(t, era, accepting(seen))
			run = c.begin()
			a = c.call("answer", map[string]any{"run": run})
			if a.of("answered") != true || a.of("choice") != "approve" {
				t.Fatalf("answer = %v, want the hook's answer taken", a.fields)
			}
			if text := <-seen; !strings.Contains(text, "Ship it?") ||
				!strings.Contains(text, "plan.md") {
				t.Errorf("the form says %q, want the question and its evidence", text)
			}
			over := c.follow(run, "finished")
			if over.of("status") != "completed" {
				t.Errorf("the run came to %v", over.fields)
			}
			if got := h.decided(t, run); got.Channel != "mcp" || got.By != "somebody" ||
				got.Note != "by a hook" {
				t.Errorf("the journal has %+v, want the channel mcp", got)
			}
		})
	}
}

// decided is the answer that the journal of a run has.
type decided struct{ By, Channel, Note string }

func (h *home) decided(t *testing.T, run string) (out decided) {
	t.Helper()

	p, err := project.Open(t.Context(), h.dir, true, h.host(project.Unattended{}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close(t.Context()) }()

	lines, _, err := p.Log(run, "").Lines()
	if err != nil {
		t.Fatal(err)
	}

	for _, one := range lines {
		if one.Type == "gate_decided" {
			if err := json.Unmarshal(one.Data, &out); err != nil {
				t.Fatal(err)
			}
		}
	}

	return out
}

// TestNoAnswer: a decline, a cancel, a choice that there is not, a client without forms and silence
// leave the question open, also where the user lets clients pass answers on.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	h := asks(t, true)
	answers := map[string]*sdk.ElicitResult{
		"decline":          {Action: "decline"},
		"cancel":           {Action: "cancel"},
		"decline, a value": {Action: "decline", Content: map[string]any{"choice": "approve"}},
	}
	run := ""
	for _, era := range eras {
		for name, result := range answers {
			c := h.connect(t, era, &sdk.ClientOptions{ElicitationHandler: func(
				context.Context, *sdk.ElicitRequest,
			) (*sdk.ElicitResult, error) {
				return result, nil
			}})
			if run == "" {
				run = c.begin()
			}
			a := c.call("answer", map[string]any{"run": run})
			if a.Failed || a.of("answered") != false {
				t.Errorf("%s: %s = %v, want it open", era, name, a.fields)
			}
			c.stillOpen(run)
		}

		c := h.connect(t, era, nil)
		if a := c.call("answer", map[string]any{"run": run}); a.of("answered") != false ||
			a.of("why") != "this client cannot ask its user" {
			t.Errorf("%s: a client without forms = %v, want it open", era, a.fields)
		}

		asked := make(chan struct{})
		c = h.connect(t, era, &sdk.ClientOptions{ElicitationHandler: func(
			ctx context.Context, _ *sdk.ElicitRequest,
		) (*sdk.ElicitResult, error) {
			close(asked)
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-asked
			cancel()
		}()
		params := &sdk.CallToolParams{Name: "answer", Arguments: map[string]any{"run": run}}
		if r, err := c.CallTool(ctx, params); err == nil {
			t.Errorf("%s: silence = %v, want no answer", era, r)
		}
		c.stillOpen(run)
	}
	h.connect(t, eras[0], nil).end(run)
}

// TestAnswerToWhatWasShown: an answer counts only if what the user was shown is still so.
func TestAnswerToWhatWasShown(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			h := asks(t, true)
			plan := filepath.Join(h.dir, "plan.md")
			forms := 0
			c := h.connect(t, era, &sdk.ClientOptions{ElicitationHandler: func(
				_ context.Context, r *sdk.ElicitRequest,
			) (*sdk.ElicitResult, error) {
				if !strings.Contains(r.Params.Message, "ship it") {
					t.Errorf("the form says %q, want the text of plan.md", r.Params.Message)
				}

				forms++
				if forms == 1 {
					h.write(t, plan, "delete it\n")
				}

				return &sdk.ElicitResult{
					Action:  "accept",
					Content: map[string]any{"choice": "approve"},
				}, nil
			}})
			run := c.begin()
			a := c.call("answer", map[string]any{"run": run})
			why, _ := a.of("why").(string)
			if a.of("answered") != false ||
				!strings.Contains(why, "has changed since it was shown") {
				t.Errorf("answer = %v, want it open", a.fields)
			}
			c.stillOpen(run)

			h.write(t, plan, "ship it\n")
			if a := c.call("answer", map[string]any{"run": run}); a.of("answered") != true {
				t.Errorf("answer = %v, want it taken", a.fields)
			}
			c.follow(run, "finished")
		})
	}
}

// TestForgedState: an answer without the question that it answers, or to another one, is none.
func TestForgedState(t *testing.T) {
	t.Parallel()
	h := asks(t, true)
	forms := &sdk.ClientOptions{
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		Capabilities: &sdk.ClientCapabilities{
			Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}},
		},
	}
	c := h.connect(t, "2026-07-28", forms)
	yes := sdk.InputResponseMap{"answer": &sdk.ElicitResult{
		Action:  "accept",
		Content: map[string]any{"choice": "approve"},
	}}
	answer := func(run, state string, responses sdk.InputResponseMap) *sdk.CallToolResult {
		t.Helper()

		r, err := c.CallTool(t.Context(), &sdk.CallToolParams{
			Name:           "answer",
			Arguments:      map[string]any{"run": run},
			InputResponses: responses,
			RequestState:   state,
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}

	first := c.begin()
	asked := answer(first, "", yes) // without a state it is no answer
	if !asked.NeedsInput() || asked.RequestState == "" {
		t.Fatalf("answer = %+v, want a form and a state", asked)
	}
	c.stillOpen(first)
	for _, state := range []string{"x", asked.RequestState[2:], asked.RequestState + "A"} {
		if r := answer(first, state, yes); !r.IsError {
			t.Errorf("the state %.12s... was taken", state)
		}
	}
	if a := c.read("answer", answer(first, asked.RequestState, nil)); a.of("answered") != false {
		t.Errorf("a state without an answer = %v, want it open", a.fields)
	}
	c.stillOpen(first)
	c.end(first)

	second := c.begin()
	if r := answer(second, asked.RequestState, yes); !r.IsError {
		t.Error("the state of another question was taken")
	}
	c.stillOpen(second)
	again := answer(second, "", nil)
	if a := c.read("answer", answer(second, again.RequestState, yes)); a.of("answered") != true {
		t.Errorf("answer = %v, want it taken", a.fields)
	}
	c.follow(second, "finished")
	if r := answer(second, again.RequestState, yes); !r.IsError {
		t.Error("an answer was taken twice")
	}
}

// TestShowWaits: show waits for the question, tells where the run is, and comes back at the end of
// its time.
func TestShowWaits(t *testing.T) {
	t.Parallel()
	h := asks(t, false)
	for _, era := range eras {
		c := h.connect(t, era, nil)
		run := c.begin()
		began := time.Now()
		a := c.call("show", map[string]any{"run": run, "wait": 50})
		if a.of("state") != "asking" || time.Since(began) > 40*time.Second {
			t.Errorf("%s: show = %v after %s, want the question at once", era, a.fields,
				time.Since(began))
		}
		c.end(run)
	}
}
