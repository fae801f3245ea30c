package builtin

import (
	"context"
	"fmt"
	"strings"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/nearest"
	"tercet/state"
	"tercet/state/history"
	"tercet/subagents"
)

// Applier is the write verb of the state.
type Applier interface {
	Apply(ctx context.Context, tx state.Tx) (state.Result, error)
}

// StatusSync is status-sync-manager: each call is one transaction.
type StatusSync struct {
	Manager Applier
	// Committed fails for a worktree with uncommitted work, whose task is not completed; nil: no
	// check.
	Committed func(ctx context.Context, dir string) error
}

var operations = []string{
	"create_tasks", "update_status", "update_metadata", "link_artifacts", "set_phase",
	"archive_tasks", "unarchive_tasks", "divide_task", "sync_tasks", "set_lease",
}

// Run does one operation with the request's transaction id.
func (s StatusSync) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	in := inputOf(r)
	in.translateAliases()
	op := operation(in)
	if err := in.err(formats.AgentStatusSync); err != nil {
		return formats.Failed(err), nil
	}

	if to, ok := op.(state.UpdateStatus); ok && to.To == formats.Completed && s.Committed != nil {
		if err := s.Committed(ctx, r.Dir); err != nil {
			return asReturn(ctx, formats.Return{}, err)
		}
	}
	res, err := s.Manager.Apply(ctx, state.Tx{
		ID:      r.Txn,
		Session: r.Session,
		Run:     r.Run,
		Ops:     []state.Op{op},
	})
	if err != nil {
		return asReturn(ctx, formats.Return{Warnings: res.Warnings}, err)
	}

	serial := int(res.Serial) //nolint:gosec // serials stay below 1<<53
	fields := map[string]any{"serial": serial, "txn": res.Txn, "changed": res.Changed}
	if len(res.Numbers) > 0 {
		fields["numbers"] = formats.Values(res.Numbers)
	}
	if archive, ok := op.(state.ArchiveTasks); ok {
		fields["archived"] = formats.Values(archive.Tasks)
	}
	return formats.Return{
		Status:   formats.StatusCompleted,
		Summary:  summary(op, res),
		Fields:   fields,
		Warnings: res.Warnings,
	}, nil
}

// translateAliases puts calls in the words of other systems into ours: a status without an
// operation, and one task to create.
func (i input) translateAliases() {
	if i.values == nil {
		return
	}
	if i.values["operation"] == "create_task" && !i.has("tasks") {
		task := map[string]any{}
		for _, name := range []string{"title", "description", "language", "priority", "effort"} {
			if i.has(name) {
				task[name] = i.values[name]
				delete(i.values, name)
			}
		}
		i.values["operation"] = "create_tasks"
		i.values["tasks"] = []any{task}
	}

	if i.has("new_status") && !i.has("status") {
		i.values["status"] = i.values["new_status"]
		delete(i.values, "new_status")
		if !i.has("operation") {
			i.values["operation"] = "update_status"
		}
	}
	if path, ok := i.values["artifact_path"].(string); ok && !i.has("artifacts") {
		kind := formats.GuessArtifactType(path)
		i.values["artifacts"] = []any{map[string]any{"type": string(kind), "path": path}}
		delete(i.values, "artifact_path")
	}
}

// operation reads the operation with its input.
func operation(in input) state.Op {
	switch name := in.needText("operation", "one of "+strings.Join(operations, ", ")); name {
	case "create_tasks":
		in.allowOnly("operation", "tasks")
		tasks := newTasks(in, "tasks")
		in.needItems("tasks", "task", len(tasks))
		return state.CreateTasks{Tasks: tasks}
	case "update_status":
		return updateStatus(in)
	case "update_metadata":
		in.allowOnly("operation", "task_number", "fields")
		fields := in.object("fields")
		if len(fields) == 0 {
			in.refuse("fields", "at least one field")
		}
		return state.UpdateMetadata{Task: taskNumber(in), Fields: fields}
	case "link_artifacts":
		in.allowOnly("operation", "task_number", "artifacts")
		list := in.artifacts("artifacts")
		in.needItems("artifacts", "artifact", len(list))
		return state.LinkArtifacts{Task: taskNumber(in), Artifacts: list}
	case "set_phase":
		return setPhase(in)
	case "archive_tasks", "unarchive_tasks":
		in.allowOnly("operation", "task_number", "task_numbers")
		if name == "archive_tasks" {
			return state.ArchiveTasks{Tasks: taskNumbers(in)}
		}
		return state.UnarchiveTasks{Tasks: taskNumbers(in)}
	case "divide_task":
		in.allowOnly("operation", "task_number", "parts")
		parts := newTasks(in, "parts")
		in.needItems("parts", "part", len(parts))
		return state.DivideTask{Task: taskNumber(in), Parts: parts}
	case "set_lease":
		in.allowOnly("operation", "task_number", "suspended")
		return state.SetLease{
			Tasks:     []int{taskNumber(in)},
			Suspended: in.flag("suspended"),
			IfHeld:    true,
		}
	case "sync_tasks":
		in.allowOnly("operation")
		return state.SyncTasks{}
	default:
		if len(*in.problems) == 0 {
			in.refuse("operation", "one of "+strings.Join(operations, ", "))
			if help := nearest.Help(name, operations); help != "" {
				*in.problems = append(*in.problems, help)
			}
		}
		return nil
	}
}

