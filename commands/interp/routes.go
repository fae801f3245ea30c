package interp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
)

// rollback runs the named steps again, and counts. The next one over the run's limit is a question.
func (r *run) rollback(ctx context.Context, sc *scope, op *compile.Info, res result,
	t *syntax.Target,
) (*ending, error) {
	if r.rollbacks >= r.limits.Rollbacks {
		return r.limitGate(ctx, sc, op, res, t)
	}
	r.rollbacks++
	return r.redo(ctx, sc, op, res, t)
}

// The answers of the limit gate.
const (
	onceMore = "once more"
	acceptIt = "accept as it is"
	stopIt   = "stop"
)

// limitGate asks what to do when the rollbacks of the run are used up. Approval without a person stops.
func (r *run) limitGate(ctx context.Context, sc *scope, op *compile.Info, res result,
	t *syntax.Target,
) (*ending, error) {
	path := sc.path + op.ID
	why := fmt.Sprintf("the limit of %d rollbacks is reached: %s", r.limits.Rollbacks, r.closing(op, res).Summary)
	if r.after || r.dry.on || r.cfg.AutoApprove {
		return &ending{ret: r.limited(op, res, why), told: true}, nil
	}
	g := formats.Gate{
		Question: fmt.Sprintf("step '%s' is %s, and %s", op.Title, res.outcome, why), Run: r.cfg.IDs.Run, Step: path,
		Choices: []formats.Choice{{Label: onceMore}, {Label: acceptIt}, {Label: stopIt}},
	}
	for _, i := range res.ret.Issues {
		g.Show = append(g.Show, i.Description)
	}
	d, err := r.ask(ctx, path, g)
	if open := isOpen(err); open != nil {
		return &ending{ret: r.suspended(open), told: true}, nil
	}
	if err != nil {
		return nil, r.at(op, path, err)
	}
	switch d.Answer {
	case onceMore:
		r.rollbacks++
		if d.Note != "" {
			res.value = maps.Clone(res.value)
			res.value["note"] = d.Note
		}
		return r.redo(ctx, sc, op, res, t)
	case acceptIt:
		r.override(op, res, d)
		return r.goOn(ctx, sc, op, res)
	case stopIt:
		return &ending{ret: r.limited(op, res, why), told: true}, nil
	}
	return nil, r.at(op, path, unknownAnswer(g, d))
}

// override keeps what was accepted against a rule, for $run.overrides.
func (r *run) override(op *compile.Info, res result, d formats.Decision) {
	r.overrides = append(r.overrides, map[string]any{
		"step": op.ID, "status": res.outcome.String(), "summary": res.ret.Summary, "by": d.By, "note": d.Note,
	})
}

// suspended is the command's return when a gate waits for an answer.
func (r *run) suspended(open *formats.GateOpenError) formats.Return {
	return formats.Return{
		Status: formats.StatusBlocked, Said: formats.OutcomeSuspended, Summary: open.Error(), BlockedReason: open.Error(),
		NextSteps: open.Help(),
		Artifacts: newest(r.artifacts),
	}
}

// consult sends the question of a blocked step to a subagent, and runs the step again with the answer. The same
// question to the same target twice, a target that does not answer, and the fourth question of the step go to a person.
func (r *run) consult(ctx context.Context, sc *scope, op *compile.Info, res result, t *syntax.Target) (*ending, error) {
	path := sc.path + op.ID
	question := res.ret.BlockedReason
	if question == "" {
		question = res.ret.Summary
	}
	to := t.Agents[0].Text
	if slices.ContainsFunc(t.Agents, func(a syntax.Word) bool { return a.Text == res.ret.BlockedTarget }) {
		to = res.ret.BlockedTarget
	}
	key := strings.Join([]string{path, to, question}, "\x00")
	if r.asked[path] >= mostAsked(t) || r.questions[key] || r.dry.on && len(r.dry.returns[to]) == 0 {
		return r.engineGate(ctx, sc, op, res)
	}
	r.asked[path]++
	r.questions[key] = true
	if err := r.journal(ctx, formats.Entry{Type: formats.EntryAsked, Step: path, Data: map[string]any{
		"target": to, "question": question, "asked": r.asked[path],
	}}); err != nil {
		return nil, r.at(op, path, err)
	}
	got, err := r.question(ctx, sc, op, to, question)
	if err != nil {
		return nil, r.at(op, path, err)
	}
	words := got.Text
	if words == "" {
		words = got.Summary
	}
	if !got.Outcome().Passes() || words == "" {
		r.warn("%s: %s did not answer: %s", op.Title, to, got.Summary)
		return r.engineGate(ctx, sc, op, res)
	}
	before := r.feedback
	defer func() { r.feedback = before }()
	r.feedback = answering(before, formats.Feedback{From: to, Answer: words, Attempt: r.asked[path]})
	return r.step(ctx, sc, op)
}

// mostAsked is how many questions of one step a rule may send.
func mostAsked(t *syntax.Target) int {
	if t.Max == 0 {
		return formats.DefaultAsk
	}
	return t.Max
}

