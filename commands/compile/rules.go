package compile

import (
	"cmp"
	"slices"

	"tercet/commands/syntax"
	"tercet/formats"
)

// classes are the failures that a rule may be for.
var classes = []string{"timeout", "transient", "invalid_return", "permission"}

// IsClass reports whether the word of a rule is a class of failure rather than an outcome.
func IsClass(word string) bool {
	return slices.Contains(classes, word)
}

// checkRules checks where the outcomes of a step lead: its own rules, then those of the defaults.
func (c *compiler) checkRules(info *Info) {
	if kind := info.Step.Kind(); kind.Fails || kind.Body == syntax.Inline {
		return
	}

	possible := info.Outcomes()
	for _, r := range info.Step.On {
		if c.checkRule(r, info, possible) {
			info.On = append(info.On, r)
		}
	}

	if d := c.file.Defaults; d == nil || c.inParallel || c.inErrors || !info.callsWorker() {
		return
	}
	c.workerOutcomes = append(c.workerOutcomes, possible...)

	lenient := c.lenient
	// what one worker returns another need not
	c.lenient = true
	c.subject = nil

	for _, r := range c.file.Defaults.On {
		word := r.Status.Text
		outcome := formats.Outcome(word)
		if IsClass(word) {
			outcome = formats.OutcomeFailed
		}
		can := slices.Contains(possible, outcome)
		if ruleFor(info.Step.On, word) != nil {
			continue
		}
		// a word that is no outcome at all is reported
		if !can && slices.Contains(formats.Outcomes(), outcome) {
			continue
		}
		if c.checkRule(r, info, possible) {
			info.On = append(info.On, r)
		}
	}

	c.lenient = lenient
	c.subject = info
}

// ruleFor is the rule for a word, nil without one.
func ruleFor(list []syntax.Rule, word string) *syntax.Rule {
	for i := range list {
		if list[i].Status.Text == word {
			return &list[i]
		}
	}
	return nil
}

// rulesOutcomes tells whether a step has rules for its outcomes, and none for a class of failures.
func rulesOutcomes(info *Info) bool {
	for _, r := range info.On {
		if IsClass(r.Status.Text) {
			return false
		}
	}
	return len(info.On) > 0 && info.Step.Action != nil
}

// checkRule checks `on: {status: targets}` of a step that can have certain outcomes; false for one
// that says nothing.
func (c *compiler) checkRule(r syntax.Rule, info *Info, possible []formats.Outcome) bool {
	word := r.Status.Text
	switch {
	case IsClass(word):
		if !slices.Contains(possible, formats.OutcomeFailed) {
			c.report(r.Status.Pos, CodeOutcome, "", "step '%s' cannot end %s", info.ID, word)
		}
	case !slices.Contains(formats.Outcomes(), formats.Outcome(word)):
		names := slices.Concat(classes, formats.Words(formats.Outcomes()))
		c.reportUnknown(r.Status, CodeOutcome, names, "the outcomes are %s",
			"expected an outcome, got %q")
		return false
	case !slices.Contains(possible, formats.Outcome(word)):
		c.report(r.Status.Pos, CodeOutcome, "",
			"step '%s' cannot end %s; it can be %s", info.ID, word, joinWords(possible))
	}

	for _, t := range r.Targets {
		if t.Kind == syntax.ToAsk && word != formats.OutcomeBlocked.String() {
			help := "write blocked: {ask: ...}; for " + word + " there is redo"
			c.report(t.Pos, CodeOutcome, help, "'ask' sends the question of a blocked step, got %s",
				word)
		}
		c.checkTarget(t, info)
	}
	return true
}

// Outcomes lists the outcomes that a step can have, the engine's own included.
func (i *Info) Outcomes() []formats.Outcome {
	if outcomes := kindOf(i.Step).outcomes; outcomes != nil {
		return outcomes(i)
	}
	return []formats.Outcome{formats.OutcomeCompleted}
}

// outcomesOfCall are those of a step whose outcome is that of a subagent.
func outcomesOfCall(i *Info) []formats.Outcome {
	list := []*Call{i.Call, cmp.Or(i.Fallback, i.Call)} // one that is picked has no statuses
	if slices.ContainsFunc(list, func(call *Call) bool { return call.Info.Statuses == nil }) {
		return formats.Outcomes()
	}
	return slices.DeleteFunc(formats.Outcomes(), func(o formats.Outcome) bool {
		if o == formats.OutcomeFailed || o == formats.OutcomeRejected && i.Expect != nil {
			return false
		}
		return !slices.ContainsFunc(list, func(call *Call) bool { return mayEnd(call.Info, o) })
	})
}

