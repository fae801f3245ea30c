package interp

import (
	"slices"

	"tercet/commands/compile"
	"tercet/formats"
)

// tasks are the tasks that the run works on.
type tasks struct {
	prog    *compile.Program
	session string
	// howToReach is Config.HowToReach; it may be nil.
	howToReach func(t *formats.Task, to []formats.TaskStatus) string

	commandTask    *formats.Task      // of the command, as the run found it; $task
	status         formats.TaskStatus // that the run gave it; empty: none
	inProgress     []int              // numbers of those that this run put in progress
	progressStatus map[int]string     // by number, the status in progress that the run gave last
	// syncUnknown tells that the last change of the state may or may not have been applied.
	syncUnknown bool
}

// current is the run's task with the status that the run has given it.
func (t *tasks) current() *formats.Task {
	if t.commandTask == nil || t.status == "" {
		return t.commandTask
	}
	task := *t.commandTask
	task.Status = t.status
	return &task
}

// isCommandTask tells whether a number is that of the command's task.
func (t *tasks) isCommandTask(n int) bool {
	return t.commandTask != nil && t.commandTask.Number == n
}

// applyChange notes which tasks a change of the state put in progress, and which it took out of it.
func (t *tasks) applyChange(input object) {
	status, enters, ok := statusChange(input)
	if !ok {
		return
	}
	for _, n := range taskNumbers(input) {
		if t.isCommandTask(n) {
			t.status = formats.TaskStatus(status) // without one it goes back to the first
		}
		if enters {
			t.markInProgress(n, status)
		} else {
			t.inProgress = slices.DeleteFunc(t.inProgress, func(one int) bool { return one == n })
		}
	}
}

// applyUnknownChange notes a change that ended without an answer. If it put tasks in progress, it
// counts as done; the state is asked before a task is put back.
func (t *tasks) applyUnknownChange(input object) {
	t.syncUnknown = true
	if status, enters, _ := statusChange(input); enters {
		for _, n := range taskNumbers(input) {
			t.markInProgress(n, status)
		}
	}
}

func (t *tasks) markInProgress(n int, status string) {
	t.progressStatus[n] = status
	if !slices.Contains(t.inProgress, n) {
		t.inProgress = append(t.inProgress, n)
	}
}

// keepLeased keeps only those tasks in progress that the state says the run holds.
func (t *tasks) keepLeased(state []formats.Task, run string) {
	var still []int
	for _, task := range state {
		leased := task.Lease != nil && task.Lease.Run == run
		if leased && slices.Contains(t.inProgress, task.Number) && task.Status.InProgress() {
			still = append(still, task.Number)
		}
	}
	t.inProgress = still
}

// statusChange reads from the input of the status-sync manager which status it gives to tasks, and
// whether that is one in progress. ok is false if it gives none.
func statusChange(input object) (status string, enters, ok bool) {
	status = formats.As[string](input["status"])
	switch formats.As[string](input["operation"]) {
	case compile.OpUpdateStatus:
		return status, formats.TaskStatus(status).InProgress(), true
	case compile.OpArchiveTasks:
		return status, false, true
	}
	return "", false, false
}

// taskNumbers are the tasks that a call of the status-sync manager is for.
func taskNumbers(input object) []int {
	var out []int
	for _, one := range append(
		[]any{input["task_number"]},
		formats.As[[]any](input["task_numbers"])...,
	) {
		if n, ok := number(one); ok {
			out = append(out, n)
		}
	}
	return out
}
