package interp

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/trace"
)

// ending is how a sequence stopped before its end. Told is an ending that the file asks for (return, fail), in contrast
// to a step that did not pass: that one ends only the loop's iteration it stands in.
type ending struct {
	ret  formats.Return
	told bool
	over bool   // a step of Between Steps sent its host back: the host was run again, with everything around it
	jump string // id of the step at which to go on
}

// leaves tells whether the ending leaves the loop it stands in.
func (e *ending) leaves() bool { return e.told || e.jump != "" }

// sequence runs the steps of a scope in order; nil means that it came to its end.
func (r *run) sequence(ctx context.Context, sc *scope) (*ending, error) {
	return r.walk(ctx, sc, sc.list, "")
}

// step runs one step until its result leads on.
func (r *run) step(ctx context.Context, sc *scope, op *compile.Info) (*ending, error) {
	res, ran, err := r.once(ctx, sc, op)
	switch {
	case err != nil:
		return nil, err
	case !ran && res.end != nil && res.end.over:
		return nil, nil // a step before this one sent it back, and it was run with everything around it
	case res.end != nil:
		return res.end, nil
	case !ran:
		return nil, nil
	}
	r.post(op, res)
	if op.Undo != nil && (res.outcome.Passes() || res.outcome == formats.OutcomePartial) {
		r.undo = append(r.undo, undo{sc, op, sc.path + op.ID})
	}
	return r.lead(ctx, sc, op, res)
}

// once runs one step and keeps its result; ran is false for one that is skipped.
func (r *run) once(ctx context.Context, sc *scope, op *compile.Info) (res result, ran bool, err error) {
	path := sc.path + op.ID
	if ctx.Err() != nil {
		return res, false, context.Cause(ctx)
	}
	r.stateRead, r.stateSeen = false, nil
	run, err := r.wanted(ctx, sc, op)
	if err != nil {
		return res, false, r.at(op, path, err)
	}
	if !run {
		r.skip(sc, op.ID, op.Step)
		r.told(op, path, formats.OutcomeSkipped, "")
		return res, false, r.journal(ctx,
			formats.Entry{Type: formats.EntryStepFinished, Step: path, Data: map[string]any{"status": formats.OutcomeSkipped}})
	}
	if res.end, err = r.around(ctx, sc, op, op.Before); err != nil || res.end != nil {
		return res, false, err
	}
	if err := r.count(); err != nil {
		return res, false, r.at(op, path, err)
	}
	r.visits[path]++
	if err := r.journal(ctx, formats.Entry{
		Type: formats.EntryStepScheduled, Step: path,
		Visit: r.visits[path],
	}); err != nil {
		return res, false, r.at(op, path, err)
	}
	r.began = r.began || !r.after
	r.told(op, path, "", "started")
	res, err = r.act(ctx, sc, op, path)
	if err == nil {
		err = r.expect(ctx, sc, op, &res)
	}
	if err != nil {
		return res, false, r.at(op, path, err)
	}
	sc.done(op.ID, res.value)
	if err := r.journal(ctx, formats.Entry{
		Type: formats.EntryStepFinished, Step: path, Visit: r.visits[path],
		Data: map[string]any{
			"status": res.outcome, "summary": res.ret.Summary, "issues": res.ret.Issues,
		},
	}); err != nil {
		return res, false, r.at(op, path, err)
	}
	r.told(op, path, res.outcome, res.ret.Summary)
	if !res.outcome.Passes() {
		r.last, r.open = place{path, op.Pos}, res.ret.Issues
	}
	return res, true, nil
}

// result is what a step did.
type result struct {
	outcome  formats.Outcome
	ret      formats.Return // of a delegation or check; a stand-in for the others
	attempts int
	value    map[string]any // what $steps.ID shows
	target   *syntax.Target // where the answer of a gate leads
	end      *ending        // the action itself ends the command
}

