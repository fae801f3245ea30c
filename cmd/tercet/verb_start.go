package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/project"
)

// startVerb begins a run in a process of its own.
func startVerb(cmd *cobra.Command, a *app) run {
	f := cmd.Flags()
	f.SetInterspersed(false)
	a.flags.addBegin(cmd)
	a.flags.addBounds(cmd)
	a.flags.addTrust(cmd)
	a.flags.addStrict(cmd)
	f.BoolVar(
		&a.flags.await,
		"await-answers",
		false,
		"wait at a question until it is answered, instead of ending",
	)
	cmd.Long = `Begins one slash command in the background and prints the name of its run, once the run is written
down. The run goes on in a process of its own, without a terminal, and outlives the shell. It asks
nothing here: at a question it waits as a run without a terminal does, and its process ends.

  run=$(tercet start /plan 196)
  tercet wait "$run"

What is wrong with the line is said before the name, with the exit code of 'tercet run'. A line that
ends without a run prints what 'tercet run' prints. What a run would have told on a terminal beside
its result is in .tercet/runs/RUN/notes.log.`
	return func(c call) error {
		line, err := c.line()
		if err != nil {
			return err
		}
		return c.app.dispatchLine(c.ctx, line, c.app.startDetached)
	}
}

// startDetached begins a line in a process of its own.
func (a *app) startDetached(
	ctx context.Context, s *project.Session, line project.Line, route project.Route,
) error {
	d, err := s.Project.StartDetached(ctx, line, a.options())
	if err != nil {
		return err
	}
	if d.Return != nil {
		return a.reportReturn(*d.Return)
	}
	if !a.answerJSON("tercet.start/1", fields{"run": d.Run, "command": "/" + route.Name}) {
		a.term.Answer("%s", d.Run)
		a.term.Note("'tercet wait %s' waits for it, 'tercet watch' shows it", d.Run)
	}
	return nil
}

// waitVerb waits for a run of another process.
func waitVerb(cmd *cobra.Command, _ *app) run {
	timeout := cmd.Flags().Duration("timeout", 0,
		"give up waiting after this `duration`; the run goes on, and the exit code is 79")
	cmd.Long = `Waits as long as a process works on the run, prints what it came to as 'tercet run' does, and ends
with the exit code of the run. A run that waits for an answer, or for a time, has no process: wait says
what it waits for, and ends with 75. If a process waits at the question ('tercet start
--await-answers'), wait tells the question and waits on.`
	return func(c call) error {
		ctx := c.ctx
		limited := cmd.Flags().Changed("timeout")
		if *timeout < 0 {
			return usage("expected a positive --timeout, got %s", *timeout)
		}
		if limited {
			over := errors.New("the time is over")
			limit, cancel := context.WithTimeoutCause(ctx, *timeout, over)
			defer cancel()
			ctx = limit
		}

		ret, err := c.p.Wait(ctx, c.args[0], func(r project.RunInfo, g formats.Gate) {
			c.app.term.Note(
				"run %s waits for an answer to %q: tercet approve %[1]s", r.ID, g.Question,
			)
		})

		if err != nil && limited && c.ctx.Err() == nil && ctx.Err() != nil {
			return stillRunning(c.args[0], *timeout)
		}
		if err != nil {
			return err
		}
		return c.app.reportReturn(ret)
	}
}

// stillRunning is the failure of waiting for a run that goes on.
func stillRunning(run string, after time.Duration) error {
	return formats.Fail(
		formats.CodeStillRunning,
		"the run goes on: 'tercet wait "+run+"' waits again",
		"run %s has not ended after %s",
		run,
		after,
	)
}
