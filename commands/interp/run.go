package interp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/trace"
)

// run is the state of one run; one goroutine owns it.
type run struct {
	cfg    Config
	prog   *compile.Program
	args   argspec.Values
	depth  formats.Depth
	limits formats.Limits

	root     *scope
	base     map[string]any // $args, $task, $env and the loads, prepared
	task     *formats.Task
	feedback *formats.Feedback
	started  time.Time

	state     any  // of the present step, prepared; meaningless unless stateRead
	stateDoc  any  // what state was made from
	stateRead bool // in the present step
	stateSeen any  // read to bind the task, for the expressions before the first step

	steps     int            // counted against limits.Steps
	entered   int            // loop elements, each of which raises that limit by one
	used      map[string]int // how often a target with a max was taken, by step path and rule
	answered  map[string]int // how often the engine's gate of a step was answered without a person
	visits    map[string]int // by step path
	artifacts []formats.Artifact
	plain     []any // the artifacts as expressions see them
	listed    any   // the newest of them; nil when there are others
	unlinked  []formats.Artifact
	worktree  string
	tables    []formats.Table
	warnings  []string

	held      []int           // numbers of the tasks that this run put in progress
	uncertain bool            // a call of the status-sync manager ended without telling what it did
	during    bool            // the preflight's condition holds
	recorded  bool            // the journal has the beginning of the run
	began     bool            // a step had run
	worked    bool            // a worker was called: the task may have changed
	after     bool            // in Error Handling
	last      place           // of the last step that did not pass
	open      []formats.Issue // of the same
	dry       dryRun

	flow
}

// place is where in the file and in the run something happened.
type place struct {
	path string
	pos  formats.Pos
}

// Run executes the program. The error is nil but for a program that cannot be used: failures of agents and of the
// engine come as a Return with their code.
func (rn *Runner) Run(ctx context.Context, p *compile.Program, v argspec.Values,
	d formats.Depth,
) (formats.Return, error) {
	if p == nil {
		return formats.Return{}, formats.Fail(formats.CodeBug, "", "a run needs a program, got nil")
	}
	r := &run{
		cfg: rn.cfg, prog: p, args: v, depth: d, feedback: rn.cfg.Feedback,
		limits: lower(p.Limits.WithDefaults(), rn.cfg.Limits), started: rn.cfg.Clock.Now(),
		used: map[string]int{}, answered: map[string]int{}, visits: map[string]int{}, base: map[string]any{}, flow: newFlow(),
	}
	r.dry.on = rn.cfg.DryRun
	r.dry.returns = maps.Clone(rn.cfg.Stubs)
	r.root = newScope(nil, p.File.Steps, rn.cfg.Prefix)
	ctx, cancel := context.WithTimeoutCause(ctx, r.limits.Duration, &formats.Failure{
		Code: formats.CodeTimeout, Message: fmt.Sprintf("the run took longer than %s", r.limits.Duration),
		Help: "finished work is kept; raise limits.duration in the command file, or run the command again",
	})
	defer cancel()
	ret, err := r.execute(ctx)
	if err != nil {
		ret = r.failed(ctx, err)
	}
	return r.finish(ctx, ret), nil
}

// lower takes the smaller of two limits where the second is set.
func lower(a, b formats.Limits) formats.Limits {
	least := func(x *int, y int) {
		if y > 0 {
			*x = min(*x, y)
		}
	}
	least(&a.Rollbacks, b.Rollbacks)
	least(&a.Retries, b.Retries)
	least(&a.Visits, b.Visits)
	least(&a.Steps, b.Steps)
	least(&a.Elements, b.Elements)
	least(&a.Parallel, b.Parallel)
	if a.Spawns == 0 || b.Spawns != 0 && b.Spawns < a.Spawns {
		a.Spawns = b.Spawns
	}
	if a.Tokens == 0 || b.Tokens > 0 && b.Tokens < a.Tokens {
		a.Tokens = b.Tokens
	}
	if a.Cost == 0 || b.Cost > 0 && b.Cost < a.Cost {
		a.Cost = b.Cost
	}
	if b.Duration > 0 {
		a.Duration = min(a.Duration, b.Duration)
	}
	return a
}

