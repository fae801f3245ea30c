package interp

import (
	"context"
	"errors"
	"fmt"

	"tercet/commands/compile"
	"tercet/formats"
)

// lead decides where a step's result leads: the first rule that matches, else the default of the outcome.
func (r *run) lead(ctx context.Context, sc *scope, op *compile.Op, res result) (*ending, error) {
	target, exhausted := res.target, false
	if target == nil {
		var err error
		if target, exhausted, err = r.match(ctx, sc, op, res); err != nil {
			return nil, r.at(op, sc.path+op.ID, err)
		}
	}
	if target == nil {
		return r.byDefault(ctx, sc, op, res, exhausted)
	}
	return r.follow(ctx, sc, op, res, target)
}

// match finds the first rule of `on` for the outcome or the class of failure. exhausted tells that a rule would have
// matched but for its max.
func (r *run) match(ctx context.Context, sc *scope, op *compile.Op, res result) (*compile.Target, bool, error) {
	exhausted := false
	for pass := range 2 { // classes are narrower than failed, so they are asked first
		for i, rule := range op.On {
			if (pass == 0) != (rule.Class != "") {
				continue
			}
			if rule.Class != "" && (res.outcome != formats.OutcomeFailed || res.ret.Class != rule.Class) || rule.Class == "" && rule.Outcome != res.outcome {
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
				if r.usedUp(sc, op, t, i, j) {
					exhausted = true
					continue
				}
				return t, false, nil
			}
		}
	}
	return nil, exhausted, nil
}

// usedUp counts a target with a max; the count is per step and loop iteration.
func (r *run) usedUp(sc *scope, op *compile.Op, t *compile.Target, rule, index int) bool {
	most := t.Max
	if most == 0 && t.Kind == compile.ToRedo {
		most = formats.DefaultRedo
	}
	if most == 0 {
		return false
	}
	key := fmt.Sprintf("%s%s/%d/%d", sc.path, op.ID, rule, index)
	if r.used[key] >= most {
		return true
	}
	r.used[key]++
	return false
}

// byDefault is where an outcome leads without a rule.
func (r *run) byDefault(ctx context.Context, sc *scope, op *compile.Op, res result, exhausted bool) (*ending, error) {
	switch {
	case exhausted:
		return &ending{ret: r.limited(op, res)}, nil
	case res.outcome.Passes():
		if res.outcome == formats.OutcomeConditional {
			r.warnings = append(r.warnings, fmt.Sprintf("%s: approved with conditions: %s", op.ID, res.ret.Summary))
		}
		return r.beside(ctx, sc, op, res)
	case res.outcome == formats.OutcomeBlocked || res.outcome == formats.OutcomeSuspended:
		return r.engineGate(ctx, sc, op, res)
	}
	return &ending{ret: r.ended(op, res)}, nil
}

// beside makes the return that stands beside an action that passed.
func (r *run) beside(ctx context.Context, sc *scope, op *compile.Op, res result) (*ending, error) {
	if op.Return == nil {
		return nil, nil
	}
	if r.dry.on && op.When != nil && r.dry.unknown(op.When) {
		r.dry.add(sc, op, "may return here")
		return nil, nil
	}
	ret, err := r.give(ctx, sc, op.Return, res)
	if err != nil {
		return nil, r.at(op, sc.path+op.ID, err)
	}
	return &ending{ret: ret, told: true}, nil
}

// follow goes where a target leads.
func (r *run) follow(ctx context.Context, sc *scope, op *compile.Op, res result, t *compile.Target) (*ending, error) {
	switch t.Kind {
	case compile.ToNext:
		return r.beside(ctx, sc, op, res)
	case compile.ToFail:
		return &ending{ret: r.ended(op, res), told: true}, nil
	case compile.ToReturn:
		ret, err := r.give(ctx, sc, t.Return, res)
		if err != nil {
			return nil, r.at(op, sc.path+op.ID, err)
		}
		return &ending{ret: ret, told: true}, nil
	case compile.ToGate:
		return r.engineGate(ctx, sc, op, res)
	case compile.ToRedo:
		if r.dry.on {
			return nil, nil
		}
		return r.redo(ctx, sc, op, res, t)
	}
	return nil, nil
}

