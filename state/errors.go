package state

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tercet/formats"
)

// ErrTaskNotFound is the bare fact that state.json has no task of a number; a *TaskError wraps it.
var ErrTaskNotFound = errors.New("task not found")

// TaskError says which task was not found.
type TaskError struct {
	Number   int
	Archived bool // the number is in the archive
}

// Error names the task.
func (e *TaskError) Error() string {
	if e.Archived {
		return "task " + strconv.Itoa(e.Number) + " is archived"
	}
	return "task " + strconv.Itoa(e.Number) + " does not exist"
}

// Unwrap gives ErrTaskNotFound.
func (e *TaskError) Unwrap() error { return ErrTaskNotFound }

// ErrorCode is NOT_FOUND.
func (e *TaskError) ErrorCode() formats.Code { return formats.CodeNotFound }

// Help says how to find tasks.
func (e *TaskError) Help() string {
	if e.Archived {
		return "an archived task cannot be changed; unarchive it first"
	}
	return "list the tasks with: tercet query '.tasks[] | {number, title, status}'"
}

// TransitionError refuses a change of status that the table does not have, or whose condition is not met.
type TransitionError struct {
	Task     int
	From, To formats.TaskStatus
	// Needs is the condition that is not met, "a reason"; empty when the table has no such change at all.
	Needs   string
	Allowed []formats.TaskStatus // where the task may go from here
}

// Error names the change and what it lacks.
func (e *TransitionError) Error() string {
	if e.Needs != "" {
		return fmt.Sprintf("task %d may go from %s to %s only with %s", e.Task, e.From, e.To, e.Needs)
	}
	if e.To == "" {
		return fmt.Sprintf("task %d is %s and has no prior status to go back to", e.Task, e.From)
	}
	return fmt.Sprintf("task %d may not go from %s to %s", e.Task, e.From, e.To)
}

// ErrorCode is ILLEGAL_TRANSITION.
func (e *TransitionError) ErrorCode() formats.Code { return formats.CodeIllegalTransition }

// Help lists the legal changes.
func (e *TransitionError) Help() string {
	if e.Needs != "" {
		return "give " + e.Needs + ", or use --force"
	}
	if len(e.Allowed) == 0 {
		return "from " + e.From.String() + " there is no change without --force"
	}
	words := make([]string, len(e.Allowed))
	for i, s := range e.Allowed {
		words[i] = s.String()
	}
	return "from " + e.From.String() + " it may go to " + strings.Join(words, ", ")
}

// LeaseError refuses a write to a task on which another session works.
type LeaseError struct {
	Task  int
	Lease formats.Lease
}

// Error names the task and the session.
func (e *LeaseError) Error() string {
	return fmt.Sprintf("task %d is worked on by session %s (pid %d on %s, since %s)", e.Task, e.Lease.Session, e.Lease.PID, e.Lease.Host, e.Lease.Taken)
}

// ErrorCode is LEASE_HELD.
func (e *LeaseError) ErrorCode() formats.Code { return formats.CodeLeaseHeld }

// Help says what to do next.
func (e *LeaseError) Help() string {
	return "wait until it ends; when its process is gone the task is free again by itself"
}

// Holder is what the holder of a lock says about itself, for messages only: it is never used to break a lock.
type Holder struct {
	ID      string `json:"id"`
	PID     int    `json:"pid"`
	Host    string `json:"host"`
	BootID  string `json:"boot_id"`
	PIDNS   string `json:"pid_ns,omitempty"`
	User    string `json:"user"`
	Command string `json:"command"`
	Session string `json:"session_id"`
	Since   string `json:"since"`
}

// String describes the holder in a few words.
func (h Holder) String() string {
	if h.PID == 0 {
		return "another process"
	}
	out := "pid " + strconv.Itoa(h.PID)
	if h.Command != "" {
		out += " (" + h.Command + ")"
	}
	if h.Host != "" {
		out += " on " + h.Host
	}
	return out
}

// LockError reports that a lock was not given within the time.
type LockError struct {
	Path   string
	Waited time.Duration
	Holder Holder // zero if it is not known
}

