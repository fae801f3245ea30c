package agentcli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/coder/acp-go-sdk"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/subagents"
	"tercet/subagents/prompt"
)

// RunnerACP is the word for the runner of programs that speak the Agent Client Protocol.
const RunnerACP = "acp"

// ACP is the Agent of one subagent file on a program that speaks the Agent Client Protocol on its standard input and
// output. It is given no file system and no terminal of ours, and what it asks leave for is answered by `tools`.
type ACP struct {
	Definition subagents.Definition
	// Runner is the word for the runner, RunnerACP if it is empty.
	Runner string
	// Speaker is the program. One without a program is a failure of the configuration.
	Speaker Speaker
	Starter *proc.Starter
	// Root is the project root. A program with a slash in its name is looked for there.
	Root string
	// Nonce makes the word that authenticates a return which comes as text. It must be set.
	Nonce func() string
	// IsolatedHome gives every call a home of its own.
	IsolatedHome bool
	// Mask takes secrets out of what is kept of the program's output, a line at a time; nil keeps it as it is.
	Mask func([]byte) []byte
	// Confine, if not nil, puts the program within bounds.
	Confine Confine
}

// Run does what RunMetered does.
func (a *ACP) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	ret, _, err := a.RunMetered(ctx, r)
	return ret, err
}

// RunMetered starts the program once, has one conversation with it, and reads what it returns and what it used.
func (a *ACP) RunMetered(ctx context.Context, r formats.Request) (formats.Return, subagents.Measured, error) {
	used := subagents.Measured{Runner: cmp.Or(a.Runner, RunnerACP)}
	switch {
	case a.Starter == nil:
		return formats.Return{}, used, &MissingError{What: "a starter of processes"}
	case a.Nonce == nil:
		return formats.Return{}, used, &MissingError{What: "a source of nonces"}
	case a.Root == "" || r.Out == "":
		return formats.Return{}, used, &MissingError{What: "a project root and a folder for documents"}
	case a.Speaker.Driver.Name == "":
		return formats.Failed(&formats.Failure{
			Code:    formats.CodeConfig,
			Message: "runner " + used.Runner + ": expected an agent of the Agent Client Protocol, got none",
			Help: "name one in config.yaml, such as `acp: " + SpeakerNames()[0] + "` or `acp: [program, argument]`, " +
				"or add argv: [program, argument] to " +
				a.Definition.File,
		}), used, nil
	}
	c := a.cli(used.Runner)
	used.Model = c.model()
	program := a.Speaker.Program(a.Root)
	_, err := a.Starter.Look(program)
	if _, missing := errors.AsType[*proc.NotFoundError](err); missing {
		return formats.Failed(c.failure(
			formats.CodeToolUnavailable, "runner "+used.Runner+": "+c.Driver.Name+" is not installed",
		)), used, nil
	}
	if err != nil {
		return formats.Return{}, used, err
	}
	b, err := newBox(r.Out)
	if err != nil {
		return formats.Return{}, used, err
	}
	ret, err := a.call(ctx, r, b, callee{cli: c, program: program, used: &used})
	return ret, used, errors.Join(err, b.close())
}

// callee is the program of one call.
type callee struct {
	cli     *CLI
	program string
	used    *subagents.Measured
}

// cli is this program as an agent CLI: bounds, environment and judgement are the same.
func (a *ACP) cli(runner string) *CLI {
	def := a.Definition
	model, ok := def.Model[runner]
	if !ok {
		model = def.Model[""]
	}
	def.Model = map[string]string{"": model}
	driver := a.Speaker.Driver
	driver.Name = filepath.Base(driver.Name)
	return &CLI{
		Driver: driver, Definition: def, Starter: a.Starter, Root: a.Root, Nonce: a.Nonce, IsolatedHome: a.IsolatedHome,
		Mask: a.Mask,
	}
}

