package agentcli_test

import (
	"slices"
	"testing"

	"tercet/subagents/agentcli"
)

// TestActionsFromEvents: what each program does with a tool is read from its own events.
func TestActionsFromEvents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		driver, line string
		want         agentcli.Act
	}{
		{
			"claude",
			`{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"x"},` +
				`{"type":"tool_use","name":"Edit","input":{"file_path":"/p/a.go"}}]}}`,
			agentcli.Act{
				Kind: "edit",
				Tool: "Edit",
				On:   "/p/a.go",
			},
		},
		{
			"claude",
			`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use",` +
				`"name":"Bash","input":{"command":"go test ./..."}}]}}`,
			agentcli.Act{
				Kind: "run",
				Tool: "Bash",
				On:   "go test ./...",
			},
		},
		{
			"claude",
			`{"type":"assistant","message":{"id":"m","content":"a mere text"}}`,
			agentcli.Act{},
		},
		{
			"claude",
			`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","name":7,` +
				`"input":[]},"x"]}}`,
			agentcli.Act{},
		},
		{
			"codex",
			`{"type":"item.started","item":{"type":"command_execution","command":"ls"}}`,
			agentcli.Act{
				Kind: "run",
				Tool: "command_execution",
				On:   "ls",
			},
		},
		{
			"codex",
			`{"type":"item.completed","item":{"type":"file_change","changes":[{"path":"a.go"}]}}`,
			agentcli.Act{
				Kind: "edit",
				Tool: "file_change",
				On:   "a.go",
			},
		},
		{
			"codex",
			`{"type":"item.completed","item":{"type":"agent_message","text":"edit"}}`,
			agentcli.Act{},
		},
		{
			"gemini",
			`{"type":"tool_use","tool_name":"run_shell_command","parameters":{"command":"make"}}`,
			agentcli.Act{
				Kind: "run",
				Tool: "run_shell_command",
				On:   "make",
			},
		},
		{
			"opencode",
			`{"type":"tool_use","part":{"tool":"grep","state":{"input":{"pattern":"x"}}}}`,
			agentcli.Act{
				Kind: "search",
				Tool: "grep",
				On:   "x",
			},
		},
		{
			"opencode",
			`{"type":"tool_use","part":{"tool":"webfetch","state":{"input":"odd"}}}`,
			agentcli.Act{Kind: "fetch", Tool: "webfetch"},
		},
	} {
		if r := read(t, c.driver, agentcli.Ending{}, c.line); r.Doing() != c.want {
			t.Errorf("%s: %s is %+v, want %+v", c.driver, c.line, r.Doing(), c.want)
		}
	}
}

// TestLastSentence: what an agent says is told by its last sentence, a text in parts when a
// sentence is over; what it thinks and gets is not.
func TestLastSentence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines []string
		want  []string
	}{
		"claude": {
			[]string{
				`{"type":"assistant","message":{"content":[{"type":"text",` +
					`"text":"First. I run the tests now."}]}}`,
				`{"type":"user","message":{"content":[{"type":"tool_result",` +
					`"content":"12 passed."}]}}`,
				`{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"Hm."}]}}`,
				`{"type":"assistant","message":{"content":[{"type":"text",` +
					`"text":"All of it\n\nThey pass"}]}}`,
			},
			[]string{"I run the tests now.", "They pass"},
		},
		"codex": {
			[]string{
				`{"type":"item.completed","item":{"type":"agent_message","text":"Done! 終わりました。"}}`,
			},
			[]string{"終わりました。"},
		},
		"gemini": {
			[]string{
				`{"type":"message","role":"assistant","content":"I rea","delta":true}`,
				`{"type":"message","role":"assistant","content":"d a file. Th","delta":true}`,
				`{"type":"message","role":"assistant","content":"en I stop.","delta":true}`,
			},
			[]string{"I read a file.", "Then I stop."},
		},
		"opencode": {
			[]string{`{"type":"text","part":{"text":"One. Two."}}`},
			[]string{"Two."},
		},
		"copilot": {
			[]string{`{"type":"assistant.message","data":{"content":"Said."}}`},
			[]string{"Said."},
		},
		"acp": {
			[]string{
				`{"jsonrpc":"2.0","method":"session/update",` +
					`"params":{"update":{"sessionUpdate":"agent_message_chunk",` +
					`"content":{"type":"text","text":"Hello the"}}}}`,
				`{"jsonrpc":"2.0","method":"session/update",` +
					`"params":{"update":{"sessionUpdate":"agent_message_chunk",` +
					`"content":{"type":"text","text":"re."}}}}`,
			},
			[]string{"Hello there."},
		},
	} {
		if got := agentcli.Said(c.lines...); !slices.Equal(got, c.want) {
			t.Errorf("%s: said %q, want %q", name, got, c.want)
		}
	}
}
