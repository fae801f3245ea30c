package interp

import (
	"tercet/commands/syntax"
	"tercet/formats"
)

func (s step) set(a *syntax.Set) (result, error) {
	out := map[string]any{}
	for _, v := range a.Values {
		name := v.Name.Text
		if s.run.unknown(v.Expr) {
			s.plan("set $%s, which only a run knows", name)
			s.run.dry.taint("$" + name)
			s.scope.setVar(name, nil)
			continue
		}
		got, err := s.env().eval(v.Expr, nil)
		if err == nil {
			err = s.run.checkTier(name, got)
		}
		if err != nil {
			return result{}, err
		}
		s.scope.setVar(name, got)
		out[name] = got
	}
	return newResult(formats.OutcomeCompleted, out), nil
}
