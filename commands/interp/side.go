package interp

import (
	"context"
	"iter"
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

// turn is what belongs to the branch that runs now.
type turn struct {
	feedback  *formats.Feedback
	state     any
	stateRead bool
	stateSeen any
	co        *branch
	made      []formats.Artifact
}

func (r *run) turn() turn {
	return turn{r.feedback, r.state, r.stateRead, r.stateSeen, r.co, r.made}
}

func (r *run) resume(t turn) {
	r.feedback, r.state, r.stateRead, r.stateSeen, r.co, r.made = t.feedback, t.state, t.stateRead, t.stateSeen, t.co,
		t.made
}

// advance lets a branch run up to its next effect, or to its end.
func (r *run) advance(b *branch) (open bool) {
	outer := r.turn()
	r.resume(b.own)
	b.pending, open = b.next()
	b.own = r.turn()
	r.resume(outer)
	return open
}

// branches are n sequences of which at most so many run at a time; a new one is started only while more holds.
type branches struct {
	n, most int
	more    func() bool
	body    func(i int) error
}

// side runs the branches. The first error by their order comes back when all that were started have ended.
func (r *run) side(ctx context.Context, w branches) error {
	var all, active []*branch
	defer func() {
		for _, b := range all {
			b.stop()
		}
	}()
	failed := func() error {
		for _, b := range all {
			if b.err != nil {
				return b.err
			}
		}
		return nil
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
		active = r.round(ctx, active)
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
func (r *run) round(ctx context.Context, active []*branch) []*branch {
	var list []effect
	for _, b := range active {
		list = append(list, b.pending...)
	}
	answers := r.perform(ctx, list)
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
func (r *run) perform(ctx context.Context, list []effect) []answer {
	if b := r.co; b != nil {
		if !b.yield(list) {
			out := make([]answer, len(list))
			for i := range out {
				out[i].err = context.Canceled
			}
			return out
		}
		return b.answers
	}
	r.share(list)
	out := make([]answer, len(list))
	if err := r.reserve(ctx, list); err != nil {
		for i := range out {
			out[i].err = err
		}
		return out
	}
	if len(list) == 1 {
		out[0] = r.effect(ctx, list[0])
		return out
	}
	slots := make(chan struct{}, max(1, r.limits.Parallel))
	var workers sync.WaitGroup
	for i, e := range list {
		slots <- struct{}{}
		workers.Go(func() {
			defer func() { <-slots }()
			out[i] = r.effect(ctx, e)
		})
	}
	workers.Wait()
	return out
}

// effect does one effect. It reads nothing of the run but its configuration: it may run in a worker.
func (r *run) effect(ctx context.Context, e effect) answer {
	if e.req == nil {
		return answer{err: r.cfg.Clock.Sleep(ctx, e.wait)}
	}
	ret, err := r.cfg.Agents.Delegate(ctx, *e.req)
	return answer{ret, err}
}

func (r *run) send(ctx context.Context, req formats.Request, worker bool) (formats.Return, error) {
	got := r.perform(ctx, []effect{{req: &req, worker: worker}})[0]
	return got.ret, got.err
}

func (r *run) pause(ctx context.Context, d time.Duration) error {
	if r.dry.on {
		return nil
	}
	return r.perform(ctx, []effect{{wait: d}})[0].err
}
