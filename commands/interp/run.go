package interp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/formats"
)

// run is the state of one run; one goroutine owns it.
type run struct {
	cfg    Config
	prog   *compile.Program
	args   argspec.Values
	depth  formats.Depth
	limits formats.Limits

	root *scope // with $args, $task, $env and the loads
	main frame  // of the run's own sequence; its context changes with the phases of the run

	journal   runJournal
	counts    counters
	budget    budget
	tasks     tasks
	tree      worktrees
	artifacts artifacts
	board     board
	// pendingPublications are those of the workers of a step, by its path, not yet on the board.
	pendingPublications map[string][]string
	liveBoards          *liveBoards
	state               stateMemo
	suspension          suspension
	dry                 dryRun

	started        time.Time // the run
	processStarted time.Time // the work of this process on it
	leaveAdmission func()    // ends what Config.Admit gave

	effects effects
	// lockstep gives branches their next answers together, because what one worker left of the
	// budget, or posted, is there for all that start next.
	lockstep bool
	// concurrentSteps are the steps of concurrent branches, by path. Only verify collects them.
	concurrentSteps map[string]bool

	events    events
	loads     loads
	stalls    stalls
	sessions  agentSessions
	undoable  []step // whose effect can be compensated, oldest first
	nextAgent nextAgent

	changesStatus bool // the task's status changes while the command runs
	commits       bool // a step commits files in the project's own checkout
	consented     bool // --yes answered a gate, also where the run began without it
	stepStarted   bool
	workerCalled  bool // the task may have changed
	finishing     bool // the workflow is over: Error Handling, or what follows it

	report report
}

// newRun prepares a run of a program. ctx is the context of its workflow.
func newRun(
	ctx context.Context,
	cfg Config,
	p *compile.Program,
	v argspec.Values,
	d formats.Depth,
) *run {
	limits := Lower(p.Limits.WithDefaults(), cfg.Limits)
	r := &run{
		cfg:    cfg,
		prog:   p,
		args:   v,
		depth:  d,
		limits: limits,
		counts: newCounters(),
		budget: budget{limits: limits},
		tasks: tasks{
			prog:           p,
			session:        cfg.IDs.Session,
			howToReach:     cfg.HowToReach,
			progressStatus: map[int]string{},
		},
		artifacts:           artifacts{linked: map[string]bool{}},
		dry:                 dryRun{on: cfg.DryRun, reads: p.Reads, returns: maps.Clone(cfg.Stubs)},
		started:             cfg.Clock.Now(),
		processStarted:      cfg.Clock.Now(),
		leaveAdmission:      func() {},
		concurrentSteps:     map[string]bool{},
		loads:               loads{sums: map[string]string{}},
		stalls:              stalls{},
		sessions:            agentSessions{},
		board:               board{},
		pendingPublications: map[string][]string{},
		liveBoards:          &liveBoards{topics: map[string][]livePost{}},
		commits:             p.Commits(),
	}

	r.suspension = suspension{run: cfg.IDs.Run}
	r.events = events{
		sink:  cfg.Trace,
		clock: cfg.Clock,
		ids:   cfg.IDs,
		depth: d.Int(),
		off:   cfg.DryRun,
	}

	r.journal = runJournal{
		ctx:         context.WithoutCancel(ctx),
		store:       cfg.Journal,
		off:         cfg.DryRun,
		prefix:      cfg.Prefix,
		pauseReason: r.pauseReason,
	}

	r.effects = effects{
		agents:      cfg.Agents,
		clock:       cfg.Clock,
		journal:     &r.journal,
		pause:       cfg.Pause,
		pauseReason: r.pauseReason,
		slots:       make(chan struct{}, max(1, limits.Parallel)),
	}

	if cfg.Resumed {
		r.journal.takeOver = r.takeOver
	}
	r.lockstep = r.budget.isBounded()
	for info := range p.Infos() {
		r.lockstep = r.lockstep || info.Terms.Board != ""
	}

	r.main = r.mainFrame(ctx)
	outermost := &scope{run: r, prefix: cfg.Prefix, journalPrefix: cfg.Prefix}
	r.root = outermost.child(p.File.Steps, "")
	return r
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

	duration := Lower(p.Limits.WithDefaults(), rn.cfg.Limits).Duration
	left := max(1, duration-rn.cfg.Spent)
	timed, over := context.WithCancelCause(ctx)
	defer over(nil)
	timer := time.AfterFunc(left, func() {
		over(formats.Fail(formats.CodeTimeout,
			"finished work is kept; raise limits.duration in the command file, or run the "+
				"command again",
			"the run took longer than %s", duration))
	})
	defer timer.Stop()
	stoppable, leave := mergeContexts(timed, rn.cfg.Stop)
	defer leave()

	r := newRun(stoppable, rn.cfg, p, v, d)
	if rn.cfg.Admit != nil && rn.cfg.Prefix == "" {
		r.journal.admit = func() error {
			timer.Stop()
			err := r.admit()
			timer.Reset(max(1, left-r.cfg.Clock.Now().Sub(r.processStarted)))
			return err
		}
	}
	defer func() { r.leaveAdmission() }()

	ret, err := r.execute()
	if rn.cfg.Prefix != "" && err != nil &&
		(asInterrupt(err) != nil || isIOError(err) || interruptOf(r.main.ctx) != nil) {
		// the command suspends the run; these steps go on when it is resumed
		return formats.Return{}, err
	}

	if err != nil {
		// a question that needs a person stops the command; any other one blocks its step
		open := asGateOpen(err)
		needsPerson := open != nil && open.Gate.NeedsPerson
		ret = r.failedReturn(err)
		if rn.cfg.Prefix != "" &&
			(r.journal.diverged != nil || asLater(err) != nil || needsPerson) {
			return formats.Return{}, err // the whole run stops here
		}
	}

	ret = r.finish(ret)
	if rn.cfg.Verify == nil || r.journal.diverged == nil {
		return ret, nil
	}

	if end, ok := errors.AsType[*formats.EndError](r.journal.diverged); ok {
		end.Counted = r.snapshotCounters()
	}
	return ret, r.journal.diverged
}

