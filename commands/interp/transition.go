package interp

import (
	"cmp"
	"fmt"
	"slices"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
)

// transition leads from the result of a step to what follows it.
type transition struct {
	step   step
	result result
}

// route decides what follows a result: what the answer of a gate says, else the first rule that
// matches, else the default for the outcome.
func (tr transition) route() (*ending, error) {
	if t := tr.result.target; t != nil {
		choice := formats.As[string](tr.result.value["choice"])
		counted := t.Max > 0 || t.Kind == syntax.ToRedo && !tr.result.answer.Person
		if counted && tr.countPastMax(t, "choice "+choice) {
			why := fmt.Sprintf(
				"'%s' was chosen more often than its max of %d", choice, tr.maxUses(t),
			)
			if leavesNoWork(tr.result.outcome) {
				tr.result.outcome = formats.OutcomeFailed
			}
			return &ending{ret: tr.limitReturn(why, raiseMax(t))}, nil
		}
		return tr.follow(t)
	}

	target, exhausted, err := tr.matchRule(nil)
	switch {
	case err != nil:
		return nil, err
	case target != nil:
		return tr.follow(target)
	case tr.needsUser():
		return tr.engineGate(false)
	case exhausted != nil:
		return &ending{ret: tr.exhaustedReturn(exhausted)}, nil
	case tr.result.outcome.Passes():
		tr.warnConditions()
		return tr.proceed()
	}

	return &ending{ret: tr.defaultReturn()}, nil
}

// matchRule finds the first target of `on` for the outcome or the class of failure, except the
// given one. exhausted is the last target that would have matched but for its max, nil without one.
func (tr transition) matchRule(but *syntax.Target) (target, exhausted *syntax.Target, err error) {
	s := tr.step
	// classes are narrower than failed, so they are asked first
	for _, byClass := range []bool{true, false} {
		for i, rule := range s.info.On {
			if compile.IsClass(rule.Status.Text) != byClass || !tr.fits(rule) {
				continue
			}
			for j, t := range rule.Targets {
				ok, err := s.env().holds(t.If, tr.result.value)
				switch {
				case err != nil:
					return nil, nil, err
				case !ok:
				case t == but:
					exhausted = t
				case tr.countPastMax(t, fmt.Sprintf("%d/%d", i, j)),
					t.Kind == syntax.ToAsk && s.run.counts.asked[s.path] >= maxQuestions(t):
					exhausted = t
				default:
					return t, nil, nil
				}
			}
		}
	}
	return nil, exhausted, nil
}

func (tr transition) fits(rule syntax.Rule) bool {
	res := tr.result
	if compile.IsClass(rule.Status.Text) {
		return res.outcome == formats.OutcomeFailed && string(res.ret.Class) == rule.Status.Text
	}
	return rule.Status.Text == res.outcome.String()
}

// maxUses is how often a target may be taken, 0 if it has no limit of its own. Questions are
// counted where they are asked.
func (tr transition) maxUses(t *syntax.Target) int {
	switch {
	case t.Max == 0 && (t.Kind == syntax.ToRedo || tr.step.info.GoesBack(t)):
		return formats.DefaultRedo
	case t.Kind == syntax.ToAsk:
		return 0
	}
	return t.Max
}

// countPastMax counts the use of a target with a max, for the step and the pass of the loop it is
// in, and tells whether the max was reached before.
func (tr transition) countPastMax(t *syntax.Target, rule string) bool {
	return tr.step.run.counts.countPastMax(tr.step.path+" "+rule, tr.maxUses(t))
}

// warnConditions warns of an approval that has conditions.
func (tr transition) warnConditions() {
	if tr.result.outcome == formats.OutcomeConditional {
		tr.step.run.report.warn(
			"%s: approved with conditions: %s",
			tr.step.info.Step.Title,
			tr.result.ret.Summary,
		)
	}
}

