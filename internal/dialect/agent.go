package dialect

import (
	"cmp"
	"fmt"
	"maps"
	"path"
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
	// command lines that the shell is limited to; a final " *" allows further words
	Commands   []string
	Unfollowed []string // settings that tercet does not follow, one a line
	Turns      int      // 0: not set
	Minutes    int      // 0: not set
	Text       string   // the prompt
	Hidden     bool     // disabled or remote: no command can call it
	Extra      map[string]any
	Lenient    bool
	Src        []byte
	Warnings   []formats.Diagnostic
}

// ParseAgent reads an agent file. The error is a *formats.Diagnostics that says why the file is not
// one.
func ParseAgent(p Place, inside string, src []byte) (*Agent, error) {
	stem, _ := p.IsAgent(inside)
	a := &Agent{
		File:    p.Label + "/" + inside,
		Dialect: p.Dialect,
		Src:     src,
	}
	n := &notes{file: a.File}
	h, ok := n.front(src)
	if !ok {
		return nil, n.refused(src)
	}

	keys := keySet(h.keys)
	a.Lenient = h.lenient
	a.Text = strings.TrimSpace(h.body)
	if prompt := keys.text("prompt"); prompt != "" {
		a.Text = strings.TrimSpace(prompt + "\n\n" + a.Text)
	}
	if a.Text == "" {
		n.add(
			codeEmpty,
			formats.Pos{Line: 1, Col: 1},
			"write what the agent does",
			"file has no text",
		)
		return nil, n.refused(src)
	}

	a.Description = oneLine(keys.text("description"))
	a.Model = keys.text("model")
	a.called(keys, stem, n)
	a.tools(keys, n)
	a.Turns = whole(keys, n, "maxTurns", "max_turns", "steps", "maxSteps")
	a.Minutes = whole(keys, n, "timeout_mins")
	a.Hidden = keys.flag(n, "disable") || keys.flag(n, "disabled") || keys.text("kind") == "remote"
	if a.Description == "" {
		a.Description = firstLine(h.body)
		n.add(
			warnMissing,
			formats.Pos{Line: 1, Col: 1},
			"add a line description: ...",
			"agent has no description",
		)
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
	a.Name = cmp.Or(AgentName(written), "agent")
	a.Declared = written
	if a.Name != written {
		pos := formats.Pos{Line: 1, Col: 1}
		if k, ok := keys.get("name"); ok {
			pos = k.Pos
		}
		n.add(
			warnName,
			pos,
			"",
			fmt.Sprintf("commands call this agent %s: a name has small letters, digits and -",
				a.Name),
		)
	}
}

// AgentName converts a name to the form of subagent names: a letter, then small letters, digits and
// hyphens.
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

// tools maps what the file grants onto our words. A file that names no tools has all of them, as in
// its own tool. An unknown name grants nothing and is noted.
func (a *Agent) tools(keys keySet, n *notes) {
	granted := map[string]bool{}
	k, ok := keys.get("tools")
	if !ok || k.Value == nil {
		grant(granted, true, allTools)
	} else {
		a.granted(keys, k, granted, n)
	}
	for _, t := range keys.list("disallowedTools") {
		// A pattern such as Bash(rm:*) takes a part away, which cannot be held here: the whole is
		// taken.
		grant(granted, false, deniedWords(t))
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
	a.Tools = slices.DeleteFunc(slices.Clone(allTools), func(t string) bool {
		return !granted[t]
	})
}

// grant grants tools, or takes them away.
func grant(granted map[string]bool, on bool, tools []string) {
	for _, t := range tools {
		granted[t] = on
	}
}

// granted reads a list of tools, or a map from tool to true and false in which all that is not
// named is granted.
func (a *Agent) granted(keys keySet, k Key, granted map[string]bool, n *notes) {
	if table, isMap := k.Value.(map[string]any); isMap {
		a.switched(table, k, granted, n)
		return
	}

	var strange []string
	whole := false
	for _, t := range keys.list(k.Name) {
		words := toolWords(a.Dialect, t)
		if len(words) == 0 {
			strange = append(strange, t)
		}
		_, pattern, some := strings.Cut(t, "(")
		pattern = strings.TrimSuffix(strings.TrimSpace(pattern), ")")
		switch {
		case some && slices.Contains(words, toolShell):
			words = a.part(pattern, words)
		case some && !a.holds(t, pattern, words):
			words = nil
		default:
			whole = whole || slices.Contains(words, toolShell)
		}
		grant(granted, true, words)
	}

	if whole {
		a.Commands = nil
	}
	n.strange(k, strange)
}

// strange notes, once for a file, the names for which nothing is granted.
func (n *notes) strange(k Key, names []string) {
	if len(names) == 0 {
		return
	}
	n.add(
		warnValue,
		k.Pos,
		"the tools here are read, search, write, shell and net; no server of tools is started",
		"nothing is granted for "+oneLine(strings.Join(names, ", ")),
	)
}

// switched reads a map from tool to true and false. What is taken away wins.
func (a *Agent) switched(table map[string]any, k Key, granted map[string]bool, n *notes) {
	on := map[string]bool{}
	var strange []string
	for _, name := range slices.Sorted(maps.Keys(table)) {
		value, ok := truth(table[name])
		if !ok {
			n.add(
				warnValue,
				k.Pos,
				"write true or false",
				fmt.Sprintf("expected true or false for the tool %s, got %v; it is not granted",
					oneLine(name), table[name]),
			)
		}
		on[name] = value
	}

	all, named := on["*"]
	grant(granted, all || !named, allTools)
	for _, name := range slices.Sorted(maps.Keys(on)) {
		if !on[name] || name == "*" {
			continue
		}
		words := toolWords(a.Dialect, name)
		if len(words) == 0 {
			strange = append(strange, name)
		}
		grant(granted, true, words)
	}

	for name, value := range on {
		if !value && name != "*" {
			grant(granted, false, deniedWords(name))
		}
	}

	n.strange(k, strange)
}

// truth reads a switch of a tool, also as a word. What is no switch is off.
func truth(v any) (on, ok bool) {
	switch word := v.(type) {
	case bool:
		return word, true
	case string:
		switch strings.ToLower(word) {
		case "true", "yes", "on", "allow":
			return true, true
		case "false", "no", "off", "deny", "ask":
			return false, true
		}
	}
	return false, false
}

// holds tells whether tercet can hold an agent to a pattern in parentheses. It cannot hold writing
// to some files and the network to some addresses. An agent may read everything anyway.
func (a *Agent) holds(name, pattern string, words []string) bool {
	if strings.Trim(pattern, "* /.") == "" ||
		!slices.Contains(words, toolWrite) && !slices.Contains(words, toolNet) {
		return true
	}
	a.unfollowed(oneLine(name) + " is not granted: no runner can enforce that pattern")
	return false
}

// part grants some commands of the shell: one, or those that begin alike. What else a pattern says
// cannot be held.
func (a *Agent) part(pattern string, words []string) []string {
	command := strings.TrimSpace(pattern)
	for _, end := range []string{":*", " *", "*"} {
		if prefix, ok := strings.CutSuffix(command, end); ok {
			// of a whole word, which is less than what some mean
			command = strings.TrimSpace(prefix) + " *"
			break
		}
	}
	bare := strings.TrimSuffix(command, " *")
	switch {
	case strings.TrimSpace(command) == "*":
		return words
	case bare == "" || strings.ContainsAny(bare, "*?()") ||
		strings.ContainsFunc(bare, unicode.IsControl):
		a.unfollowed("the commands " + oneLine(pattern) +
			" are not granted: no runner can enforce that pattern")
		return nil
	}
	a.Commands = append(a.Commands, command)
	if len(a.Commands) == 1 {
		a.unfollowed("only some commands of the shell are granted: " +
			"claude and opencode enforce them, other runners get no shell")
	}
	return words
}

func (a *Agent) unfollowed(line string) {
	a.Unfollowed = append(a.Unfollowed, line)
}

// wishes tells what of a file is not followed, by its keys.
func (a *Agent) wishes(keys keySet) {
	for _, one := range [][2]string{
		{"hooks", "hooks are never run"},
		{"mcpServers mcp-servers", "no server of tools is started"},
		{"skills", "skills are not loaded"},
		{"memory", "no memory is kept between runs"},
		{
			"isolation background effort temperature top_p variant",
			"NAME is not followed: the step and the runner decide",
		},
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
		a.unfollowed(
			"permissionMode dontAsk changes nothing: tercet never asks while an agent works",
		)
	default:
		a.unfollowed("permissionMode " + oneLine(mode) +
			" grants nothing: the agent has its tools only")
	}
}

// denied takes away what a map of permissions denies. It also takes away what it would ask about,
// except reading, because nothing asks while an agent works. Of the shell some commands may be
// allowed. Any other part cannot be enforced, so all of it is taken away, with a note where the
// file allows another part. A name goes before "*", and what is denied goes before what is allowed.
func (a *Agent) denied(k Key, granted map[string]bool, n *notes) {
	table, ok := k.Value.(map[string]any)
	if !ok {
		table = map[string]any{"*": k.Value}
	}
	verdicts := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		verdicts[name] = n.verdict(k, name, table[name])
	}

	before := maps.Clone(granted)
	switch verdicts["*"] {
	case verdictDeny:
		grant(granted, false, allTools)
	case verdictAsk:
		a.asks("*", granted)
	}

	delete(verdicts, "*")
	for name, verdict := range verdicts {
		if verdict == verdictAllow || verdict == verdictAsk {
			for _, word := range toolWords(a.Dialect, name) {
				granted[word] = before[word]
			}
		}
	}

	for _, name := range slices.Sorted(maps.Keys(table)) {
		patterns, ok := table[name].(map[string]any)
		if ok && !a.some(name, patterns, granted, before) {
			a.parts(k, name, patterns, granted, n)
		}
	}

	for _, name := range slices.Sorted(maps.Keys(verdicts)) {
		switch verdicts[name] {
		case verdictDeny:
			grant(granted, false, deniedWords(name))
		case verdictAsk:
			a.asks(name, granted)
		}
	}
}

// The verdicts of a permission.
const (
	verdictAllow = "allow"
	verdictAsk   = "ask"
	verdictDeny  = "deny"
)

// verdict reads one permission; what is none denies. It is empty for a map of patterns.
func (n *notes) verdict(k Key, name string, v any) string {
	switch v {
	case nil:
		return ""
	case verdictAllow, verdictAsk, verdictDeny:
		return fmt.Sprint(v)
	case true:
		return verdictAllow
	case false:
		return verdictDeny
	}
	if _, patterns := v.(map[string]any); patterns {
		return ""
	}
	n.add(
		warnValue,
		k.Pos,
		"write allow, ask or deny",
		fmt.Sprintf("expected allow, ask or deny for %s, got %.60v; it is denied",
			oneLine(name), v),
	)
	return verdictDeny
}

// parts takes away the whole of what patterns deny in part.
func (a *Agent) parts(
	k Key,
	name string,
	patterns map[string]any,
	granted map[string]bool,
	n *notes,
) {
	denies := false
	allows := false
	for _, v := range patterns {
		verdict := v
		if verdict != verdictAllow && verdict != verdictAsk {
			verdict = verdictDeny
		}
		denies = denies || verdict == verdictDeny
		allows = allows || verdict != verdictDeny
	}
	if !denies {
		return
	}
	grant(granted, false, deniedWords(name))
	if allows {
		n.add(
			warnValue,
			k.Pos,
			"deny nothing of "+oneLine(name)+" to grant it",
			"permission denies a part of "+oneLine(name)+
				", which tercet cannot enforce: it denies all of it",
		)
	}
}

// asks takes away what the user would be asked about before it is done.
func (a *Agent) asks(name string, granted map[string]bool) {
	var taken []string
	for _, word := range deniedWords(name) {
		if word != toolRead && word != toolSearch && granted[word] {
			granted[word] = false
			taken = append(taken, word)
		}
	}
	if taken != nil {
		a.unfollowed("permission asks about " + oneLine(name) +
			", and tercet does not ask while an agent works: " +
			strings.Join(taken, ", ") + " is not granted")
	}
}

// some grants those commands of the shell that patterns allow, where they deny all others.
func (a *Agent) some(name string, patterns map[string]any, granted, before map[string]bool) bool {
	words := toolWords(a.Dialect, name)
	if !slices.Equal(words, []string{toolShell}) ||
		patterns["*"] != verdictDeny && patterns["*"] != verdictAsk {
		return false
	}
	var allowed []string
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
		v := patterns[pattern]
		switch {
		case v == verdictAllow:
			allowed = append(allowed, pattern)
		case pattern != "*": // a part of a part
			return false
		}
	}
	granted[toolShell] = false
	for _, pattern := range allowed {
		granted[toolShell] = a.part(pattern, words) != nil && before[toolShell] ||
			granted[toolShell]
	}
	return true
}

