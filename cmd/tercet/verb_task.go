package main

import (
	"context"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/plain"
	"tercet/project"
)

// taskVerbs are the scripts' way to the status-sync manager; each call is one transaction.
var taskVerbs = []verb{
	{use: "add TITLE", short: "create a task and print its number", args: some, make: taskAdd},
	{
		use:   "set TASKS STATUS | set TASKS KEY=VALUE...",
		short: "change the status or the data of tasks",
		args:  some,
		make:  taskSet,
	},
	{use: "link TASK PATH", short: "link a document to a task", args: words(2, 2), make: taskLink},
	{
		use:   "archive TASKS",
		short: "move completed and abandoned tasks to the archive",
		args:  one,
		make:  taskMove((*project.Project).Archive),
	},
	{
		use:   "unarchive TASKS",
		short: "move tasks back from the archive",
		args:  one,
		make:  taskMove((*project.Project).Unarchive),
	},
	{use: "list", short: "list the tasks", args: none, needs: aWorkspace, make: taskList},
	{
		use:   "ready",
		short: "list the tasks that can be taken up now",
		args:  none,
		needs: aWorkspace,
		do:    taskReady,
	},
	{
		use:   "claim [TASK]",
		short: "take the first task that is ready, or the named one, for a session",
		args:  words(0, 1),
		make:  taskClaim,
	},
	{
		use:   "renumber TASK [NUMBER]",
		short: "give a task another number; references follow, documents stay where they are",
		args:  words(1, 2),
		make:  taskRenumber,
	},
	{use: "show TASK", short: "show one task", args: one, needs: aWorkspace, do: taskShow},
	{use: "sync", short: "take over the hand edits of TODO.md", args: none, make: taskSync},
}

// taskFlags are those of every verb behind task.
func taskFlags(cmd *cobra.Command, a *app) run {
	const session = "the `id` of the session to write as, such as the one of a claim"
	cmd.PersistentFlags().Func("session", session, func(id string) error {
		a.id = id
		return formats.CheckSessionID(id)
	})
	return nil
}

// txFlags makes the transaction that a verb writes.
func txFlags(cmd *cobra.Command) *project.Transaction {
	tx := &project.Transaction{}
	cmd.Flags().StringVar(
		&tx.ID, "txn", "",
		"the `id` of the transaction; one that was applied is not applied again",
	)
	return tx
}

// writableWorkspace is the workspace for one who may write in it.
func (c call) writableWorkspace() (*project.Project, error) {
	if err := c.app.mayCommand(); err != nil {
		return nil, err
	}
	p, err := c.app.workspace(c.ctx)
	deferGC()
	return p, err
}

// deferGC collects garbage only above writeMemory. The process ends with its write: a
// quarter of its time went into collecting.
func deferGC() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(writeMemory)
}

// writeMemory is how much memory a write takes before garbage is collected.
const writeMemory = 224 << 20

// write applies a transaction and prints its result.
func (c call) write(apply func(p *project.Project) (project.TaskResult, error)) error {
	p, err := c.writableWorkspace()
	if err != nil {
		return err
	}

	res, err := apply(p)
	if err != nil {
		return err
	}

	c.app.term.Warnings(res.Warnings)
	if c.app.answerJSON("tercet.task/1", fields{
		"serial":   res.Serial,
		"txn":      res.Txn,
		"numbers":  nonNil(res.Numbers),
		"changed":  res.Changed,
		"replayed": res.Replayed,
	}) {
		return nil
	}

	for _, n := range res.Numbers {
		c.app.term.Answer("%d", n)
	}
	switch {
	case res.Replayed:
		c.app.term.Note("transaction %s was applied before; nothing was written (serial %d)",
			res.Txn, res.Serial)
	case !res.Changed:
		c.app.term.Note("nothing to change (serial %d)", res.Serial)
	default:
		c.app.term.Note("written, serial %d", res.Serial)
	}
	return nil
}

func taskAdd(cmd *cobra.Command, _ *app) run {
	tx := txFlags(cmd)
	var t project.NewTask
	f := cmd.Flags()
	f.StringVar(&t.Description, "description", "", "markdown")
	f.StringVar(&t.Language, "language", "", "such as go")
	f.StringVar(&t.Priority, "priority", "", "low, medium, high or critical")
	f.StringVar(&t.Effort, "effort", "", "such as 2h")
	f.IntSliceVar(
		&t.Dependencies,
		"depends-on",
		nil,
		"numbers of tasks that must be completed first",
	)
	return func(c call) error {
		t.Title = strings.TrimSpace(joinWords(c.args))
		if t.Title == "" {
			return usage("expected a title, got an empty one")
		}
		return c.write(func(p *project.Project) (project.TaskResult, error) {
			return p.CreateTasks(c.ctx, *tx, t)
		})
	}
}

