package main

import (
	"cmp"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/plain"
	"tercet/project"
)

// whichVerb says which file a name leads to, whose rules it follows, what it hides and what it
// would run.
func whichVerb(cmd *cobra.Command, _ *app) run {
	show := cmd.Flags().Bool(
		"show", false,
		"also print the text, and the commands and files that it embeds",
	)
	agent := cmd.Flags().Bool("agent", false, "NAME is a subagent")
	route := cmd.Flags().Bool(
		"route",
		false,
		"show the file that LINE is routed to, and what is left for it",
	)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if *route {
			return some(cmd, args)
		}
		return one(cmd, args)
	}
	return func(c call) (err error) {
		if *route && (*show || *agent) {
			return usage("expected no --show and no --agent with --route")
		}
		if *route {
			return c.routeLine()
		}

		if err := c.needSession(); err != nil {
			return err
		}
		if *agent {
			return c.whichAgent(c.args[0])
		}
		return c.showWhich(*show)
	}
}

func (c call) showWhich(show bool) error {
	r, err := c.p.Table.Route(project.Line{Raw: "/" + strings.TrimPrefix(c.args[0], "/")})
	if err != nil {
		return c.reportUnrouted("tercet.which/1", err)
	}

	p, flow, err := c.s.Library.Prompt(r.Source, r.File)
	if err != nil {
		return err
	}
	hooks := p != nil && p.Hooks
	if flow {
		p = nil
	}

	names := c.p.Table.Spellings(r)
	by := c.p.Table.Hides(r)
	out := fields{
		"command":     r.Name,
		"file":        r.Source + "/" + r.File,
		"dialect":     dialectOf(r.Dialect),
		"shadows":     nonNil(r.Shadows),
		"names":       names,
		"shadowed_by": by,
		"calls":       callsOf(c.p.Table, r.Shadows),
		"kind":        "workflow",
		"exported":    nonNil(c.p.Exported[r.Name]),
		"hooks":       hooks,
	}
	if p != nil {
		out["kind"] = "prompt"
		out["scope"] = c.s.Library.Foreign[r.Source].Scope
		out["description"] = p.Description
		out["usage"] = p.Usage()
		out["rules"] = p.Rules()
		out["lenient"] = p.Lenient
		out["agent"] = p.Agent
		out["model"] = p.Model
		out["tools"] = nonNil(p.Tools)
		out["extra"] = p.Extra
		out["marks"] = p.Marks()
		out["diagnostics"] = (&formats.Diagnostics{List: p.Warnings}).Records()
		if base, ok := p.FirstArgument(); ok {
			out["positional_base"] = base
		}
		if show {
			out["text"] = p.Text()
		}
	}
	if c.app.answerJSON("tercet.which/1", out) {
		return nil
	}

	c.app.term.Answer("/%s -> %s/%s (%s)", r.Name, r.Source, r.File, dialectOf(r.Dialect))
	for i, call := range callsOf(c.p.Table, r.Shadows) {
		c.app.term.Answer("shadows %s%s", r.Shadows[i], formats.Prefixed(": call it as ", call))
	}
	for _, file := range c.p.Exported[r.Name] {
		c.app.term.Answer("exported as %s, which is no command here", file)
	}

	if by != "" {
		c.app.term.Answer("shadowed by %s: call it as %s", by, strings.Join(names, " or "))
	}
	if flow {
		c.app.term.Answer("a workflow: tercet runs its steps%s",
			map[bool]string{true: "; its hooks are never run"}[hooks])
	}
	if p == nil {
		return nil
	}

	c.app.term.Answer("arguments: %s", p.Rules())
	for _, line := range p.Settings() {
		c.app.term.Answer("%s", line)
	}
	if show {
		for _, m := range p.Marks() {
			c.app.term.Answer("%s", m)
		}
		c.app.term.Answer("\n%s", plain.Passage(p.Text()))
	}
	c.app.term.Findings(&formats.Diagnostics{List: p.Warnings})
	return nil
}

// callsOf gives the names, with their slash, that lead to files; empty where none does.
func callsOf(t *project.Table, files []string) []string {
	out := make([]string, len(files))
	for i, file := range files {
		out[i] = formats.Prefixed("/", t.Call(file))
	}
	return out
}

func dialectOf(name string) string {
	return cmp.Or(name, project.OwnDialect)
}

