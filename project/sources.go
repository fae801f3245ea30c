package project

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"tercet/commands/lint"
	"tercet/commands/outline"
	"tercet/formats"
	"tercet/internal/order"
)

// SourceFile is a command or subagent file.
type SourceFile struct {
	Path     string // in the project, or "library/..." for one of tercet's own
	Name     string // of the command, with its slash, or of the subagent
	Own      bool   // of the project; others came with tercet or lie in the user's folders
	Subagent bool
}

// SourceText is such a file with its text.
type SourceText struct {
	SourceFile

	Text     string
	Findings []formats.Diagnostic
	// Outline has the steps of a command; nil: it is no command, or does not compile.
	Outline *Outline
}

// Sources lists the command and subagent files, those of the project first.
func (s *Session) Sources() []SourceFile {
	p := s.Project
	var out []SourceFile
	for _, e := range p.Table.Files() {
		out = append(out, SourceFile{
			Path: path.Join(e.Source, e.File),
			Name: "/" + e.Name,
			Own:  p.isOwnSource[e.Source],
		})
	}

	for _, source := range p.subagentSources() {
		names, err := fs.Glob(source.FS, "*.md")
		if err != nil {
			continue // the pattern is no such error
		}
		for _, name := range names {
			out = append(out, SourceFile{
				Path:     path.Join(source.Name, name),
				Name:     strings.TrimSuffix(name, ".md"),
				Own:      strings.HasPrefix(source.Name, formats.Workspace+"/"),
				Subagent: true,
			})
		}
	}

	order.Stable(out, func(a, b SourceFile) int {
		switch {
		case a.Own != b.Own && a.Own:
			return -1
		case a.Own != b.Own:
			return 1
		case a.Subagent != b.Subagent && b.Subagent:
			return -1
		case a.Subagent != b.Subagent:
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}

// Source reads one of Sources by its path, and checks it.
func (s *Session) Source(name string) (SourceText, error) {
	list := s.Sources()
	at := slices.IndexFunc(list, func(f SourceFile) bool { return f.Path == name })
	if at < 0 {
		return SourceText{}, formats.Fail(formats.CodeNotFound, "",
			"no command or subagent file is named %q", name)
	}

	out := SourceText{SourceFile: list[at]}
	text, err := s.readSource(out.SourceFile)
	if err != nil {
		return out, err
	}
	out.Text = s.Project.Mask.Values(string(text))
	if out.Own {
		out.Findings = s.lintOwn(name, text, out.Subagent || lint.Subagent(text))
	}
	if !out.Subagent {
		out.Outline = s.outlineOf(out.SourceFile)
	}
	return out, nil
}

// outlineOf is the outline of a command file; nil if it does not compile.
func (s *Session) outlineOf(f SourceFile) *Outline {
	for _, e := range s.Project.Table.Files() {
		if path.Join(e.Source, e.File) != f.Path {
			continue
		}
		prog, prompt, err := s.Library.Load(e.Source, e.File)
		if err != nil {
			return nil
		}
		return &Outline{Page: outline.PageOf(s.Lowered(prog), s.Facts), prompt: prompt}
	}
	return nil
}

// OutlineStep is a step of a command as a row of a list.
type OutlineStep struct {
	Depth int
	ID    string // behind its role, if it has one
	Does  string // its kind and object
	When  string // its condition; empty: it always runs
	Line  int    // in the file
	Ways  []string
}

// StepList lists the steps of a command from top to bottom.
func (o *Outline) StepList() []OutlineStep {
	var out []OutlineStep
	var add func(list []*outline.Node, depth int)
	add = func(list []*outline.Node, depth int) {
		for _, n := range list {
			step := OutlineStep{
				Depth: depth,
				ID:    strings.TrimSpace(n.Role + " " + n.Info.ID),
				Does:  strings.TrimSpace(n.Kind + " " + n.Does),
				Line:  n.Info.Step.Pos.Line,
			}
			if n.Info.Step.When != nil {
				step.When = n.Condition()
			}
			for _, w := range n.Ways {
				step.Ways = append(step.Ways, w.String())
			}
			out = append(out, step)
			add(n.Children, depth+1)
		}
	}

	add(o.Page.Steps, 0)
	add(o.Page.Errors, 0)
	return out
}

func (s *Session) readSource(f SourceFile) ([]byte, error) {
	if !f.Subagent {
		for _, e := range s.Project.Table.Files() {
			if path.Join(e.Source, e.File) == f.Path {
				return s.Project.open(e.Source, e.File)
			}
		}
	}

	for _, source := range s.Project.subagentSources() {
		if path.Dir(f.Path) == source.Name {
			return fs.ReadFile(source.FS, path.Base(f.Path))
		}
	}
	return nil, fs.ErrNotExist
}