// Error names the lock and its holder.
func (e *LockError) Error() string {
	return fmt.Sprintf("%s is held by %s, waited %s", e.Path, e.Holder, e.Waited.Round(time.Millisecond))
}

// ErrorCode is LOCKED.
func (e *LockError) ErrorCode() formats.Code { return formats.CodeLocked }

// Help says what to do next.
func (e *LockError) Help() string {
	return "try again, or wait longer with --lock-timeout; a lock ends by itself with its process"
}

// LockFileError reports a lock file that cannot serve as one.
type LockFileError struct {
	Path   string
	Why    string // "is a directory, expected a regular file"
	Advice string
	Err    error // the cause, may be nil
}

// Error names the lock file and what is wrong with it.
func (e *LockFileError) Error() string {
	if e.Err != nil {
		return e.Path + " " + e.Why + ": " + e.Err.Error()
	}
	return e.Path + " " + e.Why
}

// Unwrap gives the cause.
func (e *LockFileError) Unwrap() error { return e.Err }

// ErrorCode is IO.
func (e *LockFileError) ErrorCode() formats.Code { return formats.CodeIO }

// Help says what to do next.
func (e *LockFileError) Help() string { return e.Advice }

// SyntaxError reports a state file that is not valid. The file is left as it is.
type SyntaxError struct {
	List     *formats.Diagnostics // every finding with its place
	Conflict bool                 // the file holds the markers of an unfinished merge
	Copy     string               // where a copy of the broken file was put, empty if none was made
	Backup   string               // the newest backup that is valid, empty if there is none
	Restore  string               // the command that restores it
}

// Error lists the findings.
func (e *SyntaxError) Error() string { return e.List.Error() }

// Unwrap gives the findings as *formats.Diagnostics.
func (e *SyntaxError) Unwrap() error { return e.List }

// ErrorCode is INVALID_STATE.
func (e *SyntaxError) ErrorCode() formats.Code { return formats.CodeInvalidState }

// Help names the way out.
func (e *SyntaxError) Help() string {
	var out []string
	if e.Conflict {
		out = append(out, "both sides of the merge are in the file: tercet state merge --ours, --theirs or --union")
	}
	if e.Backup != "" {
		out = append(out, "the newest valid backup is "+e.Backup+": "+e.Restore)
	}
	if e.Copy != "" {
		out = append(out, "a copy of the file is in "+e.Copy)
	}
	if len(out) == 0 {
		return "mend the file by hand; nothing was written"
	}
	return strings.Join(out, "; ")
}

// PhasesOpenError refuses to complete a task whose plan has open phases.
type PhasesOpenError struct {
	Task int
	Plan string
	Open []string // "phase 2 (name): not_started"
}

// Error names the plan and its open phases.
func (e *PhasesOpenError) Error() string {
	return fmt.Sprintf("task %d may not be completed: %s has open phases: %s", e.Task, e.Plan, strings.Join(e.Open, ", "))
}

// ErrorCode is PHASES_OPEN.
func (e *PhasesOpenError) ErrorCode() formats.Code { return formats.CodePhasesOpen }

// Help says what to do next.
func (e *PhasesOpenError) Help() string {
	return fmt.Sprintf("go on with /implement %d", e.Task)
}

// MissingArtifactError refuses a status whose document is not there.
type MissingArtifactError struct {
	Task int
	To   formats.TaskStatus // empty when the artifact was only to be linked, or a phase of it marked
	Type formats.ArtifactType
	Path string // empty if the task has no artifact of the type
	Why  string // "does not exist"
}

// Error names the artifact that is missing.
func (e *MissingArtifactError) Error() string {
	switch {
	case e.Path == "" && e.To == "":
		return fmt.Sprintf("task %d has no artifact of type %s", e.Task, e.Type)
	case e.Path == "":
		return fmt.Sprintf("task %d may not become %s: it has no artifact of type %s", e.Task, e.To, e.Type)
	}
	return fmt.Sprintf("task %d: artifact %s %s", e.Task, e.Path, e.Why)
}

// ErrorCode is PRECONDITION.
func (e *MissingArtifactError) ErrorCode() formats.Code { return formats.CodePrecondition }

