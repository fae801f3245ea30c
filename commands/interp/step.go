package interp

import (
	"context"
	"fmt"

	"tercet/commands/compile"
	"tercet/formats"
	"tercet/internal/trace"
)

// ending is how a sequence stopped before its end. Told is an ending that the file asks for (return, fail), in contrast to
// a step that did not pass: that one ends only the loop's iteration it stands in.
type ending struct {
	ret  formats.Return
	told bool
}

// sequence runs the steps of a scope in order; nil means that it came to its end.
func (r *run) sequence(ctx context.Context, sc *scope) (*ending, error) {
	for _, op := range sc.ops {
		end, err := r.step(ctx, sc, op)
		if err != nil || end != nil {
			return end, err
		}
	}
	return nil, nil
}

// step runs one step until its result leads on.
func (r *run) step(ctx context.Context, sc *scope, op *compile.Op) (*ending, error) {
	path := sc.path + op.ID
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := r.count(1); err != nil {
		return nil, err
	}
	r.state = nil
	run, err := r.wanted(ctx, sc, op)
	if err != nil {
		return nil, r.at(op, path, err)
	}
	if !run {
		sc.steps[op.ID] = map[string]any{"status": string(formats.OutcomeSkipped)}
		r.emit(op, path, formats.OutcomeSkipped, "")
		return nil, r.journal(ctx, formats.Entry{Type: formats.EntryStepFinished, Step: path, Data: map[string]any{"status": formats.OutcomeSkipped}})
	}
	r.visits[path]++
	if err := r.journal(ctx, formats.Entry{Type: formats.EntryStepScheduled, Step: path, Visit: r.visits[path]}); err != nil {
		return nil, err
	}
	r.began = r.began || !r.after
	r.emit(op, path, "", "started")
	res, err := r.act(ctx, sc, op, path)
	if err != nil {
		return nil, r.at(op, path, err)
	}
	sc.steps[op.ID] = res.value
	if !res.outcome.Passes() {
		r.open = res.ret.Issues
	}
	if err := r.journal(ctx, formats.Entry{Type: formats.EntryStepFinished, Step: path, Visit: r.visits[path], Data: map[string]any{
		"status": res.outcome, "summary": res.ret.Summary, "issues": res.ret.Issues,
	}}); err != nil {
		return nil, err
	}
	r.emit(op, path, res.outcome, res.ret.Summary)
	if res.end != nil {
		return res.end, nil
	}
	return r.lead(ctx, sc, op, res)
}

// result is what a step did.
type result struct {
	outcome formats.Outcome
	ret     formats.Return // of a delegation or check; a stand-in for the others
	value   any            // what $steps.ID shows
	target  *compile.Target
	end     *ending // the action itself ends the command
}

// act shows the table and does the action.
func (r *run) act(ctx context.Context, sc *scope, op *compile.Op, path string) (result, error) {
	if op.Table != nil {
		if err := r.show(ctx, sc, op.Table); err != nil {
			return result{}, err
		}
	}
	switch a := op.Do.(type) {
	case *compile.Delegate:
		return r.delegate(ctx, sc, op, path, a)
	case *compile.Foreach:
		return r.foreach(ctx, sc, op, path, a)
	case *compile.Check:
		return r.check(ctx, sc, op, path, a)
	case *compile.Gate:
		return r.gate(ctx, sc, op, path, a)
	case *compile.Set:
		return r.set(ctx, sc, a)
	case *compile.Fail:
		return r.fail(ctx, sc, a)
	}
	return result{outcome: formats.OutcomeCompleted, value: map[string]any{"status": string(formats.OutcomeCompleted)}}, nil
}

// count adds to the steps of the run.
func (r *run) count(n int) error {
	if r.after {
		return nil
	}
	r.steps += n
	if r.steps > r.limits.Steps {
		return &LimitError{What: "steps", Limit: r.limits.Steps}
	}
	return nil
}

func (r *run) at(op *compile.Op, path string, err error) error {
	if _, ok := err.(*StepError); ok { //nolint:errorlint // only the outermost wrapping counts: the place is already named
		return err
	}
	return &StepError{File: r.prog.File, Pos: op.Pos, Step: path, Attempt: max(1, r.visits[path]), Err: err}
}

func (r *run) emit(op *compile.Op, path string, outcome formats.Outcome, message string) {
	now := r.cfg.Clock.Now()
	r.cfg.Trace.Emit(trace.Event{
		Time: now, Run: r.cfg.IDs.Run, Kind: "step", Name: op.Title, Step: path, FromDepth: r.depth.Int(), ToDepth: r.depth.Int(),
		Path: r.cfg.IDs.Path, Outcome: outcome.String(), Message: message,
	})
}

// resultOf is what expressions see of a return.
func resultOf(ret formats.Return, attempts int) map[string]any {
	fields := ret.Fields
	if fields == nil {
		fields = map[string]any{}
	}
	list := func(v any) any {
		if n := normal(v); n != nil {
			return n
		}
		return []any{}
	}
	return map[string]any{
		"status": ret.Outcome().String(), "summary": ret.Summary, "text": ret.Text, "artifacts": list(ret.Artifacts), "issues": list(ret.Issues),
		"fields": normal(fields), "errors": list(ret.Errors), "attempts": attempts, "class": string(ret.Class), "next_steps": ret.NextSteps,
		"blocked_reason": ret.BlockedReason,
	}
}

func (r *run) set(ctx context.Context, sc *scope, a *compile.Set) (result, error) {
	out := map[string]any{}
	for _, v := range a.Values {
		got, err := r.eval(ctx, sc, v.Expr, nil)
		if err != nil {
			return result{}, err
		}
		sc.vars["$"+v.Name], out[v.Name] = got, got
	}
	out["status"] = string(formats.OutcomeCompleted)
	return result{outcome: formats.OutcomeCompleted, value: out}, nil
}

func (r *run) fail(ctx context.Context, sc *scope, a *compile.Fail) (result, error) {
	message, err := r.text(ctx, sc, a.Message, nil)
	if err != nil {
		return result{}, err
	}
	ret := formats.Failed(&formats.Failure{Code: a.Code, Message: message})
	ret.Artifacts = newest(r.artifacts)
	return result{outcome: formats.OutcomeFailed, ret: ret, value: resultOf(ret, 1), end: &ending{ret: ret, told: true}}, nil
}

// wanted evaluates `when`; in a dry run a condition that hangs on a stubbed result counts as true.
func (r *run) wanted(ctx context.Context, sc *scope, op *compile.Op) (bool, error) {
	if op.When == nil {
		return true, nil
	}
	if r.dry.on && r.dry.unknown(op.When) {
		r.dry.add(sc, op, fmt.Sprintf("when %s (decided at run time)", op.When.Src))
		return true, nil
	}
	v, err := r.eval(ctx, sc, op.When, nil)
	return truth(v), err
}
