package interp

import (
	"context"
	"fmt"
	"slices"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
)

// lead decides where a step's result leads: the answer of a gate, else the first rule that matches, else the default of
// the outcome.
func (r *run) lead(ctx context.Context, sc *scope, op *compile.Info, res result) (*ending, error) {
	if t := res.target; t != nil {
		choice := as[string](res.value["choice"])
		counted := t.Max > 0 || t.Kind == syntax.ToRedo && res.value["by"] != byPerson
		if counted && r.usedUp(sc, op, t, "choice "+choice) {
			return &ending{ret: r.limited(op, res,
				fmt.Sprintf("'%s' was chosen more often than its max of %d", choice, most(op, t)))}, nil
		}
		return r.follow(ctx, sc, op, res, t)
	}
	target, exhausted, err := r.match(ctx, sc, op, res)
	switch {
	case err != nil:
		return nil, r.at(op, sc.path+op.ID, err)
	case target != nil:
		return r.follow(ctx, sc, op, res, target)
	}
	return r.byDefault(ctx, sc, op, res, exhausted)
}

// match finds the first rule of `on` for the outcome or the class of failure. exhausted tells that a rule would have
// matched but for its max.
func (r *run) match(ctx context.Context, sc *scope, op *compile.Info,
	res result,
) (target *syntax.Target, exhausted bool, err error) {
	for _, byClass := range []bool{true, false} { // classes are narrower than failed, so they are asked first
		for i, rule := range op.On {
			if compile.IsClass(rule.Status.Text) != byClass || !fitsRule(rule, res) {
				continue
			}
			for j, t := range rule.Targets {
				v, err := r.eval(ctx, sc, t.If, res.value)
				if err != nil {
					return nil, false, err
				}
				if !truth(v) {
					continue
				}
				if r.usedUp(sc, op, t, fmt.Sprintf("%d/%d", i, j)) || t.Kind == syntax.ToAsk &&
					r.asked[sc.path+op.ID] >= mostAsked(t) {
					exhausted = true
					continue
				}
				return t, false, nil
			}
		}
	}
	return nil, exhausted, nil
}

func fitsRule(rule syntax.Rule, res result) bool {
	if compile.IsClass(rule.Status.Text) {
		return res.outcome == formats.OutcomeFailed && string(res.ret.Class) == rule.Status.Text
	}
	return rule.Status.Text == res.outcome.String()
}

// most is how often a target may be taken, 0 without a bound of its own.
func most(op *compile.Info, t *syntax.Target) int {
	if t.Max == 0 && (t.Kind == syntax.ToRedo || op.GoesBack(t)) {
		return formats.DefaultRedo
	}
	if t.Kind == syntax.ToAsk {
		return 0 // counted where it is asked
	}
	return t.Max
}

// usedUp counts a target with a max; the count is per step and loop iteration.
func (r *run) usedUp(sc *scope, op *compile.Info, t *syntax.Target, rule string) bool {
	most := most(op, t)
	if most == 0 {
		return false
	}
	key := sc.path + op.ID + " " + rule
	if r.used[key] >= most {
		return true
	}
	r.used[key]++
	return false
}

// byDefault is where an outcome leads without a rule.
func (r *run) byDefault(ctx context.Context, sc *scope, op *compile.Info, res result, exhausted bool) (*ending, error) {
	switch {
	case res.outcome.Passes():
		if exhausted {
			r.warn("%s: the limit of its rule was reached", op.Title)
		}
		r.conditions(op, res)
		return r.goOn(ctx, sc, op, res)
	case res.outcome == formats.OutcomeBlocked || res.outcome == formats.OutcomeSuspended:
		return r.engineGate(ctx, sc, op, res)
	case exhausted:
		return &ending{ret: r.limited(op, res, "")}, nil
	}
	return &ending{ret: r.ended(op, res)}, nil
}

// conditions warns of an approval that has conditions.
func (r *run) conditions(op *compile.Info, res result) {
	if res.outcome == formats.OutcomeConditional {
		r.warn("%s: approved with conditions: %s", op.Title, res.ret.Summary)
	}
}

// beside makes the return that stands beside an action that passed.
func (r *run) beside(ctx context.Context, sc *scope, op *compile.Info, res result) (*ending, error) {
	if op.Return == nil {
		return nil, nil
	}
	if r.dry.on {
		r.dry.add(sc, op, "return")
		if op.When != nil && r.unknown(op.When) {
			return nil, nil
		}
	}
	ret, err := r.give(ctx, sc, op.Return, res)
	if err != nil {
		return nil, r.at(op, sc.path+op.ID, err)
	}
	return &ending{ret: ret, told: true}, nil
}

// follow goes where a target leads.
func (r *run) follow(ctx context.Context, sc *scope, op *compile.Info, res result, t *syntax.Target) (*ending, error) {
	switch t.Kind {
	case syntax.ToNext:
		if !res.outcome.Passes() {
			step, passing := *op.Step, *op // a return beside the action is done after it passed
			step.Return, passing.Step = nil, &step
			return r.goOn(ctx, sc, &passing, res)
		}
		return r.goOn(ctx, sc, op, res)
	case syntax.ToFail:
		return &ending{ret: r.broken(op, res), told: true}, nil
	case syntax.ToReturn:
		ret, err := r.give(ctx, sc, t.Return, res)
		if err != nil {
			return nil, r.at(op, sc.path+op.ID, err)
		}
		return &ending{ret: ret, told: true}, nil
	case syntax.ToGate:
		if t.Gate != nil {
			return r.ruleGate(ctx, sc, op, res, t.Gate)
		}
		return r.engineGate(ctx, sc, op, res)
	case syntax.ToRedo, syntax.ToRollback:
		switch {
		case r.dry.on && !r.dry.decides(op):
			return nil, nil
		case t.Kind == syntax.ToRollback:
			return r.rollback(ctx, sc, op, res, t)
		}
		return r.redo(ctx, sc, op, res, t)
	case syntax.ToAsk:
		return r.consult(ctx, sc, op, res, t)
	case syntax.ToGoto:
		return r.jump(ctx, sc, op, res, t)
	}
	return nil, nil
}

