// Package shims writes command files for agent CLIs. Each command of tercet gets one that makes the
// agent call tercet, and a skill teaches an agent to write commands.
//
// Promise: it never touches a file that it did not write or that was edited since, and makes all
// changes or none. User input reaches tercet as text and never becomes part of a shell command.
//
// It will not read commands, choose among them, or start anything.
//
// Concurrency: a Writer keeps nothing between two calls; concurrent writes to one folder are not
// synchronized.
package shims

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/dialect"
	"tercet/internal/lazy"
)

// tool is how one agent CLI stores commands. arguments is the placeholder of the user's text; a
// tool without it passes the message on. builtins are its own commands, whose names are not used.
type tool struct {
	folder, suffix string // of a command; an end with a leading slash is a skill's
	arguments      string
	frontmatter    string // further lines of the frontmatter
	hasHint        bool   // it supports a hint for the arguments
	skills         string
	builtins       string
	command        string            // the text of a command's file; empty: the one for a shell
	guides         map[string]string // further skills, by name
	files          map[string]string // further files, which say nothing about who wrote them
}

// Plugin is the tool whose files are a plugin for Claude Code, in a folder of its own.
const Plugin = "claude-plugin"

// PluginFile is the file that makes a folder a plugin.
const PluginFile = ".claude-plugin/plugin.json"

var tools = map[string]tool{
	"claude": {
		folder:      ".claude/commands",
		suffix:      ".md",
		arguments:   "$ARGUMENTS",
		frontmatter: "allowed-tools: Bash(tercet:*)\n",
		hasHint:     true,
		skills:      ".claude/skills",
	},
	Plugin: {
		folder:    "commands",
		suffix:    ".md",
		arguments: "$ARGUMENTS",
		frontmatter: "allowed-tools: mcp__plugin_tercet_tercet__run, " +
			"mcp__plugin_tercet_tercet__show, mcp__plugin_tercet_tercet__answer\n",
		hasHint: true,
		skills:  "skills",
		command: pluginCommand,
		guides:  map[string]string{"run-workflow": pluginSkill},
		files: map[string]string{
			PluginFile:  pluginJSON,
			".mcp.json": pluginMCP,
			"README.md": pluginReadme,
		},
	},
	"codex": {folder: ".agents/skills", suffix: "/SKILL.md", skills: ".agents/skills"},
	"opencode": {
		folder:    ".opencode/commands",
		suffix:    ".md",
		arguments: "$ARGUMENTS",
		skills:    ".opencode/skills",
	},
	"gemini": {
		folder:    ".gemini/commands",
		suffix:    ".toml",
		arguments: "{{args}}",
		skills:    ".gemini/skills", // 0.61.0
		builtins: "about agents auth bug chat clear commands compress copy corgi directory docs " +
			"editor explore footer help " +
			"hooks init mcp model permissions plan policies privacy profile quit resume rewind " +
			"settings skills stats tasks " +
			"theme tools update upgrade vim voice",
	},
	"copilot": { // skills are what both its CLI and VS Code read
		folder:  ".github/skills",
		suffix:  "/SKILL.md",
		hasHint: true,
		skills:  ".github/skills", // 1.0.102
		builtins: "agent app ask autopilot changelog clear compact computer context copy cwd " +
			"delegate diagnose diff env exit " +
			"experimental feedback fleet fork help ide init instructions limits login logout lsp " +
			"mcp memory model move new " +
			"permissions plan plugin pr refine remote rename research restart resume review " +
			"rewind sandbox search session " +
			"settings share skills subagents tasks theme update usage user version vim voice " +
			"worktree",
	},
}

// Tools lists the supported agent CLIs.
func Tools() []string {
	return slices.Sorted(maps.Keys(tools))
}

// Skill is the name of the skill that teaches an agent to write commands.
const Skill = "tercet-commands"

// command is the template of a command's file, with placeholders in angle brackets.
//
//go:embed command.md
var command string

// skill is the text of the skill.
//
//go:embed skill.md
var skill string

// pluginCommand is the template of a command's file in a plugin.
//
//go:embed plugin_command.md
var pluginCommand string

// pluginSkill teaches an agent to run a workflow.
//
//go:embed plugin_skill.md
var pluginSkill string

// pluginJSON makes a folder a plugin.
//
//go:embed plugin.json
var pluginJSON string

// pluginMCP names the MCP server of a plugin.
//
//go:embed plugin_mcp.json
var pluginMCP string

// pluginReadme says what a plugin is for.
//
//go:embed plugin_readme.md
var pluginReadme string

// What happens to a file.
const (
	Written   = "written"
	Unchanged = "unchanged"
	Removed   = "removed"
	Kept      = "kept" // the user's own file
)

