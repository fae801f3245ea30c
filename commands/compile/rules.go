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
func (c *compiler) rule(r syntax.Rule, op *Op) []Rule {
	out := Rule{}
	word := r.Status.Text
	possible := outcomesOf(op)
	switch {
	case slices.Contains(ruleClasses(), word):
		out.Class = formats.Class(word)
		if !slices.Contains(possible, formats.OutcomeFailed) {
			c.report(r.Status.Pos, CodeOutcome, "", "step '%s' cannot end %s", op.ID, word)
		}
	case slices.Contains(formats.Outcomes(), formats.Outcome(word)):
		out.Outcome = formats.Outcome(word)
		if !slices.Contains(possible, out.Outcome) {
			list := make([]string, len(possible))
			for i, o := range possible {
				list[i] = o.String()
			}
			c.report(r.Status.Pos, CodeOutcome, "", "step '%s' cannot end %s; it can be %s", op.ID, word, strings.Join(list, ", "))
		}
	default:
		names := ruleClasses()
		for _, o := range formats.Outcomes() {
			names = append(names, o.String())
		}
		help := nearest.Help(word, names)
		if help == "" {
			help = "the outcomes are " + strings.Join(names, ", ")
		}
		c.report(r.Status.Pos, CodeOutcome, help, "expected an outcome, got %q", word)
		return nil
	}
	for _, t := range r.Targets {
		out.Targets = append(out.Targets, c.target(t))
	}
	return []Rule{out}
}

// outcomesOf lists what a step may end as; the engine's own outcomes are in it where the step can have them.
func outcomesOf(op *Op) []formats.Outcome {
	judged := []formats.Outcome{formats.OutcomeApproved, formats.OutcomeRejected, formats.OutcomeFailed}
	switch a := op.Do.(type) {
	case *Delegate:
		switch {
		case a.Checks:
			return judged
		case a.Sync:
			return []formats.Outcome{formats.OutcomeCompleted, formats.OutcomeFailed}
		case a.Pick != nil, a.Info.Statuses == nil, op.Fallback != "" && op.FallbackInfo.Statuses == nil:
			return formats.Outcomes()
		}
		return delegateOutcomes(op, a)
	case *Check:
		return judged
	case *Parallel:
		return []formats.Outcome{
			formats.OutcomeCompleted, formats.OutcomeSkipped, formats.OutcomePartial, formats.OutcomeRejected, formats.OutcomeBlocked,
			formats.OutcomeSuspended, formats.OutcomeFailed,
		}
	case *Foreach, *Until:
		return []formats.Outcome{
			formats.OutcomeCompleted, formats.OutcomePartial, formats.OutcomeRejected, formats.OutcomeBlocked, formats.OutcomeSuspended, formats.OutcomeFailed,
		}
	}
	return []formats.Outcome{formats.OutcomeCompleted}
}

func delegateOutcomes(op *Op, a *Delegate) []formats.Outcome {
	may := map[formats.Outcome]bool{formats.OutcomeFailed: true, formats.OutcomeRejected: op.Expect != nil}
	infos := []*formats.AgentInfo{a.Info}
	if op.Fallback != "" {
		infos = append(infos, op.FallbackInfo)
	}
	for i := range infos {
		for _, o := range infos[i].Statuses {
			may[o] = true
		}
		if infos[i].Role == formats.RoleReviewer || infos[i].AgentResult {
			may[formats.OutcomeRejected] = true
		}
		if infos[i].AgentResult {
			may[formats.OutcomeSkipped], may[formats.OutcomeSuspended] = true, true
		}
	}
	var out []formats.Outcome
	for _, o := range formats.Outcomes() {
		if may[o] {
			out = append(out, o)
		}
	}
	return out
}