// Help says what to do next.
func (e *MissingArtifactError) Help() string {
	switch {
	case e.Path == "" && e.To == "":
		return fmt.Sprintf("make it: /%s %d", e.Type, e.Task)
	case e.Path == "":
		return "give the " + string(e.Type) + " with the change"
	}
	return ""
}

// OpError refuses an operation for what was asked.
type OpError struct {
	Op     string // name of the operation, "update_metadata"
	Task   int    // 0 if it is about no single task
	Msg    string
	Advice string
}

// Error names the operation, the task and the reason.
func (e *OpError) Error() string {
	if e.Task != 0 {
		return fmt.Sprintf("%s: task %d: %s", e.Op, e.Task, e.Msg)
	}
	return e.Op + ": " + e.Msg
}

// ErrorCode is VALIDATION_FAILED.
func (e *OpError) ErrorCode() formats.Code { return formats.CodeValidationFailed }

// Help says what to do next.
func (e *OpError) Help() string { return e.Advice }

// ConflictError reports that the state is not the one that the caller, or this write, began with.
type ConflictError struct {
	Expected, Got uint64 // serials; equal when the file changed while it was written
}

// Error names the serials.
func (e *ConflictError) Error() string {
	if e.Expected == e.Got {
		return "state.json was changed by another program during the write"
	}
	return fmt.Sprintf("expected serial %d, got %d", e.Expected, e.Got)
}

// ErrorCode is PRECONDITION for a serial that was asked for, TRANSIENT for a change during the write.
func (e *ConflictError) ErrorCode() formats.Code {
	if e.Expected == e.Got {
		return formats.CodeTransient
	}
	return formats.CodePrecondition
}

// Help says what to do next.
func (e *ConflictError) Help() string { return "read the state again and repeat the change" }

// ExternalEditError refuses a state file that another program changed in a way that loses work.
type ExternalEditError struct {
	File             string
	Lineage, Want    string // set when the file is of another lineage
	Missing          []int  // tasks of the last known state that are neither in the file nor in the archive
	Serial, Expected uint64
}

// Error names what is lost.
func (e *ExternalEditError) Error() string {
	if e.Want != "" {
		return fmt.Sprintf("%s was replaced from outside: expected lineage %s, got %s", e.File, e.Want, e.Lineage)
	}
	words := make([]string, len(e.Missing))
	for i, n := range e.Missing {
		words[i] = strconv.Itoa(n)
	}
	return fmt.Sprintf("%s was changed from outside and lost tasks %s", e.File, strings.Join(words, ", "))
}

// ErrorCode is INVALID_STATE.
func (e *ExternalEditError) ErrorCode() formats.Code { return formats.CodeInvalidState }

// Help names the two ways out.
func (e *ExternalEditError) Help() string {
	return "take the file as it is with: tercet state adopt; or go back with: tercet state restore"
}

// MoveError reports a move between state.json and the archive of which one file is written and the other is not. The tasks
// are in both files until the next write, which finishes the move.
type MoveError struct {
	Written, Missing string
	Err              error
}

// Error names both files and the cause.
func (e *MoveError) Error() string {
	return fmt.Sprintf("%s is written, %s is not yet, the next write finishes that: %v", e.Written, e.Missing, e.Err)
}

// Unwrap gives the cause.
func (e *MoveError) Unwrap() error { return e.Err }

// ErrorCode is IO.
func (e *MoveError) ErrorCode() formats.Code { return formats.CodeIO }

// Help says what to do next.
func (e *MoveError) Help() string { return "do not repeat it: the next write finishes the move" }

// NotDurableError reports a write that is in place but may not survive a power cut.
type NotDurableError struct {
	File   string
	Serial uint64 // of the state with the change
	Err    error
}

// Error says that the change is there.
func (e *NotDurableError) Error() string {
	return fmt.Sprintf("%s is written with serial %d, but its durability is unknown: %v", e.File, e.Serial, e.Err)
}

// Unwrap gives the cause.
func (e *NotDurableError) Unwrap() error { return e.Err }

// ErrorCode is NOT_DURABLE.
func (e *NotDurableError) ErrorCode() formats.Code { return formats.CodeNotDurable }

// Help says what to do next.
func (e *NotDurableError) Help() string {
	return "the change is made, do not repeat it; check the disk"
}
