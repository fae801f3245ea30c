package agentcli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tercet/formats"
	"tercet/subagents/agentcli"
)

// read gives what a driver makes of lines of output and of the end of its program.
func read(t *testing.T, name string, end agentcli.Ending, lines ...string) agentcli.Reading {
	t.Helper()
	d, ok := agentcli.ByName(name)
	if !ok {
		t.Fatalf("ByName(%q) found nothing", name)
	}

	var r agentcli.Reading
	for _, line := range lines {
		d.Line(&r, []byte(line))
	}

	if d.End != nil {
		d.End(&r, end)
	}

	return r
}

func TestReadings(t *testing.T) {
	t.Parallel()

	used := t.TempDir()
	put(
		t,
		filepath.Join(used, "usage.json"),
		`{"modelMetrics": {"m1": {"usage": {"inputTokens": 200, "outputTokens": 40, `+
			`"cacheReadTokens": 40}}, "m2": {"usage": {"inputTokens": 30, "outputTokens": 5}}}}`,
	)

	tests := []struct {
		name, driver string
		end          agentcli.Ending
		lines        []string
		want         agentcli.Reading
	}{
		{"an API error is a success by its subtype", "claude", agentcli.Ending{Exit: 1}, []string{
			`{"type": "result", "subtype": "success", "is_error": true, ` +
				`"result": "API Error: 500 no", "terminal_reason": "api_error", ` +
				`"api_error_status": 500, "api_error_type": "api_error", "num_turns": 1}`,
		}, agentcli.Reading{
			Text:  "API Error: 500 no",
			Turns: 1,
			Ended: true,
			Fault: &agentcli.Fault{
				Status:  500,
				Kind:    "success api_error api_error",
				Message: "API Error: 500 no",
			},
		}},
		{"a refused tool shows in the denials alone", "claude", agentcli.Ending{}, []string{
			`{"type": "result", "subtype": "success", "result": "ok", ` +
				`"permission_denials": [{"tool_name": "Write"}, {"tool_name": "Write"}]}`,
		}, agentcli.Reading{
			Text:   "ok",
			Ended:  true,
			Denied: []string{"Write"},
		}},
		{
			"a schema that is ignored",
			"claude",
			agentcli.Ending{},
			[]string{
				`{"type": "result", "subtype": "success", "result": "pong", ` +
					`"structured_output": null}`,
			},
			agentcli.Reading{Text: "pong", Ended: true},
		},
		{"a message has an event for each part", "claude", agentcli.Ending{}, []string{
			"Could not parse message into JSON",
			`{"type": "assistant", "message": {"id": "a", "usage": {"input_tokens": 10, ` +
				`"cache_read_input_tokens": 5, "output_tokens": 1}}}`,
			`{"type": "assistant", "message": {"id": "a", "usage": {"input_tokens": 10, ` +
				`"cache_read_input_tokens": 5, "output_tokens": 3}}}`,
			`{"type": "assistant", "message": {"id": "b", "usage": {"input_tokens": 20, ` +
				`"output_tokens": 4}}}`,
		}, agentcli.Reading{
			Turns: 2,
			Tokens: formats.Tokens{
				Input:  35,
				Cached: 5,
				Output: 7,
			},
		}},
		{
			"most turns",
			"claude",
			agentcli.Ending{Exit: 1},
			[]string{
				`{"type": "result", "subtype": "error_max_turns", "is_error": false, ` +
					`"num_turns": 3, "errors": ["reached"]}`,
			},
			agentcli.Reading{
				Turns: 3,
				Ended: true,
				Fault: &agentcli.Fault{
					Kind:    "error_max_turns  ",
					Message: "error_max_turns: reached",
				},
			},
		},
		{"an item of type error is a warning", "codex", agentcli.Ending{}, []string{
			`{"type": "item.completed", "item": {"type": "error", ` +
				`"message": "metadata not found"}}`,
			`{"type": "error", "message": "reconnecting 1/5"}`,
			`{"type": "item.completed", "item": {"type": "agent_message", "text": "pong"}}`,
			`{"type": "turn.completed", "usage": {"input_tokens": 100, ` +
				`"cached_input_tokens": 20, "output_tokens": 20}}`,
		}, agentcli.Reading{
			Text:  "pong",
			Turns: 1,
			Ended: true,
			Tokens: formats.Tokens{
				Input:  100,
				Cached: 20,
				Output: 20,
			},
		}},
		{"the error object of the server", "codex", agentcli.Ending{Exit: 1}, []string{
			`{"type": "turn.failed", "error": {"message": "{\"error\": {\"type\": ` +
				`\"invalid_request_error\", \"message\": \"no\"}}"}}`,
		}, agentcli.Reading{Fault: &agentcli.Fault{
			Status:  400,
			Kind:    "invalid_request_error",
			Message: "no",
		}}},
		{"the final message is the text of the last step", "opencode", agentcli.Ending{}, []string{
			`{"type": "step_start"}`, `{"type": "text", "part": {"text": "first"}}`,
			`{"type": "tool_use", "part": {"tool": "write", "state": {"status": "error", ` +
				`"error": "The user has specified a rule which prevents you from using this ` +
				`specific tool call"}}}`,
			`{"type": "step_finish", "part": {"reason": "tool-calls", "cost": 0.5, ` +
				`"tokens": {"input": 80, "output": 20, "cache": {"read": 20}}}}`,
			`{"type": "step_start"}`, `{"type": "text", "part": {"text": "last"}}`,
			`{"type": "step_finish", "part": {"reason": "stop", "tokens": {"input": 80, ` +
				`"output": 20}}}`,
		}, agentcli.Reading{
			Text:   "last",
			Turns:  2,
			Ended:  true,
			Denied: []string{"write"},
			Cost:   0.5,
			Tokens: formats.Tokens{
				Input:  180,
				Cached: 20,
				Output: 40,
			},
		}},
		{
			"steps without an answer are counted",
			"opencode",
			agentcli.Ending{Exit: 1},
			[]string{
				`{"type": "step_start"}`,
				`{"type": "step_finish", "part": {"reason": "unknown"}}`,
				`{"type": "step_start"}`,
			},
			agentcli.Reading{Turns: 1, Empty: 2},
		},
		{
			"an exit code that is a status modulo 256",
			"gemini",
			agentcli.Ending{Exit: 173, Stderr: []byte("at x\nquota is used up\n")},
			nil,
			agentcli.Reading{
				Fault: &agentcli.Fault{
					Status:  429,
					Kind:    "error",
					Message: "at x quota is used up",
				},
			},
		},
		{
			"no login",
			"gemini",
			agentcli.Ending{Exit: 41, Stderr: []byte("Invalid auth method selected.\n")},
			nil,
			agentcli.Reading{
				Fault: &agentcli.Fault{Kind: "error", Message: "Invalid auth method selected."},
			},
		},
		{"the final message comes after the last tool", "gemini", agentcli.Ending{}, []string{
			`{"type": "message", "role": "user", "content": "hi"}`,
			`{"type": "message", "role": "assistant", "content": "wait"}`,
			`{"type": "tool_use", "tool_name": "write_file"}`,
			`{"type": "message", "role": "assistant", "content": "do", "delta": true}`,
			`{"type": "message", "role": "assistant", "content": "ne", "delta": true}`,
			`{"type": "result", "status": "success", "stats": {"input_tokens": 100, ` +
				`"output_tokens": 20, "cached": 20}}`,
		}, agentcli.Reading{
			Text:  "done",
			Turns: 2,
			Ended: true,
			Tokens: formats.Tokens{
				Input:  100,
				Cached: 20,
				Output: 20,
			},
		}},
		{
			"a refused tool is one that failed as denied",
			"copilot",
			agentcli.Ending{Private: used},
			[]string{
				`{"type": "tool.execution_start", "data": {"toolCallId": "a", ` +
					`"toolName": "create", "arguments": {"path": "x"}}}`,
				`{"type": "tool.execution_start", "data": {"toolCallId": "b", "toolName": "view"}}`,
				`{"type": "tool.execution_complete", "data": {"toolCallId": "b", ` +
					`"success": false, "error": {"code": "failure"}}}`,
				`{"type": "tool.execution_complete", "data": {"toolCallId": "a", ` +
					`"success": false, "error": {"code": "denied"}}}`,
				`{"type": "assistant.message", "data": {"model": "m1", "content": "soon", ` +
					`"toolRequests": [{}]}}`,
				`{"type": "assistant.message", "data": {"model": "m1", "content": "done", ` +
					`"toolRequests": []}}`,
				`{"type": "result", "exitCode": 0}`,
			},
			agentcli.Reading{
				Text:   "done",
				Model:  "m1",
				Turns:  2,
				Ended:  true,
				Denied: []string{"create"},
				Tokens: formats.Tokens{
					Input:  230,
					Cached: 40,
					Output: 45,
				},
			},
		},
		{
			"a request that is made again",
			"copilot",
			agentcli.Ending{},
			[]string{
				`{"type": "model.call_failure", "data": {"statusCode": 429, ` +
					`"failureKind": "api", "errorMessage": "{\"message\": \"slow down\"}"}}`,
				`{"type": "assistant.turn_retry", "data": {"reason": "rate_limit"}}`,
			},
			agentcli.Reading{
				Again: true,
				Fault: &agentcli.Fault{Status: 429, Message: "slow down"},
			},
		},
		{
			"an answer that is cut off",
			"copilot",
			agentcli.Ending{},
			[]string{
				`{"type": "model.call_failure", "data": {"failureKind": "transport", ` +
					`"errorMessage": "\"Failed to parse\""}}`,
				`{"type": "assistant.turn_retry", "data": {}}`,
			},
			agentcli.Reading{
				Again: true,
				Fault: &agentcli.Fault{Kind: "connection", Message: "Failed to parse"},
			},
		},
		{"an error of the session", "copilot", agentcli.Ending{Exit: 1}, []string{
			`{"type": "session.error", "data": {"errorType": "query", "message": "400 no", ` +
				`"statusCode": 400}}`,
			`{"type": "result", "exitCode": 1}`,
		}, agentcli.Reading{Fault: &agentcli.Fault{
			Status:  400,
			Kind:    "query",
			Message: "400 no",
		}}},
		{"an error that it went on after", "copilot", agentcli.Ending{}, []string{
			`{"type": "session.error", "data": {"errorType": "query", "message": "no"}}`,
			`{"type": "assistant.message", "data": {"content": "done"}}`,
			`{"type": "result", "exitCode": 0}`,
		}, agentcli.Reading{
			Text:  "done",
			Turns: 1,
			Ended: true,
		}},
		{
			"nobody is logged in",
			"copilot",
			agentcli.Ending{
				Exit:   1,
				Stderr: []byte("Error: No authentication information found.\n\nCopilot can be\n"),
			},
			nil,
			agentcli.Reading{
				Fault: &agentcli.Fault{
					Kind:    "error",
					Message: "Error: No authentication information found.",
				},
			},
		},
	}

	for _, tt := range tests {
		t.Run(tt.driver+"/"+tt.name, func(t *testing.T) {
			t.Parallel()

			got := read(t, tt.driver, tt.end, tt.lines...)
			if d := cmp.Diff(tt.want, got, cmpopts.IgnoreUnexported(agentcli.Reading{})); d != "" {
				t.Errorf("reading (-want +got)\n%s", d)
			}
		})
	}
}

