package dialect

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
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
	Timeout    time.Duration
	Text       string // the prompt
	Hidden     bool   // disabled or remote: no command can call it
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
	h, ok := n.readMarkdown(src)
	if !ok {
		return nil, n.asError(src)
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
		return nil, n.asError(src)
	}

	a.Description = oneLine(keys.text("description"))
	a.Model = keys.text("model")
	a.readName(keys, stem, n)
	a.grantTools(keys, n)
	a.Turns = positiveInt(keys, n, "maxTurns", "max_turns", "steps", "maxSteps")
	a.Timeout = cmp.Or(
		time.Duration(positiveInt(keys, n, "timeout_mins"))*time.Minute,
		keys.duration(n, "timeout"),
	)
	a.Hidden = keys.boolValue(n, "disable") || keys.boolValue(n, "disabled") ||
		keys.text("kind") == "remote"
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
	c.keepUnknownKeys(keys, "name description tools model timeout "+toolFor(p.Dialect).agentKeys, n)
	a.Extra = c.Extra
	d := &formats.Diagnostics{List: n.list}
	d.Sort()
	a.Warnings = d.List
	return a, nil
}

// readName sets the name. The key counts before the file's name.
func (a *Agent) readName(keys keySet, stem string, n *notes) {
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

func positiveInt(keys keySet, n *notes, names ...string) int {
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

// grantTools maps what the file grants onto our words. A file without a list of tools has all of
// them, as in its own tool. An unknown name grants nothing and is reported.
func (a *Agent) grantTools(keys keySet, n *notes) {
	granted := map[string]bool{}
	k, ok := keys.get("tools")
	if !ok || k.Value == nil {
		setGranted(granted, true, allTools)
	} else {
		a.readTools(keys, k, granted, n)
	}

	for _, t := range keys.list("disallowedTools") {
		// A pattern such as Bash(rm:*) denies a part, which cannot be enforced here: the whole is
		// denied.
		setGranted(granted, false, toolDenials(t))
	}

	if k, ok := keys.get("permission"); ok {
		a.applyPermissions(k, granted, n)
	}
	if a.Dialect == Claude && keys.text("permissionMode") == "plan" { // plan agents only read
		setGranted(granted, false, []string{toolWrite, toolShell})
	}

	a.noteUnfollowedKeys(keys)
	if !granted[toolShell] {
		a.Commands = nil
	}
	a.Tools = slices.DeleteFunc(slices.Clone(allTools), func(t string) bool {
		return !granted[t]
	})
}

// setGranted grants or denies tools.
func setGranted(granted map[string]bool, on bool, tools []string) {
	for _, t := range tools {
		granted[t] = on
	}
}

// readTools reads a list of tools, or a map from tool to true and false that grants what it does
// not name.
func (a *Agent) readTools(keys keySet, k Key, granted map[string]bool, n *notes) {
	if table, isMap := k.Value.(map[string]any); isMap {
		a.readToolMap(table, k, granted, n)
		return
	}

	var strange []string
	whole := false
	for _, t := range keys.list(k.Name) {
		words := toolGrants(a.Dialect, t)
		if len(words) == 0 {
			strange = append(strange, t)
		}

		_, pattern, some := strings.Cut(t, "(")
		pattern = strings.TrimSuffix(strings.TrimSpace(pattern), ")")
		switch {
		case some && slices.Contains(words, toolShell):
			words = a.grantShellPattern(pattern, words)
		case some && !a.canEnforce(t, pattern, words):
			words = nil
		default:
			whole = whole || slices.Contains(words, toolShell)
		}
		setGranted(granted, true, words)
	}

	if whole {
		a.Commands = nil
	}
	n.noteUnknown(k, strange)
}

// noteUnknown reports, once for each file, the names that grant nothing.
func (n *notes) noteUnknown(k Key, names []string) {
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

// readToolMap reads a map from tool to true and false. A denial wins.
func (a *Agent) readToolMap(table map[string]any, k Key, granted map[string]bool, n *notes) {
	on := map[string]bool{}
	var strange []string
	for _, name := range slices.Sorted(maps.Keys(table)) {
		value, ok := parseSwitch(table[name])
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
	setGranted(granted, all || !named, allTools)
	for _, name := range slices.Sorted(maps.Keys(on)) {
		if !on[name] || name == "*" {
			continue
		}
		words := toolGrants(a.Dialect, name)
		if len(words) == 0 {
			strange = append(strange, name)
		}
		setGranted(granted, true, words)
	}

	for name, value := range on {
		if !value && name != "*" {
			setGranted(granted, false, toolDenials(name))
		}
	}

	n.noteUnknown(k, strange)
}

// parseSwitch reads the switch of a tool, also as a word. Anything else is off.
func parseSwitch(v any) (on, ok bool) {
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

// canEnforce reports whether tercet can restrict an agent to a pattern in parentheses. It cannot
// restrict writing to some files or the network to some addresses. An agent may read everything
// anyway.
func (a *Agent) canEnforce(name, pattern string, words []string) bool {
	if strings.Trim(pattern, "* /.") == "" ||
		!slices.Contains(words, toolWrite) && !slices.Contains(words, toolNet) {
		return true
	}
	a.addUnfollowed(oneLine(name) + " is not granted: no runner can enforce that pattern")
	return false
}

// grantShellPattern grants one command of the shell, or those with a common beginning. Other
// patterns cannot be enforced.
func (a *Agent) grantShellPattern(pattern string, words []string) []string {
	command := strings.TrimSpace(pattern)
	for _, end := range []string{":*", " *", "*"} {
		if prefix, ok := strings.CutSuffix(command, end); ok {
			// a whole word, which is less than some files mean
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
		a.addUnfollowed("the commands " + oneLine(pattern) +
			" are not granted: no runner can enforce that pattern")
		return nil
	}
	a.Commands = append(a.Commands, command)
	if len(a.Commands) == 1 {
		a.addUnfollowed("only some commands of the shell are granted: " +
			"claude and opencode enforce them, other runners get no shell")
	}
	return words
}

func (a *Agent) addUnfollowed(line string) {
	a.Unfollowed = append(a.Unfollowed, line)
}

// noteUnfollowedKeys lists the settings that are not followed, by key.
func (a *Agent) noteUnfollowedKeys(keys keySet) {
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
				a.addUnfollowed(strings.ReplaceAll(one[1], "NAME", name))
			}
		}
	}

	switch mode := keys.text("permissionMode"); mode {
	case "", "default", "plan": // plan agents only read
	case "dontAsk":
		a.addUnfollowed(
			"permissionMode dontAsk changes nothing: tercet never asks while an agent works",
		)
	default:
		a.addUnfollowed("permissionMode " + oneLine(mode) +
			" grants nothing: the agent has its tools only")
	}
}

// applyPermissions denies what a map of permissions denies. It also denies what the map would ask
// about, except reading, because nobody is asked while an agent works. Single commands of the shell
// may be allowed. Any other part cannot be enforced, so the whole is denied, with a note if the
// file allows a part. A name takes precedence over "*", and a denial over a grant.
func (a *Agent) applyPermissions(k Key, granted map[string]bool, n *notes) {
	table, ok := k.Value.(map[string]any)
	if !ok {
		table = map[string]any{"*": k.Value}
	}
	verdicts := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		verdicts[name] = n.readPermission(k, name, table[name])
	}

	before := maps.Clone(granted)
	switch verdicts["*"] {
	case verdictDeny:
		setGranted(granted, false, allTools)
	case verdictAsk:
		a.denyAsking("*", granted)
	}

	delete(verdicts, "*")
	for name, verdict := range verdicts {
		if verdict == verdictAllow || verdict == verdictAsk {
			for _, word := range toolGrants(a.Dialect, name) {
				granted[word] = before[word]
			}
		}
	}

	for _, name := range slices.Sorted(maps.Keys(table)) {
		patterns, ok := table[name].(map[string]any)
		if ok && !a.allowCommands(name, patterns, granted, before) {
			a.denyPatterns(k, name, patterns, granted, n)
		}
	}

	for _, name := range slices.Sorted(maps.Keys(verdicts)) {
		switch verdicts[name] {
		case verdictDeny:
			setGranted(granted, false, toolDenials(name))
		case verdictAsk:
			a.denyAsking(name, granted)
		}
	}
}

// The verdicts of a permission.
const (
	verdictAllow = "allow"
	verdictAsk   = "ask"
	verdictDeny  = "deny"
)

// readPermission reads one permission; anything unknown denies. It is empty for a map of patterns.
func (n *notes) readPermission(k Key, name string, v any) string {
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

// denyPatterns denies the whole of what patterns deny in part.
func (a *Agent) denyPatterns(
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

	setGranted(granted, false, toolDenials(name))
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

// denyAsking denies what the user would be asked about.
func (a *Agent) denyAsking(name string, granted map[string]bool) {
	var taken []string
	for _, word := range toolDenials(name) {
		if word != toolRead && word != toolSearch && granted[word] {
			granted[word] = false
			taken = append(taken, word)
		}
	}
	if taken != nil {
		a.addUnfollowed("permission asks about " + oneLine(name) +
			", and tercet does not ask while an agent works: " +
			strings.Join(taken, ", ") + " is not granted")
	}
}

// allowCommands grants those commands of the shell that patterns allow, if they deny all others.
func (a *Agent) allowCommands(
	name string, patterns map[string]any, granted, before map[string]bool,
) bool {
	words := toolGrants(a.Dialect, name)
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
		case pattern != "*": // a pattern within a pattern
			return false
		}
	}

	granted[toolShell] = false
	for _, pattern := range allowed {
		granted[toolShell] = a.grantShellPattern(pattern, words) != nil && before[toolShell] ||
			granted[toolShell]
	}
	return true
}

// toolGrants maps a tool's own word, with or without a pattern, onto what it grants. A name with a
// slash or a dot is a tool of a server and grants nothing, except Copilot's own prefixes. A name
// with * grants the tool's own names that it matches.
func toolGrants(d Dialect, name string) []string {
	name = normalToolName(name)
	if name == "*" || name == "all" {
		return allTools
	}
	if strings.Contains(name, "*") {
		return grantsMatching(name, builtinTools[d])
	}

	if prefix, tool, ok := strings.Cut(name, "/"); ok && d == Copilot {
		words := grantsForName(tool)
		if len(words) == 1 && slices.Contains(strings.Fields(copilotPrefixes[prefix]), words[0]) {
			return words
		}
		return nil
	}
	return grantsForName(name)
}

// toolDenials maps a word onto what it denies, which may be more than what it would grant.
func toolDenials(name string) []string {
	name = normalToolName(name)
	if at := strings.LastIndexAny(name, "/."); at >= 0 && !strings.HasPrefix(name, "mcp") {
		name = name[at+1:]
	}
	if name == "*" || name == "all" {
		return allTools
	}
	if !strings.Contains(name, "*") {
		return grantsForName(name)
	}

	var every []string
	for _, names := range toolNames {
		every = append(every, names)
	}
	return grantsMatching(name, strings.Join(every, " "))
}

// normalToolName is a tool's name in lower case without a pattern in parentheses.
func normalToolName(name string) string {
	name, _, _ = strings.Cut(strings.ToLower(name), "(")
	return strings.TrimSpace(name)
}

// grantsForName returns our word for a tool's name, if there is one.
func grantsForName(name string) []string {
	for word, names := range toolNames {
		if slices.Contains(strings.Fields(names), name) {
			return []string{word}
		}
	}
	return nil
}

// grantsMatching returns our words for the names that a pattern matches.
func grantsMatching(pattern, names string) []string {
	var out []string
	for name := range strings.FieldsSeq(names) {
		if ok, err := path.Match(pattern, name); err == nil && ok {
			out = append(out, grantsForName(name)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// toolNames are the tools' own words for permissions.
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

// builtinTools are the built-in names of each tool, which a pattern can match.
var builtinTools = map[Dialect]string{
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
