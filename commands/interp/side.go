package interp

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"tercet/formats"
)

// effect is what a worker does outside of the goroutine that owns the run: a delegation, or a wait.
type effect struct {
	req     *formats.Request
	worker  bool // the request is for one, so that it gets a share of the budget
	flow    bool // it is for a subagent with steps
	wait    time.Duration
	board   *workerBoard  // of the step, for its worker; nil: it has none
	session *keptSession  // of the step, for its worker; nil: it keeps none
	entry   formats.Entry // of the answer in the journal, without its data
	reply   chan answer   // takes it
}

// answer is what a worker sends back.
type answer struct {
	ret        formats.Return
	err        error
	journalErr error // it could not be written to the journal
}

// dispatch is an effect that is about to start, with what the journal has of it.
type dispatch struct {
	effect   effect
	reserved bool // a share of the budget
	recalled bool
	answer   answer // if done
}

// branch is one of several sequences that run side by side. It is a coroutine: only one branch runs
// at a time, in the goroutine that owns the run, until it needs an effect. Branches get their
// answers in the order of the file, whichever came first, so that decisions and the journal do not
// depend on speed.
type branch struct {
	next    func() ([]effect, bool)
	stop    func()
	yield   func([]effect) bool
	pending []effect
	err     error
}

// advance lets the branch run up to its next effect, or to its end.
func (b *branch) advance() (open bool) {
	b.pending, open = b.next()
	return open
}

// branches are n sequences, of which at most `most` run at a time. Another one starts only while
// more() is true.
type branches struct {
	n, maxActive int
	mayStart     func() bool
	body         func(fr frame, i int) error
}

// runBranches runs the branches. When all that were started have ended, it gives the first error in
// their order.
func (fr frame) runBranches(w branches) error {
	several := w.n > 1 && w.maxActive > 1
	g := &branchGroup{work: w, frame: fr}

	g.frame.journal = &cursor{
		log:      fr.journal.log,
		nested:   true,
		replayed: fr.journal.replayed,
	}
	g.frame.shared = fr.shared || several
	g.frame.concurrent = fr.concurrent || several

	defer func() {
		fr.journal.replayed = g.frame.journal.replayed
		for _, b := range g.all {
			b.stop()
		}
	}()

	for {
		g.fill()
		if len(g.active)+len(g.ready) == 0 {
			return g.err()
		}
		if !g.startEffects() {
			return context.Canceled
		}
		g.advance()
	}
}

// branchGroup is the state of branches that run side by side.
type branchGroup struct {
	work   branches
	frame  frame
	all    []*branch // that were started, in the order of the file
	ready  []*branch // have effects that are not started yet
	active []*branch // wait for the answers of their effects
}

// err is the first error of a branch in the order of the file.
func (g *branchGroup) err() (err error) {
	for _, b := range g.all {
		err = cmp.Or(err, b.err)
	}
	return err
}

// fill starts further branches while there is room.
func (g *branchGroup) fill() {
	w := g.work
	for len(g.active)+len(g.ready) < max(1, w.maxActive) && len(g.all) < w.n &&
		g.err() == nil && w.mayStart() {
		b := g.frame.newBranch(len(g.all), w.body)
		g.all = append(g.all, b)
		if b.advance() {
			g.ready = append(g.ready, b)
		}
	}
}

// startEffects starts the effects of the branches that are ready.
func (g *branchGroup) startEffects() bool {
	var list []effect
	for _, b := range g.ready {
		list = append(list, b.pending...)
	}
	g.active = append(g.active, g.ready...)
	g.ready = nil
	return g.frame.start(list)
}

// advance gives the first branch its answer, or all of them theirs, and lets them run on.
func (g *branchGroup) advance() {
	answered := g.active[:1]
	if g.frame.branch != nil || g.frame.run.lockstep {
		answered = g.active
	}
	g.active = g.active[len(answered):]
	for _, b := range answered {
		if b.advance() {
			g.ready = append(g.ready, b)
		}
	}
}

// newBranch makes a branch of a group. It does not start yet.
func (fr frame) newBranch(i int, body func(frame, int) error) *branch {
	b := &branch{}
	own := fr
	own.branch = b
	own.journal = &cursor{log: fr.journal.log, nested: true}
	own.state = &stateCache{}
	own.collector = &[]formats.Artifact{}

	b.next, b.stop = iter.Pull(func(yield func([]effect) bool) {
		b.yield = yield
		b.err = body(own, i)
	})
	return b
}

