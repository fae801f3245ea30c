package interp

import (
	"fmt"
	"maps"

	"tercet/commands/syntax"
	"tercet/formats"
)

// until runs the body until the condition holds after a pass. What it shows of its steps afterwards is the last pass.
func (s step) until(u *syntax.Until) (result, error) {
	var out loop
	var p pass
	done := false
	for i := 0; i < u.Max && !done && out.last == nil; i++ {
		if err := s.note(formats.EntryLoopEntered, map[string]any{"pass": i}); err != nil {
			return result{}, err
		}
		outer := s.made
		var err error
		p, err = s.pass(i, nil)
		s.made = append(outer, p.files...)
		if err != nil {
			return result{}, err
		}
		if p.end.leaves() {
			return out.left(p.end), nil
		}
		out.add(i, nil, p)
		switch {
		case p.end != nil:
		case s.unknown(u.Cond):
			s.plan("go on until %s, which only a run knows", u.Cond.Src)
			done = true
		default:
			if done, err = p.in.holds(u.Cond, nil); err != nil {
				return result{}, err
			}
		}
	}
	maps.Copy(s.results, p.in.results)
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
		ret.Summary = fmt.Sprintf("not reached in %d passes: %s", u.Max, u.Cond.Src)
		if words := p.in.lastWords(); words != "" {
			ret.Summary += "; last: " + words
		}
	}
	return summed(outcome, ret, out.value()), nil
}
