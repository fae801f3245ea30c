package interp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tercet/commands/compile"
	"tercet/formats"
)

// takeOver gives the tasks of the run to this process.
func (r *run) takeOver() error {
	if err := r.checkDocuments(); err != nil {
		return err
	}
	if err := r.reenterTasks(); err != nil {
		return err
	}
	return r.renewLeases(false)
}

// checkDocuments asks whether to go on if documents that the run read at its beginning were changed
// since. What the run made itself does not count, nor what the user accepted before.
func (r *run) checkDocuments() error {
	changed := map[string]string{}
	for name, sum := range r.loads.sums {
		now := r.hashOf(r.main.ctx, name)
		agreed, ok := r.cfg.Accepted[name]
		accepted := ok && now == agreed
		if now != sum && !accepted && !r.artifacts.hasPath(name) {
			changed[name] = now
		}
	}

	if len(changed) == 0 || r.cfg.AcceptChanges {
		return nil
	}

	what := strings.Join(slices.Sorted(maps.Keys(changed)), ", ") + " changed since the run began"
	const on = "Go on"
	const stop = "Stop"
	d, err := r.cfg.Approve.Approve(r.main.ctx, formats.Gate{
		Run:      r.cfg.IDs.Run,
		Question: what + ". Go on with what the run read then?",
		Auto:     stop,
		Choices:  []formats.Choice{{Label: on}, {Label: stop, Leaves: true, Ends: true}},
	})

	if err == nil && d.Answer == on {
		if r.cfg.Accept != nil {
			r.cfg.Accept(changed)
		}
		return nil
	}
	if err != nil && asGateOpen(err) == nil {
		return err
	}

	help := fmt.Sprintf(
		"run 'tercet resume %s --accept-changes' to go on with what the run read then, or type "+
			"the line "+
			"with --new to begin afresh",
		r.cfg.IDs.Run,
	)
	return formats.Fail(formats.CodeSuspended, help, "%s", what)
}

// reenterTasks puts the tasks of a run that was reopened in progress again; they were put back when
// it failed. An earlier process of the run may have done that already.
func (r *run) reenterTasks() error {
	if r.counts.reopened == 0 || len(r.tasks.inProgress) == 0 {
		return nil
	}
	doc, _, err := r.cfg.State.Snapshot(context.WithoutCancel(r.main.ctx))
	var tasks []formats.Task
	if err == nil {
		err = decode(objectOf(doc)["tasks"], &tasks)
	}
	if err != nil {
		return err
	}

	for _, task := range tasks {
		ours := task.Lease != nil && task.Lease.Run == r.cfg.IDs.Run && task.Status.InProgress()
		if ours || !slices.Contains(r.tasks.inProgress, task.Number) {
			continue
		}
		err := r.syncDirectly("reenter", object{
			"operation":   compile.OpUpdateStatus,
			"task_number": task.Number,
			"status":      r.tasks.progressStatus[task.Number],
			"reason":      r.cfg.IDs.Command,
		})
		if err != nil {
			return err
		}
	}

	return nil
}

// renewLeases renews the leases of the tasks in progress, or marks them as leases of a run that
// waits. Each process does that for itself, because one that was killed may not have journaled it.
func (r *run) renewLeases(suspended bool) error {
	for _, n := range r.tasks.inProgress {
		err := r.syncDirectly("lease", object{
			"operation": "set_lease", "task_number": n, "suspended": suspended,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// syncDirectly has the status-sync manager do something without the journal, because each process
// does it for itself.
func (r *run) syncDirectly(step string, input object) error {
	ids := r.cfg.IDs
	key := fmt.Sprintf("%s %v %v %d",
		step, input["task_number"], input["suspended"], r.processStarted.UnixNano())
	ret, err := r.cfg.Agents.Delegate(context.WithoutCancel(r.main.ctx), formats.Request{
		Agent:   compile.StatusSync,
		Task:    r.tasks.commandTask,
		Session: ids.Session,
		Run:     ids.Run,
		Command: ids.Command,
		Step:    step,
		Input:   input,
		Visit:   1,
		Attempt: 1,
		Depth:   r.depth,
		Path:    slices.Clone(ids.Path),
		Dir:     r.cfg.Dir,
		Timeout: formats.Timeout{Total: formats.DefaultStepTimeout},
		Txn:     txn(ids.Run, key, 1, 1),
	})

	if err == nil && ret.Outcome() == formats.OutcomeFailed && len(ret.Errors) > 0 {
		e := ret.Errors[0]
		err = formats.Fail(e.Code, e.Recommendation, "%s", e.Message)
	}
	return err
}
