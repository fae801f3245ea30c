package dialect

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tercet/internal/lazy"
)

// Finder searches for the folders of other tools around one project. All fields are required,
// except Skip.
type Finder struct {
	Dir   string // project root, absolute
	Homes Homes
	// Sub returns a folder of the project by its path from the root, "." for the root. It rejects
	// paths that lead out.
	Sub func(dir string) fs.FS
	// Note reports an unreadable configuration, whose commands are then missing.
	Note func(text string)
	// Skip reports each file written by tercet export, which is not a command; nil: no report.
	Skip func(p Place, inside string)
}

// Folder is an existing place with its files.
type Folder struct {
	Place
	FS fs.FS
}

// Limits of the search.
const (
	maxParents    = 16  // folders above the project root
	maxAgents     = 500 // agent files of a place
	maxAgentDepth = 8   // folders with agents inside each other
	maxExtensions = 200
)

// Commands lists the folders with commands, in order of precedence: the project's, those of its
// parent folders, the user's, those of plugins and extensions.
func (f *Finder) Commands() []Folder {
	all := Commands(f.Homes)
	user := slices.IndexFunc(all, func(p Place) bool { return p.Scope == User })
	if user < 0 {
		user = len(all)
	}

	out := f.existingFolders(all[:user])
	for _, name := range []string{
		"opencode.json", "opencode.jsonc", ".opencode/opencode.json",
		".opencode/opencode.jsonc",
	} {
		place := Place{
			Dialect: OpenCode,
			Scope:   Project,
			Dir:     name,
			Label:   name,
		}
		out = append(out, f.configCommands(f.Sub("."), name, place)...)
	}

	out = append(out, f.parentFolders()...)
	out = append(out, f.existingFolders(all[user:])...)

	for _, home := range []string{f.Homes.OpenCode, path.Join(f.Homes.Config, "opencode")} {
		if !path.IsAbs(home) || f.Homes.Config == "" {
			continue
		}
		for _, name := range []string{"opencode.json", "opencode.jsonc"} {
			at := path.Join(home, name)
			place := Place{
				Dialect: OpenCode,
				Scope:   User,
				Dir:     at,
				Label:   f.Homes.label(at),
			}
			out = append(out, f.configCommands(dirFS(home), name, place)...)
		}
	}

	return makeLabelsDistinct(append(out, f.pluginFolders(false)...))
}

// Agents lists the folders with agents, in order of precedence.
func (f *Finder) Agents() []Folder {
	return append(f.existingFolders(AgentPlaces(f.Homes)), f.pluginFolders(true)...)
}

func dirFS(dir string) fs.FS {
	return os.DirFS(filepath.FromSlash(dir))
}

// existingFolders drops places that do not exist, and the user's if the project root is the home
// folder.
func (f *Finder) existingFolders(list []Place) []Folder {
	var out []Folder
	for _, p := range list {
		var tree fs.FS
		switch {
		case fs.ValidPath(p.Dir):
			tree = f.Sub(p.Dir)
		case !filepath.IsAbs(filepath.FromSlash(p.Dir)) || p.Scope == User && f.isProjectDir(p.Dir):
			continue
		default:
			tree = dirFS(p.Dir)
		}
		if info, err := fs.Stat(tree, "."); err == nil && info.IsDir() {
			if p.Only != nil {
				tree = onlyFS{tree, p.Only}
			}
			if !p.Agents {
				tree = unexportedFS{tree, p, f.Skip}
			}
			out = append(out, Folder{p, tree})
		}
	}
	return out
}

// isProjectDir reports whether a folder of the user belongs to the project: the project root is the
// home folder.
func (f *Finder) isProjectDir(dir string) bool {
	rel, err := filepath.Rel(f.Dir, filepath.FromSlash(dir))
	return err == nil && filepath.IsLocal(rel) &&
		slices.ContainsFunc(append(Commands(Homes{}), AgentPlaces(Homes{})...), func(p Place) bool {
			return p.Dir == filepath.ToSlash(rel)
		})
}

