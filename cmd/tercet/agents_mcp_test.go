package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tercet/internal/testkit/modelserver"
	"tercet/templates/shims"
)

// TestAgentsOverMCP: a real agent CLI lists the commands of tercet by the Model Context Protocol,
// starts one, waits for it and meets its question. No form is accepted, so a person answers; or the
// user allows answers through clients, and a hook gives one.
func TestAgentsOverMCP(t *testing.T) {
	t.Parallel()
	if *agentsFlag == "" {
		t.Skip("no -agents: agents.sh installs them and runs this")
	}
	bin := tercetIn(t)
	for name := range strings.SplitSeq(*agentsFlag, ",") {
		if overMCP[name] == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPerson(t, name, bin, mcpCaller)
			p.offersMCP(t)

			if name == "claude" {
				p.loadsPlugin(t)
			}
			said := p.overMCP(t, "start /ship")
			run := regexp.MustCompile(`asks in run (r\w+)`).FindStringSubmatch(said)
			if run == nil {
				t.Fatalf("the agent says %s\nwant the question of a run", said)
			}
			if !strings.Contains(said, "answered: false") {
				t.Errorf("the agent says %s\nwant the question left to a person", said)
			}
			p.run(t, "approve", run[1])
			said = p.overMCP(t, "follow "+run[1])
			if !strings.Contains(said, "came to completed") {
				t.Errorf("the agent says %s\nwant the end of the run", said)
			}

			write := func(file, text string) {
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				put(t, file, text)
			}
			write(filepath.Join(p.home(), ".config/tercet/config.yaml"), "mcp: {answers: true}\n")
			said = p.overMCP(t, "start /ship")
			run = regexp.MustCompile(`in run (r\w+)`).FindStringSubmatch(said)
			if run == nil || !strings.Contains(said, "answered: false") {
				t.Fatalf("the agent says %s\nwant a form that nobody filled in", said)
			}
			p.run(t, "cancel", run[1])
			if name != "claude" {
				return // the others have no hook that answers forms
			}
			write(filepath.Join(p.dir, ".claude/settings.json"), acceptingHook)
			if said := p.overMCP(t, "start /ship"); !strings.Contains(said, "answered: true") ||
				!strings.Contains(said, "came to completed") {
				t.Errorf("the agent says %s\nwant the answer of the hook taken", said)
			}
		})
	}
}

// acceptingHook has Claude Code accept every form without showing it.
const acceptingHook = `{"hooks": {"Elicitation": [{"hooks": [{"type": "command", "command":
"echo '{\"hookSpecificOutput\": {\"hookEventName\": \"Elicitation\", \"action\": \"accept\", \"content\": {\"choice\": \"approve\"}}}'"
}]}]}}
`

// overMCP are the words by which a user tells an agent CLI something, which has tercet as its MCP
// server.
var overMCP = map[string][]string{
	"claude": {
		"claude", "--output-format", "json", "--mcp-config", "mcp.json", "--strict-mcp-config",
		"--allowedTools", "mcp__tercet", "-p",
	},
	"codex": {
		"codex", "exec", "--json", "--skip-git-repo-check",
		"--dangerously-bypass-approvals-and-sandbox",
	},
}

// offersMCP gives the agent CLI the MCP server of tercet, and the project a command that asks.
func (p *person) offersMCP(t *testing.T) {
	t.Helper()
	put(t, filepath.Join(p.dir, "mcp.json"),
		`{"mcpServers": {"tercet": {"command": "tercet", "args": ["mcp"]}}}`)
	put(t, filepath.Join(p.dir, ".tercet/commands/ship.md"), `---
command: ship
description: Ship it
---

## Workflow Execution

### Step 1: Ask

`+"```yaml step"+`
id: go
gate: Ship it?
choices: {approve: next, reject: fail}
`+"```"+`

### Step 2: Say so

`+"```yaml step"+`
return: "shipped: ${{ $steps.go.choice }}"
`+"```"+`
`)
	config := filepath.Join(p.home(), ".codex/config.toml")
	put(t, config, read(t, config)+"\n[mcp_servers.tercet]\ncommand = \""+p.bin+
		"/tercet\"\nargs = [\"mcp\"]\nenv = {TERCET_TRUST = \"1\", HOME = \""+p.home()+"\"}\n")
}

