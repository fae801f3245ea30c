package router

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/lazy"
)

// Source is a tree of command files: the folder of a project, the library inside the binary, the folder of another
// tool.
type Source struct {
	Name string // for messages and traces, "library"
	FS   fs.FS
	// Dialect names the tool whose files these are; empty: tercet's own.
	Dialect string
	// Scope is a word that may stand before a name, as in /project:plan; empty: none.
	Scope string
	// Prefix is put before a name that a source in front has already, with a dot behind it, so that both can be called;
	// empty: such a file is a shadow.
	Prefix string
	// Command gives the slash name of a file, false for one that is no command; nil: tercet's own rule, which also leaves
	// out folders whose name is none. A source with a rule of its own lets a command be called by its last part while that
	// is unique.
	Command func(file string) (name string, ok bool)
	// Depth is how many levels of folders are entered, links among them; 0: MaxFolders, and no links.
	Depth int
}

// Entry is one command of a Table.
type Entry struct {
	Name    string // without the slash, "git:commit" for git/commit.md
	File    string // path inside the source
	Source  string
	Dialect string // empty: tercet's own
}

// Bounds of a scan, so that a source that is somebody's home folder by mistake ends with an error or is left out in
// part.
const (
	MaxFolders = 8      // depth of folders inside a source; deeper ones are left out
	MaxFiles   = 10_000 // entries of a source, whatever they are
)

// errTooMany is the bare fact that a source has more than MaxFiles entries.
var errTooMany = errors.New("expected at most 10000 files and folders, got more")

// Table maps slash names to command files.
type Table struct {
	byName  map[string]*target  // canonical names, and those with '/' for ':'
	entries []Entry             // sorted by name
	names   []string            // canonical names and aliases, sorted, for suggestions
	several map[string][]string // last parts that several commands have, with their names
	left    []LeftOut
}

// target is what a name leads to. The fields of Route that do not come from the line are made once.
type target struct {
	Entry
	shadows []string
	short   bool // it may be called by its last part
}

// Scan lists the command files of the sources. The first source that has a name keeps it, those behind are its shadows;
// a source whose root does not exist is empty. Hidden files and folders, files whose name is no command's, and folders
// deeper than MaxFolders are left out. Besides its name a command answers to it with '/' for ':', with the scope of its
// source in front, under which a shadowed one is reached too, and to its last part where the source allows it. A link
// is taken for a file if the source's own Stat says so, and never for a folder. Aliases lead from a slash name to
// another; they do not lead to aliases, and they win over a file of the same name.
func Scan(aliases map[string]string, sources ...Source) (*Table, error) {
	t := &Table{byName: map[string]*target{}, several: map[string][]string{}}
	scoped := map[string]*target{}
	for _, s := range sources {
		w := walk{source: s, table: t, scoped: scoped}
		if err := w.folder(".", 0); err != nil {
			return nil, err
		}
	}
	own := maps.Clone(t.byName)
	t.names = slices.Sorted(maps.Keys(own))
	for _, name := range t.names {
		t.entries = append(t.entries, own[name].Entry)
		t.spell(name, own[name])
	}
	for name, goal := range scoped {
		t.spell(name, goal)
	}
	t.shorten(own, false)
	t.shorten(scoped, true)
	return t, t.alias(aliases)
}

// spell lets a target answer to a name and to the name with '/', unless another has it.
func (t *Table) spell(name string, goal *target) {
	for _, one := range []string{name, strings.ReplaceAll(name, ":", "/")} {
		if t.byName[one] == nil {
			t.byName[one] = goal
		}
	}
}

// shorten lets commands answer to their last part where only one has it. Behind a scope too: /user:commit is
// git/commit.md of the person, if that is the only commit there.
func (t *Table) shorten(all map[string]*target, scoped bool) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		scope, rest := "", name
		if scoped {
			scope, rest, _ = strings.Cut(name, ":")
			scope += ":"
		}
		if at := strings.LastIndexByte(rest, ':'); at >= 0 && all[name].short {
			short := scope + rest[at+1:]
			t.several[short] = append(t.several[short], name)
		}
	}
	for short, names := range t.several {
		if len(names) == 1 {
			t.spell(short, all[names[0]])
		}
		if t.byName[short] != nil {
			delete(t.several, short)
		}
	}
}

