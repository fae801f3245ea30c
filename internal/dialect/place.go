package dialect

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"tercet/formats"
)

// Dialect names the tool whose rules a file follows.
type Dialect string

// The dialects. Package syntax reads tercet's own format.
const (
	Tercet   Dialect = "tercet"
	Claude   Dialect = "claude"
	OpenCode Dialect = "opencode"
	Gemini   Dialect = "gemini"
	Codex    Dialect = "codex"
	Copilot  Dialect = "copilot"
	Cursor   Dialect = "cursor"
)

// String is the dialect in messages.
func (d Dialect) String() string {
	return string(d)
}

// Scope says whose files a place has.
type Scope string

// The scopes, in order of precedence.
const (
	Project Scope = "project"
	User    Scope = "user"
	Plugin  Scope = "plugin"
)

// String is the scope's word, also the prefix in /project:name.
func (s Scope) String() string {
	return string(s)
}

// IsScope reports whether a word may be a scope in front of a command's name.
func IsScope(word string) bool {
	return slices.Contains(
		strings.Fields(
			"tercet project user plugin claude opencode gemini codex copilot cursor agents",
		),
		word,
	)
}

// Place is a folder in which a tool keeps files. Dir has slashes; it is relative to the project
// root, but absolute in scope user.
type Place struct {
	Dialect Dialect
	Scope   Scope
	Dir     string
	Label   string // the folder in messages, "~/.claude/commands"
	Skills  bool   // one folder for each command, with a file SKILL.md
	Agents  bool
	Plugin  string // name of the plugin that owns the files; prefix of its commands
	Root    string // folder of that plugin, spelled as Dir is
	// Only names the files or folders of Dir that belong to the place; nil: all of them.
	Only []string
	// Extension is the Gemini CLI extension that owns the files; it prefixes a name only if another
	// command has that name.
	Extension string
	// At maps a position in a file to one in the file Label, which then contains all of them; nil:
	// each is its own file.
	At func(file string, at formats.Pos) formats.Pos
}

// Homes are the folders of tools in the user's home, absolute; empty ones are skipped.
type Homes struct {
	Home     string // ~
	Config   string // XDG_CONFIG_HOME, or ~/.config
	Codex    string // CODEX_HOME, or ~/.codex
	OpenCode string // OPENCODE_CONFIG_DIR, may be empty
}

// HomesOf reads the folders from environment variables.
func HomesOf(env func(name string) string) Homes {
	h := Homes{
		Home:     filepath.ToSlash(env("HOME")),
		Config:   filepath.ToSlash(env("XDG_CONFIG_HOME")),
		Codex:    filepath.ToSlash(env("CODEX_HOME")),
		OpenCode: filepath.ToSlash(env("OPENCODE_CONFIG_DIR")),
	}
	if h.Home != "" {
		h.Config = cmp.Or(h.Config, h.Home+"/.config")
		h.Codex = cmp.Or(h.Codex, h.Home+"/.codex")
	}
	return h
}

// The folders of tools, in order of precedence: the project's before the user's, skills before
// commands. The user's begin with a field of Homes.
const (
	commandFolders = `
claude   .claude/skills
claude   .claude/commands
claude   .claude/command
opencode .opencode/commands
opencode .opencode/command
gemini   .gemini/commands
copilot  .github/prompts
cursor   .cursor/commands
codex    .codex/prompts
claude   .agents/skills
claude   .github/skills
claude   .gemini/skills
claude   .opencode/skills
claude   ~/.claude/skills
claude   ~/.claude/commands
claude   ~/.claude/command
opencode OpenCode/commands
opencode OpenCode/command
opencode Config/opencode/commands
opencode Config/opencode/command
opencode ~/.opencode/commands
opencode ~/.opencode/command
gemini   ~/.gemini/commands
cursor   ~/.cursor/commands
codex    Codex/prompts
claude   ~/.agents/skills
claude   ~/.copilot/skills
claude   ~/.gemini/skills
claude   Config/opencode/skills
claude   ~/.opencode/skills`
	agentFolders = `
claude   .claude/agents
claude   .claude/agent
opencode .opencode/agents
opencode .opencode/agent
gemini   .gemini/agents
copilot  .github/agents
claude   ~/.claude/agents
claude   ~/.claude/agent
opencode OpenCode/agents
opencode OpenCode/agent
opencode Config/opencode/agents
opencode Config/opencode/agent
gemini   ~/.gemini/agents`
)