// toolWords maps a tool's own word, with or without a pattern behind it, onto what it grants. A
// name with a slash or a dot is that of a server's tool and grants nothing, but for Copilot's own
// prefixes. A name with * grants those of the tool's own list that it matches.
func toolWords(d Dialect, name string) []string {
	name = bareName(name)
	if name == "*" || name == "all" {
		return allTools
	}
	if strings.Contains(name, "*") {
		return matching(name, ownTools[d])
	}
	if prefix, tool, ok := strings.Cut(name, "/"); ok && d == Copilot {
		words := wordsOf(tool)
		if len(words) == 1 && slices.Contains(strings.Fields(copilotPrefixes[prefix]), words[0]) {
			return words
		}
		return nil
	}
	return wordsOf(name)
}

// deniedWords maps a word onto what it takes away, which may be more than what it would grant.
func deniedWords(name string) []string {
	name = bareName(name)
	if at := strings.LastIndexAny(name, "/."); at >= 0 && !strings.HasPrefix(name, "mcp") {
		name = name[at+1:]
	}
	if name == "*" || name == "all" {
		return allTools
	}
	if !strings.Contains(name, "*") {
		return wordsOf(name)
	}
	var every []string
	for _, names := range toolNames {
		every = append(every, names)
	}
	return matching(name, strings.Join(every, " "))
}

