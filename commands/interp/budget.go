package interp

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"tercet/formats"
)

// budget is what the workers of a run may use, and what they have used.
type budget struct {
	limits formats.Limits
	spent  formats.Metadata // by what their runners measured; a workflow counts its own workers
	// forfeited is the part of spent that was reserved for workers of killed processes.
	forfeited formats.Metadata
}

// isBounded tells whether anything but time is limited.
func (b *budget) isBounded() bool {
	return b.limits.Tokens != 0 || b.limits.Cost != 0 || b.limits.Spawns != 0
}

// reserveWorker reserves the place of one worker, or refuses it because something is used up.
// Nothing is started then.
func (b *budget) reserveWorker() error {
	if l := b.limits.Spawns; l != 0 && b.spent.Spawns >= l {
		return errLimit("spawns", raiseLimit("spawns"), max(0, l))
	}
	if err := b.exhausted(); err != nil {
		return err
	}
	b.spent.Spawns++
	return nil
}

// exhausted refuses a worker where tokens or money are used up. Where that is so only by what was
// forfeited, the run waits.
func (b *budget) exhausted() (err error) {
	l := b.limits
	tokens := b.spent.Tokens.Total()
	cost := b.spent.Cost
	waits := false
	if l.Tokens > 0 && tokens >= l.Tokens {
		err = errBudget("tokens", fmt.Sprint(l.Tokens), fmt.Sprint(tokens))
		waits = tokens-b.forfeited.Tokens.Total() < l.Tokens
	} else if l.Cost > 0 && cost >= l.Cost {
		err = errBudget("US dollars", fmt.Sprintf("%.4g", l.Cost), fmt.Sprintf("%.4g", cost))
		waits = cost-b.forfeited.Cost < l.Cost
	}

	if waits {
		err = &formats.LaterError{
			Why: err.Error() + ", if all that was reserved for a killed worker counts as used; " +
				"raise limits and resume with --accept-changes",
		}
	}
	return err
}

// settle counts what a worker used. The rest of its share is available again.
func (b *budget) settle(used formats.Metadata) {
	addUsage(&b.spent, used)
}

// forfeit counts the share of a killed worker as used, because nobody knows how much of it was.
func (b *budget) forfeit(share formats.Budget) {
	addUsage(&b.spent, usageOf(share))
	addUsage(&b.forfeited, usageOf(share))
}

func addUsage(sum *formats.Metadata, m formats.Metadata) {
	sum.Tokens.Input += m.Tokens.Input
	sum.Tokens.Cached += m.Tokens.Cached
	sum.Tokens.Output += m.Tokens.Output
	sum.Cost += m.Cost
	sum.Spawns += m.Spawns
}

// usageOf is a share all of which was used.
func usageOf(share formats.Budget) formats.Metadata {
	return formats.Metadata{
		Tokens: formats.Tokens{Input: share.Tokens},
		Cost:   share.Cost,
		Spawns: max(0, share.Spawns),
	}
}

const (
	// minCost is a share that still counts as a bound: zero would be none.
	minCost = 0.0001
	// minSeconds is what a worker has that starts when the time of the run is over: it is stopped
	// at once.
	minSeconds = 0.001
)

// share divides what is left among the workers that start together, in equal parts in the order of
// the file. The remainder goes to the first ones, so the shares do not depend on who ends first.
// Time is not divided, because they spend the same seconds.
func (b *budget) share(workers []*formats.Request, left time.Duration) {
	n := len(workers)
	for i, req := range workers {
		share := &req.Budget
		share.Seconds = max(minSeconds, left.Seconds())
		if l := b.limits.Tokens; l > 0 {
			share.Tokens = max(1, equalPart(max(0, l-b.spent.Tokens.Total()), n, i))
		}
		if l := b.limits.Cost; l > 0 {
			share.Cost = max(minCost, (l-b.spent.Cost)/float64(n))
		}
		if l := b.limits.Spawns; l != 0 {
			spawns := equalPart(int64(max(0, l-b.spent.Spawns)), n, i)
			share.Spawns = cmp.Or(int(spawns), formats.NoSpawns)
		}
	}
}

