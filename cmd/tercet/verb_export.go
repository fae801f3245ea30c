package main

import (
	"crypto/rand"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/project"
	"tercet/templates/shims"
)

// agentVerbs are about single subagents, and about agent CLIs that call tercet.
var agentVerbs = []verb{
	{
		use:   "agent [NAME [TEXT]]",
		short: "run one subagent alone, as /agent does, or list them",
		make:  agentVerb,
	},
	{
		use:   "export",
		short: "write the commands as files of an agent CLI",
		args:  none,
		needs: userOnly,
		make:  exportVerb,
	},
}

// exportVerb writes a file for each command into the folder of an agent CLI, or removes them.
func exportVerb(cmd *cobra.Command, _ *app) run {
	f := cmd.Flags()
	of := f.String("for", "", "the `tool`: "+strings.Join(shims.Tools(), ", "))
	remove := f.Bool("remove", false, "remove what was written for it")
	dry := f.Bool("dry-run", false, "list the files; write nothing")
	cmd.Long = `export writes one file for each command into the folder where an agent CLI keeps its own commands.
When you type /plan there, the agent calls tercet. It also writes a skill that teaches an agent to
write commands. A file that tercet did not write, or that you changed since, stays as it is; export
names it and ends with 3. tercet does not read these files as commands.`
	return func(c call) (err error) {
		if *of == "" {
			return usage("expected --for with one of %s", strings.Join(shims.Tools(), ", "))
		}
		if c.s, err = c.app.inside(c.ctx); err != nil {
			return err
		}
		c.p = c.s.Project

		var list []formats.CommandInfo
		if !*remove {
			list = exportable(c)
		}
		w := shims.Writer{Root: c.p.Root, Word: rand.Text}
		changes, err := w.Plan(*of, list)
		if err == nil && !*dry {
			err = w.Apply(changes)
		}
		if err != nil {
			return err
		}
		if !c.app.document("tercet.export/1", fields{"for": *of, "dry_run": *dry, "files": changes}) {
			for _, one := range changes {
				did := one.Did
				if *dry && (did == shims.Written || did == shims.Removed) {
					did = "would be " + did
				}
				c.app.term.Answer("%-9s %s%s", did, one.File, formats.Prefixed(": ", one.Why))
			}
			if *dry {
				c.app.term.Note("nothing was written: --dry-run")
			}
		}
		if slices.ContainsFunc(changes, func(one shims.Change) bool {
			return one.Did == shims.Kept
		}) {
			return shown{formats.ExitCode(formats.Return{Status: formats.StatusPartial})}
		}
		return nil
	}
}

// exportable are the commands of tercet's own that can be called, without /help: an agent has these
// files instead.
func exportable(c call) []formats.CommandInfo {
	return slices.DeleteFunc(c.s.Catalog.List(), func(one formats.CommandInfo) bool {
		_, foreign := c.s.Library.Foreign[one.Source]
		_, _, err := c.s.Library.Load(one.Source, one.File)
		if err != nil {
			c.app.term.Note("warning: /%s is left out: run 'tercet lint %s/%s'",
				one.Name, one.Source, one.File)
		}
		return foreign || err != nil || one.Source == project.LibrarySource && one.Name == "help"
	})
}
