package interp

import (
	"cmp"
	"fmt"
	"slices"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
)

// finished is a step with its result.
type finished struct {
	step   step
	result result
}

// lead decides where a step's result leads: the answer of a gate, else the first rule that matches,
// else the default of the outcome.
func (f finished) lead() (*ending, error) {
	if t := f.result.target; t != nil {
		choice := as[string](f.result.value["choice"])
		counted := t.Max > 0 || t.Kind == syntax.ToRedo && !f.result.answer.Person
		if counted && f.usedUp(t, "choice "+choice) {
			why := fmt.Sprintf("'%s' was chosen more often than its max of %d", choice, f.most(t))
			if idle(f.result.outcome) {
				f.result.outcome = formats.OutcomeFailed
			}
			return &ending{ret: f.limited(why)}, nil
		}
		return f.follow(t)
	}

	target, exhausted, err := f.match(nil)
	switch {
	case err != nil:
		return nil, err
	case target != nil:
		return f.follow(target)
	case f.result.outcome == formats.OutcomeBlocked || f.result.outcome == formats.OutcomeSuspended:
		return f.engineGate(false)
	case exhausted != nil:
		return &ending{ret: f.exhausted(exhausted)}, nil
	case f.result.outcome.Passes():
		f.conditions()
		return f.goOn()
	}

	return &ending{ret: f.ended()}, nil
}

// match finds the first target of `on` for the outcome or the class of failure, except the given
// one. exhausted is the last target that would have matched but for its max; nil: there is none.
func (f finished) match(but *syntax.Target) (target, exhausted *syntax.Target, err error) {
	s := f.step
	// classes are narrower than failed, so they are asked first
	for _, byClass := range []bool{true, false} {
		for i, rule := range s.info.On {
			if compile.IsClass(rule.Status.Text) != byClass || !f.fits(rule) {
				continue
			}
			for j, t := range rule.Targets {
				ok, err := s.env().holds(t.If, f.result.value)
				switch {
				case err != nil:
					return nil, nil, err
				case !ok:
				case t == but:
					exhausted = t
				case f.usedUp(t, fmt.Sprintf("%d/%d", i, j)),
					t.Kind == syntax.ToAsk && s.run.counts.asked[s.path] >= mostAsked(t):
					exhausted = t
				default:
					return t, nil, nil
				}
			}
		}
	}
	return nil, exhausted, nil
}

func (f finished) fits(rule syntax.Rule) bool {
	if compile.IsClass(rule.Status.Text) {
		return f.result.outcome == formats.OutcomeFailed && string(f.result.ret.Class) == rule.Status.Text
	}
	return rule.Status.Text == f.result.outcome.String()
}

// most is how often a target may be taken, 0 without a bound of its own. A question is counted
// where it is asked.
func (f finished) most(t *syntax.Target) int {
	switch {
	case t.Max == 0 && (t.Kind == syntax.ToRedo || f.step.info.GoesBack(t)):
		return formats.DefaultRedo
	case t.Kind == syntax.ToAsk:
		return 0
	}
	return t.Max
}

// usedUp counts a target with a max; the count is per step and loop iteration.
func (f finished) usedUp(t *syntax.Target, rule string) bool {
	return f.step.run.counts.exhausts(f.step.path+" "+rule, f.most(t))
}

// conditions warns of an approval that has conditions.
func (f finished) conditions() {
	if f.result.outcome == formats.OutcomeConditional {
		f.step.run.warn("%s: approved with conditions: %s", f.step.info.Title, f.result.ret.Summary)
	}
}

// follow goes where a target leads.
func (f finished) follow(t *syntax.Target) (*ending, error) {
	r := f.step.run
	switch t.Kind {
	case syntax.ToNext:
		// the user skipped it: there is nothing to review or to commit
		if f.result.target != nil && idle(f.result.outcome) {
			return nil, nil
		}
		if !f.result.outcome.Passes() { // a return beside the action is done after it passed
			_, end, err := f.behind()
			return end, err
		}
		return f.goOn()
	case syntax.ToFail:
		return told(f.broken()), nil
	case syntax.ToReturn:
		return f.give(t.Return)
	case syntax.ToGate:
		if f.hopeless(t.Gate) {
			return told(f.broken()), nil
		}
		if t.Gate != nil {
			return f.ruleGate(t.Gate)
		}
		return f.engineGate(true)
	case syntax.ToRedo, syntax.ToRollback:
		if r.dry.on && !r.dry.decides(f.step.info.ID) {
			return nil, nil
		}
		return f.again(t)
	case syntax.ToAsk:
		return f.consult(t)
	case syntax.ToGoto:
		return f.jump(t)
	}

	return nil, nil
}

// idle tells an outcome that leaves no work.
func idle(o formats.Outcome) bool {
	return o == formats.OutcomeFailed || o == formats.OutcomeBlocked ||
		o == formats.OutcomeSuspended
}

// goOn is where a step that is done with leads on: what runs after it, then the return beside it.
func (f finished) goOn() (*ending, error) {
	if again, end, err := f.behind(); again || end != nil || err != nil {
		return end, err
	}
	return f.beside()
}

// behind runs what stands after the step; again tells that the step was run again, with everything
// after it.
func (f finished) behind() (again bool, end *ending, err error) {
	end, err = f.step.around(f.step.info.After)
	if end != nil && end.over {
		return true, nil, nil
	}
	return false, end, err
}

// beside makes the return that stands beside an action that passed.
func (f finished) beside() (*ending, error) {
	s := f.step
	if s.info.Return == nil {
		return nil, nil
	}
	s.plan("return")
	if s.run.unknown(s.info.When) {
		return nil, nil
	}
	return f.give(s.info.Return)
}

