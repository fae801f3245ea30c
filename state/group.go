package state

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// request is one call of Apply.
type request struct {
	ctx  context.Context //nolint:containedctx // it is the context of a call that waits
	tx   Tx
	res  Result
	err  error
	todo *todoPlan // what a sync read of TODO.md
	late bool      // a transaction before it in the same write changed something, so it shares the fate of that write
	done chan struct{}
}

// queue holds the transactions of this process that no write has taken up.
type queue struct {
	mu      sync.Mutex
	waiting []*request
}

func (q *queue) add(r *request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, r)
}

// withdraw takes a request back; false if a write has taken it up.
func (q *queue) withdraw(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, r)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	return i >= 0
}

// maxGroup bounds how many transactions share one write.
const maxGroup = 128

// take gives the transactions that share a write with the first one, in the order in which they came.
func (q *queue) take(first *request) []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := []*request{first}
	ids := map[string]bool{first.tx.ID: true}
	q.waiting = slices.DeleteFunc(q.waiting, func(r *request) bool {
		if r == first {
			return true
		}
		// One whose id is in the group already is answered from the log by a later write.
		if first.single() || r.single() || len(out) == maxGroup || ids[r.tx.ID] {
			return false
		}
		ids[r.tx.ID] = true
		out = append(out, r)
		return true
	})
	return out
}

// single tells whether a transaction may share its write with no other.
func (r *request) single() bool { return r.tx.ExpectedSerial != nil || alone(r.tx.Ops[0]) }

func (q *queue) holds(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Contains(q.waiting, r)
}

// wait has a request done: by a write that another goroutine leads, or by leading one.
func (m *Manager) wait(r *request) {
	m.queue.add(r)
	timer := time.NewTimer(m.cfg.lockTimeout())
	defer timer.Stop()
	select {
	case <-r.done:
		return
	case m.gate <- struct{}{}:
		m.lead(r)
		return
	case <-r.ctx.Done():
		if m.queue.withdraw(r) {
			r.err = context.Cause(r.ctx)
			return
		}
	case <-timer.C:
		if m.queue.withdraw(r) {
			l := locker{cfg: m.cfg, file: lockFile, info: infoFile}
			r.err = &LockError{Path: short(lockFile), Waited: m.cfg.lockTimeout(), Holder: l.holder()}
			return
		}
	}
	<-r.done // a write has taken it up and says how it ended
}

// lead writes for everybody who waits; the gate is held. TODO.md is rendered behind the gate, so that the next write does
// not wait for it.
func (m *Manager) lead(r *request) {
	if !m.queue.holds(r) { // another write took it up before this one came through the gate
		<-m.gate
		<-r.done
		return
	}
	var group []*request
	var written error
	err := m.underLock(r.ctx, r.tx.Session, func() error {
		group = m.queue.take(r)
		written = m.writeGroup(group)
		return nil
	})
	if group == nil {
		m.queue.withdraw(r)
		r.err = err // the lock was not given
		<-m.gate
		return
	}
	<-m.gate
	changed := false
	for _, one := range group {
		switch {
		case one.err != nil || one.res.Replayed || !one.late:
		case written != nil:
			one.err = written
		case err != nil: // the lock could not be given back, after the write
			one.err = &NotDurableError{File: stateFile, Serial: one.res.Serial, Err: err}
		}
		changed = changed || one.res.Changed && !one.res.Replayed && (one.err == nil || isNotDurable(one.err))
	}
	var warnings []string
	switch {
	case r.todo != nil && (r.err == nil || isNotDurable(r.err)):
		warnings = m.renderTodo(r.ctx, r.todo.sha)
	case changed:
		warnings = m.renderTodo(r.ctx, "")
	}
	for _, one := range group {
		if one.todo != nil || one.res.Changed && !one.res.Replayed {
			one.res.Warnings = append(one.res.Warnings, warnings...)
		}
		if one != r {
			close(one.done)
		}
	}
}

