package main

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
	"strings"

	"tercet/commands"
	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/interp"
	"tercet/commands/outline"
	"tercet/formats"
	"tercet/internal/config"
	"tercet/internal/dialect"
	"tercet/router"
	"tercet/subagents/agentcli"
)

// librarySource names the embedded command files in messages.
const librarySource = "library"

// listing are the command files that there are.
type listing struct {
	table   *router.Table
	sources map[string]fs.FS // by the name of the source
	library *commands.Library
	catalog *commands.Catalog
	// deciding are the hashes of files that decide and that no command or subagent file names.
	deciding map[string]string
	scanned  scanned
}

// scanned is what the search for the files of the project and of other tools found besides the
// table.
type scanned struct {
	// exported are files that tercet export wrote, which are no commands, by the name they would
	// have.
	exported map[string][]string
	own      map[string]bool // the sources that came with the project
	folders  []string        // of these sources, where commands are files
	// agents searches for the folders of other tools with agents, once.
	agents func() []dialect.Folder
}

// scan lists the command files: the project's own, the folders that the configuration adds, those
// of other tools, then the library.
func (w *world) scan() error {
	embedded, err := commands.Embedded()
	if err != nil {
		return err
	}

	var order, last []router.Source
	if w.has {
		order = w.ownSources()
	}
	w.scanned.own = map[string]bool{}
	w.scanned.folders = nil
	for _, s := range order {
		w.scanned.own[s.Name] = true
		w.scanned.folders = append(w.scanned.folders, path.Clean(filepath.ToSlash(s.Name)))
	}

	w.library = &commands.Library{Foreign: map[string]dialect.Place{}, Open: w.open}
	for _, p := range w.finder().Commands() {
		w.library.Foreign[p.Label] = p.Place
		if ofProject(p.Place) {
			w.scanned.own[p.Label] = true
			if p.At == nil {
				w.scanned.folders = append(w.scanned.folders, p.Dir)
			}
		}
		if p.Extension != "" { // the commands of an extension hide no others
			last = append(last, sourceOf(p))
		} else {
			order = append(order, sourceOf(p))
		}
	}

	order = append(append(order, router.Source{
		Name:  librarySource,
		FS:    embedded,
		Scope: dialect.Tercet.String(),
	}), last...)
	w.sources = map[string]fs.FS{}
	for _, s := range order {
		w.sources[s.Name] = s.FS
	}

	w.table, err = router.Scan(router.Names{Aliases: w.cfg.Aliases, Prefer: w.cfg.Prefer}, order...)
	if err != nil {
		return err
	}
	for _, name := range w.table.Unmet() {
		_, plain, _ := strings.Cut(name, ":")
		w.noteOnce(
			"prefer "+name,
			sprintf("warning: %s: `prefer` names /%s, and there is none; the scopes here are %s",
				w.cfg.Origin("prefer."+plain), name, strings.Join(w.table.Scopes(), ", ")),
		)
	}

	return nil
}

// ownSources are the project's own folders with command files. One that leads out of the project is
// left out, whatever the configuration says: its files could not be told apart from a stranger's.
func (w *world) ownSources() []router.Source {
	var out []router.Source
	for _, name := range append([]string{formats.Workspace + "/commands"}, w.cfg.Commands...) {
		inside := path.Clean(filepath.ToSlash(name))
		_, err := w.root.Stat(filepath.FromSlash(inside))
		if fs.ValidPath(inside) && (err == nil || errors.Is(err, fs.ErrNotExist)) {
			out = append(out, router.Source{
				Name:  name,
				FS:    w.gate.FS(inside),
				Scope: dialect.Project.String(),
			})
		} else {
			w.noteOnce(
				name,
				"warning: commands: "+name+" is not a folder inside the project; it is left out",
			)
		}
	}
	return out
}

