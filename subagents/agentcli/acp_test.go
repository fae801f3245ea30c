package agentcli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/internal/testkit"
	"tercet/subagents"
	"tercet/subagents/agentcli"
)

// acpAgent is a program that speaks the protocol, line by line, and misbehaves as its mode says.
type acpAgent struct {
	mode string
	in   *bufio.Scanner
	seen *os.File // methods that were heard
}

type acpMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
}

func fakeACP(mode string) int {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 8<<20)
	seen, err := os.OpenFile(
		filepath.Join(os.Getenv("TERCET_ROOT"), "heard"),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY,
		0o600,
	)
	if err != nil {
		return 96
	}

	a := &acpAgent{
		mode: mode,
		in:   in,
		seen: seen,
	}
	if mode == "acp-dies" {
		fmt.Fprintln(os.Stderr, "no such module")
		return 3
	}

	switch mode {
	case "acp-no-protocol":
		fmt.Println("usage: agent [-h]\n  -h  help")
		return 0
	case "acp-says-nothing":
		return 0
	}

	for {
		m, ok := a.hear()
		if !ok {
			return 0
		}
		if code := a.answer(m); code >= 0 {
			return code
		}
	}
}

func (a *acpAgent) hear() (acpMessage, bool) {
	var m acpMessage
	if !a.in.Scan() || json.Unmarshal(a.in.Bytes(), &m) != nil {
		fmt.Fprintln(a.seen, "end")
		return m, false
	}
	fmt.Fprintln(a.seen, m.Method)
	return m, true
}

func (a *acpAgent) reply(m acpMessage, result string) {
	fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n", m.ID, result)
}

func (a *acpAgent) fail(m acpMessage, code int, message string) {
	fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,\"message\":%q}}\n",
		m.ID, code, message)
}

func (a *acpAgent) update(update string) {
	fmt.Printf(
		"{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\","+
			"\"update\":%s}}\n",
		update,
	)
}

func (a *acpAgent) say(text string) {
	quoted, _ := json.Marshal(text)
	a.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":` +
		string(quoted) + `}}`)
}

// answer returns an exit code, or -1 to go on.
func (a *acpAgent) answer(m acpMessage) int {
	switch m.Method {
	case "initialize":
		switch {
		case a.mode == "acp-version":
			a.reply(m, `{"protocolVersion":2}`)
		case strings.Contains(string(m.Params), `"readTextFile":true`),
			strings.Contains(string(m.Params), `"writeTextFile":true`),
			strings.Contains(string(m.Params), `"terminal":true`):
			return 95
		default:
			a.reply(m, `{"protocolVersion":1,"agentCapabilities":{}}`)
		}
	case "session/new":
		switch a.mode {
		case "acp-login":
			a.fail(m, -32000, "Authentication required")
		case "acp-garbage-only":
			fmt.Println("Segmentation fault")
			return 0
		default:
			a.reply(m, `{"sessionId":"s","models":{"availableModels":[],"currentModelId":"m-acp"}}`)
		}
	case "session/set_model":
		if !strings.Contains(string(m.Params), `"best"`) {
			a.fail(m, -32602, "no")
			return -1
		}
		a.reply(m, `{}`)
	case "session/prompt":
		return a.prompt(m)
	case "session/cancel":
		if a.mode == "acp-stubborn" {
			select {}
		}
	}

	return -1
}