func TestGrantsReachTheProgram(t *testing.T) {
	t.Parallel()

	call := agentcli.Call{
		Dir:     "/p",
		Root:    "/p",
		Out:     "/p/.tercet/runs/r/s/out",
		Return:  "/p/.tercet/runs/r/s/call-1/return.json",
		Private: "/p/.tercet/runs/r/s/call-1",
		Model:   "best",
		Lookup:  func(string) string { return "" },
	}

	all := func(d agentcli.Driver, c agentcli.Call) string {
		words := d.Argv(c)
		if d.Env != nil {
			words = append(words, d.Env(c)...)
		}
		if d.Files != nil {
			for _, text := range d.Files(c) {
				words = append(words, string(text))
			}
		}
		slices.Sort(words)
		return strings.Join(words, "\n")
	}

	for _, d := range agentcli.Drivers() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			if !slices.Contains(d.Argv(call), "best") {
				t.Errorf("argv = %q, want the model", d.Argv(call))
			}

			none := all(d, call)
			for _, g := range []agentcli.Grant{{Write: true}, {Shell: true}, {Net: true}} {
				with := call
				with.Grant = g
				if d.Name == "codex" && g.Shell {
					continue // it always has a shell; its sandbox holds it
				}
				if all(d, with) == none {
					t.Errorf("grant %+v changes nothing", g)
				}
			}

			if !strings.Contains(none, call.Out) {
				t.Errorf("the folder for documents is not granted:\n%s", none)
			}
		})
	}
}

