package interp

import (
	"tercet/commands/compile"
	"tercet/formats"
)

// ownCall is a call of the engine itself, outside of the steps of the file.
func (r *run) ownCall(fr frame, id string, to *compile.Call) call {
	var pos formats.Pos
	if d := r.prog.File.Front.During; d != nil {
		pos = d.Pos
	}
	c := call{
		step:    r.root.syntheticStep(fr, pos, id, id, ""),
		to:      to,
		attempt: 1,
	}
	r.counts.reopen(c.step.path)
	return c
}

// engineCall is a call of the engine in the worktree of a child, or with nil in that of the run. It
// does not yield to other branches.
func (r *run) engineCall(
	fr frame,
	t *subtree,
	id string,
	to *compile.Call,
	more map[string]any,
) call {
	fr.branch = nil
	fr.subtree = t
	c := r.ownCall(fr, id, to)
	r.counts.visits[c.step.path]++
	c.extraInput = more
	return c
}

// callOnce makes a call without retries, and keeps its warnings.
func (r *run) callOnce(c call) (formats.Return, error) {
	ret, err := c.try()
	r.warnings = append(r.warnings, ret.Warnings...)
	c.emitWarnings(ret)
	return ret, err
}

// mustCall makes a call without which the run cannot go on.
func (r *run) mustCall(c call) error {
	return cause(r.callOnce(c))
}

// mayCall makes a call that may fail. The failure is a warning, which begins with its consequence.
func (r *run) mayCall(c call, otherwise string) {
	ret, err := r.callOnce(c)
	switch {
	case err != nil:
		r.warn("%s: %s", otherwise, err)
	case !ret.Outcome().Passes():
		r.warn("%s: %s", otherwise, ret.Summary)
	}
}

// cause is why a call was not done, nil if it was.
func cause(ret formats.Return, err error) error {
	switch {
	case err != nil || ret.Outcome().Passes():
		return err
	case len(ret.Errors) == 0:
		return formats.Fail(formats.CodeUnknown, "", "%s", ret.Summary)
	}
	e := ret.Errors[0]
	return formats.Fail(e.Code, e.Recommendation, "%s", e.Message)
}
