package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tercet/frontends/mcp"
	"tercet/internal/proc"
	"tercet/project"
	"tercet/state"
)

// eras are the revisions that a client may speak: the last with a handshake, and the first without.
var eras = []string{"2025-11-25", "2026-07-28"}

// home is a user with a project.
type home struct {
	dir  string // of the project
	user string // the user's own folder
}

// clock is the time of the machine.
type clock struct{}

func (clock) Now() time.Time { return time.Now() }

func (clock) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// newHome makes a workspace with these files in a repository.
func newHome(t *testing.T, files map[string]string) *home {
	t.Helper()

	h := &home{dir: t.TempDir(), user: t.TempDir()}
	host := h.host(project.Unattended{})
	_, err := host.Init(
		t.Context(), h.dir, project.Settings{}, state.InitOptions{NextNumber: 1}, false,
	)
	if err != nil {
		t.Fatal(err)
	}

	for name, text := range files {
		h.write(t, filepath.Join(h.dir, name), text)
	}

	for _, args := range [][]string{
		{"init", "-q"},
		{"add", "-A"},
		{
			"-c", "user.name=n", "-c", "user.email=e@example.org", "commit", "-q",
			"--allow-empty", "-m", "first",
		},
	} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = h.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}

	t.Cleanup(func() { h.ended(t) })
	return h
}

// write writes a file of the user.
func (h *home) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// host is that of a process of this user.
func (h *home) host(f project.Frontend) project.Host {
	return hostOf(f, func(name string) string {
		switch name {
		case "HOME":
			return h.user
		case "PATH":
			return os.Getenv(name)
		case "TERCET_TRUST":
			return "1" // the test wrote the project
		}
		return ""
	})
}

// runWord makes this program the process of a run.
const runWord = "__run"

// hostOf is the host of a process with these variables.
func hostOf(f project.Frontend, env func(string) string) project.Host {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}

	return project.Host{
		Frontend:    f,
		Clock:       clock{},
		Version:     "test",
		User:        "somebody",
		Session:     project.NewSessionID(time.Now()),
		CommandLine: "a test",
		Detached:    []string{self, runWord},
		Env:         env,
		LookupEnv:   os.LookupEnv,
		Environ: func() []string {
			return []string{
				"HOME=" + env("HOME"), "PATH=" + env("PATH"), "TERCET_TRUST=" + env("TERCET_TRUST"),
			}
		},
		AbortContext: context.Background,
		Agreed:       map[string]bool{},
	}
}

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == runWord {
		_, err := project.RunDetached(
			context.Background(),
			hostOf(project.Unattended{}, os.Getenv),
			project.Process{In: os.Stdin, Out: os.Stdout, PrintTo: proc.RedirectOutput},
		)
		if err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// server serves the project.
func (h *home) server() *mcp.Server {
	return mcp.New(mcp.Config{
		Version: "test",
		Open: func(ctx context.Context, f project.Frontend) (*project.Project, error) {
			return project.Open(ctx, h.dir, true, h.host(f))
		},
	})
}

// ended waits until no process works on a run of the project any more.
func (h *home) ended(t *testing.T) {
	t.Helper()

	ctx := context.WithoutCancel(t.Context())
	p, err := project.Open(ctx, h.dir, true, h.host(project.Unattended{}))
	if err != nil {
		t.Error(err)
		return
	}

	list, err := p.Runs(project.Filter{})
	for _, r := range list {
		_, waitErr := p.Wait(ctx, r.ID, nil)
		err = errors.Join(err, waitErr)
	}

	if err := errors.Join(err, p.Close(ctx)); err != nil {
		t.Error(err)
	}
}

// client is a client of a server over a pair of streams.
type client struct {
	*sdk.ClientSession

	t *testing.T
}

// connect connects a client that speaks one era.
func (h *home) connect(t *testing.T, era string, o *sdk.ClientOptions) *client {
	t.Helper()
	return connectTo(t, h.server(), era, o)
}

// connectTo connects a client to a server.
func connectTo(t *testing.T, server *mcp.Server, era string, o *sdk.ClientOptions) *client {
	t.Helper()

	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- server.Serve(context.WithoutCancel(t.Context()), in, out) }()

	cs, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o).Connect(
		t.Context(),
		&sdk.IOTransport{Reader: fromServer, Writer: toServer},
		&sdk.ClientSessionOptions{ProtocolVersion: era},
	)
	if err != nil {
		t.Fatal(err)
	}

	if got := cs.InitializeResult().ProtocolVersion; got != era {
		t.Fatalf("the session speaks %s, want %s", got, era)
	}

	t.Cleanup(func() {
		_ = cs.Close()
		if err := <-served; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})

	return &client{cs, t}
}

