package main

import (
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/subagents/sandbox"
)

// sandboxVerb tells and uses what keeps a program within bounds here.
func (a *app) sandboxVerb() *cobra.Command {
	return group(
		&cobra.Command{Use: "sandbox", Short: "what a command may do, and what keeps it within bounds here"},
		a.classifyVerb(), a.probeVerb(), a.boxedVerb(),
	)
}

func (a *app) classifyVerb() *cobra.Command {
	return &cobra.Command{
		Use: "classify -- COMMAND", Short: "tell the risks of a shell command; nothing is run", Args: words(1, -1),
		Long: `classify tells what a shell command may do: one word behind -- is a text for a shell, several are
a program and its arguments. Nothing is run and no file is looked at. The tier is required,
recommended or optional: how much a sandbox is needed.`,
		RunE: func(_ *cobra.Command, args []string) error {
			place, err := a.place()
			if err != nil {
				return err
			}
			text := args[0]
			if len(args) > 1 {
				if text, err = sandbox.Quote(args); err != nil {
					return err
				}
			}
			report, err := sandbox.Classify(text, place)
			if err != nil {
				return err
			}
			a.classified(text, report)
			return nil
		},
	}
}

// place is where a command that a person types here would run.
func (a *app) place() (sandbox.Place, error) {
	root, err := a.findRoot()
	if err != nil {
		return sandbox.Place{}, err
	}
	dir, err := a.startDir()
	if err != nil {
		return sandbox.Place{}, err
	}
	if root == "" {
		root = dir
	}
	return sandbox.Place{Root: root, Dir: dir, Home: a.env("HOME")}, nil
}

// classified prints a report.
func (a *app) classified(text string, r sandbox.Report) {
	if a.flags.json {
		a.term.json(struct {
			Schema  string `json:"schema"`
			Command string `json:"command"`
			sandbox.Report
		}{"tercet.sandbox-classify/1", text, r})
		return
	}
	tab := formats.Table{Columns: []string{"tier", "category", "place", "what"}}
	for _, f := range r.Findings {
		what := f.Command + ": " + f.Reason
		if f.Target != "" {
			what += " (" + strings.ReplaceAll(f.Target, "\n", " ") + ")"
		}
		tab.Rows = append(
			tab.Rows, []string{f.Level.String(), f.Category.String(), sprintf("%d:%d", f.Pos.Line, f.Pos.Col), what},
		)
	}
	for _, u := range r.Unknown {
		tab.Rows = append(
			tab.Rows, []string{sandbox.Recommended.String(), "unknown", sprintf("%d:%d", u.Pos.Line, u.Pos.Col), u.Reason},
		)
	}
	a.term.answer("sandbox %s", r.Level)
	if len(tab.Rows) > 0 {
		a.term.table(tab)
	}
}
