package interp

import (
	"fmt"
	"strings"

	"tercet/formats"
)

// revisionHeader opens the one block of feedback that an instruction may hold.
const revisionHeader = "## Revision "

// Inject is a pure function of (base instruction, round, what is open): it gives the instruction with exactly one
// revision block at its end, the person's own words first, issues without repeats and numbered anew. An earlier block
// is replaced.
func Inject(instruction string, round int, f formats.Feedback) string {
	if i := strings.Index(instruction, revisionHeader); i >= 0 {
		instruction = strings.TrimRight(instruction[:i], "\n")
	}
	if f.Note == "" && f.Answer == "" && len(f.Issues) == 0 {
		return instruction
	}
	var parts, issues []string
	if instruction != "" {
		parts = append(parts, instruction)
	}
	parts = append(parts, fmt.Sprintf("%s%d", revisionHeader, round), opening(f))
	if f.Note != "" {
		parts = append(parts, "The person says: "+f.Note)
	}
	if f.Answer != "" && f.Answer != f.Note {
		parts = append(parts, "The answer to your question: "+f.Answer)
	}
	seen := map[string]bool{}
	for _, i := range f.Issues {
		where := strings.Join(i.Files, ", ")
		if where != "" && i.Line > 0 {
			where = fmt.Sprintf("%s:%d", where, i.Line)
		}
		key := where + "\x00" + i.Description
		if seen[key] {
			continue
		}
		seen[key] = true
		line := fmt.Sprintf("%d. [%s] %s", len(issues)+1, i.Level, i.Description)
		if where != "" && !strings.Contains(i.Description, where) {
			line += " (" + where + ")"
		}
		if i.SuggestedFix != "" {
			line += "; " + i.SuggestedFix
		}
		issues = append(issues, line)
	}
	if issues != nil {
		parts = append(parts, strings.Join(issues, "\n"))
	}
	return strings.TrimRight(strings.Join(parts, "\n\n"), "\n")
}

// opening says why the step runs again: its work was sent back, its question was answered, or it looks once more at
// what it sent back itself.
func opening(f formats.Feedback) string {
	switch {
	case f.Answer != "" && f.Note == "" && len(f.Issues) == 0:
		return "Your question was answered. Go on where it stopped you."
	case f.Own:
		return "You sent this work back with what is listed here. It was done again: judge whether that is resolved, and " +
			"what is new."
	}
	return fmt.Sprintf("Your earlier work was sent back by '%s'. Change what is listed here and nothing else.", f.From)
}

// listed is a list that an expression can go through, also where there are none.
func listed[T any](list []T) []T { return append([]T{}, list...) }

// answering is the feedback of a step whose question was answered. Work that was sent back stays sent back: what it was
// sent back for is as open as before the question.
func answering(before *formats.Feedback, answer formats.Feedback) *formats.Feedback {
	if before == nil || before.Note == "" && len(before.Issues) == 0 {
		answer.Issues = listed(answer.Issues)
		return &answer
	}
	both := *before
	both.Answer, both.Choice = answer.Answer, answer.Choice
	return &both
}
