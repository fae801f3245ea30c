package main

import "github.com/spf13/cobra"

// graphVerb draws what a command file was compiled to.
func graphVerb(cmd *cobra.Command, _ *app) run {
	format := cmd.Flags().String("format", "mermaid", "dot, mermaid or svg")
	return func(c call) error {
		e, err := c.explained()
		if err != nil {
			return err
		}
		text, ok := e.outline.Draw(*format)
		if !ok {
			return usage("expected --format dot, mermaid, svg, got %q", *format)
		}
		if !c.document("tercet.graph/1", fields{
			"command": e.prog.Name, "file": e.prog.File.Name, "format": *format, "text": text,
		}) {
			c.term.raw([]byte(text))
		}
		return nil
	}
}
