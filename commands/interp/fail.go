package interp

import (
	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
)

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
