package project

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"tercet/commands"
	"tercet/commands/argspec"
	"tercet/commands/lint"
	"tercet/commands/outline"
	"tercet/formats"
	"tercet/internal/dialect"
)

// Outline is what a command would do: its steps, its worst case, its effects and questions. With
// the arguments of a line it is what that line would do.
type Outline struct {
	Page   *outline.Page
	prompt *dialect.Command // of another tool; nil for a command of tercet's own
}

// Record is the outline as a JSON object.
func (o *Outline) Record() map[string]any {
	doc := o.Page.Record()
	if o.prompt != nil {
		doc["dialect"] = o.prompt.Dialect
		doc["rules"] = o.prompt.Rules()
		doc["marks"] = o.prompt.Marks()
	}
	return doc
}

// Explain says what a line would do; without arguments, what its command would do. It runs nothing.
// Page.Missing is set if the line names a task or file that does not exist.
func (s *Session) Explain(ctx context.Context, line Line) (*Outline, error) {
	r, err := s.Project.Table.Route(line)
	if err != nil {
		return nil, err
	}
	prog, prompt, err := s.Library.Load(r.Source, r.File)
	if err != nil {
		return nil, err
	}

	o := &Outline{Page: outline.PageOf(s.Lowered(prog), s.Facts), prompt: prompt}
	bare := r.Raw == "" && len(r.Words) == 0
	switch {
	case prompt != nil:
		inv := formats.Invocation{
			Source:  r.Source,
			File:    r.File,
			Session: "SESSION",
		}
		o.Page.Prompt, err = prompt.Explain(dialect.Args{
			Raw:   cmp.Or(r.Raw, strings.Join(r.Words, " ")),
			Words: r.Words,
			Vars:  s.Library.Variables(inv),
		}, bare)
	case !bare:
		var v argspec.Values
		v, err = argspec.Bind(r.Name, prog.Args, r.Raw, r.Words)
		if err == nil {
			prog, err = s.Library.ResolveSubagents(ctx, r.Name, prog, v)
		}
		if err == nil {
			o.Page = outline.PageOf(s.Lowered(prog), s.Facts)
			err = o.Page.For(cmp.Or(line.Raw, strings.Join(line.Words, " ")), v, s.Facts)
			o.Page.Missing = s.Library.Missing(ctx, prog, v)
		}
	}

	if err != nil {
		return nil, err
	}
	s.addTrustQuestion(o)
	return o, nil
}

// ExplainFile says what the command in a file would do. The file need not be one of the project.
func (s *Session) ExplainFile(name string) (*Outline, error) {
	src, err := lint.Read(name)
	if err != nil {
		return nil, err
	}
	if lint.Subagent(src) && !lint.Foreign(s.Library, name) {
		return nil, formats.Fail(formats.CodeUsage,
			"'tercet lint' checks it, and 'tercet prompt' shows its prompt",
			"expected a command file, got %q, which is a subagent", name)
	}

	prog, err := s.Library.Compile(name, src)
	if err != nil {
		return nil, err
	}
	o := &Outline{Page: outline.PageOf(s.Lowered(prog), s.Facts)}
	s.addTrustQuestion(o)
	return o, nil
}

// addTrustQuestion puts the question about trust before the others, if it would be asked.
func (s *Session) addTrustQuestion(o *Outline) {
	if ask := s.TrustQuestion(o.Page.File.Name); ask != "" {
		o.Page.Asks = slices.Insert(o.Page.Asks, 0, "trust: "+ask)
	}
}

// HelpText is the help of the command that a route leads to.
func (s *Session) HelpText(r Route) (string, error) {
	return s.Catalog.TextOf(entryOf(r))
}

// EngineFlags gives the flags of tercet itself that stand behind the command of a line, if the
// command has no such flags. The error is that of the line.
func (s *Session) EngineFlags(r Route) ([]string, error) {
	return s.Library.EngineFlags(entryOf(r), r.Raw, r.Words)
}

func entryOf(r Route) commands.Entry {
	return commands.Entry{
		Name:   r.Name,
		File:   r.File,
		Source: r.Source,
	}
}