// mayEnd tells whether a subagent with a contract may have an outcome.
func mayEnd(info *formats.AgentInfo, o formats.Outcome) bool {
	rejected := o == formats.OutcomeRejected
	// by form: agent_result
	bridged := rejected || o == formats.OutcomeSkipped || o == formats.OutcomeSuspended
	return rejected && info.Role == formats.RoleReviewer || bridged && info.AgentResult ||
		slices.Contains(info.Statuses, o)
}

// checkTarget checks where a result of a step leads.
func (c *compiler) checkTarget(t *syntax.Target, info *Info) {
	c.compileCondition(t.If)
	checkReturn(c, t.Return)

	ends := t.Kind == syntax.ToGate || t.Kind == syntax.ToReturn || t.Kind == syntax.ToFail
	// choices that are not written have no place, and the gate is reported
	if c.inErrors && ends && !t.Pos.IsZero() {
		c.report(t.Pos, CodeErrors, noEffect, "a step of Error Handling cannot ask, return or fail")
	}

	switch t.Kind {
	case syntax.ToNext, syntax.ToFail, syntax.ToReturn:
	case syntax.ToGate:
		c.checkMayAsk(t.Pos)
		if t.Gate != nil {
			checkGate(c, t.Gate, info)
		}
	case syntax.ToRedo, syntax.ToRollback:
		for _, w := range t.Steps {
			c.checkRedo(w)
		}
	case syntax.ToAsk:
		for _, w := range t.Agents {
			c.checkAgent(w)
		}
	case syntax.ToGoto:
		c.checkGoto(t, info)
	}
}

// checkGoto checks a goto: to a step of this sequence or of one around it, never into a loop.
func (c *compiler) checkGoto(t *syntax.Target, info *Info) {
	for _, w := range t.Steps[:min(1, len(t.Steps))] {
		if w.Text == c.scope.self || c.scope.find(w.Text) != nil {
			info.back = append(info.back, t)
		}
		switch {
		case !c.checkStepID(w):
		case c.inErrors || c.host != nil:
			c.report(w.Pos, CodeRedo, "write it in the workflow", "a step here cannot jump")
		default:
			c.checkInReach(w)
		}
	}
}

// checkRedo checks one id that a target sends back to: the step stands before this one, in this
// sequence or one around it.
func (c *compiler) checkRedo(w syntax.Word) {
	switch {
	case w.Text == c.scope.self || w.Text == selfWord ||
		c.subject != nil && w.Text == c.subject.Step.ID.Text || !c.checkStepID(w):
	case c.inErrors &&
		!slices.ContainsFunc(c.scope.steps, func(i *Info) bool {
			return i.ID == w.Text
		}):
		help := "name steps of Error Handling"
		c.report(w.Pos, CodeRedo, help,
			"the workflow is over here, so step '%s' cannot be run again", w.Text)
	case c.checkInReach(w) && c.scope.find(w.Text) == nil:
		help := "redo and rollback name steps that stand before this one"
		c.report(w.Pos, CodeRedo, help, "step '%s' does not stand before this step", w.Text)
	}
}

// checkInReach tells whether a target can lead to a step. It reports a target in a loop, or among
// the children of a step, that this step is not in. It also reports a loop around this step.
func (c *compiler) checkInReach(w syntax.Word) bool {
	loops := c.loopsAround(w.Text)
	switch {
	case loops != nil:
		help := "name the loop '" + loops[0] + "'"
		what := "step '%s' lies in a loop that this step is not in"
		if k := c.index.byID[loops[0]]; k != nil {
			if k.step.Kind().Body == syntax.Concurrent {
				help = "name the parallel step '" + loops[0] + "'"
				what = "step '%s' is a child of parallel"
			}
		}
		c.report(w.Pos, CodeRedo, help, what, w.Text)
	case c.scope.isInLoop(w.Text):
		c.report(w.Pos, CodeRedo, "name steps of its body",
			"step '%s' is the loop around this step", w.Text)
	default:
		return true
	}
	return false
}
