package interp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/formats"
	"tercet/internal/trace"
)

// afterLimit bounds Error Handling and the way back of the task.
const afterLimit = 5 * time.Second

// run is the state of one run; one goroutine owns it.
type run struct {
	cfg    Config
	prog   *compile.Program
	args   argspec.Values
	depth  formats.Depth
	limits formats.Limits

	root     *scope
	base     map[string]any // $args, $task, $env and the loads
	task     *formats.Task
	feedback *formats.Feedback
	state    any // snapshot of the present step, nil until it is read
	started  time.Time

	steps     int            // counted against limits.Steps
	used      map[string]int // how often a target with a max was taken, by step path and rule
	visits    map[string]int // by step path
	artifacts []formats.Artifact
	unlinked  []formats.Artifact
	worktree  string
	open      []formats.Issue // of the last step that did not pass
	tables    []formats.Table
	warnings  []string
	inside    bool // the preflight's status stands
	began     bool // a step had run
	worked    bool // a worker was called: the task may have changed
	after     bool // in Error Handling
	dry       dryRun
}

// Run executes the program. The error is nil but for a program or context that cannot be used: failures of agents and of
// the engine come as a Return with their code.
func (rn *Runner) Run(ctx context.Context, p *compile.Program, v argspec.Values, d formats.Depth) (formats.Return, error) {
	if p == nil {
		return formats.Return{}, errMissing
	}
	r := &run{
		cfg: rn.cfg, prog: p, args: v, depth: d, limits: lower(p.Limits, rn.cfg.Limits).WithDefaults(), started: rn.cfg.Clock.Now(),
		used: map[string]int{}, visits: map[string]int{}, base: map[string]any{},
	}
	r.dry.on = rn.cfg.DryRun
	r.root = newScope(nil, p.Ops, "")
	ctx, cancel := context.WithTimeoutCause(ctx, r.limits.Duration, &formats.Failure{
		Code: formats.CodeTimeout, Message: fmt.Sprintf("the run took longer than %s", r.limits.Duration),
	})
	defer cancel()
	ret, err := r.execute(ctx)
	if err != nil {
		ret = r.failed(ctx, err)
	}
	return r.finish(ctx, ret), nil
}

// lower takes the smaller of two limits where both are set.
func lower(a, b formats.Limits) formats.Limits {
	least := func(x *int, y int) {
		if y > 0 && (*x == 0 || y < *x) {
			*x = y
		}
	}
	least(&a.Rollbacks, b.Rollbacks)
	least(&a.Retries, b.Retries)
	least(&a.Visits, b.Visits)
	least(&a.Steps, b.Steps)
	least(&a.Elements, b.Elements)
	if b.Duration > 0 && (a.Duration == 0 || b.Duration < a.Duration) {
		a.Duration = b.Duration
	}
	return a
}

// execute does everything up to the end of the workflow.
func (r *run) execute(ctx context.Context) (formats.Return, error) {
	if err := r.prepare(ctx); err != nil {
		return formats.Return{}, err
	}
	if err := r.journal(ctx, formats.Entry{Type: formats.EntryRunStarted, Data: map[string]any{
		"command": r.cfg.IDs.Command, "def_sha": r.prog.Hash, "args": r.args.Map(), "depth": r.depth.Int(), "session_id": r.cfg.IDs.Session,
	}}); err != nil {
		return formats.Return{}, err
	}
	if err := r.preflight(ctx); err != nil {
		return formats.Return{}, err
	}
	end, err := r.sequence(ctx, r.root)
	if err != nil {
		return formats.Return{}, err
	}
	if end != nil {
		return end.ret, nil
	}
	return formats.Return{Status: formats.StatusCompleted, Summary: "/" + r.prog.Name + " done", Artifacts: r.artifacts}, nil
}

// preflight writes the in-progress status before the first step.
func (r *run) preflight(ctx context.Context) error {
	d := r.prog.During
	if d == nil {
		return nil
	}
	if d.When != nil {
		v, err := r.eval(ctx, r.root, d.When, nil)
		if err != nil {
			return err
		}
		if !truth(v) {
			return nil
		}
	}
	ret, err := r.sync(ctx, "during", d.Begin)
	if err != nil {
		return err
	}
	if !ret.Outcome().Passes() {
		return failure(ret)
	}
	r.warnings = append(r.warnings, ret.Warnings...)
	r.inside = true
	return nil
}

