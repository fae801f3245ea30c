package interp

import (
	"maps"

	"tercet/formats"
)

// known is the answer that the journal has. Who only looks has the steps of a subagent gone through
// as well.
func (r *run) known(e effect) (answer, bool) {
	look := r.cfg.Look
	if look != nil && e.flow {
		if _, err := r.cfg.Agents.Delegate(r.ctx, *e.req); isStuck(err) {
			return answer{err: r.unwritten(err)}, true
		}
	}
	data, ok := r.cfg.Journal.Recall(e.entry)
	if !ok {
		return answer{}, false
	}
	out := recalled(data)
	if look != nil && e.worker && out.err == nil {
		out.err = look(*e.req, out.ret)
		if out.err != nil {
			out.err = r.unwritten(out.err)
		}
	}
	return out, true
}

// counted is what the run has counted so far.
func (r *run) counted() formats.Counted {
	return formats.Counted{
		Visits:    r.visits,
		Used:      r.used,
		Answered:  r.answered,
		Asked:     r.asked,
		Questions: r.questions,
		Jumps:     r.jumps,
		Rollbacks: r.rollbacks,
		Reopened:  r.reopened,
		Steps:     r.steps,
		Entered:   r.entered,
		Spent:     r.spent,
		Beside:    r.besides,
	}
}

// wentBack goes on with the numbers of the run where the user went back to this step: they only
// grow.
func wentBack(s step) error {
	for {
		var was formats.Counted
		s.run.visits[s.path]++
		back := formats.Entry{Type: formats.EntryWentBack, Step: s.spot()}
		old, err := s.frame.journal.recall(back, &was)
		s.run.visits[s.path]--
		if !old || err != nil {
			return err
		}
		for _, one := range []struct{ to, from map[string]int }{
			{s.run.visits, was.Visits},
			{s.run.used, was.Used},
			{s.run.answered, was.Answered},
			{s.run.asked, was.Asked},
			{s.run.jumps, was.Jumps},
		} {
			maps.Copy(one.to, one.from)
		}
		maps.Copy(s.run.questions, was.Questions)
		s.run.rollbacks = was.Rollbacks
		s.run.steps = was.Steps
		s.run.entered = was.Entered
		s.run.spent = was.Spent
		s.run.reopened = was.Reopened
	}
}