// redo runs the named steps again with feedback, then this one.
func (r *run) redo(ctx context.Context, sc *scope, op *compile.Op, res result, t *compile.Target) (*ending, error) {
	before := r.feedback
	fb := &formats.Feedback{From: op.ID, Issues: res.ret.Issues, Attempt: 1}
	if before != nil && before.From == op.ID {
		fb.Attempt = before.Attempt + 1
	}
	if m, ok := res.value.(map[string]any); ok {
		fb.Choice, _ = m["choice"].(string)
		fb.Note, _ = m["note"].(string)
	}
	if err := r.journal(ctx, formats.Entry{Type: formats.EntryRedo, Step: sc.path + op.ID, Data: map[string]any{"steps": t.Redo, "feedback": fb}}); err != nil {
		return nil, err
	}
	r.feedback = fb
	for _, id := range t.Redo {
		if id == op.ID || id == "it" {
			continue
		}
		home, again := sc.find(id)
		if again == nil {
			return nil, &formats.Failure{Code: formats.CodeBug, Message: "redo of unknown step " + id}
		}
		end, err := r.step(ctx, home, again)
		if err != nil || end != nil {
			return end, err
		}
		r.feedback = fb
	}
	end, err := r.step(ctx, sc, op)
	r.feedback = before
	return end, err
}

// engineGate is the engine's own gate for an outcome that a person may settle.
func (r *run) engineGate(ctx context.Context, sc *scope, op *compile.Op, res result) (*ending, error) {
	path := sc.path + op.ID
	why := res.ret.Summary
	if res.ret.BlockedReason != "" {
		why = res.ret.BlockedReason
	}
	g := formats.Gate{Question: fmt.Sprintf("step %s is %s: %s", op.ID, res.outcome, why), Run: r.cfg.IDs.Run, Step: path}
	switch res.outcome {
	case formats.OutcomeFailed:
		g.Choices = labels("retry", "skip", "stop")
	case formats.OutcomeRejected:
		g.Choices = labels("again", "accept", "stop")
	default:
		g.Choices = labels("answer", "stop")
	}
	d, err := r.ask(ctx, path, g)
	if _, open := errors.AsType[*formats.GateOpenError](err); open {
		return &ending{ret: r.ended(op, res)}, nil
	}
	if err != nil {
		return nil, err
	}
	switch d.Answer {
	case "retry", "again", "answer":
		fb := &formats.Feedback{From: op.ID, Issues: res.ret.Issues, Note: d.Note, Answer: d.Note, Choice: d.Answer, Attempt: 1}
		before := r.feedback
		r.feedback = fb
		end, err := r.step(ctx, sc, op)
		r.feedback = before
		return end, err
	case "skip", "accept":
		return r.beside(ctx, sc, op, res)
	}
	return &ending{ret: r.ended(op, res), told: true}, nil
}

func labels(words ...string) []formats.Choice {
	out := make([]formats.Choice, len(words))
	for i, w := range words {
		out[i] = formats.Choice{Label: w}
	}
	return out
}

// ended is the command's return when a step's outcome ends it.
func (r *run) ended(op *compile.Op, res result) formats.Return {
	ret := formats.Return{
		Summary: res.ret.Summary, Issues: res.ret.Issues, Artifacts: newest(r.artifacts), NextSteps: res.ret.NextSteps, Text: res.ret.Text,
	}
	if ret.Summary == "" {
		ret.Summary = fmt.Sprintf("step %s ended %s", op.ID, res.outcome)
	}
	switch res.outcome {
	case formats.OutcomePartial:
		ret.Status = formats.StatusPartial
	case formats.OutcomeBlocked, formats.OutcomeSuspended:
		ret.Status, ret.Said, ret.BlockedReason = formats.StatusBlocked, res.outcome, res.ret.BlockedReason
		if ret.BlockedReason == "" {
			ret.BlockedReason = ret.Summary
		}
	case formats.OutcomeRejected:
		ret.Status = formats.StatusFailed
		ret.Errors = []formats.ReturnError{{Type: formats.ErrorValidation, Code: formats.CodeRejected, Message: ret.Summary, Recommendation: ret.NextSteps}}
	default:
		ret.Status, ret.Errors = formats.StatusFailed, res.ret.Errors
		if len(ret.Errors) == 0 {
			ret.Errors = []formats.ReturnError{{Type: formats.ErrorExecution, Code: formats.CodeUnknown, Message: ret.Summary}}
		}
	}
	return ret
}

// limited is the return of a step whose rules are used up: its own default outcome with code LIMIT, the last failure's
// message first.
func (r *run) limited(op *compile.Op, res result) formats.Return {
	ret := r.ended(op, res)
	if ret.Status == formats.StatusFailed {
		first := ret.Errors[0]
		ret.Errors = append([]formats.ReturnError{{Type: first.Type, Code: formats.CodeLimit, Message: first.Message, Recommendation: first.Recommendation}}, ret.Errors...)
	}
	return ret
}