func (a *acpAgent) prompt(m acpMessage) int {
	text := string(m.Params)
	nonce := ""
	if strings.Contains(text, "n0nce") {
		nonce = "n0nce"
	}
	final := func(nonce string) {
		a.say("Here it is:\n```json\n{\"status\": \"completed\", \"summary\": \"did it\", ")
		a.say(`"nonce": "` + nonce + `"}` + "\n```\n")
	}
	tool := `{"sessionUpdate":"tool_call","toolCallId":"t1","title":"look","kind":"read",` +
		`"status":"pending"}`
	done := `{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"completed"}`
	end := func() { a.reply(m, `{"stopReason":"end_turn"}`) }
	switch a.mode {
	case "acp-text":
		a.say(
			"```json\n{\"status\": \"failed\", \"summary\": \"not the last\", \"nonce\": " +
				"\"n0nce\"}\n```\n",
		)
		a.update(tool)
		a.update(done)
		final(nonce)
		a.update(
			`{"sessionUpdate":"usage_update","size":100,"used":50,"cost":{"amount":0.25,` +
				`"currency":"USD"}}`,
		)
		a.reply(
			m,
			`{"stopReason":"end_turn","usage":{"inputTokens":100,"outputTokens":10,`+
				`"cachedReadTokens":20,"totalTokens":130}}`,
		)
	case "acp-wrong-nonce":
		final("other")
		end()
	case "acp-file":
		if err := os.WriteFile(os.Getenv("TERCET_RETURN"), []byte(good), 0o600); err != nil {
			return 94
		}
		a.say("it lies in the file")
		end()
	case "acp-file-dies":
		if err := os.WriteFile(os.Getenv("TERCET_RETURN"), []byte(good), 0o600); err != nil {
			return 94
		}
		return 4
	case "acp-garbage":
		fmt.Println("npm warn deprecated\n{\"half\": \n[]\n\n\x00\xff")
		a.update(`{"sessionUpdate":"no_such_thing"}`)
		final(nonce)
		end()
	case "acp-burst": // far more at once than the SDK lets wait
		for range 5000 {
			a.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}`)
		}
		final(nonce)
		end()
	case "acp-asks-much": // without reading an answer
		for i := range 800 {
			fmt.Printf(
				"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"fs/read_text_file\","+
					"\"params\":{\"sessionId\":\"s\",\"path\":\"/etc/passwd\"}}\n",
				1000+i,
			)
			if i%16 == 15 {
				for range 16 {
					a.in.Scan()
					if !strings.Contains(a.in.Text(), `"code":-32601`) {
						return 90
					}
				}
			}
		}
		final(nonce)
		end()
	case "acp-long":
		a.update(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"` +
			strings.Repeat("x", 12<<20) + `"}}`)
		final(nonce)
		end()
	case "acp-files": // asks for what was never offered
		for i, ask := range []string{
			`"fs/write_text_file","params":{"sessionId":"s","path":"/tmp/../etc/x","content":"x"}`,
			`"terminal/create","params":{"sessionId":"s","command":"id"}`,
			`"terminal/kill","params":{"sessionId":"s","terminalId":"t"}`,
			`"no/such/method","params":{}`, `"fs/read_text_file","params":null`,
		} {
			fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":\"f%d\",\"method\":%s}\n", i, ask)
			a.in.Scan()
			if !strings.Contains(a.in.Text(), `"error":`) {
				return 90
			}
		}
		final(nonce)
		end()
	case "acp-hang":
		// the protocol's own notice of a cancelled request may come first
		for told := false; !told && a.in.Scan(); {
			told = strings.Contains(a.in.Text(), "session/cancel")
			fmt.Fprintln(a.seen, "then:", told)
		}
	case "acp-survivor":
		pid, err := syscall.ForkExec(
			"/bin/sleep",
			[]string{"sleep", "300"},
			&syscall.ProcAttr{Env: os.Environ(), Sys: &syscall.SysProcAttr{Setsid: true}},
		)
		if err != nil {
			return 91
		}
		fmt.Fprintln(a.seen, "pid", pid)
		end()
	case "acp-stubborn":
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
		return -1 // never answered
	case "acp-error":
		a.fail(m, -32603, "Internal error: API Error: 400 bad request")
	case "acp-refusal":
		a.reply(m, `{"stopReason":"refusal"}`)
	case "acp-limit":
		a.update(
			`{"sessionUpdate":"usage_update","size":100,"used":50,"cost":{"amount":9,` +
				`"currency":"USD"}}`,
		)
	case "acp-stays":
		final(nonce)
		end()
		select {}
	case "acp-flood":
		line := `{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"` +
			strings.Repeat("x", 10<<20) + `"}}`
		for range 7 {
			a.update(line)
		}
	default:
		return a.ask(m)
	}

	return -1
}

