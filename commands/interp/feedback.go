package interp

import "tercet/formats"

// nonNil is a list that an expression can go through, also where there are none.
func nonNil[T any](list []T) []T {
	return append([]T{}, list...)
}

// withAnswer is the feedback of a step whose question was answered. Work that was sent back stays
// sent back: what it was sent back for is as open as before the question.
func withAnswer(before *formats.Feedback, answer formats.Feedback) *formats.Feedback {
	if before == nil || before.Note == "" && len(before.Issues) == 0 {
		answer.Issues = nonNil(answer.Issues)
		return &answer
	}
	both := *before
	both.Answer = answer.Answer
	both.Choice = answer.Choice
	both.Question = answer.Question
	both.Target = answer.Target
	both.Last = answer.Last
	return &both
}

// lastReturn is what the step returned, for the call that goes on with its work.
func (tr transition) lastReturn() *formats.LastReturn {
	res := tr.result
	return &formats.LastReturn{
		Status:    res.outcome,
		Summary:   res.ret.Summary,
		Fields:    res.ret.Fields,
		NextSteps: res.ret.NextSteps,
	}
}

// buildFeedback is the feedback of a worker that failed by a fault of its work.
func (c call) buildFeedback(ret formats.Return) *formats.Feedback {
	fb := &formats.Feedback{
		From:    c.step.info.ID,
		Issues:  nonNil(ret.Issues),
		Attempt: c.attempt,
	}
	for _, e := range ret.Errors {
		fb.Issues = append(fb.Issues, formats.Issue{
			Level:        formats.LevelError,
			Description:  e.Message,
			SuggestedFix: e.Recommendation,
			Source:       "agent",
		})
	}
	fb.Last = &formats.LastReturn{
		Status:    ret.Outcome(),
		Summary:   ret.Summary,
		Fields:    ret.Fields,
		NextSteps: ret.NextSteps,
	}
	return fb
}
