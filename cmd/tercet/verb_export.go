package main

import (
	"crypto/rand"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/dialect"
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
		if c.world, err = c.inside(c.ctx); err != nil {
			return err
		}

		var list []formats.CommandInfo
		if !*remove {
			list = exportable(c)
		}
		w := shims.Writer{Root: c.root, Word: rand.Text}
		changes, err := w.Plan(*of, list)
		if err == nil && !*dry {
			err = w.Apply(changes)
		}
		if err != nil {
			return err
		}
		if !c.document("tercet.export/1", fields{"for": *of, "dry_run": *dry, "files": changes}) {
			for _, one := range changes {
				did := one.Did
				if *dry && (did == shims.Written || did == shims.Removed) {
					did = "would be " + did
				}
				c.term.answer("%-9s %s%s", did, one.File, prefixed(": ", one.Why))
			}
			if *dry {
				c.term.note("nothing was written: --dry-run")
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
	return slices.DeleteFunc(c.catalog.List(), func(one formats.CommandInfo) bool {
		_, foreign := c.library.Foreign[one.Source]
		_, _, err := c.library.Load(one.Source, one.File)
		if err != nil {
			c.term.note("warning: /%s is left out: run 'tercet lint %s/%s'",
				one.Name, one.Source, one.File)
		}
		return foreign || err != nil || one.Source == librarySource && one.Name == "help"
	})
}

// skip keeps in mind a file that tercet export wrote, for 'tercet which'.
func (l *listing) skip(p dialect.Place, inside string) {
	name, ok := p.Name(inside)
	short, scoped := strings.CutPrefix(strings.Replace(name, "tercet:", "tercet-", 1), "tercet-")
	if scoped && name != shims.Skill {
		name = short // the tool has a command of that name itself
	}
	if ok && !slices.Contains(l.scanned.exported[name], p.Label+"/"+inside) {
		if l.scanned.exported == nil {
			l.scanned.exported = map[string][]string{}
		}
		l.scanned.exported[name] = append(l.scanned.exported[name], p.Label+"/"+inside)
	}
}
