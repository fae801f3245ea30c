package router

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Source is a tree of command files: the folder of a project, the library inside the binary.
type Source struct {
	Name string // for messages and traces, "library"
	FS   fs.FS
}

// Entry is one command of a Table.
type Entry struct {
	Name   string // without the slash, "git:commit" for git/commit.md
	File   string // path inside the source
	Source string
}

// Bounds of a scan, so that a source that is somebody's home folder by mistake ends with an error or is left out in part.
const (
	MaxFolders = 8      // depth of folders inside a source; deeper ones are left out
	MaxFiles   = 10_000 // entries of a source, whatever they are
)

// errTooMany is the bare fact that a source has more than MaxFiles entries.
var errTooMany = errors.New("expected at most 10000 files and folders, got more")

// Table maps slash names to command files.
type Table struct {
	byName  map[string]*target // canonical names, and those with '/' for ':'
	entries []Entry            // sorted by name
	names   []string           // canonical names and aliases, sorted, for suggestions
}

// target is what a name leads to. The fields of Route that do not come from the line are made once.
type target struct {
	Entry
	shadows []string
}

// Scan lists the command files of the sources. The first source that has a name keeps it, those behind are its shadows; a
// source whose root does not exist is empty. Hidden files and folders, files whose name is no command's, and folders deeper
// than MaxFolders are left out. A link is taken for a file if the source's own Stat says so, and never for a folder.
// Aliases lead from a slash name to another; they do not lead to aliases, and they win over a file of the same name.
func Scan(aliases map[string]string, sources ...Source) (*Table, error) {
	t := &Table{byName: map[string]*target{}}
	for _, s := range sources {
		w := walk{source: s, table: t}
		if err := w.folder(".", 0); err != nil {
			return nil, err
		}
	}
	for _, e := range t.byName {
		t.entries = append(t.entries, e.Entry)
	}
	slices.SortFunc(t.entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	for _, e := range t.entries {
		t.names = append(t.names, e.Name)
		if strings.Contains(e.Name, ":") {
			t.byName[strings.ReplaceAll(e.Name, ":", "/")] = t.byName[e.Name]
		}
	}
	return t, t.alias(aliases)
}

// Commands lists the commands by name, without their shadows and without aliases.
func (t *Table) Commands() []Entry { return slices.Clone(t.entries) }

func (t *Table) alias(aliases map[string]string) error {
	found := map[string]*target{}
	for _, name := range slices.Sorted(maps.Keys(aliases)) {
		from, to := canonical(name), canonical(aliases[name])
		if !isName(from) || !isName(to) {
			return &AliasError{Alias: name, Target: aliases[name]}
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
	seen   int
}

func (w *walk) folder(dir string, depth int) error {
	list, err := fs.ReadDir(w.source.FS, dir)
	if err != nil {
		if dir == "." && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return &ScanError{Source: w.source.Name, Path: dir, Err: err}
	}
	if w.seen += len(list); w.seen > MaxFiles {
		return &ScanError{Source: w.source.Name, Path: dir, Err: errTooMany}
	}
	for _, entry := range list {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		inside := path.Join(dir, entry.Name())
		switch {
		case entry.IsDir():
			if depth+1 > MaxFolders || !isPart(entry.Name()) {
				continue
			}
			if err := w.folder(inside, depth+1); err != nil {
				return err
			}
		case entry.Type().IsRegular() || entry.Type() == fs.ModeSymlink && w.linksToFile(inside):
			w.file(inside)
		}
	}
	return nil
}

// linksToFile asks the source where a link leads, which a source that is bound to its root refuses for links that leave it.
// A source without Stat of its own would have to open the file, so its links are left out.
func (w *walk) linksToFile(inside string) bool {
	own, ok := w.source.FS.(fs.StatFS)
	if !ok {
		return false
	}
	info, err := own.Stat(inside)
	return err == nil && info.Mode().IsRegular()
}

func (w *walk) file(inside string) {
	name, ok := strings.CutSuffix(inside, ".md")
	name = strings.ReplaceAll(name, "/", ":")
	if !ok || !isName(name) {
		return
	}
	if first, ok := w.table.byName[name]; ok {
		first.shadows = append(first.shadows, w.source.Name+"/"+inside)
		return
	}
	w.table.byName[name] = &target{Entry: Entry{Name: name, File: inside, Source: w.source.Name}}
}

func isName(name string) bool {
	for part := range strings.SplitSeq(name, ":") {
		if !isPart(part) {
			return false
		}
	}
	return true
}

// isPart tells whether a word has the form of a command's name: [a-z][a-z0-9-]{0,31}.
func isPart(word string) bool {
	if word == "" || len(word) > 32 || word[0] < 'a' || word[0] > 'z' {
		return false
	}
	for i := range len(word) {
		c := word[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
