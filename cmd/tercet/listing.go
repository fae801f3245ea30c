package main

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"tercet/commands"
	"tercet/commands/compile"
	"tercet/commands/outline"
	"tercet/formats"
	"tercet/internal/config"
	"tercet/internal/dialect"
	"tercet/internal/trust"
	"tercet/router"
)

// librarySource names the embedded command files in messages.
const librarySource = "library"

// listing are the command files that there are.
type listing struct {
	table   *router.Table
	sources map[string]fs.FS // by the name of the source
	library *commands.Library
	catalog *commands.Catalog
}

// scan lists the command files: the project's own, the folders that the configuration adds, those of other tools,
// then the library.
func (a *app) scan(gate *trust.Gate, cfg config.Config, has bool, foreign []dialect.Folder) (l listing, err error) {
	embedded, err := commands.Embedded()
	if err != nil {
		return l, err
	}
	var order, last []router.Source
	if has {
		order = ownSources(gate, cfg, a.term.note)
	}
	for _, p := range foreign {
		if p.Extension != "" { // the commands of an extension hide nobody's
			last = append(last, sourceOf(p))
		} else {
			order = append(order, sourceOf(p))
		}
	}
	order = append(append(order, router.Source{Name: librarySource, FS: embedded}), last...)
	l.sources = map[string]fs.FS{}
	for _, s := range order {
		l.sources[s.Name] = s.FS
	}
	l.table, err = router.Scan(cfg.Aliases, order...)
	return l, err
}

// ownSources are the project's own folders with command files. One that leads out of the project is left out,
// whatever the configuration says: its files could not be told apart from a stranger's.
func ownSources(gate *trust.Gate, cfg config.Config, note func(string, ...any)) []router.Source {
	var out []router.Source
	for _, name := range append([]string{formats.Workspace + "/commands"}, cfg.Commands...) {
		inside := path.Clean(filepath.ToSlash(name))
		_, err := gate.Root.Stat(filepath.FromSlash(inside))
		if fs.ValidPath(inside) && (err == nil || errors.Is(err, fs.ErrNotExist)) {
			out = append(out, router.Source{Name: name, FS: gate.FS(inside), Scope: dialect.Project.String()})
		} else if note != nil {
			note("warning: commands: %s is not a folder inside the project; it is left out", name)
		}
	}
	return out
}

// routes gives the table alone, for `tercet route`: no state, no subagent and no process is needed for it.
func (a *app) routes() (*router.Table, error) {
	dir, has, err := a.project()
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, broken(formats.CodeIO, "project root", err)
	}
	defer root.Close() //nolint:errcheck // only read through
	gate := trust.New(trust.Config{Root: root, Dir: dir})
	cfg, err := a.config(gate.FS("."), has)
	if err != nil {
		return nil, err
	}
	l, err := a.scan(gate, cfg, has, a.finder(gate).Commands())
	return l.table, err
}

// list reads which command files there are, and makes what runs and describes them.
func (w *world) list() (err error) {
	foreign := w.app.finder(w.gate).Commands()
	if w.listing, err = w.app.scan(w.gate, w.cfg, w.has, foreign); err != nil {
		return err
	}
	w.library = &commands.Library{
		Open: w.open, NewRun: newRunID, Config: runs{w}.runConfig, Warn: w.warn, Inject: w.inject, Admit: w.admit,
		Dir: filepath.ToSlash(w.dir), Foreign: map[string]dialect.Place{},
	}
	if w.has {
		w.library.Tasks, w.library.Docs = w.reader, w.docs
	}
	for _, p := range foreign {
		w.library.Foreign[p.Label] = p.Place
	}
	w.catalog = &commands.Catalog{Library: w.library, Find: w.findCommand}
	for _, e := range w.table.Commands() {
		w.catalog.Entries = append(w.catalog.Entries, commands.Entry{Name: e.Name, File: e.File, Source: e.Source})
	}
	return nil
}

// open reads a command file, at most commands.MaxFile bytes.
func (l *listing) open(source, file string) ([]byte, error) {
	f, err := l.sources[source].Open(file)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, commands.MaxFile+1))
	err = errors.Join(err, f.Close())
	if err == nil && len(data) > commands.MaxFile {
		err = formats.Fail(formats.CodeInvalidCommand, "", "expected at most %d bytes in a command file, got more",
			commands.MaxFile)
	}
	return data, err
}

func (w *world) warn(list []formats.Diagnostic) {
	if !w.app.flags.quiet {
		w.app.term.diagnostics(&formats.Diagnostics{List: list})
	}
}

// admit refuses a program that may use more than the flags allow.
func (w *world) admit(p *compile.Program) error {
	if most := w.app.flags.max; most != (outline.Ceiling{}) {
		return most.Admit(p.Name, outline.BoundOf(p, w.facts).Worst)
	}
	return nil
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
	f.Free = f.Free || len(def.Argv) == 0 && len(wanted) == 1 && cmp.Or(wanted[0], runnerOffline) == runnerOffline
	return f
}
