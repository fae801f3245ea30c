package project

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"tercet/commands"
	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/interp"
	"tercet/commands/lint"
	"tercet/commands/outline"
	"tercet/formats"
	"tercet/internal/config"
	"tercet/internal/dialect"
	"tercet/router"
	"tercet/subagents/agentcli"
)

// LibrarySource names the embedded command files in messages.
const LibrarySource = formats.LibraryCommands

// scan lists the command files: the project's own, the folders that the configuration adds, those
// of other tools, then the library.
func (p *Project) scan() error {
	embedded, err := commands.Embedded()
	if err != nil {
		return err
	}

	var order, last []router.Source
	if p.HasWorkspace {
		order = p.ownSources()
	}
	p.isOwnSource = map[string]bool{}
	p.folders = nil
	for _, s := range order {
		p.isOwnSource[s.Name] = true
		p.folders = append(p.folders, path.Clean(filepath.ToSlash(s.Name)))
	}

	p.foreignPlaces = map[string]dialect.Place{}
	p.commandFolders = p.finder().Commands()
	for _, f := range p.commandFolders {
		p.foreignPlaces[f.Label] = f.Place
		if belongsToProject(f.Place) {
			p.isOwnSource[f.Label] = true
			if f.At == nil {
				p.folders = append(p.folders, f.Dir)
			}
		}
		if f.Extension != "" { // the commands of an extension hide no others
			last = append(last, sourceOf(f))
		} else {
			order = append(order, sourceOf(f))
		}
	}

	order = append(append(order, router.Source{
		Name:  LibrarySource,
		FS:    embedded,
		Scope: dialect.Tercet.String(),
	}), last...)
	p.sources = map[string]fs.FS{}
	for _, s := range order {
		p.sources[s.Name] = s.FS
	}

	p.Table, err = router.Scan(
		router.Names{Aliases: p.Config.Aliases, Prefer: p.Config.Prefer}, order...,
	)
	if err != nil {
		return err
	}
	return nil
}

// toolFolders lists the folders of other tools with commands or agents, as of the last scan.
func (p *Project) toolFolders() func() []dialect.Folder {
	scanned := p.commandFolders
	return func() []dialect.Folder {
		return slices.Concat(scanned, p.agentFolders())
	}
}

// ownSources are the project's own folders with command files. One that leads out of the project is
// left out, whatever the configuration says: its files could not be told apart from a stranger's.
func (p *Project) ownSources() []router.Source {
	var out []router.Source
	for _, name := range append([]string{formats.Workspace + "/commands"}, p.Config.Commands...) {
		inside := path.Clean(filepath.ToSlash(name))
		_, err := p.Root.Stat(filepath.FromSlash(inside))
		if fs.ValidPath(inside) && (err == nil || errors.Is(err, fs.ErrNotExist)) {
			out = append(out, router.Source{
				Name:  name,
				FS:    p.Trust.FS(inside),
				Scope: dialect.Project.String(),
			})
		} else {
			p.Host.Frontend.NoteOnce(
				name,
				"warning: commands: "+name+" is not a folder inside the project; it is left out",
			)
		}
	}
	return out
}

// library reads command files, and knows no more than them.
func (p *Project) library() *commands.Library {
	return &commands.Library{Foreign: p.foreignPlaces, Open: p.open}
}

// loadCommands makes what runs and describes the commands.
func (s *Session) loadCommands() {
	s.Library = s.Project.library()
	s.Library.Several = lines{s}
	s.Library.Config = s.runConfig
	s.Library.Inject = s.inject
	s.Library.Admit = s.admit
	s.Library.Begin = s.begin
	s.Library.Warn = func(list []formats.Diagnostic) {
		s.Project.warn(formats.Diagnostics{List: list})
	}
	s.Library.Tell = func(text string) { s.Project.Host.Frontend.NoteOnce(text, text) }
	s.Library.Dir = filepath.ToSlash(s.Project.Dir)
	s.Library.Loaded = dialect.NewLoaded(s.Project.Dir, s.Project.toolFolders())

	if s.Project.HasWorkspace {
		s.Library.Tasks = s.Project.Reader
		s.Library.Docs = s.Project.Docs
		s.Library.Rules = s.Project.rules
		s.Library.Elsewhere = s.Project.findForeignTask
		s.Library.Files = s.Project.files
	}

	s.Library.Typed = s.Options.Typed
	if s.Project.Host.Frontend.Interactive() {
		s.Library.Ask = s.Project.Host.Frontend.AskMissing
	}

	s.Catalog = &commands.Catalog{Library: s.Library, Find: s.findCommand}
	for _, e := range s.Project.Table.Commands() {
		s.Catalog.Entries = append(s.Catalog.Entries, commands.Entry{
			Name:   e.Name,
			File:   e.File,
			Source: e.Source,
		})
	}

	for _, h := range s.Project.Table.Hidden() {
		// those of other tools are told by doctor: a team may have one for each
		if h.Dialect == "" && h.Call != "" {
			s.Catalog.Entries = append(s.Catalog.Entries,
				commands.Entry{
					Name:   h.Call,
					File:   h.File,
					Source: h.Source,
					Behind: h.By,
				})
		}
	}
}