// admit waits until the run may do something new. The time of the run begins after that: what came
// before took no time.
func (r *run) admit() error {
	began := r.cfg.Clock.Now()
	ctx, stop := mergeContexts(r.main.ctx, r.cfg.Pause)
	defer stop()
	leave, err := r.cfg.Admit(ctx)
	r.leaveAdmission = leave
	r.processStarted = r.processStarted.Add(r.cfg.Clock.Now().Sub(began))
	return err
}

// execute does everything up to the end of the workflow.
func (r *run) execute() (formats.Return, error) {
	if err := r.begin(); err != nil {
		if r.cfg.IfNeeded && r.tasks.isPast() {
			task := r.tasks.commandTask
			summary := fmt.Sprintf("nothing to do: task %d is %s", task.Number, task.Status)
			return formats.Return{Status: formats.StatusCompleted, Summary: summary}, nil
		}
		return formats.Return{}, err
	}
	r.emitRunStart()

	if r.changesStatus { // the status is written before the first step
		if err := r.main.engineCall("during", r.prog.EngineCalls.Begin).mustPass(); err != nil {
			return formats.Return{}, err
		}
	}

	end, err := r.root.walk(r.main, r.root.list, "")
	if err != nil {
		return formats.Return{}, err
	}
	if end != nil {
		return r.checkOutput(end.ret), nil
	}
	return r.checkOutput(formats.Return{
		Status:    formats.StatusCompleted,
		Summary:   r.defaultSummary(),
		Artifacts: r.artifacts.newest(),
	}), nil
}

// defaultSummary is the summary of a command that says nothing of its own.
func (r *run) defaultSummary() string {
	return "/" + r.prog.Name + " done"
}

// failedReturn turns an engine error into the return that the command ends with. Where the run was
// stopped, that is the reason, whatever broke off because of it.
func (r *run) failedReturn(err error) formats.Return {
	diverged := r.journal.diverged != nil
	if r.main.ctx.Err() != nil && !diverged {
		err = stopReason(r.main.ctx)
	}
	if signal := asInterrupt(err); signal != nil && !diverged {
		// at a terminal a run that has finished no step is not worth resuming
		keeps := r.journal.store.Resumable() || signal.Why == formats.ReasonClosed
		if r.journal.begun && keeps {
			cancelled := formats.Fail(formats.CodeCancelled, "", "%s", signal)
			return r.withArtifacts(r.suspension.interruptedReturn(cancelled, signal.Why))
		}
		err = formats.Fail(formats.CodeCancelled, "no step was finished; run the command again",
			"%s", signal)
		r.recordStop(err)
	} else if r.main.ctx.Err() != nil && !diverged {
		r.recordStop(err)
	} else if before, ok := errors.AsType[*formats.StoppedError](err); ok {
		err = before.Failure
		r.recordStop(err)
	}

	if open := asGateOpen(err); open != nil {
		return r.suspension.gateReturn(open)
	}

	if at, ok := errors.AsType[*stepError](err); ok {
		r.report.lastFailure = *at
	}
	if isDiverged(err) {
		r.journal.diverged = err
	}
	if wait := asLater(err); wait != nil {
		autoResumeAt := time.Time{}
		if r.limits.AutoResume > 0 {
			autoResumeAt = r.cfg.Clock.Now().Add(r.limits.AutoResume).UTC()
		}
		step := r.report.lastFailure.Step
		return r.withArtifacts(r.suspension.postponedReturn(step, wait, autoResumeAt))
	}
	if isIOError(err) && r.journal.begun && r.journal.diverged == nil {
		return r.withArtifacts(r.suspension.interruptedReturn(err, formats.Failed(err).Summary))
	}

	return r.withArtifacts(formats.Failed(err))
}

// withArtifacts is a return with what the run made.
func (r *run) withArtifacts(ret formats.Return) formats.Return {
	ret.Artifacts = r.artifacts.newest()
	return ret
}