// Change is what happens to one file.
type Change struct {
	File string `json:"file"`
	Did  string `json:"did"`
	Why  string `json:"why,omitempty"` // reason if kept, or if the name differs

	old, data []byte // nil for a missing file
}

// Writer writes below the project root, and a plugin below the folder of that.
type Writer struct {
	Root    *os.Root
	Version string // of tercet, which a plugin has too
	// Word returns an unguessable word, which ends the user's text in a shell command.
	Word func() string
}

// Plan plans the files of a tool for the commands; without commands it removes them.
func (w Writer) Plan(of string, commands []formats.CommandInfo) ([]Change, error) {
	t, ok := tools[of]
	if !ok {
		return nil, formats.Fail(formats.CodeUsage, "the tools are "+strings.Join(Tools(), ", "),
			"expected the name of a tool, got %q", of)
	}

	wanted := map[string]func(old []byte) []byte{}
	why := map[string]string{}
	for _, c := range commands {
		name := c.Name
		if slices.Contains(strings.Fields(t.builtins), name) {
			name = "tercet:" + name
			why[t.commandFile(name)] = fmt.Sprintf("%s has a /%s of its own; this one is /%s there",
				of, c.Name, t.commandName(name))
		}
		wanted[t.commandFile(name)] = func(old []byte) []byte {
			return dialect.Seal(t.commandText(of, name, c, w.endWord(old)))
		}
	}

	if len(commands) > 0 {
		wanted[t.skills+"/"+Skill+"/SKILL.md"] = func([]byte) []byte {
			return dialect.Seal("---\n" + dialect.ExportMark(of) + skill + exitTable())
		}
		for name, text := range t.guides {
			wanted[t.skills+"/"+name+"/SKILL.md"] = func([]byte) []byte {
				return dialect.Seal("---\n" + dialect.ExportMark(of) + text)
			}
		}
		for name, text := range t.files {
			wanted[name] = func([]byte) []byte {
				return []byte(strings.ReplaceAll(text, versionMark, w.Version))
			}
		}
	}

	existing, err := w.listExported(t)
	if err != nil {
		return nil, err
	}

	for _, name := range existing {
		if wanted[name] == nil {
			wanted[name] = func([]byte) []byte { return nil }
		}
	}

	out := []Change{}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		one, err := w.planFile(t, name, wanted[name])
		if err != nil {
			return nil, err
		}
		one.Why = cmp.Or(one.Why, why[name])
		out = append(out, one)
	}

	return out, nil
}

// planFile compares the wanted content of a file with the present one.
func (w Writer) planFile(t tool, name string, wanted func(old []byte) []byte) (Change, error) {
	c := Change{File: name, Did: Written}
	info, err := w.Root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.data = wanted(nil)
		return c, nil
	case err != nil:
		return c, formats.OnFile("read", name, err)
	case !info.Mode().IsRegular():
		c.Did = Kept
		c.Why = "it is not a plain file"
		return c, nil
	}

	c.old, err = w.Root.ReadFile(name)
	if err != nil {
		return c, formats.OnFile("read", name, err)
	}
	c.data = wanted(c.old)
	exported, intact := t.exportState(name, c.old)
	switch {
	case !exported:
		c.Did = Kept
		c.Why = "tercet export did not write it; remove it to have it written"
	case !intact:
		c.Did = Kept
		c.Why = "it was changed after tercet wrote it; remove it to have it written again"
	case c.data == nil:
		c.Did = Removed
	case bytes.Equal(c.data, c.old):
		c.Did = Unchanged
	}

	return c, nil
}

// versionMark stands for the version of tercet in a file of a plugin.
const versionMark = "<VERSION>"

// versionMember finds the version in such a file.
var versionMember = lazy.Regexp(`"version": "[^"]*"`)

// exportState reports whether tercet wrote a file, and whether it is unchanged. A file without a
// mark is one of tercet's if it differs in nothing but the version.
func (t tool) exportState(name string, src []byte) (exported, intact bool) {
	text, ok := t.files[name]
	if !ok {
		return dialect.Exported(src)
	}
	same := versionMember().ReplaceAllString(string(src), "") ==
		versionMember().ReplaceAllString(text, "")
	return same, same
}

// listExported lists the files of a tool that tercet wrote.
func (w Writer) listExported(t tool) (out []string, err error) {
	for name := range t.files {
		data, err := w.Root.ReadFile(name)
		exported, _ := t.exportState(name, data)
		if err == nil && exported {
			out = append(out, name)
		}
	}

	for _, folder := range slices.Compact([]string{t.folder, t.skills}) {
		names, failed := w.markedFiles(folder, path.Ext(t.suffix))
		out = append(out, names...)
		err = errors.Join(err, failed)
	}
	return out, err
}

