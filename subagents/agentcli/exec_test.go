package agentcli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/subagents"
	"tercet/subagents/agentcli"
	"tercet/subagents/sandbox"
)

// TestMain makes the test binary the program that the tests run.
func TestMain(m *testing.M) {
	if mode := os.Getenv("FAKE_AGENT"); mode != "" {
		if strings.HasPrefix(mode, "acp-") {
			os.Exit(fakeACP(mode))
		}
		os.Exit(fake(mode))
	}

	if len(os.Args) > 1 && os.Args[1] == "__child" {
		os.Exit(proc.Supervise(os.Stdin, os.Stdout, sandbox.Ruleset))
	}
	if len(os.Args) > 2 && os.Args[1] == "__mcp" {
		os.Exit(fakeServer(os.Args[2]))
	}

	goleak.VerifyTestMain(m)
}

const good = `{"status": "completed", "summary": "did it", "artifacts": [{"type": "report", ` +
	`"path": "r.md"}], "metadata": {"delegation_depth": 1}}`

// fake behaves as a program does, or does not.
func fake(mode string) int {
	stdin, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 98
	}

	var in struct {
		Agent      string         `json:"agent"`
		Depth      int            `json:"depth"`
		ReturnPath string         `json:"return_path"`
		Nonce      string         `json:"nonce"`
		Input      map[string]any `json:"input"`
		Path       []string       `json:"path"`
	}
	if err := json.Unmarshal(stdin, &in); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}

	write := func(text string) {
		if err := os.WriteFile(in.ReturnPath, []byte(text), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	switch mode {
	case "file":
		write(good)
		fmt.Println("talking all the while")
	case "stdout":
		fmt.Println(good)
	case "echo":
		var env []string
		for _, kv := range os.Environ() {
			if strings.HasPrefix(kv, "TERCET_") || strings.HasPrefix(kv, "SECRET") {
				env = append(env, kv)
			}
		}
		slices.Sort(env)
		cwd, _ := os.Getwd()
		out, _ := json.Marshal(map[string]any{
			"status":  "completed",
			"summary": "x",
			"fields": map[string]any{
				"env":  env,
				"cwd":  cwd,
				"in":   in,
				"same": os.Getenv("TERCET_RETURN") == in.ReturnPath,
			},
		})
		write(string(out))
	case "prose":
		fmt.Println("Here is the return you asked for:\n" + good)
	case "block":
		write("AGENT_RESULT: worker\nSTATUS: success\nSUMMARY: did 3\nNONCE: " + in.Nonce +
			"\nCOUNT: 3\nERROR_REASON: none\n")
	case "block-skipped":
		write("```\nAGENT_RESULT: worker\nSTATUS: skipped\nSUMMARY: no database\n```\n")
	case "block-nonce":
		write("AGENT_RESULT: worker\nSTATUS: success\nNONCE: other\n")
	case "block-other":
		write("AGENT_RESULT: tester\nSTATUS: success\n")
	case "garbage":
		write("{")
		fmt.Println(good)
	case "empty":
		write("")
	case "link":
		if err := os.Symlink("/etc/hostname", in.ReturnPath); err != nil {
			return 97
		}
	case "nonce":
		write(`{"status": "completed", "summary": "x", "nonce": "wrong"}`)
	case "exit":
		fmt.Fprintln(os.Stderr, "one\ntwo\nthree\nfour\nfive\nsix")
		return 3
	case "exit-with-return":
		write(good)
		return 3
	case "noisy":
		fmt.Fprint(os.Stderr, strings.Repeat("noise\n", 300_000))
		fmt.Println(good)
	case "large":
		fmt.Println(good + strings.Repeat(" ", proc.DefaultCap) + good)
	case "flood":
		chunk := strings.Repeat("x", 1<<20)
		for range 70 {
			fmt.Print(chunk)
		}
	case "hang":
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGINT)
		<-c
		return 1
	}

	return 0
}

