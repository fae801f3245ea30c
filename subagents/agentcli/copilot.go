package agentcli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tercet/formats"
)

// Copilot drives `copilot`. Its traps: a refused tool fails with the code "denied", and the exit
// code stays 0. The CLI compares a rule for a path with the path as the model wrote it, so a rule
// of its own refuses `..`. It retries a busy server up to six times without a switch, so tercet
// ends it at its first retry. A file has the tokens at the end.
//
// In a folder that the user trusts it runs the project's hooks and servers. So each call replaces
// ~/.copilot by its own folder, which trusts nothing and has the user's login and choice of model.
func Copilot() Driver {
	return Driver{
		Name:    "copilot",
		Package: "@github/copilot",
		Tested:  "1.0.102",
		Metered: formats.MeteredEnd,
		Unpacks: true,
		Logins:  []Login{{"COPILOT_HOME", ".copilot", "config.json", "oggedInUser"}},
		Keys: []string{
			"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_BASE_URL",
		},
		Argv:  copilotArgv,
		Env:   copilotEnv,
		Files: copilotFiles,
		Line:  events(copilotLine),
		End:   copilotEnd,

		UsageLimit: `used all your copilot|(?:hit|reached) your [a-z0-9' -]*limit`,

		Footprint: Footprint{Known: true}, // its folder is one of the call
		Settings: []string{
			".github/mcp.json", ".github/copilot/settings.json",
			".github/copilot/settings.local.json", ".github/hooks/", ".github/extensions/",
		},
	}
}

const (
	copilotHome  = "copilot" // stands in for the folder of the user
	copilotUsage = "usage.json"
)

func copilotArgv(c Call) []string {
	tools := "view,grep,glob,create,edit"
	args := []string{
		"--output-format",
		"json",
		"--no-ask-user",
		"--no-color",
		"--no-auto-update",
		"--no-custom-instructions",
		"--no-remote",
		"--no-remote-export",
		"--disable-builtin-mcps",
		"--disable-client-telemetry",
		"--log-level",
		"none",
		"--usage-output-file",
		filepath.Join(c.Private, copilotUsage),
		"--disallow-temp-dir",
		"--add-dir",
		c.Out,
		"--add-dir",
		c.Private,
	}

	rule := func(word, pattern string) {
		// Commas, brackets and the like end a rule or mean something in it, and nothing quotes
		// them: any character will do.
		args = append(args, word+"=write("+strings.Map(func(r rune) rune {
			if strings.ContainsRune("()[]{},!\\", r) {
				return '?'
			}
			return r
		}, filepath.ToSlash(pattern))+")")
	}
	rule("--deny-tool", "**/../**")
	for _, name := range protected {
		rule("--deny-tool", formats.Workspace+"/"+name) // of the tree as well as of the project
	}

	if c.Root != c.Dir {
		args = append(args, "--add-dir", c.Root)
	}
	rule("--allow-tool", c.Out+"/**")
	rule("--allow-tool", c.Return)
	if c.Grant.Write {
		rule("--allow-tool", c.Dir+"/**")
	}
	if c.Grant.Shell {
		// A command that names a path outside, or writes a file, is refused without these; one with
		// an address still is.
		tools += ",bash,read_bash,stop_bash,list_bash"
		args = append(args, "--allow-tool=shell", "--allow-tool=write", "--allow-all-paths")
	}
	if c.Grant.Net {
		tools += ",web_fetch"
		args = append(args, "--allow-all-urls")
	}
	args = append(args, "--available-tools="+tools)
	if c.Model != "" {
		args = append(args, "--model", c.Model)
	}
	return args
}

func copilotEnv(c Call) []string {
	// The word true would trust the project and allow everything.
	return []string{
		"COPILOT_HOME=" + filepath.Join(c.Private, copilotHome),
		"COPILOT_ALLOW_ALL=false",
	}
}

