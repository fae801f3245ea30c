package interp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/trace"
)

// gateSource builds the question of a gate from what the project is now, and names the files that
// the answer is bound to.
type gateSource interface {
	build(fr frame) (formats.Gate, error)
	evidenceFiles() ([]string, error)
}

// fixedGate is a question of the engine. Its text does not change while it is open.
type fixedGate struct {
	gate     formats.Gate
	fallback string // the answer where the run cannot ask; empty: the question stays open
	deferred bool   // another process asks it, not the one that opens it

	// Of a question that a worker asks: the transaction id of the worker's call, which is the key
	// of gate_opened in the journal, and whether the gate was recalled from that entry.
	worker   string
	recalled bool
}

func (q fixedGate) build(frame) (formats.Gate, error) {
	return q.gate, nil
}

func (fixedGate) evidenceFiles() ([]string, error) {
	return nil, nil
}

// gateSession is the asking of one gate, until it has an answer that counts.
type gateSession struct {
	step   step
	source gateSource
	engine fixedGate // source, if it is a question of the engine; zero for one of the command file
	gate   formats.Gate
}

// ask puts a gate to the approver until it has an answer to the question as it is then. The journal
// has the question before any user sees it, and every vote, refused answer and decision. The gate
// that comes back is the one that was answered.
func ask(s step, source gateSource) (formats.Gate, formats.Decision, error) {
	s.run.effects.running.Wait() // no worker changes what is shown while a user reads it
	gate, err := source.build(s.frame)
	if err != nil {
		return gate, formats.Decision{}, err
	}
	engine, _ := source.(fixedGate) //nolint:errcheck // a question of the command file is none
	a := &gateSession{
		step:   s,
		source: source,
		engine: engine,
		gate:   gate,
	}

	for first := true; ; first = false {
		d, settled, err := a.round(first)
		if err != nil {
			return a.gate, d, err
		}
		if settled {
			s.run.consented = s.run.consented || d.By == formats.ByYes
			return a.gate, d, nil
		}
	}
}

// round asks once: it takes the answer from the journal, or asks now. It is not settled if what the
// question is about changed before the answer came; the next round rebuilds the question.
func (a *gateSession) round(first bool) (d formats.Decision, settled bool, err error) {
	journal := a.step.frame.journal
	if !first && a.engine.worker != "" {
		return d, false, errStale // only the worker can rebuild its question
	}

	asked := textDigest(a.gate)
	earlier, err := a.open(first)
	if err != nil {
		return d, false, err
	}
	d, done, err := a.replayAnswer()
	if err != nil {
		return d, false, err
	}
	if done {
		if first && asked != textDigest(a.gate) {
			err = a.step.run.journal.failed(&formats.DivergedError{
				Failure: formats.Fail(formats.CodeInvalidState, "",
					"the answer to %q was given to something else", a.gate.Question),
			})
		}
		return d, true, err
	}

	refused := formats.Entry{
		Type: formats.EntryGateRefused,
		Step: a.gate.Step,
		Key:  a.gate.ID,
	}
	found, err := journal.recall(refused, &struct{}{})
	if found || err != nil {
		return d, false, err
	}
	d, changed, err := a.answer(earlier)
	if err != nil || changed == nil {
		return d, true, err
	}

	data := object{"changed": changed, "choice": d.Answer, "by": d.By}
	if d.Edited != "" {
		data["edited"] = d.Edited
	}
	refused.Data = data
	err = journal.append(refused)
	a.emit(trace.Event{Message: trace.AskedAnew + strings.Join(changed, ", ")})
	return d, false, err
}

// emit emits an event of the gate.
func (a *gateSession) emit(e trace.Event) {
	e.Kind = trace.Gate
	e.Name = a.gate.Question
	e.Step = a.gate.Step
	a.step.frame.emit(e)
}

