package agentcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/coder/acp-go-sdk"

	"tercet/formats"
	"tercet/internal/proc"
)

// RunnerACP is the word for the runner of programs that speak the Agent Client Protocol.
const RunnerACP = "acp"

// talk is the whole conversation, in which what is heard is noted, a failure too. It returns when the agent has ended
// its turn, when a bound is passed, when ctx ends, and when the agent is gone.
func (c *acpClient) talk(text string) proc.Talk {
	return c.connected(func(ctx context.Context, conn *acp.ClientSideConnection) error {
		return c.converse(ctx, conn, text)
	})
}

// connected gives a conversation that does something once the agent is connected.
func (c *acpClient) connected(do func(context.Context, *acp.ClientSideConnection) error) proc.Talk {
	return func(ctx context.Context, stdin io.WriteCloser, stdout io.Reader) error {
		ctx, c.stop = context.WithCancel(ctx)
		defer c.stop()
		c.gate = newGate(stdin, stdout)
		defer c.gate.close()
		conn := acp.NewClientSideConnection(c, c.gate, c.gate)
		// What is no message is kept in the transcript; the SDK would print it.
		conn.SetLogger(slog.New(slog.DiscardHandler))
		c.gate.open()
		if err := do(ctx, conn); err != nil && ctx.Err() == nil {
			c.failed(err)
		}
		return nil
	}
}

// hello agrees on the version of the protocol.
func (c *acpClient) hello(ctx context.Context, conn *acp.ClientSideConnection) error {
	hello, err := conn.Initialize(ctx, acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber, // and none of the capabilities of a client
	})
	if err != nil {
		return err
	}
	if hello.ProtocolVersion != acp.ProtocolVersionNumber {
		return formats.Fail(formats.CodeToolUnavailable, "",
			"expected version %d of the Agent Client Protocol, got %d", acp.ProtocolVersionNumber, hello.ProtocolVersion)
	}
	c.locked(func() {
		c.greeted = true
		if hello.AgentInfo != nil {
			c.version = hello.AgentInfo.Version
		}
	})
	return nil
}

func (c *acpClient) converse(ctx context.Context, conn *acp.ClientSideConnection, text string) error {
	if err := c.hello(ctx, conn); err != nil {
		return err
	}
	ask := acp.NewSessionRequest{Cwd: c.call.Dir, McpServers: []acp.McpServer{}}
	if c.speaker.Meta != nil {
		ask.Meta = c.speaker.Meta(c.call)
	}
	session, err := conn.NewSession(ctx, ask)
	if err != nil {
		return err
	}
	c.opened(session)
	if m := session.Modes; m != nil && c.speaker.Mode != "" && string(m.CurrentModeId) != c.speaker.Mode {
		mode := acp.SetSessionModeRequest{SessionId: session.SessionId, ModeId: acp.SessionModeId(c.speaker.Mode)}
		if _, err := conn.SetSessionMode(ctx, mode); err != nil {
			return err
		}
	}
	if c.call.Model != "" {
		if err := chooseModel(ctx, conn, session, c.call.Model); err != nil {
			message := fmt.Sprintf("invalid model %q: %s", c.call.Model, acpMessage(err))
			return &formats.Failure{Code: formats.CodeConfig, Message: message, Err: err}
		}
		c.locked(func() { c.reading.Model = c.call.Model })
	}
	// A context that ends makes the SDK send session/cancel.
	end, err := conn.Prompt(
		ctx, acp.PromptRequest{SessionId: session.SessionId, Prompt: []acp.ContentBlock{acp.TextBlock(text)}},
	)
	if err != nil {
		return err
	}
	c.ended(end)
	return nil
}

// chooseModel takes the way that the agent offers: an option of the session, or the older list of models.
func chooseModel(ctx context.Context, conn *acp.ClientSideConnection, s acp.NewSessionResponse, model string) error {
	if o := modelOption(s); o != nil {
		_, err := conn.SetSessionConfigOption(ctx, acp.SetSessionConfigOptionRequest{
			ValueId: &acp.SetSessionConfigOptionValueId{
				SessionId: s.SessionId, ConfigId: o.Id, Value: acp.SessionConfigValueId(model),
			},
		})
		return err
	}
	_, err := conn.UnstableSetSessionModel(
		ctx, acp.UnstableSetSessionModelRequest{SessionId: s.SessionId, ModelId: acp.UnstableModelId(model)},
	)
	return err
}

// modelOption is the option of a session that names its model, nil without one.
func modelOption(s acp.NewSessionResponse) *acp.SessionConfigOptionSelect {
	for _, o := range s.ConfigOptions {
		if o.Select != nil && o.Select.Id == "model" {
			return o.Select
		}
	}
	return nil
}

// acpGone tells whether an error says only that the agent does not listen or talk any more: how it ended says the rest.
func acpGone(err error) bool {
	const internal = -32603
	broken, ok := errors.AsType[*acp.RequestError](err)
	if !ok || broken.Code != internal {
		return false
	}
	text := acpMessage(broken)
	return strings.Contains(text, "peer disconnected") || strings.Contains(text, "broken pipe") ||
		strings.Contains(text, "file already closed")
}

// acpMessage is what an error of the protocol says, with the data that it carries.
func acpMessage(err error) string {
	broken, ok := errors.AsType[*acp.RequestError](err)
	if !ok {
		return err.Error()
	}
	if broken.Data == nil {
		return broken.Message
	}
	data, err := json.Marshal(broken.Data)
	if err != nil {
		return broken.Message
	}
	return broken.Message + " " + string(data)
}
