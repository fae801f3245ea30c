package agentcli

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"tercet/formats"
	"tercet/internal/lazy"
	"tercet/subagents"
)

// OpenCode drives `opencode run`. Its traps: no event marks the end, and the final message is the
// text of the last step. After an answer that is not JSON it retries every second without end, so
// steps without an answer are counted. It unpacks a 5 MB library into the temporary folder, which
// is private and removed.
func OpenCode() Driver {
	return Driver{
		Name:    "opencode",
		Package: "opencode-ai",
		Tested:  "1.18.33",
		Metered: formats.MeteredSteps,
		Parts:   true,
		Servers: true,
		Sessions: &Sessions{
			Gone:   "Session not found",
			Delete: func(id string) []string { return []string{"session", "delete", id} },
		},
		Logins: []Login{{Var: "XDG_DATA_HOME", Home: ".local/share", File: "opencode/auth.json"}},
		Keys: []string{
			"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENCODE_API_KEY",
		},
		Unfit: openCodeUnfit,
		Raced: func(stderr string) bool { return openCodeRaced().MatchString(stderr) },
		Argv:  openCodeArgv,
		Env:   openCodeEnv,
		Line:  events(openCodeLine),
		End:   openCodeEnd,

		Footprint: Footprint{Known: true, Stores: []Store{
			{Var: "XDG_DATA_HOME", Home: ".local/share", Path: "opencode"},
			{Var: "XDG_STATE_HOME", Home: ".local/state", Path: "opencode"},
			{Var: "XDG_CACHE_HOME", Home: ".cache", Path: "opencode"},
			{
				Var:  "XDG_CONFIG_HOME",
				Home: ".config",
				Path: "opencode",
				Keep: "opencode.json opencode.jsonc config.json AGENTS.md agent agents command " +
					"commands plugin plugins mode modes skill skills tool tools",
			},
		}},
		Settings: []string{
			"opencode.json", "opencode.jsonc", ".opencode/opencode.json",
			".opencode/opencode.jsonc", ".opencode/plugin/", ".opencode/plugins/",
		},
	}
}

// openCodeRaced is what it says where two of its first starts make its tables at once.
var openCodeRaced = lazy.Regexp(
	"(?i)failed query:\\s+(create|alter|drop) |failed query:.*drizzle_migrations|" +
		"database is locked|sqlite_busy",
)

func openCodeArgv(c Call) []string {
	args := []string{"run", "--format", "json", "--pure"}
	if c.Model != "" {
		args = append(args, "--model", c.Model)
	}
	if c.Session.Resume {
		args = append(args, "--session", c.Session.ID)
	}
	return args
}

func openCodeEnv(c Call) []string {
	return openCodeVariables(c, openCodeConfig(c))
}

// openCodeVariables switches off what reaches out and what the project configures, and gives it a
// configuration.
func openCodeVariables(c Call, config string) []string {
	var env []string
	if !c.Grant.Shell {
		// It fetches a package for plugins, which it is not to load. Where commands may run, they
		// need the registry too.
		env = append(env, "npm_config_registry=http://127.0.0.1:9/", "npm_config_fetch_retries=0")
	}
	return append(env,
		"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1",
		"OPENCODE_DISABLE_LSP_DOWNLOAD=1",
		"OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
		// A project's configuration may hold plugins, servers and formatters, which are programs.
		"OPENCODE_DISABLE_PROJECT_CONFIG=1", "OPENCODE_CONFIG_CONTENT="+config,
	)
}