// perform does an effect and waits for its answer.
func (fr frame) perform(e effect) answer {
	e.reply = make(chan answer, 1)
	if !fr.start([]effect{e}) {
		return answer{err: context.Canceled}
	}
	return <-e.reply
}

// start starts effects, those of a branch together with those of the other branches. Answers that
// the journal has are taken from there.
func (fr frame) start(list []effect) bool {
	r := fr.run
	if fr.branch != nil {
		return fr.branch.yield(list)
	}

	all := make([]dispatch, len(list))
	live := false
	var err error
	for i, e := range list {
		d := &all[i]
		d.effect = e
		if e.worker && err == nil {
			d.reserved, err = r.budget.recall(r.journal.store, e.req)
			err = cmp.Or(err, r.recallMessages(e.req), e.board.open(r))
		}
		d.answer, d.recalled = r.recallAnswer(fr.ctx, e)
		err = cmp.Or(err, e.session.recall(r, d.recalled))
		live = live || !d.recalled
	}

	if err == nil && live {
		if err = r.reserve(fr.journal, all); err == nil {
			err = fr.journal.live(false)
		}
		if err == nil {
			err = r.deliver(fr.journal, all)
		}
	}

	for _, d := range all {
		e := d.effect
		if err != nil || d.recalled {
			d.answer.err = cmp.Or(err, d.answer.err)
			e.reply <- d.answer
			continue
		}
		r.effects.start(fr.ctx, e)
	}

	return true
}

// effects does effects, each in a goroutine of its own. It shares nothing with the run but the
// journal, which is safe for that.
type effects struct {
	agents      Delegator
	clock       Clock
	journal     *runJournal
	pause       context.Context //nolint:containedctx // a signal beside that of the run, see Config
	pauseReason func() error    // the reason for which nothing new may begin
	slots       chan struct{}   // one for each effect that may be under way
	running     sync.WaitGroup
}

// start does an effect as soon as a slot is free, and sends its answer.
func (f *effects) start(ctx context.Context, e effect) {
	f.running.Go(func() {
		f.slots <- struct{}{}
		e.reply <- f.do(ctx, e)
		<-f.slots
	})
}

// do does one effect, and journals its answer when it comes.
func (f *effects) do(ctx context.Context, e effect) answer {
	if err := f.pauseReason(); err != nil {
		return answer{err: err}
	}
	if signal := interruptOf(ctx); signal != nil {
		return answer{err: signal}
	}
	if e.req == nil {
		return f.wait(ctx, e)
	}

	out := answer{}
	out.ret, out.err = f.agents.Delegate(ctx, *e.req)
	if out.err != nil && (ctx.Err() != nil || repeatsOnResume(out.err)) {
		return out // it was stopped, or waits: it is not done
	}
	if signal := interruptOf(ctx); signal != nil && !out.ret.Outcome().Passes() {
		out.err = signal // the signal may be why it did not pass
		out.journalErr = f.recordCut(e, out.ret.Metadata)
		return out
	}
	e.entry.Data = recordedAnswer{out.ret, out.ret.Said, recordError(out.err)}
	out.journalErr = f.journal.write(e.entry)
	return out
}

// wait sleeps. A pause of the run ends it.
func (f *effects) wait(ctx context.Context, e effect) answer {
	sleeping, stop := mergeContexts(ctx, f.pause)
	defer stop()
	err := f.clock.Sleep(sleeping, e.wait)
	switch {
	case err == nil:
		return answer{journalErr: f.journal.write(e.entry)}
	case ctx.Err() == nil:
		return answer{err: cmp.Or(f.pauseReason(), err)}
	}
	return answer{err: err}
}

// recordCut journals what a worker used that a signal ended. The workers of a workflow subagent
// have their own entries.
func (f *effects) recordCut(e effect, used formats.Metadata) error {
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
	return f.journal.write(entry)
}

// sleep waits, unless the journal says that the wait is over.
func (s step) sleep(d time.Duration, attempt int) error {
	if s.run.dry.on {
		return nil
	}
	got := s.frame.perform(effect{
		wait: d,
		entry: formats.Entry{
			Type:    formats.EntryWaited,
			Step:    s.journalPath(),
			Attempt: attempt,
		},
	})
	return errors.Join(got.err, got.journalErr)
}