func exec(
	t *testing.T,
	mode string,
	allow func(context.Context, proc.Command) error,
) (*agentcli.Exec, formats.Request) {
	t.Helper()

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	if allow == nil {
		allow = func(context.Context, proc.Command) error { return nil }
	}

	s, err := proc.NewStarter(proc.Starter{
		Allow: allow,
		Env:   []string{"FAKE_AGENT=" + mode, "GOCOVERDIR=" + t.TempDir()},
		Now:   time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	out := filepath.Join(dir, "runs", "out")
	if err := os.MkdirAll(out, 0o700); err != nil {
		t.Fatal(err)
	}

	x := &agentcli.Exec{
		Definition: subagents.Definition{
			Info: formats.AgentInfo{Name: "worker"},
			Argv: []string{self, "a b", "$HOME"},
			File: "subagents/worker.md",
		},
		Starter: s,
		Root:    dir,
		Nonce:   func() string { return "n0nce" },
	}

	return x, formats.Request{
		Agent:   "worker",
		Run:     "r1",
		Dir:     dir,
		Out:     out,
		Input:   map[string]any{"task": "t"},
		Path:    []string{"router", "/x", "worker"},
		Timeout: formats.Timeout{Total: time.Minute},
	}
}

func TestExec(t *testing.T) {
	t.Parallel()
	tests := []struct {
		mode string
		want string // "summary (warnings)", "CODE: message" or "bad: violation; ..."
		raw  string // kept for a person, of a bad return
	}{
		{"file", "did it (0)", ""},
		{"stdout", "did it (0)", ""},
		{"exit-with-return", "did it (1)", ""},
		{
			"prose",
			"bad: expected a return as JSON in the file return_path, or as the whole standard " +
				"output, got neither",
			"Here is the return you asked for:\n" + good,
		},
		{"noisy", "did it (0)", ""},
		{
			"large",
			"bad: expected a return as JSON in the file return_path, or as the whole standard " +
				"output, got neither",
			good,
		},
		{
			"nothing",
			"bad: expected a return as JSON in the file return_path, or as the whole standard " +
				"output, got neither",
			"",
		},
		{"block", "did 3 (0)", ""},
		{"block-skipped", "no database (0)", ""},
		{
			"block-nonce",
			"bad: return:1:1: ",
			"AGENT_RESULT: worker\nSTATUS: success\nNONCE: other\n",
		},
		{"block-other", "bad: return:1:1: ", "AGENT_RESULT: tester\nSTATUS: success\n"},
		{"garbage", "bad: return:1:2: ", "{"},
		{"empty", "bad: return:1:1: ", ""},
		{"link", "bad: expected a regular file as return_path, got L---------", ""},
		{"nonce", "bad: return:1:", `{"status": "completed", "summary": "x", "nonce": "wrong"}`},
		{
			"exit",
			"UNKNOWN_ERROR: worker: SELF ended with exit code 3 and without a return: two | " +
				"three | four | five | six",
			"",
		},
		{"flood", "LIMIT: worker printed more than 64 MiB and was stopped", ""},
	}
	for _, tt := range tests {
		t.Run(tt.mode, func(t *testing.T) {
			t.Parallel()
			x, r := exec(t, tt.mode, nil)
			x.Definition.Info.AgentResult = strings.HasPrefix(tt.mode, "block")
			x.Definition.Info.Fields = map[string]formats.Field{"COUNT": {
				Type:     formats.TypeInteger,
				Optional: true,
			}}
			ret, err := x.Run(t.Context(), r)
			var got string
			broken, ok := errors.AsType[*subagents.ReturnError](err)
			switch {
			case ok:
				got = "bad: " + strings.Join(broken.Problems, "; ")
				if string(broken.Raw) != tt.raw {
					t.Errorf("raw = %q, want %q", broken.Raw, tt.raw)
				}
			case err != nil:
				got = err.Error()
			case ret.Status == formats.StatusFailed:
				got = strings.ReplaceAll(
					ret.Errors[0].Code.String()+": "+ret.Errors[0].Message,
					x.Definition.Argv[0],
					"SELF",
				)
			default:
				got = fmt.Sprintf("%s (%d)", ret.Summary, len(ret.Warnings))
				if said := ret.Fields["COUNT"]; tt.mode == "block" && said != 3 {
					t.Errorf("COUNT = %#v, want 3", said)
				}
				if (tt.mode == "block-skipped") != (ret.Outcome() == formats.OutcomeSkipped) {
					t.Errorf("outcome = %s", ret.Outcome())
				}
				if ret.Metadata.Depth != 0 {
					t.Errorf("depth of the program = %d, want none", ret.Metadata.Depth)
				}
			}

			if !strings.HasPrefix(got, tt.want) ||
				strings.HasSuffix(tt.want, ")") && got != tt.want {
				t.Errorf("Run = %q (%v), want %q", got, ret.Warnings, tt.want)
			}
			entries, err := os.ReadDir(filepath.Dir(r.Out))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if e.IsDir() && e.Name() != "out" {
					t.Errorf("%s is left behind", e.Name())
				}
			}
		})
	}
}

// TestExecTakesFilesOfTheProject: an argument that names a file of the project is that file where
// the tree has another one.
func TestExecTakesFilesOfTheProject(t *testing.T) {
	t.Parallel()
	var got []string
	x, r := exec(t, "file", func(_ context.Context, c proc.Command) error {
		got = c.Argv
		return nil
	})
	r.Dir = t.TempDir()
	for _, dir := range []string{x.Root, r.Dir} {
		err := errors.Join(
			os.MkdirAll(filepath.Join(dir, "tools"), 0o755),
			os.WriteFile(filepath.Join(dir, "tools", "run.sh"), []byte(dir), 0o755),
		)
		if err != nil {
			t.Fatal(err)
		}
	}

	for _, dir := range []string{x.Root, r.Dir} {
		if err := os.WriteFile(filepath.Join(dir, "tools", "same.sh"), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.WriteFile(filepath.Join(x.Root, "tools", "own.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	self := x.Definition.Argv[0]
	x.Definition.Argv = []string{
		self, "tools/same.sh", "tools/own.txt", "tools/run.sh", "run.sh", "tools", "tools/none.sh",
		"./...", "--file=tools/run.sh",
	}
	if _, err := x.Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	want := []string{
		self,
		"tools/same.sh",
		"tools/own.txt",
		filepath.Join(x.Root, "tools", "run.sh"),
		"run.sh",
		"tools",
		"tools/none.sh",
		"./...",
		"--file=tools/run.sh",
	}
	if !slices.Equal(got, want) {
		t.Errorf("argv = %q, want %q", got, want)
	}
}

func TestExecGivesTheRequest(t *testing.T) {
	t.Parallel()
	x, r := exec(t, "echo", nil)

	ret, err := x.Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}

	want := []any{
		"TERCET_OUT=" + r.Out,
		"TERCET_RETURN=" + filepath.Join(x.Root, "runs", "call-1", "return.json"),
		"TERCET_ROOT=" + x.Root,
		"TERCET_RUN=r1",
	}
	if env, ok := ret.Fields["env"].([]any); !ok || !slices.Equal(env, want) {
		t.Errorf("environment = %v, want %v", ret.Fields["env"], want)
	}

	in, ok := ret.Fields["in"].(map[string]any)
	if !ok || in["agent"] != "worker" || in["nonce"] != "n0nce" ||
		fmt.Sprint(in["input"]) != "map[task:t]" {
		t.Errorf("request = %v", ret.Fields["in"])
	}

	if ret.Fields["same"] != true || ret.Fields["cwd"] != r.Dir {
		t.Errorf("fields = %v", ret.Fields)
	}
}

func TestExecStops(t *testing.T) {
	t.Parallel()
	x, r := exec(t, "hang", nil)

	r.Timeout.Total = 300 * time.Millisecond
	ret, err := x.Run(t.Context(), r)
	if err != nil || len(ret.Errors) != 1 || ret.Errors[0].Code != formats.CodeTimeout {
		t.Errorf("Run = %+v, %v, want TIMEOUT", ret, err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Run(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("Run with a cancelled context = %v", err)
	}
}

func TestExecNotStarted(t *testing.T) {
	t.Parallel()

	x, r := exec(t, "file", func(context.Context, proc.Command) error {
		return errors.New("not trusted")
	})
	if _, err := x.Run(t.Context(), r); formats.CodeOf(err) != formats.CodeUntrusted {
		t.Errorf("Run that is not allowed = %v, want UNTRUSTED", err)
	}

	x, r = exec(t, "file", nil)
	x.Definition.Argv = []string{"no-such-program-here"}
	_, err := x.Run(t.Context(), r)
	if formats.CodeOf(err) != formats.CodeToolUnavailable || formats.HelpOf(err) == "" {
		t.Errorf("Run of a missing program = %v (help %q), want TOOL_UNAVAILABLE",
			err, formats.HelpOf(err))
	}

	for name, edit := range map[string]func(*agentcli.Exec){
		"argv":    func(x *agentcli.Exec) { x.Definition.Argv = nil },
		"starter": func(x *agentcli.Exec) { x.Starter = nil },
		"root":    func(x *agentcli.Exec) { x.Root = "" },
	} {
		x, r := exec(t, "file", nil)
		edit(x)
		if _, err := x.Run(t.Context(), r); formats.CodeOf(err) != formats.CodeBug {
			t.Errorf("Run without %s = %v, want BUG", name, err)
		}
	}
}
