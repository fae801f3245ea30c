package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/secrets"
)

var formatVerbs = []verb{
	{use: "check FILE", short: "check a document against a profile", args: one, make: formatCheck},
}

// formatCheck checks a document against its profile.
func formatCheck(cmd *cobra.Command, _ *app) run {
	named := cmd.Flags().String("profile", "",
		"plan, report, summary, review or a short one, or secrets (default: guessed from the path)")
	return func(c call) error {
		src, err := c.input(c.args[0])
		if err != nil {
			return err
		}
		profile := cmp.Or(*named, string(formats.GuessArtifactType(c.args[0])))
		bad := &formats.Diagnostics{}
		switch {
		case profile == profileSecrets:
			bad.List = secretsOf(c.args[0], string(src))
		case !slices.Contains(formats.Profiles(), profile):
			return usage("expected --profile %s|secrets, got %q", strings.Join(formats.Profiles(), "|"), profile)
		default:
			if _, found := formats.ParseDocument(profile, c.args[0], src); found != nil {
				bad = found
			}
		}
		bad.Sources = map[string][]byte{c.args[0]: src}
		if !c.document("tercet.format-check/1", fields{"profile": profile, "diagnostics": diagnosticsOf(bad)}) {
			c.term.diagnostics(bad)
		}
		switch {
		case bad.HasErrors() && profile == profileSecrets:
			return shownAs(formats.CodeSecretFound)
		case bad.HasErrors():
			return shownAs(formats.CodeInvalidReturn)
		case profile == profileSecrets:
			c.term.note("%s holds nothing that looks like a secret", c.args[0])
		default:
			c.term.note("%s is a valid %s", c.args[0], profile)
		}
		return nil
	}
}

// profileSecrets is the profile that is no form of a document: what no commit may hold.
const profileSecrets = "secrets"

// secretsOf tells what the scan before a commit would find if all of a file were new.
func secretsOf(file, text string) []formats.Diagnostic {
	var found []secrets.Finding
	if f, ok := secrets.Name(file); ok {
		found = append(found, f)
	}
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		found = append(found, secrets.Line(file, number, line)...)
	}
	var list []formats.Diagnostic
	for _, f := range found {
		list = append(list, formats.Diagnostic{
			Code: formats.FindingSecret, Severity: formats.SeverityError, File: file,
			Pos: formats.Pos{Line: max(f.Line, 1), Col: 1}, Message: "looks like a secret: " + f.Class,
			Help: "take it out; if it is none, allow it in .tercet/config.yaml: " + f.Allow(),
		})
	}
	return list
}
