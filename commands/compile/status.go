package compile

import (
	"slices"
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/nearest"
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
	d := c.prog.During
	switch {
	case d != nil && c.always:
		c.status = statuses{true, []formats.TaskStatus{d.Status}}
	case d != nil && c.prog.Allow != nil:
		c.status = statuses{true, append(slices.Clone(c.prog.Allow), d.Status)}
	case d == nil && c.prog.Allow != nil:
		c.status = statuses{true, slices.Clone(c.prog.Allow)}
	}
}

// moved notes a change of the bound task's status by a step that may be skipped or run again.
func (c *compiler) moved(to formats.TaskStatus, sure bool) {
	switch {
	case to == "":
		c.status = statuses{}
	case sure && !c.redoable[c.scope.self]:
		c.status = statuses{true, []formats.TaskStatus{to}}
	case !slices.Contains(c.status.list, to):
		c.status.list = append(slices.Clone(c.status.list), to)
	}
}

// movesInside tells whether a body changes statuses: what the task is in it and behind it is then not known.
func movesInside(list []*syntax.Step) bool {
	return slices.ContainsFunc(list, func(s *syntax.Step) bool {
		switch a := s.Action.(type) {
		case *syntax.Status:
			return a.Phase == nil
		case *syntax.Delegate:
			return a.Agent.Text == StatusSync && changesStatus(s.With)
		case *syntax.Foreach:
			return a.Delegate != nil && a.Delegate.Agent.Text == StatusSync && changesStatus(s.With) || movesInside(s.Body)
		}
		return s.Sentence != nil && s.Sentence.Kind == syntax.SayUpdateStatus || movesInside(s.Body)
	})
}

// statusStep lowers `status` to a call of the status-sync manager.
func (c *compiler) statusStep(a *syntax.Status, sure bool) Action {
	in := syncFields{}
	switch {
	case a.Task != nil:
		in.task = c.value(a.Task)
	case !c.scope.task:
		c.report(a.Pos, CodeNoTask, "declare an argument of type task, or name the task: {to: ..., task: ...}", "status needs a task")
		return &Delegate{Agent: StatusSync, Info: noAgent()}
	default:
		in.task = c.source(a.Pos, "$task.number")
	}
	in.status, in.reason = c.value(a.To), c.value(a.Reason)
	if a.Phase != nil {
		in.operation, in.phase = c.lit(OpSetPhase), c.value(a.Phase)
		c.phaseStatus(a)
		in.reason = nil
		return c.sync(a.Pos, in)
	}
	in.operation = c.lit(OpUpdateStatus)
	if a.Artifacts != nil {
		in.artifacts = c.value(a.Artifacts)
	}
	d := c.sync(a.Pos, in)
	d.Link = a.Artifacts == nil
	d.To = c.taskStatus(a, sure)
	return d
}

func (c *compiler) phaseStatus(a *syntax.Status) {
	if a.Artifacts != nil {
		c.report(a.Artifacts.Pos, CodeCompanion, "link them in a step of their own", "'artifacts' belongs to a change of the task's status")
	}
	if a.Reason != nil {
		c.report(a.Reason.Pos, CodeCompanion, "", "'reason' belongs to a change of the task's status")
	}
	v := a.To
	if v == nil || v.Kind != syntax.Literal {
		return
	}
	word := literal(v)
	if _, err := formats.ParsePhaseStatus(word); err != nil {
		c.report(v.Pos, CodeStatus, phaseHelp(word), "expected a phase status, got %s", shown(v))
	}
}

func phaseHelp(word string) string {
	names := make([]string, 0, len(formats.PhaseStatuses()))
	for _, s := range formats.PhaseStatuses() {
		names = append(names, s.String())
	}
	if help := nearest.Help(word, names); help != "" {
		return help
	}
	return "the statuses of a phase are " + strings.Join(names, ", ")
}

// taskStatus checks a literal status word, and for the bound task that the table has the change.
func (c *compiler) taskStatus(a *syntax.Status, sure bool) formats.TaskStatus {
	v := a.To
	if v == nil || v.Kind != syntax.Literal {
		if a.Task == nil {
			c.moved("", sure)
		}
		return ""
	}
	word, ok := v.Lit.(string)
	to, err := formats.ParseTaskStatus(word)
	if !ok || err != nil {
		c.report(v.Pos, CodeStatus, statusHelp(word), "expected a task status, got %s", shown(v))
		return ""
	}
	if a.Task != nil {
		return to
	}
	if !c.transition(v.Pos, to, a.Reason != nil) {
		c.moved("", sure) // what comes behind is not held against a change that cannot be
		return to
	}
	c.moved(to, sure)
	return to
}

// transition holds one change against the table, as far as it is known what the task is.
func (c *compiler) transition(pos syntax.Pos, to formats.TaskStatus, reasoned bool) bool {
	needs, can := true, !c.status.known
	if can {
		needs = to == formats.Blocked || to == formats.Abandoned
	}
	for _, from := range c.status.list {
		if from == to {
			can, needs = true, false
		}
		for _, m := range formats.Moves(from) {
			if m.To == to && !m.Recover {
				can, needs = true, needs && m.NeedsReason
			}
		}
	}
	switch {
	case !can:
		c.report(pos, CodeTransition, "run 'tercet state transitions' for the table", "a task cannot go from %s to %s", strings.Join(words(c.status.list), " or "), to)
	case needs && !reasoned:
		c.report(pos, CodeTransition, "write {to: "+to.String()+", reason: ...}", "a change to %s needs a reason", to)
	}
	return can
}

func statusHelp(word string) string {
	if help := nearest.Help(word, words(formats.TaskStatuses())); help != "" {
		return help
	}
	return "the statuses are " + joinStatuses(formats.TaskStatuses())
}

func inProgressHelp() string {
	var list []formats.TaskStatus
	for _, s := range formats.TaskStatuses() {
		if s.InProgress() {
			list = append(list, s)
		}
	}
	return "use one of " + joinStatuses(list)
}

func movesFrom(s formats.TaskStatus) []formats.TaskStatus {
	var out []formats.TaskStatus
	for _, m := range formats.Moves(s) {
		if !m.Recover {
			out = append(out, m.To)
		}
	}
	return out
}

func words(list []formats.TaskStatus) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = s.String()
	}
	return out
}

func joinStatuses(list []formats.TaskStatus) string { return strings.Join(words(list), ", ") }
