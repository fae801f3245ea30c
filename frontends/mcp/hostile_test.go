package mcp_test

import (
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestHostileCalls: what no tool can take is refused with a code, and begins nothing.
func TestHostileCalls(t *testing.T) {
	t.Parallel()
	h := newHome(t, map[string]string{".tercet/secret.md": "a secret\n"})

	long := strings.Repeat("x", 1<<20)

	for _, era := range eras {
		c := h.connect(t, era, nil)
		for _, tt := range []struct {
			tool string
			args map[string]any
			want any // the code; nil: the arguments do not fit the schema
		}{
			{"run", map[string]any{}, nil},
			{"run", map[string]any{"line": 7}, nil},
			{"run", map[string]any{"line": "/help", "extra": true}, nil},
			{"run", map[string]any{"line": ""}, "USAGE"},
			{"run", map[string]any{"line": "plan 1"}, "USAGE"},
			{"run", map[string]any{"line": "/nope"}, "USAGE"},
			{"run", map[string]any{"line": "/task " + long}, "USAGE"},
			{"show", map[string]any{"run": ""}, "USAGE"},
			{"show", map[string]any{"run": "nope"}, "NOT_FOUND"},
			{"show", map[string]any{"run": "../../etc"}, "NOT_FOUND"},
			{"show", map[string]any{"run": long}, "NOT_FOUND"},
			{"show", map[string]any{"run": "r", "wait": 51}, "USAGE"},
			{"show", map[string]any{"run": "r", "wait": -1}, "USAGE"},
			{"show", map[string]any{"run": "r", "wait": "50"}, nil},
			{"runs", map[string]any{"most": -1}, "USAGE"},
			{"runs", map[string]any{"most": 1 << 40}, "USAGE"},
			{"tasks", map[string]any{"status": "nope"}, "USAGE"},
			{"query", map[string]any{"filter": ".tasks["}, "USAGE"},
			{"query", map[string]any{"filter": `"x" * 8000000`}, "LIMIT"},
			{"query", map[string]any{"filter": long}, "USAGE"},
			{"explain", map[string]any{"line": "/nope"}, "USAGE"},
			{"lint", map[string]any{"text": "x", "name": "../../../etc/passwd"}, "USAGE"},
			{"answer", map[string]any{"run": ""}, "USAGE"},
			{"answer", map[string]any{"run": "nope"}, "NOT_FOUND"},
			{"answer", map[string]any{"run": "nope", "choice": "approve"}, nil},
			{"tell", map[string]any{"run": "", "text": "x"}, "USAGE"},
			{"tell", map[string]any{"run": "nope", "text": "x"}, "NOT_FOUND"},
			{"tell", map[string]any{"run": "nope"}, nil},
			{"cancel", map[string]any{"run": ""}, "USAGE"},
			{"cancel", map[string]any{"run": "nope"}, "NOT_FOUND"},
		} {
			a := c.call(tt.tool, tt.args)
			if !a.Failed || a.code() != tt.want {
				t.Errorf(
					"%s: %s %.60v = %.300v, want code %v", era, tt.tool, tt.args, a.fields, tt.want,
				)
			}
		}

		if r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "sh"}); err == nil {
			t.Errorf("%s: an unknown tool gave %v", era, r)
		}

		if a := c.call("runs", nil); len(a.of("runs").([]any)) > 0 {
			t.Errorf("%s: runs = %v, want none begun", era, a.fields)
		}
	}
}

