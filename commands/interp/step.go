package interp

import (
	"context"
	"fmt"
	"slices"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
)

// step is a step of the program as it runs: where it is in the run, what it gets from above, and
// what the file says of it.
type step struct {
	run   *run
	scope *scope
	frame frame
	info  *compile.Info
	path  string // the place of the step, "phases[2]/commit"
}

// ending is how a sequence ended before its last step.
type ending struct {
	ret formats.Return
	// final tells that the file asks for the end, by return or fail. A step that did not pass ends
	// only the pass of the loop that it is in.
	final bool
	// hostRerun tells that a hook sent its host back: the host was run again, with its hooks.
	hostRerun bool
	jump      string // id of the step at which to go on
}

// final is the ending that the file asks for.
func final(ret formats.Return) *ending {
	return &ending{ret: ret, final: true}
}

// leaves tells whether the ending ends the loop too in which it happens.
func (e *ending) leaves() bool {
	return e != nil && (e.final || e.jump != "")
}

// result is what a step did.
type result struct {
	outcome formats.Outcome
	ret     formats.Return // of a delegation or check; other kinds fill in what they have
	value   object         // what $steps.ID shows
	target  *syntax.Target // where the answer of a gate leads
	answer  formats.Decision
	end     *ending // of an action that ends its sequence, such as fail
}

// newResult is a result that shows its outcome among some members.
func newResult(outcome formats.Outcome, value object) result {
	value["status"] = outcome.String()
	return result{outcome: outcome, value: value}
}

// summaryResult is the result of a step that ran others: it shows a summary of them.
func summaryResult(outcome formats.Outcome, ret formats.Return, value object) result {
	out := newResult(outcome, value)
	out.ret = ret
	out.value["summary"] = ret.Summary
	return out
}

// resultOf is the result of a step whose outcome is that of a return.
func resultOf(ret formats.Return, attempts int) result {
	return summaryResult(ret.Outcome(), ret, object{
		"text":           ret.Text,
		"artifacts":      listOf(ret.Artifacts),
		"issues":         listOf(ret.Issues),
		"fields":         normalize(fieldsOf(ret)),
		"errors":         listOf(ret.Errors),
		"attempts":       attempts,
		"class":          string(ret.Class),
		"next_steps":     ret.NextSteps,
		"blocked_reason": ret.BlockedReason,
	})
}

// execute runs a step and follows its result, which may run it again.
func (s step) execute() (end *ending, err error) {
	defer func() { err = s.withPlace(err) }()
	res, ran, err := s.executeOnce()
	switch {
	case err != nil:
		return nil, err
	case !ran && res.end != nil && res.end.hostRerun:
		// a hook before this step sent it back: it was run again, with its hooks
		return nil, nil
	case res.end != nil || !ran:
		return s.dropUncertain(res.end), nil
	}

	tr := transition{s, res}
	if err := tr.post(); err != nil {
		return nil, err
	}
	if s.info.Undo != nil && (res.outcome.Passes() || res.outcome == formats.OutcomePartial) {
		s.run.undoable = append(s.run.undoable, s)
	}
	end, err = tr.route()
	return s.dropUncertain(end), err
}

// executeOnce runs a step and stores its result. ran is false for a step that is skipped, or that a
// hook kept from running.
func (s step) executeOnce() (res result, ran bool, err error) {
	defer func() { err = s.withPlace(err) }()
	if s.frame.ctx.Err() != nil {
		return res, false, context.Cause(s.frame.ctx)
	}

	s.frame.state.doc = nil
	applies, err := s.applies()
	if err != nil {
		return res, false, err
	}
	if !applies {
		return res, false, s.skip()
	}

	res.end, err = s.runHooks(s.info.Before)
	if err != nil || res.end != nil {
		return res, false, err
	}
	if err := s.enter(); err != nil {
		return res, false, err
	}
	res, err = s.runAction()
	if err != nil {
		return res, false, err
	}
	if err := s.checkExpectations(&res); err != nil {
		return res, false, err
	}
	if err := s.leave(res); err != nil {
		return res, false, err
	}
	return res, true, nil
}

