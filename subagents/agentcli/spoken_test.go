package agentcli_test

import (
	"fmt"
	"strings"
	"testing"

	"tercet/subagents/agentcli"
)

// TestTranscript: the events of each agent CLI as text, without what surrounds the work.
func TestTranscript(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ output, want string }{
		"claude": {
			`{"type":"system","subtype":"init","model":"m"}
{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm"},` +
				`{"type":"text","text":"I look."},` +
				`{"type":"tool_use","name":"Read","input":{"file_path":"a.go","limit":3}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","content":[{"type":"text",` +
				`"text":"package a"}]}]}}
{"type":"result","subtype":"success","result":"I look."}`,
			"thinks: hm|says: I look.|uses Read: file_path: a.go\nlimit: 3|gets: package a",
		},
		"claude fails": {
			`{"type":"result","is_error":true,"result":"no credit"}`, "fails: no credit",
		},
		"codex": {
			`{"type":"item.started","item":{"type":"command_execution","command":"ls"}}
{"type":"item.completed","item":{"type":"command_execution","command":"ls",` +
				`"aggregated_output":"a.go\n"}}
{"type":"item.completed","item":{"type":"agent_message","text":"Done."}}
{"type":"turn.failed","error":{"message":"cut"}}`,
			"uses shell: ls|gets: a.go\n|says: Done.|fails: message: cut",
		},
		"opencode": {
			`{"type":"text","part":{"text":"Hello"}}
{"type":"tool_use","part":{"tool":"bash","state":{"input":{"command":"ls"},"output":"a"}}}`,
			"says: Hello|uses bash: command: ls|gets: a",
		},
		"gemini": {
			`{"type":"message","role":"user","content":"prompt"}
{"type":"message","role":"assistant","content":"He","delta":true}
{"type":"message","role":"assistant","content":"llo","delta":true}
{"type":"tool_use","tool_name":"ls","parameters":{"path":"."}}
{"type":"tool_result","status":"error","error":{"message":"denied"}}`,
			"says: Hello|uses ls: path: .|fails: denied",
		},
		"copilot": {
			`{"type":"assistant.message","data":{"content":"Hi"}}
{"type":"tool.execution_start","data":{"toolName":"view","arguments":{"path":"a"}}}
{"type":"tool.execution_complete","data":{"result":{"content":"text"}}}`,
			"says: Hi|uses view: path: a|gets: text",
		},
		"acp": {
			`{"jsonrpc":"2.0","id":1,"result":{}}
{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":` +
				`"agent_message_chunk","content":{"type":"text","text":"a "}}}}
{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":` +
				`"agent_message_chunk","content":{"type":"text","text":"b"}}}}
{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"tool_call",` +
				`"title":"Edit","rawInput":{"path":"x"}}}}`,
			"says: a b|uses Edit: path: x",
		},
		"a program": {"begun\n{broken\n", "prints: begun\n{broken"},
		"odd values": {
			`{"type":"assistant","message":{"content":[1,{"type":"tool_use","input":[1,null]}]}}
[1,2]
{"type":"assistant","message":7}`,
			"uses : 1\n|prints: [1,2]",
		},
	} {
		var got []string
		for _, s := range agentcli.Transcript([]byte(tt.output)) {
			words := string(s.Kind)
			if s.Kind == agentcli.Uses {
				words += " " + s.Tool
			}
			got = append(got, fmt.Sprintf("%s: %s", words, s.Text))
		}
		if text := strings.Join(got, "|"); text != tt.want {
			t.Errorf("%s is %q, want %q", name, text, tt.want)
		}
	}
}
