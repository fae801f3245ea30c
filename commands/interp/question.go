package interp

import (
	"errors"

	"tercet/formats"
)

// errStale ends the question of a worker if its evidence changed before the answer came.
var errStale = errors.New("what the question is about has changed")

// A worker that needs the user's consent asks the approver first. Where no one can be asked, the
// worker gives the question back as a *formats.GateOpenError without an id, having done nothing.
// The run then asks it as a gate of its own: it is in the journal, `tercet gates` lists it, and
// `tercet approve` answers it. With the answer the worker is called again.

// performAndAsk calls the worker until it has done its task, and asks the user the questions that
// it returns.
func (c call) performAndAsk(e effect) answer {
	if c.to.Info.Workflow { // its steps are in the journal themselves
		return c.step.frame.perform(e)
	}
	if err := c.replayQuestions(e.req); err != nil {
		return answer{err: err}
	}
	for {
		got := c.step.frame.perform(e)
		open := asGateOpen(got.err)
		if open == nil || open.Gate.ID != "" {
			return got
		}
		g := open.Gate
		g.Subject = g.Digest
		g.Step = c.step.journalPath()
		if err := c.askForWorker(e.req, fixedGate{gate: g, worker: e.req.Txn}); err != nil {
			return answer{err: err}
		}
	}
}

// replayQuestions asks again, from the journal, what the worker asked earlier, so that it has the
// answers when it is called. The last of these questions may still be open.
func (c call) replayQuestions(req *formats.Request) error {
	for {
		var g formats.Gate
		opened := formats.Entry{
			Type: formats.EntryGateOpened,
			Step: c.step.journalPath(),
			Key:  req.Txn,
		}
		found, err := c.step.frame.journal.lookup(opened, &g)
		if !found || err != nil {
			return err
		}
		c.step.frame.journal.replayed = true
		g.Step = opened.Step
		err = c.askForWorker(req, fixedGate{
			gate:     g,
			worker:   req.Txn,
			recalled: true,
		})
		if err != nil {
			return err
		}
	}
}

// askForWorker asks a question of the worker and hands the answer to the approver, which gives it
// to the worker when that asks again.
func (c call) askForWorker(req *formats.Request, q fixedGate) error {
	r := c.step.run
	g, d, err := ask(c.step, q)
	if errors.Is(err, errStale) { // called again, the worker asks about what is there now
		req.Begun = formats.BegunUnknown
		return nil
	}
	if err != nil {
		return err
	}
	// The worker did nothing before its question was answered. An answer that an earlier process
	// wrote down may have been followed by work.
	req.Begun = c.begunState()
	r.cfg.Approve.Remember(g.Run, g.Subject, d)
	return nil
}
