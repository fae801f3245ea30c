package subagents

import (
	"errors"
	"time"

	"tercet/formats"
	"tercet/internal/dialect"
)

// AddForeign reads the agents of other tools into the set. A name that is there already, shipped ones and the project's
// own among them, is never taken; that, and what could not be read, is a note for who asks.
func (s *Set) AddForeign(folders []dialect.Folder, agent func(Definition) Agent) ([]formats.Diagnostic, error) {
	var notes []formats.Diagnostic
	for _, p := range folders {
		for _, name := range p.AgentFiles() {
			a, found := foreign(p, name)
			notes = append(notes, found...)
			if a == nil {
				continue
			}
			_, taken := s.Agent(a.Name)
			switch def := definition(a); {
			case a.Hidden:
				notes = append(notes, note(dialect.CodeTaken, p, name,
					"agent "+a.Name+" is switched off or remote; this file is not used"))
			case taken:
				notes = append(notes, note(dialect.CodeTaken, p, name,
					"subagent "+a.Name+" is there already and stays; this file is not used"))
			default:
				if err := s.Add(def, agent(def)); err != nil {
					return notes, err
				}
			}
		}
	}
	return notes, nil
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

// definition makes a subagent of an agent of another tool: any input, any return, with or without files, and the tools
// that its file grants.
func definition(a *dialect.Agent) Definition {
	def := Definition{
		Info: formats.AgentInfo{
			Name: a.Name, Description: a.Description, Role: formats.RoleUtility, Tools: a.Tools, File: a.File,
			Timeout: formats.Timeout{Total: time.Duration(a.Minutes) * time.Minute},
			Artifacts: []formats.ArtifactSpec{
				{Type: formats.ArtifactImplementation, Optional: true}, {Type: formats.ArtifactDocumentation, Optional: true},
			},
		},
		Facets: formats.Facets{Instruction: a.Text}, Limits: Limits{Turns: a.Turns},
		File: a.File, Src: a.Src, Warnings: a.Warnings,
	}
	if formats.IsModel(a.Model) && a.Model != "inherit" &&
		(a.Dialect == dialect.Claude || a.Dialect == dialect.OpenCode || a.Dialect == dialect.Gemini) {
		def.Model = map[string]string{a.Dialect.String(): a.Model}
	}
	return def
}
