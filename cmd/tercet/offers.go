package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/internal/plain"
	"tercet/project"
)

// offers completes lines at the prompt and for shells.
type offers struct {
	app       *app
	completer *project.Completer
}

func newOffers(a *app) *offers {
	o := &offers{app: a, completer: &project.Completer{}}
	return o
}

// at is what may stand at a byte of a line of the prompt.
func (o *offers) at(ctx context.Context, line string, at int) project.Offers {
	return o.ready().At(ctx, line, at)
}

// ready is the completer with the verbs, reading from the session that is open.
func (o *offers) ready() *project.Completer {
	if o.completer.Verbs == nil {
		for _, v := range verbs() {
			if v.now == "" && v.name()[0] != '_' {
				o.completer.Verbs = append(
					o.completer.Verbs,
					project.OfferedItem{Value: v.name(), About: v.short},
				)
			}
		}
	}
	o.completer.Use(o.app.session)
	return o.completer
}

// completeLine completes the words of a shell: a slash command, its arguments and their values.
func (o *offers) completeLine(
	cmd *cobra.Command,
	args []string,
	typed string,
) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 && !strings.HasPrefix(typed, "/") {
		return nil, cobra.ShellCompDirectiveNoFileComp // the library offers the verbs
	}
	head := ""
	if len(args) > 0 {
		head = project.JoinWords(args) + " "
	}
	o.quietly(cmd.Context())
	items := o.ready().Words(cmd.Context(), head, typed)
	if len(items) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return forShell(items)
}

// forShell are items as a shell reads them.
func forShell(items []project.OfferedItem) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, i := range items {
		out = append(out, i.Value+"\t"+plain.Line(i.About))
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// kinds are the kinds of names behind the words of a verb's usage.
var kinds = map[string]string{
	"RUN":      "runs",
	"TASK":     "tasks",
	"TASKS":    "tasks",
	"SUBAGENT": "subagents",
	"NAME":     "commands",
	"STATUS":   "statuses",
}

// completeVerb completes what follows a verb, by the words of its usage.
func (o *offers) completeVerb(use string) cobra.CompletionFunc {
	words := strings.Fields(strings.NewReplacer("[", " ", "]", " ", "|", " ").Replace(use))[1:]
	return func(
		cmd *cobra.Command,
		args []string,
		typed string,
	) ([]string, cobra.ShellCompDirective) {
		if slices.Contains(words, "LINE") && (len(args) > 0 || strings.HasPrefix(typed, "/")) {
			return o.completeLine(cmd, args, typed)
		}
		if len(args) >= len(words) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		kind, ok := kinds[words[len(args)]]
		if !ok {
			return nil, cobra.ShellCompDirectiveDefault
		}
		o.quietly(cmd.Context())
		return forShell(o.ready().Names(cmd.Context(), kind, typed))
	}
}

// quietly opens the session without telling what is wrong with it: what runs a line tells that.
func (o *offers) quietly(ctx context.Context) {
	a := o.app
	before := a.term.Set
	tellsBroken := a.tellsBroken
	a.tellsBroken = true
	a.term.Set.Quiet = true
	a.term.HoldNotes(func() {
		_, _ = a.openSession(ctx) //nolint:errcheck // without one there is less to offer
	})
	a.tellsBroken = tellsBroken
	a.term.Set = before
}
