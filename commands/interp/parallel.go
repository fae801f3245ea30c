package interp

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/query"
)

// parallel runs the children side by side. Their results stand in the order of the file, whichever came first.
func (r *run) parallel(ctx context.Context, sc *scope, op *compile.Info, p *syntax.Parallel) (result, error) {
	children := make([]*compile.Info, len(op.Body))
	for i, s := range op.Body {
		children[i] = r.prog.Info(s)
	}
	in := newScope(sc, op.Body, sc.path+op.ID+"/")
	results := make([]result, len(children))
	files := make([][]formats.Artifact, len(children))
	err := r.side(ctx, branches{
		n: len(children), most: r.limits.Parallel, more: func() bool { return true },
		body: func(i int) error {
			res, ran, err := r.once(ctx, in, children[i])
			if !ran {
				res = result{
					outcome: formats.OutcomeSkipped,
					ret:     formats.Return{Said: formats.OutcomeSkipped, Status: formats.StatusCompleted},
				}
			}
			results[i], files[i] = res, r.made
			return err
		},
	})
	if err != nil {
		return result{}, err
	}
	votes := make([]Vote, len(results))
	values := make([]any, len(results))
	for i, res := range results {
		child := children[i]
		votes[i] = Vote{Return: voted(res), Check: isCheck(child)}
		value := map[string]any{"id": child.ID, "status": res.outcome.String()}
		maps.Copy(value, res.value)
		values[i] = query.Prepare(value)
		sc.steps[child.ID] = in.steps[child.ID]
		r.conditions(child, res)
		r.post(child, res)
		r.made = append(r.made, files[i]...)
		if slices.Contains(r.dry.stubbed, child.ID) {
			r.dry.stubbed = append(r.dry.stubbed, op.ID)
		}
	}
	outcome, err := Decide(r.predicate(ctx, sc, p.Merge, values, results), votes)
	if err != nil {
		return result{}, err
	}
	return joined(outcome, children, results, values), nil
}

// voted is a return that shows the outcome of a result to Decide.
func voted(res result) formats.Return {
	if res.ret.Outcome() == res.outcome {
		return res.ret
	}
	out := res.ret
	out.Verdict, out.Said = "", res.outcome
	return out
}

func isCheck(op *compile.Info) bool {
	_, ok := op.Action.(*syntax.Check)
	return ok
}

// predicate evaluates `merge` over the children that ran.
func (r *run) predicate(ctx context.Context, sc *scope, e *syntax.Expr, children []any, results []result) Predicate {
	if e == nil {
		return nil
	}
	return func([]formats.Return) (bool, error) {
		ran := []any{}
		for i, child := range children {
			if results[i].outcome != formats.OutcomeSkipped {
				ran = append(ran, child)
			}
		}
		v, err := r.eval(ctx, sc, e, ran)
		return truth(v), err
	}
}

// joined is the result of several children: their issues and artifacts in order, and the words of the first that came
// to the same outcome, else of the first that did not pass.
func joined(outcome formats.Outcome, ops []*compile.Info, results []result, children []any) result {
	ret := formats.Return{Status: formats.StatusCompleted}
	passed, ran := 0, 0
	decided := false
	for i, res := range results {
		if res.outcome == formats.OutcomeSkipped {
			continue
		}
		ran++
		ret.Issues = append(ret.Issues, res.ret.Issues...)
		ret.Artifacts = append(ret.Artifacts, res.ret.Artifacts...)
		if res.outcome.Passes() {
			passed++
			continue
		}
		if ret.Summary == "" || res.outcome == outcome && !decided {
			decided = res.outcome == outcome
			ret.Summary, ret.Errors, ret.Class = ops[i].ID+": "+res.ret.Summary, res.ret.Errors, res.ret.Class
			ret.BlockedReason, ret.BlockedTarget = res.ret.BlockedReason, res.ret.BlockedTarget
		}
		if len(res.ret.Issues) == 0 {
			ret.Issues = append(ret.Issues, formats.Issue{
				Level: formats.LevelError, Description: fmt.Sprintf("%s is %s: %s", ops[i].ID, res.outcome, res.ret.Summary),
				Source: "agent",
			})
		}
	}
	switch {
	case outcome.Passes():
		ret.Summary = fmt.Sprintf("%d of %d passed", passed, ran)
	case ret.Summary == "":
		ret.Summary = fmt.Sprintf("%d of %d passed, and 'merge' asks for more", passed, ran)
	}
	value := resultOf(ret, 1)
	value["status"], value["children"] = outcome.String(), children
	return result{outcome: outcome, ret: ret, attempts: 1, value: value}
}

// left is the result of a loop that a return, a fail or a jump ended: the children so far.
func left(out loop, end *ending) result {
	value := out.value()
	outcome := formats.OutcomeCompleted
	if end.jump == "" {
		outcome = end.ret.Outcome()
	}
	value["status"], value["summary"] = outcome.String(), end.ret.Summary
	return result{outcome: outcome, ret: end.ret, value: value, end: end}
}
