package main

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/nearest"
)

// The pages about diagnostics: a line `# CODE`, what it means, an example that brings it about (`! frame`, the line with the
// finding marked by >) and one that does not (`+ frame`). A frame says what the example is a part of.
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
	Frame string // step, front, args, flow, file, worker, agent, agentfile, builtin, plan, document PROFILE, return, strict, result
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
		if len(line) > 1 && line[1] == ' ' {
			mark, rest = line[:1], line[2:]
		} else if len(line) == 1 {
			mark = line
		}
		switch {
		case mark == "#":
			out = append(out, page{Code: rest})
			into = nil
		case len(out) == 0:
		case mark == "!":
			into = &out[len(out)-1].Wrong
			into.Frame = rest
		case mark == "+":
			into = &out[len(out)-1].Right
			into.Frame = rest
		case into == nil:
			out[len(out)-1].Text = strings.TrimSpace(out[len(out)-1].Text + " " + line)
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
func (a *app) explainCode(code string) error {
	all, err := pages()
	if err != nil {
		return err
	}
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.Code
		if p.Code != code {
			continue
		}
		meaning := meaningOf(code)
		if a.flags.json {
			a.term.json(map[string]any{"schema": "tercet.code/1", "code": code, "meaning": meaning, "text": p.Text, "wrong": p.Wrong.String(), "line": p.Wrong.Line, "right": p.Right.String()})
			return nil
		}
		a.term.answer("%s: %s\n\n%s\n\nwrong:\n\n%s\nright:\n\n%s", code, meaning, passage(p.Text), passage(p.Wrong.shown()), passage(p.Right.shown()))
		return nil
	}
	return &formats.Failure{Code: formats.CodeUsage, Message: fmt.Sprintf("no diagnostic has the code %s", code), Help: nearest.Help(code, names)}
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
