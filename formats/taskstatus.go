package formats

import (
	"slices"
	"strings"
)

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
		NotStarted, Researching, Researched, Planning, Planned, Revising, Revised, Implementing,
		Completed, Partial, Blocked, Abandoned, Expanded, OnHold,
	}
}

// String is the status as written in state.json.
func (s TaskStatus) String() string {
	return string(s)
}

// ParseTaskStatus parses a status word; any other word is a *ValueError.
func ParseTaskStatus(word string) (TaskStatus, error) {
	return OneOf("task status", word, TaskStatuses())
}

// InProgress reports whether the status carries a lease: a process works on the task.
func (s TaskStatus) InProgress() bool {
	return s == Researching || s == Planning || s == Revising || s == Implementing
}

// KeepsPrior reports whether entering the status records the previous one; going back to that is
// always legal.
func (s TaskStatus) KeepsPrior() bool {
	return s.InProgress() || s == Blocked || s == OnHold
}

// Terminal reports whether a task with this status is finished and may be archived.
func (s TaskStatus) Terminal() bool {
	return s == Completed || s == Abandoned
}

// Before reports whether the status comes earlier in a task's life than another. In-progress
// statuses, and statuses that set a task aside, have no place in that order.
func (s TaskStatus) Before(other TaskStatus) bool {
	order := []TaskStatus{NotStarted, Researched, Planned, Revised, Partial, Completed}
	at := slices.Index(order, s)
	return at >= 0 && at < slices.Index(order, other)
}

// Move is a legal change of a task's status, with its conditions.
type Move struct {
	To TaskStatus
	// NeedsReason: a reason is required.
	NeedsReason bool
	// ChildrenTerminal: legal only when every child of the task is completed or abandoned.
	ChildrenTerminal bool
	// Recover: legal only as the recover operation.
	Recover bool
}

// Moves lists the legal changes from a status, in the order of the table in state.md. It omits
// going back to the prior status, which is legal wherever one is recorded.
func Moves(from TaskStatus) []Move {
	var out []Move
	for word := range strings.FieldsSeq(moves[from]) {
		to := TaskStatus(strings.TrimRight(word, "!^*"))
		out = append(out, Move{
			To:               to,
			NeedsReason:      to == Blocked || to == Abandoned || strings.Contains(word, "!"),
			ChildrenTerminal: strings.Contains(word, "*"),
			Recover:          strings.Contains(word, "^"),
		})
	}
	return out
}

// moves is the table of state.md: the statuses that each status may change to. ! needs a reason, as
// every change to blocked and abandoned does. * needs every child to be terminal. ^ is legal only
// as the recover operation.
var moves = map[TaskStatus]string{
	NotStarted:   "researching planning implementing blocked abandoned on_hold expanded",
	Researching:  "researched blocked abandoned",
	Researched:   "researching planning implementing blocked abandoned on_hold expanded",
	Planning:     "planned blocked abandoned",
	Planned:      "planning revising researching! implementing blocked abandoned on_hold expanded",
	Revising:     "revised blocked abandoned",
	Revised:      "implementing planning revising researching! blocked abandoned on_hold expanded",
	Implementing: "completed partial blocked abandoned researching! revising!",
	Partial:      "implementing planning researching! revising! completed blocked abandoned",
	Blocked:      "researching planning revising implementing abandoned",
	OnHold:       "abandoned",
	Expanded:     "completed* abandoned",
	Abandoned:    "not_started^",
	Completed:    "not_started!^",
}

// CanMove reports whether the table has a change from one status to the other, except by recover.
func CanMove(from, to TaskStatus) bool {
	return slices.ContainsFunc(Moves(from), func(m Move) bool { return m.To == to && !m.Recover })
}

// MovesInto lists the statuses that may change to the given one, in the order of TaskStatuses.
func MovesInto(to TaskStatus) []TaskStatus {
	var out []TaskStatus
	for _, from := range TaskStatuses() {
		if CanMove(from, to) {
			out = append(out, from)
		}
	}
	return out
}

// ArtifactsFor returns the artifact types of which a task needs one before it may take the status;
// nil: none.
func ArtifactsFor(s TaskStatus) []ArtifactType {
	return map[TaskStatus][]ArtifactType{
		Researched: {ArtifactReport},
		Planned:    {ArtifactPlan},
		Revised:    {ArtifactPlan},
		Completed:  {ArtifactSummary, ArtifactImplementation},
	}[s]
}

// LooseTaskStatus parses a status as users and other systems write it: in any case, with spaces or
// hyphens, in brackets, or by a synonym. Any other word is the *ValueError of ParseTaskStatus.
func LooseTaskStatus(word string) (TaskStatus, error) {
	plain := strings.ToLower(strings.Trim(strings.TrimSpace(word), "[]*_` "))
	plain = strings.Join(strings.FieldsFunc(plain,
		func(r rune) bool {
			return r == ' ' || r == '-' || r == '_' || r == '\''
		}), "_")
	if s, err := ParseTaskStatus(plain); err == nil {
		return s, nil
	}

	for status, words := range looseWords {
		if slices.Contains(strings.Fields(words), plain) {
			return status, nil
		}
	}
	return OneOf("a task status", word, TaskStatuses())
}

// looseWords are other systems' words for the statuses.
var looseWords = map[TaskStatus]string{
	NotStarted:   "todo to_do open new pending ready active backlog queued notstarted",
	Researching:  "research_started in_research",
	Researched:   "research_completed research_complete research_done",
	Planned:      "planning_completed plan_completed plan_created plan_done plan_complete",
	Revised:      "plan_revised revision_completed",
	Implementing: "in_implementation implementation_started",
	Completed: "done success implemented complete finished closed resolved " +
		"implementation_completed " +
		"completed_successfully",
	Partial: "in_progress inprogress wip started doing partially_completed partially_complete",
	Blocked: "stuck waiting blocked_on",
	Abandoned: "superseded cancelled canceled obsolete wontfix wont_fix wont_do won_t_fix " +
		"won_t_do dropped rejected " +
		"duplicate",
	Expanded: "divided split",
	OnHold:   "onhold hold paused deferred postponed",
}
