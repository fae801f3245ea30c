package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/router"
	"tercet/subagents"
)

// places are the folders of other tools that are there: those of the project, read through its root so that no link leads
// out of it, and those of the person.
type places struct {
	sources []router.Source
	trees   map[string]fs.FS
	places  map[string]dialect.Place
}

// tellShadows says when the file of another tool takes the place of one that a person may have meant.
func (w *world) tellShadows(r router.Route) {
	if r.Dialect != "" && len(r.Shadows) > 0 {
		w.app.term.note("/%s is %s/%s (%s); it shadows %s", r.Name, r.Source, r.File, r.Dialect, strings.Join(r.Shadows, ", "))
	}
}

// homes are the person's folders.
func (a *app) homes() dialect.Homes {
	h := dialect.Homes{Home: filepath.ToSlash(a.env("HOME")), Config: filepath.ToSlash(a.env("XDG_CONFIG_HOME")), Codex: filepath.ToSlash(a.env("CODEX_HOME")), OpenCode: filepath.ToSlash(a.env("OPENCODE_CONFIG_DIR"))}
	if h.Home != "" && h.Config == "" {
		h.Config = h.Home + "/.config"
	}
	if h.Home != "" && h.Codex == "" {
		h.Codex = h.Home + "/.codex"
	}
	return h
}

// foreign lists the folders with commands of other tools. root is the project's.
func (a *app) foreign(dir string, root *os.Root) places {
	out := places{trees: map[string]fs.FS{}, places: map[string]dialect.Place{}}
	for _, p := range a.commandPlaces(dir, root) {
		out.trees[p.Label], out.places[p.Label] = p.tree, p.Place
		out.sources = append(out.sources, p.source())
	}
	return out
}

// presentPlace is a place that is there, with its files.
type presentPlace struct {
	dialect.Place
	tree fs.FS
}

// source is the place as the router scans it.
func (p presentPlace) source() router.Source {
	s := router.Source{Name: p.Label, FS: p.tree, Dialect: p.Dialect.String(), Scope: p.Scope.String(), Prefix: p.Extension, Command: p.Name}
	if p.Skills {
		s.Depth = 1 // what else lies in the folder of a skill is the skill's
	}
	return s
}

// present leaves out the places that are not there, and the person's where the project root is the home folder.
func (a *app) present(dir string, root *os.Root, list []dialect.Place) []presentPlace {
	var out []presentPlace
	for _, p := range list {
		var tree fs.FS
		if p.Scope == dialect.Project {
			tree = rooted{root: root.FS(), dir: p.Dir}
		} else {
			if folder := filepath.FromSlash(p.Dir); filepath.IsAbs(folder) && !within(folder, dir) {
				tree = os.DirFS(folder)
			}
		}
		if tree == nil {
			continue
		}
		if info, err := fs.Stat(tree, "."); err == nil && info.IsDir() {
			out = append(out, presentPlace{p, tree})
		}
	}
	return out
}

// within tells whether a folder of the person is one of the project's: the project root is the home folder.
func within(folder, dir string) bool {
	rel, err := filepath.Rel(dir, folder)
	return err == nil && slices.ContainsFunc(append(dialect.Commands(dialect.Homes{}), dialect.AgentPlaces(dialect.Homes{})...), func(p dialect.Place) bool {
		return p.Dir == filepath.ToSlash(rel)
	})
}

// rooted is a folder inside a project root; links that leave the root are refused.
type rooted struct {
	root fs.FS
	dir  string
}

// Open opens a file or a folder. Anything else, such as a pipe that nobody writes to, would hold the reader up.
func (r rooted) Open(name string) (fs.File, error) {
	info, err := r.Stat(name)
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path.Join(r.dir, name), Err: errNoFile}
	}
	if err != nil {
		return nil, err
	}
	return r.root.Open(path.Join(r.dir, name))
}

// Stat follows links inside the root.
func (r rooted) Stat(name string) (fs.FileInfo, error) {
	return fs.Stat(r.root, path.Join(r.dir, name))
}

func (r rooted) ReadDir(name string) ([]fs.DirEntry, error) {
	return fs.ReadDir(r.root, path.Join(r.dir, name))
}

// foreignAgents reads the agents of other tools. A name that a subagent has already, shipped ones and the project's own among
// them, is never taken; that, and what could not be read, is a note for who asks.
func (w *world) foreignAgents() error {
	places := append(w.app.present(w.dir, w.root, dialect.AgentPlaces(w.app.homes())), w.app.plugins(w.dir, w.root, true)...)
	for _, p := range places {
		if err := p.agentFiles(func(name string) error { return w.foreignAgent(p, name) }); err != nil {
			return err
		}
	}
	return nil
}

// agentFiles gives the agent files of a place to do.
func (p presentPlace) agentFiles(do func(name string) error) error {
	files := 0
	return fs.WalkDir(p.tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // a folder of another tool that cannot be read costs its agents, no command
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || strings.Count(name, "/") >= router.MaxFolders):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		if _, ok := p.IsAgent(name); !ok {
			return nil
		}
		if files++; files > maxAgents {
			return fs.SkipAll
		}
		return do(name)
	})
}

// maxAgents bounds how many agent files of a place of another tool are read.
const maxAgents = 500

// errNoFile says that something is there which is neither a file nor a folder.
var errNoFile = errors.New("expected a file or a folder")

func (w *world) foreignAgent(p presentPlace, name string) error {
	file := p.Label + "/" + name
	src, err := readSome(p.tree, name)
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
	return formats.Diagnostic{Code: code, Severity: formats.SeverityWarning, File: file, Pos: formats.Pos{Line: 1, Col: 1}, Message: text}
}

// definition makes a subagent of an agent of another tool: any input, any return, with or without files, and the tools that
// its file grants.
func definition(a *dialect.Agent) subagents.Definition {
	types := []formats.ArtifactType{formats.ArtifactImplementation, formats.ArtifactDocumentation}
	def := subagents.Definition{
		Info: formats.AgentInfo{
			Name: a.Name, Description: a.Description, Role: formats.RoleUtility, Tools: a.Tools, File: a.File,
			Timeout:   formats.Timeout{Total: time.Duration(a.Minutes) * time.Minute},
			Artifacts: []formats.ArtifactSpec{{Type: types[0]}, {Type: types[1]}},
		},
		Optional: types,
		Facets:   formats.Facets{Instruction: a.Text}, Limits: subagents.Limits{Turns: a.Turns}, File: a.File, Src: a.Src, Warnings: a.Warnings,
	}
	if a.Model != "" && a.Model != "inherit" && (a.Dialect == dialect.Claude || a.Dialect == dialect.OpenCode || a.Dialect == dialect.Gemini) {
		def.Model = map[string]string{a.Dialect.String(): a.Model}
	}
	return def
}

// readSome reads a file up to one byte beyond the limit, so that a huge one is refused without being read.
func readSome(tree fs.FS, name string) ([]byte, error) {
	f, err := tree.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, dialect.MaxBytes+1))
	return data, errors.Join(err, f.Close())
}