// execute does everything up to the end of the workflow.
func (r *run) execute(ctx context.Context) (formats.Return, error) {
	if err := r.prepare(ctx); err != nil {
		return formats.Return{}, err
	}
	if err := r.journal(ctx, formats.Entry{Type: formats.EntryRunStarted, Data: map[string]any{
		"command": r.cfg.IDs.Command, "def_sha": r.prog.Hash(), "args": r.args.Map(), "depth": r.depth.Int(),
		"session_id": r.cfg.IDs.Session,
	}}); err != nil {
		return formats.Return{}, err
	}
	r.recorded = true
	if err := r.preflight(ctx); err != nil {
		return formats.Return{}, err
	}
	end, err := r.sequence(ctx, r.root)
	if err != nil {
		return formats.Return{}, err
	}
	if end != nil {
		return r.shaped(end.ret), nil
	}
	return r.shaped(formats.Return{
		Status: formats.StatusCompleted, Summary: r.done(),
		Artifacts: newest(r.artifacts),
	}), nil
}

// done is the summary of a command that says nothing of its own.
func (r *run) done() string { return "/" + r.prog.Name + " done" }

// preflight writes the in-progress status before the first step.
func (r *run) preflight(ctx context.Context) error {
	if !r.during {
		return nil
	}
	ret, err := r.sync(ctx, syncCall{path: "during", d: r.prog.Own.Begin})
	if err != nil {
		return err
	}
	if !ret.Outcome().Passes() {
		return failure(ret)
	}
	return nil
}

// syncCall is one call of the status-sync manager outside of the steps; task, if it is set, is the number to act on.
// One that is made anyway does not need the journal: a task that cannot be recorded as put back is put back all the
// same.
type syncCall struct {
	path   string
	d      *compile.Call
	task   int
	anyway bool
}

func (r *run) sync(ctx context.Context, s syncCall) (formats.Return, error) {
	var pos formats.Pos
	if d := r.prog.File.Front.During; d != nil {
		pos = d.Pos
	}
	op := bare(pos, s.path, s.path, "")
	ret, err := r.attempt(ctx, call{
		sc: r.root, op: op, d: s.d, path: s.path, attempt: 1, agent: s.d.Agent,
		info: *s.d.Info, task: s.task, anyway: s.anyway,
	})
	r.warnings = append(r.warnings, ret.Warnings...)
	return ret, err
}

// bare is a step that does not stand in the file.
func bare(pos formats.Pos, id, title, in string) *compile.Info {
	return &compile.Info{Step: &syntax.Step{Pos: pos, Title: title}, ID: id, Terms: compile.Terms{In: in}}
}

// failed turns an engine error into the return that the command ends with. Where the run was stopped, that is the
// reason, whatever broke off because of it.
func (r *run) failed(ctx context.Context, err error) formats.Return {
	if ctx.Err() != nil {
		err = stopped(ctx)
	}
	if open, ok := errors.AsType[*formats.GateOpenError](err); ok {
		return formats.Return{
			Status: formats.StatusBlocked, Said: formats.OutcomeSuspended, Summary: open.Error(), BlockedReason: open.Error(),
			NextSteps: open.Help(),
		}
	}
	if step, ok := errors.AsType[*StepError](err); ok {
		r.last = place{step.Step, step.Pos}
	}
	ret := formats.Failed(err)
	ret.Artifacts = newest(r.artifacts)
	return ret
}

// stopped gives the reason of a context that is over, with a code.
func stopped(ctx context.Context) error {
	cause := context.Cause(ctx)
	if _, ok := errors.AsType[formats.Coded](cause); ok {
		return cause
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &formats.Failure{
			Code: formats.CodeTimeout, Message: "the time of the run was over",
			Help: "finished work is kept; run the command again to go on",
		}
	}
	return &formats.Failure{
		Code: formats.CodeCancelled, Message: "cancelled",
		Help: "finished work is kept; run the command again to go on",
	}
}

func (r *run) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// journal appends one entry. It does not end with the run: what was done is recorded even when a signal came meanwhile.
func (r *run) journal(ctx context.Context, e formats.Entry) error {
	if r.dry.on {
		return nil
	}
	if err := r.cfg.Journal.Append(context.WithoutCancel(ctx), e); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

func (r *run) emit(e trace.Event) {
	e.Time, e.Run = r.cfg.Clock.Now(), r.cfg.IDs.Run
	e.FromDepth, e.ToDepth = r.depth.Int(), r.depth.Int()
	e.Path = slices.Clone(r.cfg.IDs.Path)
	r.cfg.Trace.Emit(e)
}

// failure makes the engine error that a failed return of the engine's own call amounts to.
func failure(ret formats.Return) error {
	if len(ret.Errors) == 0 {
		return &formats.Failure{Code: formats.CodeUnknown, Message: ret.Summary}
	}
	e := ret.Errors[0]
	return &formats.Failure{Code: e.Code, Message: e.Message, Help: e.Recommendation}
}
