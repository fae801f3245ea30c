package main

import (
	"errors"
	"io/fs"
	"runtime"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/plain"
	"tercet/project"
	"tercet/subagents/past"
)

var pastVerbs = []verb{
	{
		use:   "undo RUN",
		short: "take back what a run changed: commits, tasks, documents",
		args:  one,
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

// over is a project for one who does something with runs that are over.
func (c *call) over() (past.Project, error) {
	s, err := c.app.inside(c.ctx)
	if err != nil {
		return past.Project{}, err
	}
	c.s = s
	c.p = s.Project
	return c.p.Past(), nil
}

func undoVerb(cmd *cobra.Command, _ *app) run {
	dry := cmd.Flags().Bool("dry-run", false, "show what would be taken back; write nothing")
	return func(c call) error {
		p, err := c.over()
		if err != nil {
			return err
		}

		r, records, err := c.p.Control.TakeAny(c.ctx, c.args[0])
		if err == nil {
			err = c.s.MayStart(c.ctx, formats.Invocation{})
		}
		if err != nil {
			return err
		}

		u, err := p.Plan(c.ctx, r, records)
		if err != nil {
			return err
		}
		if !*dry && !u.Empty() {
			if err := c.s.Confirm(
				c.ctx,
				u.Lines(),
				sprintf("Take back run %s (%s)?", r.ID, r.Line),
			); err != nil {
				return err
			}
			if u.Reverts, err = u.Do(c.ctx); err != nil {
				return err
			}
		}
		if c.app.document("tercet.undo/1", fields{"undo": u, "dry_run": *dry, "nothing": u.Empty()}) {
			return nil
		}

		for _, line := range u.Lines() {
			c.app.term.Answer("%s", plain.Line(line))
		}
		switch {
		case u.Empty():
			c.app.term.Note("run %s changed nothing that could be taken back", r.ID)
		case *dry:
			c.app.term.Note("nothing was written")
		default:
			c.app.term.Note("run %s is taken back", r.ID)
		}

		return nil
	}
}

func gcVerb(cmd *cobra.Command, _ *app) run {
	dry := cmd.Flags().Bool("dry-run", false, "show what would be removed; remove nothing")
	return func(c call) error {
		p, err := c.over()
		if err != nil {
			return err
		}
		found, err := p.Old(c.ctx, c.p.Retention())
		if err == nil && !*dry {
			err = found.Do(c.ctx, c.p.Control.Lock)
		}
		if err != nil || c.app.document("tercet.gc/1", fields{"gc": found, "dry_run": *dry}) {
			return err
		}
		for _, line := range found.Lines() {
			c.app.term.Answer("%s", plain.Line(line))
		}
		switch {
		case found.Empty():
			c.app.term.Note("nothing to remove")
		case *dry:
			c.app.term.Note("nothing was removed")
		}
		return nil
	}
}

// bundleRun writes one file about a run for the report of a defect, without secrets.
func (c call) bundleRun() error {
	if err := c.app.mayCommand(); err != nil {
		return err
	}
	r, err := c.p.Control.Named(c.args[0])
	if err != nil {
		return err
	}

	config, err := atomicfile.ReadFile(c.p.Root, project.ConfigFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return broken(formats.CodeIO, project.ConfigFile, err)
	}
	to, err := past.Project{Root: c.p.Root}.Report(r.ID, past.Bundle{
		About: map[string]string{
			"tercet": version,
			"go":     runtime.Version(),
			"os":     runtime.GOOS,
			"arch":   runtime.GOARCH,
			"runner": c.p.Config.Runner,
			"line":   r.Line,
			"status": r.Status,
		},
		Config: string(config),
		Mask:   c.p.Mask,
		Hide: map[string]string{
			c.p.Dir:                        "PROJECT",
			c.app.env("HOME"):              "HOME",
			`"user": "` + userName() + `"`: `"user": "USER"`,
		},
	})
	if err != nil || c.app.document("tercet.report-file/1", fields{"file": to}) {
		return err
	}

	c.app.term.Answer("%s", to)
	c.app.term.Note("read it before you send it: it holds the texts of the run's tasks and answers")
	return nil
}
