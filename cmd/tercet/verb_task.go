package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tercet/commands/argspec"
	"tercet/formats"
	"tercet/internal/nearest"
	"tercet/state"
)

// taskVerb is the scripts' way to the status-sync manager; each call is one transaction.
func (a *app) taskVerb() *cobra.Command {
	cmd := &cobra.Command{Use: "task", Short: "change tasks, one transaction a call"}
	cmd.PersistentFlags().Func("session", "the `id` of the session to write as, such as the one of a claim", func(id string) error {
		if err := formats.CheckSessionID(id); err != nil {
			return err
		}
		a.session = id
		return nil
	})
	return group(
		cmd, a.taskAdd(), a.taskSet(), a.taskLink(), a.taskMove("archive"), a.taskMove("unarchive"), a.taskReady(), a.taskClaim(), a.taskRenumber(),
	)
}

// apply applies one transaction and tells its warnings.
func (a *app) apply(ctx context.Context, txn string, force bool, ops ...state.Op) (state.Result, error) {
	if err := a.mayCommand(); err != nil {
		return state.Result{}, err
	}
	w, err := a.workspace(ctx)
	if err != nil {
		return state.Result{}, err
	}
	res, err := w.manager.Apply(ctx, state.Tx{ID: txn, Session: a.sessionID(), Ops: ops, Force: force})
	if err == nil {
		for _, warning := range res.Warnings {
			a.term.note("warning: %s", warning)
		}
	}
	return res, err
}

// write applies one transaction and prints its result.
func (a *app) write(ctx context.Context, txn string, force bool, ops ...state.Op) error {
	res, err := a.apply(ctx, txn, force, ops...)
	if err != nil {
		return err
	}
	if a.flags.json {
		numbers := res.Numbers
		if numbers == nil {
			numbers = []int{}
		}
		a.term.json(map[string]any{"schema": "tercet.task/1", "serial": res.Serial, "txn": res.Txn, "numbers": numbers, "changed": res.Changed, "replayed": res.Replayed})
		return nil
	}
	for _, n := range res.Numbers {
		a.term.answer("%d", n)
	}
	switch {
	case res.Replayed:
		a.term.note("transaction %s was applied before; nothing was written (serial %d)", res.Txn, res.Serial)
	case !res.Changed:
		a.term.note("nothing to change (serial %d)", res.Serial)
	default:
		a.term.note("written, serial %d", res.Serial)
	}
	return nil
}

func txnFlags(cmd *cobra.Command, txn *string) {
	cmd.Flags().StringVar(txn, "txn", "", "the `id` of the transaction; one that was applied is not applied again")
}

func (a *app) taskAdd() *cobra.Command {
	var txn string
	var t state.NewTask
	var after []int
	cmd := &cobra.Command{
		Use: "add TITLE", Short: "create a task and print its number", Args: words(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t.Title, t.Dependencies = strings.TrimSpace(rest(args)), after
			if t.Title == "" {
				return usage("expected a title, got an empty one")
			}
			return a.write(cmd.Context(), txn, false, state.CreateTasks{Tasks: []state.NewTask{t}})
		},
	}
	txnFlags(cmd, &txn)
	f := cmd.Flags()
	f.StringVar(&t.Description, "description", "", "markdown")
	f.StringVar(&t.Language, "language", "", "such as go")
	f.StringVar(&t.Priority, "priority", "", "low, medium, high or critical")
	f.StringVar(&t.Effort, "effort", "", "such as 2h")
	f.IntSliceVar(&after, "depends-on", nil, "numbers of tasks that must be completed first")
	return cmd
}

func (a *app) taskSet() *cobra.Command {
	var txn, reason string
	var force, recovers, back bool
	cmd := &cobra.Command{
		Use: "set TASKS STATUS | set TASKS KEY=VALUE...", Short: "change the status or the data of tasks", Args: words(1, -1),
		Example: "  tercet task set 196 planned\n  tercet task set 196 priority=high title=\"Fix the parser\"\n  tercet task set 3,5-7 abandoned --reason \"not needed\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			tasks, err := argspec.ParseTasks(args[0])
			if err != nil {
				return usage("expected task numbers, got %q", args[0])
			}
			if len(args) == 1 && (back || recovers) {
				return a.write(cmd.Context(), txn, force, state.UpdateStatus{Tasks: tasks, Back: back, Recover: recovers, Reason: reason})
			}
			if len(args) == 1 {
				return usage("expected a status or KEY=VALUE behind the tasks")
			}
			if len(args) == 2 && !strings.Contains(args[1], "=") {
				to, err := formats.LooseTaskStatus(args[1])
				if err != nil {
					return noStatus(args[1])
				}
				return a.write(cmd.Context(), txn, force, state.UpdateStatus{Tasks: tasks, To: to, Reason: reason, Recover: recovers})
			}
			fields, err := assignments(args[1:])
			if err != nil {
				return err
			}
			var ops []state.Op
			for _, n := range tasks {
				ops = append(ops, state.UpdateMetadata{Task: n, Fields: fields})
			}
			return a.write(cmd.Context(), txn, force, ops...)
		},
	}
	txnFlags(cmd, &txn)
	cmd.Flags().StringVar(&reason, "reason", "", "why; some changes need it")
	cmd.Flags().BoolVar(&force, "force", false, "make any change; the audit log says so")
	cmd.Flags().BoolVar(&recovers, "recover", false, "take up an abandoned or completed task again")
	cmd.Flags().BoolVar(&back, "back", false, "go back to the prior status")
	return cmd
}

