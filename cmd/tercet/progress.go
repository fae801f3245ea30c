package main

import (
	"encoding/json"
	"fmt"

	"tercet/commands/interp"
	"tercet/formats"
	"tercet/internal/query"
	"tercet/internal/trace"
)

// event prints one plain line for each step that ended, on standard error.
func (t *terminal) event(e trace.Event) {
	if e.Kind == trace.Gate && e.Message == interp.NobodyToAsk && !t.quiet && !t.silent {
		fmt.Fprintf(t.io.err, "  gate: %s nobody can be asked here; takes '%s' in %s\n", oneLine(e.Name), oneLine(e.Outcome), e.Duration)
		return
	}
	if e.Kind == trace.Gate && e.Message == "answered by "+interp.ByTimeout && !t.quiet && !t.silent {
		fmt.Fprintf(t.io.err, "\n  gate: %s %s (no answer in time)\n", oneLine(e.Name), oneLine(e.Outcome))
		return
	}
	if t.quiet || t.silent || e.Kind != trace.Step || e.Outcome == "" {
		return
	}
	mark := t.glyph("✓", "ok")
	switch o := formats.Outcome(e.Outcome); {
	case o == formats.OutcomeSkipped:
		return
	case !o.Passes():
		mark = t.glyph("✗", "x")
	}
	line := fmt.Sprintf("%s %s", mark, oneLine(e.Name))
	if o := formats.Outcome(e.Outcome); !o.Passes() {
		line += ": " + oneLine(e.Outcome)
	}
	fmt.Fprintln(t.io.err, "  "+line)
}

// issuesOf reads issues that a contract's jq made.
func issuesOf(v any) ([]formats.Issue, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var out []formats.Issue
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, &formats.ValueError{What: "a list of issues from returns.issues", Got: query.Text(v)}
	}
	return out, nil
}
