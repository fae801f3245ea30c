package main

import (
	"fmt"
	"strings"

	"tercet/internal/dialect"
	"tercet/router"
)

// explainPrompt explains a command of another tool: the one step that it is, and what it would run and read, with the
// arguments of the line if it has any. It asks nothing and runs nothing.
func (w *world) explainPrompt(e *explanation, route router.Route) (bool, error) {
	c, foreign, err := w.library.Prompt(route.Source, route.File)
	if err != nil || !foreign {
		return foreign, err
	}
	e.prompt = c
	raw := route.Raw
	if route.Words != nil {
		raw = strings.Join(route.Words, " ")
	}
	if raw != "" {
		if e.pieces, err = c.Expand(dialect.Args{Raw: raw, Words: route.Words}); err != nil {
			return true, err
		}
	}
	e.prog, err = w.library.Load(route.Source, route.File)
	return true, err
}

// promptText shows the rules of the tool and the marks.
func (e *explanation) promptText(b *strings.Builder) {
	if e.prompt == nil {
		return
	}
	fmt.Fprintf(b, "\na prompt of %s: %s\n", e.prompt.Dialect, e.prompt.Rules())
	for _, line := range unused(e.prompt) {
		fmt.Fprintf(b, "%s\n", oneLine(line))
	}
	if e.pieces == nil {
		for _, m := range marks(e.prompt) {
			fmt.Fprintf(b, "%v line %v: %v\n", m["does"], m["line"], m["text"])
		}
		return
	}
	for _, o := range e.pieces {
		switch {
		case o.Script != nil && o.Script.Refused != "":
			fmt.Fprintf(b, "does not run line %d: %s: %s\n", o.Script.Pos.Line, o.Script.Source, o.Script.Refused)
		case o.Script != nil:
			fmt.Fprintf(b, "runs line %d: %s\n", o.Script.Pos.Line, strings.TrimSpace(o.Script.Text))
			for _, kv := range o.Script.Env {
				name, value, _ := strings.Cut(kv, "=")
				fmt.Fprintf(b, "  with %s=%q\n", name, value)
			}
		case o.Include != nil:
			fmt.Fprintf(b, "reads, if it is there, line %d: %s\n", o.Include.Pos.Line, o.Include.Path)
		}
	}
}
