package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"tercet/formats"
	"tercet/internal/query"
)

// ReadyStatuses gives queries the rule of what is ready: nobody works on a task, and every task that it depends on is
// completed or no longer in the list.
func ReadyStatuses() *query.Statuses {
	s := &query.Statuses{Done: formats.Completed.String(), Instead: map[int]string{}}
	for _, status := range formats.TaskStatuses() {
		if nextWork(status) != "" {
			s.Waiting = append(s.Waiting, status.String())
		}
	}
	return s
}

// Ready lists the tasks that can be taken up, in the order of the list and with their effective statuses; brief ones
// have nothing but number, title and status. Of the file it keeps only them in memory.
func (r *Reader) Ready(ctx context.Context, brief bool) ([]formats.Task, error) {
	rule, now := ReadyStatuses(), r.cfg.now()
	leased, err := r.ask(ctx, ".tasks[] | select(.lease != null)", rule)
	if err != nil {
		return nil, err
	}
	for i := range leased {
		if status, stale := r.cfg.effective(&leased[i], now); stale {
			rule.Instead[leased[i].Number] = status.String()
		}
	}
	filter := "ready"
	if brief {
		filter = "ready | {number, title, status, prior, lease}"
	}
	list, err := r.ask(ctx, filter, rule)
	for i := range list {
		list[i].Status, _ = r.cfg.effective(&list[i], now)
	}
	return list, err
}

// ask gives the tasks that a query of the state names.
func (r *Reader) ask(ctx context.Context, filter string, rule *query.Statuses) ([]formats.Task, error) {
	var out bytes.Buffer
	open := func(query.Input) (query.File, error) { return Open(r.cfg.Root) }
	exit, err := query.Host{Open: open}.Run(ctx, query.CLIRequest{
		Filter: filter, Compact: true, Strict: true, Statuses: rule, Timeout: time.Minute, Out: &out,
		Inputs: []query.Input{{Name: stateFile, Open: true}},
	})
	if exit != 0 {
		// What is wrong with the file is said as by every reader.
		if _, wrong := r.Doc(ctx); wrong != nil {
			return nil, wrong
		}
		return nil, err
	}
	list := []formats.Task{}
	for in := json.NewDecoder(&out); ; {
		var t formats.Task
		if err := in.Decode(&t); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
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
	if from, _ := d.cfg.effective(t, d.now); to == "" {
		to = nextWork(from)
	}
	status := UpdateStatus{Tasks: []int{t.Number}, To: to, Lease: &LeaseRequest{Timeout: op.Timeout}}
	if err := status.apply(d); err != nil {
		return err
	}
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
