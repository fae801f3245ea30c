package interp

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
)

// rollback is a redo that counts against the limit of the run. At the limit the user is asked.
func (tr transition) rollback(t *syntax.Target) (*ending, error) {
	r := tr.step.run
	if r.counts.rollbacks >= r.limits.Rollbacks {
		return tr.limitGate(t)
	}
	r.counts.rollbacks++
	return tr.redo(t)
}

// choiceRollback is the answer of the limit gate that goes back all the same.
const choiceRollback = "Continue rollback"

// limitGate asks what to do when the rollbacks of the run are used up. Approval without the user
// stops.
func (tr transition) limitGate(t *syntax.Target) (*ending, error) {
	s := tr.step
	r := s.run
	why := fmt.Sprintf("the limit of %d rollbacks is reached: %s",
		r.limits.Rollbacks, tr.baseReturn().Summary)
	if r.finishing || r.dry.on || r.cfg.AutoApprove {
		return final(tr.limitReturn(why, raiseLimit("rollbacks"))), nil
	}

	g := r.question(
		s.journalPath(),
		fmt.Sprintf("step '%s' is %s, and %s", s.info.Step.Title, tr.result.outcome, why),
		choiceRollback,
		choiceAccept,
		choiceAbort,
	)
	for _, i := range tr.result.ret.Issues {
		g.Show = append(g.Show, i.Description)
	}

	g, d, err := ask(s, fixedGate{gate: g})
	if err != nil {
		return nil, err
	}
	switch d.Answer {
	case choiceRollback:
		r.counts.rollbacks++
		if d.Note != "" {
			tr.result.value = maps.Clone(tr.result.value)
			tr.result.value["note"] = d.Note
		}
		return tr.redo(t)
	case choiceAccept:
		tr.recordOverride(d)
		return tr.proceed()
	case choiceAbort:
		return tr.rejectedEnding(g, d), nil
	}

	return nil, unknownAnswer(g, d)
}

// askAgent sends the question of a blocked step to a subagent, and runs the step again with the
// answer. It goes to the next rule, or else to the user, if the same question went to the same
// target before, if there is no answer, or if the step has asked too often.
func (tr transition) askAgent(t *syntax.Target) (*ending, error) {
	r := tr.step.run
	res := tr.result
	question := cmp.Or(res.ret.BlockedReason, res.ret.Summary)

	target := t.Agents[0].Text
	if slices.ContainsFunc(t.Agents, func(a syntax.Word) bool {
		return a.Text == res.ret.BlockedTarget
	}) {
		target = res.ret.BlockedTarget
	}

	key := strings.Join([]string{tr.step.path, target, question}, "\x00")
	if r.counts.asked[tr.step.path] >= maxQuestions(t) || r.counts.questions[key] ||
		r.dry.on && len(r.dry.returns[target]) == 0 {
		return tr.followNextRule(t)
	}

	r.counts.asked[tr.step.path]++
	r.counts.questions[key] = true
	if err := tr.step.record(formats.EntryAsked, object{
		"target":   target,
		"question": question,
		"asked":    r.counts.asked[tr.step.path],
	}); err != nil {
		return nil, err
	}

	got, err := tr.delegateQuestion(target, question)
	if err != nil {
		return nil, err
	}
	words := cmp.Or(got.Text, got.Summary)
	if !got.Outcome().Passes() || words == "" {
		r.report.warn("%s: %s did not answer: %s", tr.step.info.Step.Title, target, got.Summary)
		return tr.followNextRule(t)
	}

	fb := formats.Feedback{
		From:     target,
		Answer:   words,
		Attempt:  r.counts.asked[tr.step.path],
		Question: question,
		Target:   target,
		Last:     tr.lastReturn(),
	}
	return tr.step.withFeedback(withAnswer(tr.step.frame.feedback, fb)).execute()
}