// loadsPlugin has Claude Code check and load the plugin that tercet exports: a command of it starts
// the run.
func (p *person) loadsPlugin(t *testing.T) {
	t.Helper()
	p.run(t, "export", "--for", shims.Plugin, "plugin")

	said := p.says(t, "claude", "plugin", "validate", "plugin")
	if !strings.Contains(said, "Validation passed") {
		t.Errorf("claude plugin validate says %s", said)
	}

	said = p.says(t, "claude", "--output-format", "json", "--plugin-dir", "plugin", "-p",
		"/tercet:ship")

	run := regexp.MustCompile(`asks in run (r\w+)`).FindStringSubmatch(said)
	if run == nil {
		t.Fatalf("with the plugin the agent says %s\nwant the question of a run", said)
	}

	p.run(t, "cancel", run[1])
}

// home is the user's own folder.
func (p *person) home() string {
	for _, v := range p.env {
		if home, ok := strings.CutPrefix(v, "HOME="); ok {
			return home
		}
	}
	return ""
}

// overMCP tells the agent CLI something and gives what that prints.
func (p *person) overMCP(t *testing.T, text string) string {
	t.Helper()
	return p.says(t, append(slices.Clone(overMCP[p.name]), text)...)
}

// says runs an agent CLI, found by the PATH of the person, and gives what it prints.
func (p *person) says(t *testing.T, words ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()

	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", `exec "$0" "$@"`}, words...)...)
	cmd.Dir = p.dir
	cmd.Env = append(p.env, "IS_SANDBOX=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"ENABLE_TOOL_SEARCH=false") // all tools are offered at once

	var stderr strings.Builder
	cmd.Stderr = &stderr

	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s = %v\n%s\n%s", strings.Join(words, " "), err, out, stderr.String())
	}
	return string(out)
}

// maxCalls is how many calls of tools are enough for everything that a user says here.
const maxCalls = 8

// mcpCaller is a model that does what the user says by the tools of tercet.
func mcpCaller(t modelserver.Turn) modelserver.Reply {
	tool := func(name, key string, value any) modelserver.Reply {
		for _, one := range t.Tools {
			if strings.HasSuffix(one, "__"+name) || strings.HasSuffix(one, "::"+name) {
				args := map[string]any{}
				if key != "" {
					args[key] = value
				}
				if name == "show" {
					args["wait"] = 50
				}
				return modelserver.Reply{Calls: []modelserver.Call{{Tool: one, Args: args}}}
			}
		}
		return modelserver.Reply{Text: fmt.Sprintf("no tool %s in %q", name, t.Tools)}
	}

	last := ""
	if t.Results > 0 {
		last = t.Outputs[t.Results-1]
	}

	member := func(name string) string {
		m := regexp.MustCompile(`\\*"` + name + `\\*": ?(?:\\*")?(\w+)`).FindStringSubmatch(last)
		if m == nil {
			return ""
		}
		return m[1]
	}

	plugin := strings.Contains(t.Prompt, "of the MCP server `tercet` with this line")
	follow := regexp.MustCompile(`follow (r\w+)`).FindStringSubmatch(t.Prompt)

	switch {
	case follow != nil && t.Results == 0:
		return tool("show", "run", follow[1])
	case plugin && t.Results == 0:
		return tool("run", "line", "/ship")
	case follow == nil && !plugin && !strings.Contains(t.Prompt, "start /ship"):
		return modelserver.Reply{Text: "a title"}
	case t.Results == 0:
		return tool("commands", "", nil)
	case t.Results == 1 && follow == nil && !plugin && strings.Contains(last, "Ship it"):
		return tool("run", "line", "/ship")
	case t.Results > maxCalls:
		return modelserver.Reply{Text: fmt.Sprintf("lost in %q", t.Outputs)}
	case member("answered") == "false":
		return modelserver.Reply{Text: "it asks in run " + member("run") + ", answered: false"}
	case member("answered") == "true":
		return tool("show", "run", member("run"))
	case member("state") == "asking":
		return tool("answer", "run", member("run"))
	case member("state") == "finished":
		answered := strings.Contains(strings.Join(t.Outputs, ""), "answered")
		return modelserver.Reply{
			Text: fmt.Sprintf("answered: %t, it came to %s", answered, member("status")),
		}
	case member("run") != "":
		return tool("show", "run", member("run"))
	}
	return modelserver.Reply{Text: fmt.Sprintf("lost after %q", last)}
}
