package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/frontends/watch"
	"tercet/internal/journal"
	"tercet/internal/proc"
	"tercet/internal/style"
)

// watchVerb shows the runs on the whole screen; where there is none it follows the log of the only
// run at work.
func watchVerb(cmd *cobra.Command, _ *app) run {
	cmd.Long = `watch lists the runs on the left. Beside them it shows one run: its steps, its log, the diff of its
worktree, and its question. You can answer, pause, resume and cancel there; ? explains the keys. A run
that you resume goes on in a process of its own, also after you leave.

Without a full terminal it follows the log of the one run at work, as 'tercet show --log -f' does.`
	return func(c call) error {
		if !c.app.term.inTTY || !c.app.term.outTTY || !style.Capable(c.app.env("TERM")) ||
			c.app.term.silent {
			return followOnly(c)
		}
		rest, done, err := c.app.term.stage.screen()
		if err != nil {
			return broken(formats.CodeIO, "the terminal", err)
		}
		defer done()
		return watch.Run(c.ctx, watch.Config{
			In:       c.app.io.in,
			Out:      c.app.term.stage.full,
			Env:      os.Environ(),
			Name:     filepath.Base(c.p.Dir),
			Control:  c.p.Control,
			Sheet:    c.app.term.sheet(true),
			Language: c.p.Config.Language,
			Suspend:  rest,
			Diff: func(ctx context.Context, run string) (string, error) {
				dir := filepath.Join(c.p.Dir, formats.Workspace, formats.WorktreeFolder, run)
				if !isDir(dir) {
					return "", nil
				}
				patch, stat, err := c.p.Changes(ctx, dir)
				return stat + "\n\n" + patch, err
			},
			Start: func(verb, run string, out *os.File) (<-chan int, error) {
				argv := []string{"tercet", "-C", c.p.Dir, verb, run}
				if verb == "resume" {
					argv = append(argv, "--await-answers")
				}
				return proc.Detach(proc.Command{
					Argv: argv,
					Dir:  c.p.Dir,
					Env:  os.Environ(),
				}, out)
			},
		})
	}
}

// followOnly follows the log of the only run that is at work.
func followOnly(c call) error {
	list, err := journal.Runs(c.p.Root, true)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(r journal.Run) bool {
		return !c.p.Control.Running(r.ID)
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