// answer is what a tool answered.
type answer struct {
	Failed bool
	fields map[string]any
}

// of gives a member of an answer, by its path.
func (a answer) of(path ...string) any {
	var v any = a.fields
	for _, name := range path {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

// code is the code of a call that failed.
func (a answer) code() any {
	list, _ := a.of("errors").([]any)
	if len(list) == 0 {
		return nil
	}
	one, _ := list[0].(map[string]any)
	return one["code"]
}

// call calls a tool.
func (c *client) call(name string, args map[string]any) answer {
	c.t.Helper()
	r, err := c.CallTool(c.t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		c.t.Fatalf("%s %v: %v", name, args, err)
	}
	return c.read(name, r)
}

// read reads the result of a call: the text is the same object as the structured content.
func (c *client) read(name string, r *sdk.CallToolResult) answer {
	c.t.Helper()

	a := answer{Failed: r.IsError}

	text, ok := r.Content[0].(*sdk.TextContent)
	if !ok || len(r.Content) != 1 {
		c.t.Fatalf("%s: content %v, want one text", name, r.Content)
	}

	if err := json.Unmarshal([]byte(text.Text), &a.fields); err != nil {
		if !r.IsError {
			c.t.Fatalf("%s: %v\n%s", name, err, text.Text)
		}
		a.fields = map[string]any{"summary": text.Text}
	}

	return a
}

// follow waits until a run is in a state.
func (c *client) follow(run, state string) answer {
	c.t.Helper()
	for {
		a := c.call("show", map[string]any{"run": run, "wait": 50})
		if a.of("state") == state {
			return a
		}
		if a.Failed || a.of("state") == "finished" {
			c.t.Fatalf("run %s = %v, want it %s", run, a.fields, state)
		}
	}
}

// TestStartAndFollow: a client of either era lists the commands, starts one and follows it to its
// end.
func TestStartAndFollow(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()

			h := newHome(t, nil)
			c := h.connect(t, era, nil)

			list, _ := c.call("commands", nil).of("commands").([]any)
			if !slices.ContainsFunc(list, func(one any) bool {
				command, _ := one.(map[string]any)
				schema, _ := command["arguments_schema"].(map[string]any)
				required, _ := schema["required"].([]any)
				return command["name"] == "plan" && command["description"] != "" &&
					slices.Contains(required, any("task_number"))
			}) {
				t.Errorf("commands = %v, want plan among them, with the schema of its arguments",
					list)
			}

			for _, line := range []string{"/task Fix the parser", "/plan 1"} {
				begun := c.call("run", map[string]any{"line": line})
				run, _ := begun.of("run").(string)
				if begun.Failed || run == "" || begun.of("next") == "" {
					t.Fatalf("run %q = %v, want a run and what to call next", line, begun.fields)
				}

				over := c.follow(run, "finished")
				if over.of("status") != "completed" || over.of("command") != line {
					t.Errorf("%s = %v, want it completed", line, over.fields)
				}
			}
		})
	}
}

// TestCapabilities: the server says what it has, and nothing else.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	for _, era := range eras {
		have := h.connect(t, era, nil).InitializeResult()
		caps := have.Capabilities
		//nolint:staticcheck // that a deprecated one is not announced
		if caps.Logging != nil || caps.Completions != nil || caps.Tools == nil ||
			caps.Tools.ListChanged {
			t.Errorf("%s: capabilities = %+v, want tools without notices", era, caps)
		}
		if have.Instructions == "" {
			t.Errorf("%s: no instructions", era)
		}
	}
}
