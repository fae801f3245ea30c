package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tercet/internal/dialect"
)

// commandPlaces lists where commands of other tools lie, in order of precedence: the project's, those of the folders around
// it, the person's, those of plugins and extensions.
func (a *app) commandPlaces(dir string, root *os.Root) []presentPlace {
	var project, user []dialect.Place
	homes := a.homes()
	for _, p := range dialect.Commands(homes) {
		if p.Scope == dialect.Project {
			project = append(project, p)
		} else {
			user = append(user, p)
		}
	}
	out := a.present(dir, root, project)
	for _, name := range []string{"opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"} {
		out = a.appendConfig(out, root.FS(), name, dialect.Place{Dialect: dialect.OpenCode, Scope: dialect.Project, Dir: name, Label: name})
	}
	out = append(out, a.above(dir, homes.Home)...)
	out = append(out, a.present(dir, root, user)...)
	for _, home := range []string{homes.OpenCode, path.Join(homes.Config, "opencode")} {
		if !path.IsAbs(home) || homes.Config == "" {
			continue
		}
		for _, name := range []string{"opencode.json", "opencode.jsonc"} {
			label := path.Join(home, name)
			if rest, ok := strings.CutPrefix(label, strings.TrimSuffix(homes.Home, "/")+"/"); ok && homes.Home != "" {
				label = "~/" + rest
			}
			out = a.appendConfig(out, os.DirFS(filepath.FromSlash(home)), name, dialect.Place{Dialect: dialect.OpenCode, Scope: dialect.User, Dir: path.Join(home, name), Label: label})
		}
	}
	return append(out, a.plugins(dir, root, false)...)
}

// maxAbove is how many folders above the project root are looked into.
const maxAbove = 16

// above lists the folders of opencode in the folders around the project root, up to the one that holds the repository. The
// folder of the person is none of them: what lies there is the person's.
func (a *app) above(dir, home string) []presentPlace {
	var out []presentPlace
	var found []presentPlace
	at, up := dir, ""
	for range maxAbove {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return append(out, found...)
		}
		next := filepath.Dir(at)
		if next == at || filepath.ToSlash(next) == strings.TrimSuffix(home, "/") {
			return nil // no repository: the folders around are not the project's
		}
		at, up = next, path.Join(up, "..")
		for _, p := range dialect.Above(filepath.ToSlash(at), up) {
			if info, err := os.Stat(filepath.FromSlash(p.Dir)); err == nil && info.IsDir() {
				found = append(found, presentPlace{p, os.DirFS(filepath.FromSlash(p.Dir))})
			}
		}
	}
	return nil
}

// plugins lists the folders of the plugins of Claude Code that the project lists: those of its own marketplace, and those
// that its settings or the person's switch on and that are installed.
func (a *app) plugins(dir string, root *os.Root, agents bool) []presentPlace {
	var out []presentPlace
	add := func(places []dialect.Place, tree func(dir string) fs.FS) {
		for _, p := range places {
			if p.Agents != agents {
				continue
			}
			t := tree(p.Dir)
			if info, err := fs.Stat(t, "."); err == nil && info.IsDir() {
				out = append(out, presentPlace{p, t})
			}
		}
	}
	inRoot := func(dir string) fs.FS { return rooted{root: root.FS(), dir: dir} }
	var market struct {
		Plugins []struct {
			Name   string `json:"name"`
			Source any    `json:"source"`
		} `json:"plugins"`
	}
	readConfig(root.FS(), ".claude-plugin/marketplace.json", &market)
	for _, p := range market.Plugins {
		source, ok := p.Source.(string) // others are fetched from elsewhere, and are installed or not there
		source = path.Clean(filepath.ToSlash(source))
		if ok && p.Name != "" && fs.ValidPath(source) {
			add(dialect.Plugins(p.Name, source, source), inRoot)
		}
	}
	outside := func(dir string) fs.FS { return os.DirFS(filepath.FromSlash(dir)) }
	home := a.homes().Home
	if home != "" {
		for _, p := range a.installed(root, outside(home), dir) {
			add(dialect.Plugins(p.name, p.dir, "plugin "+p.name), outside)
		}
	}
	seen := map[string]bool{}
	for _, e := range extensions(root.FS(), ".", dir) {
		seen[e.name] = true
		add(dialect.Extensions(e.name, e.dir, e.label), inRoot)
	}
	if home != "" && !within(filepath.Join(filepath.FromSlash(home), ".gemini", "commands"), dir) {
		for _, e := range extensions(outside(home), home, dir) {
			if !seen[e.name] { // the project's goes before the person's
				add(dialect.Extensions(e.name, e.dir, e.label), outside)
			}
		}
	}
	return out
}

