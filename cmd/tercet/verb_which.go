package main

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/commands"
	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/nearest"
	"tercet/router"
)

// whichVerb says which file a name leads to, whose rules it follows, what it hides and what it would run.
func (a *app) whichVerb() *cobra.Command {
	var show, agent bool
	cmd := &cobra.Command{
		Use: "which NAME", Short: "show the file behind a slash command, its dialect and what it shadows", Args: words(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := a.world(cmd.Context())
			if err != nil {
				return err
			}
			if agent {
				return w.whichAgent(args[0])
			}
			return w.which("/"+strings.TrimPrefix(args[0], "/"), show)
		},
	}
	cmd.Flags().BoolVar(&show, "show", false, "also print the text, and the commands and files that it has marks for")
	cmd.Flags().BoolVar(&agent, "agent", false, "NAME is a subagent")
	return cmd
}

func (w *world) which(line string, show bool) error {
	r, err := w.table.Route(router.Line{Raw: line})
	if err != nil {
		return w.app.notRouted("tercet.which/1", err)
	}
	c, foreign, err := w.library.Prompt(r.Source, r.File)
	if err != nil {
		return err
	}
	out := map[string]any{
		"schema": "tercet.which/1", "command": r.Name, "file": r.Source + "/" + r.File, "dialect": dialectOf(r.Dialect), "shadows": nonNil(r.Shadows),
		"names": w.spellings(r), "shadowed_by": w.shadowedBy(r),
	}
	if foreign {
		out["scope"] = w.library.Foreign[r.Source].Scope
		out["description"], out["usage"], out["rules"], out["lenient"] = c.Description, c.Usage(), c.Rules(), c.Lenient
		out["agent"], out["model"], out["tools"], out["extra"] = c.Agent, c.Model, nonNil(c.Tools), c.Extra
		out["marks"], out["diagnostics"] = marks(c), diagnosticsOf(&formats.Diagnostics{List: c.Warnings})
		if c.Dialect == dialect.Claude {
			out["positional_base"] = c.Base
		}
	}
	if w.app.flags.json {
		if foreign && show {
			out["text"] = c.Text()
		}
		w.app.term.json(out)
		return nil
	}
	w.app.term.answer("/%s -> %s/%s (%s)", r.Name, r.Source, r.File, dialectOf(r.Dialect))
	for _, s := range r.Shadows {
		w.app.term.answer("shadows %s", s)
	}
	if by := w.shadowedBy(r); by != "" {
		w.app.term.answer("shadowed by %s: call it as %s", by, strings.Join(w.spellings(r), " or "))
	}
	if !foreign {
		return nil
	}
	w.app.term.answer("arguments: %s", c.Rules())
	for _, line := range unused(c) {
		w.app.term.answer("%s", line)
	}
	if show {
		for _, m := range marks(c) {
			w.app.term.answer("%v line %v: %v", m["does"], m["line"], m["text"])
		}
		w.app.term.answer("\n%s", passage(c.Text()))
	}
	w.app.term.diagnostics(&formats.Diagnostics{List: c.Warnings})
	return nil
}

// notRouted tells that a line leads nowhere, as JSON if that was asked for: with the names that were probably meant, or with
// those that a last part stands for.
func (a *app) notRouted(schema string, err error) error {
	if !a.flags.json {
		return err
	}
	out := map[string]any{"schema": schema, "error": err.Error()}
	if unknown, ok := errors.AsType[*router.UnknownCommandError](err); ok {
		out["did_you_mean"] = nonNil(unknown.DidYouMean)
	} else if several, ok := errors.AsType[*router.AmbiguousCommandError](err); ok {
		out["candidates"] = several.Candidates
	} else {
		return err
	}
	a.term.json(out)
	return shown{formats.ExitFor(formats.CodeUsage)}
}

// findCommand gives the command that a name without its slash leads to.
func (w *world) findCommand(name string) (commands.Entry, error) {
	r, err := w.table.Route(router.Line{Words: []string{"/" + name}})
	return commands.Entry{Name: r.Name, File: r.File, Source: r.Source}, err
}

// shadowedBy is the file that has the plain name of a command which was found under another; empty: none.
func (w *world) shadowedBy(r router.Route) string {
	first, err := w.table.Route(router.Line{Words: []string{"/" + r.Name}})
	if err != nil || first.Source == r.Source && first.File == r.File {
		return ""
	}
	return first.Source + "/" + first.File
}

