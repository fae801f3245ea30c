package main

import (
	"errors"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/subagents/sandbox"
)

// probeVerb tries what keeps programs within bounds here.
func (a *app) probeVerb() *cobra.Command {
	return &cobra.Command{
		Use: "probe", Short: "try which isolation works here, by running it", Args: words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := a.world(cmd.Context())
			if err != nil {
				return err
			}
			w.keeper.All = true
			probes, err := w.keeper.Probes(cmd.Context())
			if err != nil {
				return err
			}
			best := sandbox.Blocked
			if p, err := sandbox.Choose(sandbox.Blocked, nil, w.keeper.Order, probes); err == nil {
				best = p.Tier
			}
			if a.flags.json {
				a.term.json(map[string]any{
					"schema": "tercet.sandbox-probe/1", "order": w.keeper.Order, "best": best, "probes": probes,
				})
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
			a.term.table(tab)
			a.term.note("programs are started in %s", best)
			return nil
		},
	}
}

// boxedVerb runs a program within bounds.
func (a *app) boxedVerb() *cobra.Command {
	var net bool
	cmd := &cobra.Command{
		Use: "run -- COMMAND", Short: "run a program within bounds: it may write in this project and nowhere else",
		Args: words(1, -1),
		Long: `run starts a program in the strongest tier that works here. It may write in the project, the
caches of builds and a temporary folder of its own. Without --net it has no network as far as the
tier can: none in a container, no TCP under landlock. In a container it sees no keys of the
person. The tier is told on standard error; a command that needs a better one is not run.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.mayCommand(); err != nil {
				return err
			}
			return a.boxed(cmd, args, net)
		},
	}
	cmd.Flags().BoolVar(&net, "net", false, "allow the network")
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func (a *app) boxed(cmd *cobra.Command, args []string, net bool) error {
	w, err := a.world(cmd.Context())
	if err != nil {
		return err
	}
	place, err := a.place()
	if err != nil {
		return err
	}
	c, tier, err := w.keeper.Run(cmd.Context(), place, proc.Command{
		Argv: args, Dir: place.Dir, Private: true, Purpose: proc.PurposeScript,
	}, net)
	if errors.As(err, new(*proc.NotFoundError)) {
		return &formats.Failure{
			Code: formats.CodeToolUnavailable, Message: "sandbox run", Err: err, Help: "install it, or give its path",
		}
	}
	if err != nil {
		return err
	}
	a.term.note("sandbox: %s", tier)
	res, err := w.starter.Run(cmd.Context(), c)
	a.term.raw(res.Stdout)
	a.term.rawErr(res.Stderr)
	switch {
	case err != nil:
		return err
	case res.TimedOut != proc.TimeoutNone:
		return &formats.Failure{
			Code: formats.CodeTimeout, Message: sprintf("%s did not end within %s", args[0], proc.DefaultTotal),
			Help: "run it in smaller parts",
		}
	case res.Flooded:
		return &formats.Failure{
			Code:    formats.CodeLimit,
			Message: sprintf("%s printed more than %d MiB and was stopped", args[0], proc.DefaultLimit>>20),
			Help:    "send its output to a file",
		}
	case res.Signal != "":
		return &formats.Failure{
			Code: formats.CodeUnknown, Message: sprintf("%s was ended by %s", args[0], res.Signal),
			Help: "run it without a sandbox to compare",
		}
	case res.Exit != 0:
		return shown{res.Exit}
	}
	return nil
}
