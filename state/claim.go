package state

import (
	"slices"

	"tercet/formats"
)

// Ready lists the tasks that can be taken up, in the order of the list: nobody works on them, and every task that they
// depend on is completed or no longer in the list. It is linear in the number of tasks.
func Ready(tasks []formats.Task) []formats.Task {
	open := make(map[int]bool, len(tasks))
	for i := range tasks {
		open[tasks[i].Number] = tasks[i].Status != formats.Completed
	}
	out := []formats.Task{}
	for i := range tasks {
		waits := slices.ContainsFunc(tasks[i].Dependencies, func(n int) bool { return open[n] })
		if !waits && nextWork(tasks[i].Status) != "" {
			out = append(out, tasks[i])
		}
	}
	return out
}

// nextWork is the in-progress status that comes next for a task that waits for work, empty for any other.
func nextWork(s formats.TaskStatus) formats.TaskStatus {
	switch s {
	case formats.NotStarted:
		return formats.Researching
	case formats.Researched:
		return formats.Planning
	case formats.Planned, formats.Revised, formats.Partial:
		return formats.Implementing
	case formats.Researching, formats.Planning, formats.Revising, formats.Implementing, formats.Completed, formats.Blocked,
		formats.Abandoned, formats.Expanded, formats.OnHold:
		return ""
	}
	return ""
}

func (d *draft) claim(op ClaimTask) error {
	if op.To != "" && !op.To.InProgress() {
		return refused(op.name(), op.Task, "", "expected a status in progress, got %q", op.To.String())
	}
	if d.tx.Session == "" {
		return refused(op.name(), op.Task, "", "expected a session, got none")
	}
	t, err := d.claimable(op)
	if err != nil {
		return err
	}
	to := op.To
	if from, _ := d.cfg.effective(t, d.now); to == "" {
		to = nextWork(from)
	}
	if err := d.updateStatus(UpdateStatus{
		Tasks: []int{t.Number}, To: to,
		Lease: &LeaseRequest{Timeout: op.Timeout},
	}); err != nil {
		return err
	}
	d.verdicts[len(d.verdicts)-1].Op = op.name()
	if t = d.peek(t.Number); op.Loose && t.Lease != nil {
		t.Lease.Host, t.Lease.BootID, t.Lease.PID, t.Lease.PIDStart = "", "", 0, ""
	}
	return nil
}

// claimable finds the task to be claimed.
func (d *draft) claimable(op ClaimTask) (*formats.Task, error) {
	status := map[int]formats.TaskStatus{}
	for t := range d.tasks {
		status[t.Number], _ = d.cfg.effective(t, d.now)
	}
	waits := func(t *formats.Task) int {
		for _, n := range t.Dependencies {
			if s, active := status[n]; active && s != formats.Completed {
				return n
			}
		}
		return 0
	}
	if op.Task == 0 {
		for t := range d.tasks {
			ready := nextWork(status[t.Number]) != "" && waits(t) == 0
			if ready && (op.To == "" || formats.CanMove(status[t.Number], op.To)) {
				return t, nil
			}
		}
		return nil, formats.Fail(formats.CodeNotFound,
			"see what is open with: tercet task ready; tercet query '.tasks[] | {number, status, dependencies}'",
			"no task is ready")
	}
	t, err := d.take(op.Task) // refuses one that another session works on
	if err != nil {
		return nil, err
	}
	if n := waits(t); n != 0 {
		return nil, formats.Fail(formats.CodePrecondition, "finish that one first, or take it out of the dependencies",
			"task %d waits for task %d, which is %s", t.Number, n,
			status[n])
	}
	if op.To == "" && nextWork(status[t.Number]) == "" {
		return nil, formats.Fail(formats.CodePrecondition, "", "task %d is %s, so there is no next work to claim", t.Number,
			status[t.Number])
	}
	return t, nil
}
