package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
)

// earlierVerbs are verbs whose work another verb does now. Scripts and guides of others still call
// them, so they run the new form and name it. Help, completion and the reference leave them out.
var earlierVerbs = []verb{
	{use: "route LINE", now: "which --route"},
	{use: "exit-codes", now: "help exit-codes"},
	{use: "graph FILE|LINE", now: "explain --graph"},
	{use: "fmt PATH...", now: "lint --fix=form"},
	{use: "format", now: "check", verbs: []verb{{use: "check FILE", now: "check"}}},
	{use: "sync", now: "task sync"},
	{use: "logs RUN", now: "show --log"},
	{use: "report RUN", now: "show --bundle"},
}

// earlierVerb makes the command of a verb that another one replaces. It hands its words on unread:
// the other verb has the same flags.
func (a *app) earlierVerb(v verb) *cobra.Command {
	cmd := &cobra.Command{
		Use:    v.use,
		Short:  "the same as: tercet " + v.now,
		Hidden: true,
	}
	if v.verbs != nil {
		a.group(cmd, v.verbs)
		return cmd
	}
	cmd.DisableFlagParsing = true
	cmd.ValidArgsFunction = (&offers{app: a}).completeVerb(v.use)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.instead(cmd.Context(), cmd.CommandPath(), v.now, args)
	}
	return cmd
}

// instead runs the verb that replaces an earlier one, and says which it is.
func (a *app) instead(ctx context.Context, was, now string, args []string) error {
	root := a.commandLine(append(strings.Fields(now), args...))
	configure := root.PersistentPreRunE
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if err := configure(cmd, args); err != nil {
			return err
		}
		a.term.Note("'%s' is now 'tercet %s'", was, now)
		return nil
	}
	return root.ExecuteContext(ctx)
}
