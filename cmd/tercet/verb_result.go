package main

import (
	"bytes"

	"github.com/spf13/cobra"

	"tercet/formats"
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
