package dialect

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// pluginFile is the manifest of a plugin of Claude Code, below the plugin's folder.
const pluginFile = ".claude-plugin/plugin.json"

// pluginManifest is what a plugin's manifest, or its entry in a marketplace, says about its files.
type pluginManifest struct {
	Name     string      `json:"name"`
	Commands pluginPaths `json:"commands"`
	Agents   pluginPaths `json:"agents"`
	Skills   pluginPaths `json:"skills"`
}

// pluginPaths are paths below a plugin's folder: one, a list, or a map of objects with a source.
type pluginPaths []string

// UnmarshalJSON implements json.Unmarshaler. A value of another form names no path, as in Claude
// Code.
func (p *pluginPaths) UnmarshalJSON(src []byte) error {
	var one string
	var list []json.RawMessage
	var named map[string]struct {
		Source string `json:"source"`
	}
	switch {
	case json.Unmarshal(src, &one) == nil:
		*p = pluginPaths{one}
	case json.Unmarshal(src, &list) == nil:
		for _, raw := range list {
			var text string
			if json.Unmarshal(raw, &text) == nil {
				*p = append(*p, text)
			}
		}
	case json.Unmarshal(src, &named) == nil:
		for _, entry := range named {
			*p = append(*p, entry.Source)
		}
		slices.Sort(*p)
	}
	return nil
}

// ownPlugins lists the places of the plugins that the project holds: those of its marketplace, and
// the project itself if it is one.
func (f *Finder) ownPlugins() (places []Place) {
	tree := f.Sub(".")
	var market struct {
		Metadata struct {
			Root string `json:"pluginRoot"`
		} `json:"metadata"`
		Plugins []struct {
			pluginManifest

			Source any `json:"source"`
		} `json:"plugins"`
	}
	readJSON(tree, ".claude-plugin/marketplace.json", &market)
	listed := false
	for _, p := range market.Plugins {
		// others are fetched from elsewhere, and are installed or not there
		source, ok := p.Source.(string)
		if ok && !strings.HasPrefix(source, ".") {
			source = path.Join(market.Metadata.Root, source)
		}
		source = path.Clean(filepath.ToSlash(source))
		if !ok || p.Name == "" || !fs.ValidPath(source) {
			continue
		}

		listed = listed || source == "."
		m := pluginManifest{}
		readJSON(tree, path.Join(source, pluginFile), &m)
		m.Name = p.Name
		m.Commands = append(m.Commands, p.Commands...)
		m.Agents = append(m.Agents, p.Agents...)
		m.Skills = append(m.Skills, p.Skills...)
		places = append(places, f.pluginPlaces(f.Sub(source), source, source, m)...)
	}

	var self pluginManifest
	if !listed && readJSON(tree, pluginFile, &self) && self.Name != "" {
		places = append(places, f.pluginPlaces(tree, ".", ".", self)...)
	}
	return places
}

// PluginFiles lists the manifests of the project's plugins, which name files that are loaded.
func (f *Finder) PluginFiles() []string {
	var out []string
	for _, p := range f.ownPlugins() {
		if name := path.Join(p.Root, pluginFile); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// pluginPlaces lists the places of a plugin: the default folders, then what its manifest names
// beside them.
func (f *Finder) pluginPlaces(tree fs.FS, dir, label string, m pluginManifest) []Place {
	out := Plugins(m.Name, dir, label)
	for i := range out {
		out[i].Root = dir
	}
	add := func(p Place, inside string, only bool) {
		at := path.Dir(inside)
		if !only {
			at = inside
		}

		p.Dir = path.Join(dir, at)
		same := slices.IndexFunc(out, func(o Place) bool {
			return o.Dir == p.Dir && o.Skills == p.Skills && o.Agents == p.Agents
		})
		switch {
		case same < 0:
			p.Label = path.Join(label, at)
			if only {
				p.Only = []string{path.Base(inside)}
			}
			out = append(out, p)
		case !only:
			out[same].Only = nil
		case out[same].Only != nil:
			out[same].Only = append(out[same].Only, path.Base(inside))
		}
	}

	base := Place{Dialect: Claude, Scope: Plugin, Plugin: m.Name, Root: dir}
	agents := base
	agents.Agents = true
	skills := base
	skills.Skills = true

	for _, kind := range []struct {
		place Place
		word  string
		paths []string
	}{{base, "commands", m.Commands}, {agents, "agents", m.Agents}, {skills, "skills", m.Skills}} {
		for _, name := range kind.paths {
			inside := path.Clean(filepath.ToSlash(name))
			info, err := fs.Stat(tree, inside)
			if name == "" || !fs.ValidPath(inside) || err != nil {
				f.Note(fmt.Sprintf("plugin %s: no file and no folder of it stands at %s, "+
					"which its %s name; it is left out", m.Name, oneLine(name), kind.word))
				continue
			}
			// a skill is named by its folder, which can lie among others
			_, none := fs.Stat(tree, path.Join(inside, "SKILL.md"))
			only := !info.IsDir() || kind.place.Skills && none == nil && inside != "."
			add(kind.place, inside, only)
		}
	}
	return out
}

// onlyFS is a folder of which only some files and folders are seen.
type onlyFS struct {
	fs.FS
	only []string
}

// Stat implements fs.StatFS.
func (o onlyFS) Stat(name string) (fs.FileInfo, error) {
	return fs.Stat(o.FS, name)
}

// ReadDir implements fs.ReadDirFS.
func (o onlyFS) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(o.FS, name)
	if name != "." {
		return list, err
	}
	return slices.DeleteFunc(list, func(e fs.DirEntry) bool {
		return !slices.Contains(o.only, e.Name())
	}), err
}

// makeLabelsDistinct gives folders of the same label labels that differ: two plugins may have one
// folder.
func makeLabelsDistinct(list []Folder) []Folder {
	seen := map[string]bool{}
	for i := range list {
		p := &list[i].Place
		for seen[p.Label] {
			p.Label += " (plugin " + p.Plugin + ")"
		}
		seen[p.Label] = true
	}
	return list
}