func updateStatus(in input) state.Op {
	in.allowOnly(
		"operation", "task_number", "task_numbers", "status", "back", "recover", "reason",
		"artifacts",
	)

	op := state.UpdateStatus{
		Tasks:     taskNumbers(in),
		Back:      in.flag("back"),
		Recover:   in.flag("recover"),
		Reason:    in.text("reason"),
		Artifacts: in.artifacts("artifacts"),
	}
	if in.has("status") {
		to, err := formats.ParseTaskStatus(in.text("status"))
		if err != nil {
			in.refuse("status", "a task status")
		}
		op.To = to
	}

	switch {
	case op.Back && (op.Recover || in.has("status")):
		in.refuse("back", "either status, back or recover")
	case !op.Back && !op.Recover && !in.has("status"):
		in.refuse("status", "a task status, or back")
	}
	return op
}

func setPhase(in input) state.Op {
	in.allowOnly("operation", "task_number", "plan", "phase", "status")
	status, err := documents.ParsePhaseStatus(in.text("status"))
	if err != nil {
		in.refuse("status", "a phase status")
	}
	phase := in.number("phase")
	if phase == 0 && !in.has("phase") {
		in.refuse("phase", "the number of a phase")
	}
	return state.SetPhase{
		Task:   taskNumber(in),
		Plan:   in.text("plan"),
		Phase:  phase,
		Status: status,
	}
}

// taskNumber reads task_number.
func taskNumber(in input) int {
	n := in.number("task_number")
	if !in.has("task_number") {
		in.refuse("task_number", "the number of a task")
	}
	return n
}

// taskNumbers reads task_numbers, or task_number as a list of one.
func taskNumbers(in input) []int {
	switch {
	case in.has("task_number") && in.has("task_numbers"):
		in.refuse("task_number", "either task_number or task_numbers")
		return nil
	case in.has("task_number"):
		return []int{taskNumber(in)}
	}
	list := in.numbers("task_numbers")
	in.needItems("task_numbers", "number of a task", len(list))
	return list
}

// newTasks reads tasks. What a review found is a task too: its description gives the title, and its
// place and suggested fix go into the description.
func newTasks(in input, name string) []state.NewTask {
	var out []state.NewTask
	for _, o := range in.objects(name) {
		o.allowOnly(
			"title", "slug", "description", "language", "priority", "effort", "issue_url",
			"dependencies", "parent", "level", "files", "line", "suggested_fix", "source",
		)

		t := state.NewTask{
			Title:        o.text("title"),
			Slug:         o.text("slug"),
			Description:  o.text("description"),
			Language:     o.text("language"),
			Priority:     o.text("priority"),
			Effort:       o.text("effort"),
			Issue:        o.text("issue_url"),
			Dependencies: o.numbers("dependencies"),
			Parent:       o.number("parent"),
		}

		if strings.TrimSpace(t.Title) == "" {
			if strings.TrimSpace(t.Description) == "" {
				o.refuse("title", "a title or a description")
				continue
			}
			t.Title, _ = splitTitle(t.Description)
		}

		if files := o.words("files"); len(files) > 0 {
			place := strings.Join(files, ", ")
			if line := o.number("line"); line > 0 {
				place += fmt.Sprintf(":%d", line)
			}
			t.Description = strings.TrimSpace(t.Description + "\n\n" + place)
		}
		if fix := o.text("suggested_fix"); fix != "" {
			t.Description = strings.TrimSpace(t.Description + "\n\n" + fix)
		}

		out = append(out, t)
	}

	return out
}

// summary says in one line what was done.
func summary(op state.Op, res state.Result) string {
	var parts []string
	if created, ok := op.(state.CreateTasks); ok {
		for i, n := range res.Numbers {
			if i < len(created.Tasks) {
				parts = append(parts, fmt.Sprintf("task %d created: %s", n, created.Tasks[i].Title))
			}
		}
	} else {
		for _, v := range res.Verdicts {
			parts = append(parts, verdictText(v))
		}
	}
	text := strings.Join(parts, "; ")
	switch {
	case text == "" && res.Changed:
		text = "done"
	case text == "":
		text = "nothing to change"
	}
	return clip(text)
}

func verdictText(v history.Verdict) string {
	switch {
	case v.Op == "archive_tasks":
		return fmt.Sprintf("task %d archived", v.Task)
	case v.Op == "unarchive_tasks":
		return fmt.Sprintf("task %d taken out of the archive", v.Task)
	case v.From == "":
		return fmt.Sprintf("task %d created", v.Task)
	case v.From != v.To:
		return fmt.Sprintf("task %d: %s to %s", v.Task, v.From, v.To)
	case v.Changed:
		return fmt.Sprintf("task %d changed", v.Task)
	}
	return fmt.Sprintf("task %d is as it was", v.Task)
}

// clip shortens a text to what a summary may have.
func clip(s string) string {
	return formats.Clip(s, formats.MaxSummary)
}

var _ subagents.Agent = StatusSync{}
