package interp

import (
	"fmt"
	"slices"

	"tercet/formats"
)

// report is what the return of the run says beside its outcome.
type report struct {
	tables      []formats.Table
	warnings    []string
	failures    []formats.Problem // of workers; what the run got over is no critical error
	overrides   []any             // what the user accepted against a rule
	lastFailure stepError         // the place of the last step that did not pass
	openIssues  []formats.Issue   // of that step
}

func (p *report) warn(format string, args ...any) {
	p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
}

// failed notes a step that did not pass.
func (p *report) failed(at stepError, issues []formats.Issue) {
	p.lastFailure = at
	p.openIssues = issues
}

// allWarnings are the warnings of the run and some others, each once.
func (p *report) allWarnings(others []string) []string {
	var out []string
	for _, line := range slices.Concat(p.warnings, others) {
		if !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	return out
}

// recordProblems writes to errors.json: the failure that ended the run as critical, and failures
// that it survived as warnings. What the user decided or mistyped is left out.
func (r *run) recordProblems(ret formats.Return) {
	if !r.stepStarted {
		return
	}
	var list []formats.Problem
	if ret.Outcome() == formats.OutcomeFailed {
		last := r.problem(ret, r.report.lastFailure)
		last.Severity = "critical"
		same := func(p formats.Problem) bool {
			return p.Message == last.Message
		}
		// a worker's failure ends the run
		if at := slices.IndexFunc(r.report.failures, same); at >= 0 {
			last.Path = r.report.failures[at].Path
			last.Depth = r.report.failures[at].Depth
		}
		list = append(list, last)
	}
	list = append(list, r.report.failures...)

	recorded := map[string]bool{"": true} // a problem without a message is none
	for _, p := range list {
		if recorded[p.Message] {
			continue
		}
		recorded[p.Message] = true
		if err := r.cfg.Problems.Record(r.main.ctx, p); err != nil {
			r.report.warn("errors.json: %s", err)
		}
	}
}

// problem is a failed return as errors.json has it. It has no message if it is not to be recorded.
func (r *run) problem(ret formats.Return, at stepError) formats.Problem {
	if len(ret.Errors) == 0 || slices.Contains([]formats.Code{
		formats.CodeCancelled, formats.CodeRejected, formats.CodeUsage,
	}, ret.Errors[0].Code) {
		return formats.Problem{}
	}

	e := ret.Errors[0]
	p := formats.Problem{
		Type:     string(e.Type),
		Severity: "warning",
		Message:  string(e.Code) + ": " + e.Message,
		Action:   e.Recommendation,
		Auto:     e.Recoverable,
		Context: formats.ProblemContext{
			Session: r.cfg.IDs.Session,
			Run:     r.cfg.IDs.Run,
			Command: r.cfg.IDs.Command,
			File:    r.prog.File.Name,
			Step:    at.Step,
			Line:    at.Pos.Line,
		},
		Path:  slices.Clone(r.cfg.IDs.Path),
		Depth: r.depth.Int(),
	}

	if r.tasks.commandTask != nil {
		p.Context.Task = r.tasks.commandTask.Number
	}
	return p
}
