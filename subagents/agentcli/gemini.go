package agentcli

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"tercet/formats"
)

// Gemini drives `gemini`. Its traps: the exit code is the HTTP status modulo 256. Errors are in the
// result event, or before it on standard error after a stack trace. The model is not offered tools
// without a grant, and a refused tool is a tool_result with an error.
//
// System settings need folders that root owns, and a project's settings can start processes and
// name another server. So each call has its own settings folder with links to the login files. It
// does not trust the project: it reads no settings there, and refuses git commands.
func Gemini() Driver {
	return Driver{
		Name:    "gemini",
		Package: "@google/gemini-cli",
		Tested:  "0.61.0",
		Metered: formats.MeteredEnd,
		Logins:  []Login{{Var: "GEMINI_CLI_HOME", File: ".gemini/oauth_creds.json"}},
		Keys:    []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
		Argv:    geminiArgv,
		Env:     geminiEnv,
		Files:   geminiFiles,
		Links:   geminiLinks,
		Line:    events(geminiLine),
		End:     geminiEnd,

		UsageLimit: `exhausted your daily quota|quota will reset`,

		Footprint: Footprint{Known: true, Stores: []Store{{
			Var:  "GEMINI_CLI_HOME",
			Path: ".gemini",
			Keep: "settings.json trustedFolders.json GEMINI.md extensions commands policies " +
				"skills hooks agents .env",
		}}},
		// an extension names servers and hooks besides its commands
		Settings: []string{".gemini/settings.json", ".gemini/extensions/"},
	}
}

const (
	geminiPolicy   = "policy.toml"
	geminiHome     = "gemini" // stands in for the folder of the user
	geminiSettings = geminiHome + "/.gemini/settings.json"
)

func geminiArgv(c Call) []string {
	args := []string{
		"-o",
		"stream-json",
		"--approval-mode",
		"default",
		"--policy",
		filepath.Join(c.Private, geminiPolicy),
		"--include-directories",
		strings.Join([]string{c.Out, c.Private}, ","),
		"--allowed-mcp-server-names",
		"none",
		"-e",
		"none",
	}
	if c.Model != "" {
		args = append(args, "-m", c.Model)
	}
	return args
}

func geminiEnv(c Call) []string {
	return []string{
		"GEMINI_CLI_TRUST_WORKSPACE=false", "GEMINI_TELEMETRY_ENABLED=false",
		"GEMINI_CLI_HOME=" + filepath.Join(c.Private, geminiHome),
	}
}

// geminiDir is the folder in which the user's settings and login are, empty if there is none.
func geminiDir(c Call) string {
	home := cmp.Or(c.Lookup("GEMINI_CLI_HOME"), c.Lookup("HOME"))
	if home == "" || c.Home != "" {
		return ""
	}
	return filepath.Join(home, ".gemini")
}

// geminiLinks are the files that a login left, which the program writes again when it renews it.
func geminiLinks(c Call) map[string]string {
	out := map[string]string{}
	dir := geminiDir(c)
	if dir == "" {
		return out
	}
	names := []string{
		"oauth_creds.json", "google_accounts.json", "gemini-credentials.json", "installation_id",
	}
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			out[geminiHome+"/.gemini/"+name] = filepath.Join(dir, name)
		}
	}
	return out
}

// geminiLogin is the kind of login: that of the key that the environment has, else what the user
// chose.
func geminiLogin(c Call) string {
	if c.Lookup("GEMINI_API_KEY") != "" {
		return "gemini-api-key"
	}

	var settings struct {
		Security struct {
			Auth struct {
				Type string `json:"selectedType"`
			} `json:"auth"`
		} `json:"security"`
	}

	text, err := os.ReadFile(filepath.Join(geminiDir(c), "settings.json"))
	if geminiDir(c) == "" || err != nil || json.Unmarshal(text, &settings) != nil {
		return ""
	}
	return settings.Security.Auth.Type
}

// geminiOwn are the settings of a call. Without the one about trust it does not start where it does
// not trust.
const geminiOwn = `{
	"privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false},
	"general": {
		"enableAutoUpdate": false, "enableAutoUpdateNotification": false, "maxAttempts": 1, "retryFetchErrors": false
	},
	"tools": {"shell": {"enableInteractiveShell": false}}, "security": {"folderTrust": {"enabled": false}AUTH}
}`

