package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/journal"
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
			c.app.term.answer("%s: identical, %s", r.ID, formats.Count(lines, "line"))
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

	var ids [2]string
	var both [2][]journal.Record
	for i, word := range c.args {
		r, records, err := w.Control.FindVerified(word)
		if err != nil {
			return err
		}
		ids[i] = r.ID
		both[i] = records
	}

	d := journal.Differ(both[0], both[1])
	if !c.app.document("tercet.diff/1", fields{"runs": ids, "identical": d == nil, "difference": d}) {
		if d == nil {
			c.app.term.answer("%s and %s: no decision, prompt or return differs", ids[0], ids[1])
		} else {
			c.app.term.answer("%s", plain.Line(d.String()))
		}
	}
	if d != nil {
		return shown{1}
	}
	return nil
}

// logs prints the log of a run, or of a step of it, and follows it until the run has ended.
func (c call) logs(step string, follow bool) error {
	r, err := c.p.Control.Named(c.args[0])
	if err != nil {
		return err
	}

	log := journal.NewLog(c.p.Root, r.ID, step)
	all := []journal.Event{}
	if wide, _ := c.app.term.stage.room(); wide > 0 && follow && step == "" && !c.app.flags.json {
		return c.follow(log)
	}

	for {
		events, over, err := log.Poll()
		if err != nil {
			return err
		}
		for _, e := range events {
			if !c.app.flags.json {
				c.app.term.answer("%s", plain.Line(e.String()))
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
		records, err := journal.Load(c.p.Root, r.ID)
		if err == nil {
			_, _, err = journal.StateAt(records, step) // which says what there is
		}
		return err
	}

	c.app.document("tercet.logs/1", fields{"run": r.ID, "events": all})
	return nil
}

// follow draws a run of another process until it has ended.
func (c call) follow(log *journal.Log) (err error) {
	defer c.app.term.stage.show(c.p.Dir, nil)()
	over := false
	for {
		was := over
		if _, over, err = log.Poll(); err != nil {
			return err
		}
		news := false
		for e, err := range project.TraceEvents(log) {
			if err != nil {
				return err
			}
			c.app.term.stage.Emit(e)
			news = true
		}
		over = over || was
		if was && !news { // the last event comes behind the end of the journal
			return nil
		}
		if err := (clock{}).Sleep(c.ctx, pollEvery); err != nil {
			return context.Cause(c.ctx)
		}
	}
}

// pollEvery is how often a run of another process is looked at.
const pollEvery = 200 * time.Millisecond

// allRuns are all runs as one document.
func (c call) allRuns() ([]query.Input, error) {
	w, err := c.app.workspace(c.ctx)
	if err != nil {
		return nil, err
	}
	list, err := journal.Runs(w.Root, false)
	if err != nil {
		return nil, err
	}
	type one struct {
		journal.Run

		Steps []journal.Step `json:"steps"`
	}
	out := []one{}
	for _, r := range list {
		records, err := journal.Load(w.Root, r.ID)
		if err != nil {
			c.app.term.note("warning: run %s is left out: %s", r.ID, err)
			continue
		}
		out = append(out, one{r, nonNil(journal.Steps(records))})
	}
	data, err := json.Marshal(fields{"schema": "tercet.runs/1", "runs": out})
	return []query.Input{{Name: "runs", Data: data}}, err
}