// ask asks for leave to use a tool of the kind, and on the file, that the mode names: acp-ask KIND
// PATH.
func (a *acpAgent) ask(m acpMessage) int {
	words := strings.Fields(a.mode)
	if len(words) < 2 {
		return 93
	}

	at := "[]"
	if len(words) > 2 {
		at = `[{"path":"` + strings.NewReplacer(
			"ROOT",
			os.Getenv("TERCET_ROOT"),
			"OUT",
			os.Getenv("TERCET_OUT"),
		).Replace(words[2]) + `"}]`
	}
	if len(words) > 3 {
		n, err := strconv.Atoi(words[3])
		if err != nil {
			return 93
		}
		at = "[" + strings.TrimSuffix(strings.Repeat(at[1:len(at)-1]+",", n), ",") + "]"
	}
	options := `[{"optionId":"always","name":"Always","kind":"allow_always"},` +
		`{"optionId":"yes","name":"Yes","kind":"allow_once"},` +
		`{"optionId":"no","name":"No","kind":"reject_once"}]`
	if words[0] == "acp-always" {
		options = `[{"optionId":"always","name":"Always","kind":"allow_always"}]`
	}
	fmt.Printf(
		"{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"session/request_permission\","+
			"\"params\":{\"sessionId\":\"s\",\"options\":%s,"+
			"\"toolCall\":{\"toolCallId\":\"t1\",\"kind\":%q,\"locations\":%s}}}\n",
		options, words[1], at,
	)
	answer, ok := a.hear()
	if !ok {
		return 92
	}

	a.say("```json\n{\"status\": \"completed\", \"summary\": " +
		fmt.Sprintf("%q", outcome(answer)) + ", \"nonce\": \"n0nce\"}\n```")
	a.reply(m, `{"stopReason":"end_turn"}`)
	return -1
}

func outcome(m acpMessage) string {
	var r struct {
		Outcome struct {
			Outcome  string `json:"outcome"`
			OptionID string `json:"optionId"`
		} `json:"outcome"`
	}
	if json.Unmarshal(m.Result, &r) != nil {
		return "broken"
	}
	return strings.TrimSpace(r.Outcome.Outcome + " " + r.Outcome.OptionID)
}