// geminiFiles are the rules of its policy engine, and its settings.
func geminiFiles(c Call) map[string][]byte {
	const files = `["write_file", "replace"]`
	const shell = `"run_shell_command"`
	const net = `["web_fetch", "google_web_search"]`
	var b strings.Builder
	rule := func(tools, decision, pattern string, priority string) {
		b.WriteString("[[rule]]\ntoolName = " + tools + "\n")
		if pattern != "" {
			b.WriteString("argsPattern = '''" + pattern + "'''\n")
		}
		b.WriteString("decision = \"" + decision + "\"\npriority = " + priority + "\n")
		if tools == shell && decision == "allow" {
			// else a command that writes a file needs approval, so it is refused
			b.WriteString("allowRedirection = true\n")
		}
		b.WriteByte('\n')
	}
	path := func(dir string) string {
		return `"file_path":"` + regexp.QuoteMeta(filepath.ToSlash(dir))
	}
	for _, dir := range []string{c.Out + "/", c.Return} {
		rule(files, "allow", path(dir), "950")
	}

	if c.Grant.Write {
		for _, name := range protected {
			rule(
				files, "deny",
				path(filepath.Join(c.Root, formats.Workspace, strings.TrimSuffix(name, "**")))+
					`|"file_path":"\.tercet/`,
				"940",
			)
		}
		rule(files, "allow", "", "900")
	} else {
		rule(files, "deny", "", "900")
	}

	word := map[bool]string{true: "allow", false: "deny"}
	rule(shell, word[c.Grant.Shell], "", "900")
	rule(net, word[c.Grant.Net], "", "900")
	rule(`["invoke_agent", "enter_plan_mode"]`, "deny", "", "950")
	auth := ""
	if login := geminiLogin(c); login != "" {
		auth = `, "auth": {"selectedType": ` + string(toJSON(login)) + `}`
	}

	return map[string][]byte{
		geminiPolicy:   []byte(b.String()),
		geminiSettings: []byte(strings.Replace(geminiOwn, "AUTH", auth, 1)),
	}
}

// geminiEvent is the part of an event that is read.
type geminiEvent struct {
	Type    string `json:"type"`
	Model   string `json:"model"`
	Role    string `json:"role"`
	Content string `json:"content"`
	Delta   bool   `json:"delta"`
	Tool    string `json:"tool_name"`
	ID      string `json:"tool_id"`
	Input   any    `json:"parameters"`
	Status  string `json:"status"`
	Output  string `json:"output"`
	Error   struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	Stats struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
		Cached int64 `json:"cached"`
		Total  int64 `json:"total_tokens"`
	} `json:"stats"`
}

func geminiLine(r *Reading, e geminiEvent) {
	switch e.Type {
	case "init":
		r.Model = e.Model
	case "message":
		if e.Role == "assistant" {
			r.Text += e.Content
		}
	case "tool_use":
		// the final message comes after the last tool
		r.Text = ""
		r.message = e.Tool
		r.act = actOf(e.Tool, e.Input)
		r.Turns++
	case "tool_result":
		denied := strings.Contains(e.Error.Type, "policy") ||
			strings.Contains(e.Error.Message, "denied by policy") ||
			strings.Contains(e.Output, "denied by policy")
		if e.Status == "error" && denied {
			r.deny(r.message)
		}
	case "result":
		r.Ended = e.Status == "success"
		r.Turns++
		r.Tokens = formats.Tokens{
			Input:  e.Stats.Input,
			Cached: e.Stats.Cached,
			Output: e.Stats.Output,
		}
		if e.Status != "success" {
			r.fault(Fault{Kind: e.Error.Type, Message: e.Error.Message})
		}
	}
}

// geminiEnd reads what failed before there was an event.
func geminiEnd(r *Reading, e Ending) {
	if r.Fault != nil && r.Fault.Status == 0 && statusIn(r.Fault.Message) == 0 {
		r.Fault.Status = geminiStatus(e.Exit)
	}
	if r.Fault != nil || r.Ended || e.Exit == 0 {
		return
	}
	r.fault(Fault{
		Status:  geminiStatus(e.Exit),
		Kind:    "error",
		Message: strings.Join(lastLines(e.Stderr), " "),
	})
}

// geminiStatus takes the HTTP status out of an exit code, 0 if it is none.
func geminiStatus(exit int) int {
	for _, status := range []int{400, 401, 403, 404, 408, 429, 500, 502, 503, 504} {
		if exit == status%256 && exit > 60 {
			return status
		}
	}
	return 0
}
