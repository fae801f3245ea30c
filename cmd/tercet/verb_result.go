package main

import (
	"strings"

	"tercet/formats"
)

// resultOptions say whose return is read, and how.
type resultOptions struct {
	agent  string
	nonce  string // empty: unknown, so that nothing is authenticated
	strict bool
}

// parseResult reads a return in either wire form and prints what it means. A block without the nonce of its delegation is
// shown as unauthenticated.
func (a *app) parseResult(file string, src []byte, opt resultOptions) error {
	agent := opt.agent
	if strings.HasPrefix(strings.TrimSpace(string(src)), "{") {
		ret, err := formats.ParseReturn(src, formats.ParseOptions{Strict: opt.strict, File: file, Agent: agent, Nonce: opt.nonce})
		if err != nil {
			return err
		}
		_, _, unknown := formats.FinalMessage(src, formats.ParseOptions{Agent: agent, Nonce: opt.nonce})
		a.term.json(map[string]any{
			"schema": "tercet.result/1", "agent": agent, "status": ret.Outcome(), "return": ret, "warnings": nonNil(ret.Warnings), "unauthenticated": unknown != nil,
		})
		return nil
	}
	blocks, found := formats.ParseAgentResult(src)
	if agent == "" && len(blocks) > 0 {
		agent = blocks[len(blocks)-1].Agent
	}
	own, nested, ok := formats.PickResult(blocks, agent)
	diags := &formats.Diagnostics{Of: formats.CodeInvalidReturn, Sources: map[string][]byte{file: src}}
	for _, d := range found {
		d.File = file
		diags.List = append(diags.List, d)
	}
	if !ok {
		if !diags.HasErrors() {
			diags.List = append(diags.List, formats.Diagnostic{
				Code: formats.CodeInvalidReturn.String(), Severity: formats.SeverityError, File: file, Message: sprintf("expected a block of %q, got none", agent),
			})
		}
		return diags
	}
	ret, err := own.Return()
	switch {
	case err != nil && diags.HasErrors():
		return diags
	case err != nil:
		return &formats.Failure{Code: formats.CodeInvalidReturn, Message: file, Err: err}
	}
	fields := map[string]any{}
	for _, f := range own.Fields {
		fields[f.Key] = f.Value()
	}
	names := []string{}
	for _, n := range nested {
		names = append(names, n.Agent)
	}
	a.term.json(map[string]any{
		"schema": "tercet.result/1", "agent": own.Agent, "status": own.Status, "fields": fields, "next": own.Next, "return": ret,
		"warnings": nonNil(own.Warnings), "nested": names, "unauthenticated": opt.nonce == "" || own.Text("NONCE") != opt.nonce,
	})
	return nil
}