// acpOf gives the agent of a mode, with short pauses before it is killed.
func acpOf(t *testing.T, mode string) (*agentcli.CLI, formats.Request) {
	t.Helper()

	pause := 5 * time.Second
	if mode == "acp-stubborn" || mode == "acp-stays" {
		pause = 300 * time.Millisecond
	}

	x, r := exec(t, mode, nil)

	s, err := proc.NewStarter(proc.Starter{
		Allow: x.Starter.Allow,
		Env:   x.Starter.Env,
		Now:   time.Now,
		Grace: proc.Grace{Interrupt: pause, Terminate: 200 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}

	speaker := agentcli.SpeakerOf(x.Definition.Argv)
	return &agentcli.CLI{
		Speaker:    &speaker,
		Definition: x.Definition,
		Starter:    s,
		Root:       x.Root,
		Nonce:      x.Nonce,
	}, r
}

// told puts what came back into one line.
func told(ret formats.Return, err error) string {
	broken, ok := errors.AsType[*subagents.ReturnError](err)
	switch {
	case ok:
		return "bad: " + strings.Join(broken.Problems, "; ")
	case err != nil:
		return "error: " + err.Error()
	case ret.Status == formats.StatusFailed:
		return ret.Errors[0].Code.String() + ": " + ret.Errors[0].Message
	}
	return strings.Join(append([]string{ret.Summary}, ret.Warnings...), "; ")
}

func TestACP(t *testing.T) {
	t.Parallel()

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(self)

	tests := []struct{ mode, want string }{
		{"acp-text", "did it"},
		{"acp-file", "did it"},
		{"acp-file-dies", "did it"},
		{"acp-garbage", "did it"},
		{"acp-stays", "did it"},
		{"acp-wrong-nonce", "bad: "},
		{"acp-garbage-only", "bad: "},
		{
			"acp-no-protocol",
			"TOOL_UNAVAILABLE: " + name +
				`: expected an agent that speaks the Agent Client Protocol, got "usage: ` +
				`agent [-h]"`,
		},
		{
			"acp-says-nothing",
			"TOOL_UNAVAILABLE: " + name +
				": expected an agent that speaks the Agent Client Protocol, got nothing",
		},
		{"acp-burst", "did it"},
		{"acp-asks-much", "did it"},
		{"acp-long", "did it"},
		{"acp-files", "did it"},
		{
			"acp-version",
			"TOOL_UNAVAILABLE: " + name +
				": expected version 1 of the Agent Client Protocol, got 2",
		},
		{"acp-login", "AUTH: " + name + ": Authentication required"},
		{
			"acp-dies",
			"UNKNOWN_ERROR: worker: " + name +
				" ended with exit code 3 and without a return: no such module",
		},
		{"acp-error", "UNKNOWN_ERROR: " + name + ": Internal error: API Error: 400 bad request"},
		{"acp-refusal", "UNKNOWN_ERROR: " + name + ": the agent stopped its turn: refusal"},
		{"acp-limit", "LIMIT: " + name + ": expected a cost of at most $2, got $9"},
		{"acp-flood", "LIMIT: " + name + " printed more than 64 MiB and was stopped"},
	}
	for _, tt := range tests {
		t.Run(tt.mode, func(t *testing.T) {
			t.Parallel()

			a, r := acpOf(t, tt.mode)
			a.Definition.Limits.Cost = 2
			ret, used, err := a.RunMetered(t.Context(), r)

			if got := told(ret, err); !strings.HasPrefix(got, tt.want) {
				t.Errorf("Run = %q, want %q", got, tt.want)
			}

			if used.Runner != "acp" || used.Prompt == "" {
				t.Errorf("measured %+v, want the runner and the prompt", used)
			}

			if tt.mode == "acp-text" {
				want := subagents.Measured{
					Runner: "acp",
					Model:  "m-acp",
					Prompt: used.Prompt,
					Told:   used.Told,
					Tokens: formats.Tokens{
						Input:  120,
						Cached: 20,
						Output: 10,
					},
					Cost: 0.25,
				}
				if d := cmp.Diff(want, used); d != "" {
					t.Errorf("measured (-want +got)\n%s", d)
				}
			}
		})
	}
}

func TestACPPermissions(t *testing.T) {
	t.Parallel()

	const yes = "selected yes"
	const no = "selected no; the tool "

	tests := []struct {
		ask   string
		tools []string
		want  string
	}{
		{"acp-ask read /etc/hosts", nil, yes},
		{"acp-ask edit OUT/plan.md", nil, yes},
		{"acp-ask edit ROOT/main.go", nil, no + "edit was refused"},
		{"acp-ask edit ROOT/main.go", []string{"write"}, yes},
		{"acp-ask edit main.go", []string{"write"}, yes},
		{"acp-ask edit", []string{"write"}, yes},
		{"acp-ask edit", nil, no + "edit was refused"},
		{"acp-ask edit ROOT/../other", []string{"write"}, no + "edit was refused"},
		// a link that leads out
		{"acp-ask edit ROOT/out/x", []string{"write"}, no + "edit was refused"},
		{"acp-ask delete ROOT/.tercet/state.json", []string{"write"}, no + "delete was refused"},
		{"acp-ask move ROOT/.tercet/commands/a/b.md", []string{"write"}, no + "move was refused"},
		{"acp-ask execute", []string{"write"}, no + "execute was refused"},
		{"acp-ask execute", []string{"shell"}, yes},
		{"acp-ask fetch", []string{"shell"}, no + "fetch was refused"},
		{"acp-ask fetch", []string{"net"}, yes},
		{"acp-ask other", []string{"write", "net"}, no + "other was refused"},
		{"acp-ask switch_mode", []string{"write", "shell", "net"}, no + "switch_mode was refused"},
		{"acp-ask no-such-kind", []string{"write", "shell", "net"}, no + "other was refused"},
		// more files than are looked at
		{"acp-ask edit main.go 200", []string{"write"}, no + "edit was refused"},
		{"acp-always execute", []string{"shell"}, "cancelled; the tool execute was refused"},
	}
	for _, tt := range tests {
		t.Run(tt.ask+" "+strings.Join(tt.tools, ","), func(t *testing.T) {
			t.Parallel()

			a, r := acpOf(t, tt.ask)
			if err := os.Symlink(os.TempDir(), filepath.Join(a.Root, "out")); err != nil {
				t.Fatal(err)
			}

			a.Definition.Info.Tools = tt.tools
			if got := told(a.Run(t.Context(), r)); got != tt.want {
				t.Errorf("Run = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestACPModel(t *testing.T) {
	t.Parallel()

	a, r := acpOf(t, "acp-text")
	a.Definition.Model = map[string]string{"acp": "best", "": "none"}

	ret, used, err := a.RunMetered(t.Context(), r)
	if got := told(ret, err); got != "did it" || used.Model != "best" || used.Asked != "best" {
		t.Errorf("Run = %q with model %q, asked %q, want best", got, used.Model, used.Asked)
	}

	a, r = acpOf(t, "acp-text")
	a.Definition.Model = map[string]string{"": "worst"}
	got := told(a.Run(t.Context(), r))
	if !strings.HasPrefix(got, "CONFIG: ") || !strings.Contains(got, `invalid model "worst"`) {
		t.Errorf("Run with a model that is not there = %q, want CONFIG", got)
	}
}

// heard gives what the agent noted.
func heard(t *testing.T, a *agentcli.CLI) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(a.Root, "heard"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestACPStops(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"acp-hang", "acp-stubborn"} {
		for _, idle := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s idle %t", mode, idle), func(t *testing.T) {
				t.Parallel()
				testkit.Widen(t, time.Second, func(limit time.Duration) bool {
					a, r := acpOf(t, mode)
					a.Starter.Grace.Interrupt = limit
					r.Timeout = formats.Timeout{Total: limit}
					if idle {
						r.Timeout = formats.Timeout{Total: time.Hour, Idle: limit}
					}
					if got := told(a.Run(t.Context(), r)); !strings.HasPrefix(got, "TIMEOUT: ") {
						t.Errorf("Run = %q, want TIMEOUT", got)
					}
					return cancelHeard(a)
				})
			})
		}
	}
}

// cancelHeard tells whether an agent of acp-hang or acp-stubborn was asked to stop, in the words of
// the protocol.
func cancelHeard(a *agentcli.CLI) bool {
	text, err := os.ReadFile(filepath.Join(a.Root, "heard"))
	if err != nil {
		return false
	}
	return strings.Contains(string(text), "then: true") ||
		strings.Contains(string(text), "session/cancel")
}

func TestACPCancel(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"acp-hang", "acp-stubborn"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			testkit.Widen(t, time.Second, func(limit time.Duration) bool {
				a, r := acpOf(t, mode)
				a.Starter.Grace.Interrupt = limit
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()

				ended := make(chan error, 1)
				go func() {
					_, err := a.Run(ctx, r)
					ended <- err
				}()

				for range time.Tick(5 * time.Millisecond) {
					text, err := os.ReadFile(filepath.Join(a.Root, "heard"))
					if err == nil && strings.Contains(string(text), "session/prompt") {
						break
					}
				}

				cancel()
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Errorf("Run = %v, want cancelled", err)
				}

				return cancelHeard(a)
			})
		})
	}
}

