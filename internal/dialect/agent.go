package dialect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"tercet/formats"
)

// Agent is an agent file of another tool.
type Agent struct {
	Name        string // the key name, else the file's name, in the form of subagent names
	Declared    string // the same as written in the file
	File        string // name in messages
	Dialect     Dialect
	Description string
	Model       string
	Tools       []string // granted tools, mapped to read, search, write, shell, net
	Commands    []string // command lines that the shell is limited to; a final " *" allows further words
	Unfollowed  []string // settings that tercet does not follow, one a line
	Turns       int      // 0: not set
	Minutes     int      // 0: not set
	Text        string   // the prompt
	Hidden      bool     // disabled or remote: no command can call it
	Extra       map[string]any
	Lenient     bool
	Src         []byte
	Warnings    []formats.Diagnostic
}

// ParseAgent reads an agent file. The error is a *formats.Diagnostics that says why the file is not one.
func ParseAgent(p Place, inside string, src []byte) (*Agent, error) {
	stem, _ := p.IsAgent(inside)
	a := &Agent{File: p.Label + "/" + inside, Dialect: p.Dialect, Src: src}
	n := &notes{file: a.File}
	h, ok := n.front(src)
	if !ok {
		return nil, n.refused(src)
	}
	keys := keySet(h.keys)
	a.Lenient, a.Text = h.lenient, strings.TrimSpace(h.body)
	if prompt := keys.text("prompt"); prompt != "" {
		a.Text = strings.TrimSpace(prompt + "\n\n" + a.Text)
	}
	if a.Text == "" {
		n.add(codeEmpty, formats.Pos{Line: 1, Col: 1}, "write what the agent does", "file has no text")
		return nil, n.refused(src)
	}
	a.Description, a.Model = oneLine(keys.text("description")), keys.text("model")
	a.called(keys, stem, n)
	a.tools(keys, n)
	a.Turns = whole(keys, n, "maxTurns", "max_turns", "steps", "maxSteps")
	a.Minutes = whole(keys, n, "timeout_mins")
	a.Hidden = keys.flag(n, "disable") || keys.flag(n, "disabled") || keys.text("kind") == "remote"
	if a.Description == "" {
		a.Description = firstLine(h.body)
		n.add(warnMissing, formats.Pos{Line: 1, Col: 1}, "add a line description: ...", "agent has no description")
	}
	c := &Command{Dialect: p.Dialect}
	c.unknown(keys, "name description tools model "+toolFor(p.Dialect).agentKeys, n)
	a.Extra = c.Extra
	d := &formats.Diagnostics{List: n.list}
	d.Sort()
	a.Warnings = d.List
	return a, nil
}

// called settles the name: identity is the key, not the file.
func (a *Agent) called(keys keySet, stem string, n *notes) {
	written := cmp.Or(keys.text("name"), stem)
	a.Name, a.Declared = cmp.Or(AgentName(written), "agent"), written
	if a.Name != written {
		pos := formats.Pos{Line: 1, Col: 1}
		if k, ok := keys.get("name"); ok {
			pos = k.Pos
		}
		n.add(warnName, pos, "", fmt.Sprintf("commands call this agent %s: a name has small letters, digits and -", a.Name))
	}
}

// AgentName converts a name to the form of subagent names: a letter, then small letters, digits and hyphens.
func AgentName(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' && b.Len() > 0 {
			b.WriteRune(r)
			continue
		}
		if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
	}
	out := b.String()
	return strings.Trim(out[:min(len(out), 48)], "-")
}

func whole(keys keySet, n *notes, names ...string) int {
	k, ok := keys.get(names...)
	if !ok || k.Value == nil {
		return 0
	}
	v, err := strconv.Atoi(k.Raw)
	if err != nil || v < 0 {
		n.add(warnValue, k.Pos, "write a whole number",
			fmt.Sprintf("expected a whole number for %s, got %.40q", k.Name, k.Raw))
		return 0
	}
	return v
}

// The words for an agent's permissions.
const (
	toolRead   = "read"
	toolSearch = "search"
	toolWrite  = "write"
	toolShell  = "shell"
	toolNet    = "net"
)

var allTools = []string{toolRead, toolSearch, toolWrite, toolShell, toolNet}

