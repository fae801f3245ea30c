package agentcli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/coder/acp-go-sdk"

	"tercet/formats"
	"tercet/internal/proc"
)

// The names of runners that are not agent CLIs.
const (
	RunnerACP     = "acp"     // agents of the Agent Client Protocol
	RunnerOffline = "offline" // no model
	RunnerAuto    = "auto"    // the first installed agent CLI
)

// acpLine is the connection to an agent: a message of JSON-RPC a line. It belongs to the goroutine
// that asks, which takes in and answers whatever the agent says while it waits. So an agent that
// prints faster than it is heard waits, and so does one that asks and does not read the answers.
// The connection of the SDK has goroutines for both, and gives up where they are flooded.
type acpLine struct {
	in    io.Reader
	out   io.WriteCloser
	lines lineReader
	// handle takes in what the agent tells, and answers what it asks.
	handle       func(acpMessage) (any, *acp.RequestError)
	asked        int         // requests of ours
	answer       *acpMessage // to the last of them, nil before
	closing      bool        // nothing more is wanted
	gotMessage   bool        // a message has come
	firstInvalid string      // the first line that is no message
}

type acpMessage struct {
	Version string            `json:"jsonrpc"`
	ID      json.RawMessage   `json:"id,omitempty"`
	Method  string            `json:"method,omitempty"`
	Params  json.RawMessage   `json:"params,omitempty"`
	Result  json.RawMessage   `json:"result,omitempty"`
	Error   *acp.RequestError `json:"error,omitempty"`
}

// toJSON encodes a value; the types of the protocol have no value that JSON cannot hold.
func toJSON(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return text
}

// send writes one message. That an agent does not listen any more shows by what it says, or that it
// says nothing.
func (l *acpLine) send(m acpMessage) {
	m.Version = "2.0"
	_, _ = l.out.Write(append(toJSON(m), '\n')) //nolint:errcheck // reason: see above
}

// ask sends a request, takes in what the agent says until it answers, and reads the answer. The
// error is io.EOF if it is gone or nothing more is wanted.
func (l *acpLine) ask(method string, params, answer any) error {
	l.asked = l.asked + 1
	l.answer = nil
	l.send(acpMessage{
		ID:     toJSON(l.asked),
		Method: method,
		Params: toJSON(params),
	})

	part := make([]byte, 32<<10)
	for l.answer == nil && !l.closing {
		n, err := l.in.Read(part)
		l.lines.take(part[:n])
		if err != nil {
			l.lines.end()
			break
		}
	}

	switch {
	case l.answer == nil || l.closing:
		return io.EOF
	case l.answer.Error != nil:
		return l.answer.Error
	}
	return json.Unmarshal(l.answer.Result, answer)
}

// handleLine handles one line of output: a message, or a complaint of the agent.
func (l *acpLine) handleLine(line []byte) bool {
	var m acpMessage
	if json.Unmarshal(line, &m) != nil ||
		m.Method == "" && (m.ID == nil || m.Result == nil && m.Error == nil) {
		l.firstInvalid = cmp.Or(l.firstInvalid, firstLine(string(line)))
		return true
	}

	l.gotMessage = true
	if m.Method == "" {
		if l.answer == nil && string(m.ID) == strconv.Itoa(l.asked) {
			l.answer = &m
		}
		return true
	}

	result, refused := l.handle(m)
	if m.ID != nil {
		reply := acpMessage{ID: m.ID, Error: refused}
		if refused == nil {
			reply.Result = toJSON(result)
		}
		l.send(reply)
	}
	return !l.closing
}

// kindProtocol is the kind of a fault of a program that does not speak the protocol as we do: it is
// no runner.
const kindProtocol = "protocol"

// judge notes a program that ended without a message of the protocol. One that ended with a failure
// has more to say of it.
func (l *acpLine) judge(r *Reading, res proc.Result) {
	if l.gotMessage || l.firstInvalid == "" && res.Exit != 0 {
		return
	}
	got := "nothing"
	if l.firstInvalid != "" {
		got = strconv.Quote(l.firstInvalid)
	}
	r.fault(Fault{
		Kind:    kindProtocol,
		Message: "expected an agent that speaks the Agent Client Protocol, got " + got,
	})
}

// talk is the whole conversation, in which what is heard is noted, a failure too. It returns when
// the agent has ended its turn, when a bound is passed, and when the agent is gone. One whose time
// is over is told so, and its input is closed.
func (c *acpClient) talk(text string) proc.Talk {
	return c.talkWith(func() error { return c.converse(text) })
}