// answer waits for the decision on an open gate. If something changed since the gate was opened, it
// gives that instead, because no user has seen it. earlier tells that another process opened the
// gate.
func (a *gateSession) answer(earlier bool) (d formats.Decision, changed []string, err error) {
	journal := a.step.frame.journal
	if err := journal.live(!journal.nested); err != nil {
		return d, nil, err
	}
	if earlier {
		changed, err := a.findChanges()
		if changed != nil {
			d = a.storedAnswer()
		}
		if err != nil || changed != nil {
			return d, changed, err
		}
	} else if a.engine.deferred {
		return d, nil, &formats.GateOpenError{Gate: a.gate, Left: true}
	}

	a.emit(trace.Event{Message: "asked"})
	for {
		d, changed, err := a.vote()
		if err != nil || changed != nil {
			return d, changed, err
		}
		last, decides := a.gate.Decides(d)
		if decides {
			return last, nil, a.recordDecision(last)
		}
		if err := a.recordVote(d); err != nil {
			return d, nil, err
		}
	}
}

// vote waits for the answer of one user. It gives what changed before the answer came.
func (a *gateSession) vote() (d formats.Decision, changed []string, err error) {
	r := a.step.run
	d, err = a.awaitDecision()
	if formats.CodeOf(err) == formats.CodeIO { // there may be an answer that cannot be read now
		r.report.warn("%s", err)
		err = &formats.GateOpenError{Gate: a.gate, Left: true}
	}
	if open := asGateOpen(err); open != nil && !open.Left && a.engine.fallback != "" {
		d = formats.Decision{Answer: a.engine.fallback, By: byDefault}
		err = nil
	}
	if asInterrupt(err) != nil {
		r.suspension.openGate = &a.gate
	}
	if err != nil {
		return d, nil, err
	}

	if d.Edited != "" {
		return d, []string{d.Edited}, nil
	}
	if d.Person {
		changed, err := a.findChanges()
		if err != nil || changed != nil {
			return d, changed, err
		}
		if a.gate.Lacks(d.Answer, d.Note) { // who asks sees to it
			return d, nil, formats.Fail(formats.CodeUsage, "answer it with a note",
				"the choice '%s' of the gate needs a note", d.Answer)
		}
	}
	if d.At.IsZero() {
		d.At = r.cfg.Clock.Now().UTC()
	}
	return d, nil, nil
}

// recordVote journals and emits a vote that does not decide yet.
func (a *gateSession) recordVote(d formats.Decision) error {
	err := a.step.frame.journal.append(formats.Entry{
		Type: formats.EntryGateVoted,
		Step: a.gate.Step,
		Key:  a.gate.ID,
		Data: d,
	})
	if err != nil {
		return err
	}
	a.gate.Votes = append(a.gate.Votes, d)
	message := fmt.Sprintf("answered by %s, %d of %d", d.By, len(a.gate.Votes), a.gate.Quorum)
	a.emit(trace.Event{Outcome: d.Answer, Message: message})
	return nil
}

// storedAnswer is the answer that a user left for the gate, zero without one. It never asks: its
// context is over before the approver gets it.
func (a *gateSession) storedAnswer() formats.Decision {
	r := a.step.run
	ctx, cancel := context.WithCancel(a.step.frame.ctx)
	cancel()
	d, err := r.cfg.Approve.Approve(ctx, a.gate)
	if err != nil {
		return formats.Decision{}
	}
	return d
}

// open records the question, or takes from the journal how an earlier process opened it.
func (a *gateSession) open(first bool) (earlier bool, err error) {
	r := a.step.run
	if first && a.engine.recalled {
		return true, nil
	}

	e := formats.Entry{
		Type: formats.EntryGateOpened,
		Step: a.gate.Step,
		Key:  a.engine.worker,
	}
	recorded := formats.Gate{}
	earlier, err = a.step.frame.journal.recall(e, &recorded)
	if err != nil || earlier {
		recorded.Run = a.gate.Run
		recorded.Step = a.gate.Step
		recorded.NeedsPerson = a.gate.NeedsPerson
		recorded.Flow = a.gate.Flow
		a.gate = recorded
		return true, err
	}
	if !first {
		a.gate, err = a.rebuild()
		if err != nil {
			return false, err
		}
	}
	a.gate.ID = r.cfg.GateID()
	a.gate.Opened = r.cfg.Clock.Now().UTC()
	a.gate.Votes = nil
	a.gate.Evidence, err = a.evidence(nil)
	if err == nil {
		a.gate.Documents, err = a.documents()
	}
	if err == nil {
		a.gate.Place = a.workDir()
		a.gate.Digest = digestOf(a.gate)
		e.Data = a.gate
		err = a.step.frame.journal.append(e)
	}
	return false, err
}

