package interp

import (
	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
)

// act does what the kind of the step says. A step that calls a subagent does not get here.
func (s step) act() (result, error) {
	switch a := s.info.Step.Action.(type) {
	case *syntax.Parallel:
		return s.parallel(a)
	case *syntax.Foreach:
		return s.foreach(a)
	case *syntax.Until:
		return s.until(a)
	case *syntax.Group:
		return s.group()
	case *syntax.Check:
		return s.check(a)
	case *syntax.Wait:
		return waitFor(s, seconds(a.For))
	case *syntax.Gate:
		return s.gate(s.journalPath(), a, nil)
	case *syntax.Set:
		return s.set(a)
	case *syntax.Fail:
		return s.fail(a)
	}

	return newResult(formats.OutcomeCompleted, object{}), nil
}

// set evaluates the expressions in their order; a later one may read an earlier name.
func (s step) set(a *syntax.Set) (result, error) {
	out := object{}
	for _, v := range a.Values {
		name := v.Name.Text
		if s.run.dry.isUnknown(v.Expr) {
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

// fail ends the command.
func (s step) fail(a *syntax.Fail) (result, error) {
	message, err := s.env().dryText(a.Message, nil)
	if err != nil {
		return result{}, err
	}
	s.plan("fail: %s", message)
	code, _ := compile.ExitCode(a.Code)
	ret := formats.Failed(formats.Fail(code, "", "%s", message))
	ret.Artifacts = s.run.artifacts.newest()

	out := resultOf(ret, 1)
	out.end = final(ret)
	return out, nil
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