// bareName is a tool's name in small letters without what stands in parentheses behind it.
func bareName(name string) string {
	name, _, _ = strings.Cut(strings.ToLower(name), "(")
	return strings.TrimSpace(name)
}

// wordsOf gives our word for a tool's name, if there is one.
func wordsOf(name string) []string {
	for word, names := range toolNames {
		if slices.Contains(strings.Fields(names), name) {
			return []string{word}
		}
	}
	return nil
}

// matching gives our words for those of the names that a pattern matches.
func matching(pattern, names string) []string {
	var out []string
	for name := range strings.FieldsSeq(names) {
		if ok, err := path.Match(pattern, name); err == nil && ok {
			out = append(out, wordsOf(name)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// toolNames are the tools' own words for what an agent may do.
var toolNames = map[string]string{
	toolRead: "read read_file read_many_files notebookread ls list list_directory listdirectory " +
		"readfile view cat",
	toolSearch: "grep glob search search_file_content codebase usages findtestfiles grep_search " +
		"file_search " +
		"semantic_search problems lsp toolsearch codesearch textsearch filesearch",
	toolWrite: "write edit multiedit notebookedit write_file replace patch editfiles create_file " +
		"createfile applypatch " +
		"apply_patch",
	toolShell: "bash shell run_shell_command runcommands runincommand runinterminal terminal " +
		"execute bashoutput " +
		"killbash killshell run_in_terminal runtasks runtests powershell",
	toolNet: "webfetch websearch web_fetch google_web_search fetch web websearchtool openbrowser " +
		"githubrepo " +
		"opensimplebrowser",
}

// ownTools are the names that each tool has itself: those that a pattern can mean.
var ownTools = map[Dialect]string{
	Claude: "read notebookread ls grep glob lsp toolsearch write edit multiedit notebookedit " +
		"bash bashoutput killbash " +
		"killshell powershell webfetch websearch",
	OpenCode: "read list grep glob lsp codesearch write edit patch multiedit apply_patch bash " +
		"webfetch websearch",
	Gemini: "read_file read_many_files list_directory grep_search search_file_content glob " +
		"write_file replace " +
		"run_shell_command web_fetch google_web_search",
	Copilot: "read search edit execute web",
}

// copilotPrefixes are the groups of Copilot's own tools, with what a tool in each may grant.
var copilotPrefixes = map[string]string{
	"read":    "read search",
	"search":  "search read",
	"edit":    "write",
	"execute": "shell",
	"web":     "net",
	"vscode":  "net",
	"agent":   "",
	"todo":    "",
}