// open reads a command file, at most commands.MaxFile bytes.
func (p *Project) open(source, file string) ([]byte, error) {
	f, err := p.sources[source].Open(file)
	if err != nil {
		return nil, err
	}
	data, err := commands.ReadAll(f, commands.MaxFile)
	if err == nil && len(data) > commands.MaxFile {
		err = formats.Fail(formats.CodeInvalidCommand, "",
			"expected at most %d bytes in a command file, got more", commands.MaxFile)
	}
	return data, err
}

// warn prints what was found in a file that can be used all the same.
func (p *Project) warn(d formats.Diagnostics) {
	p.Host.Frontend.Diagnostics(&d)
}

// admit refuses a program that may use more than the flags allow.
func (s *Session) admit(p *compile.Program, line argspec.Values) error {
	if s.Options.Workers != nil {
		s.Options.Workers.SetProgram(p)
	}
	s.noteBypassed(p)
	if most := s.Options.Most; most != (outline.Ceiling{}) {
		return most.Admit(p.Name, outline.BoundOf(s.Lowered(p), s.Facts, line).Worst)
	}
	return nil
}

// Lowered is a program with the limits that it runs with here: those of the configuration lower its
// own.
func (s *Session) Lowered(p *compile.Program) *compile.Program {
	out := *p
	out.Limits = interp.Lower(p.Limits, s.Project.Config.Limits)
	return &out
}

// Facts tells what one call of a subagent may cost.
func (s *Session) Facts(name string) outline.Facts {
	def, agent, ok := s.Set.Lookup(name, "")
	if !ok {
		return outline.Facts{}
	}

	f := outline.Facts{
		Free: def.Info.Builtin,
		Own:  len(def.Argv) > 0,
		Cost: def.Limits.Cost,
	}
	if flow, ok := agent.(meteredWorkflow); ok {
		if prog, err := flow.Program(); err == nil {
			f.Program = prog
		}
		return f
	}

	wanted := s.runnersOf(def.Info)
	offline := func(name string) bool {
		return cmp.Or(name, agentcli.RunnerOffline) == agentcli.RunnerOffline
	}
	for _, name := range wanted {
		if name == agentcli.RunnerAuto {
			if found := agentcli.Installed(s.Project.Starter); len(found) > 0 {
				name = found[0]
			}
		}

		model, from := s.Models.For(def, name, nil)
		runsModel := len(def.Argv) == 0 && !def.Info.Builtin && !offline(name)
		if model != "" && runsModel {
			f.Models = append(f.Models, outline.Model{
				Agent:  def.Info.Name,
				Runner: name,
				Name:   model,
				From:   from,
			})
		}
	}

	f.Free = f.Free || len(def.Argv) == 0 && len(wanted) == 1 && offline(wanted[0])
	if def.Info.Role == formats.RoleImplementer && len(def.Argv) == 0 &&
		slices.ContainsFunc(wanted, offline) {
		f.Asks = "the commands of the plan, before the first one runs (runner: offline)"
	}
	return f
}

// readConfig reads the configuration: of the environment, of the workspace, of the user and of the
// machine. That of the workspace cannot set the order of tiers. An unknown key is a warning without
// --strict.
func (p *Project) readConfig() error {
	layers := config.Environment(p.Host.Env)
	add := func(layer, name string, data []byte, err error, help ...string) error {
		switch {
		case err == nil:
			layers = append(layers, config.Layer{
				Name: layer,
				File: name,
				Data: data,
			})
		case !errors.Is(err, fs.ErrNotExist):
			return formats.Broken(formats.CodeConfig, name, err, help...)
		}
		return nil
	}

	if p.HasWorkspace {
		data, err := fs.ReadFile(p.Trust.FS("."), ConfigFile)
		err = add(config.WorkspaceLayer, ConfigFile, data, err, "make it a file, or remove it")
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		p.decidingSums = map[string]string{ConfigFile: hex.EncodeToString(sum[:])}
	}

	dirs := []string{p.Host.folderOf("XDG_CONFIG_HOME", ".config")}
	for _, dir := range filepath.SplitList(cmp.Or(p.Host.Env("XDG_CONFIG_DIRS"), "/etc/xdg")) {
		dirs = append(dirs, filepath.Join(dir, "tercet"))
	}

	for i, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		layer := "system"
		if i == 0 {
			layer = config.UserLayer
		}
		name := filepath.Join(dir, "config.yaml")
		data, err := os.ReadFile(name)
		err = add(layer, name, data, err, "make it readable, or remove it")
		if err != nil {
			return err
		}
	}

	var d formats.Diagnostics
	p.Config, d.List = config.Load(layers...)
	for i, one := range d.List {
		if p.Host.Strict && one.Code == config.CodeUnknownKey {
			d.List[i].Severity = formats.SeverityError
		}
	}

	d.Of = formats.CodeConfig
	d.Sources = map[string][]byte{}
	for _, l := range layers {
		d.Sources[l.File] = l.Data
	}

	if d.HasErrors() {
		return &d
	}
	p.warn(d)
	return nil
}

// findCommand gives the command that a name without its slash leads to.
func (s *Session) findCommand(name string) (commands.Entry, error) {
	r, err := s.Project.Table.Route(router.Line{Words: []string{"/" + name}})
	return commands.Entry{
		Name:   r.Name,
		File:   r.File,
		Source: r.Source,
	}, err
}

// lintOwn checks a command or subagent file of the project for a run.
func (s *Session) lintOwn(name string, src []byte, subagent bool) []formats.Diagnostic {
	return lint.Check(
		s.Library, filepath.Join(s.Project.Dir, filepath.FromSlash(name)), src, subagent,
	)
}
