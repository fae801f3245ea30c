package main

import (
	"strings"

	"github.com/spf13/cobra"

	"tercet/commands/syntax"
)

// schemaVerb prints the JSON schema of a kind of block, for editors.
func (a *app) schemaVerb() *cobra.Command {
	return &cobra.Command{
		Use: "schema NAME", Short: "print the JSON schema of a kind of block: step, args, defaults, frontmatter", Args: words(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			schema, ok := syntax.Schema(args[0])
			if !ok {
				names := make([]string, 0, len(syntax.Grammar()))
				for _, f := range syntax.Grammar() {
					names = append(names, f.Name)
				}
				return usage("expected one of %s, got %q", strings.Join(names, ", "), args[0])
			}
			a.term.json(schema)
			return nil
		},
	}
}
