package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/frontends/watch"
	"tercet/internal/style"
	"tercet/project"
)

// watchVerb shows the runs on the whole screen; where there is none it follows the log of the only
// run at work.
func watchVerb(cmd *cobra.Command, _ *app) run {
	cmd.Long = `watch lists the runs on the left. Beside them it shows one run: its steps, its log, the diff of its
worktree, and its question. You can answer, pause, resume and cancel there; ? explains the keys. A run
that you resume is suspended when you leave, as soon as what it began is done.

Without a full terminal it follows the log of the one run at work, as 'tercet show --log -f' does.`
	return func(c call) error {
		if !c.app.term.InTTY || !c.app.term.OutTTY || !style.Capable(c.app.env("TERM")) ||
			c.app.term.Set.Silent {
			return followOnly(c)
		}
		notes := &watch.Notes{Past: func(line string) { c.app.term.Note("%s", line) }}
		host := c.app.host()
		host.Frontend = project.Unattended{Tell: notes.Tell}
		p, err := project.Open(c.ctx, c.p.Dir, true, host)
		if err != nil {
			return err
		}
		screen, err := c.app.term.FullScreen(watch.Leave)
		if err != nil {
			return errors.Join(broken(formats.CodeIO, "the terminal", err), p.Close())
		}
		err = watch.Run(c.ctx, watch.Config{
			In:       screen.In,
			Out:      screen.Out,
			Env:      os.Environ(),
			Name:     filepath.Base(p.Dir),
			Project:  p,
			Notes:    notes,
			Now:      clock{}.Now,
			Sheet:    c.app.term.Sheet(true),
			Language: p.Config.Language,
			Suspend:  screen.Suspend,
			Left:     screen.Done,
		})
		return errors.Join(err, p.Close())
	}
}

// followOnly follows the log of the only run that is at work.
func followOnly(c call) error {
	list, err := c.p.Runs(project.Filter{Unfinished: true})
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(r project.RunInfo) bool {
		return !c.p.AtWork(r.ID)
	})
	if len(list) != 1 {
		return formats.Fail(
			formats.CodeUsage,
			"run 'tercet show --log -f RUN'; 'tercet runs' lists the runs",
			"expected a full terminal, or just one run at work",
		)
	}
	c.args = []string{list[0].ID}
	return c.logs("", true)
}
