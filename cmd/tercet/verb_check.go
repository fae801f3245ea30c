package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/commands/lint"
	"tercet/formats"
	"tercet/formats/documents"
	"tercet/formats/returns"
	"tercet/internal/nearest"
	"tercet/internal/plain"
	"tercet/internal/secrets"
	"tercet/subagents"
	"tercet/subagents/builtin"
)

var resultVerbs = []verb{
	{
		use:   "parse FILE",
		short: "read a return: JSON or AGENT_RESULT block",
		args:  one,
		needs: aSession,
		make:  resultParse,
	},
}

// resultParse reads a return and prints what it means. With --json what is refused has the same
// shape.
func resultParse(cmd *cobra.Command, _ *app) run {
	var opt returns.ParseOptions
	f := cmd.Flags()
	f.StringVar(&opt.Agent, "agent", "", "the subagent whose return it is")
	f.StringVar(&opt.Nonce, "nonce", "",
		"the `nonce` of the delegation; a return without it counts as unauthenticated")
	f.BoolVar(
		&opt.Strict,
		"strict",
		false,
		"repair nothing, and check every rule of returns and of the contract",
	)
	in := f.String("in", "", "the `folder` in which the artifacts have to be")
	return func(c call) error {
		opt.File = c.args[0]
		src, err := c.app.input(opt.File)
		if err != nil {
			return err
		}
		if *in != "" {
			root, err := os.OpenRoot(*in)
			if err != nil {
				return broken(formats.CodeUsage, *in, err)
			}
			defer root.Close() //nolint:errcheck // only read through
			opt.Faulty = subagents.ArtifactCheck(root)
		}
		foreign := "" // a subagent of another project, whose contract is not known
		out, err := returns.ReadResult(src, opt, func(agent string) formats.AgentInfo {
			info, known := c.s.Set.Agent(agent)
			if agent != "" && !known {
				foreign = agent
			}
			return info
		})
		if foreign != "" {
			why := fmt.Sprintf("there is no subagent %q here, so no contract was checked", foreign)
			out.Warnings = append(out.Warnings, why)
			if near := nearest.Help(foreign, c.s.Set.Names()); near != "" {
				why += "; " + near
			}
			c.app.term.Note("warning: %s", why)
		}
		bad, refused := asDiagnostics(err)
		if !refused {
			bad = &formats.Diagnostics{}
		}
		switch {
		case !refused || c.app.flags.json:
			c.app.term.JSON(struct {
				Schema string `json:"schema"`
				returns.Result
				Errors []fields `json:"errors"`
			}{"tercet.result/1", out, bad.Records()})
		default:
			c.app.term.Findings(bad)
		}

		if refused {
			return shownAs(formats.CodeInvalidReturn)
		}
		return err
	}
}

// checkVerb checks a document against its profile.
func checkVerb(cmd *cobra.Command, _ *app) run {
	named := cmd.Flags().String("profile", "",
		"plan, report, summary, review or a short one, discovery or another handoff, template, "+
			"command, subagent or secrets "+
			"(default: guessed from the path)")
	variant := cmd.Flags().String("variant", "", "seed: read a handoff document of an older form")
	return func(c call) error {
		src, err := c.app.input(c.args[0])
		if err != nil {
			return err
		}

		profile := cmp.Or(*named, string(formats.GuessArtifactType(c.args[0])))
		bad := &formats.Diagnostics{}
		doc := fields{"profile": profile}
		switch {
		case profile == profileSecrets:
			bad.Of = formats.CodeSecretFound
			bad.List = secretsOf(c.args[0], string(src))
		case profile == profileTemplate:
			bad.Of = formats.CodeInvalidReturn
			bad.List = builtin.CheckTemplate(c.args[0], src)
		case slices.Contains(documents.FileProfiles(), profile):
			bad.List = lint.Check(c.s.Library, c.args[0], src, profile == documents.ProfileSubagent)
		case !slices.Contains(documents.Profiles(), profile):
			all := slices.Concat(documents.Profiles(), documents.FileProfiles(), []string{
				profileSecrets,
				profileTemplate,
			})
			_, err := formats.OneOf("--profile "+strings.Join(all, "|"), *named, all)
			return err
		default:
			known := documents.Variants(profile)
			if *variant != "" && !slices.Contains(known, *variant) {
				return formats.Fail(formats.CodeUsage,
					"--variant seed reads older documents of discovery and maintenance",
					"profile %s has no variant %q", profile, *variant)
			}
			opt := documents.DocumentOptions{Variant: *variant, Exists: fileIn(c.p.Dir)}
			if _, found := opt.Parse(profile, c.args[0], src); found != nil {
				bad.List = found.List
			}
			bad.Of = formats.CodeInvalidReturn
		}

		bad.Sources = map[string][]byte{c.args[0]: src}
		well := " is a valid " + profile
		if profile == profileSecrets {
			well = " holds nothing that looks like a secret"
		}
		return c.judge("tercet.format-check/1", doc, bad, plain.Line(c.args[0])+well)
	}
}

// fileIn tells whether a path leads to a file of a project, or of the folder one is in where there
// is none.
func fileIn(dir string) func(name string) bool {
	return func(name string) bool {
		name = filepath.FromSlash(name)
		info, err := os.Stat(filepath.Join(dir, name))
		return err == nil && info.Mode().IsRegular() && filepath.IsLocal(name)
	}
}

// judge prints findings and ends as they are: with their code, or with a word that all is well.
func (c call) judge(schema string, doc fields, d *formats.Diagnostics, well string) error {
	doc["diagnostics"] = d.Records()
	if !c.app.document(schema, doc) {
		c.app.term.Findings(d)
	}
	if d.HasErrors() {
		return shownAs(d.ErrorCode())
	}
	c.app.term.Note("%s", well)
	return nil
}

// profileTemplate is that of the template of a deliverable.
const profileTemplate = "template"

// profileSecrets is no form of a document: it is what no commit may hold.
const profileSecrets = "secrets"

// secretsOf tells what the scan before a commit would find if all of a file were new.
func secretsOf(file, text string) []formats.Diagnostic {
	found := secrets.File(file, text)
	list := make([]formats.Diagnostic, len(found))
	for i, f := range found {
		list[i] = formats.AboutFile(formats.FindingSecret, file, "looks like a secret: "+f.Class,
			"take it out; if it is none, allow it in .tercet/config.yaml: "+f.Allow())
		list[i].Pos.Line = max(f.Line, 1)
	}
	return list
}
