package compile

import (
	"slices"
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/formats/documents"
)

// Operations of the status-sync manager that change the status of a task or of a phase.
const (
	OpUpdateStatus = "update_status"
	OpArchiveTasks = "archive_tasks"
	OpSetPhase     = "set_phase"
)

// statuses is what the bound task may be at one place of the file; it is meaningless unless known.
type statuses struct {
	known bool
	list  []formats.TaskStatus
}

// begin is what the task may be when the first step runs.
func (c *compiler) begin() {
	during, always := c.prog.During()
	switch {
	case always:
		c.status = statuses{true, []formats.TaskStatus{during}}
	case c.prog.Allow != nil:
		c.status = statuses{true, slices.Clone(c.prog.Allow)}
		if during != "" {
			c.status.list = append(c.status.list, during)
		}
	}
}

// moved notes a change of the bound task's status by a step that may be skipped or run again.
func (c *compiler) moved(to formats.TaskStatus, sure bool) {
	switch {
	case to == "":
		c.status = statuses{}
	case sure && !c.index.comesBack[c.scope.self]:
		c.status = statuses{true, []formats.TaskStatus{to}}
	case !slices.Contains(c.status.list, to):
		c.status.list = append(slices.Clone(c.status.list), to)
	}
}

// movesInside tells whether a body changes statuses: what the task is in it and behind it is then
// not known.
func movesInside(list []*syntax.Step) bool {
	return slices.ContainsFunc(list, func(s *syntax.Step) bool {
		if kindOf(s).moves {
			return true
		}
		return s.Sentence != nil && s.Sentence.Kind == syntax.SayUpdateStatus || movesInside(s.Body)
	})
}

// changesStatus tells whether the input of the status-sync manager may be one that changes the
// status of a task.
func changesStatus(with []syntax.Field) bool {
	for _, f := range with {
		if f.Key.Text == "operation" && f.Value.Kind == syntax.Literal {
			return f.Value.Lit == OpUpdateStatus
		}
	}
	return true
}

// changes makes the call of `status`.
func (c *compiler) changes(a *syntax.Status, sure bool) *Call {
	c.values(a)
	task := field("task_number", a.Task)
	if a.Task == nil {
		if !c.scope.task {
			help := "declare an argument of type task, or name the task: {to: ..., task: ...}"
			c.report(a.Pos, CodeNoTask, help, "status needs a task")
			return &Call{Agent: StatusSync, Info: &formats.AgentInfo{}}
		}
		task = source("task_number", a.Pos, "$task.number")
	}

	if a.Phase != nil {
		c.phase(a)
		return c.own(
			a.Pos,
			StatusSync,
			lit("operation", OpSetPhase),
			task,
			field("status", a.To),
			field("phase", a.Phase),
		)
	}

	call := c.own(a.Pos, StatusSync, lit("operation", OpUpdateStatus), task, field("status", a.To),
		field("reason", a.Reason), field("artifacts", a.Artifacts))
	call.Link = a.Artifacts == nil
	c.taskStatus(a, sure)
	return call
}

// phase checks what stands beside the status of a phase.
func (c *compiler) phase(a *syntax.Status) {
	c.stray(
		a.Artifacts,
		"link them in a step of their own",
		"'artifacts' belongs to a change of the task's status",
	)
	c.stray(a.Reason, "", "'reason' belongs to a change of the task's status")

	v := a.To
	if v == nil || v.Kind != syntax.Literal {
		return
	}
	word := literal(v)
	if _, err := documents.ParsePhaseStatus(word); err != nil {
		help := meant(word, documents.PhaseStatuses(), "the statuses of a phase are %s")
		c.report(v.Pos, CodeStatus, help, "expected a phase status, got %s", v)
	}
}

// taskStatus checks a literal status word, and for the bound task that the table has the change.
func (c *compiler) taskStatus(a *syntax.Status, sure bool) {
	v := a.To
	if v == nil || v.Kind != syntax.Literal {
		if a.Task == nil {
			c.moved("", sure)
		}
		return
	}

	to, err := formats.ParseTaskStatus(literal(v))
	switch {
	case err != nil:
		help := meant(literal(v), formats.TaskStatuses(), "the statuses are %s")
		c.report(v.Pos, CodeStatus, help, "expected a task status, got %s", v)
	case a.Task != nil:
	case !c.transition(v.Pos, to, a.Reason != nil):
		c.moved("", sure) // what comes behind is not held against a change that cannot be
	default:
		c.moved(to, sure)
	}
}

// taskWord reads the status of a task.
func (c *compiler) taskWord(w syntax.Word) (formats.TaskStatus, bool) {
	status, err := formats.ParseTaskStatus(w.Text)
	if err != nil {
		c.unknown(w, CodeStatus, formats.Words(formats.TaskStatuses()), "the statuses are %s",
			"expected a task status, got %q")
	}
	return status, err == nil
}

// transition holds one change against the table, as far as it is known what the task is.
func (c *compiler) transition(pos syntax.Pos, to formats.TaskStatus, reasoned bool) bool {
	needs := true
	can := !c.status.known
	if can {
		needs = to == formats.Blocked || to == formats.Abandoned
	}
	for _, from := range c.status.list {
		if from == to {
			can = true
			needs = false
		}
		for _, m := range formats.Moves(from) {
			if m.To == to && !m.Recover {
				can = true
				needs = needs && m.NeedsReason
			}
		}
	}

	switch {
	case !can:
		c.report(pos, CodeTransition,
			"run 'tercet state transitions' for the table",
			"a task cannot go from %s to %s", strings.Join(formats.Words(c.status.list), " or "),
			to)
	case needs && !reasoned:
		c.report(pos, CodeTransition, "write {to: "+to.String()+", reason: ...}",
			"a change to %s needs a reason", to)
	}

	return can
}

func inProgressHelp() string {
	return "use one of " + joined(slices.DeleteFunc(formats.TaskStatuses(),
		func(s formats.TaskStatus) bool { return !s.InProgress() }))
}
