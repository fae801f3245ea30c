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
	step
	result
}

// lead decides where a step's result leads: the answer of a gate, else the first rule that matches,
// else the default of the outcome.
func (f finished) lead() (*ending, error) {
	if t := f.target; t != nil {
		choice := as[string](f.value["choice"])
		counted := t.Max > 0 || t.Kind == syntax.ToRedo && !f.answer.Person
		if counted && f.usedUp(t, "choice "+choice) {
			why := fmt.Sprintf("'%s' was chosen more often than its max of %d", choice, f.most(t))
			if idle(f.outcome) {
				f.outcome = formats.OutcomeFailed
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
	case f.outcome == formats.OutcomeBlocked || f.outcome == formats.OutcomeSuspended:
		return f.engineGate(false)
	case exhausted != nil:
		return &ending{ret: f.exhausted(exhausted)}, nil
	case f.outcome.Passes():
		f.conditions()
		return f.goOn()
	}

	return &ending{ret: f.ended()}, nil
}

// match finds the first target of `on` for the outcome or the class of failure, except the given
// one. exhausted is the last target that would have matched but for its max; nil: there is none.
func (f finished) match(but *syntax.Target) (target, exhausted *syntax.Target, err error) {
	// classes are narrower than failed, so they are asked first
	for _, byClass := range []bool{true, false} {
		for i, rule := range f.On {
			if compile.IsClass(rule.Status.Text) != byClass || !f.fits(rule) {
				continue
			}
			for j, t := range rule.Targets {
				ok, err := f.holds(t.If, f.value)
				switch {
				case err != nil:
					return nil, nil, err
				case !ok:
				case t == but:
					exhausted = t
				case f.usedUp(t, fmt.Sprintf("%d/%d", i, j)),
					t.Kind == syntax.ToAsk && f.asked[f.path] >= mostAsked(t):
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
		return f.outcome == formats.OutcomeFailed && string(f.ret.Class) == rule.Status.Text
	}
	return rule.Status.Text == f.outcome.String()
}

// most is how often a target may be taken, 0 without a bound of its own. A question is counted
// where it is asked.
func (f finished) most(t *syntax.Target) int {
	switch {
	case t.Max == 0 && (t.Kind == syntax.ToRedo || f.GoesBack(t)):
		return formats.DefaultRedo
	case t.Kind == syntax.ToAsk:
		return 0
	}
	return t.Max
}

// usedUp counts a target with a max; the count is per step and loop iteration.
func (f finished) usedUp(t *syntax.Target, rule string) bool {
	most := f.most(t)
	key := f.path + " " + rule
	if most == 0 || f.used[key] >= most {
		return most != 0
	}
	f.used[key]++
	return false
}

// conditions warns of an approval that has conditions.
func (f finished) conditions() {
	if f.outcome == formats.OutcomeConditional {
		f.warn("%s: approved with conditions: %s", f.Title, f.ret.Summary)
	}
}

// follow goes where a target leads.
func (f finished) follow(t *syntax.Target) (*ending, error) {
	switch t.Kind {
	case syntax.ToNext:
		// the user skipped it: there is nothing to review or to commit
		if f.target != nil && idle(f.outcome) {
			return nil, nil
		}
		if !f.outcome.Passes() { // a return beside the action is done after it passed
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
		if f.dry.on && !f.dry.decides(f.ID) {
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
	end, err = f.around(f.After)
	if end != nil && end.over {
		return true, nil, nil
	}
	return false, end, err
}

// beside makes the return that stands beside an action that passed.
func (f finished) beside() (*ending, error) {
	if f.Return == nil {
		return nil, nil
	}
	f.plan("return")
	if f.unknown(f.When) {
		return nil, nil
	}
	return f.give(f.Return)
}

// redo runs the named steps again with feedback, then this one.
func (f finished) redo(t *syntax.Target) (*ending, error) {
	fb := &formats.Feedback{
		From:    f.ID,
		Issues:  listed(f.ret.Issues),
		Choice:  as[string](f.value["choice"]),
		Note:    as[string](f.value["note"]),
		Attempt: 1,
	}
	if why := f.ret.BlockedReason; f.outcome == formats.OutcomeBlocked && why != "" {
		fb.Issues = append(fb.Issues, formats.Issue{
			Level:       formats.LevelError,
			Description: why,
			Source:      "agent",
		})
	}
	// the summary names the conditions
	if f.outcome == formats.OutcomeConditional && f.ret.Summary != "" {
		condition := formats.Issue{
			Level:       formats.LevelWarning,
			Description: f.ret.Summary,
			Source:      "agent",
		}
		fb.Issues = append([]formats.Issue{condition}, fb.Issues...)
	}
	if before := f.feedback; before != nil && before.From == f.ID {
		fb.Attempt = before.Attempt + 1
	}
	ids := f.Again(t)
	what := formats.EntryRedo
	data := map[string]any{"steps": ids, "feedback": fb}
	if t.Kind == syntax.ToRollback {
		what = formats.EntryRollback
		data["rollbacks"] = f.rollbacks
	}
	if err := f.note(what, data); err != nil {
		return nil, err
	}

	f.tellRound(t, fb.Attempt, ids)
	if err := f.takeBack(ids); err != nil {
		return nil, err
	}
	over := false
	defer f.hear(fb)()
	for _, id := range ids {
		if id == f.ID {
			continue
		}
		home, again := f.find(id)
		if again == nil {
			return nil, formats.Fail(formats.CodeBug, "", "redo of unknown step %s", id)
		}
		f.feedback = fb
		end, err := home.again(again)
		if err != nil || end != nil {
			return end, err
		}
		over = over || id == f.Host
	}

	if over {
		return &ending{over: true}, nil
	}
	mine := *fb
	mine.Own = !slices.Contains(ids, f.ID)
	if idle(f.outcome) {
		mine.Last = f.last()
	}
	f.feedback = &mine
	return f.do()
}

// hear gives steps some feedback; what it returns gives back that of before.
func (r *run) hear(fb *formats.Feedback) (done func()) {
	before := r.feedback
	r.feedback = fb
	return func() { r.feedback = before }
}

// ended is the command's return when a step's outcome ends it.
func (f finished) ended() formats.Return {
	ret := f.closing()
	switch f.outcome { //nolint:exhaustive // the others end it as failed
	case formats.OutcomePartial:
		ret.Status = formats.StatusPartial
	case formats.OutcomeBlocked, formats.OutcomeSuspended:
		ret.Status = formats.StatusBlocked
		ret.Said = f.outcome
		ret.BlockedTarget = f.ret.BlockedTarget
		ret.BlockedReason = cmp.Or(f.ret.BlockedReason, ret.Summary)
	default:
		return f.broken()
	}
	return ret
}

// broken is the command's return when a step's outcome, whatever it is, ends it as failed.
func (f finished) broken() formats.Return {
	ret := f.closing()
	ret.Status = formats.StatusFailed
	ret.Errors = f.ret.Errors
	ret.Class = f.ret.Class
	why := formats.ReturnError{
		Type:           formats.ErrorExecution,
		Code:           formats.CodeUnknown,
		Message:        ret.Summary,
		Recommendation: ret.NextSteps,
	}
	if f.outcome == formats.OutcomeRejected {
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
	return formats.Return{
		Summary:   cmp.Or(f.ret.Summary, fmt.Sprintf("step '%s' ended %s", f.Title, f.outcome)),
		Issues:    f.ret.Issues,
		Artifacts: newest(f.artifacts),
		NextSteps: f.ret.NextSteps,
		Text:      f.ret.Text,
		Fields:    f.ret.Fields,
	}
}

// exhausted is the return of a step whose rules matched but may not be taken again. A step that
// passed did not fail itself, so the return says which rule was used up and how the file can go on
// after it.
func (f finished) exhausted(t *syntax.Target) formats.Return {
	switch {
	case f.outcome.Passes():
		f.ret.NextSteps = cmp.Or(
			f.ret.NextSteps,
			"do what the last round asks for and run it again, raise `max` in the "+
				"file, or write next behind the rule if the run is to go on then",
		)
		return f.limited(fmt.Sprintf(
			"step '%s' is %s, and its '%s' was taken %s, which is its max: %s",
			f.Title, f.outcome, t.Kind, formats.Count(f.most(t), "time"), f.closing().Summary,
		))
	case f.outcome == formats.OutcomePartial:
		f.warn("%s: its '%s' was taken %s, which is its max",
			f.Title, t.Kind, formats.Count(f.most(t), "time"))
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
	if f.outcome.Passes() {
		ret.Errors = nil // nothing failed but the limit
	}
	ret.Errors = append([]formats.ReturnError{first}, ret.Errors...)
	return ret
}
