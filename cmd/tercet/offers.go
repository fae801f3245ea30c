package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/internal/plain"
	"tercet/project"
)

// offers completes lines at the prompt and for shells. It has the project for itself, and tells
// nothing: what runs a line tells what is wrong with the project.
type offers struct {
	app       *app
	completer project.Completer
	project   *project.Project // nil: none is open
}

// refresh reads the project as it is now. Where that fails there is less to offer.
func (o *offers) refresh(ctx context.Context) {
	o.close()
	if o.completer.Verbs == nil {
		o.completer.Verbs = offeredVerbs()
	}
	dir, has, err := o.app.projectDir()
	if err != nil {
		return
	}
	host := o.app.host()
	host.Frontend = project.Unattended{}
	p, err := project.Open(ctx, dir, has, host)
	if err != nil {
		return
	}
	o.project = p
	if s, err := p.Session(o.app.options()); err == nil {
		o.completer.Use(s)
	}
}

// close releases the project, so that a line finds it as this process leaves it.
func (o *offers) close() {
	o.completer.Use(nil)
	_ = o.project.Close() //nolint:errcheck // it was only read
	o.project = nil
}

// offeredVerbs are the verbs that a line may begin with.
func offeredVerbs() []project.OfferedItem {
	var out []project.OfferedItem
	for _, v := range verbs() {
		if v.now == "" && v.name()[0] != '_' {
			out = append(out, project.OfferedItem{Value: v.name(), About: v.short})
		}
	}
	return out
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
	o.refresh(cmd.Context())
	defer o.close()
	items := o.completer.Words(cmd.Context(), head, typed)
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
		o.refresh(cmd.Context())
		defer o.close()
		return forShell(o.completer.Names(cmd.Context(), kind, typed))
	}
}
