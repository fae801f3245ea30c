package interp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/query"
	"tercet/internal/trace"
)

// gate asks the file's question; the answer's target is where the step leads. Choices whose `if` does not hold are not
// offered.
func (r *run) gate(ctx context.Context, sc *scope, op *compile.Info, q asking) (result, error) {
	path, a := q.path, q.gate
	question, err := r.dryText(ctx, sc, a.Question, q.input)
	if err != nil {
		return result{}, err
	}
	var open []syntax.GateChoice
	g := formats.Gate{Question: question, Run: r.cfg.IDs.Run, Step: path}
	for _, ch := range a.Choices {
		if ch.Target.If != nil && !r.dry.on {
			v, err := r.eval(ctx, sc, ch.Target.If, q.input)
			if err != nil {
				return result{}, err
			}
			if !truth(v) {
				continue
			}
		}
		open = append(open, ch)
		g.Choices = append(g.Choices, formats.Choice{Label: ch.Label.Text, Approves: len(g.Choices) == 0})
		if a.Auto != nil && ch.Label.Text == a.Auto.Text {
			g.Auto = a.Auto.Text
		}
	}
	if len(open) == 0 {
		return result{}, &formats.Failure{
			Code:    formats.CodePrecondition,
			Message: "no choice of the gate can be taken: " + question,
		}
	}
	if r.dry.on {
		r.dry.add(sc, op, "gate: "+question+" ["+strings.Join(labelsOf(g.Choices), ", ")+"]")
		return chosen(g, open[0], formats.Decision{Answer: open[0].Label.Text, By: "dry run"}), nil
	}
	for _, e := range a.Show {
		v, err := r.eval(ctx, sc, e, q.input)
		if err != nil {
			return result{}, err
		}
		g.Show = append(g.Show, query.Text(v))
	}
	d, err := r.wait(ctx, q, g)
	if open := isOpen(err); open != nil {
		ret := r.suspended(open)
		return result{
			outcome: formats.OutcomeSuspended, ret: ret, value: resultOf(ret, 1),
			end: &ending{ret: ret, told: true},
		}, nil
	}
	if err != nil {
		return result{}, err
	}
	for _, ch := range open {
		if ch.Label.Text == d.Answer {
			return chosen(g, ch, d), nil
		}
	}
	return result{}, unknownAnswer(g, d)
}

// asking is one question of the file: of a step, or of a rule, which asks about a result.
type asking struct {
	path  string
	gate  *syntax.Gate
	input any
}

// wait asks, and takes the file's choice when nobody has answered in time: also where nobody can be asked at all,
// unless the run would end before that.
func (r *run) wait(ctx context.Context, q asking, g formats.Gate) (formats.Decision, error) {
	t := q.gate.Timeout
	if t == nil {
		return r.ask(ctx, q.path, g)
	}
	after := time.Duration(t.After * float64(time.Second))
	within, cancel := context.WithTimeout(ctx, after)
	defer cancel()
	d, err := r.ask(within, q.path, g)
	if open := isOpen(err); open != nil && !open.Left && after < r.limits.Duration-r.cfg.Clock.Now().Sub(r.started) {
		r.emit(trace.Event{
			Kind: trace.Gate, Name: g.Question, Step: q.path, Outcome: t.Choose.Text, Message: NobodyToAsk, Duration: after,
		})
		if err := r.pause(ctx, after); err != nil {
			return d, err
		}
	} else if err == nil || within.Err() == nil || ctx.Err() != nil {
		return d, err
	}
	return r.decided(ctx, q.path, g, formats.Decision{Answer: t.Choose.Text, By: ByTimeout})
}

func unknownAnswer(g formats.Gate, d formats.Decision) error {
	return &formats.Failure{
		Code: formats.CodeBug,
		Message: fmt.Sprintf("expected one of %s as the answer to a gate, got %q", strings.Join(labelsOf(g.Choices), ", "),
			d.Answer),
	}
}

func labelsOf(list []formats.Choice) []string {
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = c.Label
	}
	return out
}

// chosen is the result of an answered gate. A refusal that ends the command is a rejection (code 5).
func chosen(g formats.Gate, ch syntax.GateChoice, d formats.Decision) result {
	out := result{outcome: formats.OutcomeCompleted, target: ch.Target, value: map[string]any{
		"choice": d.Answer, "note": d.Note, "by": d.By,
	}}
	switch ch.Target.Kind {
	case syntax.ToFail:
		out.outcome = formats.OutcomeRejected
		out.ret = formats.Return{
			Said:    formats.OutcomeRejected,
			Summary: fmt.Sprintf("'%s' was the answer to: %s", d.Answer, g.Question),
		}
		if d.Note != "" {
			out.ret.Summary += " (" + d.Note + ")"
		}
	case syntax.ToRedo, syntax.ToRollback:
		if d.Note != "" {
			out.ret.Issues = []formats.Issue{{Level: formats.LevelError, Description: d.Note, Source: "user"}}
		}
	case syntax.ToNext, syntax.ToReturn, syntax.ToGate, syntax.ToAsk, syntax.ToGoto:
	}
	out.value["status"] = out.outcome.String()
	return out
}

