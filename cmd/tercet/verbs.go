package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// verb is a verb of the program. It is made where it is asked for: the flags of all of them take as long as routing a line.
type verb struct {
	name string
	make func() *cobra.Command
}

func (a *app) verbs() []verb {
	return []verb{
		{"run", a.runVerb},
		{"demo", a.demoVerb},
		{"init", a.initVerb},
		{"route", a.routeVerb},
		{"query", a.queryVerb},
		{"task", a.taskVerb},
		{"state", a.stateVerb},
		{"sync", a.syncVerb},
		{"lint", a.lintVerb},
		{"explain", a.explainVerb},
		{"graph", a.graphVerb},
		{"fmt", a.fmtVerb},
		{"schema", a.schemaVerb},
		{"format", a.formatVerb},
		{"result", a.resultVerb},
		{"exit-codes", a.exitCodesVerb},
		{"version", a.versionVerb},
		{"which", a.whichVerb},
		{"sandbox", a.sandboxVerb},
		{"prompt", a.promptVerb},
		{"doctor", a.doctorVerb},
		{"trust", a.trustVerb},
		{boundedVerb, a.boundedQueryVerb},
	}
}

// addVerbs gives the root the one verb that the line begins with, none if it is a slash command, and all of them for
// everything else: help, completion, suggestions, and a line that begins with a flag.
func (a *app) addVerbs(root *cobra.Command, line []string) {
	verbs := a.verbs()
	if len(line) > 0 {
		i := slices.IndexFunc(verbs, func(v verb) bool { return v.name == line[0] })
		switch {
		case i >= 0:
			verbs = verbs[i : i+1]
			root.CompletionOptions.DisableDefaultCmd = true
		case strings.HasPrefix(line[0], "/"):
			verbs = nil
			root.CompletionOptions.DisableDefaultCmd = true
		}
	}
	for _, v := range verbs {
		root.AddCommand(v.make())
	}
}
