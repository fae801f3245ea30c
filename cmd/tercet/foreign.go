package main

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/router"
	"tercet/subagents"
)

// tellShadows says when the file of another tool takes the place of one that a person may have meant.
func (w *world) tellShadows(r router.Route) {
	if r.Dialect != "" && len(r.Shadows) > 0 {
		w.app.term.note("/%s is %s/%s (%s); it shadows %s", r.Name, r.Source, r.File, r.Dialect,
			strings.Join(r.Shadows, ", "))
	}
}

// finder looks for the files of other tools around the project.
func (w *world) finder() *dialect.Finder {
	a := w.app
	h := dialect.Homes{
		Home: filepath.ToSlash(a.env("HOME")), Config: filepath.ToSlash(a.env("XDG_CONFIG_HOME")),
		Codex: filepath.ToSlash(a.env("CODEX_HOME")), OpenCode: filepath.ToSlash(a.env("OPENCODE_CONFIG_DIR")),
	}
	if h.Home != "" && h.Config == "" {
		h.Config = h.Home + "/.config"
	}
	if h.Home != "" && h.Codex == "" {
		h.Codex = h.Home + "/.codex"
	}
	return &dialect.Finder{Dir: w.dir, Homes: h, Sub: w.gate.FS, Note: func(text string) { a.noteOnce(text, text) }}
}

// noteOnce tells what would be told each time that files are listed, or a line is run.
func (a *app) noteOnce(key, text string) {
	if !a.told[key] {
		a.told[key] = true
		a.term.note("%s", text)
	}
}

// sourceOf is a folder of another tool as the router scans it.
func sourceOf(p dialect.Folder) router.Source {
	s := router.Source{
		Name: p.Label, FS: p.FS, Dialect: p.Dialect.String(), Scope: p.Scope.String(), Prefix: p.Extension, Command: p.Name,
	}
	if p.Skills {
		s.Depth = 1 // what else lies in the folder of a skill is the skill's
	}
	return s
}

// foreignAgents reads the agents of other tools. A name that a subagent has already, shipped ones and the project's own
// among them, is never taken; that, and what could not be read, is a note for who asks.
func (w *world) foreignAgents() error {
	for _, p := range w.finder().Agents() {
		for _, name := range p.AgentFiles() {
			if err := w.foreignAgent(p, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *world) foreignAgent(p dialect.Folder, name string) error {
	file := p.Label + "/" + name
	src, err := dialect.ReadFile(p.FS, name)
	if err != nil {
		w.agentNotes = append(w.agentNotes, note(formats.CodeIO.String(), file, err.Error()))
		return nil
	}
	a, err := dialect.ParseAgent(p.Place, name, src)
	if err != nil {
		if d, ok := errors.AsType[*formats.Diagnostics](err); ok {
			w.agentNotes = append(w.agentNotes, d.List...)
		}
		return nil
	}
	w.agentNotes = append(w.agentNotes, a.Warnings...)
	if _, taken := w.set.Agent(a.Name); taken || a.Hidden {
		text := "subagent " + a.Name + " is there already and stays; this file is not used"
		if a.Hidden {
			text = "agent " + a.Name + " is switched off or remote; this file is not used"
		}
		w.agentNotes = append(w.agentNotes, note(dialect.CodeTaken, file, text))
		return nil
	}
	def := definition(a)
	return w.set.Add(def, w.agent(def))
}

func note(code, file, text string) formats.Diagnostic {
	return formats.Diagnostic{
		Code: code, Severity: formats.SeverityWarning, File: file,
		Pos: formats.Pos{Line: 1, Col: 1}, Message: text,
	}
}

// definition makes a subagent of an agent of another tool: any input, any return, with or without files, and the tools
// that its file grants.
func definition(a *dialect.Agent) subagents.Definition {
	types := []formats.ArtifactType{formats.ArtifactImplementation, formats.ArtifactDocumentation}
	def := subagents.Definition{
		Info: formats.AgentInfo{
			Name: a.Name, Description: a.Description, Role: formats.RoleUtility, Tools: a.Tools, File: a.File,
			Timeout:   formats.Timeout{Total: time.Duration(a.Minutes) * time.Minute},
			Artifacts: []formats.ArtifactSpec{{Type: types[0]}, {Type: types[1]}},
		},
		Optional: types,
		Facets:   formats.Facets{Instruction: a.Text}, Limits: subagents.Limits{Turns: a.Turns},
		File: a.File, Src: a.Src, Warnings: a.Warnings,
	}
	if a.Model != "" && a.Model != "inherit" &&
		(a.Dialect == dialect.Claude || a.Dialect == dialect.OpenCode || a.Dialect == dialect.Gemini) {
		def.Model = map[string]string{a.Dialect.String(): a.Model}
	}
	return def
}

// ofProject tells whether a place of another tool came with the project: a plugin may lie in it as well.
func ofProject(p dialect.Place) bool { return p.Scope != dialect.User && fs.ValidPath(p.Dir) }
