package interp

import (
	"fmt"
	"strings"

	"tercet/formats"
	"tercet/internal/trace"
)

// nextAgent is what the last worker of the sequence named as the next one.
type nextAgent struct{ by, next string }

// inSequence tells whether the call is a part of the sequence of workers. What runs in Between
// Steps, side by side, or to answer a question is none.
func (c call) inSequence() bool {
	return c.step.info.Host == "" && c.question == "" && !c.step.frame.concurrent
}

// noteNextAgent keeps which agent a worker named.
func (c call) noteNextAgent(ret formats.Return) {
	if c.inSequence() {
		c.step.run.nextAgent = nextAgent{
			by:   c.to.Agent,
			next: strings.TrimSpace(formats.As[string](ret.Fields["NEXT"])),
		}
	}
}

// checkNextAgent records where the worker that starts now is not the one that was named. What a
// worker names is never obeyed.
func (c call) checkNextAgent() error {
	named := c.step.run.nextAgent
	if !c.inSequence() || named.next == "" || named.by == c.to.Agent ||
		strings.EqualFold(named.next, c.to.Agent) {
		return nil
	}
	c.step.run.nextAgent.next = ""
	c.step.frame.emit(trace.Event{
		Kind:    trace.Mismatch,
		Name:    named.by,
		Step:    c.step.path,
		Message: fmt.Sprintf("named %s as next, and %s is", named.next, c.to.Agent),
	})
	return c.step.record(formats.EntryNextMismatch, object{
		"agent": named.by,
		"said":  named.next,
		"did":   c.to.Agent,
	})
}