// TestPartsOfTheShell: a program that can be held to some commands is told exactly these.
func TestPartsOfTheShell(t *testing.T) {
	t.Parallel()

	call := agentcli.Call{
		Dir:     "/p",
		Root:    "/p",
		Out:     "/p/out",
		Return:  "/c/return.json",
		Private: "/c",
		Lookup:  func(string) string { return "" },
		Grant:   agentcli.Grant{Shell: true, Commands: []string{"git diff *", `say "x"`}},
	}

	claude := strings.Join(agentcli.Claude().Argv(call), " ")
	if !strings.Contains(claude, `"Bash(git diff:*)","Bash(say \"x\")"]`) ||
		strings.Contains(claude, `"Bash"`) || !strings.Contains(claude, ",Bash") {
		t.Errorf("claude = %s, want Bash offered, and two commands allowed", claude)
	}

	opencode := strings.Join(agentcli.OpenCode().Env(call), " ")
	if !strings.Contains(
		opencode,
		`"bash":{"*":"deny","git diff *":"allow","git diff":"allow","say \"x\"":"allow"`,
	) {
		t.Errorf("opencode = %s, want two commands allowed", opencode)
	}

	for _, d := range agentcli.Drivers() {
		if want := d.Name == "claude" || d.Name == "opencode"; d.Parts != want {
			t.Errorf("%s can be held to some commands: %v, want %v", d.Name, d.Parts, want)
		}
	}
}