func noStatus(word string) error {
	var names []string
	for _, s := range formats.TaskStatuses() {
		names = append(names, s.String())
	}
	help := nearest.Help(word, names)
	if help == "" {
		help = "the statuses are " + strings.Join(names, ", ")
	}
	return &formats.Failure{Code: formats.CodeUsage, Message: sprintf("expected a task status, got %q", word), Help: help}
}

// assignments reads KEY=VALUE words; numbers and lists of numbers are read as such for dependencies and parent.
func assignments(words []string) (map[string]any, error) {
	out := map[string]any{}
	for _, w := range words {
		key, value, ok := strings.Cut(w, "=")
		if !ok || key == "" {
			return nil, usage("expected KEY=VALUE, got %q", w)
		}
		switch key {
		case "dependencies":
			list := []any{}
			if value != "" {
				numbers, err := argspec.ParseTasks(value)
				if err != nil {
					return nil, usage("expected task numbers for dependencies, got %q", value)
				}
				for _, n := range numbers {
					list = append(list, n)
				}
			}
			out[key] = list
		case "parent":
			n, err := strconv.Atoi(value)
			if err != nil {
				return nil, usage("expected a task number for parent, got %q", value)
			}
			out[key] = n
		default:
			out[key] = value
		}
	}
	return out, nil
}

func (a *app) taskLink() *cobra.Command {
	var txn, kind, summary string
	cmd := &cobra.Command{
		Use: "link TASK PATH", Short: "link a document to a task", Args: words(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[0])
			if err != nil {
				return usage("expected a task number, got %q", args[0])
			}
			if kind == "" {
				kind = string(formats.GuessArtifactType(args[1]))
			}
			return a.write(cmd.Context(), txn, false, state.LinkArtifacts{Task: n, Artifacts: []formats.Artifact{
				{Type: formats.ArtifactType(kind), Path: args[1], Summary: summary},
			}})
		},
	}
	txnFlags(cmd, &txn)
	cmd.Flags().StringVar(&kind, "type", "", "report, plan, summary, review, ... (default: guessed from the path)")
	cmd.Flags().StringVar(&summary, "summary", "", "one line")
	return cmd
}

func (a *app) taskMove(verb string) *cobra.Command {
	var txn string
	short := "move completed and abandoned tasks to the archive"
	if verb == "unarchive" {
		short = "move tasks back from the archive"
	}
	cmd := &cobra.Command{
		Use: verb + " TASKS", Short: short, Args: words(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			tasks, err := argspec.ParseTasks(args[0])
			if err != nil {
				return usage("expected task numbers, got %q", args[0])
			}
			if verb == "archive" {
				return a.write(cmd.Context(), txn, false, state.ArchiveTasks{Tasks: tasks})
			}
			return a.write(cmd.Context(), txn, false, state.UnarchiveTasks{Tasks: tasks})
		},
	}
	txnFlags(cmd, &txn)
	return cmd
}

// taskReady lists the tasks that can be taken up: nobody works on them, and what they depend on is completed.
func (a *app) taskReady() *cobra.Command {
	return &cobra.Command{
		Use: "ready", Short: "list the tasks that can be taken up now", Args: words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := a.workspace(cmd.Context())
			if err != nil {
				return err
			}
			tasks, err := w.tasks(cmd.Context())
			if err != nil {
				return err
			}
			list := state.Ready(tasks)
			if notice := w.reader.Notice(cmd.Context()); notice != "" {
				a.term.note("warning: %s", notice)
			}
			if a.flags.json {
				a.term.json(map[string]any{"schema": "tercet.ready/1", "tasks": list})
				return nil
			}
			tab := formats.Table{Columns: []string{"number", "title", "status"}}
			for _, t := range list {
				tab.Rows = append(tab.Rows, []string{strconv.Itoa(t.Number), t.Title, t.Status.String()})
			}
			a.term.table(tab)
			if len(list) == 0 {
				a.term.note("no task is ready")
			}
			return nil
		},
	}
}
