package interp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"tercet/commands/compile"
	"tercet/formats"
	"tercet/internal/query"
)

// gate asks the file's question; the answer's target is where the step leads.
func (r *run) gate(ctx context.Context, sc *scope, op *compile.Op, path string, a *compile.Gate) (result, error) {
	question, err := r.text(ctx, sc, a.Question, nil)
	if err != nil {
		return result{}, err
	}
	if r.dry.on {
		r.dry.add(sc, op, "gate: "+question)
		return r.chosen(a, formats.Decision{Answer: a.Choices[0].Label, By: "dry run"}), nil
	}
	g := formats.Gate{Question: question, Auto: a.Auto, Run: r.cfg.IDs.Run, Step: path}
	for _, e := range a.Show {
		v, err := r.eval(ctx, sc, e, nil)
		if err != nil {
			return result{}, err
		}
		g.Show = append(g.Show, query.Text(v))
	}
	for i, ch := range a.Choices {
		g.Choices = append(g.Choices, formats.Choice{Label: ch.Label, Approves: i == 0})
	}
	d, err := r.ask(ctx, path, g)
	if open, ok := errors.AsType[*formats.GateOpenError](err); ok {
		ret := formats.Return{
			Status: formats.StatusBlocked, Said: formats.OutcomeSuspended, Summary: open.Error(), BlockedReason: open.Error(), NextSteps: open.Help(),
		}
		return result{outcome: formats.OutcomeSuspended, ret: ret, value: resultOf(ret, 1), end: &ending{ret: ret, told: true}}, nil
	}
	if err != nil {
		return result{}, err
	}
	return r.chosen(a, d), nil
}

// chosen is the result of an answered gate. A refusal that ends the command is a rejection (code 5).
func (r *run) chosen(a *compile.Gate, d formats.Decision) result {
	out := result{outcome: formats.OutcomeCompleted, value: map[string]any{
		"status": string(formats.OutcomeCompleted), "choice": d.Answer, "note": d.Note, "by": d.By,
	}}
	for _, ch := range a.Choices {
		if ch.Label == d.Answer {
			out.target = ch.Target
		}
	}
	if out.target != nil && out.target.Kind == compile.ToFail {
		out.outcome = formats.OutcomeRejected
		out.ret = formats.Return{Summary: "'" + d.Answer + "' was chosen", Said: formats.OutcomeRejected}
		if d.Note != "" {
			out.ret.Summary += ": " + d.Note
		}
	}
	if out.target != nil && out.target.Kind == compile.ToRedo && d.Note != "" {
		out.ret.Issues = []formats.Issue{{Level: formats.LevelError, Description: d.Note, Source: "user"}}
	}
	return out
}

// ask puts a gate to the approver, bound to a digest of what is shown, and journals the answer.
func (r *run) ask(ctx context.Context, path string, g formats.Gate) (formats.Decision, error) {
	if g.Digest == "" {
		h := sha256.New()
		h.Write([]byte(g.Question))
		for _, s := range g.Show {
			h.Write([]byte{0})
			h.Write([]byte(s))
		}
		g.Digest = hex.EncodeToString(h.Sum(nil))
	}
	d, err := r.cfg.Approve.Approve(ctx, g)
	if err != nil {
		return d, err
	}
	return d, r.journal(ctx, formats.Entry{Type: formats.EntryGateDecided, Step: path, Data: map[string]any{
		"question": g.Question, "digest": g.Digest, "answer": d.Answer, "by": d.By, "note": d.Note,
	}})
}
