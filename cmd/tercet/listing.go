package main

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"

	"tercet/commands"
	"tercet/commands/compile"
	"tercet/commands/outline"
	"tercet/formats"
	"tercet/internal/dialect"
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
func (w *world) scan() error {
	embedded, err := commands.Embedded()
	if err != nil {
		return err
	}
	var order, last []router.Source
	if w.has {
		order = w.ownSources()
	}
	w.library = &commands.Library{Foreign: map[string]dialect.Place{}}
	for _, p := range w.finder().Commands() {
		w.library.Foreign[p.Label] = p.Place
		if p.Extension != "" { // the commands of an extension hide nobody's
			last = append(last, sourceOf(p))
		} else {
			order = append(order, sourceOf(p))
		}
	}
	order = append(append(order, router.Source{Name: librarySource, FS: embedded}), last...)
	w.sources = map[string]fs.FS{}
	for _, s := range order {
		w.sources[s.Name] = s.FS
	}
	w.table, err = router.Scan(w.cfg.Aliases, order...)
	return err
}

// ownSources are the project's own folders with command files. One that leads out of the project is left out,
// whatever the configuration says: its files could not be told apart from a stranger's.
func (w *world) ownSources() []router.Source {
	var out []router.Source
	for _, name := range append([]string{formats.Workspace + "/commands"}, w.cfg.Commands...) {
		inside := path.Clean(filepath.ToSlash(name))
		_, err := w.root.Stat(filepath.FromSlash(inside))
		if fs.ValidPath(inside) && (err == nil || errors.Is(err, fs.ErrNotExist)) {
			out = append(out, router.Source{Name: name, FS: w.gate.FS(inside), Scope: dialect.Project.String()})
		} else {
			w.app.noteOnce(name, "warning: commands: "+name+" is not a folder inside the project; it is left out")
		}
	}
	return out
}

// list makes what runs and describes the commands.
func (w *world) list() {
	w.library.Open, w.library.NewRun, w.library.Config = w.open, newRunID, runs{w}.runConfig
	w.library.Inject, w.library.Admit = w.inject, w.admit
	w.library.Warn = func(list []formats.Diagnostic) { w.warn(formats.Diagnostics{List: list}) }
	w.library.Dir = filepath.ToSlash(w.dir)
	if w.has {
		w.library.Tasks, w.library.Docs = w.reader, w.docs
	}
	w.catalog = &commands.Catalog{Library: w.library, Find: w.findCommand}
	for _, e := range w.table.Commands() {
		w.catalog.Entries = append(w.catalog.Entries, commands.Entry{Name: e.Name, File: e.File, Source: e.Source})
	}
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

// warn prints what was found in a file that can be used all the same.
func (w *world) warn(d formats.Diagnostics) {
	if !w.app.flags.quiet {
		w.app.term.diagnostics(&d)
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