func TestCopilotTakesTheLoginAndNothingElse(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	put(
		t,
		filepath.Join(home, ".copilot/config.json"),
		"// managed\n// automatically\n"+
			`{"lastLoggedInUser": {"login": "me"}, "loggedInUsers": [1], `+
			`"copilotTokens": {"h": "t"}, "authTokens": {}, "trustedFolders": ["/"], `+
			`"hooks": {}, "installedPlugins": [1]}`,
	)
	put(
		t,
		filepath.Join(home, ".copilot/settings.json"),
		`{"model": "best", "hooks": {"sessionStart": []}, "trustedFolders": ["/"]}`,
	)

	call := agentcli.Call{
		Private: "/c",
		Lookup: func(name string) string {
			return map[string]string{"HOME": home}[name]
		},
	}

	files := agentcli.Copilot().Files(call)
	var login, own map[string]any
	err := json.Unmarshal(files["copilot/config.json"], &login)
	if err != nil || len(login) != 4 || login["copilotTokens"] == nil ||
		login["trustedFolders"] != nil {
		t.Errorf("config.json = %s, %v, want the login alone", files["copilot/config.json"], err)
	}
	err = json.Unmarshal(files["copilot/settings.json"], &own)
	if err != nil || own["model"] != "best" || own["hooks"] != nil ||
		own["disableAllHooks"] != true {
		t.Errorf("settings.json = %s, %v, want the model, and no hooks",
			files["copilot/settings.json"], err)
	}

	lookup := func(name string) string {
		return map[string]string{"HOME": home}[name]
	}
	got := agentcli.Copilot().LoggedIn(lookup)
	want := filepath.Join(home, ".copilot/config.json")
	if got != want {
		t.Errorf("LoggedIn() = %q, want %q", got, want)
	}

	call.Home = home
	if got := string(agentcli.Copilot().Files(call)["copilot/config.json"]); got != "{}" {
		t.Errorf("with a home of its own config.json = %s, want nothing", got)
	}

	call.Home = ""
	for _, text := range []string{"", "//", "// x\n[]", "null", "{"} {
		err := os.WriteFile(filepath.Join(home, ".copilot/config.json"), []byte(text), 0o600)
		if err != nil {
			t.Fatal(err)
		}

		if by := agentcli.Copilot().LoggedIn(lookup); by != "" {
			t.Errorf("with %q LoggedIn() = %q, want nobody", text, by)
		}
		if got := string(agentcli.Copilot().Files(call)["copilot/config.json"]); got != "{}" {
			t.Errorf("of %q config.json = %s, want nothing", text, got)
		}
	}

	call.Dir = "/a (b), [c]"
	call.Root = "/a (b), [c]"
	call.Out = "/out"
	call.Return = "/r"
	call.Grant.Write = true
	words := agentcli.Copilot().Argv(call)
	if !slices.Contains(words, "--allow-tool=write(/a ?b?? ?c?/**)") {
		t.Errorf("argv = %q, want a rule that it can read", words)
	}
}

func FuzzLine(f *testing.F) {
	for i, line := range []string{
		`{"type": "result", "usage": null}`, `{"type": "turn.completed"}`,
		`{"type": "text", "part": {"text": 3}}`, `{"type": "message", "role": "assistant"}`, "",
		"[]", `{"type": "tool.execution_start", "data": {"toolCallId": "a"}}`,
		`{"type": "assistant.turn_retry"}`,
	} {
		f.Add(i%5, []byte(line))
	}
	all := agentcli.Drivers()
	f.Fuzz(func(t *testing.T, at int, line []byte) {
		d := all[(at%len(all)+len(all))%len(all)]
		var r agentcli.Reading
		d.Line(&r, line)
		if !json.Valid(line) &&
			!cmp.Equal(r, agentcli.Reading{}, cmpopts.IgnoreUnexported(agentcli.Reading{})) {
			t.Errorf("%s took %q for an event: %+v", d.Name, line, r)
		}
	})
}

// TestDriverNames: files and configuration know the runners that there are, in the order of auto.
func TestDriverNames(t *testing.T) {
	t.Parallel()
	if d := cmp.Diff(formats.AgentCLIs(), agentcli.Names()); d != "" {
		t.Errorf("the names of the drivers (-formats +drivers):\n%s", d)
	}
}