// tools maps what the file grants onto our words. A file that names no tools has all of them, as in its own tool. An
// unknown name grants nothing and is noted.
func (a *Agent) tools(keys keySet, n *notes) {
	granted := map[string]bool{}
	k, ok := keys.get("tools")
	if !ok || k.Value == nil {
		grant(granted, true, allTools)
	} else {
		a.granted(keys, k, granted, n)
	}
	for _, t := range keys.list("disallowedTools") {
		// A pattern such as Bash(rm:*) takes a part away, which cannot be held here: the whole is taken.
		grant(granted, false, toolWords(t))
	}
	if k, ok := keys.get("permission"); ok {
		a.denied(k, granted, n)
	}
	if a.Dialect == Claude && keys.text("permissionMode") == "plan" { // such an agent only reads
		grant(granted, false, []string{toolWrite, toolShell})
	}
	a.wishes(keys)
	if !granted[toolShell] {
		a.Commands = nil
	}
	a.Tools = slices.DeleteFunc(slices.Clone(allTools), func(t string) bool { return !granted[t] })
}

// grant grants tools, or takes them away.
func grant(granted map[string]bool, on bool, tools []string) {
	for _, t := range tools {
		granted[t] = on
	}
}

// granted reads a list of tools, or a map from tool to true and false in which all that is not named is granted.
func (a *Agent) granted(keys keySet, k Key, granted map[string]bool, n *notes) {
	table, isMap := k.Value.(map[string]any)
	if !isMap {
		var strange []string
		whole := false
		for _, t := range keys.list(k.Name) {
			words := toolWords(t)
			if _, part, some := strings.Cut(t, "("); some && slices.Contains(words, toolShell) {
				words = a.part(strings.TrimSuffix(strings.TrimSpace(part), ")"), words)
			} else {
				whole = whole || slices.Contains(words, toolShell)
			}
			grant(granted, true, words)
			if len(toolWords(t)) == 0 {
				strange = append(strange, t)
			}
		}
		if whole {
			a.Commands = nil
		}
		if len(strange) > 0 {
			n.add(warnValue, k.Pos, "the tools here are read, search, write, shell and net",
				"nothing is granted for "+oneLine(strings.Join(strange, ", ")))
		}
		return
	}
	grant(granted, table["*"] != false, allTools)
	for _, on := range []bool{true, false} { // what is taken away wins
		for name, v := range table {
			if v == on && name != "*" {
				grant(granted, on, toolWords(name))
			}
		}
	}
}

// part grants some commands of the shell: one, or those that begin alike. What else a pattern says cannot be held.
func (a *Agent) part(pattern string, words []string) []string {
	command := strings.TrimSpace(pattern)
	for _, end := range []string{":*", " *", "*"} {
		if prefix, ok := strings.CutSuffix(command, end); ok {
			command = strings.TrimSpace(prefix) + " *" // of a whole word, which is less than what some mean
			break
		}
	}
	switch bare := strings.TrimSuffix(command, " *"); {
	case strings.TrimSpace(command) == "*":
		return words
	case bare == "" || strings.ContainsAny(bare, "*?()") || strings.ContainsFunc(bare, unicode.IsControl):
		a.unfollowed("the commands " + oneLine(pattern) + " are not granted: no runner can enforce that pattern")
		return nil
	}
	if a.Commands = append(a.Commands, command); len(a.Commands) == 1 {
		a.unfollowed("only some commands of the shell are granted: " +
			"claude and opencode enforce them, other runners get no shell")
	}
	return words
}

func (a *Agent) unfollowed(line string) { a.Unfollowed = append(a.Unfollowed, line) }

// wishes tells what of a file is not followed, by its keys.
func (a *Agent) wishes(keys keySet) {
	for _, one := range [][2]string{
		{"hooks", "hooks are never run"},
		{"mcpServers mcp-servers", "no server of tools is started"},
		{"skills", "skills are not loaded"},
		{"memory", "no memory is kept between runs"},
		{"isolation background effort temperature top_p variant", "NAME is not followed: the step and the runner decide"},
		{"agents handoffs", "NAME is not followed: a subagent calls nobody"},
	} {
		for name := range strings.FieldsSeq(one[0]) {
			if k, ok := keys.get(name); ok && k.Value != nil {
				a.unfollowed(strings.ReplaceAll(one[1], "NAME", name))
			}
		}
	}
	switch mode := keys.text("permissionMode"); mode {
	case "", "default", "plan": // an agent that plans only reads
	case "dontAsk":
		a.unfollowed("permissionMode dontAsk changes nothing: tercet never asks while an agent works")
	default:
		a.unfollowed("permissionMode " + oneLine(mode) + " grants nothing: the agent has its tools only")
	}
}

