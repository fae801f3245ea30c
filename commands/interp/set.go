package interp

import (
	"tercet/commands/syntax"
	"tercet/formats"
)

func (s step) set(a *syntax.Set) (result, error) {
	out := map[string]any{}
	for _, v := range a.Values {
		name := v.Name.Text
		if s.unknown(v.Expr) {
			s.plan("set $%s, which only a run knows", name)
			s.dry.taint("$" + name)
			s.let(name, nil)
			continue
		}
		got, err := s.eval(v.Expr, nil)
		if err == nil {
			err = s.tiered(name, got)
		}
		if err != nil {
			return result{}, err
		}
		s.let(name, got)
		out[name] = got
	}
	return showing(formats.OutcomeCompleted, out), nil
}