// follow goes where a target leads.
func (tr transition) follow(t *syntax.Target) (*ending, error) {
	r := tr.step.run
	res := tr.result
	switch t.Kind {
	case syntax.ToNext:
		// the user skipped it: there is nothing to review or to commit
		if res.target != nil && leavesNoWork(res.outcome) {
			return nil, nil
		}
		if !res.outcome.Passes() { // the return of a step needs that it passed
			_, end, err := tr.runAfterHooks()
			return end, err
		}
		return tr.proceed()
	case syntax.ToFail:
		return final(tr.failedReturn()), nil
	case syntax.ToReturn:
		return tr.describedReturn(t.Return)
	case syntax.ToGate:
		if tr.consentRepeats(t.Gate) {
			return final(tr.failedReturn()), nil
		}
		if t.Gate != nil {
			return tr.ruleGate(t.Gate)
		}
		return tr.engineGate(true)
	case syntax.ToRedo, syntax.ToRollback:
		if r.dry.on && !r.dry.hasGivenResult(tr.step.info.ID) {
			return nil, nil
		}
		return tr.sendBack(t)
	case syntax.ToAsk:
		return tr.askAgent(t)
	case syntax.ToGoto:
		return tr.jump(t)
	}

	return nil, nil
}

// leavesNoWork tells whether an outcome leaves no work behind.
func leavesNoWork(o formats.Outcome) bool {
	return o == formats.OutcomeFailed || o == formats.OutcomeBlocked ||
		o == formats.OutcomeSuspended
}

// proceed goes on after a step that is done: with the hooks after it, then with the return of the
// step.
func (tr transition) proceed() (*ending, error) {
	if again, end, err := tr.runAfterHooks(); again || end != nil || err != nil {
		return end, err
	}
	return tr.stepReturn()
}

// runAfterHooks runs the hooks after the step. again tells that one of them ran the step again,
// with all its hooks.
func (tr transition) runAfterHooks() (again bool, end *ending, err error) {
	end, err = tr.step.runHooks(tr.step.info.After)
	if end != nil && end.hostRerun {
		return true, nil, nil
	}
	return false, end, err
}

// stepReturn ends the command with the return of a step that passed, if it has one.
func (tr transition) stepReturn() (*ending, error) {
	s := tr.step
	if s.info.Step.Return == nil {
		return nil, nil
	}
	s.plan("return")
	if s.run.dry.isUnknown(s.info.Step.When) {
		return nil, nil
	}
	return tr.describedReturn(s.info.Step.Return)
}

// redo runs the named steps again with feedback, then this step.
func (tr transition) redo(t *syntax.Target) (*ending, error) {
	s := tr.step
	fb := tr.redoFeedback()
	ids := s.info.Reruns(t)
	what := formats.EntryRedo
	data := object{"steps": ids, "feedback": fb}
	if t.Kind == syntax.ToRollback {
		what = formats.EntryRollback
		data["rollbacks"] = s.run.counts.rollbacks
	}
	if err := s.record(what, data); err != nil {
		return nil, err
	}

	tr.emitRound(t, fb.Attempt, ids)
	if err := s.compensateSteps(ids); err != nil {
		return nil, err
	}

	hostRerun := false
	for _, id := range ids {
		if id == s.info.ID {
			continue
		}
		home, again := s.scope.find(id)
		if again == nil {
			return nil, formats.Fail(formats.CodeBug, "", "redo of unknown step %s", id)
		}
		end, err := home.rerun(s.frame.withFeedback(fb), again)
		if err != nil || end != nil {
			return end, err
		}
		hostRerun = hostRerun || id == s.info.Host
	}

	if hostRerun {
		return &ending{hostRerun: true}, nil
	}

	ownFeedback := *fb
	ownFeedback.Own = !slices.Contains(ids, s.info.ID)
	if leavesNoWork(tr.result.outcome) {
		ownFeedback.Last = tr.lastReturn()
	}
	return s.withFeedback(&ownFeedback).execute()
}

// defaultReturn is the command's return when a step's outcome ends it.
func (tr transition) defaultReturn() formats.Return {
	res := tr.result
	ret := tr.baseReturn()
	switch res.outcome { //nolint:exhaustive // the others end it as failed
	case formats.OutcomePartial:
		ret.Status = formats.StatusPartial
	case formats.OutcomeBlocked, formats.OutcomeSuspended:
		ret.Status = formats.StatusBlocked
		ret.Said = res.outcome
		ret.BlockedTarget = res.ret.BlockedTarget
		ret.BlockedReason = cmp.Or(res.ret.BlockedReason, ret.Summary)
	default:
		return tr.failedReturn()
	}
	return ret
}