// followNextRule follows the next rule of the file for the outcome, or asks by the gate of the
// engine.
func (tr transition) followNextRule(t *syntax.Target) (*ending, error) {
	next, _, err := tr.matchRule(t)
	switch {
	case err != nil:
		return nil, err
	case next == nil:
		return tr.engineGate(true)
	}
	return tr.follow(next)
}

// maxQuestions is how many questions of one step a rule may send.
func maxQuestions(t *syntax.Target) int {
	return cmp.Or(t.Max, formats.DefaultAsk)
}

// delegateQuestion delegates a question alone, without work.
func (tr transition) delegateQuestion(to, question string) (formats.Return, error) {
	s := tr.step
	r := s.run
	c := call{
		step: s.scope.syntheticStep(
			s.frame.withFeedback(nil),
			s.info.Step.Pos,
			s.info.ID+".ask",
			s.info.Step.Title,
			s.info.Terms.In,
		),
		attempt:  1,
		question: question,
	}

	r.counts.visits[c.step.path]++
	info := *r.prog.Agent(to)
	c.to = &compile.Call{Agent: to, Info: &info}
	if _, listed := info.Inputs["question"]; listed || info.Inputs == nil {
		c.to.With = []syntax.Field{{
			Key:   syntax.Word{Text: "question"},
			Value: &syntax.Value{Lit: question},
		}}
	}
	info.Inputs = nil // what the work needs is not needed for an answer
	return c.runOnce()
}

// jump ends the sequence to go on at the step that a rule names.
func (tr transition) jump(t *syntax.Target) (*ending, error) {
	r := tr.step.run
	if r.dry.on {
		return tr.proceed()
	}

	id := t.Steps[0].Text
	home, to := tr.step.scope.find(id)
	if to == nil {
		return nil, formats.Fail(formats.CodeBug, "", "goto of unknown step %s", id)
	}

	at := home.prefix + id
	if r.counts.jumps[at] >= r.limits.Visits {
		why := fmt.Sprintf("step '%s' was entered by goto more often than %d times",
			to.Title, r.limits.Visits)
		return final(tr.limitReturn(why, raiseLimit("visits"))), nil
	}
	r.counts.jumps[at]++
	data := object{"to": at, "visits": r.counts.jumps[at]}
	return &ending{jump: id}, tr.step.record(formats.EntryGoto, data)
}

// consentRepeats tells whether a consent in advance would only repeat what failed because a tool is
// missing or not logged in. A user who is asked can mend that first.
func (tr transition) consentRepeats(g *syntax.Gate) bool {
	r := tr.step.run
	if tr.result.ret.Class != formats.ClassUnavailable || !r.cfg.AutoApprove && !r.consented {
		return false
	}
	if g == nil {
		return true
	}
	if g.Auto != nil {
		at := slices.IndexFunc(g.Choices, func(c syntax.GateChoice) bool {
			return c.Label.Text == g.Auto.Text
		})
		return at >= 0 && g.Choices[at].Target.Kind == syntax.ToRedo
	}
	at := consentChoices(g.Choices)
	return len(at) > 0 && g.Choices[at[0]].Target.Kind == syntax.ToRedo
}

// ruleGate asks the question that a rule of the file has for an outcome.
func (tr transition) ruleGate(g *syntax.Gate) (*ending, error) {
	got, err := tr.step.gate(tr.step.journalPath()+".gate", g, tr.result.value)
	if err != nil || got.end != nil {
		return got.end, err
	}

	tr.result.value = maps.Clone(tr.result.value)
	for _, key := range []string{"choice", "note", "by"} {
		tr.result.value[key] = got.value[key]
	}
	tr.result.answer = got.answer
	if d := got.answer; d.Note != "" {
		tr.result.ret.Issues = append(slices.Clone(tr.result.ret.Issues), got.ret.Issues...)
	}
	tr.result.target = got.target

	switch {
	case got.target.Kind == syntax.ToFail:
		tr.result.ret = got.ret
		tr.result.outcome = formats.OutcomeRejected
	case got.target.Kind == syntax.ToNext && !tr.result.outcome.Passes():
		tr.recordOverride(got.answer)
	}
	return tr.route()
}
