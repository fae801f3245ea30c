package main

import (
	"embed"
	"maps"
	"slices"
	"strings"

	"tercet/commands"
	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/nearest"
	"tercet/internal/plain"
	"tercet/subagents"
)

// The pages about diagnostics: a line `# CODE`, what it means, an example that brings it about (`! frame`, the line
// with the finding marked by >) and one that does not (`+ frame`). A frame says what the example is a part of.
//
//go:embed pages/*.txt
var pageFiles embed.FS

// page explains one diagnostic.
type page struct {
	Code  string
	Text  string
	Wrong example
	Right example
}

// example is a piece of a file; Line is the marked one, counted from 1, 0 without one.
type example struct {
	// Frame is one of step, front, args, flow, file, worker, agent, agentfile, builtin, plan, document PROFILE, return,
	// strict, result.
	Frame string
	Lines []string
	Line  int
}

func (e example) String() string { return strings.Join(e.Lines, "\n") + "\n" }

// pages reads all pages, in the order of their codes.
func pages() ([]page, error) {
	entries, err := pageFiles.ReadDir("pages")
	if err != nil {
		return nil, err
	}
	var out []page
	for _, e := range entries {
		text, err := pageFiles.ReadFile("pages/" + e.Name())
		if err != nil {
			return nil, err
		}
		out = append(out, readPages(string(text))...)
	}
	slices.SortFunc(out, func(a, b page) int { return strings.Compare(a.Code, b.Code) })
	return out, nil
}

func readPages(text string) []page {
	var out []page
	var into *example
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		mark, rest := "", ""
		if len(line) == 1 || len(line) > 1 && line[1] == ' ' {
			mark, rest = line[:1], line[min(2, len(line)):]
		}
		if mark == "#" {
			out = append(out, page{Code: rest})
			into = nil
			continue
		}
		if len(out) == 0 {
			continue
		}
		p := &out[len(out)-1]
		switch {
		case mark == "!":
			into = &p.Wrong
			into.Frame = rest
		case mark == "+":
			into = &p.Right
			into.Frame = rest
		case into == nil:
			p.Text = strings.TrimSpace(p.Text + " " + line)
		default:
			into.Lines = append(into.Lines, rest)
			if mark == ">" {
				into.Line = len(into.Lines)
			}
		}
	}
	return out
}

// explainCode prints the page of a diagnostic.
func (c call) explainCode(code string) error {
	all, err := pages()
	if err != nil {
		return err
	}
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.Code
	}
	i := slices.Index(names, code)
	if i < 0 {
		return formats.Fail(formats.CodeUsage, nearest.Help(code, names), "no diagnostic has the code %s", code)
	}
	p, meaning := all[i], meanings()[code]
	if !c.document("tercet.code/1", fields{
		"code": code, "meaning": meaning, "text": p.Text, "wrong": p.Wrong.String(), "line": p.Wrong.Line,
		"right": p.Right.String(),
	}) {
		c.term.answer("%s: %s\n\n%s\n\nwrong:\n\n%s\nright:\n\n%s", code, meaning, plain.Passage(p.Text),
			plain.Passage(p.Wrong.shown()), plain.Passage(p.Right.shown()))
	}
	return nil
}

// shown is an example for a person: indented, the marked line with an arrow.
func (e example) shown() string {
	var b strings.Builder
	for i, line := range e.Lines {
		mark := "    "
		if i+1 == e.Line {
			mark = "  > "
		}
		b.WriteString(strings.TrimRight(mark+line, " ") + "\n")
	}
	return b.String()
}

// meanings gives the meaning of every diagnostic of the program by its code.
func meanings() map[string]string {
	out := map[string]string{}
	for _, table := range []map[string]string{
		subagents.Codes(), dialect.Codes(), commands.Codes(), compile.Codes(),
	} {
		maps.Copy(out, table)
	}
	for _, c := range syntax.Codes() {
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
