package interp

import (
	"cmp"
	"errors"
	"fmt"

	"tercet/formats"
)

// leastCost is a share that still counts as a bound: zero would be none.
const leastCost = 0.0001

// spawn reserves the place of one worker, or refuses it because something is used up. Nothing is
// started then.
func (r *run) spawn() error {
	if l := r.limits.Spawns; l != 0 && r.spent.Spawns >= l {
		return errLimit("spawns", max(0, l))
	}
	if err := r.over(); err != nil {
		return err
	}
	r.spent.Spawns++
	return nil
}

// over refuses a worker where tokens or money are used up. Where that is so only by what was lost,
// the run waits.
func (r *run) over() (err error) {
	l := r.limits
	used := r.spent
	lost := false
	if total := used.Tokens.Total(); l.Tokens > 0 && total >= l.Tokens {
		err = errBudget("tokens", fmt.Sprint(l.Tokens), fmt.Sprint(total))
		lost = total-r.lost.Tokens.Total() < l.Tokens
	} else if l.Cost > 0 && used.Cost >= l.Cost {
		err = errBudget("US dollars", fmt.Sprintf("%.4g", l.Cost), fmt.Sprintf("%.4g", used.Cost))
		lost = used.Cost-r.lost.Cost < l.Cost
	}
	if lost {
		err = &formats.LaterError{
			Why: err.Error() + ", if all that was reserved for a killed worker counts as used; " +
				"raise limits and resume with --accept-changes",
		}
	}
	return err
}

// add takes in what a worker used. What it did not use of its share is there again.
func add(s *formats.Metadata, m formats.Metadata) {
	s.Tokens.Input += m.Tokens.Input
	s.Tokens.Cached += m.Tokens.Cached
	s.Tokens.Output += m.Tokens.Output
	s.Cost += m.Cost
	s.Spawns += m.Spawns
}

// leastSeconds is what a worker has that starts when the time of the run is over: it is stopped at
// once.
const leastSeconds = 0.001

// share divides what is left among the workers that start together, in equal parts in the order of
// the file. The remainder goes to the first ones, so the shares do not depend on who ends first.
// Time is not divided, because they spend the same seconds.
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

// reserved is the data of budget_reserved.
type reserved struct {
	formats.Budget

	// what the same worker had in a process that was killed
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

// had gives a worker what other processes reserved for it last, and counts what was lost of it, and
// what it used where a signal ended it.
func (r *run) had(req *formats.Request) (old bool, err error) {
	for {
		var was formats.Cut
		data, more := r.cfg.Journal.Recall(cutEntry(req))
		if err = read(data, &was); err != nil {
			return old, err
		}
		if !more {
			break
		}
		add(&r.spent, was.Metadata)
		r.lose(was.Lost)
	}
	for {
		var was reserved
		data, more := r.cfg.Journal.Recall(reservation(req))
		if err = read(data, &was); !more || err != nil {
			return old, err
		}
		old = true
		req.Budget = was.Budget
		r.lose(was.Lost)
	}
}

// reserve gives workers their shares of what is left, and records them where there is a bound. A
// run that is killed meanwhile never learns what they used, and counts all of it. The workers of a
// flow have their own reservations.
func (r *run) reserve(
	journal *cursor,
	list []effect,
	out []answer,
	done, old []bool,
) error {
	err := r.cfg.Journal.Live(false)
	if _, ends := errors.AsType[*formats.EndError](err); err != nil && !ends {
		return r.unwritten(err)
	}

	var anew []*formats.Request
	var lost []formats.Budget
	spent := formats.Metadata{} // by the others, or theirs
	for i, e := range list {
		had := e.req
		switch {
		case !e.worker:
		case done[i]:
			add(&spent, out[i].ret.Metadata)
		case old[i] && e.flow && !r.cfg.AcceptChanges && len(r.cfg.Accepted) == 0:
			// else limits may be others now
			add(&spent, used(had.Budget))
		default:
			anew = append(anew, had)
			lost = append(lost, formats.Budget{})
			if old[i] && !e.flow && r.cfg.Killed {
				lost[len(lost)-1] = formats.Budget{Tokens: had.Budget.Tokens, Cost: had.Budget.Cost}
				r.lose(lost[len(lost)-1])
			}
		}
	}
	if err != nil || len(anew) == 0 {
		return nil //nolint:nilerr // the journal ends here, which is no failure
	}

	was := r.spent
	l := r.limits
	add(&r.spent, spent)
	r.share(anew)
	over := r.over()
	r.spent = was
	for i, req := range anew {
		e := reservation(req)
		e.Data = reserved{req.Budget, lost[i]}
		if l.Tokens != 0 || l.Cost != 0 || l.Spawns != 0 {
			err = cmp.Or(err, journal.append(e))
		}
	}

	return cmp.Or(err, over)
}

// lose counts what a worker had as used: it is not known how much of it was.
func (r *run) lose(b formats.Budget) {
	add(&r.spent, used(b))
	add(&r.lost, used(b))
}

func used(b formats.Budget) formats.Metadata {
	return formats.Metadata{
		Tokens: formats.Tokens{Input: b.Tokens},
		Cost:   b.Cost,
		Spawns: max(0, b.Spawns),
	}
}

// part is the i-th of n parts of a whole.
func part(whole int64, n, i int) int64 {
	share := whole / int64(n)
	if int64(i) < whole%int64(n) {
		share++
	}
	return share
}