// question is the one delegation of consult: only the question.
func (r *run) question(ctx context.Context, sc *scope, op *compile.Info, to, question string) (formats.Return, error) {
	path := sc.path + op.ID + ".ask"
	r.visits[path]++
	info := *r.prog.Agent(to)
	d := &compile.Call{Agent: to, Info: &info}
	if _, listed := info.Inputs["question"]; listed || info.Inputs == nil {
		d.With = []syntax.Field{{Key: syntax.Word{Text: "question"}, Value: &syntax.Value{Lit: question}}}
	}
	info.Inputs = nil // what the work needs is not needed for an answer
	before := r.feedback
	r.feedback = nil
	ret, err := r.attempt(ctx, call{
		sc: sc, op: bare(op.Pos, op.ID+".ask", op.Title, op.Terms.In), d: d, path: path, attempt: 1, agent: to, info: info,
		question: question,
	})
	r.feedback = before
	r.warnings = append(r.warnings, ret.Warnings...)
	return ret, err
}

// jump leaves the sequence for a step that a rule names.
func (r *run) jump(ctx context.Context, sc *scope, op *compile.Info, res result, t *syntax.Target) (*ending, error) {
	if r.dry.on {
		return r.goOn(ctx, sc, op, res)
	}
	id := t.Steps[0].Text
	home, to := sc.find(id)
	if to == nil {
		return nil, &formats.Failure{Code: formats.CodeBug, Message: "goto of unknown step " + id}
	}
	at := home.path + id
	if r.jumps[at] >= r.limits.Visits {
		return &ending{ret: r.limited(op, res,
			fmt.Sprintf("step '%s' was entered by goto more often than %d times", to.Title, r.limits.Visits)), told: true}, nil
	}
	r.jumps[at]++
	if err := r.journal(ctx, formats.Entry{
		Type: formats.EntryGoto, Step: sc.path + op.ID,
		Data: map[string]any{"to": at, "visits": r.jumps[at]},
	}); err != nil {
		return nil, r.at(op, sc.path+op.ID, err)
	}
	return &ending{jump: id}, nil
}

// ruleGate asks the question that a rule of the file has for an outcome.
func (r *run) ruleGate(ctx context.Context, sc *scope, op *compile.Info, res result, g *syntax.Gate) (*ending, error) {
	path := sc.path + op.ID
	got, err := r.gate(ctx, sc, op, asking{path: path + ".gate", gate: g, input: res.value})
	if err != nil {
		return nil, r.at(op, path, err)
	}
	if got.end != nil {
		return got.end, nil
	}
	res.value = maps.Clone(res.value)
	for _, key := range []string{"choice", "note", "by"} {
		res.value[key] = got.value[key]
	}
	if as[string](got.value["note"]) != "" {
		res.ret.Issues = append(slices.Clone(res.ret.Issues), got.ret.Issues...)
	}
	res.target = got.target
	if got.target.Kind == syntax.ToFail {
		res.ret, res.outcome = got.ret, formats.OutcomeRejected
	}
	if got.target.Kind == syntax.ToNext && !res.outcome.Passes() {
		r.override(op, res, formats.Decision{
			Answer: as[string](got.value["choice"]), By: as[string](got.value["by"]),
			Note: as[string](got.value["note"]),
		})
	}
	return r.lead(ctx, sc, op, res)
}

// tree opens the run's worktree before the first step that works in it.
func (r *run) tree(ctx context.Context, c call) error {
	open := r.prog.Own.Open
	if open == nil || r.opened || r.worktree != "" || r.dry.on || r.after {
		return nil
	}
	elsewhere := c.op.Terms.In == inMain || c.op.Terms.In == inNone && !c.info.Builtin
	if elsewhere || c.agent == compile.StatusSync || c.agent == compile.GitWorkflow && c.op.ID == treePath {
		return nil
	}
	r.opened = true
	co := r.co
	r.co = nil // the branches beside this one work in the same tree
	ret, err := r.sync(ctx, syncCall{path: treePath, d: open})
	r.co = co
	if err != nil {
		return err
	}
	if !ret.Outcome().Passes() {
		return failure(ret)
	}
	return nil
}

// treePath names the engine's own calls for the worktree; inMain is the word for the project's own tree, inNone for no
// tree.
const (
	treePath = "worktree"
	inMain   = "main"
	inNone   = "none"
)

// closeTree removes the worktree that the run opened; unfinished work in it is kept by the git-workflow-manager.
func (r *run) closeTree(ctx context.Context) {
	if !r.opened || r.worktree == "" || r.prog.Own.Close == nil {
		return
	}
	ret, err := r.sync(ctx, syncCall{path: treePath + "/close", d: r.prog.Own.Close, anyway: true})
	switch {
	case err != nil:
		r.warn("the worktree stays: %s", err)
	case !ret.Outcome().Passes():
		r.warn("the worktree stays: %s", ret.Summary)
	}
}
