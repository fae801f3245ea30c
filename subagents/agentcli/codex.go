package agentcli

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/subagents"
)

// Codex drives `codex exec`. Its traps: an item of type error is a warning, also in a run that
// succeeds. A schema that the model ignores is no failure. Tokens come at the end of a turn and add
// up over it; there is no cost.
//
// It has no tool for reading: it runs commands in its own sandbox. A missing grant is therefore not
// a missing tool, but a folder without write access or a missing network.
func Codex() Driver {
	return Driver{
		Name:    "codex",
		Package: "@openai/codex",
		Tested:  "0.169.0",
		Metered: formats.MeteredEnd,
		Schema:  true,
		Servers: true,
		Sessions: &Sessions{
			Files: []string{"sessions/*/*/*/rollout-*-ID.jsonl"},
			// its databases know the session too
			Delete: func(id string) []string { return []string{"delete", "--force", id} },
		},
		Logins: []Login{{Var: "CODEX_HOME", Home: ".codex", File: "auth.json"}},
		Keys:   []string{"OPENAI_API_KEY", "CODEX_API_KEY"},
		Accounts: []accountFile{{
			Login{Var: "CODEX_HOME", Home: ".codex", File: "auth.json"},
			[]string{"tokens", "account_id"},
		}},
		Argv:  codexArgv,
		Files: codexFiles,
		Line:  events(codexLine),

		UsageLimit: `hit your usage limit`,

		Adapters: []string{"codex-acp"},
		Footprint: Footprint{
			Known:     true,
			Sandboxes: true,
			// Making its sandbox begins with this folder, wherever TMPDIR is.
			Make: []string{"/tmp/codex-daemon-" + strconv.Itoa(os.Getuid())},
			Stores: []Store{{
				Var:      "CODEX_HOME",
				Home:     ".codex",
				Required: true,
				Keep: "config.toml AGENTS.md AGENTS.override.md prompts rules skills hooks " +
					"hooks.json plugins",
			}},
		},
		Settings: []string{".codex/config.toml"},
	}
}

const codexSchema = "schema.json"

func codexArgv(c Call) []string {
	args := []string{
		"exec",
		"--json",
		"--skip-git-repo-check",
		"-C",
		c.Dir,
		"-c",
		"check_for_update_on_startup=false",
		"-c",
		"analytics.enabled=false",
		"-c",
		`otel.exporter="none"`,
		// tercet's prompt holds the instructions of the project.
		"-c",
		"project_doc_max_bytes=0",
		"-c",
		"features.plugins=false",
		"-c",
		"features.apps=false",
		"-c",
		"features.multi_agent=false",
		"-c",
		"features.goals=false",
		"-c",
		`approval_policy="never"`,
		"-c",
		`default_permissions="tercet"`,
		"-c",
		"permissions.tercet.filesystem=" + codexFolders(c),
	}
	if !c.Session.Keep {
		args = append(args, "--ephemeral")
	}
	if c.Grant.Net {
		args = append(args, "-c", "permissions.tercet.network={enabled=true}")
	}
	provider, servers := codexConfig(c)
	for _, name := range servers {
		if slices.ContainsFunc(c.Servers, func(s subagents.Server) bool { return s.Name == name }) {
			continue
		}
		args = append(args, "-c", "mcp_servers."+name+".enabled=false") // its tools have no grant
	}

	args = append(args, codexServers(c)...)

	at := "model_providers." + provider
	if provider != "" {
		args = append(args, "-c", at+".request_max_retries=0", "-c", at+".stream_max_retries=0")
	}
	if c.Model != "" {
		args = append(args, "-m", c.Model)
	}
	if c.Schema != nil {
		args = append(args, "--output-schema", filepath.Join(c.Private, codexSchema))
	}
	if c.Session.Resume {
		args = append(args, "resume", c.Session.ID)
	}
	return append(args, "-") // the prompt comes on standard input
}

// codexServers are the servers that it may use, with the tools that it is offered. They need no
// approval, which nobody could give.
func codexServers(c Call) (args []string) {
	for _, s := range c.Servers {
		at := "mcp_servers." + s.Name + "."
		set := func(key string, value any) {
			args = append(args, "-c", at+key+"="+string(toJSON(value)))
		}
		set("enabled", true)
		set("command", s.Command)
		set("args", append([]string{}, s.Args...))
		set("env_vars", append([]string{}, s.Vars...))
		set("enabled_tools", s.Tools)
		set("default_tools_approval_mode", "approve")
		for _, name := range sortedKeys(s.Env) {
			set("env."+name, s.Env[name])
		}
	}
	return args
}

