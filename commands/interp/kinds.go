package interp

import "tercet/commands/syntax"

// This file has the questions that the interpreter asks about the kind of a step, apart from what
// the kind does, which runAction chooses.

// isGroup tells whether the steps of the body are in the scope of the step itself.
func isGroup(s *syntax.Step) bool {
	_, ok := s.Action.(*syntax.Group)
	return ok
}

// runsBodyOnce tells whether the body runs once, so that its steps are skipped with the step.
func runsBodyOnce(s *syntax.Step) bool {
	switch s.Action.(type) {
	case *syntax.Group, *syntax.Parallel:
		return true
	}
	return false
}

// checkOf is the check that the step makes, nil for other kinds.
func checkOf(s *syntax.Step) *syntax.Check {
	check, _ := s.Action.(*syntax.Check) //nolint:errcheck // nil for other kinds
	return check
}

// pickOf is the text that names the subagent of a delegation, nil for other steps.
func pickOf(s *syntax.Step) *syntax.Text {
	if a, ok := s.Action.(*syntax.Delegate); ok {
		return a.Pick
	}
	return nil
}

// elementsOf is the expression for the elements of a loop, nil for other kinds.
func elementsOf(s *syntax.Step) *syntax.Expr {
	if a, ok := s.Action.(*syntax.Foreach); ok {
		return a.In
	}
	return nil
}

// namesOf are the variables that the step sets.
func namesOf(s *syntax.Step) []string {
	a, ok := s.Action.(*syntax.Set)
	if !ok {
		return nil
	}
	var out []string
	for _, v := range a.Values {
		out = append(out, "$"+v.Name.Text)
	}
	return out
}