// skip leaves the step out.
func (s step) skip() error {
	s.scope.skip(s.info.ID, s.info.Step)
	err := s.record(formats.EntryStepFinished, object{"status": formats.OutcomeSkipped})
	s.emitStep(formats.OutcomeSkipped, formats.Return{})
	return err
}

// enter counts a visit of the step and records that it starts.
func (s step) enter() error {
	r := s.run
	if err := restoreCounters(s); err != nil {
		return err
	}
	if !r.finishing {
		if err := r.counts.countStep(r.limits.Steps); err != nil {
			return err
		}
	}

	r.counts.visits[s.path]++
	if r.cfg.Verify != nil && s.frame.concurrent {
		r.concurrentSteps[s.journalPath()] = true
	}
	if err := s.record(formats.EntryStepScheduled, nil); err != nil {
		return err
	}

	r.stepStarted = r.stepStarted || !r.finishing
	s.emitStep("", formats.Return{Summary: "started"})
	return nil
}

// leave stores the result of the step and records that the visit is over.
func (s step) leave(res result) error {
	s.scope.setResult(s.info.ID, res.value)
	err := s.record(formats.EntryStepFinished, object{
		"status":  res.outcome,
		"summary": res.ret.Summary,
		"issues":  res.ret.Issues,
	})
	if err != nil {
		return err
	}

	s.emitStep(res.outcome, res.ret)
	if !res.outcome.Passes() {
		s.run.report.failed(stepError{Step: s.path, Pos: s.info.Step.Pos}, res.ret.Issues)
	}
	return nil
}

// runAction shows the table and does the action.
func (s step) runAction() (result, error) {
	if s.info.Step.Table != nil {
		if err := s.showTable(); err != nil {
			return result{}, err
		}
	}
	if s.info.Call != nil {
		return s.delegate()
	}

	return s.act()
}

// record journals what the step does, with data unless it is nil.
func (s step) record(what formats.EntryType, data object) error {
	e := formats.Entry{Type: what, Step: s.journalPath()}
	if data != nil {
		e.Data = data
	}
	return s.frame.journal.append(e)
}

// applies evaluates `when`; in a dry run a condition that hangs on a stubbed result counts as true.
func (s step) applies() (bool, error) {
	if in, err := s.inTier(); err != nil || !in {
		return false, err
	}
	if s.run.dry.isUnknown(s.info.Step.When) {
		s.plan("run only when %s, which only a run knows", sourceOf(s.info.Step.When))
		s.run.dry.markStubbed(s.info.ID) // whether it has a result is unknown too
		return true, nil
	}
	return s.env().holds(s.info.Step.When, nil)
}

// checkExpectations turns a breach of the step's own conditions into a rejection whose issues are
// the breaches.
func (s step) checkExpectations(res *result) error {
	e := s.info.Expect
	if e == nil || s.run.dry.on || res.end != nil || !res.outcome.Passes() {
		return nil
	}

	var breaches []formats.Issue
	if w := e.Artifact; w != nil &&
		!slices.ContainsFunc(res.ret.Artifacts, func(a formats.Artifact) bool {
			return string(a.Type) == w.Text
		}) {
		breaches = append(
			breaches,
			errorIssue(fmt.Sprintf("expected an artifact of type %s, got none", w.Text)),
		)
	}

	ok, err := s.env().holds(e.If, res.value)
	if err != nil {
		return err
	}
	if !ok {
		said := "expected " + e.If.Src
		if e.Else != nil {
			said, err = s.env().text(e.Else, res.value)
			if err != nil {
				return err
			}
		}
		breaches = append(breaches, errorIssue(said))
	}

	if e.Schema != nil && res.outcome != formats.OutcomeSkipped {
		for _, v := range s.run.prog.Schema(e.Schema).Validate(".fields", fieldsOf(res.ret)) {
			breaches = append(breaches, errorIssue(v.String()))
		}
	}
	if breaches == nil {
		return nil
	}

	res.ret.Verdict = ""
	res.ret.Said = formats.OutcomeRejected
	res.outcome = formats.OutcomeRejected
	res.ret.Issues = append(breaches, res.ret.Issues...)
	res.ret.Summary = breaches[0].Description
	res.value["status"] = res.outcome.String()
	res.value["summary"] = res.ret.Summary
	res.value["issues"] = listOf(res.ret.Issues)
	return nil
}
