package state

import (
	"slices"
	"time"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/state/exchange"
	"tercet/state/history"
	"tercet/state/statefile"
)

// Op is one operation of a transaction. The set is closed: CreateTasks, UpdateStatus,
// UpdateMetadata, LinkArtifacts, SetPhase, ArchiveTasks, UnarchiveTasks, DivideTask, SetLease,
// ClaimTask, SyncTasks, Renumber, ImportTasks, SetLayout, RestoreTasks, RestorePhases.
type Op interface {
	// name identifies the operation in messages and in the audit log.
	name() string
	// apply does the operation on a draft.
	apply(d *draft) error
	// record returns what the audit log keeps of the operation besides its name. Zero values are
	// left out.
	record() opRecord
}

type opRecord map[string]any

// NewTask is a task to create. Title is required. An empty Slug is made from the title, an empty
// Priority means medium; in DivideTask empty Language and Priority are those of the divided task.
type NewTask struct {
	Title, Slug, Description, Language, Priority, Effort, Issue string

	Dependencies []int
	Parent       int // 0: none
}

// CreateTasks adds tasks. Their numbers are in Result.Numbers, in order.
type CreateTasks struct{ Tasks []NewTask }

// LeaseRequest sets the duration of a lease.
type LeaseRequest struct {
	Timeout time.Duration // formats.DefaultLeaseTimeout if zero
}

// UpdateStatus changes the status of tasks. Set one of To, Back and Recover; Recover allows To as
// well.
type UpdateStatus struct {
	Tasks     []int
	To        formats.TaskStatus
	Back      bool   // return to the prior status
	Recover   bool   // restart an abandoned or completed task
	Reason    string // required for some changes; goes to blocked_reason and the audit log
	Artifacts []formats.Artifact
	Lease     *LeaseRequest // nil: the default; an in-progress status always takes a lease
}

// UpdateMetadata sets fields of a task: title, description, priority, effort, language,
// dependencies, parent.
type UpdateMetadata struct {
	Task   int
	Fields map[string]any
}

// LinkArtifacts adds artifacts to a task; a linked path is updated.
type LinkArtifacts struct {
	Task      int
	Artifacts []formats.Artifact
}

// SetPhase changes the status in the heading of one phase of the task's plan. It must be alone in
// its transaction. An empty Plan means the newest plan.
type SetPhase struct {
	Task   int
	Plan   string
	Phase  int
	Status documents.PhaseStatus
}

// ArchiveTasks moves completed and abandoned tasks to the archive. It must be alone in its
// transaction.
type ArchiveTasks struct{ Tasks []int }

// UnarchiveTasks moves tasks back from the archive. It must be alone in its transaction.
type UnarchiveTasks struct{ Tasks []int }

// DivideTask creates the parts as children of a task, which becomes expanded.
type DivideTask struct {
	Task  int
	Parts []NewTask
}

// SetLease renews the leases of this session's tasks, stale ones of its run included. With Clear it
// instead returns tasks with stale leases to their prior status. Suspended marks the lease of a
// waiting run. IfHeld skips tasks that are no longer in progress.
type SetLease struct {
	Tasks     []int
	Timeout   time.Duration
	Clear     bool
	Suspended bool
	IfHeld    bool
}

// ClaimTask takes a ready task for the transaction's session: the first one, or a named one. The
// task enters the next in-progress status of its life, or the requested one.
type ClaimTask struct {
	Task    int                // 0: the first ready task
	To      formats.TaskStatus // empty: the next status
	Timeout time.Duration      // of the lease, formats.DefaultLeaseTimeout if zero
	// Loose binds the lease to session and time only, not to this process: for scripts that call
	// tercet several times.
	Loose bool
}

// SyncTasks applies the hand edits of TODO.md. It must be alone in its transaction.
type SyncTasks struct{}

// Renumber gives a task the number To, which must never have been used, or the next one if To is
// zero. References of other tasks follow; folders and documents keep their names, so that paths
// stay valid.
type Renumber struct{ Task, To int }

// ImportTasks adds tasks from another file, with their numbers. It must be alone in its
// transaction.
type ImportTasks struct {
	From  *exchange.Import
	Fresh bool // give tasks with a taken number a new one, instead of failing
	// Conflicts says which side wins where a task changed both here and in the file since an
	// earlier import of it.
	Conflicts exchange.Resolution
}

// SetLayout rewrites state.json in a layout. It must be alone in its transaction.
type SetLayout struct{ To statefile.Layout }

func (CreateTasks) name() string {
	return "create_tasks"
}

func (UpdateStatus) name() string {
	return "update_status"
}

func (UpdateMetadata) name() string {
	return "update_metadata"
}

func (LinkArtifacts) name() string {
	return "link_artifacts"
}

func (SetPhase) name() string {
	return "set_phase"
}

