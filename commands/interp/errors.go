package interp

import (
	"fmt"
	"strings"

	"tercet/formats"
)

// StepError is a failure of the engine inside a step. Err is the cause and is inspected for its code.
type StepError struct {
	File    string
	Pos     formats.Pos
	Step    string
	Agent   string
	Attempt int
	Err     error
}

// Error names the place, the step and the cause; a cause that names its own place in the file stands alone.
func (e *StepError) Error() string {
	if cause := e.Err.Error(); strings.HasPrefix(cause, e.File+":") {
		return cause
	}
	return fmt.Sprintf("%s:%d:%d: step %s: %s", e.File, e.Pos.Line, e.Pos.Col, e.Step, e.Err)
}

// Unwrap gives the cause.
func (e *StepError) Unwrap() error { return e.Err }

// MissingError reports a field of Config, or the program, that a run needs and does not have.
type MissingError struct{ Field string }

// Error names what is missing.
func (e *MissingError) Error() string { return "a run needs " + e.Field + ", got nil" }

// ErrorCode is BUG.
func (e *MissingError) ErrorCode() formats.Code { return formats.CodeBug }

// LimitError reports an exhausted limit of the run.
type LimitError struct {
	What  string
	Limit int
}

// Error names the limit.
func (e *LimitError) Error() string {
	return fmt.Sprintf("the run reached its limit of %d %s", e.Limit, e.What)
}

// ErrorCode is LIMIT.
func (e *LimitError) ErrorCode() formats.Code { return formats.CodeLimit }

// Help says what to do next.
func (e *LimitError) Help() string {
	return "finished work is kept; look at the run with a dry run, or raise limits in the command file if it is meant to be this long"
}

// BudgetError refuses a worker because the run has used what it may use of something.
type BudgetError struct{ What, Limit, Used string }

// Error names what is used up.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("the run may use %s %s and has used %s", e.Limit, e.What, e.Used)
}

// ErrorCode is LIMIT.
func (e *BudgetError) ErrorCode() formats.Code { return formats.CodeLimit }

// Help says what to do next.
func (e *BudgetError) Help() string {
	return "finished work is kept; raise limits in the command file or in config.yaml, and run the command again"
}

// StatusError reports a task whose status does not let the command start.
type StatusError struct {
	Command string
	Task    int
	Status  formats.TaskStatus
	Allowed []formats.TaskStatus
}

// Error names the task, its status and what the command starts from.
func (e *StatusError) Error() string {
	if len(e.Allowed) == 0 {
		return fmt.Sprintf("task %d is %s; /%s cannot start from it", e.Task, e.Status, e.Command)
	}
	return fmt.Sprintf("task %d is %s; /%s starts from %s", e.Task, e.Status, e.Command, words(e.Allowed))
}

// ErrorCode is PRECONDITION.
func (e *StatusError) ErrorCode() formats.Code { return formats.CodePrecondition }

// Help says what to do next.
func (e *StatusError) Help() string {
	return fmt.Sprintf("run 'tercet state show %d' to see the task, 'tercet state transitions' for what may follow its status", e.Task)
}

// HeldError reports a task on which another session works.
type HeldError struct {
	Task   int
	Status formats.TaskStatus
	Lease  formats.Lease
}

// Error names the task and who holds it.
func (e *HeldError) Error() string {
	return fmt.Sprintf("task %d is %s: session %s (pid %d on %s) works on it since %s", e.Task, e.Status, e.Lease.Session, e.Lease.PID, e.Lease.Host, e.Lease.Taken)
}

// ErrorCode is LEASE_HELD.
func (e *HeldError) ErrorCode() formats.Code { return formats.CodeLeaseHeld }

// Help says what to do next.
func (e *HeldError) Help() string { return "wait until it has ended, then run the command again" }

func words(list []formats.TaskStatus) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = s.String()
	}
	return strings.Join(out, ", ")
}
