package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/frontends/term"
	"tercet/internal/style"
	"tercet/project"
)

func resumeVerb(cmd *cobra.Command, a *app) run {
	a.flags.addRun(cmd)
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
			r, err := c.resumeRun(run, *from, *wait)
			if r == nil || !*wait || r.Until.IsZero() {
				return err
			}
			if err := c.app.closeProject(); err != nil {
				return err
			}
			run = r.Run
			*from = ""
		}
	}
}

// resumeRun goes on with a run, and tells how it goes on then where it waits again. It sleeps
// before it takes the run, so that others may have it meanwhile.
func (c call) resumeRun(word, from string, wait bool) (*formats.Resume, error) {
	s, err := c.app.workspaceSession(c.ctx)
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
	return ret.Resume, c.app.reportReturn(ret)
}

func cancelVerb(cmd *cobra.Command, a *app) run {
	a.flags.addEnd(cmd)
	return func(c call) error {
		s, err := c.app.workspaceSession(c.ctx)
		if err != nil {
			return err
		}
		r, gaveUp, err := s.Cancel(c.ctx, c.args[0])
		switch {
		case err != nil:
			return err
		case gaveUp:
			c.app.answerJSON("tercet.control/1", orderRecord(r, "cancel"))
			return nil
		}
		return c.reportOrder(r, "cancel")
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
		if c.app.answerJSON("tercet.runs/1", fields{"runs": nonNil(list)}) {
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
				cmp.Or(r.Queue, r.Status),
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
	log := f.Bool("log", false, "print what happened, and what the agents said and did")
	raw := f.Bool("raw", false,
		"with --log: every entry of the journal, one a line, and the agents' output as it came")
	follow := f.BoolP("follow", "f", false, "with --log: keep printing until the run has ended")
	step := f.String("step", "",
		"with --log: only this `step` and the steps inside it: an id, a place or a step path")
	bundle := f.Bool(
		"bundle",
		false,
		"write one file about the run for a bug report, without secrets",
	)
	return func(c call) error {
		if err := c.newestRun(); err != nil {
			return err
		}
		switch {
		case *bundle && *log:
			return usage("expected --log or --bundle, got both")
		case !*log && (*follow || *raw || *step != ""):
			return usage("expected --log with --follow, --raw and --step")
		case *bundle:
			return c.bundleRun()
		case *log:
			return c.printLog(*step, *follow, *raw)
		}
		return c.showRun()
	}
}

func (c call) showRun() error {
	d, err := c.p.Detail(c.args[0])
	if err != nil {
		return err
	}
	if !c.app.answerJSON("tercet.run/1", fields{
		"run":        d.Run,
		"steps":      d.Steps,
		"boards":     d.Boards,
		"told":       d.Told,
		"resume":     d.Resume,
		"next_steps": d.Next,
	}) {
		c.app.term.ShowDetail(c.p, d)
		return c.printLastSaid(d.Run.ID)
	}
	return nil
}

// printLastSaid prints the last thing that each agent of a run said.
func (c call) printLastSaid(run string) error {
	list, _, err := c.p.Log(run, "").Passages()
	if err != nil {
		return err
	}
	said := false
	for _, one := range list {
		if last := lastSaid(one); last.Spoken != nil {
			said = true
			c.app.term.Passages([]project.Passage{last})
		}
	}
	if said {
		c.app.term.Answer("%s", "All of it: tercet show --log "+run)
	}
	return nil
}

// lastSaid is the last part of a passage in which its agent says something or fails.
func lastSaid(p project.Passage) project.Passage {
	for _, s := range slices.Backward(p.Spoken) {
		if kind := string(s.Kind); kind == "says" || kind == "fails" {
			return project.Passage{Step: p.Step, Spoken: []project.Spoken{s}}
		}
	}
	return project.Passage{}
}

// adviseReopen says how a run that failed goes on without doing again what was paid for.
func adviseReopen(t *term.Terminal, p *project.Project, ret formats.Return) {
	if ret.Status != formats.StatusFailed || ret.Metadata.Run == "" {
		return
	}
	d, err := p.Detail(ret.Metadata.Run)
	if err == nil && d.Reopen != "" {
		t.Note("to %s: %s", d.ReopenDoes, d.Reopen)
	}
}