// denied takes away what a map of permissions denies. It also takes away what it would ask about, except reading,
// because nothing asks while an agent works. Of the shell some commands may be allowed. Any other part cannot be
// enforced, so all of it is taken away, with a note where the file allows another part.
func (a *Agent) denied(k Key, granted map[string]bool, n *notes) {
	table, ok := k.Value.(map[string]any)
	if k.Value == "deny" || k.Value == "ask" {
		table, ok = map[string]any{"*": k.Value}, true
	}
	if !ok {
		return
	}
	before := maps.Clone(granted)
	for _, name := range slices.Sorted(maps.Keys(table)) { // "*" comes first: what is named goes before it
		if v := table[name]; (table["*"] == "deny" || table["*"] == "ask") && (v == "allow" || v == "ask") {
			for _, word := range toolWords(name) {
				granted[word] = before[word]
			}
		}
		patterns, parts := table[name].(map[string]any)
		if a.asks(name, table[name], granted) || a.some(name, patterns, granted, before) {
			continue
		}
		denies, allows := table[name] == "deny", false
		for _, v := range patterns {
			denies, allows = denies || v == "deny", allows || v == "allow" || v == "ask"
		}
		if !denies {
			continue
		}
		grant(granted, false, toolWords(name))
		if parts && allows {
			n.add(warnValue, k.Pos, "deny nothing of "+oneLine(name)+" to grant it",
				"permission denies a part of "+oneLine(name)+", which tercet cannot enforce: it denies all of it")
		}
	}
}

// asks takes away what the user would be asked about before it is done.
func (a *Agent) asks(name string, v any, granted map[string]bool) bool {
	if v != "ask" {
		return false
	}
	var taken []string
	for _, word := range toolWords(name) {
		if word != toolRead && word != toolSearch && granted[word] {
			granted[word] = false
			taken = append(taken, word)
		}
	}
	if taken != nil {
		a.unfollowed("permission asks about " + oneLine(name) + ", and tercet does not ask while an agent works: " +
			strings.Join(taken, ", ") + " is not granted")
	}
	return true
}

// some grants those commands of the shell that patterns allow, where they deny all others.
func (a *Agent) some(name string, patterns map[string]any, granted, before map[string]bool) bool {
	words := toolWords(name)
	if !slices.Equal(words, []string{toolShell}) || patterns["*"] != "deny" && patterns["*"] != "ask" {
		return false
	}
	var allowed []string
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
		switch v := patterns[pattern]; {
		case v == "allow":
			allowed = append(allowed, pattern)
		case pattern != "*": // a part of a part
			return false
		}
	}
	granted[toolShell] = false
	for _, pattern := range allowed {
		granted[toolShell] = a.part(pattern, words) != nil && before[toolShell] || granted[toolShell]
	}
	return true
}

// toolWords maps a tool's own word, with or without a pattern behind it.
func toolWords(name string) []string {
	name, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(name)), "(")
	if at := strings.LastIndexAny(name, "/."); at >= 0 && !strings.HasPrefix(name, "mcp") {
		name = name[at+1:]
	}
	for word, names := range toolNames {
		if slices.Contains(strings.Fields(names), name) {
			return []string{word}
		}
	}
	if name == "*" || name == "all" {
		return allTools
	}
	return nil
}

// toolNames are the tools' own words for what an agent may do.
var toolNames = map[string]string{
	toolRead: "read read_file read_many_files notebookread ls list list_directory readfile view cat",
	toolSearch: "grep glob search search_file_content codebase usages findtestfiles grep_search file_search " +
		"semantic_search problems lsp toolsearch",
	toolWrite: "write edit multiedit notebookedit write_file replace patch editfiles create_file createfile applypatch " +
		"apply_patch",
	toolShell: "bash shell run_shell_command runcommands runincommand runinterminal terminal execute bashoutput " +
		"killbash killshell run_in_terminal runtasks runtests powershell",
	toolNet: "webfetch websearch web_fetch google_web_search fetch web websearchtool openbrowser githubrepo",
}