// sync makes one call of the status-sync manager outside of the steps.
func (r *run) sync(ctx context.Context, path string, d *compile.Delegate) (formats.Return, error) {
	op := &compile.Op{Pos: r.prog.During.Pos, ID: path, Title: path, Do: d}
	return r.attempt(ctx, call{sc: r.root, op: op, d: d, path: path, attempt: 1, agent: d.Agent, info: d.Info})
}

// failed turns an engine error into the return that the command ends with.
func (r *run) failed(ctx context.Context, err error) formats.Return {
	if ctx.Err() != nil {
		cause := context.Cause(ctx)
		if errors.Is(cause, context.Canceled) {
			cause = &formats.Failure{Code: formats.CodeCancelled, Message: "cancelled", Help: "run the command again: finished work is kept"}
		}
		err = cause
	}
	if open, ok := errors.AsType[*formats.GateOpenError](err); ok {
		return formats.Return{
			Status: formats.StatusBlocked, Said: formats.OutcomeSuspended, Summary: open.Error(), BlockedReason: open.Error(), NextSteps: open.Help(),
		}
	}
	return formats.Failed(err)
}

// finish runs Error Handling, puts the task back where the run did not finish its work, and stamps the return.
func (r *run) finish(ctx context.Context, ret formats.Return) formats.Return {
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterLimit)
	defer cancel()
	if r.cfg.Abort != nil {
		stop := context.AfterFunc(r.cfg.Abort, cancel)
		defer stop()
	}
	r.after = true
	r.feedback = nil
	if r.began && !r.dry.on {
		ret = r.errorHandling(after, ret)
	}
	if r.inside {
		ret = r.back(after, ret)
	}
	// A verdict of no is work that was done: only a run that failed or is blocked leaves no document.
	if (ret.Status == formats.StatusFailed || ret.Status == formats.StatusBlocked) && len(r.unlinked) > 0 && r.cfg.Discard != nil && !r.dry.on {
		if err := r.cfg.Discard(after, r.unlinked); err != nil {
			r.warnings = append(r.warnings, err.Error())
		}
		ret.Artifacts = without(ret.Artifacts, r.unlinked)
	}
	r.record(after, ret)
	r.stamp(&ret)
	if r.dry.on {
		ret = r.dry.tell(ret)
	}
	if err := r.journal(after, formats.Entry{Type: formats.EntryRunFinished, Data: map[string]any{"status": ret.Outcome(), "summary": ret.Summary}}); err != nil && ret.Outcome().Passes() {
		return formats.Failed(err)
	}
	r.cfg.Trace.Emit(trace.Event{
		Time: r.cfg.Clock.Now(), Run: r.cfg.IDs.Run, Kind: "run", Name: "/" + r.prog.Name, ToDepth: r.depth.Int(), Path: r.cfg.IDs.Path,
		Duration: r.cfg.Clock.Now().Sub(r.started), Outcome: ret.Outcome().String(),
	})
	return ret
}