// call starts the program, talks to it and judges how it ended.
func (a *ACP) call(ctx context.Context, r formats.Request, b *box, with callee) (ret formats.Return, err error) {
	c, used := with.cli, with.used
	nonce := a.Nonce()
	p := prompt.Compose(prompt.Input{
		Request: r, Info: a.Definition.Info, Channel: prompt.Channel{File: b.file, Nonce: nonce},
	})
	used.Prompt = p.SHA256
	call, env, err := c.prepare(r, b, nonce)
	if err != nil {
		return formats.Return{}, err
	}
	if err := c.writeFiles(call); err != nil {
		return formats.Return{}, err
	}
	if err := writeNew(b.dir+promptSuffix, []byte(c.masked(p.Text))); err != nil {
		return formats.Return{}, err
	}
	out, err := newTranscript(b.dir+"-stdout", a.Mask)
	if err != nil {
		return formats.Return{}, err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	lines := lineReader{each: func(line []byte) bool { out.line(line); return true }}
	bound := c.bounds(r)
	tooMuch := func(reading *Reading) formats.Failure { return c.over(bound, reading) }
	client := &acpClient{call: call, speaker: a.Speaker, over: tooMuch}
	program := proc.Command{
		Argv: append([]string{with.program}, a.Speaker.Driver.Argv(call)...), Dir: r.Dir, Env: env, Private: true,
		Purpose: proc.PurposeAgent,
		Timeout: proc.Timeout{Total: r.Timeout.Total, Idle: r.Timeout.Idle}, Watch: lines.take,
		Talk: func(ctx context.Context, stdin io.WriteCloser, stdout io.Reader) error {
			client.talk(ctx, stdin, stdout, p.Text)
			return nil
		},
	}
	install := faultHelp{c.Driver}.of(formats.CodeToolUnavailable)
	if a.Confine != nil {
		room := c.room(call)
		room.Asks = true
		if program, used.Sandbox, err = a.Confine(ctx, r, program, room); err != nil {
			return formats.Return{}, notRun(ctx, err, used.Runner, install)
		}
	}
	res, runErr := a.Starter.Run(ctx, program)
	lines.end()
	if keepErr := keepErrors(b.dir+"-stderr", res.Stderr, a.Mask); keepErr != nil {
		runErr = errors.Join(runErr, keepErr)
	}
	reading, over := client.end()
	c.measure(used, &reading)
	if runErr != nil {
		return formats.Return{}, notRun(ctx, runErr, used.Runner, install)
	}
	if reading.Ended && res.Stopped {
		// It did its turn and stayed when its input was closed: how it was ended says nothing of its work.
		res.Exit, res.Signal, res.Killed = 0, "", false
	}
	if !res.Killed {
		client.gate.judge(&reading, res)
	}
	return c.judge(r, ending{res: res, over: over, reading: &reading, box: b, nonce: nonce})
}

// talk has the whole conversation: what is heard is noted, a failure too. It returns when the agent has ended its turn,
// when a bound is passed, when ctx ends, and when the agent is gone.
func (c *acpClient) talk(ctx context.Context, stdin io.Writer, stdout io.Reader, text string) {
	c.connected(
		ctx, stdin, stdout,
		func(ctx context.Context, conn *acp.ClientSideConnection) error { return c.converse(ctx, conn, text) },
	)
}

// greet is a conversation in which the agent is asked who it is, and nothing else. It is a proc.Talk.
func (c *acpClient) greet(ctx context.Context, stdin io.WriteCloser, stdout io.Reader) error {
	c.connected(ctx, stdin, stdout, c.hello)
	return nil
}

func (c *acpClient) connected(
	ctx context.Context, stdin io.Writer, stdout io.Reader, do func(context.Context, *acp.ClientSideConnection) error,
) {
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
		return &versionError{Got: int(hello.ProtocolVersion)}
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
			return &modelError{Model: c.call.Model, Err: err}
		}
		c.chose(c.call.Model)
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

// versionError reports an agent that speaks another version of the protocol.
type versionError struct{ Got int }

// Error states both versions.
func (e *versionError) Error() string {
	return fmt.Sprintf("expected version %d of the Agent Client Protocol, got %d", acp.ProtocolVersionNumber, e.Got)
}

// modelError reports a model that the agent does not take.
type modelError struct {
	Model string
	Err   error // the cause
}

// Error states the model and the cause.
func (e *modelError) Error() string {
	return fmt.Sprintf("invalid model %q: %s", e.Model, acpMessage(e.Err))
}

// Unwrap gives the cause.
func (e *modelError) Unwrap() error { return e.Err }

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
