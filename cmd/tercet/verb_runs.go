package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/internal/letters"
	"tercet/internal/live"
	"tercet/internal/plain"
	"tercet/internal/style"
	"tercet/subagents/worktree"
)

func resumeVerb(cmd *cobra.Command, a *app) run {
	a.flags.run(cmd)
	cmd.Flags().BoolVar(&a.flags.acceptChanges, "accept-changes", false,
		"go on even if a command, subagent or configuration file has changed")
	from := cmd.Flags().String(
		"from", "",
		"go back to this `step`, also of a run that failed; tercet shows what that keeps and drops",
	)
	cmd.Flags().BoolVar(
		&a.flags.await,
		"await-answers",
		false,
		"without a terminal: wait at a question until 'tercet approve' or 'tercet watch' "+
			"answers it",
	)
	wait := cmd.Flags().Bool(
		"wait", false,
		"sleep until the time that the run waits for, then go on",
	)
	return func(c call) error {
		run := strings.Join(c.args, "") // one word, or none
		for {
			r, err := c.resumed(run, *from, *wait)
			if r == nil || !*wait || r.Until.IsZero() {
				return err
			}
			if err := c.app.forget(); err != nil {
				return err
			}
			run = r.Run
			*from = ""
		}
	}
}

// resumed goes on with a run, and tells how it goes on then where it waits again. It sleeps before
// it takes the run, so that others may have it meanwhile.
func (c call) resumed(word, from string, wait bool) (*formats.Resume, error) {
	s, err := c.app.inside(c.ctx)
	if err != nil {
		return nil, err
	}
	if wait {
		if err := s.Project.Control.Wait(c.ctx, word); err != nil {
			return nil, err
		}
	}
	ret, err := s.Resume(c.ctx, word, from)
	if err != nil {
		return nil, err
	}
	return ret.Resume, c.app.ended(ret)
}

func cancelVerb(cmd *cobra.Command, a *app) run {
	a.flags.end(cmd)
	return func(c call) error {
		s, err := c.app.inside(c.ctx)
		if err != nil {
			return err
		}
		r, taken, err := s.Project.Control.End(c.ctx, c.args[0])
		switch {
		case err != nil:
			return err
		case taken:
			if err = s.GiveUp(c.ctx, r); err == nil {
				r, err = s.Project.Control.Named(r.ID)
				c.app.document("tercet.control/1", fields{
					"run":    r.ID,
					"do":     letters.Cancel,
					"status": r.Status,
				})
			}
			return err
		default:
			return c.obeyed(r, letters.Cancel)
		}
	}
}

func runsVerb(cmd *cobra.Command, _ *app) run {
	all := cmd.Flags().Bool("all", false, "list all runs, not only the newest 20")
	return func(c call) error {
		list, err := journal.Runs(c.p.Root, false)
		if err != nil {
			return err
		}
		if !*all {
			list = list[:min(len(list), 20)]
		}
		if c.app.document("tercet.runs/1", fields{"runs": nonNil(list)}) {
			return nil
		}

		tab := formats.Table{Columns: []string{
			"run", "command", "task", "status", "step", "age", "cost",
		}}
		for _, r := range list {
			// nothing for 0
			task := sprintf("%.0d", r.Task)
			cost := ""
			if r.Cost > 0 {
				cost = sprintf("%.2f", r.Cost)
			}
			since := style.Age(clock{}.Now().Sub(r.Started))
			tab.Rows = append(tab.Rows, []string{
				r.ID, r.Line, task,
				r.Status,
				r.String(),
				since,
				cost,
			})
		}

		c.app.term.table(tab)
		if len(list) == 0 {
			c.app.term.note("no run; a slash command begins one")
		}
		return nil
	}
}

func showVerb(cmd *cobra.Command, _ *app) run {
	f := cmd.Flags()
	log := f.Bool(
		"log", false,
		"print the events of the run, one a line, and the output of its agents",
	)
	follow := f.BoolP("follow", "f", false, "with --log: keep printing until the run has ended")
	step := f.String("step", "",
		"with --log: only this `step` and the steps inside it: an id, a place or a step path")
	bundle := f.Bool(
		"bundle",
		false,
		"write one file about the run for a bug report, without secrets",
	)
	return func(c call) error {
		switch {
		case *bundle && *log:
			return usage("expected --log or --bundle, got both")
		case !*log && (*follow || *step != ""):
			return usage("expected --log with --follow and --step")
		case *bundle:
			return c.bundleRun()
		case *log:
			return c.logs(*step, *follow)
		}
		return c.showRun()
	}
}

func (c call) showRun() error {
	r, err := c.p.Control.Named(c.args[0])
	if err != nil {
		return err
	}
	return c.show(r)
}

// show prints the steps of a run, and how it goes on.
func (c call) show(r journal.Run) error {
	records, err := journal.Load(c.p.Root, r.ID)
	if err != nil {
		return err
	}

	steps := journal.Steps(records)
	next := ""
	if !journal.Finished(records) {
		next = "tercet resume " + r.ID
	}
	boards := journal.Topics(records)
	then := journal.Next(records)
	all := fields{
		"run":        r,
		"steps":      nonNil(steps),
		"boards":     nonNil(boards),
		"resume":     next,
		"next_steps": then,
	}
	if c.app.document("tercet.run/1", all) {
		return nil
	}

	head := sprintf("%s  %s  %s", r.ID, r.Line, r.Status)
	if r.Number > 0 {
		head += "  step " + r.String()
	}
	c.app.term.answer("%s", plain.Line(head))
	look := live.Style{Sheet: c.app.term.sheet(c.app.term.outTTY)}
	c.app.term.stage.root = c.p.Dir
	if c.app.term.outTTY {
		look.Link = c.app.term.stage.look().Link
	}
	for _, line := range live.Steps(steps, columns(c.app.term.io.out), look) {
		fmt.Fprintln(c.app.term.io.out, line)
	}

	for _, topic := range boards {
		c.app.term.sentence("%s", topic)
	}
	c.app.term.sentence("%s", r.WaitReason()) // nothing of what does not wait
	if g, _ := journal.Gates(records); g != nil {
		c.app.term.answer("%s", sprintf("Answer: tercet approve %s, or tercet reject %[1]s", r.ID))
	}
	if next != "" {
		c.app.term.answer("%s", "Resume: "+next)
	} else if then != "" {
		c.app.term.answer("%s", plain.Line("Next: "+then))
	}
	return nil
}

// offerBack says how a run that failed goes on without doing again what was paid for.
func (a *app) offerBack(ret formats.Return) {
	if ret.Status != formats.StatusFailed || ret.Metadata.Run == "" ||
		a.flags.dryRun {
		return
	}
	records, err := journal.Load(a.project.Root, ret.Metadata.Run)
	if err != nil {
		return
	}
	if step := journal.ReopenStep(records); step != "" {
		a.term.note("to go on from the step that failed: tercet resume %s --from %s",
			ret.Metadata.Run, worktree.Quoted(step))
	}
}
