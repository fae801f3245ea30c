package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/project"
)

// statusVerb prints where the project stands, or what its runs took.
func statusVerb(cmd *cobra.Command, _ *app) run {
	cmd.Long = `status lists what needs you first: questions that wait for your answer. Then come runs that can go on
or are at work, then open tasks. The last column says what to type.

With --cost it lists the tokens and the money that the agents reported: by task, by agent, by day and
in total. Runs that gc has removed do not count.`
	cost := cmd.Flags().Bool(
		"cost", false,
		"show the tokens and money that the runs used, by task, agent and day",
	)
	return func(c call) error {
		if *cost {
			return c.printCosts()
		}
		tasks, err := c.p.Tasks(c.ctx, project.TaskFilter{})
		if err != nil {
			return err
		}

		c.warnChangedOutside()
		foreign := c.noteForeignStates()
		gates, err := c.p.Gates()
		unfinished, rerr := c.p.Runs(project.Filter{Unfinished: true})
		if err = cmp.Or(err, rerr); err != nil { // the tasks are shown all the same
			c.app.term.Note("warning: %s", err)
		}

		open := slices.DeleteFunc(tasks, func(t formats.Task) bool {
			return t.Status.Terminal()
		})
		if c.app.answerJSON("tercet.status/1", fields{
			"runner": c.p.Config.Runner,
			"gates":  nonNil(gates),
			"runs":   nonNil(unfinished),
			"tasks":  nonNil(open),
			"states": nonNil(foreign),
		}) {
			return nil
		}

		tab := formats.Table{Columns: []string{"what", "id", "about", "status", "next"}}
		hasGate := map[string]bool{}
		for _, g := range gates {
			hasGate[g.Run] = true
			tab.Rows = append(tab.Rows, gateRow(g))
		}
		for _, r := range unfinished {
			if !hasGate[r.ID] {
				tab.Rows = append(tab.Rows, c.runRow(r))
			}
		}
		for _, t := range open {
			tab.Rows = append(tab.Rows, c.taskRow(t))
		}

		c.app.term.Note("runner %s, open tasks: %d", c.p.Config.Runner, len(open))
		c.app.term.Table(tab)
		return nil
	}
}

// gateRow is the row of an open question in the table of status.
func gateRow(g project.OpenGate) []string {
	return []string{
		"gate",
		g.Run,
		g.Command + ": " + g.Gate.Question,
		"waits for an answer",
		"tercet approve " + g.Run,
	}
}

// runRow is the row of a run that did not end.
func (c call) runRow(r project.RunInfo) []string {
	status := r.Status
	next := "tercet resume " + r.ID
	switch {
	case c.p.AtWork(r.ID):
		status = cmp.Or(r.Queue, "at work")
		next = project.FollowLine(r.ID)
	case status == project.RunOpen:
		status = "its process is gone"
	case r.Gate == "" && r.Why != "":
		status = r.WaitReason()
	}
	return []string{"run", r.ID, r.Line, status, next}
}

// taskRow is the row of an open task.
func (c call) taskRow(t formats.Task) []string {
	return []string{
		"task",
		strconv.Itoa(t.Number),
		t.Title,
		t.Status.String(),
		c.p.NextLine(t),
	}
}

// noteForeignStates lists the files of tasks of other systems, and says which have to be imported.
func (c call) noteForeignStates() []project.ForeignState {
	list := c.p.ForeignStates(c.ctx)
	for _, f := range list {
		if text := f.String(); text != "" {
			c.app.term.Note("%s", text)
		}
	}
	return list
}

// printCosts prints what the calls of workers took.
func (c call) printCosts() error {
	spent, err := c.p.Spent(time.Time{})
	if err != nil || c.app.answerJSON("tercet.cost/1", fields{"spent": nonNil(spent)}) {
		return err
	}

	tab := formats.Table{Columns: []string{"by", "name", "calls", "tokens", "cost"}}
	for _, s := range spent {
		tab.Rows = append(tab.Rows, []string{
			s.By,
			s.Name,
			strconv.Itoa(s.Calls),
			strconv.FormatInt(s.Tokens, 10),
			fmt.Sprintf("%.2f", s.Cost),
		})
	}

	c.app.term.Table(tab)
	if len(spent) == 0 {
		c.app.term.Note("no agent has reported tokens or cost")
	}
	return nil
}
