package main

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/internal/letters"
	"tercet/internal/question"
)

// openGate is a gate that waits for an answer, with its run.
type openGate struct {
	Run     string       `json:"run"`
	Command string       `json:"command"`
	Step    string       `json:"step_path"`
	Gate    formats.Gate `json:"gate"`
	By      []string     `json:"answered_by,omitempty"` // who has answered already, of a gate that needs several
}

// records are those of a run that this person began here.
func (w runs) records(id string) ([]journal.Record, error) {
	list, err := journal.Load(w.root, id)
	if err == nil {
		err = journal.Vouched(list, w.runKey(id))
	}
	return list, err
}

func listGates(c call) error {
	list, err := journal.Runs(c.root, true)
	if err != nil {
		return err
	}
	open := []openGate{}
	tab := formats.Table{Columns: []string{"run", "gate", "question", "choices", "age"}}
	for _, r := range list {
		records, err := runs{c.world}.records(r.ID)
		if err != nil {
			c.term.note("warning: %s", err)
			continue
		}
		g, _ := journal.Gates(records)
		if g == nil {
			continue
		}
		one := openGate{Run: r.ID, Command: r.Line, Step: g.Step, Gate: *g}
		var labels []string
		for _, ch := range g.Choices {
			labels = append(labels, ch.Label)
		}
		for _, d := range g.Votes {
			one.By = append(one.By, d.By)
		}
		open = append(open, one)
		tab.Rows = append(tab.Rows, []string{
			r.ID, g.Step, g.Question, strings.Join(labels, ", "), journal.Age(clock{}.Now().Sub(g.Opened)),
		})
	}
	if !c.document("tercet.gates/1", fields{"gates": open}) {
		c.term.table(tab)
	}
	return nil
}

// answerVerb answers the gate that a run waits at.
func answerVerb(approve bool) func(*cobra.Command, *app) run {
	return func(cmd *cobra.Command, _ *app) run {
		choice := cmd.Flags().String("choice", "", "the `label` to choose, its number, or the beginning of just one")
		note := cmd.Flags().String("note", "", "a `text` kept with the answer")
		return func(c call) error {
			w := runs{c.world}
			r, err := journal.Find(c.root, c.args[0])
			if err != nil {
				return err
			}
			g, err := w.waiting(r)
			if err != nil {
				return err
			}
			label, err := question.Chosen(g.Choices, *choice, approve)
			if err != nil {
				return err
			}
			d := formats.Decision{
				Answer: label, By: userName(), Person: true, Note: c.mask.Text(*note), At: clock{}.Now().UTC(),
			}
			err = w.box(r.ID).Answer(g, d)
			if taken, ok := errors.AsType[*letters.TakenError](err); ok {
				return formats.Fail(formats.CodePrecondition, "run 'tercet show "+r.ID+"'", "not taken: %s", taken)
			}
			if err != nil {
				return err
			}
			return w.told(c.ctx, r, g, d)
		}
	}
}

// waiting is the gate that a run waits at.
func (w runs) waiting(r journal.Run) (formats.Gate, error) {
	records, err := w.records(r.ID)
	if err != nil {
		return formats.Gate{}, err
	}
	g, done := journal.Gates(records)
	switch {
	case g == nil && len(done) > 0:
		last := done[len(done)-1]
		return formats.Gate{}, formats.Fail(formats.CodePrecondition, "run 'tercet show "+r.ID+"'",
			"run %s waits for no answer: %s answered %q to %q", r.ID, last.Decision.By, last.Decision.Answer, last.Gate.Question)
	case g == nil:
		return formats.Gate{}, formats.Fail(formats.CodePrecondition, "run 'tercet gates' to list those that do",
			"run %s waits for no answer", r.ID)
	}
	if until := g.Until(); !until.IsZero() && (clock{}).Now().After(until) {
		return *g, formats.Fail(formats.CodePrecondition, "run 'tercet resume "+r.ID+"'",
			"the time of the gate is over, and its answer is %q", g.Timeout.Choose)
	}
	return *g, nil
}

// takenWithin is how long a process that waits may take to read an answer.
const takenWithin = 3 * time.Second

