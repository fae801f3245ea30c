package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/plain"
	"tercet/internal/query"
	"tercet/project"
)

// seeVerbs are those that look at runs.
func seeVerbs() []verb {
	return []verb{
		{
			use:   "verify RUN [RUN]",
			short: "replay a run and compare it with its journal; or compare two runs",
			args:  words(1, 2),
			make:  verifyVerb,
		},
		{
			use:   "watch",
			short: "show the runs on the whole screen; answer, pause, resume and cancel them",
			args:  none,
			needs: userOnly | aWorkspace,
			make:  watchVerb,
		},
	}
}

func verifyVerb(cmd *cobra.Command, a *app) run {
	cmd.Flags().BoolVar(&a.flags.acceptChanges, "accept-changes", false,
		"go on even if a command, subagent or configuration file has changed")
	cmd.Long = `With one run, verify makes every decision and prompt of it again, and compares them with its journal.
With two, it shows the first decision, prompt or return in which they differ, and ends with 1 then.`
	return func(c call) error {
		if len(c.args) == 2 {
			return c.compareRuns()
		}
		s, err := c.app.inside(c.ctx)
		if err != nil {
			return err
		}
		r, lines, err := s.Verify(c.ctx, c.args[0])
		if err != nil {
			return err
		}
		if !c.app.document("tercet.verify/1", fields{
			"run":       r.ID,
			"identical": true,
			"lines":     lines,
		}) {
			c.app.term.Answer("%s: identical, %s", r.ID, formats.Count(lines, "line"))
		}
		return nil
	}
}

// compareRuns tells the first place in which two runs differ, and ends with 1 then, as diff does.
func (c call) compareRuns() error {
	w, err := c.app.workspace(c.ctx)
	if err != nil {
		return err
	}
	ids, d, err := w.Compare(c.args[0], c.args[1])
	if err != nil {
		return err
	}
	if !c.app.document("tercet.diff/1", fields{"runs": ids, "identical": d == nil, "difference": d}) {
		if d == nil {
			c.app.term.Answer("%s and %s: no decision, prompt or return differs", ids[0], ids[1])
		} else {
			c.app.term.Answer("%s", plain.Line(d.String()))
		}
	}
	if d != nil {
		return shown{1}
	}
	return nil
}

// logs prints the log of a run, or of a step of it, and follows it until the run has ended.
func (c call) logs(step string, follow bool) error {
	r, err := c.p.Find(c.args[0])
	if err != nil {
		return err
	}

	log := c.p.Log(r.ID, step)
	all := []project.LogLine{}
	if c.app.term.Draws() && follow && step == "" && !c.app.flags.json {
		return c.app.term.Follow(c.ctx, c.p, r.ID)
	}

	for {
		events, over, err := log.Lines()
		if err != nil {
			return err
		}
		for _, e := range events {
			if !c.app.flags.json {
				c.app.term.Answer("%s", plain.Line(e.String()))
			}
		}
		all = append(all, events...)
		if over || !follow {
			break
		}
		if err := (clock{}).Sleep(c.ctx, pollEvery); err != nil {
			return context.Cause(c.ctx)
		}
	}

	if len(all) == 0 && step != "" {
		return log.CheckStep()
	}

	c.app.document("tercet.logs/1", fields{"run": r.ID, "events": all})
	return nil
}

// pollEvery is how often a run of another process is looked at.
const pollEvery = 200 * time.Millisecond

// allRuns are all runs as one document.
func (c call) allRuns() ([]query.Input, error) {
	w, err := c.app.workspace(c.ctx)
	if err != nil {
		return nil, err
	}
	out, err := w.RunsWithSteps()
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(fields{"schema": "tercet.runs/1", "runs": out})
	return []query.Input{{Name: "runs", Data: data}}, err
}