// failedReturn is the command's return when a step's outcome, whatever it is, ends it as failed.
func (tr transition) failedReturn() formats.Return {
	res := tr.result
	ret := tr.baseReturn()
	ret.Status = formats.StatusFailed
	ret.Errors = res.ret.Errors
	ret.Class = res.ret.Class

	why := formats.ReturnError{
		Type:           formats.ErrorExecution,
		Code:           formats.CodeUnknown,
		Message:        ret.Summary,
		Recommendation: ret.NextSteps,
	}

	if res.outcome == formats.OutcomeRejected {
		why.Type = formats.ErrorValidation
		why.Code = formats.CodeRejected
		ret.Errors = nil
	}
	if len(ret.Errors) == 0 {
		ret.Errors = []formats.ReturnError{why}
	}
	return ret
}

// baseReturn is what all returns have with which the outcome of a step ends the command.
func (tr transition) baseReturn() formats.Return {
	res := tr.result
	ended := fmt.Sprintf("step '%s' ended %s", tr.step.info.Step.Title, res.outcome)
	return formats.Return{
		Summary:   cmp.Or(res.ret.Summary, ended),
		Issues:    res.ret.Issues,
		Artifacts: tr.step.run.artifacts.newest(),
		NextSteps: res.ret.NextSteps,
		Text:      res.ret.Text,
		Fields:    res.ret.Fields,
	}
}

// exhaustedReturn is the return of a step whose rules matched but are used up. A step that passed
// did not fail itself, so the return says which rule that is and how the file can go on.
func (tr transition) exhaustedReturn(t *syntax.Target) formats.Return {
	s := tr.step
	times := formats.Count(tr.maxUses(t), "time")
	switch {
	case tr.result.outcome.Passes():
		tr.result.ret.NextSteps = cmp.Or(
			tr.result.ret.NextSteps,
			"do what the last round asks for and run it again, "+raiseMax(t)+
				", or write next behind the rule if the run is to go on then",
		)
		return tr.limitReturn(fmt.Sprintf(
			"step '%s' is %s, and its '%s' was taken %s, which is its max: %s",
			s.info.Step.Title, tr.result.outcome, t.Kind, times, tr.baseReturn().Summary,
		), raiseMax(t))
	case tr.result.outcome == formats.OutcomePartial:
		s.run.report.warn(
			"%s: its '%s' was taken %s, which is its max", s.info.Step.Title, t.Kind, times,
		)
	}
	return tr.limitReturn("", raiseMax(t))
}

// raiseLimit is the advice to give a run more of something.
func raiseLimit(key string) string {
	return "write more for limits: {" + key + ": N} in the file"
}

// raiseMax is the advice to let a rule be taken more often. It names a key that stands in the file.
func raiseMax(t *syntax.Target) string {
	if t.Max > 0 {
		return "raise `max` in the file"
	}
	return fmt.Sprintf("write `max: N` behind '%s' in the file, which is taken %s without it",
		t.Kind, formats.Count(formats.DefaultRedo, "time"))
}

// limitReturn is the return of a step whose rules are used up: its own default outcome with code
// LIMIT, the last failure's message first. More is what would allow a further round.
func (tr transition) limitReturn(why, more string) formats.Return {
	ret := tr.defaultReturn()
	if ret.Status != formats.StatusFailed {
		return ret
	}
	ret.Summary = cmp.Or(why, ret.Summary)

	first := ret.Errors[0]
	first = formats.ReturnError{
		Type:    first.Type,
		Code:    formats.CodeLimit,
		Message: cmp.Or(why, first.Message),
		Recommendation: cmp.Or(
			first.Recommendation,
			"the file allows no further round: fix what the last round found and "+
				"run it again, or "+more,
		),
	}

	if tr.result.outcome.Passes() {
		ret.Errors = nil // nothing failed but the limit
	}
	ret.Errors = append([]formats.ReturnError{first}, ret.Errors...)
	return ret
}

// recordOverride keeps for $run.overrides what was accepted against a rule.
func (tr transition) recordOverride(d formats.Decision) {
	r := tr.step.run
	r.report.overrides = append(r.report.overrides, object{
		"step":    tr.step.info.ID,
		"status":  tr.result.outcome.String(),
		"summary": tr.result.ret.Summary,
		"by":      d.By,
		"note":    d.Note,
	})
}
