package interp

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"tercet/formats"
)

// effect is what a worker does outside of the goroutine that owns the run: a delegation, or a wait.
type effect struct {
	req    *formats.Request
	worker bool // the request is for one, so that it gets a share of the budget
	flow   bool // it is for a subagent with steps
	wait   time.Duration
	entry  formats.Entry // of the answer in the journal, without its data
	to     chan answer   // takes it
}

// answer is what a worker sends back.
type answer struct {
	ret    formats.Return
	err    error
	unkept error // it could not be written to the journal
}

// branch is one of several sequences that run side by side. It is a coroutine: only one branch runs
// at a time, in the goroutine that owns the run, until it needs an effect. Branches get their
// answers in turn, in the order of the file, whichever came first. So decisions and journal do not
// depend on speed.
type branch struct {
	next    func() ([]effect, bool)
	stop    func()
	yield   func([]effect) bool
	pending []effect
	err     error
	own     turn
}

// turn is what belongs to the branch that runs now, nil in co where there is none.
type turn struct {
	feedback *formats.Feedback
	state    any // $state in the present step; nil until it is read
	co       *branch
	made     []formats.Artifact // what the present element, child or run brought
	old      bool               // what was decided last stood in the journal
	shared   bool               // other branches work in the same tree at the same time
	// the worktree of the present child, nil where it works in the run's
	subtree *subtree
}

// advance lets a branch run up to its next effect, or to its end.
func (r *run) advance(b *branch) (open bool) {
	outer := r.turn
	r.turn = b.own
	b.pending, open = b.next()
	b.own = r.turn
	r.turn = outer
	return open
}

// branches are n sequences of which at most so many run at a time; a new one is started only while
// more holds.
type branches struct {
	n, most int
	more    func() bool
	body    func(i int) error
}

// side runs the branches. The first error by their order comes back when all that were started have
// ended.
func (r *run) side(w branches) error {
	// active ones wait for answers; ready ones have effects to be started
	var all, active, ready []*branch
	several := w.n > 1 && w.most > 1
	group := 0
	if several {
		group = 1
	}
	r.beside++
	r.abreast += group
	defer func() {
		r.beside--
		r.abreast -= group // others of them may have begun since
		for _, b := range all {
			b.stop()
		}
	}()
	failed := func() (err error) {
		for _, b := range all {
			err = cmp.Or(err, b.err)
		}
		return err
	}
	for {
		for len(active)+len(ready) < max(1, w.most) && len(all) < w.n && failed() == nil &&
			w.more() {
			b := r.branch(len(all), w.body, several)
			all = append(all, b)
			if r.advance(b) {
				ready = append(ready, b)
			}
		}
		if active = append(active, ready...); len(active) == 0 {
			return failed()
		}
		var list []effect
		for _, b := range ready {
			list = append(list, b.pending...)
		}
		if !r.start(list) {
			return context.Canceled
		}
		answered := active[:1]
		if r.turn.co != nil || r.lockstep {
			answered = active
		}
		active = active[len(answered):]
		ready = nil
		for _, b := range answered {
			if r.advance(b) {
				ready = append(ready, b)
			}
		}
	}
}

func (r *run) branch(i int, body func(int) error, several bool) *branch {
	b := &branch{}
	b.own = turn{
		feedback: r.turn.feedback,
		co:       b,
		shared:   r.turn.shared || several,
		subtree:  r.turn.subtree,
	}
	b.next, b.stop = iter.Pull(func(yield func([]effect) bool) {
		b.yield = yield
		b.err = body(i)
	})
	return b
}

// perform does an effect and waits for its answer.
func (r *run) perform(e effect) answer {
	e.to = make(chan answer, 1)
	if !r.start([]effect{e}) {
		return answer{err: context.Canceled}
	}
	return <-e.to
}

// start starts effects; inside a branch, together with those of the branches beside it. Answers
// that the journal has are taken from there.
func (r *run) start(list []effect) bool {
	if r.turn.co != nil {
		return r.turn.co.yield(list)
	}
	out := make([]answer, len(list))
	old := make([]bool, len(list))
	done := make([]bool, len(list))
	var err error
	for i, e := range list {
		if e.worker && err == nil {
			old[i], err = r.had(e.req)
		}
		out[i], done[i] = r.known(e)
	}
	if err == nil && slices.Contains(done, false) {
		if err = r.reserve(list, out, done, old); err == nil {
			err = r.live(false)
		}
	}
	for i, e := range list {
		if err != nil || done[i] {
			out[i].err = cmp.Or(err, out[i].err)
			e.to <- out[i]
			continue
		}
		r.going.Go(func() {
			r.slots <- struct{}{}
			e.to <- r.effect(e)
			<-r.slots
		})
	}

	return true
}

// effect does one effect. Its answer is written when it comes, whatever goes on beside it. It reads
// nothing of the run but its configuration and its context: it may run in a worker.
func (r *run) effect(e effect) (out answer) {
	out.err = r.paused()
	if out.err != nil {
		return out
	}

	if signal := r.interrupted(); signal != nil {
		out.err = signal
		return out
	}
	if e.req == nil {
		ctx, stop := until(r.ctx, r.cfg.Pause)
		defer stop()
		out.err = r.cfg.Clock.Sleep(ctx, e.wait)
		if out.err != nil {
			if r.ctx.Err() == nil {
				out.err = cmp.Or(r.paused(), out.err)
			}
			return out
		}
	} else if out.ret, out.err = r.cfg.Agents.Delegate(r.ctx, *e.req); out.err != nil &&
		(r.ctx.Err() != nil || undone(out.err)) {
		return out // it was stopped, or waits: it is not done
	} else if signal := r.interrupted(); signal != nil && !out.ret.Outcome().Passes() {
		out.err = signal // the signal may be why it did not pass
		out.unkept = r.cutShort(e, out.ret.Metadata)
		return out
	} else {
		e.entry.Data = kept{out.ret, out.ret.Said, keep(out.err)}
	}

	_, out.unkept = r.cfg.Journal.Append(context.WithoutCancel(r.ctx), e.entry, false)
	return out
}

// cutShort writes down what a worker used that a signal ended. The workers of a flow have told that
// themselves.
func (r *run) cutShort(e effect, used formats.Metadata) error {
	if !e.worker || e.flow {
		return nil
	}
	cut := formats.Cut{Metadata: used}
	had := e.req.Budget
	if used.Metered == "" { // it may have used all of it
		cut.Lost.Tokens = max(0, had.Tokens-used.Tokens.Total())
		cut.Lost.Cost = max(0, had.Cost-used.Cost)
	}
	entry := cutEntry(e.req)
	entry.Data = cut
	_, err := r.cfg.Journal.Append(context.WithoutCancel(r.ctx), entry, false)
	return err
}

// pause waits. A wait that is over is not waited for again.
func (s step) pause(d time.Duration, attempt int) error {
	if s.run.dry.on {
		return nil
	}
	got := s.run.perform(effect{
		wait: d,
		entry: formats.Entry{
			Type:    formats.EntryWaited,
			Step:    s.spot(),
			Attempt: attempt,
		},
	})
	return errors.Join(got.err, got.unkept)
}
