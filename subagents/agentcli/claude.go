package agentcli

import (
	"cmp"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
)

// Claude drives `claude`. Its traps: an error of the API is a result with subtype "success", so
// is_error is read. A refused tool only appears in permission_denials. An ignored schema does not
// appear at all.
func Claude() Driver {
	return Driver{
		Name:    "claude",
		Package: "@anthropic-ai/claude-code",
		Tested:  "2.1.329",
		Metered: formats.MeteredSteps,
		Schema:  true,
		Parts:   true,
		Servers: true,
		Sessions: &Sessions{
			Named: true,
			Gone:  "No conversation found",
			Files: []string{"projects/*/ID.jsonl", "projects/*/ID"},
		},
		Logins: []Login{{Var: "CLAUDE_CONFIG_DIR", Home: ".claude", File: ".credentials.json"}},
		Keys:   []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"},
		Accounts: []accountFile{{
			Login{Var: "CLAUDE_CONFIG_DIR", File: ".claude.json"},
			[]string{"oauthAccount", "accountUuid"},
		}},
		Argv: claudeArgv,
		Env:  claudeEnv,
		Line: events(claudeLine),

		UsageLimit: `usage limit|(?:hit|reached) your [a-z0-9' -]*limit|out of usage credits`,

		Adapters: []string{"claude-agent-acp", "claude-code-acp"},
		Footprint: Footprint{Known: true, Stores: []Store{
			{
				Var:  "CLAUDE_CONFIG_DIR",
				Home: ".claude",
				Keep: "settings.json settings.local.json CLAUDE.md commands agents skills hooks " +
					"plugins output-styles rules",
			},
			{Home: ".claude.json", File: true},
		}},
		Settings: []string{
			".mcp.json", ".claude/settings.json", ".claude/settings.local.json", ".claude/hooks/",
			".claude-plugin/marketplace.json", ".claude-plugin/plugin.json",
		},
	}
}

// claudeRules gives the tools that are offered. granted need no approval, as those for files do
// not. deny are rules for files that are never written. folders may be used besides that of the
// work.
func claudeRules(c Call) (tools, granted, deny, folders []string) {
	if c.Grant.Shell {
		granted = append(granted, "Bash")
	}
	if c.Grant.Net {
		granted = append(granted, "WebFetch", "WebSearch")
	}
	for _, name := range protected {
		deny = append(deny, claudeEdit(filepath.Join(c.Root, formats.Workspace, name)))
	}
	folders = []string{c.Out, c.Private}
	if c.Root != c.Dir {
		folders = append(folders, c.Root)
	}

	return append(
		[]string{"Read", "Grep", "Glob", "Write", "Edit"},
		granted...,
	), granted, deny, folders
}

// claudeEdit is a rule for a path: one with two slashes is absolute.
func claudeEdit(path string) string {
	return "Edit(/" + filepath.ToSlash(path) + ")"
}

func claudeArgv(c Call) []string {
	tools, _, _, _ := claudeRules(c)
	args := []string{
		"-p",
		"--output-format",
		"stream-json",
		"--verbose",
		// A project's settings may hold hooks, which are programs, and its servers are programs
		// too.
		"--setting-sources",
		"user",
		"--strict-mcp-config",
		"--no-chrome",
		"--permission-mode",
		"dontAsk",
		"--tools",
		strings.Join(tools, ","),
		"--settings",
		claudeSettings(c),
	}

	switch {
	case !c.Session.Keep:
		args = append(args, "--no-session-persistence")
	case c.Session.Resume:
		args = append(args, "--resume", c.Session.ID)
	default:
		args = append(args, "--session-id", c.Session.ID)
	}

	if len(c.Servers) > 0 {
		args = append(args, "--mcp-config", claudeServers(c))
	}
	if c.Model != "" {
		args = append(args, "--model", c.Model)
	}
	if c.Turns > 0 {
		args = append(args, "--max-turns", strconv.Itoa(c.Turns))
	}
	if c.Cost > 0 {
		args = append(args, "--max-budget-usd", strconv.FormatFloat(c.Cost, 'f', -1, 64))
	}
	if c.Schema != nil {
		args = append(args, "--json-schema", string(c.Schema))
	}
	return args
}

// claudeServers are the servers that it may use, and it starts no others.
func claudeServers(c Call) string {
	all := map[string]any{}
	for _, s := range c.Servers {
		env := map[string]string{}
		maps.Copy(env, s.Env)
		for _, name := range s.Vars {
			env[name] = "${" + name + "}" // it fills that in
		}
		all[s.Name] = map[string]any{
			"type":    "stdio",
			"command": s.Command,
			"args":    append([]string{}, s.Args...),
			"env":     env,
		}
	}
	return string(toJSON(map[string]any{"mcpServers": all}))
}