// whichAgent says which file a subagent comes from, and what was found about the agent files of
// other tools.
func (c call) whichAgent(name string) error {
	found, err := c.s.WhichAgent(name)
	if err != nil {
		return err
	}
	if c.app.answerJSON("tercet.which/1", fields{
		"agent":       found.Name,
		"file":        found.File,
		"packs":       found.Packs,
		"dialect":     found.Dialect,
		"role":        found.Info.Role,
		"tools":       nonNil(found.Info.Tools),
		"description": found.Info.Description,
		"diagnostics": found.Findings.Records(),
		"hides":       found.Hides,
		"order":       found.Order,
		"commands":    nonNil(found.Info.Commands),
		"unfollowed":  nonNil(found.Unfollowed),
	}) {
		return nil
	}

	c.app.term.Answer("%s -> %s (%s), tools %s",
		found.Name, found.File, found.Dialect, strings.Join(found.Info.Tools, ", "))
	switch {
	case found.Apart:
		c.app.term.Answer("in your workflows; shipped ones call %s", found.Hides)
	case found.Hides != "":
		c.app.term.Answer("in the place of the shipped one, which is %s", found.Hides)
	}
	if found.Info.Commands != nil {
		c.app.term.Answer("commands: %s", strings.Join(found.Info.Commands, ", "))
	}

	c.app.term.Answer("looked up in this order:")
	for n, one := range found.Order {
		c.app.term.Answer("%d %s: %s%s", n+1, one.In, cmp.Or(one.File, "none"),
			map[bool]string{true: ", this one is called"}[one.Called])
	}
	for _, line := range found.Unfollowed {
		c.app.term.Answer("%s", line)
	}
	c.app.term.Findings(found.Findings)
	return nil
}

// routeLine prints the routing decision and runs nothing.
func (c call) routeLine() error {
	w, err := c.app.findProject()
	if err = errors.Join(err, w.Close(c.ctx)); err != nil {
		return err
	}

	r, err := w.Table.Route(project.Line{Raw: joinWords(c.args)})
	if err != nil {
		return c.reportUnrouted("tercet.route/1", err)
	}
	if c.app.answerJSON("tercet.route/1", fields{
		"command": r.Name,
		"file":    r.Source + "/" + r.File,
		"rest":    r.Raw,
		"depth":   formats.CommandDepth().Int(),
		"dialect": dialectOf(r.Dialect),
		"shadows": nonNil(r.Shadows),
	}) {
		return nil
	}

	c.app.term.Answer("/%s -> %s/%s", r.Name, r.Source, r.File)
	for _, s := range r.Shadows {
		c.app.term.Note("shadows %s", s)
	}
	return nil
}

// reportUnrouted reports a line that leads nowhere, as JSON if that is requested. It gives the
// names that were probably meant, or those that a last part stands for.
func (c call) reportUnrouted(schema string, err error) error {
	out := fields{"error": err.Error()}
	if unknown, ok := errors.AsType[*project.UnknownCommandError](err); ok {
		out["did_you_mean"] = nonNil(unknown.DidYouMean)
	} else if several, ok := errors.AsType[*project.AmbiguousCommandError](err); ok {
		out["candidates"] = several.Candidates
	} else {
		return err
	}

	if c.app.answerJSON(schema, out) {
		return exitWith(formats.CodeUsage)
	}
	return err
}

// promptVerb shows what a subagent would be told. It runs nothing.
func promptVerb(cmd *cobra.Command, _ *app) run {
	task := cmd.Flags().Int("task", 0, "the `number` of the task that it works on")
	cmd.Long = `prompt shows the prompt that a step without further input would give to the subagent, and its SHA-256.
Folders that only a run knows stand there by name, TERCET_OUT and TERCET_RETURN; there is no nonce.
The journal of a run holds the SHA-256 of every prompt that it gave.`
	return func(c call) error {
		if cmd.Flags().Changed("task") && *task < 1 {
			return usage("expected the number of a task for --task, got %d", *task)
		}
		p, name, err := c.s.Prompt(c.ctx, c.args[0], *task)
		if err != nil {
			return err
		}
		facets := []fields{}
		for _, f := range p.Facets {
			facets = append(facets, fields{
				"name":  f.Name,
				"bytes": len(f.Text),
				"text":  f.Text,
			})
		}

		if c.app.answerJSON("tercet.prompt/1", fields{
			"agent":  name,
			"task":   *task,
			"sha256": p.SHA256,
			"bytes":  len(p.Text),
			"facets": facets,
			"text":   p.Text,
		}) {
			return nil
		}

		if c.app.term.OutTTY {
			c.app.term.Answer("%s", plain.Passage(p.Text))
		} else {
			c.app.term.Raw([]byte(p.Text))
		}

		c.app.term.Note("sha256 %s, %d bytes", p.SHA256, len(p.Text))
		return nil
	}
}
