package interp

import "tercet/formats"

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