// claudeSettings grants by path: a rule that denies wins.
func claudeSettings(c Call) string {
	_, granted, deny, folders := claudeRules(c)
	allow := []string{"Read", "Grep", "Glob", claudeEdit(c.Out + "/**"), claudeEdit(c.Return)}
	if c.Grant.Write {
		allow = append(allow, claudeEdit(c.Dir+"/**"))
	}

	for _, s := range c.Servers {
		for _, tool := range s.Tools {
			allow = append(allow, "mcp__"+s.Name+"__"+tool)
		}
	}
	for _, tool := range granted {
		if tool != "Bash" || c.Grant.Commands == nil {
			allow = append(allow, tool)
		}
	}
	for _, command := range c.Grant.Commands { // what no rule allows is refused
		if words, all := strings.CutSuffix(command, " *"); all {
			command = words + ":*"
		}
		allow = append(allow, "Bash("+command+")")
	}

	return string(toJSON(map[string]any{
		"permissions": map[string]any{
			"allow":                 allow,
			"deny":                  deny,
			"additionalDirectories": folders,
		},
		"includeCoAuthoredBy":        false,
		"enableAllProjectMcpServers": false,
	}))
}

func claudeEnv(Call) []string {
	return []string{
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_MAX_RETRIES=0", // the command retries
		"IS_SANDBOX=1",
	}
}

// claudeEvent is the part of an event of stream-json that is read.
type claudeEvent struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Model   string `json:"model"`
	Session string `json:"session_id"`
	Message struct {
		ID      string      `json:"id"`
		Model   string      `json:"model"`
		Usage   claudeUsage `json:"usage"`
		Content any         `json:"content"`
	} `json:"message"`
	IsError    bool            `json:"is_error"`
	Result     string          `json:"result"`
	Reason     string          `json:"terminal_reason"`
	Status     int             `json:"api_error_status"`
	Kind       string          `json:"api_error_type"`
	Turns      int             `json:"num_turns"`
	Cost       float64         `json:"total_cost_usd"`
	Usage      *claudeUsage    `json:"usage"`
	Structured json.RawMessage `json:"structured_output"`
	Errors     []string        `json:"errors"`
	Denials    []struct {
		Tool string `json:"tool_name"`
	} `json:"permission_denials"`
	Models map[string]struct {
		Cost float64 `json:"costUSD"`
	} `json:"modelUsage"`
}

type claudeUsage struct {
	Input   int64 `json:"input_tokens"`
	Created int64 `json:"cache_creation_input_tokens"`
	Read    int64 `json:"cache_read_input_tokens"`
	Output  int64 `json:"output_tokens"`
}

func (u claudeUsage) tokens() formats.Tokens {
	return formats.Tokens{
		Input:  u.Input + u.Created + u.Read,
		Cached: u.Read,
		Output: u.Output,
	}
}

func claudeLine(r *Reading, e claudeEvent) {
	r.Session = cmp.Or(e.Session, r.Session)
	switch e.Type {
	case "system":
		if e.Subtype == "init" && e.Model != "" {
			r.Model = e.Model
		}
	case "assistant":
		if e.Message.ID != r.message { // a message has an event for each of its parts
			r.message = e.Message.ID
			r.before = r.Tokens
			r.Turns++
		}
		parts, _ := e.Message.Content.([]any) //nolint:errcheck // a plain text uses no tool
		for _, one := range parts {
			part, _ := one.(map[string]any) //nolint:errcheck // as above
			if name, ok := part["name"].(string); ok && part["type"] == "tool_use" {
				r.act = actOf(name, part["input"])
			}
		}
		now := e.Message.Usage.tokens()
		r.Tokens = formats.Tokens{
			Input:  r.before.Input + now.Input,
			Cached: r.before.Cached + now.Cached,
			Output: r.before.Output + now.Output,
		}
	case "result":
		claudeResult(r, e)
	}
}

func claudeResult(r *Reading, e claudeEvent) {
	// a session that was woken, as by a task in the background, gives a result for each turn
	again := r.Ended
	r.Ended = true
	r.addAnswer(e.Result)
	if e.Usage != nil && (!again || e.Usage.tokens().Total() > r.Tokens.Total()) {
		r.Tokens = e.Usage.tokens()
	}
	if !again {
		r.Turns = 0 // its own count is the better one
	}
	r.Turns = max(r.Turns, e.Turns)
	r.Cost = max(r.Cost, e.Cost)

	best := 0.0
	for _, name := range sortedKeys(e.Models) {
		if m := e.Models[name]; m.Cost > best {
			r.Model = name
			best = m.Cost
		}
	}

	if s := strings.TrimSpace(string(e.Structured)); s != "" && s != "null" {
		r.Structured = slices.Clone(e.Structured)
	}
	for _, d := range e.Denials {
		r.deny(d.Tool)
	}

	if e.IsError || e.Subtype != "success" {
		message := cmp.Or(e.Result, strings.Join(append([]string{e.Subtype}, e.Errors...), ": "))
		f := Fault{
			Status:  e.Status,
			Kind:    strings.Join([]string{e.Subtype, e.Reason, e.Kind}, " "),
			Message: message,
		}
		if again {
			r.Late = cmp.Or(r.Late, &f)
		} else {
			r.fault(f)
		}
	}
}
