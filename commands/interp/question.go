package interp

import (
	"errors"

	"tercet/formats"
)

// errStale ends a worker's question whose evidence changed before the answer came.
var errStale = errors.New("what the question is about has changed")

// A worker that needs the user's consent asks the approver first. Where no one can be asked, the
// worker gives the question back as a *formats.GateOpenError without an id, having done nothing.
// The run then asks it as a gate of its own: it is in the journal, `tercet gates` lists it, and
// `tercet approve` answers it. With the answer the worker is called again.

// work has the worker do its task, and puts the questions that it gives back to the user.
func (c call) work(e effect) answer {
	if c.to.Info.Workflow { // its steps are in the journal themselves
		return c.perform(e)
	}
	if err := c.replayQuestions(e.req); err != nil {
		return answer{err: err}
	}
	for {
		got := c.perform(e)
		open := isOpen(got.err)
		if open == nil || open.Gate.ID != "" {
			return got
		}
		g := open.Gate
		g.Subject = g.Digest
		g.Step = c.spot()
		if err := c.askFor(e.req, static{g: g, call: e.req.Txn}); err != nil {
			return answer{err: err}
		}
	}
}

// replayQuestions repeats what the journal has of the questions of a worker, before the worker is
// called.
func (c call) replayQuestions(req *formats.Request) error {
	for {
		old := c.old
		var g formats.Gate
		opened := formats.Entry{
			Type: formats.EntryGateOpened,
			Step: c.spot(),
			Key:  req.Txn,
		}
		found, err := c.recall(opened, &g)
		if err != nil {
			return err
		}
		if !found {
			c.old = old // that there is no question decides nothing
			return nil
		}
		g.Step = opened.Step
		err = c.askFor(req, static{
			g:        g,
			call:     req.Txn,
			recalled: true,
		})
		if err != nil {
			return err
		}
	}
}

// askFor asks the question of a worker and tells the approver the answer, from where the worker
// takes it.
func (c call) askFor(req *formats.Request, q static) error {
	g, d, err := ask(c.step, q)
	if errors.Is(err, errStale) { // called again, the worker asks about what is there now
		req.Again = false
		return nil
	}
	if err != nil {
		return err
	}
	// The worker did nothing before its question was answered. An answer that an earlier process
	// wrote down may have been followed by work.
	req.Again = c.old && !c.shared
	c.cfg.Approve.Remember(g.Run, g.Subject, d)
	return nil
}
