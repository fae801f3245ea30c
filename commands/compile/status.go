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

// initStatuses is what the task may be when the first step runs.
func (c *compiler) initStatuses() {
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

// noteMove notes a change of the bound task's status by a step that may be skipped or run again.
func (c *compiler) noteMove(to formats.TaskStatus, sure bool) {
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

// compileStatus makes the call of `status`.
func (c *compiler) compileStatus(a *syntax.Status, sure bool) *Call {
	c.compileValues(a)
	task := newField("task_number", a.Task)
	if a.Task == nil {
		if !c.scope.task {
			help := "declare an argument of type task, or name the task: {to: ..., task: ...}"
			c.report(a.Pos, CodeNoTask, help, "status needs a task")
			return &Call{Agent: StatusSync, Info: &formats.AgentInfo{}}
		}
		task = exprField("task_number", a.Pos, "$task.number")
	}

	if a.Phase != nil {
		c.checkPhase(a)
		return c.builtinCall(
			a.Pos,
			StatusSync,
			literalField("operation", OpSetPhase),
			task,
			newField("status", a.To),
			newField("phase", a.Phase),
		)
	}

	call := c.builtinCall(
		a.Pos,
		StatusSync,
		literalField("operation", OpUpdateStatus),
		task,
		newField("status", a.To),
		newField("reason", a.Reason),
		newField("artifacts", a.Artifacts),
	)
	call.Link = a.Artifacts == nil
	c.checkTaskStatus(a, sure)
	return call
}

// checkPhase checks what stands beside the status of a phase.
func (c *compiler) checkPhase(a *syntax.Status) {
	c.reportStray(
		a.Artifacts,
		"link them in a step of their own",
		"'artifacts' belongs to a change of the task's status",
	)
	c.reportStray(a.Reason, "", "'reason' belongs to a change of the task's status")

	v := a.To
	if v == nil || v.Kind != syntax.Literal {
		return
	}
	word := literalText(v)
	if _, err := documents.ParsePhaseStatus(word); err != nil {
		help := adviceFor(word, documents.PhaseStatuses(), "the statuses of a phase are %s")
		c.report(v.Pos, CodeStatus, help, "expected a phase status, got %s", v)
	}
}

// checkTaskStatus checks a literal status word, and for the bound task that the table has the
// change.
func (c *compiler) checkTaskStatus(a *syntax.Status, sure bool) {
	v := a.To
	if v == nil || v.Kind != syntax.Literal {
		if a.Task == nil {
			c.noteMove("", sure)
		}
		return
	}

	to, err := formats.ParseTaskStatus(literalText(v))
	switch {
	case err != nil:
		help := adviceFor(literalText(v), formats.TaskStatuses(), "the statuses are %s")
		c.report(v.Pos, CodeStatus, help, "expected a task status, got %s", v)
	case a.Task != nil:
	case !c.checkTransition(v.Pos, to, a.Reason != nil):
		c.noteMove("", sure) // what comes behind is not held against a change that cannot be
	default:
		c.noteMove(to, sure)
	}
}

// parseTaskStatus reads the status of a task.
func (c *compiler) parseTaskStatus(w syntax.Word) (formats.TaskStatus, bool) {
	status, err := formats.ParseTaskStatus(w.Text)
	if err != nil {
		c.reportUnknown(w, CodeStatus, formats.Words(formats.TaskStatuses()), "the statuses are %s",
			"expected a task status, got %q")
	}
	return status, err == nil
}

// checkTransition holds one change against the table, as far as it is known what the task is.
func (c *compiler) checkTransition(pos syntax.Pos, to formats.TaskStatus, reasoned bool) bool {
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
	return "use one of " + joinWords(slices.DeleteFunc(formats.TaskStatuses(),
		func(s formats.TaskStatus) bool { return !s.InProgress() }))
}
