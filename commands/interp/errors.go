package interp

import (
	"fmt"
	"strings"

	"tercet/formats"
)

// StepError is a failure of the engine inside a step. Err is the cause and is inspected for its code. The run matches
// it: what names its step is not wrapped again, and the place goes into errors.json.
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

// errLimit is the failure of a run that reached one of its limits.
func errLimit(what string, limit int) error {
	help := "finished work is kept; look at the run with a dry run, or raise limits in the command file if it is meant " +
		"to be this long"
	return formats.Fail(formats.CodeLimit, help, "the run reached its limit of %d %s", limit, what)
}

// errBudget refuses a worker because the run has used what it may use of something.
func errBudget(what, limit, used string) error {
	help := "finished work is kept; raise limits in the command file or in config.yaml, and run the command again"
	return formats.Fail(formats.CodeLimit, help, "the run may use %s %s and has used %s", limit, what, used)
}

// errStatus refuses a task whose status does not let the command start.
func (r *run) errStatus(allowed []formats.TaskStatus) error {
	starts := "cannot start from it"
	if len(allowed) > 0 {
		starts = "starts from " + words(allowed)
	}
	help := fmt.Sprintf("run 'tercet state show %d' to see the task, 'tercet state transitions' for what may follow "+
		"its status", r.task.Number)
	return formats.Fail(formats.CodePrecondition, help, "task %d is %s; /%s %s", r.task.Number, r.task.Status,
		r.prog.Name, starts)
}

func words(list []formats.TaskStatus) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = s.String()
	}
	return strings.Join(out, ", ")
}
