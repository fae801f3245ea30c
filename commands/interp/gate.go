package interp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/query"
	"tercet/internal/trace"
)

// gate asks a question of the file, of a step or of a rule, which asks about a result; the answer's target is where the
// step leads. Choices whose `if` does not hold are not offered.
func (s step) gate(path string, a *syntax.Gate, input any) (result, error) {
	question, err := s.dryText(a.Question, input)
	if err != nil {
		return result{}, err
	}
	var open []syntax.GateChoice
	g := s.question(path, question)
	for _, ch := range a.Choices {
		if !s.dry.on {
			if ok, err := s.holds(ch.Target.If, input); err != nil {
				return result{}, err
			} else if !ok {
				continue
			}
		}
		open = append(open, ch)
		g.Choices = append(g.Choices, formats.Choice{Label: ch.Label.Text})
		if a.Auto != nil && ch.Label.Text == a.Auto.Text {
			g.Auto = a.Auto.Text
		}
	}
	if len(open) == 0 {
		return result{}, formats.Fail(formats.CodePrecondition, "", "no choice of the gate can be taken: %s", question)
	}
	if at := consented(open); at >= 0 {
		g.Choices[at].Approves = true
	}
	if at := left(open); at >= 0 {
		g.Choices[at].Leaves = true
	}
	if s.dry.on {
		s.plan("ask: %s [%s]", question, strings.Join(labelsOf(g), ", "))
		return chosen(g, open[0], formats.Decision{Answer: open[0].Label.Text, By: "dry run"}), nil
	}
	for _, e := range a.Show {
		v, err := s.eval(e, input)
		if err != nil {
			return result{}, err
		}
		g.Show = append(g.Show, query.Text(v))
	}
	d, err := s.wait(a.Timeout, g)
	if err != nil {
		return result{}, err
	}
	at := slices.IndexFunc(open, func(ch syntax.GateChoice) bool { return ch.Label.Text == d.Answer })
	if at < 0 {
		return result{}, unknownAnswer(g, d)
	}
	return chosen(g, open[at], d), nil
}

// question is a gate with choices of which none approves; one that stops is for who leaves it.
func (r *run) question(path, words string, choices ...string) formats.Gate {
	g := formats.Gate{Question: words, Run: r.cfg.IDs.Run, Step: path}
	for _, label := range choices {
		g.Choices = append(g.Choices, formats.Choice{Label: label, Leaves: label == stopIt})
	}
	return g
}

// wait asks, and takes the file's choice when nobody has answered in time: also where nobody can be asked at all,
// unless the run would end before that.
func (s step) wait(t *syntax.GateTimeout, g formats.Gate) (formats.Decision, error) {
	if t == nil {
		return s.ask(g)
	}
	after := seconds(t.After)
	outer := s.ctx
	within, cancel := context.WithTimeout(outer, after)
	defer cancel()
	s.ctx = within
	d, err := s.ask(g)
	s.ctx = outer
	if open := isOpen(err); open != nil && !open.Left && after < s.limits.Duration-s.took() {
		s.emit(trace.Event{
			Kind: trace.Gate, Name: g.Question, Step: g.Step, Outcome: t.Choose.Text, Message: NobodyToAsk, Duration: after,
		})
		if err := s.pause(after, 0); err != nil {
			return d, err
		}
	} else if err == nil || within.Err() == nil || outer.Err() != nil {
		return d, err
	}
	return s.decided(g, formats.Decision{Answer: t.Choose.Text, By: ByTimeout})
}

func unknownAnswer(g formats.Gate, d formats.Decision) error {
	return formats.Fail(formats.CodeBug, "", "expected one of %s as the answer to a gate, got %q",
		strings.Join(labelsOf(g), ", "), d.Answer)
}

func labelsOf(g formats.Gate) []string {
	out := make([]string, len(g.Choices))
	for i, c := range g.Choices {
		out[i] = c.Label
	}
	return out
}

// chosen is the result of an answered gate. A refusal that ends the command is a rejection (code 5).
func chosen(g formats.Gate, ch syntax.GateChoice, d formats.Decision) result {
	outcome, ret := formats.OutcomeCompleted, formats.Return{}
	switch kind := ch.Target.Kind; {
	case kind == syntax.ToFail:
		outcome, ret.Said = formats.OutcomeRejected, formats.OutcomeRejected
		ret.Summary = fmt.Sprintf("'%s' was the answer to: %s", d.Answer, g.Question)
		if d.Note != "" {
			ret.Summary += " (" + d.Note + ")"
		}
	case (kind == syntax.ToRedo || kind == syntax.ToRollback) && d.Note != "":
		ret.Issues = []formats.Issue{{Level: formats.LevelError, Description: d.Note, Source: "user"}}
	}
	out := showing(outcome, map[string]any{"choice": d.Answer, "note": d.Note, "by": d.By})
	out.ret, out.target = ret, ch.Target
	return out
}

