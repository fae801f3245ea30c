package main

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/plain"
	"tercet/internal/secrets"
)

var resultVerbs = []verb{
	{use: "parse FILE", short: "read a return, as JSON or as an AGENT_RESULT block", args: one, make: resultParse},
}

// resultParse reads a return in either wire form and prints what it means.
func resultParse(cmd *cobra.Command, _ *app) run {
	var opt formats.ParseOptions
	f := cmd.Flags()
	f.StringVar(&opt.Agent, "agent", "", "the subagent whose return it is")
	f.StringVar(&opt.Nonce, "nonce", "",
		"the `word` that the delegation was given; a return without it is unauthenticated")
	f.BoolVar(&opt.Strict, "strict", false, "repair nothing")
	return func(c call) error {
		opt.File = c.args[0]
		src, err := c.input(opt.File)
		if err != nil {
			return err
		}
		read := resultBlock
		if bytes.HasPrefix(bytes.TrimSpace(src), []byte("{")) {
			read = resultJSON
		}
		out, err := read(src, opt)
		if err == nil {
			c.term.json(out)
		}
		return err
	}
}

func resultJSON(src []byte, opt formats.ParseOptions) (fields, error) {
	ret, err := formats.ParseReturn(src, opt)
	if err != nil {
		return nil, err
	}
	_, _, unknown := formats.FinalMessage(src, formats.ParseOptions{Agent: opt.Agent, Nonce: opt.Nonce})
	return fields{
		"schema": "tercet.result/1", "agent": opt.Agent, "status": ret.Outcome(), "return": ret,
		"warnings": nonNil(ret.Warnings), "unauthenticated": unknown != nil,
	}, nil
}

// resultBlock reads an AGENT_RESULT block. One without the nonce of its delegation is shown as unauthenticated.
func resultBlock(src []byte, opt formats.ParseOptions) (fields, error) {
	blocks, found := formats.ParseAgentResult(src)
	agent := opt.Agent
	if agent == "" && len(blocks) > 0 {
		agent = blocks[len(blocks)-1].Agent
	}
	diags := &formats.Diagnostics{List: found, Of: formats.CodeInvalidReturn, Sources: map[string][]byte{opt.File: src}}
	for i := range found {
		found[i].File = opt.File
	}
	own, nested, ok := formats.PickResult(blocks, agent)
	if !ok && !diags.HasErrors() {
		diags.List = append(found, formats.Diagnostic{
			Code: formats.CodeInvalidReturn.String(), Severity: formats.SeverityError, File: opt.File,
			Message: sprintf("expected a block of %q, got none", agent),
		})
	}
	if !ok {
		return nil, diags
	}
	ret, err := own.Return()
	switch {
	case err != nil && diags.HasErrors():
		return nil, diags
	case err != nil:
		return nil, broken(formats.CodeInvalidReturn, opt.File, err)
	}
	values := fields{}
	for _, f := range own.Fields {
		values[f.Key] = f.Value()
	}
	names := []string{}
	for _, n := range nested {
		names = append(names, n.Agent)
	}
	return fields{
		"schema": "tercet.result/1", "agent": own.Agent, "status": own.Status, "fields": values, "next": own.Next,
		"return": ret, "warnings": nonNil(own.Warnings), "nested": names,
		"unauthenticated": opt.Nonce == "" || own.Text("NONCE") != opt.Nonce,
	}, nil
}

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
			bad.Of, bad.List = formats.CodeSecretFound, secretsOf(c.args[0], string(src))
		case !slices.Contains(formats.Profiles(), profile):
			return usage("expected --profile %s|secrets, got %q", strings.Join(formats.Profiles(), "|"), profile)
		default:
			if _, found := formats.ParseDocument(profile, c.args[0], src); found != nil {
				bad.List = found.List
			}
			bad.Of = formats.CodeInvalidReturn
		}
		bad.Sources = map[string][]byte{c.args[0]: src}
		well := " is a valid " + profile
		if profile == profileSecrets {
			well = " holds nothing that looks like a secret"
		}
		return c.judge("tercet.format-check/1", fields{"profile": profile}, bad, plain.Line(c.args[0])+well)
	}
}

// judge prints findings and ends as they are: with their code, or with a word that all is well.
func (c call) judge(schema string, doc fields, d *formats.Diagnostics, well string) error {
	doc["diagnostics"] = diagnosticsOf(d)
	if !c.document(schema, doc) {
		c.term.diagnostics(d)
	}
	if d.HasErrors() {
		return shownAs(d.ErrorCode())
	}
	c.term.note("%s", well)
	return nil
}

// profileSecrets is the profile that is no form of a document: what no commit may hold.
const profileSecrets = "secrets"

// secretsOf tells what the scan before a commit would find if all of a file were new.
func secretsOf(file, text string) []formats.Diagnostic {
	found := secrets.File(file, text)
	list := make([]formats.Diagnostic, len(found))
	for i, f := range found {
		list[i] = problem(formats.FindingSecret, file, "looks like a secret: "+f.Class,
			"take it out; if it is none, allow it in .tercet/config.yaml: "+f.Allow())
		list[i].Pos.Line = max(f.Line, 1)
	}
	return list
}
