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
	key := f.path + " " + formats.FieldQuestions
	f.used[key]++
	if f.used[key] > mostInterviews {
		f.outcome = formats.OutcomeFailed
		return told(f.limited(fmt.Sprintf("step '%s' asked the user more often than %d times",
			f.Title, mostInterviews))), nil
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
		From:     f.ID,
		Answer:   strings.Join(answers, "\n"),
		Attempt:  f.used[key],
		Last:     f.last(),
		Question: cmp.Or(f.ret.BlockedReason, f.ret.Summary),
		Target:   formats.TargetUser,
	}
	defer f.hear(answering(f.feedback, fb))()
	return f.do()
}

// put puts one question to the user, once more where the answer says nothing. What the user did not
// say is an assumption.
func (f finished) put(q formats.Question) (words string, err error) {
	g := q.Gate()
	g.Run = f.cfg.IDs.Run
	g.Step = f.spot()
	for range 2 {
		var d formats.Decision
		if _, d, err = ask(f.step, static{g: g}); err != nil {
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
	if c.Host == "" && c.question == "" && c.abreast == 0 {
		c.hinted.agent = c.to.Agent
		c.hinted.next = strings.TrimSpace(as[string](ret.Fields["NEXT"]))
	}
}

// follows notes where the worker that starts now is not the one that was named. It is never obeyed.
func (c call) follows() error {
	said := c.hinted
	if c.Host != "" || c.question != "" || c.abreast > 0 || said.next == "" ||
		said.agent == c.to.Agent ||
		strings.EqualFold(said.next, c.to.Agent) {
		return nil
	}
	c.hinted.next = ""
	c.emit(trace.Event{
		Kind:    trace.Mismatch,
		Name:    said.agent,
		Step:    c.path,
		Message: fmt.Sprintf("named %s as next, and %s is", said.next, c.to.Agent),
	})
	return c.note(formats.EntryNextMismatch, map[string]any{
		"agent": said.agent,
		"said":  said.next,
		"did":   c.to.Agent,
	})
}