// copilotFiles are the settings of a call, and who is logged in: what the user trusts, hooks and
// servers are left out.
func copilotFiles(c Call) map[string][]byte {
	own := map[string]any{
		"disableAllHooks":     true,
		"memory":              false,
		"includeCoAuthoredBy": false,
		"autoUpdate":          false,
	}
	login := map[string]any{}
	if c.Home == "" {
		dir := cmp.Or(c.Lookup("COPILOT_HOME"), filepath.Join(c.Lookup("HOME"), ".copilot"))
		if model, ok := copilotSettings(filepath.Join(dir, "settings.json"))["model"].(string); ok {
			own["model"] = model
		}
		for key, value := range copilotSettings(filepath.Join(dir, "config.json")) {
			if strings.Contains(key, "oggedIn") || strings.HasSuffix(key, "Tokens") {
				login[key] = value
			}
		}
	}

	return map[string][]byte{
		copilotHome + "/settings.json": toJSON(own),
		copilotHome + "/config.json":   toJSON(login),
	}
}

// copilotSettings reads a file of settings, which begins with comments; one that cannot be read
// says nothing.
func copilotSettings(name string) map[string]any {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	for bytes.HasPrefix(text, []byte("//")) {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	var all map[string]any
	if json.Unmarshal(text, &all) != nil {
		return nil
	}
	return all
}

// copilotEvent is the part of an event that is read.
type copilotEvent struct {
	Type string `json:"type"`
	Data struct {
		Model    string `json:"model"`
		Content  string `json:"content"`
		Requests []any  `json:"toolRequests"`
		ID       string `json:"toolCallId"`
		Tool     string `json:"toolName"`
		Input    any    `json:"arguments"`
		Error    struct {
			Code string `json:"code"`
		} `json:"error"`
		Status  int    `json:"statusCode"`
		Kind    string `json:"errorType"`
		Failure string `json:"failureKind"`
		Message string `json:"message"`
		Words   string `json:"errorMessage"`
	} `json:"data"`
	Exit *int `json:"exitCode"`
}

func copilotLine(r *Reading, e copilotEvent) {
	d := e.Data
	switch e.Type {
	case "assistant.message":
		r.Turns++
		r.Model = cmp.Or(d.Model, r.Model)
		r.addAnswer(d.Content)
		if len(d.Requests) > 0 { // the final message comes after the last tool
			r.Text = ""
			r.worked = true
		}
	case "tool.execution_start":
		r.act = actOf(d.Tool, d.Input)
		if r.calls == nil {
			r.calls = map[string]string{}
		}
		r.calls[d.ID] = d.Tool
	case "tool.execution_complete":
		if d.Error.Code == "denied" {
			r.deny(cmp.Or(r.calls[d.ID], "without a name"))
		}
		delete(r.calls, d.ID)
	case "model.call_failure":
		r.failed = Fault{
			Status:  d.Status,
			Kind:    d.Kind,
			Message: copilotWords(d.Words),
		}
		if d.Failure == "transport" {
			r.failed.Kind = "connection"
		}
	case "assistant.turn_retry":
		r.fault(r.failed)
		r.Again = true
	case "session.error":
		r.fault(Fault{
			Status:  d.Status,
			Kind:    d.Kind,
			Message: d.Message,
		})
	case "result":
		r.Ended = e.Exit != nil && *e.Exit == 0
		if r.Ended {
			r.Fault = nil // it went on after it
		}
	}
}

// copilotWords reads what the server said: an object or a text, as JSON.
func copilotWords(text string) string {
	var said any
	if json.Unmarshal([]byte(text), &said) != nil {
		return text
	}
	if object, ok := said.(map[string]any); ok {
		said = object["message"]
	}
	return fmt.Sprint(said)
}

// copilotEnd reads what was used, and what failed before there was an event.
func copilotEnd(r *Reading, e Ending) {
	var used struct {
		Models map[string]struct {
			Usage struct {
				Input  int64 `json:"inputTokens"`
				Output int64 `json:"outputTokens"`
				Cached int64 `json:"cacheReadTokens"`
			} `json:"usage"`
		} `json:"modelMetrics"`
	}

	text, err := os.ReadFile(filepath.Join(e.Private, copilotUsage))
	if err == nil && json.Unmarshal(text, &used) == nil {
		for _, m := range used.Models {
			r.Tokens.Input += m.Usage.Input
			r.Tokens.Output += m.Usage.Output
			r.Tokens.Cached += m.Usage.Cached
		}
	}

	if !r.Ended && r.Turns == 0 {
		r.fault(Fault{Kind: "error", Message: firstLine(string(e.Stderr))})
	}
}
