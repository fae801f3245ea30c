package compile

import (
	"slices"
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/nearest"
)

func ruleClasses() []string { return []string{"timeout", "transient", "invalid_return", "permission"} }

// rule compiles `on: {status: targets}` of a step.
func (c *compiler) rule(r syntax.Rule, s *syntax.Step, op *Op) []Rule {
	out := Rule{}
	word := r.Status.Text
	switch {
	case slices.Contains(ruleClasses(), word):
		out.Class = formats.Class(word)
	case slices.Contains(formats.Outcomes(), formats.Outcome(word)):
		out.Outcome = formats.Outcome(word)
		if possible := outcomesOf(op); !slices.Contains(possible, out.Outcome) {
			words := make([]string, len(possible))
			for i, o := range possible {
				words[i] = o.String()
			}
			c.report(r.Status.Pos, CodeOutcome, "", "step '%s' cannot end %s; it can be %s", stepID(s), word, strings.Join(words, ", "))
		}
	default:
		names := ruleClasses()
		for _, o := range formats.Outcomes() {
			names = append(names, o.String())
		}
		c.report(r.Status.Pos, CodeOutcome, nearest.Help(word, names), "expected an outcome, got %q", word)
		return nil
	}
	for _, t := range r.Targets {
		out.Targets = append(out.Targets, c.target(t))
	}
	return []Rule{out}
}

// outcomesOf lists what a step may end as; the engine's own outcomes are in it where the step can have them.
func outcomesOf(op *Op) []formats.Outcome {
	switch a := op.Do.(type) {
	case *Delegate:
		switch {
		case a.Checks:
			return []formats.Outcome{formats.OutcomeApproved, formats.OutcomeRejected, formats.OutcomeFailed}
		case a.Sync:
			return []formats.Outcome{formats.OutcomeCompleted, formats.OutcomeFailed}
		case a.Info.Statuses == nil:
			return formats.Outcomes()
		}
		out := append(slices.Clone(a.Info.Statuses), formats.OutcomeFailed)
		if op.Expect != nil || a.Info.Role == formats.RoleReviewer {
			out = append(out, formats.OutcomeRejected)
		}
		if a.Info.AgentResult {
			out = append(out, formats.OutcomeRejected, formats.OutcomeSkipped, formats.OutcomeSuspended)
		}
		slices.Sort(out)
		return slices.Compact(out)
	case *Check:
		return []formats.Outcome{formats.OutcomeApproved, formats.OutcomeRejected, formats.OutcomeFailed}
	case *Foreach:
		return []formats.Outcome{
			formats.OutcomeCompleted, formats.OutcomePartial, formats.OutcomeRejected, formats.OutcomeBlocked, formats.OutcomeSuspended, formats.OutcomeFailed,
		}
	}
	return []formats.Outcome{formats.OutcomeCompleted}
}

func (c *compiler) target(t *syntax.Target) *Target {
	if t == nil {
		return &Target{Kind: ToNext}
	}
	out := &Target{Pos: t.Pos, If: c.expr(t.If), Max: t.Max, Return: c.ret(t.Return)}
	switch t.Kind {
	case syntax.ToNext:
		out.Kind = ToNext
	case syntax.ToFail:
		out.Kind = ToFail
	case syntax.ToGate:
		out.Kind = ToGate
	case syntax.ToReturn:
		out.Kind = ToReturn
	case syntax.ToRedo:
		out.Kind = ToRedo
		for _, w := range t.Steps {
			c.redo(w)
			out.Redo = append(out.Redo, w.Text)
		}
		if t.Max > 10 {
			c.report(t.Pos, CodeRedo, "", "expected max from 1 to 10, got %d", t.Max)
		}
	}
	return out
}

// redo checks one id that a target sends back to: the step stands before this one, in this sequence or one around it.
func (c *compiler) redo(w syntax.Word) {
	if w.Text == c.scope.self || c.scope.find(w.Text) != nil {
		return
	}
	every := allIDs(c.file.Steps)
	if every[w.Text] {
		for _, loop := range c.scope.ids() {
			if info := c.scope.find(loop); info != nil && slices.Contains(info.inside, w.Text) {
				c.report(w.Pos, CodeRedo, "name the loop '"+loop+"'", "step '%s' lies in a loop that this step is not in", w.Text)
				return
			}
		}
		c.report(w.Pos, CodeRedo, "redo names steps that stand before this one", "step '%s' stands behind this step", w.Text)
		return
	}
	names := make([]string, 0, len(every))
	for name := range every {
		names = append(names, name)
	}
	slices.Sort(names)
	c.report(w.Pos, CodeStep, nearest.Help(w.Text, names), "no step has id '%s'", w.Text)
}

// checks is the list of what is verified over the whole file once every step is compiled.
func checks() []func(*compiler) {
	return []func(*compiler){checkReachable, checkSteps, checkAlways}
}

func checkReachable(c *compiler) {
	for _, s := range c.reached {
		c.report(s.Pos, CodeUnreachable, "give the step before it a when, or remove this one", "no path leads to this step")
	}
}

func checkSteps(c *compiler) {
	if len(c.file.Steps) == 0 && len(c.found.List) == 0 {
		c.report(syntax.Pos{Line: 1, Col: 1}, CodeAction, "add '### Step 1: ...' under '## Workflow Execution'", "the workflow has no step")
	}
}

// checkAlways: only Error Handling has always, and there it must have it.
func checkAlways(c *compiler) {
	var walk func([]*syntax.Step)
	walk = func(list []*syntax.Step) {
		for _, s := range list {
			if s.Always != nil {
				c.report(s.Always.Pos, CodeAction, "move the step under '## Error Handling'", "always stands only under Error Handling")
			}
			walk(s.Body)
		}
	}
	walk(c.file.Steps)
	for _, s := range c.file.Errors {
		if s.Always == nil {
			c.report(s.Pos, CodeAction, "add always: failed, completed or any", "a step of Error Handling needs always")
			continue
		}
		if !slices.Contains([]string{"failed", "completed", "any"}, s.Always.Text) {
			c.report(s.Always.Pos, CodeAction, nearest.Help(s.Always.Text, []string{"failed", "completed", "any"}), "expected failed, completed or any, got %q", s.Always.Text)
		}
	}
}