// unused says which wishes of a file of another tool are not followed.
func unused(c *dialect.Command) []string {
	var out []string
	if c.Model != "" {
		out = append(out, "model "+c.Model+" is not used: the subagent that does it has its own")
	}
	if len(c.Tools) > 0 {
		out = append(out, "tools "+strings.Join(c.Tools, ", ")+" are not used: the subagent that does it has its own")
	}
	return out
}

// spellings are the names that lead to the same file.
func (w *world) spellings(r router.Route) []string {
	candidates := []string{r.Name, strings.ReplaceAll(r.Name, ":", "/"), r.Name[strings.LastIndexByte(r.Name, ':')+1:]}
	for _, s := range []dialect.Scope{dialect.Project, dialect.User} {
		candidates = append(candidates, s.String()+":"+r.Name)
	}
	out := []string{}
	for _, name := range candidates {
		found, err := w.table.Route(router.Line{Raw: "/" + name})
		if err == nil && found.Source == r.Source && found.File == r.File && !slices.Contains(out, "/"+name) {
			out = append(out, "/"+name)
		}
	}
	return out
}

// marks lists what a file would run and read.
func marks(c *dialect.Command) []map[string]any {
	out := []map[string]any{}
	for _, p := range c.Parts {
		switch p.Kind {
		case dialect.Shell:
			out = append(out, map[string]any{"does": "runs", "line": p.Pos.Line, "text": strings.TrimSpace(p.Text)})
		case dialect.Include:
			out = append(out, map[string]any{"does": "reads, if it is there,", "line": p.Pos.Line, "text": p.Text})
		case dialect.Literal, dialect.All, dialect.Nth, dialect.Named, dialect.Variable:
		}
	}
	return out
}

func dialectOf(name string) string {
	if name == "" {
		return dialect.Tercet.String()
	}
	return name
}

// whichAgent says which file a subagent comes from, and what was found about the agent files of other tools.
func (w *world) whichAgent(name string) error {
	def, _, ok := w.set.Lookup(name, "")
	if !ok {
		return &formats.Failure{Code: formats.CodeNotFound, Message: "unknown subagent " + name, Help: nearest.Help(name, w.set.Names())}
	}
	of := dialect.Tercet
	if p, _, ok := dialect.PlaceOf(def.File); ok && p.Agents {
		of = p.Dialect
	}
	if w.app.flags.json {
		w.app.term.json(map[string]any{
			"schema": "tercet.which/1", "agent": def.Info.Name, "file": def.File, "dialect": of, "role": def.Info.Role, "tools": nonNil(def.Info.Tools),
			"description": def.Info.Description, "diagnostics": diagnosticsOf(&formats.Diagnostics{List: w.agentNotes}),
		})
		return nil
	}
	w.app.term.answer("%s -> %s (%s), tools %s", def.Info.Name, def.File, of, strings.Join(def.Info.Tools, ", "))
	if len(w.agentNotes) > 0 {
		w.app.term.diagnostics(&formats.Diagnostics{List: w.agentNotes})
	}
	return nil
}

// lintForeign checks a file that lies in a folder of another tool; false for any other file.
func lintForeign(name string, src []byte) ([]formats.Diagnostic, bool) {
	place, inside, ok := dialect.PlaceOf(filepath.ToSlash(full(name)))
	if !ok {
		return nil, false
	}
	var list []formats.Diagnostic
	var err error
	if place.Agents {
		var a *dialect.Agent
		if a, err = dialect.ParseAgent(place, inside, src); err == nil {
			list = a.Warnings
		}
	} else {
		var c *dialect.Command
		if c, err = dialect.Parse(place, inside, src); err == nil {
			list = c.Warnings
		}
	}
	if d, ok := errors.AsType[*formats.Diagnostics](err); ok {
		list = d.List
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].File = name
	}
	return list, true
}

// full is the absolute path of a file that was named from where the person stands.
func full(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		return abs
	}
	return name
}

// isForeign tells whether a file lies where another tool keeps commands or agents.
func isForeign(name string) bool {
	_, _, ok := dialect.PlaceOf(filepath.ToSlash(full(name)))
	return ok
}
