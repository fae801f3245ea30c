package main

import (
	"strings"

	"github.com/spf13/cobra"

	"tercet/commands/outline"
)

// graphVerb draws what a command file was compiled to.
func (a *app) graphVerb() *cobra.Command {
	format := ""
	cmd := &cobra.Command{
		Use: "graph FILE|LINE", Short: "draw the steps of a command", Args: words(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			names := make([]string, 0, len(outline.Formats()))
			for _, f := range outline.Formats() {
				names = append(names, string(f))
			}
			w, err := a.world(cmd.Context())
			if err != nil {
				return err
			}
			e, err := w.explained(args)
			if err != nil {
				return err
			}
			text, err := e.outline.Draw(outline.Format(format))
			if err != nil {
				return usage("expected --format %s, got %q", strings.Join(names, ", "), format)
			}
			if a.flags.json {
				a.term.json(map[string]any{"schema": "tercet.graph/1", "command": e.prog.Name, "file": e.prog.File, "format": format, "text": text})
				return nil
			}
			a.term.raw([]byte(text))
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", string(outline.Mermaid), "dot, mermaid or svg")
	return cmd
}