// act shows the table and does the action.
func (r *run) act(ctx context.Context, sc *scope, op *compile.Info, path string) (result, error) {
	if op.Table != nil {
		if err := r.show(ctx, sc, op); err != nil {
			return result{}, err
		}
	}
	if op.Call != nil {
		return r.delegate(ctx, sc, op, path)
	}
	switch a := op.Action.(type) {
	case *syntax.Parallel:
		return r.parallel(ctx, sc, op, a)
	case *syntax.Foreach:
		return r.foreach(ctx, sc, op, path, a)
	case *syntax.Until:
		return r.until(ctx, sc, op, a)
	case *syntax.Group:
		return r.group(ctx, sc, op)
	case *syntax.Check:
		return r.check(ctx, sc, op, a)
	case *syntax.Gate:
		return r.gate(ctx, sc, op, asking{path: path, gate: a})
	case *syntax.Set:
		return r.set(ctx, sc, op, a)
	case *syntax.Fail:
		return r.fail(ctx, sc, op, a)
	}
	return result{
		outcome: formats.OutcomeCompleted,
		value:   map[string]any{"status": formats.OutcomeCompleted.String()},
	}, nil
}

// count adds to the steps of the run; each loop element that was entered allows one more.
func (r *run) count() error {
	if r.after {
		return nil
	}
	r.steps++
	if r.steps > r.limits.Steps+r.entered {
		return errLimit("steps", r.limits.Steps+r.entered)
	}
	return nil
}

func (r *run) at(op *compile.Info, path string, err error) error {
	if _, ok := err.(*StepError); ok { //nolint:errorlint // only the outermost wrapping counts: the place is already named
		return err
	}
	return &StepError{File: r.prog.File.Name, Pos: op.Pos, Step: path, Attempt: max(1, r.visits[path]), Err: err}
}

// told lets the trace know of a step that began (without an outcome) or ended.
func (r *run) told(op *compile.Info, path string, outcome formats.Outcome, message string) {
	r.emit(trace.Event{Kind: trace.Step, Name: op.Title, Step: path, Outcome: outcome.String(), Message: message})
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
		"status": ret.Outcome().String(), "summary": ret.Summary, "text": ret.Text, "artifacts": list(ret.Artifacts),
		"issues": list(ret.Issues),
		"fields": normal(fields), "errors": list(ret.Errors), "attempts": attempts, "class": string(ret.Class),
		"next_steps":     ret.NextSteps,
		"blocked_reason": ret.BlockedReason,
	}
}

// wanted evaluates `when`; in a dry run a condition that hangs on a stubbed result counts as true.
func (r *run) wanted(ctx context.Context, sc *scope, op *compile.Info) (bool, error) {
	if in, err := r.inTier(sc, op); err != nil || !in {
		return false, err
	}
	if op.When == nil {
		return true, nil
	}
	if r.unknown(op.When) {
		r.dry.add(sc, op, fmt.Sprintf("when %s (decided at run time)", op.When.Src))
		return true, nil
	}
	v, err := r.eval(ctx, sc, op.When, nil)
	return truth(v), err
}

// expect turns a breach of the step's own conditions into a rejection whose issues are the breaches.
func (r *run) expect(ctx context.Context, sc *scope, op *compile.Info, res *result) error {
	e := op.Expect
	if e == nil || r.dry.on || res.end != nil || !res.outcome.Passes() {
		return nil
	}
	var breaches []formats.Issue
	breach := func(what string) {
		breaches = append(breaches, formats.Issue{Level: formats.LevelError, Description: what, Source: "check"})
	}
	if w := e.Artifact; w != nil &&
		!slices.ContainsFunc(res.ret.Artifacts, func(a formats.Artifact) bool { return string(a.Type) == w.Text }) {
		breach(fmt.Sprintf("expected an artifact of type %s, got none", w.Text))
	}
	if e.If != nil {
		v, err := r.eval(ctx, sc, e.If, res.value)
		if err != nil {
			return err
		}
		if !truth(v) {
			breach("expected " + e.If.Src)
		}
	}
	if e.Schema != nil && res.outcome != formats.OutcomeSkipped {
		for _, v := range r.prog.Schema(e.Schema).Validate(".fields", fieldsOf(res.ret)) {
			breach(v.String())
		}
	}
	if breaches == nil {
		return nil
	}
	res.ret.Verdict, res.ret.Said, res.outcome = "", formats.OutcomeRejected, formats.OutcomeRejected
	res.ret.Issues = append(breaches, res.ret.Issues...)
	res.ret.Summary = breaches[0].Description
	res.value["status"], res.value["summary"], res.value["issues"] = res.outcome.String(), res.ret.Summary,
		normal(res.ret.Issues)
	return nil
}

// isOpen tells whether an error is that of a gate which nobody could answer; nil if it is not.
func isOpen(err error) *formats.GateOpenError {
	open, ok := errors.AsType[*formats.GateOpenError](err)
	if !ok {
		return nil
	}
	return open
}