// list makes what runs and describes the commands.
func (w *world) list() {
	w.library.Several = lines{runs{w}}
	w.library.Config = runs{w}.runConfig
	w.library.Inject = w.inject
	w.library.Admit = w.admit
	w.library.Begin = runs{w}.begin
	w.library.Warn = func(list []formats.Diagnostic) {
		w.warn(formats.Diagnostics{List: list})
	}
	w.library.Dir = filepath.ToSlash(w.dir)
	if w.has {
		w.library.Tasks = w.reader
		w.library.Docs = w.docs
		w.library.Rules = w.rules
	}
	w.library.Typed = w.flags.prompting
	if w.interactive() {
		w.library.Ask = w.askMissing
	}
	w.catalog = &commands.Catalog{Library: w.library, Find: w.findCommand}
	for _, e := range w.table.Commands() {
		w.catalog.Entries = append(w.catalog.Entries, commands.Entry{
			Name:   e.Name,
			File:   e.File,
			Source: e.Source,
		})
	}

	for _, h := range w.table.Hidden() {
		// those of other tools are told by doctor: a team may have one for each
		if h.Dialect == "" && h.Call != "" {
			w.catalog.Entries = append(w.catalog.Entries,
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
func (l *listing) open(source, file string) ([]byte, error) {
	f, err := l.sources[source].Open(file)
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
func (w *world) warn(d formats.Diagnostics) {
	if !w.flags.quiet {
		w.term.diagnostics(&d)
	}
}

// admit refuses a program that may use more than the flags allow.
func (w *world) admit(p *compile.Program, line argspec.Values) error {
	if w.play != nil && w.play.cast != nil {
		w.play.cast.Performs(p)
	}
	if most := w.flags.max; most != (outline.Ceiling{}) {
		return most.Admit(p.Name, outline.BoundOf(w.lowered(p), w.facts, line).Worst)
	}
	return nil
}

// lowered is a program with the limits that it runs with here: those of the configuration lower its
// own.
func (w *world) lowered(p *compile.Program) *compile.Program {
	out := *p
	out.Limits = interp.Lower(p.Limits, w.cfg.Limits)
	return &out
}

// facts tells what one call of a subagent may cost.
func (w *world) facts(name string) outline.Facts {
	def, agent, ok := w.set.Lookup(name, "")
	if !ok {
		return outline.Facts{}
	}

	f := outline.Facts{Free: def.Info.Builtin, Cost: def.Limits.Cost}
	if flow, ok := agent.(countedFlow); ok {
		if prog, err := flow.Program(); err == nil {
			f.Program = prog
		}
		return f
	}

	wanted := workers{w}.wanted(def.Info)
	offline := func(name string) bool {
		return cmp.Or(name, agentcli.RunnerOffline) == agentcli.RunnerOffline
	}
	for _, name := range wanted {
		if found := agentcli.Installed(w.starter); name == agentcli.RunnerAuto && len(found) > 0 {
			name = found[0]
		}
		model, from := w.models.For(def, name)
		if model != "" && len(def.Argv) == 0 && !def.Info.Builtin && !offline(name) {
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
func (w *world) readConfig() error {
	layers := config.Environment(w.env)
	add := func(layer, name string, data []byte, err error, help ...string) error {
		switch {
		case err == nil:
			layers = append(layers, config.Layer{
				Name: layer,
				File: name,
				Data: data,
			})
		case !errors.Is(err, fs.ErrNotExist):
			return broken(formats.CodeConfig, name, err, help...)
		}
		return nil
	}
	if w.has {
		data, err := fs.ReadFile(w.gate.FS("."), configFile)
		if err := add(
			config.WorkspaceLayer,
			configFile,
			data,
			err,
			"make it a file, or remove it",
		); err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		w.deciding = map[string]string{configFile: hex.EncodeToString(sum[:])}
	}
	dirs := []string{w.folderOf("XDG_CONFIG_HOME", ".config")}
	for _, dir := range filepath.SplitList(cmp.Or(w.env("XDG_CONFIG_DIRS"), "/etc/xdg")) {
		dirs = append(dirs, filepath.Join(dir, "tercet"))
	}

	for i, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		name := filepath.Join(dir, "config.yaml")
		data, err := os.ReadFile(name)
		if err := add(
			[]string{"user", "system"}[min(i, 1)],
			name,
			data,
			err,
			"make it readable, or remove it",
		); err != nil {
			return err
		}
	}

	var d formats.Diagnostics
	w.cfg, d.List = config.Load(layers...)
	for i, one := range d.List {
		if w.flags.strict && one.Code == config.CodeUnknownKey {
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
	w.warn(d)
	return nil
}
