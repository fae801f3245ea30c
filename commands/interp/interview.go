package interp

import (
	"cmp"
	"fmt"
	"strings"

	"tercet/formats"
)

// maxInterviews is how often a subagent may ask the user in one step.
const maxInterviews = 10

// interview asks the user the questions of a blocked subagent, one after the other, and runs the
// step again with the answers. If nobody can answer, the run waits where it may; otherwise the
// outcome stands.
func (tr transition) interview(list []formats.Question, waits bool) (*ending, error) {
	s := tr.step
	r := s.run
	key := s.path + " " + formats.FieldQuestions
	r.counts.targets[key]++
	if r.counts.targets[key] > maxInterviews {
		tr.result.outcome = formats.OutcomeFailed
		return final(tr.limitReturn(
			fmt.Sprintf("step '%s' asked the user more often than %d times",
				s.info.Step.Title, maxInterviews),
			"give the subagent what it asks for in its input",
		)), nil
	}

	answers := make([]string, len(list))
	for i, q := range list {
		words, err := tr.askUser(q)
		if asGateOpen(err) != nil && !waits {
			return &ending{ret: tr.defaultReturn()}, nil
		}
		if err != nil {
			return nil, err
		}
		answers[i] = formats.OneLine(q.Question) + " " + words
	}

	fb := formats.Feedback{
		From:     s.info.ID,
		Answer:   strings.Join(answers, "\n"),
		Attempt:  r.counts.targets[key],
		Last:     tr.lastReturn(),
		Question: cmp.Or(tr.result.ret.BlockedReason, tr.result.ret.Summary),
		Target:   formats.TargetUser,
	}
	return s.withFeedback(withAnswer(s.frame.feedback, fb)).execute()
}

// askUser asks one question, and once more if the answer says nothing. What no user said is marked
// as an assumption.
func (tr transition) askUser(q formats.Question) (words string, err error) {
	s := tr.step
	g := q.Gate()
	g.Run = s.run.cfg.IDs.Run
	g.Step = s.journalPath()
	for range 2 {
		var d formats.Decision
		_, d, err = ask(s, fixedGate{gate: g})
		if err != nil {
			return "", err
		}
		words = q.Says(d)
		if !d.Person {
			return words + " (assumed)", nil
		}
		if !formats.SaysNothing(words) {
			break
		}
	}
	return words, nil
}
