package interp

import (
	"context"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
)

func (r *run) set(ctx context.Context, sc *scope, op *compile.Info, a *syntax.Set) (result, error) {
	out := map[string]any{}
	for _, v := range a.Values {
		if r.unknown(v.Expr) {
			r.dry.add(sc, op, "set "+v.Name.Text+" (known at run time)")
			r.dry.taint("$" + v.Name.Text)
			sc.set(v.Name.Text, nil)
			continue
		}
		got, err := r.eval(ctx, sc, v.Expr, nil)
		if err != nil {
			return result{}, err
		}
		if err := r.tiered(v.Name.Text, got); err != nil {
			return result{}, err
		}
		sc.set(v.Name.Text, got)
		out[v.Name.Text] = got
	}
	out["status"] = formats.OutcomeCompleted.String()
	return result{outcome: formats.OutcomeCompleted, value: out}, nil
}