// openCodeConfig grants by path. Of the rules of a tool the last one that matches counts, so that
// objects are written by hand, in order.
func openCodeConfig(c Call) string {
	slash := filepath.ToSlash
	own := []string{slash(c.Out) + "/*", slash(c.Private) + "/*"}
	edit := []string{`"*":"deny"`}
	outside := []string{`"*":"deny"`}

	rule := func(list *[]string, path, right string) {
		// It names a file from the root of the repository it is in, else from that of the file
		// system, or by its whole path.
		names := []string{path, strings.TrimPrefix(path, "/")}
		if rel, err := filepath.Rel(c.Dir, path); err == nil {
			names = append(names, slash(rel))
		}
		for _, name := range names {
			*list = append(*list, fmt.Sprintf("%s:%q", toJSON(name), right))
		}
	}

	if c.Grant.Write {
		edit[0] = `"*":"allow"`
		for _, name := range protected {
			rule(
				&edit,
				slash(filepath.Join(c.Root, formats.Workspace, strings.TrimSuffix(name, "*"))),
				"deny",
			)
		}
	}
	for _, path := range own {
		rule(&edit, path, "allow")
		rule(&outside, path, "allow")
	}

	if c.Root != c.Dir {
		rule(&outside, slash(c.Root)+"/*", "allow")
	}

	word := map[bool]string{true: "allow", false: "deny"}
	bash := fmt.Sprintf("%q", word[c.Grant.Shell])
	if c.Grant.Shell && c.Grant.Commands != nil { // the last rule that fits counts
		bash = `{"*":"deny"`
		for _, command := range c.Grant.Commands {
			bash += "," + string(toJSON(command)) + `:"allow",` +
				string(toJSON(strings.TrimSuffix(command, " *"))) + `:"allow"`
		}
		bash += "}"
	}

	servers := map[string]any{}
	var granted strings.Builder
	for _, s := range c.Servers {
		name := openCodeServer + s.Name
		servers[name] = map[string]any{
			"type":        "local",
			"command":     s.Words(),
			"environment": openCodeServerEnv(s),
			"enabled":     true,
		}
		for _, tool := range s.Tools {
			fmt.Fprintf(&granted, `%s:"allow",`, toJSON(name+"_"+tool))
		}
	}

	// What is not named is a tool of a server or plugin of the user's, without a grant.
	return fmt.Sprintf(
		`{"autoupdate":false,"share":"disabled","snapshot":false,"mcp":%s,`+
			`"permission":{"*":"deny",%s`+
			`"read":"allow","list":"allow","glob":"allow","grep":"allow",`+
			`"todowrite":"allow","todoread":"allow","lsp":"allow",`+
			`"edit":{%s},"external_directory":{%s},"bash":%s,"webfetch":%q,"websearch":%q,`+
			`"task":"deny","question":"deny","skill":"deny","doom_loop":"deny"}}`,
		toJSON(servers),
		granted.String(),
		strings.Join(edit, ","),
		strings.Join(outside, ","),
		bash,
		word[c.Grant.Net],
		word[c.Grant.Net],
	)
}

// openCodeServer begins the names of granted servers: those of the user stay configured, and one of
// the same name would be merged with it, or lend its tools' names.
const openCodeServer = "tercet-"

// openCodeServerEnv are the variables of a server, for which it fills in those of its environment.
func openCodeServerEnv(s subagents.Server) map[string]string {
	env := map[string]string{}
	maps.Copy(env, s.Env)
	for _, name := range s.Vars {
		env[name] = "{env:" + name + "}"
	}
	return env
}

// openCodeUnfit says why a server cannot be granted: it fills in variables and files in every text
// of its configuration.
func openCodeUnfit(s subagents.Server) string {
	texts := s.Words()
	for _, value := range s.Env {
		texts = append(texts, value)
	}
	for _, text := range texts {
		if strings.Contains(text, "{env:") || strings.Contains(text, "{file:") {
			return "opencode would fill in " + text
		}
	}
	return ""
}

// openCodeEvent is the part of an event that is read.
type openCodeEvent struct {
	Type    string `json:"type"`
	Session string `json:"sessionID"`
	Part    struct {
		Text   string `json:"text"`
		Tool   string `json:"tool"`
		Reason string `json:"reason"`
		State  struct {
			Status string `json:"status"`
			Error  string `json:"error"`
			Input  any    `json:"input"`
		} `json:"state"`
		Cost   float64 `json:"cost"`
		Tokens struct {
			Input  int64 `json:"input"`
			Output int64 `json:"output"`
			Think  int64 `json:"reasoning"`
			Cache  struct {
				Read  int64 `json:"read"`
				Write int64 `json:"write"`
			} `json:"cache"`
		} `json:"tokens"`
	} `json:"part"`
	Error struct {
		Name string `json:"name"`
		Data struct {
			Message string `json:"message"`
			Status  int    `json:"statusCode"`
		} `json:"data"`
	} `json:"error"`
}

func openCodeLine(r *Reading, e openCodeEvent) {
	r.Session = cmp.Or(e.Session, r.Session)
	switch e.Type {
	case "step_start":
		r.Text = ""
		r.Ended = false
		r.Empty++
	case "text":
		r.Text += e.Part.Text
		r.Empty = 0
	case "tool_use":
		r.Empty = 0
		r.act = actOf(e.Part.Tool, e.Part.State.Input)
		if s := e.Part.State; s.Status == "error" && openCodeRefused(s.Error) {
			r.deny(e.Part.Tool)
		}
	case "step_finish":
		t := e.Part.Tokens
		r.Turns++
		r.Ended = e.Part.Reason == "stop"
		r.Cost += e.Part.Cost
		r.Tokens.Input += t.Input + t.Cache.Read + t.Cache.Write
		r.Tokens.Cached += t.Cache.Read
		r.Tokens.Output += t.Output + t.Think
	case "error":
		r.fault(Fault{
			Status:  e.Error.Data.Status,
			Kind:    e.Error.Name,
			Message: e.Error.Data.Message,
		})
	}
}

func openCodeRefused(message string) bool {
	return strings.Contains(message, "permission") ||
		strings.Contains(message, "prevents you from using") ||
		strings.Contains(message, "rejected")
}

// openCodeEnd takes a program that ended well without an answer for one that had none.
func openCodeEnd(r *Reading, e Ending) {
	if r.Fault == nil && e.Exit == 0 && r.Turns == 0 {
		r.fault(Fault{Kind: "no answer", Message: "connection ended without an answer"})
	}
}
