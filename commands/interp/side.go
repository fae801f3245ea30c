package interp

import (
	"context"
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
	wait   time.Duration
}

// answer is what a worker sends back.
type answer struct {
	ret formats.Return
	err error
}

// branch is one of several sequences that run side by side. It is a coroutine: only one branch runs at a time, in the
// goroutine that owns the run, until it needs an effect. Effects of all branches are then done at once, and every
// branch gets its answer in the order of the file, whichever came first: the decisions and the journal do not depend on
// it.
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
	defer func() {
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
			b := r.branch(len(all), w.body)
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

func (r *run) branch(i int, body func(int) error) *branch {
	b := &branch{}
	b.own = turn{feedback: r.feedback, co: b}
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

// perform does effects and waits for all of them; inside a branch they join those of the other branches.
func (r *run) perform(list []effect) []answer {
	if b := r.co; b != nil {
		if !b.yield(list) {
			return slices.Repeat([]answer{{err: context.Canceled}}, len(list))
		}
		return b.answers
	}
	var shares []*formats.Request
	for _, e := range list {
		if e.worker {
			shares = append(shares, e.req)
		}
	}
	r.share(shares)
	if err := r.reserve(shares); err != nil {
		return slices.Repeat([]answer{{err: err}}, len(list))
	}
	out := make([]answer, len(list))
	if len(list) == 1 {
		out[0] = r.effect(list[0])
		return out
	}
	slots := make(chan struct{}, max(1, r.limits.Parallel))
	var workers sync.WaitGroup
	for i, e := range list {
		slots <- struct{}{}
		workers.Go(func() {
			defer func() { <-slots }()
			out[i] = r.effect(e)
		})
	}
	workers.Wait()
	return out
}

// effect does one effect. It reads nothing of the run but its configuration and its context: it may run in a worker.
func (r *run) effect(e effect) answer {
	if e.req == nil {
		return answer{err: r.cfg.Clock.Sleep(r.ctx, e.wait)}
	}
	ret, err := r.cfg.Agents.Delegate(r.ctx, *e.req)
	return answer{ret, err}
}

func (r *run) pause(d time.Duration) error {
	if r.dry.on {
		return nil
	}
	return r.perform([]effect{{wait: d}})[0].err
}
