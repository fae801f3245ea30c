package state

import (
	"time"

	"tercet/formats"
	"tercet/internal/jsonx"
)

// Op is one operation of a transaction. The set is closed: CreateTasks, UpdateStatus, UpdateMetadata, LinkArtifacts,
// SetPhase, ArchiveTasks, UnarchiveTasks, DivideTask, SetLease, SyncTasks, Renumber.
type Op interface {
	// name is the word for the operation in messages and in the audit log.
	name() string
	// record gives the operation as the audit log keeps it.
	record() *jsonx.Object
}

// NewTask is a task to be made. Title is needed. An empty Slug is made from the title, an empty Priority means medium; in
// DivideTask an empty Language and Priority mean those of the task that is divided.
type NewTask struct {
	Title, Slug, Description, Language, Priority, Effort string

	Dependencies []int
	Parent       int // 0: none
}

// CreateTasks adds tasks. Their numbers are in Result.Numbers, in order.
type CreateTasks struct{ Tasks []NewTask }

// LeaseRequest bounds the lease that an in-progress status takes.
type LeaseRequest struct {
	Timeout time.Duration // formats.DefaultLeaseTimeout if zero
}

// UpdateStatus changes the status of tasks. One of To, Back and Recover is set; Recover may name To as well.
type UpdateStatus struct {
	Tasks     []int
	To        formats.TaskStatus
	Back      bool   // back to the prior status
	Recover   bool   // an abandoned or completed task starts again
	Reason    string // needed for some changes; kept in blocked_reason and in the audit log
	Artifacts []formats.Artifact
	Lease     *LeaseRequest // nil: the default; an in-progress status always takes a lease
}

// UpdateMetadata sets members of a task: title, description, priority, effort, language, dependencies, parent.
type UpdateMetadata struct {
	Task   int
	Fields map[string]any
}

// LinkArtifacts adds artifacts to a task. One whose path is linked already is brought up to date.
type LinkArtifacts struct {
	Task      int
	Artifacts []formats.Artifact
}

// SetPhase rewrites the heading of one phase in a plan of the task. It stands alone in its transaction. An empty Plan means
// the newest plan of the task.
type SetPhase struct {
	Task   int
	Plan   string
	Phase  int
	Status formats.PhaseStatus
}

// ArchiveTasks moves completed and abandoned tasks to the archive. It stands alone in its transaction.
type ArchiveTasks struct{ Tasks []int }

// UnarchiveTasks moves tasks back from the archive. It stands alone in its transaction.
type UnarchiveTasks struct{ Tasks []int }

// DivideTask makes the parts as children of a task, which becomes expanded.
type DivideTask struct {
	Task  int
	Parts []NewTask
}

// SetLease renews the lease of tasks that this session holds, or, with Clear, gives tasks whose lease is stale back to
// their prior status.
type SetLease struct {
	Tasks   []int
	Timeout time.Duration
	Clear   bool
}

// SyncTasks would apply hand edits of TODO.md; it is refused by name.
type SyncTasks struct{}

// Renumber would give a task another number; it is refused by name.
type Renumber struct{ Task, To int }

func (CreateTasks) name() string    { return "create_tasks" }
func (UpdateStatus) name() string   { return "update_status" }
func (UpdateMetadata) name() string { return "update_metadata" }
func (LinkArtifacts) name() string  { return "link_artifacts" }
func (SetPhase) name() string       { return "set_phase" }
func (ArchiveTasks) name() string   { return "archive_tasks" }
func (UnarchiveTasks) name() string { return "unarchive_tasks" }
func (DivideTask) name() string     { return "divide_task" }
func (SetLease) name() string       { return "set_lease" }
func (SyncTasks) name() string      { return "sync_tasks" }
func (Renumber) name() string       { return "renumber" }

func recordOf(op Op) *jsonx.Object { return new(jsonx.Object).Set("op", op.name()) }

func titles(list []NewTask) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = list[i].Title
	}
	return out
}

func paths(list []formats.Artifact) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = list[i].Path
	}
	return out
}

func ints(list []int) []any {
	out := make([]any, len(list))
	for i, n := range list {
		out[i] = n
	}
	return out
}

func (o CreateTasks) record() *jsonx.Object { return recordOf(o).Set("titles", titles(o.Tasks)) }

func (op UpdateStatus) record() *jsonx.Object {
	out := recordOf(op).Set("tasks", ints(op.Tasks))
	if op.To != "" {
		out.Set("to", op.To.String())
	}
	if op.Back {
		out.Set("back", true)
	}
	if op.Recover {
		out.Set("recover", true)
	}
	if op.Reason != "" {
		out.Set("reason", op.Reason)
	}
	if len(op.Artifacts) > 0 {
		out.Set("artifacts", paths(op.Artifacts))
	}
	return out
}

func (o UpdateMetadata) record() *jsonx.Object {
	return recordOf(o).Set("tasks", ints([]int{o.Task})).Set("fields", o.Fields)
}

func (o LinkArtifacts) record() *jsonx.Object {
	return recordOf(o).Set("tasks", ints([]int{o.Task})).Set("artifacts", paths(o.Artifacts))
}

func (o SetPhase) record() *jsonx.Object {
	return recordOf(o).Set("tasks", ints([]int{o.Task})).Set("plan", o.Plan).Set("phase", o.Phase).Set("status", string(o.Status))
}

func (o ArchiveTasks) record() *jsonx.Object   { return recordOf(o).Set("tasks", ints(o.Tasks)) }
func (o UnarchiveTasks) record() *jsonx.Object { return recordOf(o).Set("tasks", ints(o.Tasks)) }

func (o DivideTask) record() *jsonx.Object {
	return recordOf(o).Set("tasks", ints([]int{o.Task})).Set("titles", titles(o.Parts))
}

func (o SetLease) record() *jsonx.Object {
	return recordOf(o).Set("tasks", ints(o.Tasks)).Set("clear", o.Clear)
}

func (o SyncTasks) record() *jsonx.Object { return recordOf(o) }

func (o Renumber) record() *jsonx.Object {
	return recordOf(o).Set("tasks", ints([]int{o.Task})).Set("to", o.To)
}

// alone tells whether an operation may not share its transaction, because it writes a second file.
func alone(op Op) bool {
	switch op.(type) {
	case SetPhase, ArchiveTasks, UnarchiveTasks:
		return true
	}
	return false
}

// Tx is one transaction: all of its operations happen, or none.
type Tx struct {
	ID           string // unique; an id that the audit log holds is answered from there; empty: a fresh one
	Session, Run string
	Ops          []Op
	// Force makes any change of status legal and looks over the leases of others; the audit log says so.
	Force bool
	// ExpectedSerial refuses the transaction unless the state has this serial; nil: any.
	ExpectedSerial *uint64
}

// Result is what a transaction did.
type Result struct {
	Serial   uint64 // of the state afterwards
	Txn      string
	Numbers  []int     // of the tasks made, in order
	Verdicts []Verdict // one for each task that an operation was about
	Changed  bool      // something was written
	Replayed bool      // answered from the audit log
	Warnings []string
}

// Verdict is what happened to one task.
type Verdict struct {
	Op       string
	Task     int
	From, To formats.TaskStatus // the same if the status stayed; From is empty for a task that was made
	Changed  bool
}