// talkWith makes a conversation that calls do once the agent is connected.
func (c *acpClient) talkWith(do func() error) proc.Talk {
	return func(ctx context.Context, stdin io.WriteCloser, stdout io.Reader) error {
		c.in = stdout
		c.out = stdin
		c.handle = c.handleMessage
		c.lines.each = c.handleLine
		defer context.AfterFunc(ctx, c.leave)()
		if err := do(); err != nil && !errors.Is(err, io.EOF) {
			c.noteError(err)
		}
		c.reading.Text = string(c.text)
		if c.closing {
			c.leave()
		}
		return nil
	}
}

// leave ends the conversation before the agent has ended its turn. It may be called while another
// goroutine waits for the agent.
func (c *acpClient) leave() {
	if session := c.session.Load(); session != nil {
		c.send(acpMessage{
			Method: acp.AgentMethodSessionCancel,
			Params: toJSON(acp.CancelNotification{SessionId: *session}),
		})
	}
	_ = c.out.Close() //nolint:errcheck // reason: the agent is gone, or will see it
}

// initialize agrees on the version of the protocol.
func (c *acpClient) initialize() error {
	// and none of the capabilities of a client
	ask := acp.InitializeRequest{ProtocolVersion: acp.ProtocolVersionNumber}
	var hello acp.InitializeResponse
	if err := c.ask(acp.AgentMethodInitialize, ask, &hello); err != nil {
		return err
	}
	if hello.ProtocolVersion != acp.ProtocolVersionNumber {
		return formats.Fail(formats.CodeToolUnavailable,
			"",
			"expected version %d of the Agent Client Protocol, got %d", acp.ProtocolVersionNumber,
			hello.ProtocolVersion)
	}
	c.agent = &acp.Implementation{}
	if hello.AgentInfo != nil {
		c.agent = hello.AgentInfo
	}
	return nil
}

// converse opens a session, sets mode and model, sends the prompt, and waits for the end of the
// turn.
func (c *acpClient) converse(text string) error {
	if err := c.initialize(); err != nil {
		return err
	}
	open := acp.NewSessionRequest{Cwd: c.call.Dir, McpServers: []acp.McpServer{}}
	if c.speaker.Meta != nil {
		open.Meta = c.speaker.Meta(c.call)
	}
	var s acp.NewSessionResponse
	if err := c.ask(acp.AgentMethodSessionNew, open, &s); err != nil {
		return err
	}

	c.session.Store(&s.SessionId)
	c.fresh = true
	if s.Models != nil {
		c.reading.Model = string(s.Models.CurrentModelId)
	}
	if o := modelOption(s); o != nil {
		c.reading.Model = string(o.CurrentValue)
	}
	if m := s.Modes; m != nil && c.speaker.Mode != "" && string(m.CurrentModeId) != c.speaker.Mode {
		mode := acp.SetSessionModeRequest{
			SessionId: s.SessionId,
			ModeId:    acp.SessionModeId(c.speaker.Mode),
		}
		if err := c.ask(acp.AgentMethodSessionSetMode, mode, new(any)); err != nil {
			return err
		}
	}

	if s.Models == nil && modelOption(s) == nil {
		c.call.Model = "" // it offers no choice
	}
	if model := c.call.Model; model != "" {
		err := c.chooseModel(s, model)
		if errors.Is(err, io.EOF) {
			return err
		}
		if err != nil {
			message := fmt.Sprintf("invalid model %q: %s", model, acpError(err))
			return &formats.Failure{
				Code:    formats.CodeConfig,
				Message: message,
				Err:     err,
			}
		}
		c.reading.Model = model
	}

	prompt := acp.PromptRequest{
		SessionId: s.SessionId,
		Prompt:    []acp.ContentBlock{acp.TextBlock(text)},
	}
	var end acp.PromptResponse
	if err := c.ask(acp.AgentMethodSessionPrompt, prompt, &end); err != nil {
		return err
	}

	c.noteEnd(end)
	return nil
}

// chooseModel takes the way that the agent offers: an option of the session, or the older list of
// models.
func (c *acpClient) chooseModel(s acp.NewSessionResponse, model string) error {
	if o := modelOption(s); o != nil {
		return c.ask(acp.AgentMethodSessionSetConfigOption, acp.SetSessionConfigOptionRequest{
			ValueId: &acp.SetSessionConfigOptionValueId{
				SessionId: s.SessionId,
				ConfigId:  o.Id,
				Value:     acp.SessionConfigValueId(model),
			},
		}, new(any))
	}
	return c.ask(
		acp.AgentMethodSessionSetModel,
		acp.UnstableSetSessionModelRequest{
			SessionId: s.SessionId,
			ModelId:   acp.UnstableModelId(model),
		},
		new(any),
	)
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

// acpError is what an error of the protocol says, with the data that it carries.
func acpError(err error) string {
	broken, ok := errors.AsType[*acp.RequestError](err)
	switch {
	case !ok:
		return err.Error()
	case broken.Data == nil:
		return broken.Message
	}
	return broken.Message + " " + string(toJSON(broken.Data))
}
