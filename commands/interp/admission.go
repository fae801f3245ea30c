package interp

import (
	"cmp"
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
	if !slices.Contains(t.prog.Allow, t.commandTask.Status) &&
		!slices.Contains(t.prog.Allow, supportedStatus(t.commandTask)) {
		return t.errStatus(t.prog.Allow)
	}
	return nil
}

// supportedStatus is the status that the documents of a task bear out. Tasks that come from another
// system may be planned there without a plan that is linked: the work that makes one may be done.
func supportedStatus(t *formats.Task) formats.TaskStatus {
	claimed := []formats.TaskStatus{formats.Planned, formats.Revised, formats.Partial}
	switch {
	case !slices.Contains(claimed, t.Status):
		return t.Status
	case t.Newest(formats.ArtifactPlan) != nil:
		return t.Status
	case t.Newest(formats.ArtifactReport) != nil:
		return formats.Researched
	}
	return formats.NotStarted
}

// isPast tells whether the task is past every status from which the command starts. Statuses of
// work that stopped do not count: a command may take it up from there and still lead to an earlier
// status than that of the task.
func (t *tasks) isPast() bool {
	if t.commandTask == nil || slices.Contains(t.prog.Allow, t.commandTask.Status) {
		return false
	}
	past := false
	for _, s := range t.prog.Allow {
		switch {
		case s.Before(t.commandTask.Status):
			past = true
		case s != formats.Partial && s != formats.Blocked && s != formats.OnHold:
			return false
		}
	}
	return past
}

// checkLease refuses a task on which another session works.
func (t *tasks) checkLease() error {
	l := t.commandTask.Lease
	if !t.commandTask.Status.InProgress() || l == nil || l.Session == t.session {
		return nil
	}
	if l.Suspended {
		return formats.Fail(
			formats.CodeLeaseHeld,
			fmt.Sprintf("run 'tercet resume %s' to go on with it, or 'tercet cancel "+
				"%s' to give it up", l.Run, l.Run),
			"task %d waits for run %s, which is suspended",
			t.commandTask.Number,
			l.Run,
		)
	}
	return formats.Fail(formats.CodeLeaseHeld,
		"wait until it has ended, then run the command again",
		"task %d is %s: session %s (pid %d on %s) works on it since %s", t.commandTask.Number,
		t.commandTask.Status, l.Session, l.PID, l.Host, l.Taken)
}

// leftByOwnSession tells whether an earlier run of this session left the task in the status that
// this run would give it.
func (t *tasks) leftByOwnSession() bool {
	during, _ := t.prog.During()
	return t.commandTask.Status == during && t.commandTask.Lease != nil &&
		t.commandTask.Lease.Session == t.session
}

// checkMove checks that the command may give the task its status in progress.
func (t *tasks) checkMove() error {
	if err := t.checkLease(); err != nil || t.leftByOwnSession() {
		return err
	}
	during, _ := t.prog.During()
	if !formats.CanMove(t.commandTask.Status, during) {
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
	return formats.Fail(formats.CodePrecondition, t.adviceToReach(allowed), "task %d is %s; /%s %s",
		t.commandTask.Number, t.commandTask.Status, t.prog.Name, starts)
}

// adviceToReach says what brings the task to one of these statuses, or what else can be done with
// it.
func (t *tasks) adviceToReach(statuses []formats.TaskStatus) string {
	help := ""
	if t.howToReach != nil {
		help = t.howToReach(t.commandTask, statuses)
	}
	return cmp.Or(help, fmt.Sprintf("'tercet state show %d' shows the task", t.commandTask.Number))
}
