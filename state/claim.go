package state

import (
	"context"
	"iter"
	"time"

	"tercet/formats"
	"tercet/internal/huge"
	"tercet/internal/query"
)

// ReadyStatuses is the rule of readiness for queries: no process works on the task, and every
// dependency is completed or no longer in the list.
func ReadyStatuses() *query.Statuses {
	s := &query.Statuses{Done: formats.Completed.String()}
	for _, status := range formats.TaskStatuses() {
		if nextWork[status] != "" {
			s.Waiting = append(s.Waiting, status.String())
		}
	}
	return s
}

// Ready lists the ready tasks, in list order and with effective statuses.
func (r *Reader) Ready(ctx context.Context) ([]formats.Task, error) {
	doc, err := r.load(ctx)
	if err != nil {
		return nil, err
	}

	statuses := r.cfg.effectiveStatuses(doc.Each, r.cfg.now())
	out := huge.List[formats.Task](len(doc.Tasks))
	for t := range doc.Each {
		one := *t
		one.Status = statuses[t.Number]
		if statuses.isReady(&one) {
			out = append(out, one)
		}
	}
	return out, nil
}

// taskStatuses is the effective status of each task by its number.
type taskStatuses map[int]formats.TaskStatus

func (c Config) effectiveStatuses(tasks iter.Seq[*formats.Task], now time.Time) taskStatuses {
	out := taskStatuses{}
	for t := range tasks {
		out[t.Number], _ = c.effectiveStatus(t, now)
	}
	return out
}

// blockedBy returns the number of the first open dependency of a task, or 0.
func (w taskStatuses) blockedBy(t *formats.Task) int {
	for _, n := range t.Dependencies {
		if s, active := w[n]; active && s != formats.Completed {
			return n
		}
	}
	return 0
}

// isReady reports whether work on a task can begin.
func (w taskStatuses) isReady(t *formats.Task) bool {
	return nextWork[w[t.Number]] != "" && w.blockedBy(t) == 0
}

// nextWork maps the status of a task that waits for work to the in-progress status that comes next.
var nextWork = map[formats.TaskStatus]formats.TaskStatus{
	formats.NotStarted: formats.Researching,
	formats.Researched: formats.Planning,
	formats.Planned:    formats.Implementing,
	formats.Revised:    formats.Implementing,
	formats.Partial:    formats.Implementing,
}

func (op ClaimTask) apply(d *draft) error {
	if op.To != "" && !op.To.InProgress() {
		return d.invalidOp(op.Task, "", "expected a status in progress, got %q", op.To.String())
	}
	if d.tx.Session == "" {
		return d.invalidOp(op.Task, "", "expected a session, got none")
	}

	t, err := d.findClaimable(op)
	if err != nil {
		return err
	}
	to := op.To
	from, _ := d.cfg.effectiveStatus(t, d.now)
	if to == "" {
		to = nextWork[from]
	}

	status := UpdateStatus{
		Tasks: []int{t.Number},
		To:    to,
		Lease: &LeaseRequest{Timeout: op.Timeout},
	}
	if err := status.apply(d); err != nil {
		return err
	}

	if t = d.peek(t.Number); op.Loose && t.Lease != nil {
		t.Lease.Host = ""
		t.Lease.BootID = ""
		t.Lease.PID = 0
		t.Lease.PIDStart = ""
	}
	return nil
}

// findClaimable finds the task to be claimed.
func (d *draft) findClaimable(op ClaimTask) (*formats.Task, error) {
	statuses := d.cfg.effectiveStatuses(d.tasks, d.now)
	if op.Task == 0 {
		for t := range d.tasks {
			if statuses.isReady(t) && (op.To == "" || formats.CanMove(statuses[t.Number], op.To)) {
				return t, nil
			}
		}
		return nil, formats.Fail(
			formats.CodeNotFound,
			"see what is open with: tercet task ready; tercet query '.tasks[] | {number, status, "+
				"dependencies}'",
			"no task is ready",
		)
	}

	t, err := d.editTask(op.Task) // refuses one that another session works on
	if err != nil {
		return nil, err
	}
	if n := statuses.blockedBy(t); n != 0 {
		return nil, formats.Fail(formats.CodePrecondition,
			"finish that one first, or take it out of the dependencies",
			"task %d waits for task %d, which is %s", t.Number, n, statuses[n])
	}
	if op.To == "" && nextWork[statuses[t.Number]] == "" {
		return nil, formats.Fail(formats.CodePrecondition, "",
			"task %d is %s, so there is no next work to claim", t.Number, statuses[t.Number])
	}
	return t, nil
}
