package interp

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
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
}

// answer is what a worker sends back.
type answer struct {
	ret    formats.Return
	err    error
	unkept error // it could not be written to the journal
}

// branch is one of several sequences that run side by side. It is a coroutine: only one branch runs at a time, in the
// goroutine that owns the run, until it needs an effect. Effects of all branches are then done at once, and every
// branch gets its answer in the order of the file, whichever came first. So decisions and journal do not depend on
// speed.
type branch struct {
	next    func() ([]effect, bool)
	stop    func()
	yield   func([]effect) bool
	pending []effect
	answers []answer
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
	subtree  *subtree           // the worktree of the present child, nil where it works in the run's
}

// advance lets a branch run up to its next effect, or to its end.
func (r *run) advance(b *branch) (open bool) {
	outer := r.turn
	r.turn = b.own
	b.pending, open = b.next()
	b.own, r.turn = r.turn, outer
	return open
}

// branches are n sequences of which at most so many run at a time; a new one is started only while more holds.
type branches struct {
	n, most int
	more    func() bool
	body    func(i int) error
}

// side runs the branches. The first error by their order comes back when all that were started have ended.
func (r *run) side(w branches) error {
	var all, active []*branch
	abreast := 0
	if w.n > 1 && w.most > 1 {
		abreast = 1
	}
	r.beside++
	r.abreast += abreast
	defer func() {
		r.beside--
		r.abreast -= abreast
		for _, b := range all {
			b.stop()
		}
	}()
	failed := func() error {
		at := slices.IndexFunc(all, func(b *branch) bool { return b.err != nil })
		if at < 0 {
			return nil
		}
		return all[at].err
	}
	for {
		for len(active) < max(1, w.most) && len(all) < w.n && failed() == nil && w.more() {
			b := r.branch(len(all), w.body, w.n > 1 && w.most > 1)
			all = append(all, b)
			if r.advance(b) {
				active = append(active, b)
			}
		}
		if len(active) == 0 {
			return failed()
		}
		active = r.round(active)
	}
}

func (r *run) branch(i int, body func(int) error, several bool) *branch {
	b := &branch{}
	b.own = turn{feedback: r.feedback, co: b, shared: r.shared || several, subtree: r.subtree}
	b.next, b.stop = iter.Pull(func(yield func([]effect) bool) {
		b.yield = yield
		b.err = body(i)
	})
	return b
}

// round does the effects of all branches, hands out the answers in order, and gives the branches that go on.
func (r *run) round(active []*branch) []*branch {
	var list []effect
	for _, b := range active {
		list = append(list, b.pending...)
	}
	answers := r.perform(list)
	var open []*branch
	for _, b := range active {
		b.answers, answers = answers[:len(b.pending)], answers[len(b.pending):]
		if r.advance(b) {
			open = append(open, b)
		}
	}
	return open
}

// perform does effects and waits for all of them; inside a branch they join those of the other branches. Answers
// that the journal has are taken from there.
func (r *run) perform(list []effect) []answer {
	if b := r.co; b != nil {
		if !b.yield(list) {
			return slices.Repeat([]answer{{err: context.Canceled}}, len(list))
		}
		return b.answers
	}
	out, old := make([]answer, len(list)), make([]bool, len(list))
	var todo []int
	var err error
	for i, e := range list {
		if e.worker && err == nil {
			old[i], err = r.had(e.req)
		}
		if known, ok := r.known(e); ok {
			out[i] = known
		} else {
			todo = append(todo, i)
		}
	}
	if err == nil && len(todo) > 0 {
		if err = r.reserve(list, out, todo, old); err == nil {
			err = r.live(false)
		}
	}
	if err != nil {
		return slices.Repeat([]answer{{err: err}}, len(list))
	}
	if len(todo) == 1 {
		out[todo[0]] = r.effect(list[todo[0]])
		return out
	}
	slots := make(chan struct{}, max(1, r.limits.Parallel))
	var workers sync.WaitGroup
	for _, i := range todo {
		e := list[i]
		slots <- struct{}{}
		workers.Go(func() {
			defer func() { <-slots }()
			out[i] = r.effect(e)
		})
	}
	workers.Wait()
	return out
}

// effect does one effect. Its answer is written when it comes, whatever goes on beside it. It reads nothing of the
// run but its configuration and its context: it may run in a worker.
func (r *run) effect(e effect) (out answer) {
	if out.err = r.paused(); out.err != nil {
		return out
	}
	if e.req == nil {
		ctx, stop := until(r.ctx, r.cfg.Pause)
		defer stop()
		if out.err = r.cfg.Clock.Sleep(ctx, e.wait); out.err != nil {
			if r.ctx.Err() == nil {
				out.err = cmp.Or(r.paused(), out.err)
			}
			return out
		}
	} else if out.ret, out.err = r.cfg.Agents.Delegate(r.ctx, *e.req); out.err != nil &&
		(r.ctx.Err() != nil || undone(out.err)) {
		return out // it was stopped, or waits: it is not done
	} else {
		e.entry.Data = kept{out.ret, out.ret.Said, keep(out.err)}
	}
	_, out.unkept = r.cfg.Journal.Append(context.WithoutCancel(r.ctx), e.entry, false)
	return out
}

// pause waits. A wait that is over is not waited for again.
func (s step) pause(d time.Duration, attempt int) error {
	if s.dry.on {
		return nil
	}
	got := s.perform([]effect{{
		wait: d, entry: formats.Entry{Type: formats.EntryWaited, Step: s.spot(), Attempt: attempt},
	}})[0]
	return errors.Join(got.err, got.unkept)
}