// parentFolders lists the folders of opencode in the parents of the project root, up to the one
// that contains the repository. The user's own folder is not among them.
func (f *Finder) parentFolders() []Folder {
	var found []Place
	at := f.Dir
	up := ""
	for range maxParents {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return f.existingFolders(found)
		}
		next := filepath.Dir(at)
		if next == at || filepath.ToSlash(next) == strings.TrimSuffix(f.Homes.Home, "/") {
			return nil // no repository: the parent folders do not belong to the project
		}
		at = next
		up = path.Join(up, "..")
		for _, sub := range []string{".opencode/commands", ".opencode/command"} {
			dir := path.Join(filepath.ToSlash(at), sub)
			found = append(found, Place{
				Dialect: OpenCode,
				Scope:   Project,
				Dir:     dir,
				Label:   path.Join(up, sub),
			})
		}
	}
	return nil
}

// pluginFolders lists the folders of Claude Code's plugins and of Gemini CLI's extensions. Plugins
// are those that the project lists, those of its own marketplace, and installed ones that its or
// the user's settings enable. agents selects those with agents, else those with commands.
func (f *Finder) pluginFolders(agents bool) []Folder {
	places := f.ownPlugins()
	home := f.Homes.Home
	if home != "" {
		places = append(places, f.enabledPlugins(dirFS(home))...)
	}

	seen := map[string]bool{}
	own := f.extensions(f.Sub("."), ".")
	for _, e := range own {
		seen[e.name] = true
		places = append(places, Extensions(e.name, e.dir, e.label)...)
	}

	if home != "" && !f.isProjectDir(path.Join(home, ".gemini/commands")) {
		for _, e := range f.extensions(dirFS(home), home) {
			if !seen[e.name] { // the project's takes precedence
				places = append(places, Extensions(e.name, e.dir, e.label)...)
			}
		}
	}
	wanted := slices.DeleteFunc(places, func(p Place) bool { return p.Agents != agents })
	return f.existingFolders(wanted)
}

// enabledPlugins lists the places of the installed plugins that are enabled for this project, by
// name.
func (f *Finder) enabledPlugins(home fs.FS) []Place {
	on := map[string]bool{}
	for _, one := range []struct {
		tree fs.FS
		name string
	}{{home, "settings.json"}, {f.Sub("."), "settings.json"}, {f.Sub("."), "settings.local.json"}} {
		var settings struct {
			Enabled map[string]bool `json:"enabledPlugins"`
		}
		readJSON(one.tree, ".claude/"+one.name, &settings)
		maps.Copy(on, settings.Enabled)
	}

	if len(on) == 0 {
		return nil
	}
	var registry struct {
		Plugins map[string]json.RawMessage `json:"plugins"`
	}

	readJSON(home, ".claude/plugins/installed_plugins.json", &registry)
	type install struct {
		Path    string `json:"installPath"`
		Project string `json:"projectPath"`
	}
	var out []Place
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
			if filepath.IsAbs(one.Path) &&
				(one.Project == "" || filepath.Clean(one.Project) == f.Dir) {
				dir := filepath.ToSlash(one.Path)
				m := pluginManifest{Name: name}
				readJSON(dirFS(dir), pluginFile, &m)
				m.Name = name
				out = append(out, f.pluginPlaces(dirFS(dir), dir, "plugin "+name, m)...)
				break
			}
		}
	}

	return out
}

// extension is an existing extension of Gemini CLI.
type extension struct{ name, dir, label string }

// extensions lists the extensions of Gemini CLI in the folder of a project (base ".") or of the
// user (base: the home folder). An extension is a folder with a file gemini-extension.json; a
// linked one is elsewhere. The user's rules say which are disabled for a project.
func (f *Finder) extensions(tree fs.FS, base string) []extension {
	entries, err := fs.ReadDir(tree, extensions)
	if err != nil {
		return nil
	}

	own := base == "."
	rules := map[string]struct {
		Overrides []string `json:"overrides"`
	}{}
	if !own {
		readJSON(tree, extensions+"/extension-enablement.json", &rules)
	}

	var out []extension
	for _, e := range entries[:min(len(entries), maxExtensions)] {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}

		at := path.Join(extensions, e.Name())
		one := extension{dir: path.Join(base, at), label: path.Join("~", at)}
		from := tree
		inside := at
		var install struct {
			Type   string `json:"type"`
			Source string `json:"source"`
		}
		if own {
			one.label = at
		} else if readJSON(tree, at+"/.gemini-extension-install.json", &install) &&
			install.Type == "link" &&
			filepath.IsAbs(install.Source) {
			one.dir = filepath.ToSlash(install.Source)
			one.label = "extension " + e.Name()
			from = dirFS(install.Source)
			inside = "."
		}

		var manifest struct {
			Name string `json:"name"`
		}
		if !readJSON(from, path.Join(inside, "gemini-extension.json"), &manifest) ||
			!extensionName().MatchString(manifest.Name) {
			continue
		}

		one.name = manifest.Name
		if extensionEnabled(rules[one.name].Overrides, filepath.ToSlash(f.Dir)) {
			out = append(out, one)
		}
	}

	return out
}

