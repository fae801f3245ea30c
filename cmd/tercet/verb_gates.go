package main

import (
	"cmp"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/question"
	"tercet/internal/style"
	"tercet/project"
)

func listGates(c call) error {
	open, err := c.p.Gates()
	if err != nil || c.app.answerJSON("tercet.gates/1", fields{"gates": open}) {
		return err
	}
	tab := formats.Table{Columns: []string{"run", "gate", "question", "choices", "age", "command"}}
	for _, one := range open {
		g := one.Gate
		var labels []string
		for _, ch := range g.Choices {
			labels = append(labels, c.p.Translated(ch.Label))
		}
		tab.Rows = append(tab.Rows, []string{
			one.Run,
			g.Step,
			c.p.TranslatedQuestion(g),
			strings.Join(labels, ", "),
			style.Age(clock{}.Now().Sub(g.Opened)),
			one.Command,
		})
	}
	c.app.term.Table(tab)
	return nil
}

// answerFlags are the flags of approve and reject.
type answerFlags struct {
	approve bool // the verb
	choice  string
	note    string
	gate    string // the id of the gate that is meant; empty: the one that waits
}

// answerVerb answers the gate that a run waits at.
func answerVerb(approve bool) func(*cobra.Command, *app) run {
	return func(cmd *cobra.Command, _ *app) run {
		flags := answerFlags{approve: approve}
		f := cmd.Flags()
		f.StringVar(&flags.choice, "choice", "",
			"the `label` to choose, its number, or its beginning if only one begins so")
		f.StringVar(&flags.note, "note", "", "a `text` kept with the answer")
		f.StringVar(&flags.gate, "gate", "",
			"the `id` of the gate that you saw, as gates --json has it: "+
				"another one is not answered")
		return func(c call) error {
			r, g, err := c.p.OpenGate(c.args[0])
			if err != nil {
				return err
			}
			if flags.gate != "" && g.ID != flags.gate {
				return formats.Fail(formats.CodePrecondition, "look at it: tercet show "+r.ID,
					"nothing was answered: run %s asks another question now", r.ID)
			}

			a, err := c.chooseReply(flags, r, g)
			if errors.Is(err, project.ErrLeft) || errors.Is(err, project.ErrInterrupted) {
				return &formats.GateOpenError{Gate: g, Left: true}
			}
			if err != nil {
				return err
			}
			effect, err := c.p.Answer(c.ctx, r.ID, g.ID, a)
			if err != nil {
				return err
			}
			return c.reportAnswer(r, g, a, effect)
		}
	}
}

// chooseReply gives the reply that the flags choose. Without a choice, approve asks the user at the
// terminal, unless this user has answered before.
func (c call) chooseReply(
	flags answerFlags, r project.RunInfo, g formats.Gate,
) (a project.Reply, err error) {
	_, before := g.Voted(userName())
	atTerminal := !c.app.flags.yes && !c.app.flags.json && c.app.term.Interactive()
	asks := flags.approve && flags.choice == "" && !before && atTerminal
	if !asks {
		label, err := question.Chosen(g, flags.choice, flags.note, flags.approve)
		return project.Reply{Label: label, Note: flags.note}, err
	}
	if err := c.p.CheckUnanswered(r, g); err != nil {
		return project.Reply{}, err
	}
	return c.app.term.Ask(c.ctx, c.p.AboutGate(g, flags.note))
}

// reportAnswer says what an answer came to. A run that no process works on goes on here, if a user
// sees it.
func (c call) reportAnswer(
	r project.RunInfo, g formats.Gate, a project.Reply, effect project.AnswerEffect,
) error {
	if c.app.answerJSON("tercet.answer/1", fields{
		"run":      r.ID,
		"gate":     g.ID,
		"question": g.Question,
		"choice":   a.Label,
		"by":       userName(),
		"status":   effect.Status,
	}) {
		return nil
	}

	asked := c.p.TranslatedQuestion(g)
	chosen := cmp.Or(c.p.Translated(a.Label), "changed "+a.Edited)
	unheard := effect.Status == "kept" && a.Edited == "" && !c.p.AtWork(r.ID)
	if unheard && c.app.term.Interactive() {
		c.app.term.Sentence("%s %s: goes on with run %s", asked, chosen, r.ID)
		return c.resumeHere(r.ID)
	}
	c.app.term.Sentence("%s %s: %s", asked, chosen, effect.Text)
	return nil
}

// resumeHere resumes a run that no process works on.
func (c call) resumeHere(run string) error {
	if err := c.app.closeProject(); err != nil {
		return err
	}
	_, err := c.resumeRun(run, "", false)
	return err
}

func pauseRun(c call) error {
	r, err := c.p.Pause(c.ctx, c.args[0])
	if err != nil {
		return err
	}
	return c.reportOrder(r, "pause")
}

// tellVerb leaves a message for a run.
func tellVerb(cmd *cobra.Command, _ *app) run {
	cmd.Long = `The next worker of the run that starts gets the text as your message, ahead of its instruction; so do
its retries. Workers that are at work do not see it, and those that work without a model read none. A run that waits
keeps the message until it goes on. The journal has what was delivered, and 'tercet show RUN' shows it.`
	return func(c call) error {
		r, m, err := c.p.Tell(c.args[0], strings.Join(c.args[1:], " "), "")
		if err != nil || c.app.answerJSON("tercet.tell/1", fields{
			"run":     r.ID,
			"message": m.ID,
			"by":      m.By,
			"text":    m.Text,
			"running": c.p.AtWork(r.ID),
		}) {
			return err
		}

		when := "the next worker that starts gets it"
		if !c.p.AtWork(r.ID) {
			when = "its next worker gets it when the run goes on: tercet resume " + r.ID
		}
		c.app.term.Sentence("run %s: %s", r.ID, when)
		return nil
	}
}

// reportOrder says what an order came to.
func (c call) reportOrder(r project.RunInfo, do string) error {
	switch {
	case c.app.answerJSON("tercet.control/1", orderRecord(r, do)):
	case r.Status == formats.OutcomeSuspended.String():
		c.app.term.Sentence("run %s is suspended: %s", r.ID, r.Why)
		c.app.term.Answer("%s", "Resume: tercet resume "+r.ID)
	default:
		c.app.term.Answer("%s", "run "+r.ID+" is cancelled")
	}
	return nil
}

// orderRecord is what an order came to, for programs.
func orderRecord(r project.RunInfo, do string) fields {
	return fields{"run": r.ID, "do": do, "status": r.Status}
}
