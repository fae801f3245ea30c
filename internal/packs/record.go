package packs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/jsonx"
	"tercet/internal/lazy"
	"tercet/internal/order"
)

// RecordFile lists the packs of a workspace; Folder holds the base of their files.
const (
	RecordFile = formats.Workspace + "/packs.json"
	Folder     = formats.Workspace + "/packs"
	schema     = "tercet.packs/1"
)

// Record is the content of packs.json.
type Record struct {
	Schema string      `json:"schema"`
	Packs  []Installed `json:"packs"`
}

// Installed is a pack of a workspace. Source is builtin, a folder or an address.
type Installed struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Source  string `json:"source"`
	Commit  string `json:"commit,omitempty"`
	Files   []Sum  `json:"files"`
}

// Sum is a file with the hash of its base.
type Sum struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// Builtin is the source of a pack that ships with tercet.
const Builtin = "builtin"

// Find gives a pack of the workspace by name.
func (r Record) Find(name string) (Installed, bool) {
	i := slices.IndexFunc(r.Packs, func(p Installed) bool {
		return p.Name == name
	})
	if i < 0 {
		return Installed{}, false
	}
	return r.Packs[i], true
}

// withPack is a record in which a pack stands as it is now; without files it is gone.
func (r Record) withPack(p Installed) Record {
	r.Packs = slices.DeleteFunc(slices.Clone(r.Packs), func(one Installed) bool {
		return one.Name == p.Name
	})
	if p.Files != nil {
		r.Packs = append(r.Packs, p)
	}
	order.Stable(r.Packs, func(a, b Installed) int {
		return strings.Compare(a.Name, b.Name)
	})
	return r
}

var hashForm = lazy.Regexp(`^[0-9a-f]{64}$`)

// Load reads packs.json; a workspace without one has no packs.
func Load(project fs.FS) (Record, error) {
	data, err := fs.ReadFile(project, RecordFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, nil
	} else if err != nil {
		return Record{}, formats.Broken(formats.CodeIO, RecordFile, err)
	}

	var r Record
	bad := func(offset int, format string, args ...any) error {
		line, col := jsonx.Pos(data, offset)
		return formats.Fail(formats.CodeInvalidState,
			"take it from the last commit: git checkout -- "+RecordFile,
			"%s:%d:%d: %s", RecordFile, line, col, fmt.Sprintf(format, args...))
	}
	v, err := jsonx.Parse(data, jsonx.Limits{})
	if syntax, ok := errors.AsType[*jsonx.SyntaxError](err); ok {
		return r, bad(syntax.Offset, "%s", syntax.Msg)
	}

	if err := json.Unmarshal(data, &r); err != nil {
		at := 0
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			at = int(wrong.Offset)
		}
		return r, bad(at, "%v", err)
	}

	if f := formats.Newer(formats.CodeInvalidState, RecordFile, r.Schema, schema); f != nil {
		return r, f
	}
	for i, p := range r.Packs {
		at := elem(v, "packs", i)
		if !IsName(p.Name) ||
			slices.ContainsFunc(r.Packs[:i], func(o Installed) bool {
				return o.Name == p.Name
			}) {
			return r, bad(at.Start, "expected the name of one pack, got %q", p.Name)
		}
		for n, f := range p.Files {
			if !isWorkspacePath(p.Name, f.Path) || !hashForm().MatchString(f.SHA256) {
				return r, bad(elem(at, "files", n).Start,
					"expected a file of the pack and its sha256, got %q", f.Path)
			}
		}
	}

	return r, nil
}

// elem is an element of a list of an object, for its place; a key in other letters has none.
func elem(v *jsonx.Value, key string, i int) *jsonx.Value {
	if list := v.Get(key); list != nil && i < len(list.Elems) {
		return list.Elems[i]
	}
	return &jsonx.Value{}
}

// isWorkspacePath tells whether a path is one that a pack may have in a workspace.
func isWorkspacePath(pack, name string) bool {
	rest, ok := strings.CutPrefix(name, formats.Workspace+"/")
	if !ok || path.Clean(name) != name || strings.ContainsAny(name, "\\\x00") {
		return false
	}
	part := strings.Split(rest, "/")
	switch {
	case len(part) == 2:
		return part[0] == "commands" && strings.HasSuffix(rest, ".md")
	case len(part) == 3:
		return part[1] == pack &&
			(part[0] == "templates" || part[0] == "subagents" && strings.HasSuffix(rest, ".md"))
	}
	return len(part) == 4 && part[0] == "facets" && part[2] == pack &&
		strings.HasSuffix(rest, ".md")
}

// basePath is where the base of a file lies.
func basePath(pack, name string) string {
	return path.Join(Folder, pack, "base", strings.TrimPrefix(name, formats.Workspace+"/"))
}

// State is the state of a pack's file in a workspace.
type State string

// The states.
const (
	Edited     State = "edited"
	Missing    State = "missing"
	Conflicted State = "conflict" // the pack's text is beside it
	NoBase     State = "base changed"
)

// States gives, by path, the state of files that differ from the pack.
func States(project fs.FS, p Installed) map[string]State {
	out := map[string]State{}
	for _, f := range p.Files {
		base, err := fs.ReadFile(project, basePath(p.Name, f.Path))
		now, missingErr := fs.ReadFile(project, f.Path)
		_, newFileErr := fs.Stat(project, f.Path+".new")
		switch {
		case err != nil || formats.Sum(base) != f.SHA256:
			out[f.Path] = NoBase
		case newFileErr == nil:
			out[f.Path] = Conflicted
		case missingErr != nil:
			out[f.Path] = Missing
		case formats.Sum(now) != f.SHA256:
			out[f.Path] = Edited
		}
	}
	return out
}

// ReadInstalled is an installed pack with its current files, and the tests of its base.
func ReadInstalled(project fs.FS, p Installed) (placed, tests []File, err error) {
	for _, f := range p.Files {
		data, err := fs.ReadFile(project, f.Path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, nil, formats.Broken(formats.CodeIO, f.Path, err)
		}
		placed = append(placed, File{f.Path, data})
	}
	names, err := fs.Glob(project, path.Join(Folder, p.Name, "base/tests/*.json"))
	for _, name := range names {
		data, err := fs.ReadFile(project, name)
		if err != nil {
			return nil, nil, formats.Broken(formats.CodeIO, name, err)
		}
		tests = append(tests, File{name, data})
	}
	return placed, tests, err
}
