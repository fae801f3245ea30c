package main

import (
	"cmp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tercet/commands/argspec"
	"tercet/formats"
	"tercet/internal/plain"
	"tercet/project"
	"tercet/state"
	"tercet/state/todo"
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
		make: taskMove(func(list []int) state.Op {
			return state.ArchiveTasks{Tasks: list}
		}),
	},
	{
		use:   "unarchive TASKS",
		short: "move tasks back from the archive",
		args:  one,
		make: taskMove(func(list []int) state.Op {
			return state.UnarchiveTasks{Tasks: list}
		}),
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
func txFlags(cmd *cobra.Command) *state.Tx {
	tx := &state.Tx{}
	cmd.Flags().StringVar(
		&tx.ID, "txn", "",
		"the `id` of the transaction; one that was applied is not applied again",
	)
	return tx
}

// writable is the workspace for one who may write in it.
func (c call) writable() (*project.Project, error) {
	if err := c.app.mayCommand(); err != nil {
		return nil, err
	}
	return c.app.workspace(c.ctx)
}

// apply applies a transaction and tells its warnings.
func (c call) apply(tx *state.Tx, ops ...state.Op) (state.Result, error) {
	w, err := c.writable()
	if err != nil {
		return state.Result{}, err
	}
	tx.Session = c.app.sessionID()
	tx.Ops = ops
	// the process ends with the write: a quarter of its time went into collecting
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(writeMemory)
	res, err := w.Manager.Apply(c.ctx, *tx)
	if err == nil {
		c.app.term.Warnings(res.Warnings)
	}
	return res, err
}

// writeMemory is how much memory a write takes before garbage is collected.
const writeMemory = 224 << 20

// try tells what a transaction would do.
func (c call) try(tx *state.Tx, ops ...state.Op) (state.Result, error) {
	w, err := c.app.workspace(c.ctx)
	if err != nil {
		return state.Result{}, err
	}
	tx.Session = c.app.sessionID()
	tx.Ops = ops
	return w.Manager.Try(c.ctx, *tx)
}

// write applies a transaction and prints its result.
func (c call) write(tx *state.Tx, ops ...state.Op) error {
	res, err := c.apply(tx, ops...)
	if err != nil || c.app.document("tercet.task/1", fields{
		"serial":   res.Serial,
		"txn":      res.Txn,
		"numbers":  nonNil(res.Numbers),
		"changed":  res.Changed,
		"replayed": res.Replayed,
	}) {
		return err
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
	var t state.NewTask
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
		t.Title = strings.TrimSpace(rest(c.args))
		if t.Title == "" {
			return usage("expected a title, got an empty one")
		}
		return c.write(tx, state.CreateTasks{Tasks: []state.NewTask{t}})
	}
}

func taskSet(cmd *cobra.Command, _ *app) run {
	cmd.Example = `  tercet task set 196 planned
  tercet task set 196 priority=high title="Fix the parser"
  tercet task set 3,5-7 abandoned --reason "not needed"`
	tx := txFlags(cmd)
	var op state.UpdateStatus
	f := cmd.Flags()
	f.StringVar(&op.Reason, "reason", "", "why; some changes need it")
	f.BoolVar(&tx.Force, "force", false, "make any change; the audit log says so")
	f.BoolVar(&op.Recover, "recover", false, "take up an abandoned or completed task again")
	f.BoolVar(&op.Back, "back", false, "go back to the prior status")
	return func(c call) (err error) {
		if op.Tasks, err = taskNumbers(c.args[0]); err != nil {
			return err
		}
		switch {
		case len(c.args) == 1 && (op.Back || op.Recover):
			return c.write(tx, op)
		case len(c.args) == 1:
			return usage("expected a status or KEY=VALUE after the tasks")
		case len(c.args) == 2 && !strings.Contains(c.args[1], "="):
			if op.To, err = formats.LooseTaskStatus(c.args[1]); err != nil {
				return err
			}
			op.Back = false
			if op.To.InProgress() {
				c.app.term.Note(
					"warning: no session holds the task, so the next command sets it back; "+
						"to keep it: tercet task claim %s",
					c.args[0],
				)
			}
			return c.write(tx, op)
		}

		changed, err := argspec.Assignments(c.args[1:])
		if err != nil {
			return err
		}
		var ops []state.Op
		for _, n := range op.Tasks {
			ops = append(ops, state.UpdateMetadata{Task: n, Fields: changed})
		}

		return c.write(tx, ops...)
	}
}

func taskNumbers(word string) ([]int, error) {
	list, err := argspec.ParseTasks(word)
	if err != nil {
		return nil, usage("expected task numbers, got %q", word)
	}
	return list, nil
}

func taskLink(cmd *cobra.Command, _ *app) run {
	tx := txFlags(cmd)
	kind := cmd.Flags().String(
		"type", "",
		"report, plan, summary, review, ... (default: guessed from the path)",
	)
	summary := cmd.Flags().String("summary", "", "one line")
	return func(c call) error {
		n, err := taskNumber(c.args[0])
		if err != nil {
			return err
		}
		a := formats.Artifact{
			Type:    formats.ArtifactType(*kind),
			Path:    c.args[1],
			Summary: *summary,
		}
		a.Type = cmp.Or(a.Type, formats.GuessArtifactType(a.Path))
		return c.write(tx, state.LinkArtifacts{Task: n, Artifacts: []formats.Artifact{a}})
	}
}

// taskMove makes a verb that moves tasks into the archive or out of it.
func taskMove(op func([]int) state.Op) func(*cobra.Command, *app) run {
	return func(cmd *cobra.Command, _ *app) run {
		tx := txFlags(cmd)
		return func(c call) error {
			list, err := taskNumbers(c.args[0])
			if err != nil {
				return err
			}
			return c.write(tx, op(list))
		}
	}
}

// taskReady lists the tasks that can be taken up: no run works on them, and their dependencies are
// completed.
func taskReady(c call) error {
	list, err := c.p.Reader.Ready(c.ctx)
	if err != nil {
		return err
	}
	return listTasks(c, "tercet.ready/1", list, "no task is ready")
}

// taskList lists all tasks, or those of one status.
func taskList(cmd *cobra.Command, _ *app) run {
	only := cmd.Flags().String("status", "", "only those with this `status`")
	return func(c call) (err error) {
		var status formats.TaskStatus
		if *only != "" {
			if status, err = formats.LooseTaskStatus(*only); err != nil {
				return err
			}
		}
		list, err := c.p.Reader.Tasks(c.ctx)
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(t formats.Task) bool {
			return status != "" && t.Status != status
		})
		return listTasks(
			c,
			"tercet.task-list/1",
			list,
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
	if err != nil || c.app.document("tercet.task-show/1", fields{"task": t}) {
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

func listTasks(c call, schema string, list []formats.Task, none string) error {
	c.changedOutside()
	if c.app.document(schema, fields{"tasks": nonNil(list)}) {
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
	op := state.ClaimTask{Loose: true}
	as := cmd.Flags().String(
		"as", "",
		"the in-progress `status` to enter (default: what comes next)",
	)
	cmd.Flags().DurationVar(
		&op.Timeout,
		"timeout",
		formats.DefaultLeaseTimeout,
		"how long the claim holds",
	)
	return func(c call) (err error) {
		if len(c.args) == 1 {
			op.Task, err = taskNumber(c.args[0])
		}
		if *as != "" && err == nil {
			op.To, err = formats.LooseTaskStatus(*as)
		}
		if err != nil {
			return err
		}
		return c.claim(tx, op)
	}
}

func (c call) claim(tx *state.Tx, op state.ClaimTask) error {
	res, err := c.apply(tx, op)
	if err != nil {
		return err
	}
	if len(res.Verdicts) != 1 {
		return formats.Fail(formats.CodeBug, "",
			"expected one verdict of a claim, got %d", len(res.Verdicts))
	}

	v := res.Verdicts[0]
	session := c.app.sessionID()
	if res.Replayed { // the session of then holds the lease
		if t, err := c.app.project.Reader.Task(c.ctx, v.Task); err == nil && t.Lease != nil {
			session = t.Lease.Session
		}
	}
	if !c.app.document("tercet.claim/1", fields{
		"task":       v.Task,
		"from":       v.From,
		"status":     v.To,
		"session_id": session,
		"serial":     res.Serial,
		"txn":        res.Txn,
		"replayed":   res.Replayed,
	}) {
		c.app.term.Answer("%d", v.Task)
		c.app.term.Note("task %d is %s for session %s", v.Task, v.To, session)
	}
	return nil
}

// taskRenumber gives a task another number.
func taskRenumber(cmd *cobra.Command, _ *app) run {
	tx := txFlags(cmd)
	return func(c call) (err error) {
		var op state.Renumber
		for i, to := range []*int{&op.Task, &op.To}[:len(c.args)] {
			if *to, err = taskNumber(c.args[i]); err != nil {
				return err
			}
		}
		return c.write(tx, op)
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
		return c.write(tx, state.SyncTasks{})
	}
}

func (c call) syncCheck() error {
	w, err := c.app.workspace(c.ctx)
	if err != nil {
		return err
	}
	edits, err := w.Reader.Edits(c.ctx)
	if err != nil {
		return err
	}
	if !c.app.document("tercet.sync/1", fields{"edits": edits}) {
		c.syncText(edits)
	}
	if slices.ContainsFunc(edits.Proposals, func(p todo.Proposal) bool {
		return p.Problem != ""
	}) {
		return shownAs(formats.CodeValidationFailed)
	}
	return nil
}

func (c call) syncText(edits todo.Edits) {
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
