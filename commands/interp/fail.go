package interp

import (
	"context"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
)

func (r *run) fail(ctx context.Context, sc *scope, op *compile.Info, a *syntax.Fail) (result, error) {
	message, err := r.dryText(ctx, sc, a.Message, nil)
	if err != nil {
		return result{}, err
	}
	if r.dry.on {
		r.dry.add(sc, op, "fail: "+message)
	}
	code, _ := compile.ExitCode(a.Code)
	ret := formats.Failed(&formats.Failure{Code: code, Message: message})
	ret.Artifacts = newest(r.artifacts)
	return result{
		outcome: formats.OutcomeFailed, ret: ret, value: resultOf(ret, 1),
		end: &ending{ret: ret, told: true},
	}, nil
}
