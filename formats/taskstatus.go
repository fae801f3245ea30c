package formats

import "slices"

// TaskStatus is the status word of a task in state.json.
type TaskStatus string

// The task statuses.
const (
	NotStarted   TaskStatus = "not_started"
	Researching  TaskStatus = "researching"
	Researched   TaskStatus = "researched"
	Planning     TaskStatus = "planning"
	Planned      TaskStatus = "planned"
	Revising     TaskStatus = "revising"
	Revised      TaskStatus = "revised"
	Implementing TaskStatus = "implementing"
	Completed    TaskStatus = "completed"
	Partial      TaskStatus = "partial"
	Blocked      TaskStatus = "blocked"
	Abandoned    TaskStatus = "abandoned"
	Expanded     TaskStatus = "expanded"
	OnHold       TaskStatus = "on_hold"
)

// TaskStatuses lists every status in the order of a task's life.
func TaskStatuses() []TaskStatus {
	return []TaskStatus{
		NotStarted, Researching, Researched, Planning, Planned, Revising, Revised, Implementing, Completed, Partial,
		Blocked, Abandoned, Expanded, OnHold,
	}
}

// String is the word as it stands in state.json.
func (s TaskStatus) String() string { return string(s) }

// ParseTaskStatus reads a status word; a word outside the set is a *ValueError.
func ParseTaskStatus(word string) (TaskStatus, error) {
	return oneOfSet("task status", word, TaskStatuses())
}

// InProgress tells whether the status carries a lease: a process works on the task.
func (s TaskStatus) InProgress() bool {
	return s == Researching || s == Planning || s == Revising || s == Implementing
}

// KeepsPrior tells whether entering the status records the one before it, to which going back is always legal.
func (s TaskStatus) KeepsPrior() bool { return s.InProgress() || s == Blocked || s == OnHold }

// Terminal tells whether a task with this status is done with and may be archived.
func (s TaskStatus) Terminal() bool { return s == Completed || s == Abandoned }

// Move is a legal change of a task's status and what it asks for.
type Move struct {
	To TaskStatus
	// NeedsReason: the change is refused without a reason.
	NeedsReason bool
	// ChildrenTerminal: legal only when every child of the task is completed or abandoned.
	ChildrenTerminal bool
	// Recover: legal only as the recover operation.
	Recover bool
}

// Moves lists the legal changes out of a status, in the order of the table of state.md. Going back to the prior status
// is not in it: that is legal wherever a prior status is recorded.
func Moves(from TaskStatus) []Move {
	to := func(list ...TaskStatus) []Move {
		out := make([]Move, len(list))
		for i, s := range list {
			out[i] = Move{To: s, NeedsReason: s == Blocked || s == Abandoned}
		}
		return out
	}
	reason := func(list ...TaskStatus) []Move {
		out := to(list...)
		for i := range out {
			out[i].NeedsReason = true
		}
		return out
	}
	switch from {
	case NotStarted:
		return to(Researching, Planning, Implementing, Blocked, Abandoned, OnHold, Expanded)
	case Researching:
		return to(Researched, Blocked, Abandoned)
	case Researched:
		return to(Researching, Planning, Implementing, Blocked, Abandoned, OnHold, Expanded)
	case Planning:
		return to(Planned, Blocked, Abandoned)
	case Planned:
		return slices.Concat(to(Planning, Revising), reason(Researching),
			to(Implementing, Blocked, Abandoned, OnHold, Expanded))
	case Revising:
		return to(Revised, Blocked, Abandoned)
	case Revised:
		return slices.Concat(to(Implementing, Planning, Revising), reason(Researching),
			to(Blocked, Abandoned, OnHold, Expanded))
	case Implementing:
		return slices.Concat(to(Completed, Partial, Blocked, Abandoned), reason(Researching, Revising))
	case Partial:
		return slices.Concat(to(Implementing, Planning), reason(Researching, Revising), to(Completed, Blocked, Abandoned))
	case Blocked:
		return to(Researching, Planning, Revising, Implementing, Abandoned)
	case OnHold:
		return to(Abandoned)
	case Expanded:
		return slices.Concat([]Move{{To: Completed, ChildrenTerminal: true}}, to(Abandoned))
	case Abandoned:
		return []Move{{To: NotStarted, Recover: true}}
	case Completed:
		return []Move{{To: NotStarted, NeedsReason: true, Recover: true}}
	}
	return nil
}

// CanMove tells whether the table has a change from one status to the other, recovering excepted.
func CanMove(from, to TaskStatus) bool {
	return slices.ContainsFunc(Moves(from), func(m Move) bool { return m.To == to && !m.Recover })
}

// MovesInto lists the statuses from which the change to the given one is legal, in the order of TaskStatuses.
func MovesInto(to TaskStatus) []TaskStatus {
	var out []TaskStatus
	for _, from := range TaskStatuses() {
		if CanMove(from, to) {
			out = append(out, from)
		}
	}
	return out
}

// ArtifactFor is the type of artifact that must exist before a task may take the status; empty if none is asked for.
func ArtifactFor(s TaskStatus) ArtifactType {
	switch s {
	case Researched:
		return ArtifactReport
	case Planned, Revised:
		return ArtifactPlan
	case Completed:
		return ArtifactSummary
	case NotStarted, Researching, Planning, Revising, Implementing, Partial, Blocked, Abandoned, Expanded, OnHold:
		return ""
	}
	return ""
}
