package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
)

var formatVerbs = []verb{
	{use: "check FILE", short: "check a document against a profile", args: one, make: formatCheck},
}

// formatCheck checks a document against its profile.
func formatCheck(cmd *cobra.Command, _ *app) run {
	named := cmd.Flags().String("profile", "",
		"plan, report, summary, review or a short one (default: guessed from the path)")
	return func(c call) error {
		src, err := c.input(c.args[0])
		if err != nil {
			return err
		}
		profile := cmp.Or(*named, string(formats.GuessArtifactType(c.args[0])))
		if !slices.Contains(formats.Profiles(), profile) {
			return usage("expected --profile %s, got %q", strings.Join(formats.Profiles(), "|"), profile)
		}
		_, bad := formats.ParseDocument(profile, c.args[0], src)
		if bad == nil {
			bad = &formats.Diagnostics{}
		}
		bad.Sources = map[string][]byte{c.args[0]: src}
		if !c.document("tercet.format-check/1", fields{"profile": profile, "diagnostics": diagnosticsOf(bad)}) {
			c.term.diagnostics(bad)
		}
		if bad.HasErrors() {
			return shownAs(formats.CodeInvalidReturn)
		}
		c.term.note("%s is a valid %s", c.args[0], profile)
		return nil
	}
}
