package main

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/nearest"
	"tercet/internal/pages"
	"tercet/internal/plain"
	"tercet/project"
)

// explainVerb says what a command would do, or what a diagnostic means.
func explainVerb(cmd *cobra.Command, _ *app) run {
	tiers := cmd.Flags().Bool(
		"tiers",
		false,
		"the steps of each tier in the order in which they run",
	)
	graph := cmd.Flags().Bool(
		"graph",
		false,
		"draw the steps instead, as text for Mermaid or Graphviz",
	)
	format := cmd.Flags().String("format", "mermaid", "with --graph: dot or mermaid")
	return func(c call) (err error) {
		switch {
		case *graph && *tiers:
			return usage("expected --graph or --tiers, got both")
		case !*graph && cmd.Flags().Changed("format"):
			return usage("expected --graph with --format")
		case *graph:
			return c.drawGraph(*format)
		}

		code := strings.ToUpper(c.args[0])
		if len(c.args) == 1 && formats.IsDiagnosticCode(code) {
			return c.explainCode(code)
		} else if p, ok := pages.Explain(code); ok {
			c.explainFailure(p)
			return nil
		} else if len(c.args) == 1 && looksLikeCode(c.args[0]) {
			return c.explainCode(code)
		}

		if err := c.needSession(); err != nil {
			return err
		}
		e, err := c.outline()
		if err != nil {
			return err
		}

		switch {
		case c.app.answerJSON("tercet.explain/1", e.Record()):
		case *tiers:
			c.app.term.Answer("%s", plain.Passage(c.app.term.Wrapped(e.Page.Tiered())))
		default:
			c.app.term.Answer("%s", plain.Passage(c.app.term.Wrapped(e.Page.Text())))
		}

		return nil
	}
}

// looksLikeCode tells whether a word has the form of a code, which no other word has: E300, or
// NOT_FOUND.
func looksLikeCode(word string) bool {
	number := strings.TrimLeft(word, "EWew")
	oneLetter := len(number) == len(word)-1
	if oneLetter && number != "" && strings.Trim(number, "0123456789") == "" {
		return true
	}
	return len(word) >= 4 && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
}

// outline explains the file that is named, or the line. The slash of a line's command may be
// missing: nothing else can be meant by a bare name.
func (c call) outline() (*project.Outline, error) {
	args := c.args
	info, err := os.Stat(args[0])
	switch {
	case err == nil && len(args) == 1 && !info.IsDir():
		return c.s.ExplainFile(args[0])
	case strings.HasPrefix(args[0], "/"):
	case strings.ContainsAny(args[0], "./\\"):
		return nil, formats.Fail(formats.CodeUsage,
			"write the path of a file that exists, or a line such as \"/plan 196\"",
			"expected a slash command or a file, got %q, which is neither", args[0])
	default:
		args = append([]string{"/" + args[0]}, args[1:]...)
	}
	return c.s.Explain(c.ctx, shellLine(args))
}

// drawGraph prints the graph of a compiled command.
func (c call) drawGraph(format string) (err error) {
	if err := c.needSession(); err != nil {
		return err
	}
	e, err := c.outline()
	if err != nil {
		return err
	}

	text, ok := e.Page.Draw(format)
	if !ok {
		_, err := formats.OneOf("--format dot, mermaid", format, []string{"dot", "mermaid"})
		return err
	}

	if !c.app.answerJSON("tercet.graph/1", fields{
		"command": e.Page.Name, "file": e.Page.File.Name, "format": format, "text": text,
	}) {
		c.app.term.Raw([]byte(text))
	}
	return nil
}

// explainFailure says what a code of failures means, which exit status it has and what to do.
func (c call) explainFailure(p pages.Code) {
	exit := formats.ExitFor(formats.Code(p.Code))
	if !c.app.answerJSON("tercet.code/1", fields{
		"code":    p.Code,
		"meaning": p.Means,
		"exit":    exit,
		"do":      p.Do,
	}) {
		text := sprintf("%s: exit status %d\n\n%s\n\n%s", p.Code, exit, p.Means, p.Do)
		c.app.term.Answer("%s", plain.Passage(c.app.term.Wrapped(text)))
	}
}

// explainCode prints the page of a diagnostic.
func (c call) explainCode(code string) error {
	all, err := pages.All()
	if err != nil {
		return err
	}

	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.Code
	}
	i := slices.Index(names, code)
	if i < 0 {
		for _, p := range pages.Codes() {
			names = append(names, p.Code)
		}
		help := cmp.Or(nearest.Help(code, names),
			"a code is one that lint or a failure shows, such as E300")
		return formats.Fail(formats.CodeUsage, help,
			"no diagnostic has the code %s, and no failure", code)
	}

	p := all[i]
	if !c.app.answerJSON("tercet.code/1", fields{
		"code":    code,
		"meaning": p.Means,
		"text":    p.Text,
		"wrong":   p.Wrong.String(),
		"line":    p.Wrong.Line,
		"right":   p.Right.String(),
	}) {
		text := c.app.term.Wrapped(sprintf("%s: %s\n\n%s", code, p.Means, p.Text))
		c.app.term.Answer("%s\n\nwrong:\n\n%s\nright:\n\n%s", plain.Passage(text),
			plain.Passage(p.Wrong.Shown()), plain.Passage(p.Right.Shown()))
	}
	return nil
}