// equalPart is the i-th of n parts of a whole.
func equalPart(whole int64, n, i int) int64 {
	share := whole / int64(n)
	if int64(i) < whole%int64(n) {
		share++
	}
	return share
}

// timeLeft is what the workers that start now may take.
func (r *run) timeLeft() time.Duration {
	left := r.limits.Duration - r.elapsed()
	if r.finishing {
		return max(left, handlingLimit) // what follows the run has time of its own
	}
	return left
}

// reservedData is the data of budget_reserved.
type reservedData struct {
	formats.Budget

	// Lost is the share of the same worker in a process that was killed.
	Lost formats.Budget `json:"lost,omitzero"`
}

func reservation(req *formats.Request) formats.Entry {
	return formats.Entry{
		Type:    formats.EntryBudgetReserved,
		Step:    req.At,
		Attempt: req.Attempt,
		Key:     req.Txn,
	}
}

func cutEntry(req *formats.Request) formats.Entry {
	return formats.Entry{
		Type:    formats.EntryDelegationCut,
		Step:    req.At,
		Attempt: req.Attempt,
		Key:     req.Txn,
	}
}

// recall gives a worker the share that an earlier process reserved for it last. It counts what was
// forfeited of that, and what the worker used where a signal ended it.
func (b *budget) recall(journal Journal, req *formats.Request) (found bool, err error) {
	for {
		var cut formats.Cut
		data, more := journal.Recall(cutEntry(req))
		if err = read(data, &cut); err != nil {
			return false, err
		}
		if !more {
			break
		}
		b.settle(cut.Metadata)
		b.forfeit(cut.Lost)
	}

	for {
		var was reservedData
		data, more := journal.Recall(reservation(req))
		if err = read(data, &was); !more || err != nil {
			return found, err
		}
		found = true
		req.Budget = was.Budget
		b.forfeit(was.Lost)
	}
}

// reserve gives the workers that start now their shares of what is left, and records them where
// there is a bound. A run that is killed meanwhile never learns what they used, and counts all of
// it. The workers of a flow have their own reservations.
func (r *run) reserve(journal *cursor, list []dispatch) error {
	err := r.journal.store.Live(false)
	if _, ends := errors.AsType[*formats.EndError](err); err != nil && !ends {
		return r.journal.failed(err)
	}
	if err := r.journal.enter(); err != nil {
		return err
	}

	var workers []*formats.Request
	var lost []formats.Budget
	var others formats.Metadata // used by those that the journal has, or theirs
	sameLimits := !r.cfg.AcceptChanges && len(r.cfg.Accepted) == 0
	for _, d := range list {
		e := d.effect
		switch {
		case !e.worker:
		case d.recalled:
			addUsage(&others, d.answer.ret.Metadata)
		case d.reserved && e.flow && sameLimits:
			addUsage(&others, usageOf(e.req.Budget))
		default:
			was := formats.Budget{}
			if d.reserved && !e.flow && r.cfg.Killed {
				was.Tokens = e.req.Budget.Tokens
				was.Cost = e.req.Budget.Cost
				r.budget.forfeit(was)
			}
			workers = append(workers, e.req)
			lost = append(lost, was)
		}
	}
	if err != nil || len(workers) == 0 {
		return nil //nolint:nilerr // the journal ends here, which is no failure
	}

	rest := r.budget
	rest.settle(others)
	rest.share(workers, r.timeLeft())
	if r.budget.isBounded() {
		for i, req := range workers {
			e := reservation(req)
			e.Data = reservedData{req.Budget, lost[i]}
			err = cmp.Or(err, journal.append(e))
		}
	}
	return cmp.Or(err, rest.exhausted())
}