func taskSet(cmd *cobra.Command, _ *app) run {
	cmd.Example = `  tercet task set 196 planned
  tercet task set 196 priority=high title="Fix the parser"
  tercet task set 3,5-7 abandoned --reason "not needed"`
	tx := txFlags(cmd)
	var change project.StatusChange
	f := cmd.Flags()
	f.StringVar(&change.Reason, "reason", "", "why; some changes need it")
	f.BoolVar(&tx.Force, "force", false, "make any change; the audit log says so")
	f.BoolVar(&change.Recover, "recover", false, "take up an abandoned or completed task again")
	f.BoolVar(&change.Back, "back", false, "go back to the prior status")
	return func(c call) (err error) {
		change.Tasks, err = project.ParseTasks(c.args[0])
		if err != nil {
			return err
		}

		words := c.args[1:]
		if len(words) == 0 && !change.Back && !change.Recover {
			return usage("expected a status or KEY=VALUE after the tasks")
		}
		if len(words) > 1 || len(words) == 1 && strings.Contains(words[0], "=") {
			changed, err := project.ParseFields(words)
			if err != nil {
				return err
			}
			return c.write(func(p *project.Project) (project.TaskResult, error) {
				return p.SetFields(c.ctx, *tx, change.Tasks, changed)
			})
		}

		if len(words) == 1 {
			change.To, err = formats.LooseTaskStatus(words[0])
			if err != nil {
				return err
			}
			change.Back = false
			if change.To.InProgress() {
				c.app.term.Note(
					"warning: no session holds the task, so the next command sets it back; "+
						"to keep it: tercet task claim %s",
					c.args[0],
				)
			}
		}
		return c.write(func(p *project.Project) (project.TaskResult, error) {
			return p.SetStatus(c.ctx, *tx, change)
		})
	}
}

func taskLink(cmd *cobra.Command, _ *app) run {
	tx := txFlags(cmd)
	var a formats.Artifact
	cmd.Flags().StringVar(
		(*string)(&a.Type),
		"type", "",
		"report, plan, summary, review, ... (default: guessed from the path)",
	)
	cmd.Flags().StringVar(&a.Summary, "summary", "", "one line")
	return func(c call) error {
		n, err := taskNumber(c.args[0])
		if err != nil {
			return err
		}
		a.Path = c.args[1]
		return c.write(func(p *project.Project) (project.TaskResult, error) {
			return p.LinkDocument(c.ctx, *tx, n, a)
		})
	}
}

// taskMove makes a verb that moves tasks into the archive or out of it.
func taskMove(move func(
	p *project.Project, ctx context.Context, t project.Transaction, tasks []int,
) (project.TaskResult, error),
) func(*cobra.Command, *app) run {
	return func(cmd *cobra.Command, _ *app) run {
		tx := txFlags(cmd)
		return func(c call) error {
			list, err := project.ParseTasks(c.args[0])
			if err != nil {
				return err
			}
			return c.write(func(p *project.Project) (project.TaskResult, error) {
				return move(p, c.ctx, *tx, list)
			})
		}
	}
}

// taskReady lists the tasks that can be taken up.
func taskReady(c call) error {
	return listTasks(c, "tercet.ready/1", project.TaskFilter{Ready: true}, "no task is ready")
}

// taskList lists all tasks, or those of one status.
func taskList(cmd *cobra.Command, _ *app) run {
	only := cmd.Flags().String("status", "", "only those with this `status`")
	return func(c call) (err error) {
		var f project.TaskFilter
		if *only != "" {
			f.Status, err = formats.LooseTaskStatus(*only)
			if err != nil {
				return err
			}
		}
		return listTasks(
			c,
			"tercet.task-list/1",
			f,
			"no task; make one with tercet '/task \"what is to be done\"'",
		)
	}
}

// taskShow shows a task with its documents.
func taskShow(c call) error {
	n, err := taskNumber(c.args[0])
	if err != nil {
		return err
	}
	t, err := c.p.Reader.Task(c.ctx, n)
	if err != nil || c.app.answerJSON("tercet.task-show/1", fields{"task": t}) {
		return err
	}

	about, documents := t.Rows()
	if c.app.term.OutTTY { // a pipe gets every column, a terminal those with content
		about = about.Filled()
		documents = documents.Filled()
	}
	c.app.term.Table(about)
	c.app.term.Table(documents)
	if t.Description != "" && c.app.term.OutTTY {
		c.app.term.Answer("\n%s", plain.Passage(c.app.term.Wrapped(t.Description)))
	}
	return nil
}

