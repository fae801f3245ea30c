package main

import (
	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/plain"
	"tercet/project"
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
	var o project.ReturnOptions
	f := cmd.Flags()
	f.StringVar(&o.Agent, "agent", "", "the subagent whose return it is")
	f.StringVar(&o.Nonce, "nonce", "",
		"the `nonce` of the delegation; a return without it counts as unauthenticated")
	f.BoolVar(
		&o.Strict,
		"strict",
		false,
		"repair nothing, and check every rule of returns and of the contract",
	)
	f.StringVar(&o.In, "in", "", "the `folder` in which the artifacts have to be")
	return func(c call) error {
		o.File = c.args[0]
		src, err := c.app.input(o.File)
		if err != nil {
			return err
		}

		out, err := c.s.ReadReturn(src, o)
		bad, refused := asDiagnostics(err)
		switch {
		case err != nil && !refused:
			return err
		case !refused:
			bad = &formats.Diagnostics{}
		case !c.app.flags.json:
			c.app.term.Findings(bad)
			return exitWith(formats.CodeInvalidReturn)
		}

		c.app.term.JSON(struct {
			Schema string `json:"schema"`
			project.AgentOutput
			Errors []fields `json:"errors"`
		}{"tercet.result/1", out, bad.Records()})
		if refused {
			return exitWith(formats.CodeInvalidReturn)
		}
		return nil
	}
}

// checkVerb checks a document against its profile.
func checkVerb(cmd *cobra.Command, _ *app) run {
	var o project.CheckOptions
	cmd.Flags().StringVar(&o.Profile, "profile", "",
		"plan, report, summary, review or a short one, discovery or another handoff, template, "+
			"command, subagent or secrets "+
			"(default: guessed from the path)")
	cmd.Flags().StringVar(
		&o.Variant, "variant", "", "seed: read a handoff document of an older form",
	)
	return func(c call) error {
		src, err := c.app.input(c.args[0])
		if err != nil {
			return err
		}
		profile, bad, err := c.s.Check(c.args[0], src, o)
		if err != nil {
			return err
		}

		well := " is a valid " + profile
		if profile == project.ProfileSecrets {
			well = " holds nothing that looks like a secret"
		}
		doc := fields{"profile": profile}
		return c.concludeCheck("tercet.format-check/1", doc, bad, plain.Line(c.args[0])+well)
	}
}

// concludeCheck prints findings. The error has their code; without errors the text well is noted.
func (c call) concludeCheck(schema string, doc fields, d *formats.Diagnostics, well string) error {
	doc["diagnostics"] = d.Records()
	if !c.app.answerJSON(schema, doc) {
		c.app.term.Findings(d)
	}
	if d.HasErrors() {
		return exitWith(d.ErrorCode())
	}
	c.app.term.Note("%s", well)
	return nil
}
