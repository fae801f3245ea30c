package interp

import (
	"cmp"
	"fmt"
	"strings"

	"tercet/formats"
	"tercet/internal/trace"
)

// mostInterviews is how often a subagent may ask the user in one step.
const mostInterviews = 10

// interview puts the questions of a blocked subagent to the user, one after the other, and runs the
// step again with the answers. Without a possible answer the run waits if it may; else the outcome
// stands.
func (f finished) interview(list []formats.Question, waits bool) (*ending, error) {
	r := f.step.run
	s := f.step
	key := s.path + " " + formats.FieldQuestions
	r.counts.targets[key]++
	if r.counts.targets[key] > mostInterviews {
		f.result.outcome = formats.OutcomeFailed
		return told(f.limited(fmt.Sprintf("step '%s' asked the user more often than %d times",
			s.info.Title, mostInterviews))), nil
	}

	answers := make([]string, len(list))
	for i, q := range list {
		words, err := f.put(q)
		if isOpen(err) != nil && !waits {
			return &ending{ret: f.ended()}, nil
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
		Last:     f.last(),
		Question: cmp.Or(f.result.ret.BlockedReason, f.result.ret.Summary),
		Target:   formats.TargetUser,
	}
	return s.hearing(answering(s.frame.feedback, fb)).do()
}

// put puts one question to the user, once more where the answer says nothing. What the user did not
// say is an assumption.
func (f finished) put(q formats.Question) (words string, err error) {
	s := f.step
	g := q.Gate()
	g.Run = s.run.cfg.IDs.Run
	g.Step = s.spot()
	for range 2 {
		var d formats.Decision
		if _, d, err = ask(s, static{g: g}); err != nil {
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

// expects keeps which agent a worker of the sequence named as the next one. What runs in Between
// Steps, side by side, or to answer a question is no part of the sequence.
func (c call) expects(ret formats.Return) {
	r := c.step.run
	if c.step.info.Host == "" && c.question == "" && !c.step.frame.concurrent {
		r.hinted.agent = c.to.Agent
		r.hinted.next = strings.TrimSpace(as[string](ret.Fields["NEXT"]))
	}
}

// follows notes where the worker that starts now is not the one that was named. It is never obeyed.
func (c call) follows() error {
	r := c.step.run
	said := r.hinted
	if c.step.info.Host != "" || c.question != "" || c.step.frame.concurrent || said.next == "" ||
		said.agent == c.to.Agent ||
		strings.EqualFold(said.next, c.to.Agent) {
		return nil
	}
	r.hinted.next = ""
	c.step.frame.emit(trace.Event{
		Kind:    trace.Mismatch,
		Name:    said.agent,
		Step:    c.step.path,
		Message: fmt.Sprintf("named %s as next, and %s is", said.next, c.to.Agent),
	})
	return c.step.note(formats.EntryNextMismatch, map[string]any{
		"agent": said.agent,
		"said":  said.next,
		"did":   c.to.Agent,
	})
}
