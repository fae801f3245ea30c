package main

import (
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/project"
)

// agentVerbs are about single subagents, and about agent CLIs that call tercet.
var agentVerbs = []verb{
	{
		use:   "agent [NAME [TEXT]]",
		short: "run one subagent alone, as /agent does, or list them",
		make:  agentVerb,
	},
	{
		use:   "export [DIR]",
		short: "write the commands as files of an agent CLI",
		args:  words(0, 1),
		needs: userOnly,
		make:  exportVerb,
	},
	{
		use:   "mcp",
		short: "serve the commands and runs to an agent, by the Model Context Protocol",
		flags: workerFlags,
		args:  none,
		needs: userOnly,
		make:  mcpVerb,
	},
}

// exportVerb writes a file for each command into the folder of an agent CLI, or removes them.
func exportVerb(cmd *cobra.Command, _ *app) run {
	f := cmd.Flags()
	of := f.String("for", "", "the `tool`: "+strings.Join(project.Exports(), ", "))
	remove := f.Bool("remove", false, "remove what was written for it")
	dry := f.Bool("dry-run", false, "list the files; write nothing")
	cmd.Long = `export writes one file for each command into the folder where an agent CLI keeps its own commands.
When you type /plan there, the agent calls tercet. It also writes a skill that teaches an agent to
write commands. A file that tercet did not write, or that you changed since, stays as it is; export
names it and ends with 3. tercet does not read these files as commands.

With --for claude-plugin it writes a plugin for Claude Code into DIR: the commands, 'tercet mcp' as its MCP
server, and a skill that teaches an agent to run and follow a workflow. The plugin of tercet's own commands
comes with tercet; this one also has those of your project.`
	return func(c call) (err error) {
		e := project.Export{Tool: *of, Remove: *remove, DryRun: *dry}
		switch {
		case e.Tool == "":
			return usage("expected --for with one of %s", strings.Join(project.Exports(), ", "))
		case e.IsPlugin() && len(c.args) == 0:
			return usage("expected the folder of the plugin: tercet export --for %s DIR", e.Tool)
		case len(c.args) > 0 && !e.IsPlugin():
			return usage("expected DIR only with --for %s, got %q", project.ExportPlugin, c.args[0])
		case len(c.args) > 0:
			e.Dir = c.args[0]
		}

		c.s, err = c.app.workspaceSession(c.ctx)
		if err != nil {
			return err
		}
		changes, err := c.s.Export(e)
		if err != nil {
			return err
		}

		all := fields{"for": *of, "dry_run": *dry, "files": changes}
		if !c.app.answerJSON("tercet.export/1", all) {
			for _, one := range changes {
				c.app.term.Answer(
					"%-9s %s%s", e.Does(one), one.File, formats.Prefixed(": ", one.Why),
				)
			}
			if *dry {
				c.app.term.Note("nothing was written: --dry-run")
			}
		}
		if project.KeepsFiles(changes) {
			return shownError{formats.ExitCode(formats.Return{Status: formats.StatusPartial})}
		}
		return nil
	}
}
