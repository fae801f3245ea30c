package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// cmdMCP: [!] mcp ERA TOOL ARGUMENTS calls a tool of a new 'tercet mcp' as an agent does, in the
// revision ERA of the protocol; its answer is then in the file stdout.txt. @FILE has the arguments.
// With ! the tool must fail.
func cmdMCP(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: [!] mcp ERA TOOL ARGUMENTS")
	}

	input := args[2]
	if name, ok := strings.CutPrefix(input, "@"); ok {
		input = ts.ReadFile(name)
	}

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()

	cmd := exec.Command(lookPath(ts, "tercet"), "mcp")
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = environ(ts)
	cmd.Stderr = os.Stderr

	session, err := sdk.NewClient(&sdk.Implementation{Name: "script", Version: "1"}, nil).Connect(
		ctx,
		&sdk.CommandTransport{Command: cmd, TerminateDuration: time.Minute},
		&sdk.ClientSessionOptions{ProtocolVersion: args[0]},
	)
	ts.Check(err)
	defer session.Close()

	result, err := session.CallTool(
		ctx, &sdk.CallToolParams{Name: args[1], Arguments: json.RawMessage(input)},
	)
	ts.Check(err)

	text, ok := result.Content[0].(*sdk.TextContent)
	if !ok {
		ts.Fatalf("expected a text, got %T", result.Content[0])
	}

	ts.Logf("%s", text.Text)
	ts.Check(os.WriteFile(ts.MkAbs("stdout.txt"), []byte(text.Text), 0o644))

	if result.IsError != neg {
		ts.Fatalf("%s failed: %t, want %t", args[1], result.IsError, neg)
	}
}