// markedFiles lists the files below a folder that have the mark of an export: skills, and files of
// commands, whose names end with ext.
func (w Writer) markedFiles(folder, ext string) (out []string, err error) {
	visit := func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name == folder:
			return nil
		case err != nil:
			return formats.OnFile("read", name, err)
		case !d.Type().IsRegular():
			return nil
		case !strings.HasSuffix(name, ext) && path.Base(name) != "SKILL.md":
			return nil
		}

		data, err := w.Root.ReadFile(name)
		if err != nil {
			return formats.OnFile("read", name, err)
		}
		if exported, _ := dialect.Exported(data); exported {
			out = append(out, name)
		}
		return nil
	}
	err = fs.WalkDir(atomicfile.FS(w.Root), folder, visit)
	return out, err
}

// Apply makes the changes; if one fails, it reverts the previous ones.
func (w Writer) Apply(list []Change) error {
	for i, c := range list {
		err := w.write(c.File, c.Did, c.data)
		if err == nil {
			continue
		}
		for _, before := range slices.Backward(list[:i]) {
			did := before.Did
			if did == Written && before.old == nil {
				did = Removed
			} else if did == Removed {
				did = Written
			}
			err = errors.Join(err, w.write(before.File, did, before.old))
		}
		return err
	}
	return nil
}

// write writes or removes a file, and a folder of a skill or of renamed commands that becomes
// empty.
func (w Writer) write(name, did string, data []byte) (err error) {
	switch did {
	case Written:
		if err = atomicfile.MkdirAll(w.Root, path.Dir(name), 0); err == nil {
			err = atomicfile.WriteIn(w.Root, name, data, atomicfile.Options{})
		}
	case Removed:
		if err = atomicfile.Remove(w.Root, name); err == nil && inSkillFolder(name) {
			_ = atomicfile.Remove(w.Root, path.Dir(name)) //nolint:errcheck // reason: the user's own files are in it
		}
	}
	if err != nil {
		return formats.OnFile("write", name, err)
	}
	return nil
}

// inSkillFolder reports whether a file has a folder of its own.
func inSkillFolder(name string) bool {
	return path.Base(name) == "SKILL.md" || name == PluginFile ||
		path.Base(path.Dir(name)) == "tercet"
}

// commandFile is the path of a command's file.
func (t tool) commandFile(name string) string {
	return t.folder + "/" + strings.ReplaceAll(t.commandName(name), ":", "/") + t.suffix
}

// commandName is the name of a command where skills have no folders.
func (t tool) commandName(name string) string {
	if strings.HasPrefix(t.suffix, "/") {
		return strings.ReplaceAll(name, ":", "-")
	}
	return name
}

var wordForm = lazy.Regexp(`<<'(TERCET_[A-Z0-9]+)'`)

// endWord returns the word of the existing file, so that it stays the same.
func (w Writer) endWord(old []byte) string {
	if m := wordForm().FindSubmatch(old); m != nil {
		return string(m[1])
	}
	return "TERCET_" + w.Word()
}

// commandText is the file of a command, whose mark has no hash yet; name is its name in the tool.
func (t tool) commandText(of, name string, c formats.CommandInfo, word string) string {
	hint := strings.TrimSpace(strings.TrimPrefix(c.Usage, "/"+c.Name))
	typed := t.arguments
	body := cmp.Or(t.command, command)
	if typed == "" {
		typed = "ARGUMENTS"
		body = "In place of ARGUMENTS put what the user typed behind the name (" +
			cmp.Or(hint, "here nothing") +
			"),\nas it stands: without quotes, without any change.\n\n" + body
	}

	body = strings.NewReplacer("<WORD>", word, "<NAME>", c.Name, "<TYPED>", typed).Replace(body)
	if t.command == "" {
		body += exitTable()
	}

	if t.suffix == ".toml" {
		return dialect.ExportMark(of) + "description = " + quoteText(c.Description) +
			"\nprompt = '''\n" + body + "'''\n"
	}

	head := "---\n" + dialect.ExportMark(of)
	if strings.HasPrefix(t.suffix, "/") {
		head += "name: " + t.commandName(name) + "\n"
	}
	head += "description: " + quoteText(c.Description) + "\n"
	if t.hasHint && hint != "" {
		head += "argument-hint: " + quoteText(hint) + "\n"
	}
	return head + t.frontmatter + "---\n\n" + body
}

// exitTable is the table of exit codes.
func exitTable() string {
	var b strings.Builder
	b.WriteString("\n| exit code | name | when |\n|---|---|---|\n")
	for _, e := range formats.Exits() {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", e.Number, e.Name, e.Meaning)
	}
	return b.String()
}

// quoteText is a text as a double-quoted line of YAML or TOML.
func quoteText(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return `""`
	}
	return strings.TrimSpace(b.String())
}
