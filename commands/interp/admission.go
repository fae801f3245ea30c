package interp

import (
	"fmt"
	"slices"

	"tercet/formats"
)

// checkStart checks the effective status of the task against allow.
func (t *tasks) checkStart() error {
	if t.prog.Allow == nil {
		return nil
	}
	if _, always := t.prog.During(); always {
		if err := t.checkLease(); err != nil || t.leftByOwnSession() {
			return err
		}
	}
	if !slices.Contains(t.prog.Allow, t.own.Status) {
		return t.errStatus(t.prog.Allow)
	}
	return nil
}

// isPast tells whether the task is past every status from which the command starts.
func (t *tasks) isPast() bool {
	notBefore := func(s formats.TaskStatus) bool {
		return !s.Before(t.own.Status)
	}
	return t.own != nil && len(t.prog.Allow) > 0 && !slices.ContainsFunc(t.prog.Allow, notBefore)
}

// checkLease refuses a task on which another session works.
func (t *tasks) checkLease() error {
	l := t.own.Lease
	if !t.own.Status.InProgress() || l == nil || l.Session == t.session {
		return nil
	}
	if l.Suspended {
		return formats.Fail(
			formats.CodeLeaseHeld,
			fmt.Sprintf("run 'tercet resume %s' to go on with it, or 'tercet cancel "+
				"%s' to give it up", l.Run, l.Run),
			"task %d waits for run %s, which is suspended",
			t.own.Number,
			l.Run,
		)
	}
	return formats.Fail(formats.CodeLeaseHeld,
		"wait until it has ended, then run the command again",
		"task %d is %s: session %s (pid %d on %s) works on it since %s", t.own.Number,
		t.own.Status, l.Session, l.PID, l.Host, l.Taken)
}

// leftByOwnSession tells whether an earlier run of this session left the task in the status that
// this run would give it.
func (t *tasks) leftByOwnSession() bool {
	during, _ := t.prog.During()
	return t.own.Status == during && t.own.Lease != nil &&
		t.own.Lease.Session == t.session
}

// checkMove checks that the command may give the task its status in progress.
func (t *tasks) checkMove() error {
	if err := t.checkLease(); err != nil || t.leftByOwnSession() {
		return err
	}
	during, _ := t.prog.During()
	if !formats.CanMove(t.own.Status, during) {
		return t.errStatus(formats.MovesInto(during))
	}
	return nil
}

// errStatus refuses a task whose status does not let the command start.
func (t *tasks) errStatus(allowed []formats.TaskStatus) error {
	starts := "cannot start from it"
	if len(allowed) > 0 {
		starts = "starts from " + joinWords(allowed)
	}
	help := fmt.Sprintf(
		"run 'tercet state show %d' to see the task, 'tercet state transitions' for what may "+
			"follow "+
			"its status",
		t.own.Number,
	)
	return formats.Fail(formats.CodePrecondition, help, "task %d is %s; /%s %s",
		t.own.Number, t.own.Status, t.prog.Name, starts)
}