func listTasks(c call, schema string, f project.TaskFilter, none string) error {
	list, err := c.p.Tasks(c.ctx, f)
	if err != nil {
		return err
	}
	c.warnChangedOutside()
	if c.app.answerJSON(schema, fields{"tasks": nonNil(list)}) {
		return nil
	}

	tab := formats.Table{Columns: []string{"number", "title", "status"}}
	for _, t := range list {
		tab.Rows = append(tab.Rows, []string{strconv.Itoa(t.Number), t.Title, t.Status.String()})
	}

	c.app.term.Table(tab)
	if len(list) == 0 {
		c.app.term.Note("%s", none)
	}
	return nil
}

// taskClaim takes a task for a session, in one transaction.
func taskClaim(cmd *cobra.Command, _ *app) run {
	cmd.Long = `claim takes a task and prints its number: the first one of 'tercet task ready', or the one you name.
The task gets its next in-progress status and a lease of the session. Sessions that claim at the same
time get different tasks. Go on with the same session: tercet task --session ID set TASK STATUS.`
	tx := txFlags(cmd)
	as := cmd.Flags().String(
		"as", "",
		"the in-progress `status` to enter (default: what comes next)",
	)
	holds := cmd.Flags().Duration(
		"timeout",
		formats.DefaultLeaseTimeout,
		"how long the claim holds",
	)
	return func(c call) (err error) {
		number := 0
		var to formats.TaskStatus
		if len(c.args) == 1 {
			number, err = taskNumber(c.args[0])
		}
		if *as != "" && err == nil {
			to, err = formats.LooseTaskStatus(*as)
		}
		if err != nil {
			return err
		}

		p, err := c.writableWorkspace()
		if err != nil {
			return err
		}
		claim, err := p.ClaimTask(c.ctx, *tx, number, to, *holds)
		if err != nil {
			return err
		}

		c.app.term.Warnings(claim.Warnings)
		if !c.app.answerJSON("tercet.claim/1", fields{
			"task":       claim.Task,
			"from":       claim.From,
			"status":     claim.Status,
			"session_id": claim.Session,
			"serial":     claim.Serial,
			"txn":        claim.Txn,
			"replayed":   claim.Replayed,
		}) {
			c.app.term.Answer("%d", claim.Task)
			c.app.term.Note("task %d is %s for session %s", claim.Task, claim.Status, claim.Session)
		}
		return nil
	}
}

// taskRenumber gives a task another number.
func taskRenumber(cmd *cobra.Command, _ *app) run {
	tx := txFlags(cmd)
	return func(c call) (err error) {
		var task, to int
		for i, into := range []*int{&task, &to}[:len(c.args)] {
			*into, err = taskNumber(c.args[i])
			if err != nil {
				return err
			}
		}
		return c.write(func(p *project.Project) (project.TaskResult, error) {
			return p.Renumber(c.ctx, *tx, task, to)
		})
	}
}

// taskSync lists the hand edits of TODO.md, or applies them.
func taskSync(cmd *cobra.Command, _ *app) run {
	tx := txFlags(cmd)
	check := cmd.Flags().Bool("check", false, "list the edits; write nothing")
	cmd.Flags().BoolVar(&tx.Force, "force", false,
		"apply the edits even if tercet cannot find the state that TODO.md was written from")
	return func(c call) error {
		if *check {
			return c.syncCheck()
		}
		return c.write(func(p *project.Project) (project.TaskResult, error) {
			return p.Sync(c.ctx, *tx)
		})
	}
}

func (c call) syncCheck() error {
	w, err := c.app.workspace(c.ctx)
	if err != nil {
		return err
	}
	edits, err := w.Edits(c.ctx)
	if err != nil {
		return err
	}
	if !c.app.answerJSON("tercet.sync/1", fields{"edits": edits}) {
		c.syncText(edits)
	}
	hasProblem := slices.ContainsFunc(edits.Proposals, func(p project.TodoEdit) bool {
		return p.Problem != ""
	})
	if hasProblem {
		return exitWith(formats.CodeValidationFailed)
	}
	return nil
}

func (c call) syncText(edits project.TodoEdits) {
	for _, p := range edits.Proposals {
		if p.Problem == "" {
			c.app.term.Answer("%s", p.String())
		} else {
			c.app.term.Say(sprintf(".tercet/TODO.md:%d: %s", p.Line, p.Problem))
			c.app.term.Help(p.Help)
		}
	}

	if !edits.Edited {
		c.app.term.Note("TODO.md is as it was written")
		return
	}
	c.app.term.Warnings(edits.Warnings)
	for _, n := range edits.Missing {
		c.app.term.Note("the line of task %d is gone; it comes back", n)
	}
	if edits.Notes > 0 {
		c.app.term.Note("%s of other text stay as they are", formats.Count(edits.Notes, "piece"))
	}
	if len(edits.Proposals) > 0 {
		c.app.term.Note("apply with: tercet task sync")
	}
}