// told says what became of an answer: a process that waits at the gate takes it, else it lies there until the run is
// resumed.
func (w runs) told(ctx context.Context, r journal.Run, g formats.Gate, d formats.Decision) error {
	status, help := "kept", "run 'tercet resume "+r.ID+"' to go on with it"
	for end := (clock{}).Now().Add(takenWithin); w.live(r.ID) && (clock{}).Now().Before(end); {
		if err := (clock{}).Sleep(ctx, heedEvery); err != nil {
			return err
		}
		records, err := w.records(r.ID)
		if err != nil {
			return err
		}
		now, done := journal.Gates(records)
		at := len(done) - 1
		switch {
		case now != nil && now.ID == g.ID:
			if _, ok := now.Voted(d.By); ok {
				status, help = "counted", formats.Count(g.Quorum-len(now.Votes), "answer")+" more may be needed"
				break
			}
			help = "the run has not taken it yet"
			continue
		case at >= 0 && done[at].Gate.ID == g.ID:
			status, help = "taken", "the run goes on"
		default:
			return formats.Fail(formats.CodePrecondition, "look at it with 'tercet gates', and answer again",
				"not taken: what the question is about has changed, and the gate of run %s asks anew", r.ID)
		}
		break
	}
	if !w.document("tercet.answer/1", fields{
		"run": r.ID, "gate": g.ID, "question": g.Question, "choice": d.Answer, "by": d.By, "status": status,
	}) {
		w.term.answer("%s", g.Question+" "+d.Answer+": "+help)
	}
	return nil
}

// live tells whether a process works on a run.
func (w runs) live(id string) bool {
	held, err := w.claim(journal.LockOf(id), w.sessionID())
	if err != nil {
		return true
	}
	return held.Close() != nil
}

func pauseRun(c call) error {
	r, err := journal.Find(c.root, c.args[0])
	if err != nil {
		return err
	}
	w := runs{c.world}
	if _, err := w.records(r.ID); err != nil {
		return err
	}
	if !w.live(r.ID) {
		return formats.Fail(formats.CodePrecondition, "run 'tercet resume "+r.ID+"' to go on with it",
			"run %s does not run: there is nothing to pause", r.ID)
	}
	return w.order(c.ctx, r, letters.Pause)
}

// order tells a run to pause or to end, and waits until it has.
func (w runs) order(ctx context.Context, r journal.Run, do string) error {
	box, at := w.box(r.ID), clock{}.Now().UTC()
	var err error
	for end := at.Add(takenWithin); ; {
		err = box.Give(letters.Order{Do: do, By: userName(), At: (clock{}).Now().UTC()})
		if !errors.Is(err, fs.ErrExist) || (clock{}).Now().After(end) {
			break
		}
		if err := (clock{}).Sleep(ctx, heedEvery); err != nil { // another order is being read
			return err
		}
	}
	if err != nil {
		return err
	}
	w.term.note("run %s: asked to %s; waits for what runs", r.ID, do)
	for n := 1; ; n++ {
		if err := (clock{}).Sleep(ctx, heedEvery); err != nil {
			return err
		}
		now, ok := journal.Look(w.root, r.ID)
		done := ok && now.Status != journal.Open && !now.Last.Before(at)
		if !done && (n%8 != 0 || w.live(r.ID)) {
			continue
		}
		if err := box.Withdraw(); err != nil {
			return err
		}
		return w.obeyed(now, do, at)
	}
}

// obeyed says what an order came to.
func (w runs) obeyed(r journal.Run, do string, at time.Time) error {
	records, err := w.records(r.ID)
	if err != nil {
		return err
	}
	suspended := r.Status == formats.OutcomeSuspended.String()
	switch {
	case r.Status == journal.Open:
		return formats.Fail(formats.CodePrecondition, "run 'tercet resume "+r.ID+"', or 'tercet cancel "+r.ID+"'",
			"the process of run %s was gone before it could %s", r.ID, do)
	case do == letters.Pause && !suspended, do == letters.Cancel && !journal.Stopped(records, at):
		return formats.Fail(formats.CodePrecondition, "run 'tercet show "+r.ID+"'", "run %s was %s before it could %s", r.ID,
			r.Status, do)
	}
	if w.document("tercet.control/1", fields{"run": r.ID, "do": do, "status": r.Status}) {
		return nil
	}
	if suspended {
		w.term.answer("%s", "run "+r.ID+" is suspended: "+r.Why)
		w.term.answer("%s", "Resume: tercet resume "+r.ID)
		return nil
	}
	w.term.answer("%s", "run "+r.ID+" is cancelled")
	return nil
}
