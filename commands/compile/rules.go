package compile

import (
	"slices"
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/nearest"
)

func ruleClasses() []string { return []string{"timeout", "transient", "invalid_return", "permission"} }

// rules compiles where the outcomes of a step lead: its own rules, then those of the defaults. Of a step that was compiled
// before for another host, what leads nowhere in particular is taken from there.
func (c *compiler) rules(s *syntax.Step, op *Op, before []Rule) {
	_, group := op.Do.(*Group)
	_, fails := op.Do.(*Fail)
	own, defaults := len(s.On), c.takesRules(op)
	op.On = nil
	if group || fails {
		own = 0
	}
	if own == 0 && !defaults {
		return
	}
	possible := outcomesOf(op)
	most := own
	if defaults {
		most += len(c.file.Defaults.On)
	}
	op.On = c.made.rules.List(most)
	for i, r := range s.On[:own] {
		if before != nil && steadyRule(r) {
			op.On = append(op.On, before[i])
			continue
		}
		if one := c.rule(r, op, possible); one != nil {
			op.On = append(op.On, *one)
		}
	}
	if defaults {
		c.defaultRules(s, op, possible)
	}
	if len(op.On) == 0 {
		op.On = nil
	}
}

// ruled tells whether rules as they are written have one for the same word.
func ruled(list []syntax.Rule, r Rule) bool {
	word := r.Outcome.String()
	if r.Class != "" {
		word = string(r.Class)
	}
	return slices.ContainsFunc(list, func(o syntax.Rule) bool { return o.Status.Text == word })
}

// rule compiles `on: {status: targets}` of a step that can have certain outcomes; nil for one that says nothing.
func (c *compiler) rule(r syntax.Rule, op *Op, possible []formats.Outcome) *Rule {
	out := &Rule{}
	word := r.Status.Text
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
	out.Targets = c.made.targetRefs.List(len(r.Targets))
	for _, t := range r.Targets {
		if t.Kind == syntax.ToAsk && out.Outcome != formats.OutcomeBlocked {
			c.report(t.Pos, CodeOutcome, "write blocked: {ask: ...}; for "+word+" there is redo", "'ask' sends the question of a blocked step, got %s", word)
		}
		out.Targets = append(out.Targets, c.target(t))
	}
	return out
}

// outcomesOf lists what a step may end as; the engine's own outcomes are in it where the step can have them.
func outcomesOf(op *Op) []formats.Outcome {
	switch a := op.Do.(type) {
	case *Delegate:
		switch {
		case a.Checks:
			return judged()
		case a.Sync:
			return []formats.Outcome{formats.OutcomeCompleted, formats.OutcomeFailed}
		case a.Pick != nil, a.Info.Statuses == nil, op.Fallback != "" && op.FallbackInfo.Statuses == nil:
			return formats.Outcomes()
		}
		return slices.DeleteFunc(formats.Outcomes(), func(o formats.Outcome) bool { return !mayEnd(op, a, o) })
	case *Check:
		return judged()
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

func judged() []formats.Outcome {
	return []formats.Outcome{formats.OutcomeApproved, formats.OutcomeRejected, formats.OutcomeFailed}
}

// mayEnd tells whether a delegation to subagents with a contract may have an outcome.
func mayEnd(op *Op, a *Delegate, o formats.Outcome) bool {
	rejected := o == formats.OutcomeRejected
	bridged := rejected || o == formats.OutcomeSkipped || o == formats.OutcomeSuspended // by form: agent_result
	may := func(info *formats.AgentInfo) bool {
		return rejected && info.Role == formats.RoleReviewer || bridged && info.AgentResult || slices.Contains(info.Statuses, o)
	}
	return o == formats.OutcomeFailed || rejected && op.Expect != nil || may(a.Info) || op.Fallback != "" && may(op.FallbackInfo)
}

func (c *compiler) target(t *syntax.Target) *Target {
	if t == nil {
		return &Target{Kind: ToNext}
	}
	out := c.made.targets.New()
	out.Pos, out.Kind, out.If, out.Max, out.Return = t.Pos, t.Kind, c.verdict(t.If), t.Max, c.ret(t.Return)
	if c.inErrors && (t.Kind == ToGate || t.Kind == ToReturn || t.Kind == ToFail) {
		c.report(t.Pos, CodeErrors, "what goes wrong here is a warning; the command ends as it would have", "a step of Error Handling cannot ask, return or fail")
	}
	switch t.Kind {
	case ToNext, ToFail, ToReturn:
	case ToGate:
		c.mayAsk(t.Pos)
		if t.Gate != nil {
			out.Gate = c.question(t.Gate)
		}
	case ToRedo, ToRollback:
		if len(t.Steps) > 0 {
			out.Redo = make([]string, 0, len(t.Steps))
		}
		for _, w := range t.Steps {
			if w.Text == itself {
				w.Text = c.scope.self
			}
			c.redo(w)
			out.Redo = append(out.Redo, w.Text)
		}
	case ToAsk:
		for _, w := range t.Agents {
			if info, ok := c.agent(w); ok {
				out.Ask = append(out.Ask, Asked{w.Text, *info})
			}
		}
	case ToGoto:
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
		c.outside(w)
	case c.scope.inside(w.Text):
		c.report(w.Pos, CodeRedo, "name steps of its body", "step '%s' is the loop around this step", w.Text)
	}
}

// outside reports an id in a loop, or among the children of a step, that this step is not in.
func (c *compiler) outside(w syntax.Word) {
	around := c.outsideLoop(w.Text)[0]
	if k := c.named(around); k != nil && k.step != nil {
		if _, side := k.step.Action.(*syntax.Parallel); side {
			c.report(w.Pos, CodeRedo, "name the parallel step '"+around+"'", "step '%s' is a child of parallel", w.Text)
			return
		}
	}
	c.report(w.Pos, CodeRedo, "name the loop '"+around+"'", "step '%s' lies in a loop that this step is not in", w.Text)
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
		c.outside(w)
	case c.scope.inside(w.Text):
		c.report(w.Pos, CodeRedo, "name steps of its body", "step '%s' is the loop around this step", w.Text)
	case c.scope.find(w.Text) == nil:
		c.report(w.Pos, CodeRedo, "redo and rollback name steps that stand before this one", "step '%s' does not stand before this step", w.Text)
	}
}

// checks is the list of what is verified over the whole file once every step is compiled.
func checks() []func(*compiler) {
	return []func(*compiler){checkReachable, checkErrors, checkTier, checkBetween, checkDefaults, checkWorkflow}
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