func TestACPLeavesNoSurvivor(t *testing.T) {
	t.Parallel()
	a, r := acpOf(t, "acp-survivor")
	if got := told(a.Run(t.Context(), r)); !strings.HasPrefix(got, "bad: ") {
		t.Errorf("Run = %q, want no return", got)
	}

	_, rest, ok := strings.Cut(heard(t, a), "pid ")
	pid, err := strconv.Atoi(strings.Fields(rest)[0])
	if !ok || err != nil {
		t.Fatalf("the agent started nothing: %v", err)
	}

	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("kill(%d, 0) = %v, want that what the agent started is gone", pid, err)
	}
}

func TestACPNotStarted(t *testing.T) {
	t.Parallel()
	a, r := acpOf(t, "acp-text")

	*a.Speaker = agentcli.SpeakerOf([]string{"no-such-program-here"})
	if got := told(a.Run(t.Context(), r)); !strings.HasPrefix(got, "TOOL_UNAVAILABLE: ") {
		t.Errorf("Run of a missing program = %q", got)
	}

	*a.Speaker = agentcli.Speaker{}
	if got := told(a.Run(t.Context(), r)); !strings.HasPrefix(got, "CONFIG: ") {
		t.Errorf("Run without argv = %q", got)
	}

	for name, edit := range map[string]func(*agentcli.CLI){
		"nonce":   func(a *agentcli.CLI) { a.Nonce = nil },
		"starter": func(a *agentcli.CLI) { a.Starter = nil },
		"root":    func(a *agentcli.CLI) { a.Root = "" },
	} {
		a, r := acpOf(t, "acp-text")
		edit(a)
		if _, err := a.Run(t.Context(), r); formats.CodeOf(err) != formats.CodeBug {
			t.Errorf("Run without %s = %v, want BUG", name, err)
		}
	}
}
