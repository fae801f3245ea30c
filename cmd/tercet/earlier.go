package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
)

// aliasVerbs are verbs whose work another verb does now. Scripts and guides of others still call
// them, so they run the new form and name it. Help, completion and the reference leave them out.
var aliasVerbs = []verb{
	{use: "route LINE", replacedBy: "which --route"},
	{use: "exit-codes", replacedBy: "help exit-codes"},
	{use: "graph FILE|LINE", replacedBy: "explain --graph"},
	{use: "fmt PATH...", replacedBy: "lint --fix=form"},
	{use: "format", replacedBy: "check", verbs: []verb{{use: "check FILE", replacedBy: "check"}}},
	{use: "sync", replacedBy: "task sync"},
	{use: "logs RUN", replacedBy: "show --log"},
	{use: "report RUN", replacedBy: "show --bundle"},
}

// aliasVerb makes the command of a verb that another one replaces. It hands its words on unread:
// the other verb has the same flags.
func (a *app) aliasVerb(v verb) *cobra.Command {
	cmd := &cobra.Command{
		Use:    v.use,
		Short:  "the same as: tercet " + v.replacedBy,
		Hidden: true,
	}
	if v.verbs != nil {
		a.addGroup(cmd, v.verbs)
		return cmd
	}
	cmd.DisableFlagParsing = true
	cmd.ValidArgsFunction = (&offers{app: a}).completeVerb(v.use)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.runReplacement(cmd.Context(), cmd.CommandPath(), v.replacedBy, args)
	}
	return cmd
}

// runReplacement runs the verb that replaces an earlier one, and says which it is.
func (a *app) runReplacement(ctx context.Context, was, now string, args []string) error {
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
