package subagents

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"tercet/formats"
	"tercet/internal/dialect"
)

// AddForeign adds other tools' agents to the set. A project's agent replaces the shipped worker of
// its name and keeps that worker's contract; any other existing name stays. If several names become
// the same one, the agent written exactly so gets it, and the others get a number. Unused, renamed
// and unreadable agents are notes.
func (s *Set) AddForeign(
	folders []dialect.Folder,
	agent func(Definition) Agent,
) ([]formats.Diagnostic, error) {
	var notes []formats.Diagnostic
	var later []foreigner
	for _, p := range folders {
		for _, name := range p.AgentFiles() {
			a, found := foreign(p, name)
			notes = append(notes, found...)
			f := (foreigner{
				p:     p,
				file:  name,
				agent: a,
			})
			switch {
			case a == nil:
			case a.Hidden:
				notes = append(notes, f.note(dialect.CodeTaken,
					"agent "+a.Name+" is switched off or remote; this file is not used", ""))
			case a.Name != a.Declared:
				later = append(later, f)
			default:
				n, err := s.take(f, agent)
				notes = append(notes, n...)
				if err != nil {
					return notes, err
				}
			}
		}
	}

	for _, f := range later {
		n, err := s.take(f, agent)
		notes = append(notes, n...)
		if err != nil {
			return notes, err
		}
	}

	return notes, nil
}

// foreigner is an agent of another tool with its place.
type foreigner struct {
	p     dialect.Folder
	file  string
	agent *dialect.Agent
	of    string // the subagent that has its name, empty: none
}

func (f foreigner) note(code, text, help string) formats.Diagnostic {
	n := note(code, f.p, f.file, text)
	n.Subject = f.of
	n.Help = help
	if code == codeBuiltin {
		n.Severity = formats.SeverityError
	}
	return n
}

// OfNames reports whether a note is about a conflict of agents' names.
func OfNames(d formats.Diagnostic) bool {
	return d.Code == dialect.CodeTaken || d.Code == codeBuiltin ||
		d.Code == dialect.CodeName && d.Help != ""
}

// take gives an agent its name.
func (s *Set) take(
	f foreigner,
	agent func(Definition) Agent,
) (notes []formats.Diagnostic, _ error) {
	def := definition(f.agent)
	name := f.agent.Name
	written := f.agent.Declared
	old, taken := s.entries[name]
	again := s.declared[written] // the name of one that is written alike
	if again != "" {
		old = s.entries[again]
	}
	var there Definition
	if taken || again != "" {
		there = old.definition()
	}
	f.of = cmp.Or(there.Info.Name, name)
	project := f.p.Scope == dialect.Project
	switch {
	case again != "", taken && old.shipped && !project, taken && name == written && !old.shipped:
		return []formats.Diagnostic{f.note(
			dialect.CodeTaken,
			"subagent "+name+" is there already and stays; this file is not used",
			"it is "+there.File,
		)}, nil
	case there.Info.Builtin:
		return []formats.Diagnostic{f.note(
			codeBuiltin,
			fmt.Sprintf("subagent %q is built in and cannot be replaced; this file is not used",
				name),
			"give the agent another name",
		)}, nil
	case taken && old.shipped:
		def = def.as(there)
		s.stepAside(name, agent)
	case taken:
		for n := 2; taken; n++ {
			def.Info.Name = fmt.Sprintf("%s-%d", name, n)
			_, taken = s.entries[def.Info.Name]
		}
		notes = append(
			notes,
			f.note(
				dialect.CodeName,
				fmt.Sprintf("agent %q is called %s here: %s is %s",
					written, def.Info.Name, name, there.File),
				"rename one of the two",
			),
		)
	}

	s.declared[written] = def.Info.Name
	return notes, s.add(def, agent)
}

// as gives an agent the contract of the shipped worker in whose place it stands: the role, its
// inputs, its return, and how that is written.
func (d Definition) as(shipped Definition) Definition {
	own := d
	d = shipped
	d.Shipped = false
	d.File = own.File
	d.Src = own.Src
	d.Warnings = own.Warnings
	d.Model = own.Model
	d.Limits = own.Limits
	d.Info.File = own.File
	d.Info.Description = own.Info.Description
	d.Info.Tools = own.Info.Tools
	d.Info.Sum = ""
	d.Info.Commands = own.Info.Commands
	d.Unfollowed = own.Unfollowed
	d.Info.Timeout = cmp.Or(own.Info.Timeout, d.Info.Timeout)
	d.Facets.Persona = ""
	d.Facets.Instruction = own.Facets.Instruction
	return d
}

func note(code string, p dialect.Folder, name, text string) formats.Diagnostic {
	n := formats.AboutFile(code, p.Label+"/"+name, text, "")
	n.Severity = formats.SeverityWarning
	return n
}

// foreign reads one agent, nil if it cannot be read.
func foreign(p dialect.Folder, name string) (*dialect.Agent, []formats.Diagnostic) {
	src, err := dialect.ReadFile(p.FS, name)
	if err != nil {
		return nil, []formats.Diagnostic{note(formats.CodeIO.String(), p, name, err.Error())}
	}
	a, err := dialect.ParseAgent(p.Place, name, src)
	if d, ok := errors.AsType[*formats.Diagnostics](err); ok {
		return nil, d.List
	}
	if err != nil {
		return nil, []formats.Diagnostic{note(formats.CodeOf(err).String(), p, name, err.Error())}
	}
	return a, a.Warnings
}

// definition makes a subagent of an agent of another tool: any input, any return, with or without
// files, and the tools that its file grants.
func definition(a *dialect.Agent) Definition {
	def := Definition{
		Info: formats.AgentInfo{
			Name:        a.Name,
			Description: a.Description,
			Role:        formats.RoleUtility,
			Tools:       a.Tools,
			Commands:    a.Commands,
			File:        a.File,
			Timeout:     formats.Timeout{Total: time.Duration(a.Minutes) * time.Minute},
			Artifacts: []formats.ArtifactSpec{
				{Type: formats.ArtifactImplementation, Optional: true},
				{Type: formats.ArtifactDocumentation, Optional: true},
			},
		},
		Facets:     formats.Facets{Instruction: a.Text},
		Limits:     Limits{Turns: a.Turns},
		File:       a.File,
		Src:        a.Src,
		Warnings:   a.Warnings,
		Unfollowed: a.Unfollowed,
	}
	if formats.IsModel(a.Model) && a.Model != "inherit" &&
		(a.Dialect == dialect.Claude || a.Dialect == dialect.OpenCode ||
			a.Dialect == dialect.Gemini) {
		def.Model = map[string]string{a.Dialect.String(): a.Model}
	}
	return def
}
