package interp_test

import (
	"slices"
	"testing"

	"tercet/formats"
)

// TestPrompt: a step that is run again gets the same instruction, and beside it what it was sent
// back for.
func TestPrompt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agents["judge"] = in(
		verdict(formats.VerdictRejected, "bad"),
		verdict(formats.VerdictApproved),
	)
	w.run(
		t.Context(),
		file(
			"", "",
			"A: id: a\ndelegate: worker\nprompt: Be ${{ \"quick\" }}.",
			"B: delegate: judge\non: {rejected: {redo: a}}",
		),
		"",
	)
	var got []string
	for _, r := range w.requests {
		got = append(got, r.Facets.Instruction)
	}

	if want := []string{"Be quick.", "", "Be quick.", ""}; !slices.Equal(got, want) {
		t.Errorf("instructions = %q, want %q", got, want)
	}
	f := w.requests[2].Feedback
	if f == nil || f.From != "b" || f.Attempt != 1 || len(f.Issues) != 1 ||
		f.Issues[0].Description != "bad" {
		t.Errorf("feedback = %+v, want what b found", f)
	}
}

// TestConditionsAreSentBack: what an approval hangs on goes back with the work, the summary as well
// as the issues.
func TestConditionsAreSentBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := verdict(formats.VerdictConditional)
	first.Summary = "but for the time zone"
	first.Issues = []formats.Issue{{Level: formats.LevelWarning, Description: "name it"}}
	w.agents["judge"] = in(first, verdict(formats.VerdictApproved))

	w.run(
		t.Context(),
		file(
			"", "",
			"A: id: a\ndelegate: worker",
			"B: delegate: judge\non: {conditional: {redo: a}}",
		),
		"",
	)

	if len(w.requests) != 4 || w.requests[2].Feedback == nil {
		t.Fatalf("%d requests, want four, the third with feedback", len(w.requests))
	}

	var got []string
	for _, issue := range w.requests[2].Feedback.Issues {
		got = append(got, issue.Description)
	}

	if want := []string{"but for the time zone", "name it"}; !slices.Equal(got, want) {
		t.Errorf("issues = %q, want %q", got, want)
	}
}

// TestFieldsOfADocument: a check of a handoff document shows its fields, so that a later step reads
// what was written.
func TestFieldsOfADocument(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.docs["ARCHITECTURE.md"] = "# Clock\n\n## Implementation Order\n\n" +
		"1. Tell the time | Target file: a.go\n2. Tell the date\n"

	ret := w.run(
		t.Context(),
		file(
			"", "",
			"A: id: a\ncheck: {document: architecture, path: ARCHITECTURE.md}",
			"B: return: \"${{ $steps.a.fields.tasks | map(.name) | join(\\\", \\\") }}\"",
		),
		"",
	)

	if got := describeReturn(ret); got != "completed 0: Tell the time, Tell the date" {
		t.Errorf("Run = %s, want the names of the tasks", got)
	}
}