// redo runs the named steps again with feedback, then this one.
func (f finished) redo(t *syntax.Target) (*ending, error) {
	r := f.step.run
	s := f.step
	fb := &formats.Feedback{
		From:    s.info.ID,
		Issues:  listed(f.result.ret.Issues),
		Choice:  as[string](f.result.value["choice"]),
		Note:    as[string](f.result.value["note"]),
		Attempt: 1,
	}
	if why := f.result.ret.BlockedReason; f.result.outcome == formats.OutcomeBlocked && why != "" {
		fb.Issues = append(fb.Issues, formats.Issue{
			Level:       formats.LevelError,
			Description: why,
			Source:      "agent",
		})
	}
	// the summary names the conditions
	if f.result.outcome == formats.OutcomeConditional && f.result.ret.Summary != "" {
		condition := formats.Issue{
			Level:       formats.LevelWarning,
			Description: f.result.ret.Summary,
			Source:      "agent",
		}
		fb.Issues = append([]formats.Issue{condition}, fb.Issues...)
	}
	if before := s.frame.feedback; before != nil && before.From == s.info.ID {
		fb.Attempt = before.Attempt + 1
	}
	ids := s.info.Again(t)
	what := formats.EntryRedo
	data := map[string]any{"steps": ids, "feedback": fb}
	if t.Kind == syntax.ToRollback {
		what = formats.EntryRollback
		data["rollbacks"] = r.counts.rollbacks
	}
	if err := s.note(what, data); err != nil {
		return nil, err
	}

	f.tellRound(t, fb.Attempt, ids)
	if err := s.takeBack(ids); err != nil {
		return nil, err
	}
	over := false
	for _, id := range ids {
		if id == s.info.ID {
			continue
		}
		home, again := s.scope.find(id)
		if again == nil {
			return nil, formats.Fail(formats.CodeBug, "", "redo of unknown step %s", id)
		}
		end, err := home.again(s.frame.hearing(fb), again)
		if err != nil || end != nil {
			return end, err
		}
		over = over || id == s.info.Host
	}

	if over {
		return &ending{over: true}, nil
	}
	mine := *fb
	mine.Own = !slices.Contains(ids, s.info.ID)
	if idle(f.result.outcome) {
		mine.Last = f.last()
	}
	return s.hearing(&mine).do()
}

// ended is the command's return when a step's outcome ends it.
func (f finished) ended() formats.Return {
	ret := f.closing()
	switch f.result.outcome { //nolint:exhaustive // the others end it as failed
	case formats.OutcomePartial:
		ret.Status = formats.StatusPartial
	case formats.OutcomeBlocked, formats.OutcomeSuspended:
		ret.Status = formats.StatusBlocked
		ret.Said = f.result.outcome
		ret.BlockedTarget = f.result.ret.BlockedTarget
		ret.BlockedReason = cmp.Or(f.result.ret.BlockedReason, ret.Summary)
	default:
		return f.broken()
	}
	return ret
}

// broken is the command's return when a step's outcome, whatever it is, ends it as failed.
func (f finished) broken() formats.Return {
	ret := f.closing()
	ret.Status = formats.StatusFailed
	ret.Errors = f.result.ret.Errors
	ret.Class = f.result.ret.Class
	why := formats.ReturnError{
		Type:           formats.ErrorExecution,
		Code:           formats.CodeUnknown,
		Message:        ret.Summary,
		Recommendation: ret.NextSteps,
	}
	if f.result.outcome == formats.OutcomeRejected {
		why.Type = formats.ErrorValidation
		why.Code = formats.CodeRejected
		ret.Errors = nil
	}
	if len(ret.Errors) == 0 {
		ret.Errors = []formats.ReturnError{why}
	}
	return ret
}

// closing is what every return that a step's outcome ends with has.
func (f finished) closing() formats.Return {
	ended := fmt.Sprintf("step '%s' ended %s", f.step.info.Title, f.result.outcome)
	return formats.Return{
		Summary:   cmp.Or(f.result.ret.Summary, ended),
		Issues:    f.result.ret.Issues,
		Artifacts: f.step.run.artifacts.newest(),
		NextSteps: f.result.ret.NextSteps,
		Text:      f.result.ret.Text,
		Fields:    f.result.ret.Fields,
	}
}

// exhausted is the return of a step whose rules matched but may not be taken again. A step that
// passed did not fail itself, so the return says which rule was used up and how the file can go on
// after it.
func (f finished) exhausted(t *syntax.Target) formats.Return {
	s := f.step
	switch {
	case f.result.outcome.Passes():
		f.result.ret.NextSteps = cmp.Or(
			f.result.ret.NextSteps,
			"do what the last round asks for and run it again, raise `max` in the "+
				"file, or write next behind the rule if the run is to go on then",
		)
		return f.limited(fmt.Sprintf(
			"step '%s' is %s, and its '%s' was taken %s, which is its max: %s",
			s.info.Title, f.result.outcome, t.Kind, formats.Count(f.most(t), "time"), f.closing().Summary,
		))
	case f.result.outcome == formats.OutcomePartial:
		s.run.warn("%s: its '%s' was taken %s, which is its max",
			s.info.Title, t.Kind, formats.Count(f.most(t), "time"))
	}
	return f.limited("")
}

// limited is the return of a step whose rules are used up: its own default outcome with code LIMIT,
// the last failure's message first.
func (f finished) limited(why string) formats.Return {
	ret := f.ended()
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
				"run it again, or raise `max` in the file",
		),
	}
	if f.result.outcome.Passes() {
		ret.Errors = nil // nothing failed but the limit
	}
	ret.Errors = append([]formats.ReturnError{first}, ret.Errors...)
	return ret
}
