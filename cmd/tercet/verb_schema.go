package main

import (
	"strings"

	"tercet/commands/syntax"
)

// showSchema prints the JSON schema of a kind of block, for editors.
func showSchema(c call) error {
	schema, ok := syntax.Schema(c.args[0])
	if !ok {
		var names []string
		for _, f := range syntax.Grammar() {
			names = append(names, f.Name)
		}
		return usage("expected one of %s, got %q", strings.Join(names, ", "), c.args[0])
	}
	c.term.json(schema)
	return nil
}
