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

// rollback runs the named steps again, and counts. The next one over the run's limit is a question.
func (f finished) rollback(t *syntax.Target) (*ending, error) {
	r := f.step.run
	if r.counts.rollbacks >= r.limits.Rollbacks {
		return f.limitGate(t)
	}
	r.counts.rollbacks++
	return f.redo(t)
}

// onceMore is the answer of the limit gate that goes back all the same.
const onceMore = "Continue rollback"

// limitGate asks what to do when the rollbacks of the run are used up. Approval without the user
// stops.
func (f finished) limitGate(t *syntax.Target) (*ending, error) {
	r := f.step.run
	s := f.step
	why := fmt.Sprintf("the limit of %d rollbacks is reached: %s",
		r.limits.Rollbacks, f.closing().Summary)
	if r.after || r.dry.on || r.cfg.AutoApprove {
		return told(f.limited(why)), nil
	}

	g := r.question(
		s.spot(),
		fmt.Sprintf("step '%s' is %s, and %s", s.info.Title, f.result.outcome, why),
		onceMore,
		acceptIt,
		abortIt,
	)
	for _, i := range f.result.ret.Issues {
		g.Show = append(g.Show, i.Description)
	}

	g, d, err := ask(s, static{g: g})
	if err != nil {
		return nil, err
	}
	switch d.Answer {
	case onceMore:
		r.counts.rollbacks++
		if d.Note != "" {
			f.result.value = maps.Clone(f.result.value)
			f.result.value["note"] = d.Note
		}
		return f.redo(t)
	case acceptIt:
		f.override(d)
		return f.goOn()
	case abortIt:
		return f.refused(g, d), nil
	}

	return nil, unknownAnswer(g, d)
}

// override keeps what was accepted against a rule, for $run.overrides.
func (f finished) override(d formats.Decision) {
	r := f.step.run
	r.overrides = append(r.overrides, map[string]any{
		"step":    f.step.info.ID,
		"status":  f.result.outcome.String(),
		"summary": f.result.ret.Summary,
		"by":      d.By,
		"note":    d.Note,
	})
}

// suspended is the command's return when a gate waits for an answer.
func (r *run) suspended(open *formats.GateOpenError) formats.Return {
	r.suspension.reason = &formats.Suspended{
		Question: open.Gate.Question,
		Gate:     open.Gate.ID,
		Step:     open.Gate.Step,
	}
	r.suspension.terminalOnly = open.Only != ""
	return formats.Return{
		Status:        formats.StatusBlocked,
		Said:          formats.OutcomeSuspended,
		Summary:       open.Error(),
		BlockedReason: open.Error(),
		NextSteps:     open.Help(),
		Artifacts:     r.artifacts.newest(),
	}
}

// consult sends the question of a blocked step to a subagent, and runs the step again with the
// answer. Three questions go to the next rule, else to the user: the same one to the same target
// twice, one without an answer, and the step's fourth.
func (f finished) consult(t *syntax.Target) (*ending, error) {
	r := f.step.run
	question := cmp.Or(f.result.ret.BlockedReason, f.result.ret.Summary)
	to := t.Agents[0].Text
	if slices.ContainsFunc(t.Agents, func(a syntax.Word) bool {
		return a.Text == f.result.ret.BlockedTarget
	}) {
		to = f.result.ret.BlockedTarget
	}
	key := strings.Join([]string{f.step.path, to, question}, "\x00")
	if r.counts.asked[f.step.path] >= mostAsked(t) || r.counts.questions[key] ||
		r.dry.on && len(r.dry.returns[to]) == 0 {
		return f.unanswered(t)
	}

	r.counts.asked[f.step.path]++
	r.counts.questions[key] = true
	if err := f.step.note(formats.EntryAsked, map[string]any{
		"target":   to,
		"question": question,
		"asked":    r.counts.asked[f.step.path],
	}); err != nil {
		return nil, err
	}

	got, err := f.inquire(to, question)
	if err != nil {
		return nil, err
	}
	words := cmp.Or(got.Text, got.Summary)
	if !got.Outcome().Passes() || words == "" {
		r.warn("%s: %s did not answer: %s", f.step.info.Title, to, got.Summary)
		return f.unanswered(t)
	}

	fb := formats.Feedback{
		From:     to,
		Answer:   words,
		Attempt:  r.counts.asked[f.step.path],
		Question: question,
		Target:   to,
		Last:     f.last(),
	}
	return f.step.hearing(answering(f.step.frame.feedback, fb)).do()
}

// unanswered is where a question without an answer leads: what the file says for then comes before
// the engine's gate.
func (f finished) unanswered(t *syntax.Target) (*ending, error) {
	next, _, err := f.match(t)
	switch {
	case err != nil:
		return nil, err
	case next == nil:
		return f.engineGate(true)
	}
	return f.follow(next)
}

// mostAsked is how many questions of one step a rule may send.
func mostAsked(t *syntax.Target) int {
	return cmp.Or(t.Max, formats.DefaultAsk)
}

// inquire is the one delegation of consult: only the question.
func (f finished) inquire(to, question string) (formats.Return, error) {
	r := f.step.run
	s := f.step
	c := call{
		step: s.scope.bare(
			s.frame.hearing(nil),
			s.info.Pos,
			s.info.ID+".ask",
			s.info.Title,
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
	return r.single(c)
}

// jump leaves the sequence for a step that a rule names.
func (f finished) jump(t *syntax.Target) (*ending, error) {
	r := f.step.run
	if r.dry.on {
		return f.goOn()
	}
	id := t.Steps[0].Text
	home, to := f.step.scope.find(id)
	if to == nil {
		return nil, formats.Fail(formats.CodeBug, "", "goto of unknown step %s", id)
	}
	at := home.prefix + id
	if r.counts.jumps[at] >= r.limits.Visits {
		why := fmt.Sprintf("step '%s' was entered by goto more often than %d times",
			to.Title, r.limits.Visits)
		return told(f.limited(why)), nil
	}
	r.counts.jumps[at]++
	return &ending{
		jump: id,
	}, f.step.note(formats.EntryGoto, map[string]any{"to": at, "visits": r.counts.jumps[at]})
}

// hopeless tells whether a consent, of the beginning or of a later --yes, would only repeat what
// failed because a tool is missing or not logged in. The run asks the user all the same, who can
// mend it meanwhile.
func (f finished) hopeless(g *syntax.Gate) bool {
	r := f.step.run
	if f.result.ret.Class != formats.ClassUnavailable || !r.cfg.AutoApprove && !r.agreed {
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
	at := consented(g.Choices)
	return len(at) > 0 && g.Choices[at[0]].Target.Kind == syntax.ToRedo
}

// ruleGate asks the question that a rule of the file has for an outcome.
func (f finished) ruleGate(g *syntax.Gate) (*ending, error) {
	got, err := f.step.gate(f.step.spot()+".gate", g, f.result.value)
	if err != nil || got.end != nil {
		return got.end, err
	}
	f.result.value = maps.Clone(f.result.value)
	for _, key := range []string{"choice", "note", "by"} {
		f.result.value[key] = got.value[key]
	}
	f.result.answer = got.answer
	if d := got.answer; d.Note != "" {
		f.result.ret.Issues = append(slices.Clone(f.result.ret.Issues), got.ret.Issues...)
	}
	f.result.target = got.target
	switch {
	case got.target.Kind == syntax.ToFail:
		f.result.ret = got.ret
		f.result.outcome = formats.OutcomeRejected
	case got.target.Kind == syntax.ToNext && !f.result.outcome.Passes():
		f.override(got.answer)
	}
	return f.lead()
}
