package interp

import (
	"slices"

	"tercet/commands/syntax"
	"tercet/formats"
)

// group runs the body in the scope of the step.
func (s step) group() (result, error) {
	end, err := s.scope.walk(s.frame, s.info.Step.Body, "")
	if err != nil {
		return result{}, err
	}

	outcome := formats.OutcomeCompleted
	ret := formats.Return{}
	if end != nil && end.jump == "" && !end.hostRerun {
		outcome = end.ret.Outcome()
		ret = end.ret
	}

	s.plan("run these steps")
	out := newResult(outcome, object{})
	out.ret = ret
	out.end = end
	return out, nil
}

// findIn finds a step by its id: the step itself, or one in its group.
func findIn(s *syntax.Step, id string) *syntax.Step {
	if s.ID.Text == id {
		return s
	}
	if s.Kind().Body == syntax.Inline {
		for _, inner := range s.Body {
			if found := findIn(inner, id); found != nil {
				return found
			}
		}
	}
	return nil
}

// indexOf is the index of the step with the id, or of the group that has it; -1 without one.
func indexOf(list []*syntax.Step, id string) int {
	return slices.IndexFunc(list, func(s *syntax.Step) bool {
		return id != "" && findIn(s, id) != nil
	})
}