func (c *compiler) target(t *syntax.Target) *Target {
	if t == nil {
		return &Target{Kind: ToNext}
	}
	out := &Target{Pos: t.Pos, If: c.expr(t.If), Max: t.Max, Return: c.ret(t.Return)}
	if c.inErrors && (t.Kind == syntax.ToGate || t.Kind == syntax.ToReturn || t.Kind == syntax.ToFail) {
		c.report(t.Pos, CodeErrors, "what goes wrong here is a warning; the command ends as it would have", "a step of Error Handling cannot ask, return or fail")
	}
	switch t.Kind {
	case syntax.ToNext:
		out.Kind = ToNext
	case syntax.ToFail:
		out.Kind = ToFail
	case syntax.ToGate:
		out.Kind = ToGate
		c.mayAsk(t.Pos)
		if t.Gate != nil {
			out.Gate = c.question(t.Gate)
		}
	case syntax.ToReturn:
		out.Kind = ToReturn
	case syntax.ToRedo, syntax.ToRollback:
		out.Kind = ToRedo
		if t.Kind == syntax.ToRollback {
			out.Kind = ToRollback
		}
		for _, w := range t.Steps {
			if w.Text == itself {
				w.Text = c.scope.self
			}
			c.redo(w)
			out.Redo = append(out.Redo, w.Text)
		}
	case syntax.ToAsk:
		out.Kind = ToAsk
		for _, w := range t.Agents {
			if info, ok := c.agent(w); ok {
				out.Ask = append(out.Ask, Asked{w.Text, *info})
			}
		}
	case syntax.ToGoto:
		out.Kind = ToGoto
		c.jump(t, out)
	}
	return out
}

// jump checks a goto: to a step of this sequence or of one around it, never into a loop.
func (c *compiler) jump(t *syntax.Target, out *Target) {
	if len(t.Steps) == 0 {
		return
	}
	w := t.Steps[0]
	out.Goto = w.Text
	out.Back = w.Text == c.scope.self || c.scope.find(w.Text) != nil
	switch {
	case c.named(w.Text) == nil:
		c.report(w.Pos, CodeStep, nearest.Help(w.Text, c.stepNames()), "no step has id '%s'", w.Text)
	case c.inErrors || c.betweens.host != nil:
		c.report(w.Pos, CodeRedo, "write it in the workflow", "a step here cannot jump")
	case c.outsideLoop(w.Text) != nil:
		loop := c.outsideLoop(w.Text)[0]
		c.report(w.Pos, CodeRedo, "name the loop '"+loop+"'", "step '%s' lies in a loop that this step is not in", w.Text)
	case c.scope.inside(w.Text):
		c.report(w.Pos, CodeRedo, "name steps of its body", "step '%s' is the loop around this step", w.Text)
	}
}

// redo checks one id that a target sends back to: the step stands before this one, in this sequence or one around it.
func (c *compiler) redo(w syntax.Word) {
	switch {
	case w.Text == c.scope.self:
	case c.named(w.Text) == nil:
		c.report(w.Pos, CodeStep, nearest.Help(w.Text, c.stepNames()), "no step has id '%s'", w.Text)
	case c.inErrors && c.scope.steps.of(w.Text) == nil:
		c.report(w.Pos, CodeRedo, "name steps of Error Handling", "the workflow is over here, so step '%s' cannot be run again", w.Text)
	case c.outsideLoop(w.Text) != nil:
		loop := c.outsideLoop(w.Text)[0]
		c.report(w.Pos, CodeRedo, "name the loop '"+loop+"'", "step '%s' lies in a loop that this step is not in", w.Text)
	case c.scope.inside(w.Text):
		c.report(w.Pos, CodeRedo, "name steps of its body", "step '%s' is the loop around this step", w.Text)
	case c.scope.find(w.Text) == nil:
		c.report(w.Pos, CodeRedo, "redo and rollback name steps that stand before this one", "step '%s' does not stand before this step", w.Text)
	}
}

// checks is the list of what is verified over the whole file once every step is compiled.
func checks() []func(*compiler) {
	return []func(*compiler){checkReachable, checkErrors, checkTier, checkBetween, checkWorkflow}
}

func checkReachable(c *compiler) {
	for _, s := range c.reached {
		if c.gotos[c.id(s)] {
			continue
		}
		c.report(s.Pos, CodeUnreachable, "give the step before it a when, or remove this one", "no path leads to this step")
	}
}

// checkErrors: a step of Error Handling says when it runs, and cannot change what the command ends with.
func checkErrors(c *compiler) {
	for _, s := range c.file.Errors {
		if s.Always == nil {
			c.report(s.Block, CodeErrors, "add always: failed, completed or any", "a step of Error Handling needs 'always'")
		}
		switch s.Action.(type) {
		case *syntax.Gate:
			c.report(s.Block, CodeErrors, "ask before the end of the workflow", "a step of Error Handling cannot ask: it has five seconds")
		case *syntax.Fail:
			c.report(s.Block, CodeErrors, "what goes wrong here is a warning; the command ends as it would have", "a step of Error Handling cannot fail the command")
		default:
		}
		if s.Return != nil {
			c.report(s.Return.Pos, CodeErrors, "the command ends as it would have", "a step of Error Handling cannot end the command")
		}
	}
}
