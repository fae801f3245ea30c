package main

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/commands/argspec"
	"tercet/commands/lint"
	"tercet/commands/outline"
	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/lazy"
	"tercet/internal/nearest"
	"tercet/internal/pages"
	"tercet/internal/plain"
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
			return c.drawn(*format)
		}

		code := strings.ToUpper(c.args[0])
		if len(c.args) == 1 && formats.IsDiagnosticCode(code) {
			return c.explainCode(code)
		} else if p, ok := pages.Explain(code); ok {
			c.explainFailure(p)
			return nil
		} else if len(c.args) == 1 && likeCode().MatchString(c.args[0]) {
			return c.explainCode(code)
		}

		if err := c.needSession(); err != nil {
			return err
		}
		e, err := c.explained()
		if err != nil {
			return err
		}

		doc := e.Record()
		if e.prompt != nil {
			doc["dialect"] = e.prompt.Dialect
			doc["rules"] = e.prompt.Rules()
			doc["marks"] = e.prompt.Marks()
		}
		switch {
		case c.app.document("tercet.explain/1", doc):
		case *tiers:
			c.app.term.Answer("%s", plain.Passage(c.app.term.Wrapped(e.Tiered())))
		default:
			c.app.term.Answer("%s", plain.Passage(c.app.term.Wrapped(e.Text())))
		}

		return nil
	}
}

// likeCode is the form of a code, which no other word has.
var likeCode = lazy.Regexp(`^[EWew][0-9]+$|^[A-Z_]{4,}$`)

// explanation is the page of a command.
type explanation struct {
	*outline.Page
	prompt *dialect.Command // of another tool, nil for tercet's own
}

// explained compiles the file that is named, or the one that the line is routed to, and binds the
// line's arguments.
func (c call) explained() (*explanation, error) {
	args := c.args
	info, err := os.Stat(args[0])
	var e *explanation
	switch {
	case err == nil && len(args) == 1 && !info.IsDir():
		e, err = c.ofFile(args[0])
	case strings.ContainsAny(args[0], "./\\") && !strings.HasPrefix(args[0], "/"):
		err = formats.Fail(formats.CodeUsage,
			"write the path of a file that exists, or a line such as \"/plan 196\"",
			"expected a slash command or a file, got %q, which is neither", args[0])
	default:
		e, err = c.ofLine(args)
	}
	if err != nil {
		return nil, err
	}
	if ask := c.s.AsksBefore(e.File.Name); ask != "" {
		e.Asks = slices.Insert(e.Asks, 0, "trust: "+ask)
	}
	return e, nil
}

// ofFile compiles the command in a file.
func (c call) ofFile(name string) (*explanation, error) {
	src, err := lint.Read(name)
	if err != nil {
		return nil, err
	}
	if lint.Subagent(src) && !lint.Foreign(name) {
		return nil, formats.Fail(formats.CodeUsage,
			"'tercet lint' checks it, and 'tercet prompt' shows its prompt",
			"expected a command file, got %q, which is a subagent", name)
	}
	prog, err := c.s.Library.Compile(name, src)
	if err != nil {
		return nil, err
	}
	return &explanation{Page: outline.PageOf(c.s.Lowered(prog), c.s.Facts)}, nil
}

// ofLine compiles the command that a line is routed to. The slash of its name may be missing:
// nothing else can be meant by a bare name.
func (c call) ofLine(args []string) (*explanation, error) {
	if !strings.HasPrefix(args[0], "/") {
		args = append([]string{"/" + args[0]}, args[1:]...)
	}
	line := shellLine(args)
	r, err := c.p.Table.Route(line)
	if err != nil {
		return nil, err
	}

	prog, prompt, err := c.s.Library.Load(r.Source, r.File)
	if err != nil {
		return nil, err
	}
	e := &explanation{Page: outline.PageOf(c.s.Lowered(prog), c.s.Facts), prompt: prompt}
	bare := r.Raw == "" && len(r.Words) == 0
	switch { // without arguments it is the command itself that is explained
	case prompt != nil:
		inv := formats.Invocation{
			Source:  r.Source,
			File:    r.File,
			Session: "SESSION",
		}
		e.Prompt, err = prompt.Explain(dialect.Args{
			Raw:   cmp.Or(r.Raw, rest(r.Words)),
			Words: r.Words,
			Vars:  c.s.Library.Variables(inv),
		}, bare)
	case !bare:
		var v argspec.Values
		if v, err = argspec.Bind(r.Name, prog.Args, r.Raw, r.Words); err == nil {
			prog, err = c.s.Library.Settled(c.ctx, r.Name, prog, v)
		}
		if err == nil {
			e.Page = outline.PageOf(c.s.Lowered(prog), c.s.Facts)
			err = e.For(rest(args), v, c.s.Facts)
			e.Missing = c.s.Library.Missing(c.ctx, prog, v)
		}
	}

	return e, err
}

// drawn draws what a command file was compiled to.
func (c call) drawn(format string) (err error) {
	if err := c.needSession(); err != nil {
		return err
	}
	e, err := c.explained()
	if err != nil {
		return err
	}
	text, ok := e.Draw(format)
	if !ok {
		_, err := formats.OneOf("--format dot, mermaid", format, []string{"dot", "mermaid"})
		return err
	}
	if !c.app.document("tercet.graph/1", fields{
		"command": e.Name, "file": e.File.Name, "format": format, "text": text,
	}) {
		c.app.term.Raw([]byte(text))
	}
	return nil
}

// explainFailure says what a code of failures means, which exit status it has and what to do.
func (c call) explainFailure(p pages.Code) {
	exit := formats.ExitFor(formats.Code(p.Code))
	if !c.app.document("tercet.code/1", fields{
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
		return formats.Fail(formats.CodeUsage, nearest.Help(code, names),
			"no diagnostic has the code %s, and no failure", code)
	}

	p := all[i]
	if !c.app.document("tercet.code/1", fields{
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
