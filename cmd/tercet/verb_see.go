package main

import (
	"context"
	"encoding/json"
	"strings"
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
			use:   "diff [RUN]",
			short: "show what a run changed",
			args:  words(0, 2), // two are those of an earlier version
			needs: aWorkspace,
			do:    diffRun,
		},
		{
			use:   "watch [DIR...]",
			short: "follow the runs on a full screen; answer, pause, resume and cancel them",
			flags: workerFlags,
			args:  words(0, -1),
			needs: userOnly,
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
		s, err := c.app.workspaceSession(c.ctx)
		if err != nil {
			return err
		}
		r, lines, err := s.Verify(c.ctx, c.args[0])
		if err != nil {
			return err
		}

		if !c.app.answerJSON("tercet.verify/1", fields{
			"run":       r.ID,
			"identical": true,
			"lines":     lines,
		}) {
			c.app.term.Answer("%s: identical, %s", r.ID, formats.Count(lines, "line"))
		}
		return nil
	}
}

// diffRun prints what a run changed as a patch, and names the documents that it wrote.
func diffRun(c call) error {
	if len(c.args) == 2 {
		return c.app.runReplacement(c.ctx, "tercet diff RUN RUN", "verify", c.args)
	}
	if err := c.newestRun(); err != nil {
		return err
	}

	changed, err := c.p.RunChanges(c.ctx, c.args[0])
	if err != nil || c.app.answerJSON("tercet.changes/1", fields{"changes": changed}) {
		return err
	}

	switch {
	case changed.Patch == "":
	case c.app.term.OutTTY:
		c.app.term.Answer("%s", plain.Passage(strings.TrimSuffix(changed.Patch, "\n")))
	default: // as git apply reads it
		c.app.term.Raw([]byte(changed.Patch))
	}
	for _, name := range changed.Documents {
		c.app.term.Note("document %s", name)
	}

	switch {
	case changed.Branch != "":
		c.app.term.Note("not published: its work is on branch %s", changed.Branch)
	case changed.Patch == "" && len(changed.Documents) == 0:
		c.app.term.Note("run %s changed no file; 'tercet show %s' says what it did",
			changed.Run.ID, changed.Run.ID)
	}
	return nil
}

// newestRun sets the newest run for a verb that was called without one, and says which it is.
func (c *call) newestRun() error {
	if len(c.args) > 0 {
		return nil
	}

	p := c.p
	if p == nil {
		var err error
		p, err = c.app.workspace(c.ctx)
		if err != nil {
			return err
		}
	}

	list, err := p.Runs(project.Filter{Most: 1})
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return formats.Fail(formats.CodeNotFound, "a slash command begins one",
			"there is no run yet")
	}

	c.args = []string{list[0].ID}
	c.app.term.Note("the newest run, %s: %s", list[0].ID, list[0].Line)
	return nil
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

	all := fields{"runs": ids, "identical": d == nil, "difference": d}
	if !c.app.answerJSON("tercet.diff/1", all) {
		if d == nil {
			c.app.term.Answer("%s and %s: no decision, prompt or return differs", ids[0], ids[1])
		} else {
			c.app.term.Answer("%s", plain.Line(d.String()))
		}
	}

	if d != nil {
		return shownError{1}
	}
	return nil
}

// printLog prints the log of a run, or of a step of it, and follows it until the run has ended:
// what happened and what the agents said, or with raw every entry and every line of output.
func (c call) printLog(step string, follow, raw bool) error {
	r, err := c.p.Find(c.args[0])
	if err != nil {
		return err
	}

	if c.app.term.Draws() && follow && step == "" && !raw && !c.app.flags.json {
		return c.app.term.Follow(c.ctx, c.p, r.ID)
	}

	log := c.p.Log(r.ID, step)
	all := []project.LogLine{}
	found := false
	for {
		var over bool
		if raw || c.app.flags.json {
			var events []project.LogLine
			events, over, err = log.Lines()
			for _, e := range events {
				if !c.app.flags.json {
					c.app.term.Answer("%s", plain.Line(e.String()))
				}
			}
			all = append(all, events...)
			found = found || len(events) > 0
		} else {
			var list []project.Passage
			list, over, err = log.Passages()
			c.app.term.Passages(list)
			found = found || len(list) > 0
		}
		if err != nil {
			return err
		}
		if over || !follow {
			break
		}
		if err := (clock{}).Sleep(c.ctx, pollEvery); err != nil {
			return context.Cause(c.ctx)
		}
	}

	if !found && step != "" {
		return log.CheckStep()
	}

	c.app.answerJSON("tercet.logs/1", fields{"run": r.ID, "events": all})
	return nil
}

// pollEvery is how often a run of another process is looked at.
const pollEvery = 200 * time.Millisecond

// runsInput are all runs as one document.
func (c call) runsInput() ([]query.Input, error) {
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