// writeGroup applies transactions in one write. What one of them alone is to blame for is in its err; the error that is
// returned concerns all that are marked late.
func (m *Manager) writeGroup(group []*request) error {
	for _, r := range group {
		r.late = true // until the state is open, each depends on that
	}
	return m.retrying(false, func(s *session) error {
		for _, r := range group {
			r.res, r.err, r.late, r.todo = Result{}, nil, false, nil
		}
		err := s.applyAll(group)
		for _, r := range group {
			r.res.Warnings = append(slices.Clone(s.warnings), r.res.Warnings...)
		}
		return err
	})
}

// applyAll does the steps of the transactions on an open state.
func (s *session) applyAll(group []*request) error {
	if op, ok := group[0].tx.Ops[0].(SetPhase); ok {
		r := group[0]
		done, err := s.settled(r)
		if !done && err == nil {
			r.res, err = s.setPhase(r.tx, op)
		}
		r.late = true
		return err
	}
	d := newDraft(s.cfg, s.doc, Tx{}, s.archived)
	var members []*request
	for _, r := range group {
		done, err := s.settled(r)
		if err == nil && !done {
			err = s.draft(d, r)
		}
		r.err = err
		r.late = len(members) > 0 && !done
		if r.late {
			r.res.Serial = s.serial + 1
		}
		if err == nil && !done && d.dirty() {
			members = append(members, r)
			r.late, r.res.Changed, r.res.Serial = true, true, s.serial+1
		}
	}
	if len(members) == 0 {
		return nil
	}
	if s.doc.NextNumber <= s.doc.highest() {
		s.warn(fmt.Sprintf("next_number was %d, below the highest task; set to %d", s.doc.NextNumber, d.next))
	}
	if s.doc.bom {
		s.warn("the byte order mark of state.json is left out")
	}
	return s.write(d, s.groupLine(members))
}

// settled answers a transaction without applying it: one that the log holds, one whose caller is gone, one that expects
// another serial.
func (s *session) settled(r *request) (bool, error) {
	if r.ctx.Err() != nil {
		return true, context.Cause(r.ctx)
	}
	if !r.tx.fresh {
		res, ok, err := s.m.audit.answer(r.tx.ID)
		if ok || err != nil {
			r.res = res
			return true, err
		}
	}
	if want := r.tx.ExpectedSerial; want != nil && *want != s.serial {
		return true, &ConflictError{Expected: *want, Got: s.serial}
	}
	return false, nil
}

// draft applies one transaction to a draft; one that is refused leaves nothing behind.
func (s *session) draft(d *draft, r *request) (err error) {
	d.begin(r.tx)
	defer func() {
		r.res.Warnings = d.warnings
		if err != nil {
			d.rollback()
		}
	}()
	for _, op := range r.tx.Ops {
		if err := d.apply(op); err != nil {
			return err
		}
	}
	if err := d.check(r.tx.Ops[len(r.tx.Ops)-1].name()); err != nil {
		return err
	}
	r.todo = d.todo
	r.res = Result{Serial: s.serial, Txn: r.tx.ID, Numbers: d.numbers, Verdicts: d.verdicts}
	return nil
}

// groupLine is the audit line of one transaction, or of several that share a write.
func (s *session) groupLine(members []*request) auditLine {
	line := s.line(members[0].tx)
	line.Numbers, line.Verdicts = members[0].res.Numbers, members[0].res.Verdicts
	if len(members) == 1 {
		return line
	}
	line = auditLine{Serial: line.Serial, Kind: lineGroup, File: line.File, Time: line.Time, Pre: line.Pre}
	for _, r := range members {
		line.Group = append(line.Group, member{
			Txn: r.tx.ID, Session: r.tx.Session, Run: r.tx.Run, Force: r.tx.Force, Ops: records(r.tx.Ops),
			Numbers: r.res.Numbers, Verdicts: r.res.Verdicts,
		})
	}
	return line
}
