package state

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"tercet/formats"
)

// noTask is the error for a task that does not exist or is archived.
func noTask(n int, archived bool) error {
	if archived {
		return formats.Fail(formats.CodeNotFound,
			"an archived task cannot be changed; unarchive it first", "task %d is archived", n)
	}
	return formats.Fail(formats.CodeNotFound, "'tercet task list' shows the tasks",
		"task %d does not exist", n)
}

// invalidOp is the error for an invalid operation; task 0 means that it is about no single task.
func invalidOp(op string, task int, help, format string, args ...any) error {
	if task != 0 {
		op += fmt.Sprintf(": task %d", task)
	}
	return formats.Fail(formats.CodeValidationFailed, help, "%s: %s",
		op, fmt.Sprintf(format, args...))
}

// leaseHeld is the error for a write to a task on which another session works.
func leaseHeld(task int, l *formats.Lease) error {
	if l.Suspended {
		return formats.Fail(
			formats.CodeLeaseHeld,
			"run 'tercet resume "+l.Run+"' to go on with it, or 'tercet cancel "+
				l.Run+"' to give it up",
			"task %d waits for run %s, which is suspended",
			task,
			l.Run,
		)
	}
	return formats.Fail(formats.CodeLeaseHeld,
		"wait until it ends; when its process is gone the task is free again by itself",
		"task %d is worked on by session %s (pid %d on %s, since %s)", task, l.Session, l.PID,
		l.Host, l.Taken)
}

// Holder is what a lock's holder records about itself. It is for messages only and never breaks a
// lock.
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

// String describes the holder briefly.
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

// lockTimeout reports that a lock was not given within the time.
func lockTimeout(path string, waited time.Duration, h Holder) error {
	return formats.Fail(formats.CodeLocked,
		"try again, or wait longer with --lock-timeout; a lock ends by itself with its process",
		"%s is held by %s, waited %s", path, h, waited.Round(time.Millisecond))
}

// badLock reports a lock file that cannot be used.
func badLock(path, help, why string, err error) error {
	return &formats.Failure{
		Code:    formats.CodeIO,
		Message: path + " " + why,
		Help:    help,
		Err:     err,
	}
}

// noArtifact is the error for a status without its document. An empty status means that the
// document was to be linked, or one of its phases marked. The path is empty if the task has no
// artifact of the type.
func noArtifact(task int, to formats.TaskStatus, kind, path, why string) error {
	switch {
	case path != "":
		return formats.Fail(formats.CodePrecondition, "",
			"task %d: artifact %s %s", task, path, why)
	case to == "":
		return formats.Fail(formats.CodePrecondition, fmt.Sprintf("make it: /%s %d", kind, task),
			"task %d has no artifact of type %s", task, kind)
	}
	return formats.Fail(formats.CodePrecondition, "give the "+kind+" with the change",
		"task %d may not become %s: it has no artifact of type %s", task, to, kind)
}

// errChanged means that another program wrote state.json during a write, which is then retried.
var errChanged = errors.New("state.json was changed by another program during the write")

// notDurable reports a write that is in place but may not survive a power cut. Callers check the
// code.
func notDurable(file string, serial uint64, err error) error {
	return &formats.Failure{
		Code: formats.CodeNotDurable,
		Help: "the change is made, do not repeat it; check the disk",
		Err:  err,
		Message: fmt.Sprintf("%s is written with serial %d, but its durability is unknown",
			file, serial),
	}
}
