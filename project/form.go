package project

import (
	"context"
	"slices"
	"strings"

	"tercet/commands/argspec"
	"tercet/formats"
)

// Argument is one argument of a command, for a form.
type Argument struct {
	formats.ArgumentInfo

	DefaultText string   // the default as it is written on a line
	Offers      []string // names that fit: subagents
}

// Form is a command with its arguments.
type Form struct {
	Name        string
	Description string
	Usage       string
	File        string
	Examples    []string
	Arguments   []Argument
	// Free says how the words behind a command of another tool are read; such a command has no
	// arguments. Empty for others.
	Free string

	specs []argspec.Spec
}

// Form describes the command of a name, with or without its slash.
func (s *Session) Form(name string) (*Form, error) {
	route, err := s.Project.Table.Route(Line{Words: []string{"/" + strings.TrimPrefix(name, "/")}})
	if err != nil {
		return nil, err
	}
	prog, prompt, err := s.Library.Load(route.Source, route.File)
	if err != nil {
		return nil, err
	}

	f := &Form{Name: route.Name, File: route.Source + "/" + route.File}
	if prompt != nil {
		f.Description = prompt.Description
		f.Usage = prompt.Usage()
		f.Free = prompt.Rules()
		return f, nil
	}

	f.Description = prog.File.Front.Description.Text
	f.Usage = argspec.Usage(route.Name, prog.Args)
	f.Examples = prog.File.Front.Examples
	f.specs = prog.Args

	for i := range prog.Args {
		spec := &prog.Args[i]
		a := Argument{ArgumentInfo: spec.Info(), DefaultText: spec.Text(spec.Default)}
		if spec.Type == argspec.Subagent || spec.Complete == "subagents" {
			a.Offers = s.Set.Names()
		}
		f.Arguments = append(f.Arguments, a)
	}
	return f, nil
}

// Line is the line that values make, by the names of their arguments, and what is wrong with a
// value, by the same names. An empty value is left out. Of a command of another tool the values of
// "" are its words.
func (f *Form) Line(values map[string][]string) (line string, wrong map[string]string) {
	wrong = map[string]string{}
	var specs []argspec.Spec
	var texts []string
	for _, spec := range f.specs {
		given := slices.DeleteFunc(slices.Clone(values[spec.Name]), func(text string) bool {
			return text == ""
		})
		if len(given) == 0 {
			given = []string{""} // what follows must not take its place
		}

		for _, text := range given {
			if bad := spec.Check(text); bad != "" && text != "" {
				wrong[spec.Name] = bad
			}
			specs = append(specs, spec)
			texts = append(texts, text)
		}
	}

	raw, _ := argspec.Fill(specs, texts)
	if f.Free != "" {
		raw = strings.Join(values[""], " ")
	}
	return strings.TrimSpace("/" + f.Name + " " + raw), wrong
}

// Check is the error of a line, as Start has it; nil: its arguments fit. It looks at no task and no
// file.
func (f *Form) Check(line string) error {
	if f.Free != "" {
		return nil
	}
	_, rest, _ := strings.Cut(line, " ")
	_, err := argspec.Bind(f.Name, f.specs, rest, nil)
	return err
}

// Paths are the files of the project that git does not ignore.
func (s *Session) Paths(ctx context.Context) []string {
	return s.Project.files(ctx)
}
