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
				res = result{outcome: formats.OutcomeSkipped, ret: formats.Return{Said: formats.OutcomeSkipped, Status: formats.StatusCompleted}}
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
				Level: formats.LevelError, Description: fmt.Sprintf("%s is %s: %s", ops[i].ID, res.outcome, res.ret.Summary), Source: "agent",
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

// until runs the body until the condition holds after a pass. What it shows of its steps afterwards is the last pass.
func (r *run) until(ctx context.Context, sc *scope, op *compile.Info, u *syntax.Until) (result, error) {
	path := sc.path + op.ID
	out := loop{lists: map[formats.Outcome][]any{}}
	var in *scope
	done := false
	for pass := 0; pass < u.Max && !done && out.last == nil; pass++ {
		if err := r.journal(ctx, formats.Entry{Type: formats.EntryLoopEntered, Step: path, Data: map[string]any{"pass": pass}}); err != nil {
			return result{}, err
		}
		r.entered++
		in = newScope(sc, op.Body, fmt.Sprintf("%s[%d]/", path, pass))
		in.set("index", pass)
		outer := r.made
		r.made = nil
		end, err := r.sequence(ctx, in)
		files := r.made
		r.made = append(outer, files...)
		if err != nil {
			return result{}, err
		}
		if end != nil && end.leaves() {
			return left(out, end), nil
		}
		out.add(pass, nil, in, end, files)
		if end != nil {
			break
		}
		if r.unknown(u.Cond) {
			r.dry.add(sc, op, "until "+u.Cond.Src+" (decided at run time)")
			done = true
			break
		}
		v, err := r.eval(ctx, in, u.Cond, nil)
		if err != nil {
			return result{}, err
		}
		done = truth(v)
	}
	maps.Copy(sc.steps, in.steps)
	ret := formats.Return{Status: formats.StatusCompleted, Issues: out.issues, Artifacts: out.files, Summary: fmt.Sprintf("%d passes", len(out.children))}
	outcome := formats.OutcomeCompleted
	switch {
	case out.last != nil:
		ret, outcome = *out.last, out.outcome
	case !done:
		outcome, ret.Status = formats.OutcomePartial, formats.StatusPartial
		ret.Summary = lastWords(in, op.Body, fmt.Sprintf("not reached in %d passes: %s", u.Max, u.Cond.Src))
	}
	value := out.value()
	value["status"], value["summary"] = outcome.String(), ret.Summary
	return result{outcome: outcome, ret: ret, attempts: 1, value: value}, nil
}

// lastWords is the summary of the last step of a pass, which says more than that the end was not reached.
func lastWords(in *scope, body []*syntax.Step, otherwise string) string {
	for _, s := range slices.Backward(body) {
		if v, ok := in.steps[s.ID.Text]; ok {
			if s := as[string](as[map[string]any](query.Normalize(v))["summary"]); s != "" {
				return otherwise + "; last: " + s
			}
		}
	}
	return otherwise
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
