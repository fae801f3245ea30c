package main

import (
	"cmp"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/internal/letters"
	"tercet/internal/phrase"
	"tercet/internal/question"
)

func listGates(c call) error {
	open, err := c.desk.Gates()
	if err != nil || c.document("tercet.gates/1", fields{"gates": open}) {
		return err
	}
	tab := formats.Table{Columns: []string{"run", "gate", "question", "choices", "age", "command"}}
	for _, one := range open {
		g := one.Gate
		var labels []string
		for _, ch := range g.Choices {
			labels = append(labels, phrase.In(c.cfg.Language, ch.Label))
		}
		tab.Rows = append(tab.Rows, []string{
			one.Run,
			g.Step,
			g.Question,
			strings.Join(labels, ", "),
			journal.Age(clock{}.Now().Sub(g.Opened)),
			one.Command,
		})
	}
	c.term.table(tab)
	return nil
}

// answerVerb answers the gate that a run waits at.
func answerVerb(approve bool) func(*cobra.Command, *app) run {
	return func(cmd *cobra.Command, _ *app) run {
		choice := cmd.Flags().String("choice", "",
			"the `label` to choose, its number, or its beginning if only one begins so")
		note := cmd.Flags().String("note", "", "a `text` kept with the answer")
		return func(c call) error {
			r, g, err := c.desk.Gate(c.args[0])
			if err != nil {
				return err
			}

			a := question.Answer{Note: *note}
			_, before := g.Voted(userName())
			if approve && *choice == "" && !c.flags.yes && !c.flags.json &&
				!before && c.interactive() {
				if err = c.desk.CheckUnanswered(r, g, userName()); err == nil {
					a, err = c.approver.asked(c.ctx, g, *note)
				}
			} else {
				a.Label, err = question.Chosen(g, *choice, *note, approve)
			}
			if errors.Is(err, question.ErrLeft) {
				return &formats.GateOpenError{Gate: g, Left: true}
			}
			if err != nil {
				return err
			}

			a.Note = c.mask.Text(a.Note)
			d := answerOf(a)
			told, err := c.desk.Answer(c.ctx, r, g, d)
			if err != nil || c.document("tercet.answer/1", fields{
				"run":      r.ID,
				"gate":     g.ID,
				"question": g.Question,
				"choice":   d.Answer,
				"by":       d.By,
				"status":   told.Status,
			}) {
				return err
			}

			shown := cmp.Or(phrase.In(c.cfg.Language, d.Answer), "changed "+d.Edited)
			c.term.sentence("%s %s: %s", g.Question, shown, told.Text)
			return nil
		}
	}
}

func pauseRun(c call) error {
	r, err := c.desk.Pause(c.ctx, c.args[0])
	if err != nil {
		return err
	}
	return c.obeyed(r, letters.Pause)
}

// obeyed says what an order came to.
func (c call) obeyed(r journal.Run, do string) error {
	switch {
	case c.document("tercet.control/1", fields{"run": r.ID, "do": do, "status": r.Status}):
	case r.Status == formats.OutcomeSuspended.String():
		c.term.sentence("run %s is suspended: %s", r.ID, r.Why)
		c.term.answer("%s", "Resume: tercet resume "+r.ID)
	default:
		c.term.answer("%s", "run "+r.ID+" is cancelled")
	}
	return nil
}
