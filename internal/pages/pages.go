// Package pages holds the explanation of each diagnostic: a text, an example that causes it and one
// that does not.
//
// Promise: all pages are embedded in the binary, in the order of their codes. It checks no example.
//
// Concurrency: its functions are pure.
package pages

import (
	"embed"
	"strings"

	"tercet/internal/order"
)

// The pages about diagnostics: a line `# CODE MEANING`, a text, an example that brings it about (`!
// frame`, the line with the finding marked by >) and one that does not (`+ frame`). A frame says
// what the example is a part of.
//
//go:embed text/*.txt
var pageFiles embed.FS

// Page explains one diagnostic.
type Page struct {
	Code  string
	Means string // one line
	Text  string
	Wrong Example
	Right Example
}

// Example is a piece of a file; Line is the marked line, from 1, or 0 for none.
type Example struct {
	// Frame is one of step, front, args, flow, file, worker, agent, agentfile, builtin, plan,
	// document PROFILE, return, strict, result, config, scenario, pack.
	Frame string
	Lines []string
	Line  int
}

// String is the piece as a text.
func (e Example) String() string {
	return strings.Join(e.Lines, "\n") + "\n"
}

// All reads all pages, in the order of their codes.
func All() ([]Page, error) {
	entries, err := pageFiles.ReadDir("text")
	if err != nil {
		return nil, err
	}

	var out []Page
	for _, e := range entries {
		text, err := pageFiles.ReadFile("text/" + e.Name())
		if err != nil {
			return nil, err
		}
		out = append(out, readPages(string(text))...)
	}
	order.Stable(out, func(a, b Page) int {
		return strings.Compare(a.Code, b.Code)
	})
	return out, nil
}

// readPages reads the pages of a file: see pageFiles for its marks.
func readPages(text string) []Page {
	var out []Page
	var into *Example
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		mark := ""
		rest := ""
		if len(line) == 1 || len(line) > 1 && line[1] == ' ' {
			mark = line[:1]
			rest = line[min(2, len(line)):]
		}
		if mark == "#" {
			code, means, _ := strings.Cut(rest, " ")
			out = append(out, Page{Code: code, Means: means})
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

// Shown formats an example: indented, with an arrow at the marked line.
func (e Example) Shown() string {
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
