package main

import (
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/style"
	"tercet/project"
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
		r, gaveUp, err := s.Cancel(c.ctx, c.args[0])
		switch {
		case err != nil:
			return err
		case gaveUp:
			c.app.document("tercet.control/1", controlled(r, "cancel"))
			return nil
		}
		return c.obeyed(r, "cancel")
	}
}

func runsVerb(cmd *cobra.Command, _ *app) run {
	all := cmd.Flags().Bool("all", false, "list all runs, not only the newest 20")
	return func(c call) error {
		f := project.Filter{Most: 20}
		if *all {
			f.Most = 0
		}
		list, err := c.p.Runs(f)
		if err != nil {
			return err
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

		c.app.term.Table(tab)
		if len(list) == 0 {
			c.app.term.Note("no run; a slash command begins one")
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
	d, err := c.p.Detail(c.args[0])
	if err != nil {
		return err
	}
	if !c.app.document("tercet.run/1", fields{
		"run":        d.Run,
		"steps":      d.Steps,
		"boards":     d.Boards,
		"resume":     d.Resume,
		"next_steps": d.Next,
	}) {
		c.app.term.ShowDetail(c.p, d)
	}
	return nil
}

// offerBack says how a run that failed goes on without doing again what was paid for.
func (a *app) offerBack(ret formats.Return) {
	if ret.Status != formats.StatusFailed || ret.Metadata.Run == "" ||
		a.flags.dryRun {
		return
	}
	d, err := a.project.Detail(ret.Metadata.Run)
	if err == nil && d.Reopen != "" {
		a.term.Note("to go on from the step that failed: %s", d.Reopen)
	}
}
