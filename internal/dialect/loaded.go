package dialect

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Loaded knows the folders from which the files of other tools are loaded in one project. The
// dialect of a file is that of its folder, whatever path leads to it. A nil one knows no project:
// the names of folders decide.
type Loaded struct {
	dir    func() string // project root, with slashes and without links
	places func() []loadedPlace
}

// loadedPlace is a place with the absolute paths that lead into it, with slashes and without links,
// and what is found there: "" for the place itself, the path of a link below it for its target.
type loadedPlace struct {
	Place
	roots []root
}

type root struct{ path, inside string }

// NewLoaded takes the folders that a Finder found for the project at dir. It looks at them when it
// is first asked.
func NewLoaded(dir string, folders func() []Folder) *Loaded {
	return &Loaded{
		dir: sync.OnceValue(func() string { return realPath(dir) }),
		places: sync.OnceValue(func() (out []loadedPlace) {
			for _, f := range folders() {
				if f.At != nil {
					continue // a configuration that holds commands is no folder
				}
				at := filepath.FromSlash(f.Dir)
				if !filepath.IsAbs(at) {
					at = filepath.Join(dir, at)
				}
				p := loadedPlace{f.Place, []root{{filepath.ToSlash(at), ""}, {realPath(at), ""}}}
				p.addLinks(f, at, ".", 0)
				out = append(out, p)
			}
			return out
		}),
	}
}

// addLinks notes where the links below a place lead.
func (p *loadedPlace) addLinks(f Folder, at, dir string, depth int) {
	entries, err := fs.ReadDir(f.FS, dir)
	if err != nil || depth > maxAgentDepth || p.Skills && depth > 1 {
		return
	}
	for _, e := range entries[:min(len(entries), maxLinks)] {
		inside := path.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules":
		case e.IsDir():
			p.addLinks(f, at, inside, depth+1)
		case e.Type()&fs.ModeSymlink != 0:
			target := realPath(filepath.Join(at, filepath.FromSlash(inside)))
			p.roots = append(p.roots, root{target, inside})
		}
	}
}

// maxLinks bounds the entries of one folder that are looked at for links.
const maxLinks = 10_000

// realPath is a path with slashes and without links; one that does not exist keeps its links.
func realPath(name string) string {
	if full, err := filepath.EvalSymlinks(name); err == nil {
		name = full
	}
	return filepath.ToSlash(filepath.Clean(name))
}

// spellings are the absolute paths of a file: as it is called, and without links.
func spellings(file string) []string {
	if full, err := filepath.Abs(file); err == nil {
		file = full
	}
	file = filepath.ToSlash(filepath.Clean(file))
	return slices.Compact([]string{file, realPath(filepath.FromSlash(file))})
}

// pathsBelow gives the paths of a file below a place.
func (p loadedPlace) pathsBelow(names []string) (out []string) {
	for _, name := range names {
		for _, r := range p.roots {
			rest, ok := strings.CutPrefix(name, strings.TrimSuffix(r.path, "/"))
			if ok && (rest == "" && r.inside != "" || strings.HasPrefix(rest, "/")) {
				out = append(out, strings.TrimPrefix(r.inside+rest, "/"))
			}
		}
	}
	return out
}

// PlaceOf finds the place that loads a file, and the file's path below it. A file that no place of
// the project loads is judged by the names of its folders.
func (l *Loaded) PlaceOf(file string) (place Place, inside string, ok bool) {
	names := spellings(file)
	if l != nil {
		for _, p := range l.places() {
			for _, inside := range p.pathsBelow(names) {
				if p.contains(inside) {
					return p.Place, inside, true
				}
			}
		}
	}
	return PlaceOf(names[0])
}

// IsDocument reports whether a file lies in a folder of another tool and is neither a command nor
// an agent of that tool.
func (l *Loaded) IsDocument(file string) bool {
	if _, _, ok := l.PlaceOf(file); ok {
		return false
	}
	if filepath.Base(file) == "SKILL.md" { // of a skill that no tool loads here
		return true
	}
	names := spellings(file)
	name := path.Dir(names[0]) + "/"
	if l == nil {
		return InToolFolder(name)
	}
	for _, p := range l.places() {
		if slices.ContainsFunc(p.pathsBelow(names), p.covers) {
			return true
		}
	}
	// the project itself may lie in a folder of a tool
	inside, ok := strings.CutPrefix(
		path.Dir(names[len(names)-1])+"/", strings.TrimSuffix(l.dir(), "/")+"/",
	)
	if ok {
		name = inside
	}
	return InToolFolder(name)
}
