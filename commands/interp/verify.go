package interp

import (
	"context"

	"tercet/formats"
)

// recallAnswer takes the answer of an effect from the journal. While a journal is verified, the
// steps of workflow subagents are replayed too.
func (r *run) recallAnswer(ctx context.Context, e effect) (answer, bool) {
	verify := r.cfg.Verify
	if verify != nil && e.flow {
		if _, err := r.cfg.Agents.Delegate(ctx, *e.req); isDiverged(err) {
			return answer{err: r.journal.failed(err)}, true
		}
	}

	data, ok := r.journal.store.Recall(e.entry)
	if !ok {
		return answer{}, false
	}

	out := decodeAnswer(data)
	if verify != nil && e.worker && out.err == nil {
		out.err = verify(*e.req, out.ret)
		if out.err != nil {
			out.err = r.journal.failed(out.err)
		}
	}
	return out, true
}

// snapshotCounters is what the run has counted so far.
func (r *run) snapshotCounters() formats.Counted {
	out := r.counts.snapshot()
	out.Spent = r.budget.spent
	out.Beside = r.concurrentSteps
	return out
}

// restoreCounters goes on with the numbers that the run had when the user went back to this step,
// because counters only grow.
func restoreCounters(s step) error {
	for {
		var was formats.Counted
		back := formats.Entry{
			Type: formats.EntryWentBack,
			Step: s.journalPathAt(s.run.counts.visits[s.path] + 1),
		}
		found, err := s.frame.journal.recall(back, &was)
		if !found || err != nil {
			return err
		}
		s.run.counts.restore(was)
		s.run.budget.spent = was.Spent
		s.run.sessions.forget("the run went back to a step")
	}
}