// TestResources: the log, the transcript and the documents of a run can be read by their URIs, and
// nothing else.
func TestResources(t *testing.T) {
	t.Parallel()
	h := newHome(t, map[string]string{".tercet/secret.md": "a secret\n"})
	for _, era := range eras {
		c := h.connect(t, era, nil)
		made, _ := c.call("run", map[string]any{"line": "/task Fix the parser"}).of("run").(string)
		c.follow(made, "finished")

		list := c.call("tasks", nil)
		tasks, _ := list.of("tasks").([]any)
		line := map[int]string{1: "/plan 1", 2: "/plan 2"}[len(tasks)]
		run, _ := c.call("run", map[string]any{"line": line}).of("run").(string)

		over := c.follow(run, "finished")
		documents, _ := over.of("documents").([]any)
		if len(documents) == 0 {
			t.Fatalf("%s: %s = %v, want a document", era, line, over.fields)
		}

		document, _ := documents[0].(string)
		log, _ := over.of("log").(string)

		read := func(uri string) (string, error) {
			r, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
			if err != nil {
				return "", err
			}
			return r.Contents[0].Text, nil
		}

		if text, err := read(document); err != nil || !strings.Contains(text, "Fix the parser") {
			t.Errorf("%s: %s = %s, %v, want the plan", era, document, text, err)
		}
		if text, err := read(log); err != nil || !strings.Contains(text, "run_finished") {
			t.Errorf("%s: %s = %s, %v, want the log", era, log, text, err)
		}

		transcript, _ := over.of("transcript").(string)
		if text, err := read(transcript); err != nil || !strings.Contains(text, "planner") ||
			strings.Contains(text, `{"`) {
			t.Errorf("%s: %s = %s, %v, want the transcript", era, transcript, text, err)
		}

		listed, err := c.ListResources(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}

		found := 0
		for _, one := range listed.Resources {
			if one.URI == document || one.URI == log || one.URI == transcript {
				found++
			}
		}

		if found != 3 {
			t.Errorf("%s: resources = %v, want the log, transcript and document",
				era, listed.Resources)
		}

		at := "tercet://runs/" + run + "/documents/"
		for _, uri := range []string{
			"tercet://runs/nope/log",
			"tercet://runs/../log",
			"tercet://runs/" + run[:4] + "/log",
			"tercet://runs//log",
			"tercet://runs/" + run + "/journal.jsonl",
			at + ".tercet/secret.md",
			at + "../../../etc/passwd",
			at + "..%2f..%2fetc%2fpasswd",
			at + "%2e%2e/%2e%2e/etc/passwd",
			at + "/etc/passwd",
			at + ".tercet/state.json",
			at,
			"file:///etc/passwd",
			document + "/../../../../secret.md",
			document + "%00",
			at + strings.Repeat("a/", 10000),
		} {
			if text, err := read(uri); err == nil {
				t.Errorf("%s: %.80s = %.80s, want nothing", era, uri, text)
			}
		}
	}
}

// TestPrompts: each command is a prompt that has an agent run it.
func TestPrompts(t *testing.T) {
	t.Parallel()

	h := newHome(t, nil)
	for _, era := range eras {
		c := h.connect(t, era, nil)

		list, err := c.ListPrompts(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}

		var plan *sdk.Prompt
		for _, one := range list.Prompts {
			if one.Name == "plan" {
				plan = one
			}
		}

		if plan == nil || len(plan.Arguments) != 1 || plan.Description == "" {
			t.Fatalf("%s: prompts = %v, want plan with its arguments", era, list.Prompts)
		}

		got, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{
			Name:      "plan",
			Arguments: map[string]string{"arguments": `1 "a report"`},
		})
		if err != nil {
			t.Fatal(err)
		}

		text, _ := got.Messages[0].Content.(*sdk.TextContent)
		if text == nil || !strings.Contains(text.Text, `"/plan 1 \"a report\""`) {
			t.Errorf("%s: the prompt says %v, want the line in it", era, text)
		}

		if _, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "nope"}); err == nil {
			t.Errorf("%s: there is a prompt of no command", era)
		}
	}

	h.write(t, h.dir+"/.tercet/commands/ship.md", ship)
	list, err := h.connect(t, eras[0], nil).ListPrompts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}

	found := false
	for _, one := range list.Prompts {
		found = found || one.Name == "ship"
	}

	if !found {
		t.Error("a command that was written later is no prompt")
	}
}

// TestTools: the hints say which tools change something, and names are those that clients take.
func TestTools(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)

	reads := map[string]bool{
		"commands": true, "run": false, "show": true, "runs": true, "tasks": true, "query": true,
		"explain": true, "lint": true, "answer": false, "tell": false, "cancel": false,
	}

	destroys := map[string]bool{"answer": true, "cancel": true}

	for _, era := range eras {
		list, err := h.connect(t, era, nil).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}

		if len(list.Tools) != len(reads) {
			t.Errorf("%s: %d tools, want %d", era, len(list.Tools), len(reads))
		}

		for _, one := range list.Tools {
			want, ok := reads[one.Name]
			hints := one.Annotations
			if !ok || hints == nil || hints.ReadOnlyHint != want ||
				*hints.DestructiveHint != destroys[one.Name] || hints.IdempotentHint != want {
				t.Errorf("%s: %s has the hints %+v", era, one.Name, hints)
			}
		}
	}
}
