package project

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"tercet/commands/argspec"
	"tercet/formats"
	"tercet/internal/journal"
	"tercet/state"
	"tercet/state/history"
	"tercet/state/todo"
)

// TaskFilter selects tasks.
type TaskFilter struct {
	Status formats.TaskStatus // empty: any
	Ready  bool               // no run works on it, and its dependencies are completed
}

// Tasks lists the tasks of the project, by number.
func (p *Project) Tasks(ctx context.Context, f TaskFilter) ([]formats.Task, error) {
	if p.Reader == nil {
		return nil, NoWorkspace()
	}
	read := p.Reader.Tasks
	if f.Ready {
		read = p.Reader.Ready
	}
	list, err := read(ctx)
	return slices.DeleteFunc(list, func(t formats.Task) bool {
		return f.Status != "" && t.Status != f.Status
	}), err
}

// TaskDetail is a task with what happened to it. Its documents are the artifacts of the task.
type TaskDetail struct {
	Task    formats.Task `json:"task"`
	Runs    []RunInfo    `json:"runs"`    // that are about it, newest first
	History []TaskChange `json:"history"` // oldest first
}

// Task reads a task with its runs and its history.
func (p *Project) Task(ctx context.Context, number int) (TaskDetail, error) {
	if p.Reader == nil {
		return TaskDetail{}, NoWorkspace()
	}
	t, err := p.Reader.Task(ctx, number)
	if err != nil {
		return TaskDetail{}, err
	}

	d := TaskDetail{Task: *t, Runs: []RunInfo{}}
	runs, err := journal.Runs(p.Root, false)
	if err != nil {
		return d, err
	}
	for _, r := range runs {
		if r.Task == number {
			d.Runs = append(d.Runs, r)
		}
	}

	d.History, err = p.History(ctx, number)
	return d, err
}

// History lists what was written to the state, oldest first: all of it, or with a number what is
// about that task.
func (p *Project) History(ctx context.Context, number int) ([]TaskChange, error) {
	if p.Reader == nil {
		return nil, NoWorkspace()
	}
	list, err := p.Reader.History(ctx)
	if number > 0 {
		list = slices.DeleteFunc(list, func(e history.Entry) bool { return !e.About(number) })
	}
	return list, err
}

// Transaction says how a transaction is written.
type Transaction struct {
	ID      string // one that was applied is not applied again; empty: a new one
	Session string // empty: that of the host
	Force   bool   // make any change of a status; the audit log says so
	// Try only tells what would be written.
	Try bool
}

// write applies operations in one transaction. Inside a subagent nothing is written.
func (p *Project) write(ctx context.Context, t Transaction, ops ...state.Op) (TaskResult, error) {
	if !t.Try {
		if err := p.Host.MayCommand(); err != nil {
			return TaskResult{}, err
		}
	}

	if p.Manager == nil {
		return TaskResult{}, NoWorkspace()
	}

	tx := state.Tx{ID: t.ID, Session: t.Session, Force: t.Force, Ops: ops}
	if tx.Session == "" {
		tx.Session = p.Host.Session
	}

	if t.Try {
		return p.Manager.Try(ctx, tx)
	}
	return p.Manager.Apply(ctx, tx)
}

// CreateTasks adds tasks. Their numbers are in the result, in order.
func (p *Project) CreateTasks(
	ctx context.Context, t Transaction, tasks ...NewTask,
) (TaskResult, error) {
	return p.write(ctx, t, state.CreateTasks{Tasks: tasks})
}

// SetStatus changes the status of tasks.
func (p *Project) SetStatus(
	ctx context.Context, t Transaction, c StatusChange,
) (TaskResult, error) {
	return p.write(ctx, t, c)
}

// SetFields changes fields of tasks: title, description, priority, effort, language, dependencies,
// parent.
func (p *Project) SetFields(
	ctx context.Context, t Transaction, tasks []int, fields map[string]any,
) (TaskResult, error) {
	ops := make([]state.Op, len(tasks))
	for i, n := range tasks {
		ops[i] = state.UpdateMetadata{Task: n, Fields: fields}
	}
	return p.write(ctx, t, ops...)
}

