package control

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/internal/letters"
)

// OpenGate is a gate that waits for an answer, and its run.
type OpenGate struct {
	Run     string       `json:"run"`
	Command string       `json:"command"`
	Step    string       `json:"step_path"`
	Gate    formats.Gate `json:"gate"`
	// By are the users who have answered a gate with a quorum.
	By []string `json:"answered_by,omitempty"`
}

// Gates lists the open gates. It reports and skips journals of other users.
func (d *Controller) Gates() ([]OpenGate, error) {
	list, err := journal.Runs(d.Root, true)
	if err != nil {
		return nil, err
	}

	open := []OpenGate{}
	for _, r := range list {
		records, err := d.Records(r.ID)
		if err != nil {
			d.Note("warning: %s", err)
			continue
		}
		if g, _ := journal.Gates(records); g != nil {
			one := OpenGate{
				Run:     r.ID,
				Command: r.Line,
				Step:    g.Step,
				Gate:    *g,
			}
			for _, v := range g.Votes {
				one.By = append(one.By, v.By)
			}
			open = append(open, one)
		}
	}
	return open, nil
}

// Gate finds a run and its open gate.
func (d *Controller) Gate(word string) (journal.Run, formats.Gate, error) {
	r, err := journal.Find(d.Root, word)
	if err != nil {
		return r, formats.Gate{}, err
	}
	records, err := d.Records(r.ID)
	if err != nil {
		return r, formats.Gate{}, err
	}

	g, done := journal.Gates(records)
	switch {
	case g == nil && len(done) > 0:
		last := done[len(done)-1]
		return r, formats.Gate{}, formats.Fail(formats.CodePrecondition,
			"run 'tercet show "+r.ID+"'",
			"run %s waits for no answer: %s answered %q to %q", r.ID, last.Decision.By,
			last.Decision.Answer, last.Gate.Question)
	case g == nil:
		return r, formats.Gate{}, formats.Fail(formats.CodePrecondition,
			"run 'tercet gates' to list those that do", "run %s waits for no answer", r.ID)
	}

	if until := g.Until(); !until.IsZero() && d.Clock.Now().After(until) {
		return r, *g, formats.Fail(formats.CodePrecondition, "run 'tercet resume "+r.ID+"'",
			"the time of the gate is over, and its answer is %q", g.Timeout.Choose)
	}
	return r, *g, nil
}

// responseTime bounds how long a waiting process may take to read an answer.
const responseTime = 3 * time.Second

// AnswerEffect is the effect of an answer: a word for JSON, and a text for the user.
type AnswerEffect struct{ Status, Text string }

// Answer sends the user's answer to a run's gate. A process that waits at the gate reads it at
// once; otherwise it stays in the run's folder until resume.
func (d *Controller) Answer(
	ctx context.Context,
	r journal.Run,
	g formats.Gate,
	a formats.Decision,
) (AnswerEffect, error) {
	if why := d.LocalOnly(g); why != "" {
		return AnswerEffect{}, formats.Fail(formats.CodeDenied,
			"answer it where the run asks; one that waits asks again by 'tercet resume "+r.ID+
				"' on a terminal",
			"the gate %q is answered only at the run's own terminal: %s", g.Question, why)
	}

	err := d.mailbox(r.ID).Answer(g, a)
	if refused := answerRefused(r, err); refused != nil {
		return AnswerEffect{}, refused
	}

	told := AnswerEffect{"kept", "run 'tercet resume " + r.ID + "' to go on with it"}
	if a.Edited != "" {
		told.Text = "run 'tercet resume " + r.ID +
			"'; the gate asks again, with the files as they are now"
	}
	for end := d.Clock.Now().Add(responseTime); err == nil && d.Running(r.ID) &&
		d.Clock.Now().Before(end); {
		if err := d.Clock.Sleep(ctx, pollInterval); err != nil {
			return AnswerEffect{}, err
		}

		records, err := d.Records(r.ID)
		if err != nil {
			return AnswerEffect{}, err
		}
		now, done := journal.Gates(records)
		at := len(done) - 1
		switch {
		case now != nil && now.ID == g.ID:
			if _, ok := now.Voted(a.By); ok {
				return AnswerEffect{
					"counted",
					formats.Count(g.Quorum-len(now.Votes), "answer") + " more may be needed",
				}, nil
			}
			told.Text = "the run has not taken it yet"
		case a.Edited != "":
			return AnswerEffect{"taken", "the gate asks again, with the files as they are now"}, nil
		case at >= 0 && done[at].Gate.ID == g.ID:
			return AnswerEffect{"taken", "the run goes on"}, nil
		default:
			return AnswerEffect{}, formats.Fail(formats.CodePrecondition,
				"look at it with 'tercet gates', and answer again",
				"not taken: what the question is about has changed, so the gate of run %s "+
					"asks again", r.ID)
		}
	}

	return told, err
}