// Commands lists the commands by name, without their shadows and without aliases.
func (t *Table) Commands() []Entry { return slices.Clone(t.entries) }

func (t *Table) alias(aliases map[string]string) error {
	found := map[string]*target{}
	for _, name := range slices.Sorted(maps.Keys(aliases)) {
		from, to := canonical(name), canonical(aliases[name])
		if !isName(from) || !isName(to) {
			return formats.Fail(formats.CodeConfig, "write it like p: plan",
				"expected slash names as alias, got %q for %q", name, aliases[name])
		}
		goal, ok := t.byName[to]
		if !ok {
			continue // the name stays unknown, and Route says so when it is used
		}
		one := *goal
		if hidden, ok := t.byName[from]; ok && hidden != goal {
			one.shadows = append(slices.Clip(one.shadows), hidden.Source+"/"+hidden.File)
		}
		found[from] = &one
		t.names = append(t.names, from)
	}
	for name, goal := range found {
		t.byName[name] = goal
		t.byName[strings.ReplaceAll(name, ":", "/")] = goal
	}
	slices.Sort(t.names)
	t.names = slices.Compact(t.names)
	return nil
}

// canonical is a slash name without its slash and with ':' between its parts.
func canonical(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "/"), "/", ":")
}

// walk lists one source.
type walk struct {
	source Source
	table  *Table
	scoped map[string]*target // by scope and name
	seen   int
}

func (w *walk) folder(dir string, depth int) error {
	list, err := fs.ReadDir(w.source.FS, dir)
	if err != nil {
		if dir == "." && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return w.unread(dir, err)
	}
	if w.seen += len(list); w.seen > MaxFiles {
		w.seen -= len(list)
		return w.unread(dir, errTooMany)
	}
	for _, entry := range list {
		inside := path.Join(dir, entry.Name())
		if strings.HasPrefix(entry.Name(), ".") || !w.isText(inside) {
			continue
		}
		switch {
		case entry.IsDir() || entry.Type() == fs.ModeSymlink && w.source.Depth > 0 && depth < w.source.Depth &&
			w.linksToFolder(inside):
			if !w.enters(entry.Name()) {
				continue
			}
			if depth+1 > cmp.Or(w.source.Depth, MaxFolders) {
				w.tooDeep(inside)
				continue
			}
			if err := w.folder(inside, depth+1); err != nil {
				return err
			}
		case entry.Type().IsRegular() || entry.Type() == fs.ModeSymlink && w.leadsTo(inside).IsRegular():
			w.file(inside)
		default:
			w.noFile(inside, entry.Type())
		}
	}
	return nil
}

// leadsTo asks the source for the type of what a link leads to, which a source that is bound to its root refuses for
// links that leave it. A source without Stat of its own would have to open the file, so its links are left out: they
// lead to something irregular.
func (w *walk) leadsTo(inside string) fs.FileMode {
	if own, ok := w.source.FS.(fs.StatFS); ok {
		if info, err := own.Stat(inside); err == nil {
			return info.Mode().Type()
		}
	}
	return fs.ModeIrregular
}

// enters tells whether a folder can hold commands.
func (w *walk) enters(folder string) bool {
	if w.source.Command == nil {
		return isName(folder) && !strings.Contains(folder, ":")
	}
	return folder != "node_modules"
}

// name gives the slash name of a file.
func (w *walk) name(inside string) (string, bool) {
	if w.source.Command != nil {
		name, ok := w.source.Command(inside)
		return name, ok && name != "" && !strings.ContainsFunc(name, unicode.IsSpace)
	}
	name, ok := strings.CutSuffix(inside, ".md")
	name = strings.ReplaceAll(name, "/", ":")
	return name, ok && isName(name)
}

