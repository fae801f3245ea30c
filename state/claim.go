package state

import (
	"context"
	"iter"
	"time"

	"tercet/formats"
	"tercet/internal/query"
)

// ReadyStatuses gives queries the rule of readiness: no process works on the task, and every
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
	work := r.cfg.work(doc.each, r.cfg.now())
	out := newList[formats.Task](len(doc.Tasks))
	for t := range doc.each {
		one := *t
		one.Status = work[t.Number]
		if work.ready(&one) {
			out = append(out, one)
		}
	}
	return out, nil
}

// each gives the tasks one by one.
func (d *Doc) each(yield func(*formats.Task) bool) {
	for i := range d.Tasks {
		if !yield(&d.Tasks[i]) {
			return
		}
	}
}

// work is the effective status of each task by its number.
type work map[int]formats.TaskStatus

func (c Config) work(tasks iter.Seq[*formats.Task], now time.Time) work {
	out := work{}
	for t := range tasks {
		out[t.Number], _ = c.effective(t, now)
	}
	return out
}

// waits gives the first task that a task waits for, 0 if there is none.
func (w work) waits(t *formats.Task) int {
	for _, n := range t.Dependencies {
		if s, active := w[n]; active && s != formats.Completed {
			return n
		}
	}
	return 0
}

// ready tells whether work on a task can begin.
func (w work) ready(t *formats.Task) bool {
	return nextWork[w[t.Number]] != "" && w.waits(t) == 0
}

// nextWork has the in-progress status that comes next for a task that waits for work.
var nextWork = map[formats.TaskStatus]formats.TaskStatus{
	formats.NotStarted: formats.Researching,
	formats.Researched: formats.Planning,
	formats.Planned:    formats.Implementing,
	formats.Revised:    formats.Implementing,
	formats.Partial:    formats.Implementing,
}

func (op ClaimTask) apply(d *draft) error {
	if op.To != "" && !op.To.InProgress() {
		return d.refused(op.Task, "", "expected a status in progress, got %q", op.To.String())
	}
	if d.tx.Session == "" {
		return d.refused(op.Task, "", "expected a session, got none")
	}

	t, err := d.claimable(op)
	if err != nil {
		return err
	}
	to := op.To
	from, _ := d.cfg.effective(t, d.now)
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

// claimable finds the task to be claimed.
func (d *draft) claimable(op ClaimTask) (*formats.Task, error) {
	work := d.cfg.work(d.tasks, d.now)
	if op.Task == 0 {
		for t := range d.tasks {
			if work.ready(t) && (op.To == "" || formats.CanMove(work[t.Number], op.To)) {
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

	t, err := d.take(op.Task) // refuses one that another session works on
	if err != nil {
		return nil, err
	}
	if n := work.waits(t); n != 0 {
		return nil, formats.Fail(formats.CodePrecondition,
			"finish that one first, or take it out of the dependencies",
			"task %d waits for task %d, which is %s", t.Number, n, work[n])
	}
	if op.To == "" && nextWork[work[t.Number]] == "" {
		return nil, formats.Fail(formats.CodePrecondition, "",
			"task %d is %s, so there is no next work to claim", t.Number, work[t.Number])
	}
	return t, nil
}