// plugin is one that is installed in a folder of the person.
type plugin struct{ name, dir string }

// installed lists the plugins that are switched on for this project and installed, by name.
func (a *app) installed(root *os.Root, home fs.FS, dir string) []plugin {
	on := map[string]bool{}
	for _, one := range []struct {
		tree fs.FS
		name string
	}{{home, ".claude/settings.json"}, {root.FS(), ".claude/settings.json"}, {root.FS(), ".claude/settings.local.json"}} {
		var settings struct {
			Enabled map[string]bool `json:"enabledPlugins"`
		}
		readConfig(one.tree, one.name, &settings)
		maps.Copy(on, settings.Enabled)
	}
	if len(on) == 0 {
		return nil
	}
	var registry struct {
		Plugins map[string]json.RawMessage `json:"plugins"`
	}
	readConfig(home, ".claude/plugins/installed_plugins.json", &registry)
	type install struct {
		Path    string `json:"installPath"`
		Project string `json:"projectPath"`
	}
	var out []plugin
	for _, id := range slices.Sorted(maps.Keys(on)) {
		var list []install
		if raw := registry.Plugins[id]; !on[id] || raw == nil || json.Unmarshal(raw, &list) != nil {
			var one install // the older form has one object
			if !on[id] || raw == nil || json.Unmarshal(raw, &one) != nil {
				continue
			}
			list = []install{one}
		}
		for _, one := range list {
			name, _, _ := strings.Cut(id, "@")
			if one.Path != "" && filepath.IsAbs(one.Path) && (one.Project == "" || filepath.Clean(one.Project) == dir) {
				out = append(out, plugin{name, filepath.ToSlash(one.Path)})
				break
			}
		}
	}
	return out
}

// readConfig reads a JSON file of another tool, which may have comments; one that is not there, too large or no JSON leaves
// the value as it is.
func readConfig(tree fs.FS, name string, into any) bool {
	src, err := readSome(tree, name)
	if err != nil || len(src) > dialect.MaxBytes {
		return false
	}
	return json.Unmarshal(plainJSON(src), into) == nil
}

// plainJSON takes comments, and commas before a closing bracket, out of JSON; blanks stand in their place.
func plainJSON(src []byte) []byte {
	out := bytes.Clone(bytes.TrimPrefix(src, []byte("\ufeff")))
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	comma := -1
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
			comma = -1
		case c == '/' && i+1 < len(out) && out[i+1] == '/':
			end := len(out)
			if n := bytes.IndexByte(out[i:], '\n'); n >= 0 {
				end = i + n
			}
			blank(i, end)
			i = end - 1
		case c == '/' && i+1 < len(out) && out[i+1] == '*':
			end := len(out)
			if n := bytes.Index(out[i+2:], []byte("*/")); n >= 0 {
				end = i + 2 + n + 2
			}
			blank(i, end)
			i = end - 1
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			blank(comma, comma+1)
			comma = -1
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			comma = -1
		}
	}
	return out
}

// held is a folder of files that are kept in memory, without folders in it.
type held map[string]*heldFile

// heldFile is a file of a folder in memory, and what is known of it.
type heldFile struct {
	name string
	data []byte
	time time.Time
}

func (h held) Open(name string) (fs.File, error) {
	f, ok := h[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &openHeld{f, bytes.NewReader(f.data)}, nil
}

func (h held) Stat(name string) (fs.FileInfo, error) {
	if name == "." {
		return &heldFile{name: "."}, nil
	}
	f, ok := h[name]
	if !ok {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return f, nil
}

func (h held) ReadDir(string) ([]fs.DirEntry, error) { //nolint:unparam // the interface wants it
	out := make([]fs.DirEntry, 0, len(h))
	for _, name := range slices.Sorted(maps.Keys(h)) {
		out = append(out, fs.FileInfoToDirEntry(h[name]))
	}
	return out, nil
}

type openHeld struct {
	file *heldFile
	*bytes.Reader
}

func (o *openHeld) Stat() (fs.FileInfo, error) { return o.file, nil }
func (o *openHeld) Close() error               { return nil }

func (f *heldFile) Name() string       { return f.name }
func (f *heldFile) Size() int64        { return int64(len(f.data)) }
func (f *heldFile) ModTime() time.Time { return f.time }
func (f *heldFile) IsDir() bool        { return f.name == "." }
func (f *heldFile) Sys() any           { return nil }

func (f *heldFile) Mode() fs.FileMode {
	if f.IsDir() {
		return fs.ModeDir | 0o555
	}
	return 0o444
}