// replayAnswer takes votes and the decision from the journal.
func (a *gateSession) replayAnswer() (d formats.Decision, done bool, err error) {
	for {
		var vote formats.Decision
		found, err := a.step.frame.journal.recall(formats.Entry{
			Type: formats.EntryGateVoted,
			Step: a.gate.Step,
			Key:  a.gate.ID,
		}, &vote)
		if err != nil {
			return d, false, err
		}
		if !found {
			break
		}
		a.gate.Votes = append(a.gate.Votes, vote)
	}
	done, err = a.step.frame.journal.recall(formats.Entry{
		Type: formats.EntryGateDecided,
		Step: a.gate.Step,
		Key:  a.gate.ID,
	}, &d)
	return d, done, err
}

// recordDecision journals the decision and emits it.
func (a *gateSession) recordDecision(d formats.Decision) error {
	data := object{
		"question": a.gate.Question,
		"digest":   a.gate.Digest,
		"choice":   d.Answer,
		"by":       d.By,
		"person":   d.Person,
		"note":     d.Note,
		"at":       d.At,
	}
	message := "answered by " + d.By
	if d.Channel != "" {
		data["channel"] = d.Channel
		message += " through " + d.Channel
	}
	err := a.step.frame.journal.append(formats.Entry{
		Type: formats.EntryGateDecided,
		Step: a.gate.Step,
		Key:  a.gate.ID,
		Data: data,
	})
	a.emit(trace.Event{Outcome: d.Answer, Message: message})
	return err
}

// awaitDecision asks. A pause of the run leaves the question open.
func (a *gateSession) awaitDecision() (formats.Decision, error) {
	r := a.step.run
	ctx, stop := mergeContexts(a.step.frame.ctx, r.cfg.Pause)
	defer stop()
	d, err := a.decideInTime(ctx)
	if err != nil && a.step.frame.ctx.Err() == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return d, err
}

// decideInTime takes the choice that the file has for a timeout when the time since the opening of
// the gate is over. It also waits for that where nobody can be asked, unless the run would end
// before.
func (a *gateSession) decideInTime(ctx context.Context) (formats.Decision, error) {
	r := a.step.run
	// the line goes before the file
	if asked, _ := r.args.Get("approval"); asked != documents.Interactive {
		a.gate.Agreed = r.cfg.Consent.File
	}
	if a.gate.Timeout == nil {
		return r.cfg.Approve.Approve(ctx, a.gate)
	}

	left := max(0, a.gate.Until().Sub(r.cfg.Clock.Now()))
	within, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	d, err := r.cfg.Approve.Approve(within, a.gate)
	open := asGateOpen(err)
	waits := open != nil && (!open.Left || left < time.Second)
	if waits && left < r.limits.Duration-r.elapsed() {
		shown := left.Round(time.Second)
		if after := seconds(a.gate.Timeout.After); after-left < time.Second {
			shown = after // it was opened just now
		}
		a.emit(trace.Event{
			Outcome:  a.gate.Timeout.Choose,
			Message:  trace.CannotAsk,
			Duration: shown,
		})
		a.gate.Waits = true
		// no answer can come from anywhere
		d, err = r.cfg.Approve.Approve(within, a.gate)
		if asGateOpen(err) != nil {
			err = cmp.Or(r.cfg.Clock.Sleep(within, left), context.DeadlineExceeded)
		}
	}
	over := within.Err() != nil || errors.Is(err, context.DeadlineExceeded)
	if err != nil && over && ctx.Err() == nil {
		return formats.Decision{Answer: a.gate.Timeout.Choose, By: formats.ByTimeout}, nil
	}
	return d, err
}

// findChanges rebuilds the question and names what differs from the question that was opened, nil
// if nothing does.
func (a *gateSession) findChanges() (what []string, err error) {
	now, err := a.rebuild()
	if err != nil {
		return nil, err
	}
	if textDigest(now) != textDigest(a.gate) {
		what = append(what, "what was shown")
	}
	evidence, err := a.evidence(a.gate.Evidence)
	for _, name := range slices.Sorted(maps.Keys(evidence)) {
		if evidence[name] != a.gate.Evidence[name] {
			what = append(what, name)
		}
	}
	return what, err
}

// rebuild builds the question from the project as it is now, not from what the run observed before.
func (a *gateSession) rebuild() (formats.Gate, error) {
	return a.source.build(a.step.frame.withFreshReads())
}
