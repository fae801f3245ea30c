package agentcli_test

import (
	"bytes"
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"tercet/subagents/agentcli"
)

// FuzzACP lets an agent say anything between two answers that are right. Whatever it is, nothing
// panics, the conversation ends with the answer to the prompt or before it, and what is counted is
// not below zero.
func FuzzACP(f *testing.F) {
	update := func(text string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` +
			text + `}}`
	}
	for _, text := range []string{
		"",
		"Segmentation fault",
		"{}",
		"[]",
		"null",
		`{"id":1}`,
		`{"method":"x"}`,
		`{"jsonrpc":"2.0","id":3,"method":"fs/read_text_file","params":{}}`,
		update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}`),
		update(
			`{"sessionUpdate":"tool_call","toolCallId":"t","title":"x","kind":"edit",` +
				`"rawInput":{"path":"/etc/x"}}`,
		),
		update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"failed"}`),
		update(
			`{"sessionUpdate":"usage_update","size":1,"used":1,"cost":{"amount":-1,` +
				`"currency":"USD"}}`,
		),
		`{"jsonrpc":"2.0","id":{"a":1},"method":"session/request_permission",` +
			`"params":{"sessionId":"s","options":[{"optionId":"y","name":"Y",` +
			`"kind":"allow_once"}],"toolCall":{"toolCallId":"t"}}}`,
		`{"jsonrpc":"2.0","id":3,"result":7}`,
		`{"jsonrpc":"2.0","id":3,"error":{"code":"x"}}`,
		`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1e999999999,"method":"x"}`,
		`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"refusal"}}`,
	} {
		f.Add([]byte(text))
	}

	f.Fuzz(func(t *testing.T, said []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()

		out, agent := io.Pipe()
		asked := make(chan string, 8)

		go func() {
			for method := range asked {
				answer := map[string]string{
					"initialize":  `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`,
					"session/new": `{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}`,
					"session/prompt": string(said) + "\n" +
						`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`,
				}[method]
				if _, err := io.WriteString(agent, answer+"\n"); err != nil {
					return
				}
			}
		}()
		defer close(asked)

		in := &listener{asked: asked}
		r := agentcli.Talk(ctx, in, out, agentcli.Call{
			Dir:    "/nowhere",
			Root:   "/nowhere",
			Out:    "/nowhere/out",
			Return: "/nowhere/return.json",
		})

		if err := out.Close(); err != nil {
			t.Error(err)
		}

		if ctx.Err() != nil {
			t.Fatalf("the conversation did not end: %+v", r)
		}

		if r.Cost < 0 || r.Tokens.Input < 0 || r.Tokens.Output < 0 {
			t.Errorf("Talk = %+v, want nothing below zero", r)
		}
	})
}

// listener takes in what the agent is sent, and tells of what it is asked.
type listener struct {
	asked chan<- string

	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (l *listener) Write(p []byte) (int, error) {
	for _, method := range []string{"initialize", "session/new", "session/prompt"} {
		if bytes.Contains(p, []byte(`"method":"`+method+`"`)) {
			l.asked <- method
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *listener) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
