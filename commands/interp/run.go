package interp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/trace"
)

// run is the state of one run; one goroutine owns it.
type run struct {
	ctx    context.Context // ends what is being done now: the workflow, later what comes after it
	cfg    Config
	prog   *compile.Program
	args   argspec.Values
	depth  formats.Depth
	limits formats.Limits

	root *scope // with $args, $task, $env and the loads
	main frame  // of the run's own sequence

	journal    runJournal
	counts     counters
	budget     budget
	tasks      tasks
	tree       worktrees
	artifacts  artifacts
	board      *board
	suspension suspension
	dry        dryRun

	started time.Time // the run
	since   time.Time // when this process took it up

	stateDoc      any // the document that was read last
	statePrepared any // the same, prepared

	slots    chan struct{}  // one for each effect that may be under way
	going    sync.WaitGroup // effects that are under way
	lockstep bool           // branches get their next answers together

	// passes of loops that are told with the first step that is done in them
	heads   []trace.Event
	besides map[string]bool   // while a journal is verified: the steps of concurrent branches
	loads   []string          // paths of the documents that it loaded
	entries map[string]string // of these, the hashes of those of a flow, by path
	rounds  map[string]rounds // of loops, by step path
	undo    []step            // whose effect can be taken back, oldest first
	// hinted is what the last worker of the sequence said: which agent comes next.
	hinted struct{ agent, next string }

	during  bool // the preflight's condition holds
	commits bool // a step commits files in the project's own checkout
	agreed  bool // --yes answered a gate, also where the run began without it
	began   bool // a step had run
	worked  bool // a worker was called: the task may have changed
	after   bool // in Error Handling

	// What the return tells.
	tables    []formats.Table
	warnings  []string
	setbacks  []formats.Problem // failures of workers; what the run got over is no critical error
	overrides []any             // what the user accepted against a rule
	last      stepError         // where the last step that did not pass is
	open      []formats.Issue   // of the same
}

// Run executes the program. Failures of agents and of the engine come as a Return with their code.
// The error is nil except for an unusable program, a replay that ends, and a workflow subagent
// whose command has to wait or stop.
func (rn *Runner) Run(ctx context.Context, p *compile.Program, v argspec.Values,
	d formats.Depth,
) (formats.Return, error) {
	if p == nil {
		return formats.Return{}, formats.Fail(formats.CodeBug, "", "a run needs a program, got nil")
	}
	r := &run{
		cfg:       rn.cfg,
		prog:      p,
		args:      v,
		depth:     d,
		limits:    Lower(p.Limits.WithDefaults(), rn.cfg.Limits),
		started:   rn.cfg.Clock.Now(),
		since:     rn.cfg.Clock.Now(),
		entries:   map[string]string{},
		rounds:    map[string]rounds{},
		artifacts: artifacts{linked: map[string]bool{}},
		besides:   map[string]bool{},
		tasks:     tasks{entered: map[int]string{}},
		commits:   p.Commits(),
		counts:    newCounters(),
	}
	r.slots = make(chan struct{}, max(1, r.limits.Parallel))
	// What one worker left of its share, or posted, is there for all that start next.
	r.budget.limits = r.limits
	r.lockstep = r.budget.bounded()
	for info := range p.Infos() {
		r.lockstep = r.lockstep || info.Terms.Board != ""
	}
	r.journal = runJournal{
		ctx:    context.WithoutCancel(ctx),
		store:  rn.cfg.Journal,
		off:    rn.cfg.DryRun,
		prefix: rn.cfg.Prefix,
		paused: r.paused,
	}
	if rn.cfg.Resumed {
		r.journal.takeOver = r.takeOver
	}
	r.main = r.mainFrame()
	r.board = newBoard(r.main.journal.append)
	r.dry.on = rn.cfg.DryRun
	r.dry.returns = maps.Clone(rn.cfg.Stubs)
	r.root = (&scope{
		run:    r,
		prefix: rn.cfg.Prefix,
		trail:  rn.cfg.Prefix,
	}).inner(p.File.Steps, "")
	var cancel func()
	r.ctx, cancel = context.WithTimeoutCause(
		ctx,
		max(1, r.limits.Duration-rn.cfg.Spent),
		formats.Fail(formats.CodeTimeout,
			"finished work is kept; raise limits.duration in the command file, or run the "+
				"command again",
			"the run took longer than %s", r.limits.Duration),
	)
	defer cancel()
	var leave func()
	r.ctx, leave = until(r.ctx, rn.cfg.Stop)
	defer leave()
	ret, err := r.execute()
	if rn.cfg.Prefix != "" &&
		(interrupt(err) != nil || ioError(err) || err != nil && r.interrupted() != nil) {
		// the command suspends the run; these steps go on when it is resumed
		return formats.Return{}, err
	}
	if err != nil {
		// a question that is the user's stops the command; any other one blocks its step
		open := isOpen(err)
		users := open != nil && open.Gate.NeedsPerson
		ret = r.failed(err)
		if rn.cfg.Prefix != "" && (r.journal.diverged != nil || later(err) != nil || users) {
			return formats.Return{}, err // the whole run stops here
		}
	}
	ret = r.finish(ret)
	if rn.cfg.Look == nil || r.journal.diverged == nil {
		return ret, nil
	}

	if end, ok := errors.AsType[*formats.EndError](r.journal.diverged); ok {
		end.Counted = r.counted()
	}
	return ret, r.journal.diverged
}

