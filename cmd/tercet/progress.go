package main

import (
	"fmt"

	"tercet/commands/interp"
	"tercet/formats"
	"tercet/internal/trace"
)

// event prints one plain line for each step that ended, on standard error.
func (t *terminal) event(e trace.Event) {
	outcome := formats.Outcome(e.Outcome)
	name, shown := oneLine(e.Name), oneLine(e.Outcome)
	switch {
	case t.quiet || t.silent:
	case e.Kind == trace.Gate && e.Message == interp.NobodyToAsk:
		fmt.Fprintf(t.io.err, "  gate: %s nobody can be asked here; takes '%s' in %s\n", name, shown, e.Duration)
	case e.Kind == trace.Gate && e.Message == "answered by "+interp.ByTimeout:
		fmt.Fprintf(t.io.err, "\n  gate: %s %s (no answer in time)\n", name, shown)
	case e.Kind != trace.Step || e.Outcome == "" || outcome == formats.OutcomeSkipped:
	case outcome.Passes():
		fmt.Fprintf(t.io.err, "  %s %s\n", t.glyph("✓", "ok"), name)
	default:
		fmt.Fprintf(t.io.err, "  %s %s: %s\n", t.glyph("✗", "x"), name, shown)
	}
}