// distinct keeps the first of equal lines: a return that ends the command brings its warnings a second time.
func distinct(lines []string) []string {
	var out []string
	for _, line := range lines {
		if !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	return out
}

func (r *run) stamp(ret *formats.Return) {
	ret.Summary = clip(ret.Summary)
	ret.Tables = r.tables
	ret.Warnings = distinct(append(r.warnings, ret.Warnings...))
	if ret.Artifacts == nil {
		ret.Artifacts = []formats.Artifact{}
	}
	if ret.Errors == nil {
		ret.Errors = []formats.ReturnError{}
	}
	if len(ret.Errors) > 0 {
		ret.Class = formats.ClassOf(ret.Errors[0])
	}
	ret.Metadata = formats.Metadata{
		Session: r.cfg.IDs.Session, Run: r.cfg.IDs.Run, Duration: r.cfg.Clock.Now().Sub(r.started).Seconds(), Agent: "/" + r.prog.Name,
		Depth: r.depth.Int(), Path: r.cfg.IDs.Path, Worktree: r.worktree,
	}
}

// back puts the task to its prior status, or, when a worker was called, to the one that the file names for failures.
// Documents of a partial run are linked on the way.
func (r *run) back(ctx context.Context, ret formats.Return) formats.Return {
	d := *r.prog.During.Back
	if f := r.prog.During.Failed; f != nil && r.worked && (ret.Outcome() == formats.OutcomeFailed || ret.Outcome() == formats.OutcomePartial) {
		d = *f
	}
	if ret.Outcome() == formats.OutcomePartial {
		d.Link = true
	}
	got, err := r.sync(ctx, "during/back", &d)
	switch {
	case err != nil:
		r.warnings = append(r.warnings, fmt.Sprintf("task %d keeps its status until its lease is stale: %s", r.task.Number, err))
	case !got.Outcome().Passes():
		r.warnings = append(r.warnings, fmt.Sprintf("task %d keeps its status until its lease is stale: %s", r.task.Number, got.Summary))
	default:
		r.inside = false
	}
	return ret
}

// errorHandling runs the steps with always; their failures are warnings, they never change what the command ends with.
func (r *run) errorHandling(ctx context.Context, ret formats.Return) formats.Return {
	kind := "failed"
	if ret.Outcome().Passes() {
		kind = "completed"
	}
	var ops []*compile.Op
	for _, op := range r.prog.Always {
		if op.Always == "any" || op.Always == kind {
			ops = append(ops, op)
		}
	}
	for _, op := range ops {
		sc := newScope(r.root, []*compile.Op{op}, "error_handling/")
		end, err := r.sequence(ctx, sc)
		switch {
		case err != nil:
			r.warnings = append(r.warnings, "error handling: "+err.Error())
		case end != nil && !end.ret.Outcome().Passes():
			r.warnings = append(r.warnings, "error handling: "+end.ret.Summary)
		}
	}
	return ret
}

// record keeps a failure that prevented completion in errors.json; what a person decided or mistyped is none.
func (r *run) record(ctx context.Context, ret formats.Return) {
	if r.dry.on || !r.began || ret.Outcome() != formats.OutcomeFailed || len(ret.Errors) == 0 {
		return
	}
	e := ret.Errors[0]
	switch e.Code {
	case formats.CodeCancelled, formats.CodeRejected, formats.CodeUsage, formats.CodeInvalidReturn:
		return
	default:
	}
	p := formats.Problem{
		Type: string(e.Type), Severity: "critical", Message: string(e.Code) + ": " + e.Message, Action: e.Recommendation, Auto: e.Recoverable,
		Context: formats.ProblemContext{Session: r.cfg.IDs.Session, Run: r.cfg.IDs.Run, Command: r.cfg.IDs.Command, File: r.prog.File},
		Path:    r.cfg.IDs.Path, Depth: r.depth.Int(),
	}
	if r.task != nil {
		p.Context.Task = r.task.Number
	}
	if err := r.cfg.Problems.Record(ctx, p); err != nil {
		r.warnings = append(r.warnings, "errors.json: "+err.Error())
	}
}

func (r *run) journal(ctx context.Context, e formats.Entry) error {
	if r.dry.on {
		return nil
	}
	if err := r.cfg.Journal.Append(ctx, e); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// failure makes the engine error that a failed return of the engine's own call amounts to.
func failure(ret formats.Return) error {
	if len(ret.Errors) == 0 {
		return &formats.Failure{Code: formats.CodeUnknown, Message: ret.Summary}
	}
	e := ret.Errors[0]
	return &formats.Failure{Code: e.Code, Message: e.Message, Help: e.Recommendation}
}

func clip(s string) string {
	if r := []rune(s); len(r) > formats.MaxSummary {
		return string(r[:formats.MaxSummary-1]) + "…"
	}
	return s
}

func without(list, gone []formats.Artifact) []formats.Artifact {
	var out []formats.Artifact
	for _, a := range list {
		found := false
		for _, g := range gone {
			found = found || (a.Path == g.Path && a.Type.IsDocument())
		}
		if !found {
			out = append(out, a)
		}
	}
	return out
}
