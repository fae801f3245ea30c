package interp

import (
	"fmt"
	"strings"

	"tercet/formats"
	"tercet/internal/trace"
)

// noteNextAgent keeps which agent a worker of the sequence named as the next one. What runs in
// Between Steps, side by side, or to answer a question is no part of the sequence.
func (c call) noteNextAgent(ret formats.Return) {
	r := c.step.run
	if c.step.info.Host == "" && c.question == "" && !c.step.frame.concurrent {
		r.nextAgent.agent = c.to.Agent
		r.nextAgent.next = strings.TrimSpace(as[string](ret.Fields["NEXT"]))
	}
}

// checkNextAgent notes where the worker that starts now is not the one that was named. It is never
// obeyed.
func (c call) checkNextAgent() error {
	r := c.step.run
	said := r.nextAgent
	if c.step.info.Host != "" || c.question != "" || c.step.frame.concurrent || said.next == "" ||
		said.agent == c.to.Agent ||
		strings.EqualFold(said.next, c.to.Agent) {
		return nil
	}
	r.nextAgent.next = ""
	c.step.frame.emit(trace.Event{
		Kind:    trace.Mismatch,
		Name:    said.agent,
		Step:    c.step.path,
		Message: fmt.Sprintf("named %s as next, and %s is", said.next, c.to.Agent),
	})
	return c.step.record(formats.EntryNextMismatch, map[string]any{
		"agent": said.agent,
		"said":  said.next,
		"did":   c.to.Agent,
	})
}
