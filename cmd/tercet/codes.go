package main

import (
	"maps"

	"tercet/commands"
	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/subagents"
)

// meanings gives the meaning of every diagnostic of the program by its code.
func meanings() map[string]string {
	out := map[string]string{}
	for _, table := range []map[string]string{subagents.Codes(), dialect.Codes(), commands.Codes()} {
		maps.Copy(out, table)
	}
	for _, c := range syntax.Codes() {
		out[c.Name] = c.Meaning
	}
	for _, c := range compile.Codes() {
		out[c.Name] = c.Meaning
	}
	for _, c := range argspec.Codes() {
		out[c.Name] = c.Meaning
	}
	for _, f := range formats.Findings() {
		out[f.Code] = f.Meaning
	}
	return out
}
