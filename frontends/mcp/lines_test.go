package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"
)

// TestLinesThatAreNoMessages: each is answered with an error that names its id, if it has one that
// an answer can name, and the session goes on.
func TestLinesThatAreNoMessages(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- h.server().Serve(context.WithoutCancel(t.Context()), in, out) }()
	answers := bufio.NewReader(fromServer)
	send := func(line string) map[string]any {
		t.Helper()
		if _, err := io.WriteString(toServer, line+"\n"); err != nil {
			t.Fatalf("%.60s: %v", line, err)
		}

		text, err := answers.ReadString('\n')
		if err != nil {
			t.Fatalf("%.60s: %v", line, err)
		}

		var got map[string]any
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("%.60s: the answer %q: %v", line, text, err)
		}

		return got
	}

	for _, tt := range []struct {
		line string
		id   any
		code float64
	}{
		{"npm warn deprecated", nil, -32700},
		{`{"jsonrpc":"2.0","id":1,`, nil, -32700},
		{strings.Repeat(`{"a":`, 20000), nil, -32700},
		{"\x00", nil, -32700},
		{"[]", nil, -32600},
		{"[1]", nil, -32600},
		{"null", nil, -32600},
		{`"x"`, nil, -32600},
		{"{}", nil, -32600},
		{`{"jsonrpc":"1.0","id":7,"method":"ping"}`, 7.0, -32600},
		{`{"jsonrpc":"2.0","id":7,"method":5}`, 7.0, -32600},
		{`{"jsonrpc":"2.0","id":"a"}`, "a", -32600},
		{`{"jsonrpc":"2.0","id":7,"error":5}`, 7.0, -32600},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, nil, -32600},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, nil, -32600},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, nil, -32600},
		{`{"jsonrpc":"2.0","id":1e400,"method":"ping"}`, nil, -32600},
		{`{"jsonrpc":"2.0","id":123456789012345678901,"method":"ping"}`, nil, -32600},
		{`{"jsonrpc":"2.0","id":9,"x":"` + strings.Repeat("x", 5<<20) + `"}`, nil, -32600},
	} {
		got := send(tt.line)
		fault, _ := got["error"].(map[string]any)
		if got["id"] != tt.id || fault["code"] != tt.code {
			t.Errorf("%.60s = %v, want id %v and code %v", tt.line, got, tt.id, tt.code)
		}
	}

	hello := send("\n" + `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{` +
		`"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x",` +
		`"version":"1"}}}`)
	if hello["result"] == nil {
		t.Errorf("initialize = %v, want a result", hello)
	}
	for _, id := range []string{"9007199254740991", "-3", `"` + strings.Repeat("x", 1000) + `"`} {
		got := send(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`)
		var want any
		if err := json.Unmarshal([]byte(id), &want); err != nil {
			t.Fatal(err)
		}
		if got["id"] != want || got["result"] == nil {
			t.Errorf("ping %.20s = %v, want a result", id, got)
		}
	}
	if err := toServer.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// TestInputThatEnds: a script sends all its requests and closes the pipe. It gets all answers. A
// batch is refused where the protocol has none, and does not end the session.
func TestInputThatEnds(t *testing.T) {
	t.Parallel()

	h := newHome(t, nil)
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{` +
		`"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

	lines := []string{hello, `{"jsonrpc":"2.0","method":"notifications/initialized"}`}
	for _, id := range []string{"2", `"three"`, "4.0"} {
		lines = append(lines, `{"jsonrpc":"2.0","id":`+id+
			`,"method":"tools/call","params":{"name":"commands","arguments":{}}}`)
	}

	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()

	served := make(chan error, 1)
	server := h.server()
	server.WaitForAnswers(time.Hour) // a slow machine is no failure
	go func() {
		served <- server.Serve(context.WithoutCancel(t.Context()), in, out)
		out.Close()
	}()

	answers := bufio.NewScanner(fromServer)
	answers.Buffer(nil, 1<<20)

	send := func(line string) {
		t.Helper()
		if _, err := io.WriteString(toServer, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}

	send(lines[0])
	if !answers.Scan() {
		t.Fatal("there is no answer to initialize")
	}

	batch := `[{"jsonrpc":"2.0","id":8,"method":"ping"},{"jsonrpc":"2.0","id":9,"method":"ping"}]`
	send(batch)
	if !answers.Scan() || !strings.Contains(answers.Text(), "-32600") ||
		!strings.Contains(answers.Text(), "2025-06-18 of the protocol has no batches") {
		t.Fatalf("a batch is answered with %q", answers.Text())
	}

	for _, line := range lines[1:] {
		send(line)
	}

	if err := toServer.Close(); err != nil {
		t.Fatal(err)
	}

	got := map[any]bool{}
	for answers.Scan() {
		var answer map[string]any
		if err := json.Unmarshal(answers.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		got[answer["id"]] = answer["result"] != nil
	}

	for _, id := range []any{2.0, "three", 4.0} {
		if !got[id] {
			t.Errorf("request %v has no result; the answers are %v", id, got)
		}
	}

	if err := <-served; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}