// CheckUnanswered fails if the run has an unread answer of the user, because another one would not
// count.
func (d *Controller) CheckUnanswered(r journal.Run, g formats.Gate, by string) error {
	return answerRefused(r, d.mailbox(r.ID).Taken(g, by))
}

// answerRefused is the error if another answer was first, else nil.
func answerRefused(r journal.Run, err error) error {
	taken, ok := errors.AsType[*letters.TakenError](err)
	if !ok {
		return nil
	}
	help := "run 'tercet show " + r.ID + "'"
	if taken.First.Edited != "" {
		help = "run 'tercet resume " + r.ID + "', which asks anew"
	}
	return formats.Fail(formats.CodePrecondition, help, "not taken: %s", taken)
}

// Answered returns the next answer to a gate from the run's folder.
func (d *Controller) Answered(g formats.Gate) (formats.Decision, bool, error) {
	if g.ID == "" || d.LocalOnly(g) != "" { // not in a journal, or answered only here
		return formats.Decision{}, false, nil
	}
	list, err := d.Answers(g)
	i := slices.IndexFunc(list, func(a formats.Decision) bool {
		_, before := g.Voted(a.By)
		return !before
	})
	if err != nil || i < 0 {
		return formats.Decision{}, false, err
	}
	return list[i], true, nil
}

// Answers are the valid answers to a gate in its run's folder, oldest first.
func (d *Controller) Answers(g formats.Gate) ([]formats.Decision, error) {
	return d.mailbox(g.Run).Answers(g)
}

// Watch returns a context that ends with an *ArrivedError when another process answers a gate.
func (d *Controller) Watch(ctx context.Context, g formats.Gate) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var looking sync.WaitGroup
	looking.Go(func() {
		for g.ID != "" && d.Clock.Sleep(ctx, pollInterval) == nil {
			if a, ok, err := d.Answered(g); ok || err != nil {
				cancel(&ArrivedError{a, err})
			}
		}
	})
	return ctx, func() {
		cancel(nil)
		looking.Wait()
	}
}

// Await waits for an answer of another process.
func (d *Controller) Await(ctx context.Context, g formats.Gate) (formats.Decision, error) {
	ctx, done := d.Watch(ctx, g)
	defer done()
	<-ctx.Done()
	return ArrivedAnswer(ctx)
}

// ArrivedAnswer returns the answer that ended a context of Watch, else the context's error.
func ArrivedAnswer(ctx context.Context) (formats.Decision, error) {
	cause := context.Cause(ctx)
	if there, ok := errors.AsType[*ArrivedError](cause); ok {
		return there.Decision, there.Err
	}
	return formats.Decision{}, cause
}

// Submit stores the answer of this process's user. If another answer was first, it returns that
// one.
func (d *Controller) Submit(g formats.Gate, a formats.Decision) (formats.Decision, error) {
	if g.ID == "" || len(d.Key(g.Run)) == 0 || d.LocalOnly(g) != "" {
		return a, nil
	}

	err := d.mailbox(g.Run).Answer(g, a)
	if taken, ok := errors.AsType[*letters.TakenError](err); ok {
		first, ok, err := d.Answered(g)
		if ok || err != nil {
			d.Note("not taken: %s", taken)
			return first, err
		}
	}

	if err != nil {
		d.Note("warning: %s", err)
	}
	return a, nil
}

// LocalOnly says why a gate with consent must be answered at the run's own terminal: a worker that
// could read the user's key could have forged an answer from elsewhere. Empty if it need not.
func (d *Controller) LocalOnly(g formats.Gate) string {
	if !g.Consent || g.ID == "" || d.HidesKey == nil {
		return ""
	}

	var why string
	var cached bool
	d.withRun(g.Run, func(r *run) { why, cached = r.localOnly[g.ID] })
	if cached {
		return why
	}

	why = d.forgeryRisk(g.Run)
	d.withRun(g.Run, func(r *run) {
		if r.localOnly == nil {
			r.localOnly = map[string]string{}
		}
		r.localOnly[g.ID] = why
	})
	return why
}

// forgeryRisk says which worker of a run could have read the user's key, or that the next one
// could.
func (d *Controller) forgeryRisk(id string) string {
	records, err := d.Records(id)
	if err != nil {
		return err.Error()
	}
	for _, r := range records {
		var ret struct{ Metadata formats.Metadata }
		if r.Type != formats.EntryDelegationResult || json.Unmarshal(r.Raw(), &ret) != nil {
			continue
		}
		if m := ret.Metadata; !d.HidesKey(m.Sandbox) {
			return m.Agent + " ran in the tier " + m.Sandbox +
				", in which it can read tercet's keys and forge an answer"
		}
	}

	tier, err := d.Tier()
	switch {
	case err != nil:
		return err.Error()
	case !d.HidesKey(tier):
		return "workers run here in the tier " + tier +
			", in which they can read tercet's keys and forge an answer"
	}
	return ""
}
