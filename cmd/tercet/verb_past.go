package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"tercet/internal/plain"
)

var pastVerbs = []verb{
	{
		use:   "undo [RUN]",
		short: "take back what a run changed: commits, tasks, documents",
		args:  words(0, 1),
		needs: userOnly,
		make:  undoVerb,
	},
	{
		use:   "gc",
		short: "remove old runs, and worktrees and branches that they left",
		args:  none,
		needs: userOnly,
		make:  gcVerb,
	},
}

func undoVerb(cmd *cobra.Command, _ *app) run {
	dry := cmd.Flags().Bool("dry-run", false, "show what would be taken back; write nothing")
	return func(c call) error {
		if err := c.newestRun(); err != nil {
			return err
		}
		s, err := c.app.workspaceSession(c.ctx)
		if err != nil {
			return err
		}
		u, err := s.Undo(c.ctx, c.args[0], *dry)
		if err != nil || c.app.answerJSON("tercet.undo/1", fields{
			"undo":    u,
			"dry_run": *dry,
			"nothing": u.IsEmpty(),
		}) {
			return err
		}

		for _, line := range u.Lines() {
			c.app.term.Answer("%s", plain.Line(line))
		}

		switch {
		case u.IsEmpty():
			c.app.term.Note("run %s changed nothing that could be taken back", u.Run)
		case *dry:
			c.app.term.Note("nothing was written")
		default:
			c.app.term.Note("run %s is taken back", u.Run)
		}
		return nil
	}
}

func gcVerb(cmd *cobra.Command, _ *app) run {
	dry := cmd.Flags().Bool("dry-run", false, "show what would be removed; remove nothing")
	return func(c call) error {
		s, err := c.app.workspaceSession(c.ctx)
		if err != nil {
			return err
		}
		found, err := s.Project.Clean(c.ctx, *dry)
		if err != nil || c.app.answerJSON("tercet.gc/1", fields{"gc": found, "dry_run": *dry}) {
			return err
		}

		for _, line := range found.Lines() {
			c.app.term.Answer("%s", plain.Line(line))
		}

		switch {
		case found.IsEmpty():
			c.app.term.Note("nothing to remove")
		case *dry:
			c.app.term.Note("nothing was removed")
		}
		return nil
	}
}

// bundleRun writes one file about a run for the report of a defect, without secrets.
func (c call) bundleRun() error {
	to, err := c.p.Bundle(
		c.args[0],
		map[string]string{
			"tercet": version,
			"go":     runtime.Version(),
			"os":     runtime.GOOS,
			"arch":   runtime.GOARCH,
		},
		map[string]string{
			c.app.env("HOME"):              "HOME",
			`"user": "` + userName() + `"`: `"user": "USER"`,
		},
	)
	if err != nil || c.app.answerJSON("tercet.report-file/1", fields{"file": to}) {
		return err
	}

	c.app.term.Answer("%s", to)
	c.app.term.Note("read it before you send it: it holds the texts of the run's tasks and answers")
	return nil
}
