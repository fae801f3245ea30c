package interp

import (
	"cmp"
	"fmt"

	"tercet/formats"
)

// leastCost is a share that still counts as a bound: zero would be none.
const leastCost = 0.0001

// spawn reserves the place of one worker, or refuses it because something is used up. Nothing is started then.
func (r *run) spawn() error {
	l, used := r.limits, r.spent
	switch {
	case l.Spawns != 0 && used.Spawns >= l.Spawns:
		return errLimit("spawns", max(0, l.Spawns))
	case l.Tokens > 0 && used.Tokens.Total() >= l.Tokens:
		return errBudget("tokens", fmt.Sprint(l.Tokens), fmt.Sprint(used.Tokens.Total()))
	case l.Cost > 0 && used.Cost >= l.Cost:
		return errBudget("US dollars", fmt.Sprintf("%.4g", l.Cost), fmt.Sprintf("%.4g", used.Cost))
	}
	r.spent.Spawns++
	return nil
}

// spend takes in what a worker used. What it did not use of its share is there again.
func (r *run) spend(m formats.Metadata) {
	s := &r.spent
	s.Tokens.Input += m.Tokens.Input
	s.Tokens.Cached += m.Tokens.Cached
	s.Tokens.Output += m.Tokens.Output
	s.Cost += m.Cost
	s.Spawns += m.Spawns
}

// leastSeconds is what a worker has that starts when the time of the run is over: it is stopped at once.
const leastSeconds = 0.001

// share divides what is left among the workers that start together: equal parts in the order of the file, what is over
// to the first ones, so that the shares do not depend on who ends first. Time is not divided: they spend the same
// seconds.
func (r *run) share(list []*formats.Request) {
	left := r.limits.Duration - r.took()
	if r.after {
		left = max(left, handlingLimit) // what follows the run has time of its own
	}
	n := len(list)
	for i, req := range list {
		b := &req.Budget
		b.Seconds = max(leastSeconds, left.Seconds())
		if l := r.limits.Tokens; l > 0 {
			b.Tokens = max(1, part(max(0, l-r.spent.Tokens.Total()), n, i))
		}
		if l := r.limits.Cost; l > 0 {
			b.Cost = max(leastCost, (l-r.spent.Cost)/float64(n))
		}
		if l := r.limits.Spawns; l != 0 {
			b.Spawns = cmp.Or(int(part(int64(max(0, l-r.spent.Spawns)), n, i)), formats.NoSpawns)
		}
	}
}

// reserve writes down what workers may use before they start, where there is a bound: a run that is killed while they
// work never learns what they used, and whoever adds up counts what was reserved. The time is in the record of the
// delegation.
func (r *run) reserve(list []*formats.Request) error {
	for _, req := range list {
		b := req.Budget
		if b.Tokens == 0 && b.Cost == 0 && b.Spawns == 0 {
			continue
		}
		b.Seconds = 0
		if err := r.journal(formats.Entry{
			Type: formats.EntryBudgetReserved, Step: req.At, Attempt: req.Attempt, Key: req.Txn, Data: b,
		}); err != nil {
			return err
		}
	}
	return nil
}

// part is the i-th of n parts of a whole.
func part(whole int64, n, i int) int64 {
	share := whole / int64(n)
	if int64(i) < whole%int64(n) {
		share++
	}
	return share
}