// Lower takes the smaller of each pair of limits, where the second is set. AutoResume bounds no
// work: there the second wins.
func Lower(a, b formats.Limits) formats.Limits {
	least(&a.Rollbacks, b.Rollbacks)
	least(&a.Retries, b.Retries)
	least(&a.Visits, b.Visits)
	least(&a.Steps, b.Steps)
	least(&a.Elements, b.Elements)
	least(&a.Parallel, b.Parallel)
	least(&a.Spawns, b.Spawns)
	least(&a.Tokens, b.Tokens)
	least(&a.Cost, b.Cost)
	least(&a.Duration, b.Duration)
	a.AutoResume = cmp.Or(b.AutoResume, a.AutoResume)
	return a
}

// least lowers a limit; 0 is none.
func least[T cmp.Ordered](limit *T, by T) {
	var none T
	if by != none && (*limit == none || by < *limit) {
		*limit = by
	}
}

// execute does everything up to the end of the workflow.
func (r *run) execute() (formats.Return, error) {
	if err := r.begin(); err != nil {
		if r.cfg.IfNeeded && r.past() {
			summary := fmt.Sprintf("nothing to do: task %d is %s", r.tasks.own.Number, r.tasks.own.Status)
			return formats.Return{Status: formats.StatusCompleted, Summary: summary}, nil
		}
		return formats.Return{}, err
	}
	r.tellBegin()
	if r.during { // the status is written before the first step
		if err := r.must(r.own(r.main, "during", r.prog.Own.Begin)); err != nil {
			return formats.Return{}, err
		}
	}
	end, err := r.root.walk(r.main, r.root.list, "")
	if err != nil {
		return formats.Return{}, err
	}
	if end != nil {
		return r.shaped(end.ret), nil
	}
	return r.shaped(formats.Return{
		Status:    formats.StatusCompleted,
		Summary:   r.done(),
		Artifacts: r.artifacts.newest(),
	}), nil
}

// done is the summary of a command that says nothing of its own.
func (r *run) done() string {
	return "/" + r.prog.Name + " done"
}

// own is a call of the engine itself, outside of the steps.
func (r *run) own(fr frame, id string, to *compile.Call) call {
	var pos formats.Pos
	if d := r.prog.File.Front.During; d != nil {
		pos = d.Pos
	}
	c := call{
		step:    r.root.bare(fr, pos, id, id, ""),
		to:      to,
		attempt: 1,
	}
	r.counts.reopen(c.step.path)
	return c
}

// bare is a step that does not stand in the file.
func (sc *scope) bare(fr frame, pos formats.Pos, id, title, in string) step {
	return sc.at(fr, &compile.Info{
		Step:  &syntax.Step{Pos: pos, Title: title},
		ID:    id,
		Terms: compile.Terms{In: in},
	})
}

// single makes a call that is tried once, and keeps its warnings.
func (r *run) single(c call) (formats.Return, error) {
	ret, err := c.try()
	r.warnings = append(r.warnings, ret.Warnings...)
	c.tellWarnings(ret)
	return ret, err
}

// must makes a call of the engine without which the run cannot go on.
func (r *run) must(c call) error {
	return cause(r.single(c))
}

// may makes a call of the engine; one that does not work is a warning, which begins with what
// follows from it.
func (r *run) may(c call, otherwise string) {
	ret, err := r.single(c)
	switch {
	case err != nil:
		r.warn("%s: %s", otherwise, err)
	case !ret.Outcome().Passes():
		r.warn("%s: %s", otherwise, ret.Summary)
	}
}

// failed turns an engine error into the return that the command ends with. Where the run was
// stopped, that is the reason, whatever broke off because of it.
func (r *run) failed(err error) formats.Return {
	if r.ctx.Err() != nil && r.journal.diverged == nil {
		err = stopped(r.ctx)
	}
	if signal := interrupt(err); signal != nil && r.journal.diverged == nil {
		if r.journal.begun && r.journal.store.Resumable() {
			return r.cut(
				formats.Fail(formats.CodeCancelled, "", "%s", signal),
				formats.ReasonInterrupted,
			)
		}
		err = formats.Fail(formats.CodeCancelled, "no step was finished; run the command again",
			"%s", signal)
		r.halt(err)
	} else if r.ctx.Err() != nil && r.journal.diverged == nil {
		r.halt(err)
	} else if before, ok := errors.AsType[*formats.StoppedError](err); ok {
		err = before.Failure
		r.halt(err)
	}

	if open := isOpen(err); open != nil {
		ret := r.suspended(open)
		ret.Artifacts = nil
		return ret
	}

	if at, ok := errors.AsType[*stepError](err); ok {
		r.last = *at
	}
	if isDiverged(err) {
		r.journal.diverged = err
	}
	if wait := later(err); wait != nil {
		return r.postponed(wait)
	}
	if ioError(err) && r.journal.begun && r.journal.diverged == nil {
		return r.cut(err, formats.Failed(err).Summary)
	}

	ret := formats.Failed(err)
	ret.Artifacts = r.artifacts.newest()
	return ret
}

// stopped gives the reason of a context that is over, with a code.
func stopped(ctx context.Context) error {
	cause := context.Cause(ctx)
	if _, ok := errors.AsType[formats.Coded](cause); ok {
		return cause
	}
	help := "finished work is kept; run the command again to go on"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return formats.Fail(formats.CodeTimeout, help, "the time of the run was over")
	}
	return formats.Fail(formats.CodeCancelled, help, "cancelled")
}

func (r *run) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// halt writes down that the run was stopped: the process that goes on with it handles that, and
// does no more of the work.
func (r *run) halt(err error) {
	if !r.journal.begun || r.cfg.Prefix != "" {
		return
	}
	stop := formats.Entry{Type: formats.EntryStopped, Data: keep(err)}
	if err := r.main.journal.append(stop); err != nil {
		r.warn("%s", err)
	}
}
