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

// until runs the body until the condition holds after a pass. What it shows of its steps afterwards is the last pass.
func (r *run) until(ctx context.Context, sc *scope, op *compile.Info, u *syntax.Until) (result, error) {
	path := sc.path + op.ID
	out := loop{lists: map[formats.Outcome][]any{}}
	var in *scope
	done := false
	for pass := 0; pass < u.Max && !done && out.last == nil; pass++ {
		if err := r.journal(ctx, formats.Entry{
			Type: formats.EntryLoopEntered, Step: path,
			Data: map[string]any{"pass": pass},
		}); err != nil {
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
	ret := formats.Return{
		Status: formats.StatusCompleted, Issues: out.issues, Artifacts: out.files,
		Summary: fmt.Sprintf("%d passes", len(out.children)),
	}
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
