package interp

import (
	"tercet/commands/compile"
	"tercet/formats"
)

// engineCall is a call of the engine itself, outside of the steps of the file.
func (fr frame) engineCall(id string, to *compile.Call) call {
	r := fr.run
	var pos formats.Pos
	if d := r.prog.File.Front.During; d != nil {
		pos = d.Pos
	}
	c := call{
		step:    r.root.syntheticStep(fr, pos, id, id, ""),
		to:      to,
		attempt: 1,
	}
	r.counts.giveNewVisit(c.step.path)
	return c
}

// engineCallWith is a call of the engine with further input. It does not yield to other branches,
// and each one is a visit of its own.
func (fr frame) engineCallWith(id string, to *compile.Call, more object) call {
	fr.branch = nil
	c := fr.engineCall(id, to)
	fr.run.counts.visits[c.step.path]++
	c.extraInput = more
	return c
}

// runOnce makes the call without retries, and keeps its warnings.
func (c call) runOnce() (formats.Return, error) {
	r := c.step.run
	ret, err := c.try()
	r.report.warnings = append(r.report.warnings, ret.Warnings...)
	c.emitWarnings(ret)
	return ret, err
}

// mustPass makes a call without which the run cannot go on.
func (c call) mustPass() error {
	return failureOf(c.runOnce())
}

// mayFail makes a call that may fail. The failure is a warning, which begins with its consequence.
func (c call) mayFail(otherwise string) {
	r := c.step.run
	ret, err := c.runOnce()
	switch {
	case err != nil:
		r.report.warn("%s: %s", otherwise, err)
	case !ret.Outcome().Passes():
		r.report.warn("%s: %s", otherwise, ret.Summary)
	}
}

// failureOf is why a call was not done, nil if it was.
func failureOf(ret formats.Return, err error) error {
	switch {
	case err != nil || ret.Outcome().Passes():
		return err
	case len(ret.Errors) == 0:
		return formats.Fail(formats.CodeUnknown, "", "%s", ret.Summary)
	}
	e := ret.Errors[0]
	return formats.Fail(e.Code, e.Recommendation, "%s", e.Message)
}
