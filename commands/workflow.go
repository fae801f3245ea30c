package commands

import (
	"context"
	"sync"
	"time"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/interp"
	"tercet/commands/syntax"
	"tercet/formats"
)

// Workflow is a subagent whose file has steps; the engine runs them one level deeper. It is safe
// for concurrent use.
type Workflow struct {
	File string
	Src  []byte
	Info formats.AgentInfo
	Env  compile.Env
	// Config gives one delegation everything that its steps can reach. Its approver gets no
	// question of the steps, because only a command talks to the user.
	Config func(ctx context.Context, r formats.Request) (interp.Config, error)

	once sync.Once
	prog *compile.Program
	err  error
}

// Program compiles the steps, once.
func (w *Workflow) Program() (*compile.Program, error) {
	w.once.Do(func() {
		w.prog, w.err = compile.Workflow(syntax.ReadWorkflow(w.File, w.Src), w.Info, w.Env)
	})
	return w.prog, w.err
}

// Run runs the steps for one delegation.
func (w *Workflow) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	ret, _, err := w.RunCounted(ctx, r)
	return ret, err
}

// RunCounted is Run, and gives what the workers of the steps used. They draw on the caller's share
// of the budget.
func (w *Workflow) RunCounted(
	ctx context.Context,
	r formats.Request,
) (ret formats.Return, used formats.Metadata,
	err error,
) {
	prog, err := w.Program()
	if err != nil {
		return formats.Return{}, used, err
	}

	cfg, err := w.Config(ctx, r)
	if err != nil {
		return formats.Return{}, used, err
	}
	b := r.Budget
	cfg.Limits = interp.Lower(cfg.Limits, formats.Limits{
		Tokens:   b.Tokens,
		Cost:     b.Cost,
		Spawns:   b.Spawns,
		Duration: time.Duration(b.Seconds * float64(time.Second)),
	})
	cfg.Approve = stepApprover{cfg.Approve}
	cfg.Input = r.Input
	cfg.Task = r.Task
	cfg.Feedback = r.Feedback
	cfg.Dir = r.Dir
	cfg.Prefix = interp.StepPrefix(r)
	cfg.IDs = interp.IDs{
		Run:     r.Run,
		Session: r.Session,
		Command: r.Command,
		Path:    r.Path,
	}
	runner, err := interp.New(cfg)
	if err != nil {
		return formats.Return{}, used, err
	}

	ret, err = runner.Run(ctx, prog, argspec.Values{}, r.Depth)
	used = formats.Metadata{
		Tokens: ret.Metadata.Tokens,
		Cost:   ret.Metadata.Cost,
		Spawns: ret.Metadata.Spawns,
	}
	// the Dispatcher measures
	ret.Metadata = formats.Metadata{Runner: "workflow"}
	ret.Class = ""
	ret.Tables = nil
	return ret, used, err
}

// stepApprover leaves the questions of a subagent's steps open, but for those that are the user's
// wherever they arise.
type stepApprover struct{ command interp.Approver }

func (s stepApprover) Approve(ctx context.Context, g formats.Gate) (formats.Decision, error) {
	if g.NeedsPerson {
		return s.command.Approve(ctx, g)
	}
	return formats.Decision{}, &formats.GateOpenError{Gate: g}
}

// Remember hands the answer on: it was the user's.
func (s stepApprover) Remember(run, digest string, d formats.Decision) {
	s.command.Remember(run, digest, d)
}