// Commands lists the folders with commands, in order of precedence.
func Commands(h Homes) []Place {
	return h.places(commandFolders)
}

// AgentPlaces lists the folders with agents, in order of precedence.
func AgentPlaces(h Homes) []Place {
	return h.places(agentFolders)
}

// places parses a list of folders, without those of the user that have no home.
func (h Homes) places(folders string) []Place {
	homes := map[string]string{
		"~":        h.Home,
		"Config":   h.Config,
		"Codex":    h.Codex,
		"OpenCode": h.OpenCode,
	}
	var out []Place

	for line := range strings.SplitSeq(strings.TrimSpace(folders), "\n") {
		tool, dir, _ := strings.Cut(line, " ")
		dir = strings.TrimSpace(dir)
		p := Place{
			Dialect: Dialect(tool),
			Scope:   Project,
			Dir:     dir,
			Label:   dir,
		}

		first, rest, _ := strings.Cut(dir, "/")
		if home, ok := homes[first]; ok {
			p.Scope = User
			p.Dir = path.Join(home, rest)
			p.Label = h.label(p.Dir)
			if home == "" {
				continue
			}
		}

		p.Skills = path.Base(dir) == "skills"
		p.Agents = strings.HasPrefix(path.Base(dir), "agent")
		out = append(out, p)
	}

	return out
}

// Tool is the name of the tool of the place. Skills follow the rules of one tool in every folder.
func (p Place) Tool() string {
	if !p.Skills || p.Plugin != "" || p.Extension != "" {
		return p.Dialect.String()
	}
	tool := strings.TrimPrefix(path.Base(path.Dir(p.Dir)), ".")
	return strings.Replace(tool, "github", Copilot.String(), 1)
}

// label is a path for messages.
func (h Homes) label(dir string) string {
	if rest, ok := strings.CutPrefix(dir, strings.TrimSuffix(h.Home, "/")+"/"); ok && h.Home != "" {
		return "~/" + rest
	}
	return dir
}

// Plugins lists the places of commands and agents in a Claude Code plugin at dir.
func Plugins(name, dir, label string) []Place {
	return completePlaces(dir, label, []Place{
		{Dialect: Claude, Plugin: name, Dir: "skills", Skills: true},
		{Dialect: Claude, Plugin: name, Dir: "commands"},
		{Dialect: Claude, Plugin: name, Dir: "agents", Agents: true},
	})
}

// extensions is the folder in which Gemini CLI keeps its extensions, of a project and of the user.
const extensions = ".gemini/extensions"

// Extensions lists the places of a Gemini CLI extension at dir: its commands, skills and agents.
func Extensions(name, dir, label string) []Place {
	return completePlaces(dir, label, []Place{
		{Dialect: Gemini, Extension: name, Dir: "commands"},
		{Dialect: Claude, Extension: name, Dir: "skills", Skills: true},
		{Dialect: Gemini, Extension: name, Dir: "agents", Agents: true},
	})
}

// completePlaces sets folder and label of places.
func completePlaces(dir, label string, list []Place) []Place {
	for i := range list {
		p := &list[i]
		p.Scope = Plugin
		p.Label = path.Join(label, p.Dir)
		p.Dir = path.Join(dir, p.Dir)
	}
	return list
}

// placeOfExtension finds the place of an extension that contains a path.
func placeOfExtension(slashed string) (place Place, inside string, ok bool) {
	at := strings.LastIndex(slashed, "/"+extensions+"/")
	if at < 0 {
		return Place{}, "", false
	}
	dir := slashed[at+1:]
	name, rest, _ := strings.Cut(strings.TrimPrefix(dir, extensions+"/"), "/")
	for _, p := range Extensions(name, path.Join(extensions, name), path.Join(extensions, name)) {
		inside, ok = strings.CutPrefix(rest, path.Base(p.Dir)+"/")
		if !ok {
			continue
		}
		return p, inside, p.contains(inside)
	}
	return Place{}, "", false
}