func (w *walk) file(inside string) {
	name, ok := w.name(inside)
	if !ok {
		return
	}
	if _, taken := w.table.byName[name]; taken && w.source.Prefix != "" {
		name = w.source.Prefix + "." + name
	}
	found := &target{
		Entry: Entry{Name: name, File: inside, Source: w.source.Name, Dialect: w.source.Dialect},
		short: w.source.Command != nil,
	}
	if first, ok := w.table.byName[name]; ok {
		first.shadows = append(first.shadows, w.source.Name+"/"+inside)
	} else {
		w.table.byName[name] = found
	}
	if scope := w.source.Scope; scope != "" {
		if first, ok := w.scoped[scope+":"+name]; !ok {
			w.scoped[scope+":"+name] = w.table.byName[name].or(found)
		} else if first.Source != w.table.byName[name].Source {
			first.shadows = append(first.shadows, w.source.Name+"/"+inside)
		}
	}
}

// or is the target itself if it has the entry, else the other.
func (t *target) or(other *target) *target {
	if t.Entry == other.Entry {
		return t
	}
	return other
}

func isName(name string) bool { return nameForm().MatchString(name) }

// nameForm is the form of a command's name: parts of at most 32 characters with ':' between them.
var nameForm = lazy.Regexp(`^[a-z][a-z0-9-]{0,31}(?::[a-z][a-z0-9-]{0,31})*$`)

// LeftOut is a file or folder of another tool that holds commands, or would, and that a scan could not take.
type LeftOut struct {
	Name   string // the slash name that it would have, without the slash; empty: a folder
	File   string // path with the source's name in front
	Reason string
}

// String says what is left out, and why.
func (l LeftOut) String() string { return l.File + " is left out: " + l.Reason }

// LeftOut lists what the scan could not take, by path. Tercet's own folders have none: what cannot be read there is an
// error.
func (t *Table) LeftOut() []LeftOut {
	out := slices.Clone(t.left)
	slices.SortFunc(out, func(a, b LeftOut) int { return cmp.Compare(a.File, b.File) })
	return out
}

// leftOut finds the file that would have been meant.
func (t *Table) leftOut(name string) string {
	for _, l := range t.left {
		if l.Name != "" && (l.Name == name || strings.HasSuffix(l.Name, ":"+name)) {
			return l.String()
		}
	}
	return ""
}

func (w *walk) leave(name, inside, reason string) {
	w.table.left = append(w.table.left, LeftOut{Name: name, File: path.Join(w.source.Name, inside), Reason: reason})
}

// unread deals with a folder that cannot be read. A folder of another tool costs its own commands and no others.
func (w *walk) unread(dir string, err error) error {
	if w.source.Command == nil {
		return &formats.Failure{Code: formats.CodeIO, Message: "commands of " + w.source.Name + ": " + dir, Err: err}
	}
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = cause.Err
	}
	w.leave("", dir, err.Error())
	return nil
}

// isText tells whether a name is UTF-8: what is not cannot be opened by its name. Of another tool's it is noted.
func (w *walk) isText(inside string) bool {
	if utf8.ValidString(inside) {
		return true
	}
	if w.source.Command != nil {
		w.leave("", strings.ToValidUTF8(inside, "\ufffd"), "its name is not UTF-8")
	}
	return false
}

// tooDeep notes a folder that is not looked into, unless the depth is the source's own.
func (w *walk) tooDeep(inside string) {
	if w.source.Command != nil && w.source.Depth == 0 {
		w.leave("", inside, "it lies too deep")
	}
}

// noFile notes what has the name of a command of another tool and is no file, and links to folders, which are not
// followed.
func (w *walk) noFile(inside string, kind fs.FileMode) {
	name, ok := w.name(inside)
	switch {
	case w.source.Command == nil && kind == fs.ModeSymlink:
	case !ok && w.source.Depth > 0 && strings.Contains(inside, "/"): // a skill's own
	case kind == fs.ModeSymlink && w.linksToFolder(inside):
		w.leave("", inside, "links to folders are not followed")
	case kind == fs.ModeSymlink && (ok || path.Ext(inside) == ""): // without an ending it may have been a folder
		w.leave(name, inside, "it is a link that leads nowhere, or out of the project")
	case ok:
		w.leave(name, inside, "it is no regular file")
	}
}

func (w *walk) linksToFolder(inside string) bool { return w.leadsTo(inside) == fs.ModeDir }