// ask puts a gate to the approver, bound to a digest of what is shown. Question and answer are in the journal, the
// question before anybody sees it.
func (r *run) ask(g formats.Gate) (formats.Decision, error) {
	g.Digest = digestOf(g)
	if err := r.journal(formats.Entry{Type: formats.EntryGateOpened, Step: g.Step, Data: map[string]any{
		"question": g.Question, "choices": labelsOf(g), "digest": g.Digest, "shown": g.Show,
	}}); err != nil {
		return formats.Decision{}, err
	}
	var was struct {
		formats.Decision

		Digest string `json:"digest"`
	}
	switch answered, err := r.recall(formats.Entry{Type: formats.EntryGateDecided, Step: g.Step}, &was); {
	case err != nil:
		return formats.Decision{}, err
	case answered && was.Digest != g.Digest:
		return formats.Decision{}, r.unwritten(&formats.DivergedError{Failure: formats.Fail(formats.CodeInvalidState, "",
			"the answer to %q was given to something else", g.Question)})
	case answered:
		return was.Decision, nil
	}
	if err := r.live(r.beside == 0); err != nil {
		return formats.Decision{}, err
	}
	r.emit(trace.Event{Kind: trace.Gate, Name: g.Question, Step: g.Step, Message: "asked"})
	d, err := r.cfg.Approve.Approve(r.ctx, g)
	if err != nil {
		return d, err
	}
	return r.decided(g, d)
}

// digestOf is what an answer is bound to: everything that is shown.
func digestOf(g formats.Gate) string {
	h := sha256.New()
	for _, part := range slices.Concat([]string{g.Question}, labelsOf(g), g.Show) {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// NobodyToAsk is the message of the event that a gate waits for its time to pass: nobody can be asked.
const NobodyToAsk = "nobody can be asked"

// ByTimeout is who answers a gate that nobody has answered in time.
const ByTimeout = "timeout"

// decided journals and shows an answer.
func (r *run) decided(g formats.Gate, d formats.Decision) (formats.Decision, error) {
	err := r.journal(formats.Entry{Type: formats.EntryGateDecided, Step: g.Step, Data: map[string]any{
		"question": g.Question, "digest": digestOf(g), "answer": d.Answer, "by": d.By, "note": d.Note,
	}})
	by := "answered by " + d.By
	r.emit(trace.Event{Kind: trace.Gate, Name: g.Question, Step: g.Step, Outcome: d.Answer, Message: by})
	return d, err
}

// consented is the choice that a consent given before takes where no `auto` says so: the first that simply goes on,
// else the first that does not end the command; -1: none.
func consented(open []syntax.GateChoice) int {
	next := slices.IndexFunc(open, func(c syntax.GateChoice) bool { return c.Target.Kind == syntax.ToNext })
	if next >= 0 {
		return next
	}
	return slices.IndexFunc(open, func(c syntax.GateChoice) bool {
		return c.Target.Kind != syntax.ToFail && c.Target.Kind != syntax.ToReturn
	})
}

// left is the choice of a person who leaves without an answer: the first that fails, else the first that ends the
// command; -1: none.
func left(open []syntax.GateChoice) int {
	kind := func(k syntax.TargetKind) int {
		return slices.IndexFunc(open, func(c syntax.GateChoice) bool { return c.Target.Kind == k })
	}
	if at := kind(syntax.ToFail); at >= 0 {
		return at
	}
	return kind(syntax.ToReturn)
}

// ownChoices are those of the engine's own gate, where they are not to do it again, to accept it and to stop.
var ownChoices = map[formats.Outcome][]string{
	formats.OutcomeFailed: {"retry", "skip", "stop"}, formats.OutcomeSuspended: {"resume", "stop"},
	formats.OutcomeBlocked: {"answer", "stop"},
}

// ownGate is the engine's gate for an outcome that a person may settle. The first choice is the one that approval
// without a person takes, at most as often as the run may retry: a question is only answered by a person.
func (f finished) ownGate() formats.Gate {
	words, ok := ownChoices[f.outcome]
	if !ok {
		words = []string{"again", "accept", "stop"}
	}
	why := cmp.Or(f.ret.BlockedReason, f.ret.Summary)
	g := f.question(f.spot(), fmt.Sprintf("step '%s' is %s: %s", f.Title, f.outcome, why), words...)
	g.Choices[0].Approves = f.outcome != formats.OutcomeBlocked && f.answered[f.path] < f.limits.Retries
	return g
}

// engineGate asks what to do with an outcome. Where nobody can answer, the run waits if the file asks for a person, and
// else the command ends with the outcome.
func (f finished) engineGate(wanted bool) (*ending, error) {
	ret := f.ended()
	if f.after || f.dry.on {
		return &ending{ret: ret}, nil
	}
	g := f.ownGate()
	d, err := f.ask(g)
	wanted = wanted && f.cfg.Prefix == "" && (g.Choices[0].Approves || f.outcome == formats.OutcomeBlocked)
	if isOpen(err) != nil && !wanted { // the outcome stands
		if ret.BlockedReason != "" {
			ret.NextSteps = cmp.Or(ret.NextSteps, "run it on a terminal to answer")
		}
		return &ending{ret: ret}, nil
	}
	if err != nil {
		return nil, err
	}
	if d.By != byPerson {
		f.answered[f.path]++
	}
	switch d.Answer {
	case "retry", "again", "answer", "resume":
		fb := &formats.Feedback{
			From: f.ID, Issues: listed(f.ret.Issues), Note: d.Note, Choice: d.Answer, Attempt: f.visits[f.path],
		}
		if d.Answer == "answer" {
			fb.Note, fb.Answer = "", d.Note
			fb = answering(f.feedback, *fb)
		}
		defer f.hear(fb)()
		return f.do()
	case "skip":
		return f.beside()
	case "accept":
		f.override(d)
		return f.goOn()
	case "stop":
		return told(ret), nil
	}
	return nil, unknownAnswer(g, d)
}

// byPerson is what Decision.By says of an answer that a person gave.
const byPerson = "person"