// redo runs the named steps again with feedback, then this one.
func (r *run) redo(ctx context.Context, sc *scope, op *compile.Info, res result, t *syntax.Target) (*ending, error) {
	before := r.feedback
	fb := &formats.Feedback{
		From: op.ID, Issues: listed(res.ret.Issues), Choice: as[string](res.value["choice"]),
		Note: as[string](res.value["note"]), Attempt: 1,
	}
	if before != nil && before.From == op.ID {
		fb.Attempt = before.Attempt + 1
	}
	ids := op.Again(t)
	entry := formats.Entry{
		Type: formats.EntryRedo, Step: sc.path + op.ID,
		Data: map[string]any{"steps": ids, "feedback": fb},
	}
	if t.Kind == syntax.ToRollback {
		entry.Type, entry.Data = formats.EntryRollback, map[string]any{"steps": ids, "feedback": fb, "rollbacks": r.rollbacks}
	}
	if err := r.journal(ctx, entry); err != nil {
		return nil, r.at(op, sc.path+op.ID, err)
	}
	if err := r.takeBack(ctx, sc, ids); err != nil {
		return nil, err
	}
	over := false
	defer func() { r.feedback = before }()
	for _, id := range ids {
		if id == op.ID {
			continue
		}
		home, again := sc.find(id)
		if again == nil {
			return nil, &formats.Failure{Code: formats.CodeBug, Message: "redo of unknown step " + id}
		}
		r.feedback = fb
		end, err := r.again(ctx, home, again)
		if err != nil || end != nil {
			return end, err
		}
		over = over || id == op.Host
	}
	if over {
		return &ending{over: true}, nil
	}
	mine := *fb
	mine.Own = !slices.Contains(ids, op.ID)
	r.feedback = &mine
	return r.step(ctx, sc, op)
}

// ended is the command's return when a step's outcome ends it.
func (r *run) ended(op *compile.Info, res result) formats.Return {
	ret := r.closing(op, res)
	switch res.outcome {
	case formats.OutcomePartial:
		ret.Status = formats.StatusPartial
	case formats.OutcomeBlocked, formats.OutcomeSuspended:
		ret.Status, ret.Said, ret.BlockedReason, ret.BlockedTarget = formats.StatusBlocked, res.outcome,
			res.ret.BlockedReason, res.ret.BlockedTarget
		if ret.BlockedReason == "" {
			ret.BlockedReason = ret.Summary
		}
	case formats.OutcomeCompleted, formats.OutcomeApproved, formats.OutcomeConditional, formats.OutcomeSkipped,
		formats.OutcomeRejected, formats.OutcomeFailed:
		return r.broken(op, res)
	}
	return ret
}

// broken is the command's return when a step's outcome, whatever it is, ends it as failed.
func (r *run) broken(op *compile.Info, res result) formats.Return {
	ret := r.closing(op, res)
	ret.Status, ret.Errors, ret.Class = formats.StatusFailed, res.ret.Errors, res.ret.Class
	switch {
	case res.outcome == formats.OutcomeRejected:
		ret.Errors = []formats.ReturnError{{
			Type: formats.ErrorValidation, Code: formats.CodeRejected, Message: ret.Summary,
			Recommendation: ret.NextSteps,
		}}
	case len(ret.Errors) == 0:
		ret.Errors = []formats.ReturnError{{
			Type: formats.ErrorExecution, Code: formats.CodeUnknown, Message: ret.Summary,
			Recommendation: ret.NextSteps,
		}}
	}
	return ret
}

// closing is what every return that a step's outcome ends with has.
func (r *run) closing(op *compile.Info, res result) formats.Return {
	ret := formats.Return{
		Summary: res.ret.Summary, Issues: res.ret.Issues, Artifacts: newest(r.artifacts), NextSteps: res.ret.NextSteps,
		Text: res.ret.Text,
	}
	if ret.Summary == "" {
		ret.Summary = fmt.Sprintf("step '%s' ended %s", op.Title, res.outcome)
	}
	return ret
}

// limited is the return of a step whose rules are used up: its own default outcome with code LIMIT, the last failure's
// message first.
func (r *run) limited(op *compile.Info, res result, why string) formats.Return {
	ret := r.ended(op, res)
	if ret.Status == formats.StatusFailed {
		first := ret.Errors[0]
		if why != "" {
			first.Message, ret.Summary = why, why
		}
		if first.Recommendation == "" {
			first.Recommendation = "the file allows no further round: put right what was found last and run it again, or let " +
				"the file allow more"
		}
		if res.outcome.Passes() {
			ret.Errors = nil // nothing failed but the limit
		}
		ret.Errors = append([]formats.ReturnError{{
			Type: first.Type, Code: formats.CodeLimit, Message: first.Message,
			Recommendation: first.Recommendation,
		}}, ret.Errors...)
	}
	return ret
}