func (ArchiveTasks) name() string {
	return "archive_tasks"
}

func (UnarchiveTasks) name() string {
	return "unarchive_tasks"
}

func (DivideTask) name() string {
	return "divide_task"
}

func (SetLease) name() string {
	return "set_lease"
}

func (ClaimTask) name() string {
	return "claim_task"
}

func (ImportTasks) name() string {
	return "import_tasks"
}

func (SetLayout) name() string {
	return "set_layout"
}

func (SyncTasks) name() string {
	return "sync_tasks"
}

func (Renumber) name() string {
	return "renumber"
}

func titles(list []NewTask) (out []string) {
	for i := range list {
		out = append(out, list[i].Title)
	}
	return out
}

func paths(list []formats.Artifact) (out []string) {
	for i := range list {
		out = append(out, list[i].Path)
	}
	return out
}

func (op CreateTasks) record() opRecord {
	return opRecord{"titles": titles(op.Tasks)}
}

func (op ArchiveTasks) record() opRecord {
	return opRecord{"tasks": op.Tasks}
}

func (op UnarchiveTasks) record() opRecord {
	return opRecord{"tasks": op.Tasks}
}

func (op SetLease) record() opRecord {
	return opRecord{"tasks": op.Tasks, "clear": op.Clear, "suspended": op.Suspended}
}

func (op SetLayout) record() opRecord {
	return opRecord{"to": op.To}
}

func (op SyncTasks) record() opRecord {
	return opRecord{}
}

func (op Renumber) record() opRecord {
	return opRecord{"tasks": []int{op.Task}, "to": op.To}
}

func (op UpdateStatus) record() opRecord {
	return opRecord{
		"tasks":     op.Tasks,
		"to":        op.To,
		"back":      op.Back,
		"recover":   op.Recover,
		"reason":    op.Reason,
		"artifacts": paths(op.Artifacts),
	}
}

func (op UpdateMetadata) record() opRecord {
	return opRecord{"tasks": []int{op.Task}, "fields": op.Fields}
}

func (op LinkArtifacts) record() opRecord {
	return opRecord{"tasks": []int{op.Task}, "artifacts": paths(op.Artifacts)}
}

func (op SetPhase) record() opRecord {
	return opRecord{
		"tasks":  []int{op.Task},
		"plan":   op.Plan,
		"phase":  op.Phase,
		"status": op.Status,
	}
}

func (op DivideTask) record() opRecord {
	return opRecord{"tasks": []int{op.Task}, "titles": titles(op.Parts)}
}

func (op ClaimTask) record() opRecord {
	if op.Task == 0 {
		return opRecord{"to": op.To}
	}
	return opRecord{"tasks": []int{op.Task}, "to": op.To}
}

func (op ImportTasks) record() opRecord {
	if op.From == nil {
		return opRecord{}
	}
	return opRecord{
		"file":   op.From.File,
		"sha256": op.From.Digest,
		"count":  op.From.Count(),
	}
}

// mustBeAlone reports whether an operation may not share its transaction, because it reads or
// writes a second file or concerns the file as a whole.
func mustBeAlone(op Op) bool {
	switch op.(type) {
	case SetPhase, ArchiveTasks, UnarchiveTasks, SyncTasks, ImportTasks, SetLayout, RestoreTasks,
		RestorePhases:
		return true
	}
	return false
}

// Tx is one transaction: all of its operations happen, or none.
type Tx struct {
	ID           string // unique; a known id is answered from the audit log; empty: a fresh one
	Session, Run string
	Ops          []Op
	// Force allows any status change and ignores foreign leases; the audit log records it.
	Force bool
	// ExpectedSerial makes the transaction fail at another serial; nil: any.
	ExpectedSerial *uint64

	fresh bool // the id was just generated, so the audit log cannot have it
}

// Result is the effect of a transaction.
type Result struct {
	Serial   uint64 // of the resulting state
	Txn      string
	Numbers  []int             // of created tasks, in order
	Verdicts []history.Verdict // one for each task of an operation
	Changed  bool              // something was written
	Replayed bool              // it was answered from the audit log
	Warnings []string
}

// PutAway lists the imported tasks that belong in the archive: the completed projects of the
// source.
func (r *Result) PutAway() []int {
	var out []int
	for _, v := range r.Verdicts {
		if v.Op == (ImportTasks{}).name() && v.Changed && v.From != "" && v.From == v.To {
			out = append(out, v.Task)
		}
	}
	return out
}

// Updated lists the tasks that an import replaced, because they changed in their file.
func (r *Result) Updated() []int {
	var out []int
	for _, v := range r.Verdicts {
		if v.Op == (ImportTasks{}).name() && v.Changed && !slices.Contains(r.Numbers, v.Task) {
			out = append(out, v.Task)
		}
	}
	slices.Sort(out)
	return out
}