// ask puts a gate to the approver, bound to a digest of what is shown, and journals the answer.
func (r *run) ask(ctx context.Context, path string, g formats.Gate) (formats.Decision, error) {
	g.Digest = digestOf(g)
	r.emit(trace.Event{Kind: trace.Gate, Name: g.Question, Step: path, Message: "asked"})
	d, err := r.cfg.Approve.Approve(ctx, g)
	if err != nil {
		return d, err
	}
	return r.decided(ctx, path, g, d)
}

// digestOf is what an answer is bound to: everything that is shown.
func digestOf(g formats.Gate) string {
	h := sha256.New()
	for _, part := range append(append([]string{g.Question}, labelsOf(g.Choices)...), g.Show...) {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// NobodyToAsk is the message of the event that a gate waits for its time to pass: nobody can be asked.
const NobodyToAsk = "nobody can be asked"

// ByTimeout is who answers a gate that nobody has answered in time.
const ByTimeout = "timeout"

// decided shows and journals an answer.
func (r *run) decided(ctx context.Context, path string, g formats.Gate, d formats.Decision) (formats.Decision, error) {
	g.Digest = digestOf(g)
	r.emit(trace.Event{Kind: trace.Gate, Name: g.Question, Step: path, Outcome: d.Answer, Message: "answered by " + d.By})
	return d, r.journal(ctx, formats.Entry{Type: formats.EntryGateDecided, Step: path, Data: map[string]any{
		"question": g.Question, "digest": g.Digest, "answer": d.Answer, "by": d.By, "note": d.Note,
	}})
}

// ownGate is the engine's gate for an outcome that a person may settle. The first choice is the one that approval
// without a person takes, at most as often as the run may retry: a question is only answered by a person.
func (r *run) ownGate(op *compile.Info, path string, res result) formats.Gate {
	why := res.ret.Summary
	if res.ret.BlockedReason != "" {
		why = res.ret.BlockedReason
	}
	g := formats.Gate{
		Question: fmt.Sprintf("step '%s' is %s: %s", op.Title, res.outcome, why), Run: r.cfg.IDs.Run,
		Step: path,
	}
	words := []string{"again", "accept", "stop"}
	switch res.outcome {
	case formats.OutcomeFailed:
		words = []string{"retry", "skip", "stop"}
	case formats.OutcomeSuspended:
		words = []string{"resume", "stop"}
	case formats.OutcomeBlocked:
		words = []string{"answer", "stop"}
	case formats.OutcomePartial, formats.OutcomeRejected, formats.OutcomeCompleted, formats.OutcomeApproved,
		formats.OutcomeConditional, formats.OutcomeSkipped:
	}
	for i, w := range words {
		approves := i == 0 && res.outcome != formats.OutcomeBlocked && r.answered[path] < r.limits.Retries
		g.Choices = append(g.Choices, formats.Choice{Label: w, Approves: approves})
	}
	return g
}

// engineGate asks what to do with an outcome. Where nobody can answer, the command ends with it.
func (r *run) engineGate(ctx context.Context, sc *scope, op *compile.Info, res result) (*ending, error) {
	path := sc.path + op.ID
	if r.after || r.dry.on {
		return &ending{ret: r.ended(op, res)}, nil
	}
	g := r.ownGate(op, path, res)
	d, err := r.ask(ctx, path, g)
	if isOpen(err) != nil { // nobody can answer, so the outcome stands
		ret := r.ended(op, res)
		if ret.BlockedReason != "" && ret.NextSteps == "" {
			ret.NextSteps = "run it on a terminal to answer"
		}
		return &ending{ret: ret}, nil
	}
	if err != nil {
		return nil, r.at(op, path, err)
	}
	if d.By != byPerson {
		r.answered[path]++
	}
	switch d.Answer {
	case "retry", "again", "answer", "resume":
		before := r.feedback
		fb := formats.Feedback{
			From: op.ID, Issues: listed(res.ret.Issues), Note: d.Note, Choice: d.Answer,
			Attempt: r.visits[path],
		}
		r.feedback = &fb
		if d.Answer == "answer" {
			fb.Note, fb.Answer = "", d.Note
			r.feedback = answering(before, fb)
		}
		end, err := r.step(ctx, sc, op)
		r.feedback = before
		return end, err
	case "skip":
		return r.beside(ctx, sc, op, res)
	case "accept":
		r.override(op, res, d)
		return r.goOn(ctx, sc, op, res)
	case "stop":
		return &ending{ret: r.ended(op, res), told: true}, nil
	}
	return nil, r.at(op, path, unknownAnswer(g, d))
}

// byPerson is what Decision.By says of an answer that a person gave.
const byPerson = "person"
