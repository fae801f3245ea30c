package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/internal/shell"
	"tercet/subagents/sandbox"
)

// sandboxVerbs tell and use what keeps a program within bounds here.
var sandboxVerbs = []verb{
	{
		use:   "classify -- COMMAND",
		short: "name the risks of a shell command, without running it",
		args:  some,
		make:  sandboxClassify,
	},
	{
		use:   "probe",
		short: "try which isolation works here",
		args:  none,
		needs: aSession,
		do:    sandboxProbe,
	},
	{
		use:   "run -- COMMAND",
		short: "run a command in the strongest sandbox that works here",
		args:  some,
		needs: userOnly | aSession,
		make:  sandboxRun,
	},
}

// sandboxClassify prints the report on a command.
func sandboxClassify(cmd *cobra.Command, _ *app) run {
	cmd.Long = `classify names the risks of a shell command. One word after -- is a text for a shell; several words
are a program and its arguments. It runs nothing and reads no file. The answer says how much the
command needs a sandbox: required, recommended or optional.`
	return func(c call) error {
		place, err := c.app.place()
		if err != nil {
			return err
		}

		text := c.args[0]
		if len(c.args) > 1 {
			if text, err = shell.Quote(c.args); err != nil {
				return err
			}
		}
		report, err := shell.Classify(text, place)
		if err != nil {
			return err
		}
		if c.app.flags.json {
			c.app.term.JSON(struct {
				Schema  string `json:"schema"`
				Command string `json:"command"`
				shell.Report
			}{"tercet.sandbox-classify/1", text, report})
			return nil
		}

		tab := formats.Table{Columns: []string{"tier", "category", "place", "what"}}
		row := func(level shell.Level, category string, at formats.Pos, what string) {
			tab.Rows = append(tab.Rows, []string{
				level.String(),
				category,
				sprintf("%d:%d", at.Line, at.Col),
				what,
			})
		}
		for _, f := range report.Findings {
			what := f.Command + ": " + f.Reason
			if f.Target != "" {
				what += " (" + strings.ReplaceAll(f.Target, "\n", " ") + ")"
			}
			row(f.Level, f.Category.String(), f.Pos, what)
		}

		for _, u := range report.Unknown {
			row(shell.Recommended, "unknown", u.Pos, u.Reason)
		}
		c.app.term.Answer("sandbox %s", report.Level)
		if len(tab.Rows) > 0 {
			c.app.term.Table(tab)
		}
		return nil
	}
}

// place is where a command that the user types here would run.
func (a *app) place() (shell.Place, error) {
	root, _, err := a.projectDir()
	if err != nil {
		return shell.Place{}, err
	}
	dir, err := a.startDir()
	return shell.Place{
		Root: root,
		Dir:  dir,
		Home: a.env("HOME"),
	}, err
}

// sandboxProbe tries what keeps programs within bounds here.
func sandboxProbe(c call) error {
	keeper := c.p.Keeper
	keeper.All = true
	probes, err := keeper.Probes(c.ctx)
	if err != nil {
		return err
	}

	best := sandbox.Blocked
	if p, err := sandbox.Choose(sandbox.Blocked, nil, keeper.Order, probes); err == nil {
		best = p.Tier
	}
	if c.app.document("tercet.sandbox-probe/1", fields{
		"order":  keeper.Order,
		"best":   best,
		"probes": probes,
	}) {
		return nil
	}

	tab := formats.Table{Columns: []string{"tier", "means", "works", "detail"}}
	for _, p := range probes {
		works := "no"
		if p.OK {
			works = "yes"
		}
		tab.Rows = append(tab.Rows, []string{p.Tier.String(), p.Means.String(), works, p.Why})
	}

	c.app.term.Table(tab)
	c.app.term.Note("programs are started in %s", best)
	return nil
}

// sandboxRun runs a program within bounds.
func sandboxRun(cmd *cobra.Command, _ *app) run {
	cmd.Long = `run starts a command in the strongest tier that works here, and names the tier on standard error.
The command can write in the project, in build caches and in a temporary folder of its own. Without
--net a container has no network and landlock refuses TCP. In a container the command does not see
your keys. tercet does not run a command that needs a stronger tier than this machine has.`
	net := cmd.Flags().Bool("net", false, "allow the network")
	cmd.Flags().SetInterspersed(false)
	return func(c call) error { return c.boxed(*net) }
}

// boxed runs a program within bounds and prints what it prints.
func (c call) boxed(net bool) error {
	place, err := c.app.place()
	if err != nil {
		return err
	}

	boxed, tier, err := c.p.Keeper.Run(c.ctx, place, proc.Command{
		Argv:    c.args,
		Dir:     place.Dir,
		Private: true,
		Purpose: proc.PurposeScript,
	}, net)
	if errors.As(err, new(*proc.NotFoundError)) {
		return broken(
			formats.CodeToolUnavailable,
			"sandbox run",
			err,
			"install it, or give its path",
		)
	}
	if err != nil {
		return err
	}

	c.app.term.Note("sandbox: %s", tier)
	res, err := c.p.Starter.Run(c.ctx, boxed)
	out, errs := c.app.term.Screens()
	out.Write(res.Stdout)  //nolint:errcheck // as in raw
	errs.Write(res.Stderr) //nolint:errcheck // as in raw
	program := c.args[0]
	switch {
	case err != nil:
		return err
	case res.TimedOut != proc.TimeoutNone:
		return formats.Fail(formats.CodeTimeout, "run it in smaller parts",
			"%s did not end within %s", program, proc.DefaultTotal)
	case res.Flooded:
		return formats.Fail(formats.CodeLimit, "send its output to a file",
			"%s printed more than %d MiB and was stopped", program, proc.DefaultLimit>>20)
	case res.Signal != "":
		return formats.Fail(formats.CodeUnknown, "run it without a sandbox to compare",
			"%s was ended by %s", program, res.Signal)
	case res.Exit != 0:
		return shown{res.Exit}
	}

	return nil
}
