package main

import (
	"io"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/project"
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

		risks, err := project.ClassifyCommand(c.args, place)
		if err != nil {
			return err
		}
		if c.app.flags.json {
			c.app.term.JSON(struct {
				Schema string `json:"schema"`
				project.CommandRisks
			}{"tercet.sandbox-classify/1", risks})
			return nil
		}

		c.app.term.Answer("sandbox %s", risks.Level)
		if tab := risks.Table(); len(tab.Rows) > 0 {
			c.app.term.Table(tab)
		}
		return nil
	}
}

// place is where a command that the user types here would run.
func (a *app) place() (project.Place, error) {
	root, _, err := a.projectDir()
	if err != nil {
		return project.Place{}, err
	}
	dir, err := a.startDir()
	return project.Place{
		Root: root,
		Dir:  dir,
		Home: a.env("HOME"),
	}, err
}

// sandboxProbe tries what keeps programs within bounds here.
func sandboxProbe(c call) error {
	state, err := c.p.ProbeSandbox(c.ctx)
	if err != nil {
		return err
	}
	if c.app.answerJSON("tercet.sandbox-probe/1", fields{
		"order":  state.Order,
		"best":   state.Best,
		"probes": state.Probes,
	}) {
		return nil
	}

	tab := formats.Table{Columns: []string{"tier", "means", "works", "detail"}}
	for _, p := range state.Probes {
		works := "no"
		if p.OK {
			works = "yes"
		}
		tab.Rows = append(tab.Rows, []string{p.Tier.String(), p.Means.String(), works, p.Why})
	}

	c.app.term.Table(tab)
	c.app.term.Note("programs are started in %s", state.Best)
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
	return func(c call) error { return c.runBoxed(*net) }
}

// runBoxed runs a program within bounds and prints what it prints.
func (c call) runBoxed(net bool) error {
	place, err := c.app.place()
	if err != nil {
		return err
	}

	exit, err := c.p.RunSandboxed(c.ctx, place, c.args, net,
		func(tier string) (out, errs io.Writer) {
			c.app.term.Note("sandbox: %s", tier)
			return c.app.term.Screens()
		})
	if err != nil {
		return err
	}
	if exit != 0 {
		return shownError{exit}
	}
	return nil
}