// contains reports whether a file below the place is one of its commands or agents.
func (p Place) contains(inside string) (ok bool) {
	_, ok = p.Name(inside)
	if p.Agents {
		_, ok = p.IsAgent(inside)
	}
	return ok
}

// Name returns the slash name of a file below the place, with ':' between its parts. ok is false if
// the file is not a command. White space becomes '-', because it would end a name.
func (p Place) Name(file string) (string, bool) {
	name, ok := p.nameInPlugin(file)
	if p.Plugin != "" {
		name = typableName(p.Plugin) + ":" + name
	}
	return name, ok
}

// nameInPlugin is the name without that of a plugin.
func (p Place) nameInPlugin(file string) (string, bool) {
	mine := p.covers(file)
	if p.Skills {
		dir, base := path.Split(file)
		dir = strings.TrimSuffix(dir, "/")
		skill := base == "SKILL.md" && dir != "" && !strings.Contains(dir, "/")
		return typableName(dir), skill && mine
	}

	end := toolFor(p.Dialect).suffix
	stem, ok := strings.CutSuffix(file, end)
	ok = ok && path.Base(file) != end && mine

	if p.Dialect == Gemini {
		return geminiName(stem), ok
	}
	if p.Dialect == Codex {
		return "prompts:" + typableName(stem), ok && !strings.Contains(file, "/")
	}
	return typableName(strings.ReplaceAll(stem, "/", ":")), ok
}

// covers reports whether a file below Dir belongs to the place.
func (p Place) covers(file string) bool {
	first, _, _ := strings.Cut(file, "/")
	return p.Only == nil || slices.Contains(p.Only, first)
}

// IsAgent reports whether a file below a place of agents is one, and returns the name that follows
// from its path.
func (p Place) IsAgent(file string) (string, bool) {
	if !p.covers(file) {
		return "", false
	}
	for _, end := range []string{".agent.md", ".chatmode.md"} {
		if stem, ok := strings.CutSuffix(file, end); ok && p.Dialect == Copilot {
			return path.Base(stem), stem != ""
		}
	}
	stem, ok := strings.CutSuffix(file, ".md")
	return path.Base(
		stem,
	), ok && path.Base(file) != ".md" && !strings.EqualFold(path.Base(stem), "readme")
}

// typableName replaces white space, which would end a typed name, by hyphens.
func typableName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return '-'
		}
		return r
	}, name)
}

// InToolFolder reports whether a path goes through a folder of another tool, such as .claude.
func InToolFolder(file string) bool {
	return slices.ContainsFunc(Commands(Homes{}), func(p Place) bool {
		own, _, _ := strings.Cut(p.Dir, "/")
		return strings.Contains("/"+file, "/"+own+"/")
	})
}

// PlaceOf finds the place that contains a path, by folder names, and the path below it. It decides
// the dialect of a file on a command line.
func PlaceOf(file string) (place Place, inside string, ok bool) {
	slashed := "/" + strings.TrimPrefix(path.Clean(file), "/")
	place, inside, ok = placeOfExtension(slashed)
	if ok {
		return place, inside, true
	}
	if !strings.Contains(slashed, "/.") { // the folder of every place starts with a dot
		return Place{}, "", false
	}
	for _, list := range [][]Place{
		Commands(Homes{Config: "/.config", Codex: "/.codex"}),
		AgentPlaces(Homes{Config: "/.config"}),
	} {
		for _, p := range list {
			dir := "/" + strings.Trim(p.Dir, "/") + "/"
			at := strings.LastIndex(slashed, dir)
			if at < 0 {
				continue
			}
			if inside = slashed[at+len(dir):]; p.contains(inside) {
				return p, inside, true
			}
		}
	}
	return Place{}, "", false
}
