package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/control"
	"tercet/internal/journal"
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
			return c.costs()
		}
		tasks, err := c.p.Reader.Tasks(c.ctx)
		if err != nil {
			return err
		}

		c.changedOutside()
		gates, err := c.p.Control.Gates()
		unfinished, rerr := journal.Runs(c.p.Root, true)
		if err = cmp.Or(err, rerr); err != nil { // the tasks are shown all the same
			c.app.term.note("warning: %s", err)
		}
		open := slices.DeleteFunc(tasks, func(t formats.Task) bool {
			return t.Status.Terminal()
		})
		if c.app.document("tercet.status/1", fields{
			"runner": c.p.Config.Runner,
			"gates":  nonNil(gates),
			"runs":   nonNil(unfinished),
			"tasks":  nonNil(open),
		}) {
			return nil
		}

		tab := formats.Table{Columns: []string{"what", "id", "about", "status", "next"}}
		for _, g := range gates {
			tab.Rows = append(tab.Rows, []string{
				"gate",
				g.Run,
				g.Command + ": " + g.Gate.Question,
				"waits for an answer",
				"tercet approve " + g.Run,
			})
			unfinished = slices.DeleteFunc(unfinished, func(r journal.Run) bool {
				return r.ID == g.Run
			})
		}

		for _, r := range unfinished {
			status := r.Status
			next := "tercet resume " + r.ID
			switch {
			case c.p.Control.Running(r.ID):
				status = "at work"
				next = "tercet show --log -f " + r.ID
			case status == journal.Open:
				status = "its process is gone"
			case r.Gate == "" && r.Why != "":
				status = r.WaitReason()
			}
			tab.Rows = append(tab.Rows, []string{"run", r.ID, r.Line, status, next})
		}

		for _, t := range open {
			tab.Rows = append(tab.Rows, []string{
				"task",
				strconv.Itoa(t.Number),
				t.Title,
				t.Status.String(),
				"",
			})
		}

		c.app.term.note("runner %s, open tasks: %d", c.p.Config.Runner, len(open))
		c.app.term.table(tab)
		return nil
	}
}

// costs prints what the calls of workers took.
func (c call) costs() error {
	spent, err := control.Sums(c.p.Control, time.Time{})
	if err != nil || c.app.document("tercet.cost/1", fields{"spent": nonNil(spent)}) {
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
	c.app.term.table(tab)
	if len(spent) == 0 {
		c.app.term.note("no agent has reported tokens or cost")
	}
	return nil
}