// extensionName matches an extension's name, which prefixes the names of commands.
var extensionName = lazy.Regexp(`^[A-Za-z0-9._-]{1,100}$`)

// extensionEnabled evaluates rules such as /work/* and !/work/old/*; the last match counts. Without
// a match an extension is enabled.
func extensionEnabled(rules []string, folder string) bool {
	folder = "/" + strings.Trim(folder, "/") + "/"
	on := true
	for _, rule := range rules {
		rule, off := strings.CutPrefix(rule, "!")
		parent, below := strings.CutSuffix(rule, "*")
		parent = strings.TrimSuffix("/"+strings.Trim(parent, "/"), "/") + "/"
		if folder == parent || below && strings.HasPrefix(folder, parent) {
			on = !off
		}
	}
	return on
}

// AgentFiles lists the agent files of a place, also those behind links to folders.
func (p Folder) AgentFiles() []string {
	var out []string
	var walk func(dir string, around []fs.FileInfo)
	walk = func(dir string, around []fs.FileInfo) {
		info, err := fs.Stat(p.FS, dir)
		if err != nil || slices.ContainsFunc(around, func(one fs.FileInfo) bool {
			return os.SameFile(one, info)
		}) {
			return // a link back to a folder that holds it
		}

		around = append(slices.Clip(around), info)
		//nolint:errcheck // a folder of a tool that cannot be read costs its agents, no command
		entries, _ := fs.ReadDir(p.FS, dir)
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			folder := e.IsDir()
			if e.Type()&fs.ModeSymlink != 0 {
				at, err := fs.Stat(p.FS, name)
				folder = err == nil && at.IsDir()
			}
			_, agent := p.IsAgent(name)

			switch {
			case len(out) == maxAgents:
				return
			case !folder && agent:
				out = append(out, name)
			case folder && !strings.HasPrefix(e.Name(), ".") && e.Name() != "node_modules" &&
				len(around) <= maxAgentDepth:
				walk(name, around)
			}
		}
	}
	walk(".", nil)
	return out
}

// ReadFile reads at most one byte more than MaxBytes, so that the caller can reject a huge file.
func ReadFile(tree fs.FS, name string) ([]byte, error) {
	f, err := tree.Open(name)
	if err != nil {
		return nil, err
	}

	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	return data, errors.Join(err, f.Close())
}

// readJSON reads a JSON file of another tool, which may have comments. If it is missing, too large
// or invalid, into stays unchanged.
func readJSON(tree fs.FS, name string, into any) bool {
	src, err := ReadFile(tree, name)
	return err == nil && len(src) <= MaxBytes && json.Unmarshal(stripJSON(src), into) == nil
}

// jsonExtras matches comments and trailing commas. It also matches strings, which are skipped.
var jsonExtras = lazy.Regexp(`(?s)"(?:\\.|[^"\\])*"?|//[^\n]*|/\*.*?(?:\*/|\z)|,\s*[}\]]`)

// stripJSON replaces comments and trailing commas in JSON by blanks.
func stripJSON(src []byte) []byte {
	out := []byte(strings.TrimPrefix(string(src), bom))
	for range 2 { // a comment may stand between a comma and the bracket
		for _, at := range jsonExtras().FindAllIndex(out, -1) {
			switch found := out[at[0]:at[1]]; found[0] {
			case '/':
				for i, c := range found {
					if c != '\n' {
						found[i] = ' '
					}
				}
			case ',':
				found[0] = ' '
			}
		}
	}
	return out
}