// codexFolders is what its sandbox lets commands write, as an inline table of TOML.
func codexFolders(c Call) string {
	type entry struct{ path, right string }
	list := []entry{{":root", "read"}, {":tmpdir", "write"}}
	if c.Grant.Write {
		list = append(
			list,
			entry{c.Dir, "write"},
			entry{filepath.Join(c.Root, formats.Workspace), "read"},
		)
		own := filepath.Join(c.Root, formats.Workspace)
		if strings.HasPrefix(c.Dir, own+string(filepath.Separator)) {
			list = list[:len(list)-1] // a worktree stands inside the workspace
		}
	}

	if c.Grant.Shell {
		for _, dir := range caches(c) {
			list = append(list, entry{dir, "write"})
		}
	}
	list = append(list, entry{c.Out, "write"}, entry{c.Private, "write"})

	var parts []string
	for _, e := range list {
		parts = append(parts, fmt.Sprintf("%s=%q", toJSON(e.path), e.right))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// caches are the folders that tools of a project fill, those that are there: without them a build
// does not run.
func caches(c Call) []string {
	home := c.Lookup("HOME")
	candidates := []string{
		c.Lookup("GOCACHE"),
		c.Lookup("GOMODCACHE"),
		c.Lookup("npm_config_cache"),
		c.Lookup("XDG_CACHE_HOME"),
	}
	if cargo := c.Lookup("CARGO_HOME"); cargo != "" {
		candidates = append(candidates, filepath.Join(cargo, "registry"))
	}
	if home != "" {
		candidates = append(
			candidates,
			filepath.Join(home, ".cache"),
			filepath.Join(home, "go", "pkg"),
			filepath.Join(home, ".npm"),
			filepath.Join(home, ".cargo", "registry"),
		)
	}

	var out []string
	for _, dir := range candidates {
		if info, err := os.Stat(dir); filepath.IsAbs(dir) && err == nil && info.IsDir() {
			out = append(out, dir)
		}
	}

	return out
}

func codexFiles(c Call) map[string][]byte {
	if c.Schema == nil {
		return nil
	}
	return map[string][]byte{codexSchema: c.Schema}
}

// codexConfig gives the provider that the user's own configuration chooses and defines, and the
// names of its tool servers. A built-in provider is empty, because its retries cannot be changed.
func codexConfig(c Call) (provider string, servers []string) {
	home := cmp.Or(c.Lookup("CODEX_HOME"), filepath.Join(c.Lookup("HOME"), ".codex"))
	src, err := os.ReadFile(filepath.Join(home, "config.toml"))
	if err != nil {
		return "", nil
	}

	name := ""
	section := ""
	for lines := bufio.NewScanner(bytes.NewReader(src)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[] ")
			if strings.TrimPrefix(section, "model_providers.") == name && name != "" {
				provider = name
			}
			if server, ok := strings.CutPrefix(section, "mcp_servers."); ok &&
				!strings.Contains(strings.Trim(server, `"`), ".") {
				servers = append(servers, server)
			}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if ok && section == "" && strings.TrimSpace(key) == "model_provider" {
			value, _, _ = strings.Cut(value, "#")
			name = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}

	return provider, servers
}

// codexEvent is the part of an event that is read.
type codexEvent struct {
	Type   string `json:"type"`
	Thread string `json:"thread_id"`
	Item   struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Command string `json:"command"`
		Query   string `json:"query"`
		Tool    string `json:"tool"`
		Changes []struct {
			Path string `json:"path"`
		} `json:"changes"`
	} `json:"item"`
	Usage struct {
		Input  int64 `json:"input_tokens"`
		Cached int64 `json:"cached_input_tokens"`
		Output int64 `json:"output_tokens"`
	} `json:"usage"`
	Message string `json:"message"`
	Error   struct {
		Message string `json:"message"`
	} `json:"error"`
}

func codexLine(r *Reading, e codexEvent) {
	switch i := e.Item; i.Type {
	case "command_execution", "file_change", "mcp_tool_call", "web_search":
		on := map[string]any{"command": i.Command, "query": i.Query}
		if len(i.Changes) > 0 {
			on["path"] = i.Changes[0].Path
		}
		r.act = actOf(cmp.Or(i.Tool, i.Type), on)
		r.worked = true
	}

	switch e.Type {
	case "thread.started":
		r.Session = e.Thread
	case "item.completed":
		switch e.Item.Type {
		case "agent_message":
			r.addAnswer(e.Item.Text)
			r.Turns++
		case "command_execution", "file_change", "mcp_tool_call", "web_search":
			r.Turns++
		}
	case "turn.completed":
		r.Ended = true
		r.Tokens = formats.Tokens{
			Input:  e.Usage.Input,
			Cached: e.Usage.Cached,
			Output: e.Usage.Output,
		}
	case "turn.failed":
		r.fault(codexFault(e.Error.Message))
	case "error":
		// Also printed while it connects again; a turn that completes takes it back.
		r.message = e.Message
	}
}

// codexFault reads the message, which may be the error object of the server as JSON.
func codexFault(message string) Fault {
	var inner struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	f := Fault{Message: message}
	if json.Unmarshal([]byte(message), &inner) == nil && inner.Error.Message != "" {
		f.Kind = inner.Error.Type
		f.Message = inner.Error.Message
		if f.Kind == "invalid_request_error" {
			f.Status = 400
		}
	}
	return f
}
