package interp_test

import (
	"slices"
	"testing"

	"tercet/formats"
)

// TestPrompt: a step that is run again gets the same instruction, and beside it what it was sent back for.
func TestPrompt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agents["judge"] = in(verdict(formats.VerdictRejected, "bad"), verdict(formats.VerdictApproved))
	w.run(t.Context(), file("", "", "A: id: a\ndelegate: worker\nprompt: Be ${{ \"quick\" }}.", "B: delegate: judge\non: {rejected: {redo: a}}"), "")
	var got []string
	for _, r := range w.requests {
		got = append(got, r.Facets.Instruction)
	}
	if want := []string{"Be quick.", "", "Be quick.", ""}; !slices.Equal(got, want) {
		t.Errorf("instructions = %q, want %q", got, want)
	}
	if f := w.requests[2].Feedback; f == nil || f.From != "b" || f.Attempt != 1 || len(f.Issues) != 1 || f.Issues[0].Description != "bad" {
		t.Errorf("feedback = %+v, want what b found", f)
	}
}