// LinkDocument links a document to a task. Without a type it has the one that its path says.
func (p *Project) LinkDocument(
	ctx context.Context, t Transaction, task int, a formats.Artifact,
) (TaskResult, error) {
	if a.Type == "" {
		a.Type = formats.GuessArtifactType(a.Path)
	}
	if _, err := p.Root.Stat(a.Path); errors.Is(err, fs.ErrNotExist) && !t.Force {
		return TaskResult{}, formats.Fail(formats.CodePrecondition,
			"write its path from the root of the project",
			"task %d: expected a file of the project, got %q, which does not exist", task, a.Path)
	}
	return p.write(ctx, t, state.LinkArtifacts{Task: task, Artifacts: []formats.Artifact{a}})
}

// Archive moves completed and abandoned tasks to the archive.
func (p *Project) Archive(ctx context.Context, t Transaction, tasks []int) (TaskResult, error) {
	return p.write(ctx, t, state.ArchiveTasks{Tasks: tasks})
}

// Unarchive moves tasks back from the archive.
func (p *Project) Unarchive(ctx context.Context, t Transaction, tasks []int) (TaskResult, error) {
	return p.write(ctx, t, state.UnarchiveTasks{Tasks: tasks})
}

// Renumber gives a task another number; 0: the next one. References follow, documents stay where
// they are.
func (p *Project) Renumber(ctx context.Context, t Transaction, task, to int) (TaskResult, error) {
	return p.write(ctx, t, state.Renumber{Task: task, To: to})
}

// Claim is a task that a session took.
type Claim struct {
	Task     int                `json:"task"`
	From     formats.TaskStatus `json:"from"`
	Status   formats.TaskStatus `json:"status"`
	Session  string             `json:"session_id"` // which holds its lease
	Serial   uint64             `json:"serial"`
	Txn      string             `json:"txn"`
	Replayed bool               `json:"replayed"`

	Warnings []string `json:"-"`
}

// ClaimTask takes a task for a session: the first one that is ready, or with a number that one. It
// enters its next in-progress status, or the named one. The claim holds for a time.
func (p *Project) ClaimTask(
	ctx context.Context, t Transaction, number int, to formats.TaskStatus, holds time.Duration,
) (Claim, error) {
	op := state.ClaimTask{Task: number, To: to, Timeout: holds, Loose: true}
	res, err := p.write(ctx, t, op)
	if err != nil {
		return Claim{}, err
	}
	if len(res.Verdicts) != 1 {
		return Claim{}, formats.Fail(formats.CodeBug, "",
			"expected one verdict of a claim, got %d", len(res.Verdicts))
	}

	v := res.Verdicts[0]
	c := Claim{
		Task:     v.Task,
		From:     v.From,
		Status:   v.To,
		Session:  t.Session,
		Serial:   res.Serial,
		Txn:      res.Txn,
		Replayed: res.Replayed,
		Warnings: res.Warnings,
	}

	if c.Session == "" {
		c.Session = p.Host.Session
	}
	if res.Replayed { // the session of then holds the lease
		if now, err := p.Reader.Task(ctx, v.Task); err == nil && now.Lease != nil {
			c.Session = now.Lease.Session
		}
	}
	return c, nil
}

// Edits lists the hand edits of TODO.md.
func (p *Project) Edits(ctx context.Context) (TodoEdits, error) {
	if p.Reader == nil {
		return TodoEdits{}, NoWorkspace()
	}
	return p.Reader.Edits(ctx)
}

// Sync takes over the hand edits of TODO.md.
func (p *Project) Sync(ctx context.Context, t Transaction) (TaskResult, error) {
	return p.write(ctx, t, state.SyncTasks{})
}

// ParseTasks reads task numbers such as 3,5-7.
func ParseTasks(word string) ([]int, error) {
	list, err := argspec.ParseTasks(word)
	if err != nil {
		return nil, usage("expected task numbers, got %q", word)
	}
	return list, nil
}

// ParseFields reads the fields of a task from words such as priority=high.
func ParseFields(words []string) (map[string]any, error) {
	return argspec.Assignments(words)
}

// What tasks are written with.
type (
	// NewTask is a task that is to be created.
	NewTask = state.NewTask
	// StatusChange is a change of the status of tasks.
	StatusChange = state.UpdateStatus
	// TaskResult is what a transaction came to.
	TaskResult = state.Result
	// TaskChange is an entry of the history of the state.
	TaskChange = history.Entry
	// TodoEdits are the hand edits of TODO.md.
	TodoEdits = todo.Edits
	// TodoEdit is one of them.
	TodoEdit = todo.Proposal
)
