package interp

import (
	"cmp"

	"tercet/formats"
)

// withAnswer is the feedback of a step whose question was answered. Issues for which the work was
// sent back before stay in it, because they are still open.
func withAnswer(before *formats.Feedback, answer formats.Feedback) *formats.Feedback {
	if before == nil || before.Note == "" && len(before.Issues) == 0 {
		answer.Issues = nonNil(answer.Issues)
		return &answer
	}
	out := *before
	out.Answer = answer.Answer
	out.Choice = answer.Choice
	out.Question = answer.Question
	out.Target = answer.Target
	out.Last = answer.Last
	return &out
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

// buildFeedback is the feedback for a worker whose build failed.
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

// redoFeedback is the feedback for the steps that are run again because of the result.
func (tr transition) redoFeedback() *formats.Feedback {
	s := tr.step
	res := tr.result
	fb := &formats.Feedback{
		From:    s.info.ID,
		Issues:  nonNil(res.ret.Issues),
		Choice:  formats.As[string](res.value["choice"]),
		Note:    formats.As[string](res.value["note"]),
		Attempt: 1,
	}

	if why := res.ret.BlockedReason; res.outcome == formats.OutcomeBlocked && why != "" {
		fb.Issues = append(fb.Issues, formats.Issue{
			Level:       formats.LevelError,
			Description: why,
			Source:      "agent",
		})
	}
	// the summary names the conditions
	if res.outcome == formats.OutcomeConditional && res.ret.Summary != "" {
		condition := formats.Issue{
			Level:       formats.LevelWarning,
			Description: res.ret.Summary,
			Source:      "agent",
		}
		fb.Issues = append([]formats.Issue{condition}, fb.Issues...)
	}

	if before := s.frame.feedback; before != nil && before.From == s.info.ID {
		fb.Attempt = before.Attempt + 1
	}
	return fb
}

// gateFeedback is the feedback for a step that the user lets run again.
func (tr transition) gateFeedback(d formats.Decision) *formats.Feedback {
	s := tr.step
	res := tr.result
	fb := &formats.Feedback{
		From:    s.info.ID,
		Issues:  nonNil(res.ret.Issues),
		Note:    d.Note,
		Choice:  d.Answer,
		Attempt: s.run.counts.visits[s.path],
	}

	if leavesNoWork(res.outcome) {
		fb.Last = tr.lastReturn()
	}
	if d.Answer != choiceAnswer {
		return fb
	}

	fb.Note = ""
	fb.Answer = d.Note
	fb.Question = cmp.Or(res.ret.BlockedReason, res.ret.Summary)
	fb.Target = formats.TargetUser
	return withAnswer(s.frame.feedback, *fb)
}
