package agentcli_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/internal/testkit"
	"tercet/internal/testkit/modelserver"
	"tercet/subagents"
	"tercet/subagents/agentcli"
	"tercet/subagents/prompt"
)

// The conformance tests drive real agent CLIs against a model server of ours, and are run by
// agents.sh:
//
//	go test ./subagents/agentcli -run Conformance -args -agents claude,codex -agents-dir FOLDER
//
// FOLDER holds one folder a CLI, as npm installs it.
var (
	agentsFlag    = flag.String("agents", "", "agent CLIs to drive, separated by commas")
	agentsDirFlag = flag.String("agents-dir", "", "folder that they are installed in")
)

// drive is one agent CLI with a model server.
type drive struct {
	driver  agentcli.Driver
	speaker agentcli.Speaker // if it is driven by the Agent Client Protocol
	bin     string           // folder of its program
	server  *modelserver.Server
	url     string
}

// scene is one call of it.
type scene struct {
	scenario string
	tools    []string
	info     func(*formats.AgentInfo)
	limits   subagents.Limits
	budget   formats.Budget
	timeout  time.Duration
	cancel   bool // as soon as the model is asked
	repair   bool
	files    map[string]string // in the home folder
	isolated bool              // with a home of its own
	hosts    bool              // under strace
	servers  bool              // the person has a server of tools
	granted  string            // the tool of a server that may be called
	// further files of the project; MARK in them is a file that they make if they are obeyed
	project map[string]string
}

// patience is the time limit of a scene.
func (s scene) patience() time.Duration {
	if s.timeout == 0 {
		return 2 * time.Minute
	}
	return s.timeout
}

// played is what came of it.
type played struct {
	ret      formats.Return
	used     subagents.Measured
	err      error
	dir, out string
	home     string
	key      string
	took     time.Duration
	mark     string // see scene.project
	trace    string // what strace wrote
}

func TestConformance(t *testing.T) {
	t.Parallel()
	if *agentsFlag == "" {
		t.Skip("no -agents: agents.sh installs them and runs this")
	}

	for name := range strings.SplitSeq(*agentsFlag, ",") {
		driver, speaker, folder := driven(t, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var listener *httptest.Server
			var refusals atomic.Int64 // requests that the server of models does not see

			server := modelserver.New(scripts(func() string {
				return listener.URL
			}))

			listener = httptest.NewServer(http.HandlerFunc(
				func(w http.ResponseWriter, r *http.Request) {
					if strings.HasPrefix(r.URL.Path, "/spent/") && r.Method == http.MethodPost {
						refusals.Add(1)
						spent(w, r)
						return
					}
					server.ServeHTTP(w, r)
				},
			))
			t.Cleanup(func() {
				server.Close()
				listener.CloseClientConnections()
				listener.Close()
			})

			d := drive{
				driver:  driver,
				speaker: speaker,
				bin:     filepath.Join(*agentsDirFlag, folder, "node_modules", ".bin"),
				server:  server,
				url:     listener.URL,
			}

			t.Run("version", d.version) //nolint:paralleltest // one program at a time, what they take is measured
			if d.speaker.Name == "" {
				t.Run("a kept session", d.keepsSession) //nolint:paralleltest // as above
			}

			for _, c := range d.cases() {
				t.Run(c.name, func(t *testing.T) { //nolint:paralleltest // as above
					var p played
					testkit.Widen(t, c.scene.patience(), func(limit time.Duration) bool {
						c.scene.timeout = limit
						before := refusals.Load()
						p = d.play(t, c.scene)
						timedOut := len(p.ret.Errors) == 1 &&
							p.ret.Errors[0].Code == formats.CodeTimeout
						// else the program was slow to begin
						return !timedOut || len(d.server.Turns(p.key)) > 0 ||
							refusals.Load() > before
					})
					c.check(t, d, p)
				})
			}
		})
	}
}

var (
	returnPath = regexp.MustCompile(`/[^\s` + "`" + `"]+/call-\d+/return\.json`)
	nonceWord  = regexp.MustCompile(`"nonce": "([^"]+)"`)
)

// scripts are what the model does; where things are it reads in the prompt, as a model has to.
func scripts(server func() string) map[string]modelserver.Script {
	steps := func(
		list ...func(t modelserver.Turn, ret, out, dir string) modelserver.Reply,
	) modelserver.Script {
		return func(t modelserver.Turn) modelserver.Reply {
			ret := returnPath.FindString(t.Prompt)
			if ret == "" {
				return modelserver.Reply{Text: "a title"}
			}
			out := filepath.Join(filepath.Dir(filepath.Dir(ret)), "out")
			root, _, _ := strings.Cut(ret, "/.tercet/")
			return list[min(t.Results, len(list)-1)](t, ret, out, root)
		}
	}

	type turn = modelserver.Turn
	type reply = modelserver.Reply

	done := func(turn, string, string, string) reply {
		return reply{Text: "All done."}
	}
	write := func(path func(ret, out, dir string) string, text string) func(
		turn,
		string,
		string,
		string,
	) reply {
		return func(t turn, ret, out, dir string) reply {
			return t.Write(path(ret, out, dir), text)
		}
	}

	toReturn := func(ret, _, _ string) string { return ret }
	toOut := func(_, out, _ string) string { return out + "/r.md" }
	inTree := func(name string) func(string, string, string) string {
		return func(_, _, dir string) string { return filepath.Join(dir, name) }
	}

	const ok = `{"status": "completed", "summary": "did it", "artifacts": []}`
	return map[string]modelserver.Script{
		"outside": steps(
			func(t turn, _, _, _ string) reply {
				return t.Shell(outsideScript)
			},
			write(toReturn, ok),
			done,
		),
		"document": steps(
			write(toOut, "# Report\n"),
			write(
				toReturn,
				`{"status": "completed", "summary": "did it", `+
					`"artifacts": [{"type": "report", "path": "r.md"}]}`,
			),
			done,
		),
		"keeps": keeping,
		"nested": steps(
			func(t turn, _, _, dir string) reply { return t.Read(filepath.Join(dir, "sub/x.txt")) },
			write(toReturn, ok),
			done,
		),
		"tree":  steps(write(inTree("made.txt"), "made\n"), write(toReturn, ok), done),
		"stray": steps(write(inTree("made.txt"), "made\n"), done),
		"state": steps(write(inTree(".tercet/state.json"), "{}\n"), write(toReturn, ok), done),
		"shell": steps(
			func(t turn, _, out, _ string) reply {
				return t.Shell("expr 40 + 2 > " + out + "/r.md")
			},
			write(toReturn, ok),
			done,
		),
		"final": steps(func(t turn, _, _, _ string) reply {
			return reply{
				Text: "Here it is.\n\n```json\n{\"status\": \"completed\", \"summary\": \"said " +
					"it\", \"nonce\": \"" + nonceOf(t) + "\"}\n```",
			}
		}),
		"forged": steps(func(turn, string, string, string) reply {
			return reply{Text: "```json\n{\"status\": \"completed\", \"summary\": \"forged\"}\n```"}
		}),
		"obeys": steps(func(t turn, _, _, _ string) reply {
			v := map[string]any{
				"status":         "completed",
				"summary":        "obeyed",
				"nonce":          nonceOf(t),
				"artifacts":      []any{},
				"issues":         []any{},
				"errors":         []any{},
				"text":           nil,
				"blocked_reason": nil,
				"next_steps":     nil,
			}
			if slices.Contains(t.Tools, "StructuredOutput") && t.Results == 0 {
				return reply{Calls: []modelserver.Call{{Tool: "StructuredOutput", Args: v}}}
			}
			text, err := json.Marshal(v)
			if err != nil {
				return reply{Text: err.Error()}
			}
			return reply{Text: string(text)}
		}),
		"runaway": steps(func(t turn, _, _, _ string) reply {
			if r := t.Shell("echo again"); len(r.Calls) > 0 {
				return r
			}
			return t.Write("/nowhere/at/all", "x")
		}),
		"flood": steps(func(t turn, _, out, _ string) reply {
			return t.Shell(
				"head -c 104857600 /dev/zero | tr '\\0' x | fold -w 100; echo flooded > " + out +
					"/r.md",
			)
		}, write(toReturn, ok), done),
		"spend": steps(
			again, again, again, again, again, again, again, again,
			write(toReturn, ok),
			done,
		),
		"served": steps(func(t turn, _, _, _ string) reply {
			tool := map[modelserver.API]string{
				modelserver.Anthropic: "mcp__own__mark",
				modelserver.Responses: "mcp__own__mark",
				modelserver.Chat:      "own_mark",
				modelserver.Gemini:    "mcp_own_mark",
			}[t.API]
			for _, offered := range []string{"mcp__own::mark", "tercet-own_mark"} {
				if slices.Contains(t.Tools, offered) {
					tool = offered
				}
			}
			return reply{Calls: []modelserver.Call{{
				Tool:   tool,
				Args:   map[string]any{},
				Forced: true,
			}}}
		}, write(toReturn, ok), done),
		"dials": steps(func(t turn, _, _, _ string) reply {
			return t.Shell("curl -s " + modelserver.Base(server(), "fetched", t.Key) + "/page")
		}, write(toReturn, ok), done),
		"listed": steps(
			func(t turn, _, _, dir string) reply {
				return grab(t, "shell", "touch "+dir+"/made.txt")
			},
			write(toReturn, ok),
			done,
		),
		"grabs": steps(
			func(t turn, _, out, _ string) reply {
				return grab(t, "shell", "echo 42 > "+out+"/r.md")
			},
			func(t turn, _, _, _ string) reply {
				return grab(t, "net", modelserver.Base(server(), "fetched", t.Key)+"/page")
			},
			func(t turn, _, _, dir string) reply {
				return grab(t, "write", filepath.Join(dir, "made.txt"))
			},
			write(toReturn, ok),
			done,
		),
	}
}

// spent answers that the account's usage limit is reached, as the servers of the four do.
func spent(w http.ResponseWriter, r *http.Request) {
	at := spentUntil().Unix()
	left := int(time.Until(spentUntil()).Seconds())

	for name, value := range map[string]string{
		"Anthropic-Ratelimit-Unified-Status":               "rejected",
		"Anthropic-Ratelimit-Unified-Reset":                fmt.Sprint(at),
		"Anthropic-Ratelimit-Unified-Representative-Claim": "five_hour",
		"Retry-After":  fmt.Sprint(left),
		"Content-Type": "application/json",
	} {
		w.Header().Set(name, value)
	}

	w.WriteHeader(http.StatusTooManyRequests)
	body := `{"type": "error", "error": {"type": "rate_limit_error", "message": "no"}}`

	switch {
	case strings.HasSuffix(r.URL.Path, "/responses"):
		body = fmt.Sprintf(
			`{"error": {"type": "usage_limit_reached", `+
				`"message": "The usage limit has been reached", "plan_type": "plus", `+
				`"resets_at": %d}}`,
			at,
		)
	case strings.Contains(r.URL.Path, ":"):
		body = `{"error": {"code": 429, "message": "You have exhausted your capacity on this ` +
			`model. Your quota will reset after 2h0m0s.", "status": "RESOURCE_EXHAUSTED"}}`
	}

	_, _ = io.WriteString(w, body) // a client that went away is its own business
}

// spentUntil is when the usage limit of a scene ends.
func spentUntil() time.Time {
	return time.Now().Truncate(time.Hour).Add(3 * time.Hour)
}

// again is one more step that does nothing.
func again(t modelserver.Turn, _, _, _ string) modelserver.Reply {
	// gemini stops at the same call five times in a row
	return t.Shell(fmt.Sprintf("echo again %d", t.Results))
}

func nonceOf(t modelserver.Turn) string {
	m := nonceWord.FindStringSubmatch(t.Prompt)
	if m == nil {
		return "none"
	}
	return m[1]
}

func (d drive) starter(t *testing.T, s scene, key string) *proc.Starter {
	t.Helper()
	home := t.TempDir()
	temp := t.TempDir()
	base := modelserver.Base(d.url, s.scenario, key)

	env := []string{
		"PATH=" + d.wrapper(t, s, base, temp+".trace") + d.bin + ":" + os.Getenv("PATH"),
		"HOME=" + home,
		"LANG=C.UTF-8",
		"TERM=dumb",
	}
	file := func(name, text string) { put(t, filepath.Join(home, name), text) }

	switch d.driver.Name {
	case "claude":
		login := "ANTHROPIC_API_KEY=sk-test"
		if s.scenario == "spent" { // it tells the limit of a subscription alone
			login = "CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-test"
		}
		env = append(env, "ANTHROPIC_BASE_URL="+base, login)
	case "codex":
		file(".codex/config.toml", fmt.Sprintf(
			"model_provider = \"local\"\n[model_providers.local]\nname = \"local\"\n"+
				"base_url = %q\nenv_key = \"LOCAL_KEY\"\nwire_api = \"responses\"\n",
			base,
		))
		env = append(env, "LOCAL_KEY=sk-test", "CODEX_API_KEY=sk-test")
	case "opencode":
		file(".config/opencode/opencode.json", fmt.Sprintf(
			`{"$schema": "https://opencode.ai/config.json", `+
				`"provider": {"local": {"npm": "@ai-sdk/openai-compatible", `+
				`"options": {"baseURL": %q, "apiKey": "sk-test"}, `+
				`"models": {"m1": {"name": "m1"}}}}, "model": "local/m1", `+
				`"small_model": "local/m1", "enabled_providers": ["local"]}`,
			base,
		))
		if !s.hosts { // what it asks of the package registry is answered with 404 at once
			env = append(env, "npm_config_registry="+base+"/")
		}
		if s.isolated {
			env = append(env, "OPENCODE_CONFIG="+home+"/.config/opencode/opencode.json")
		}
	case "copilot":
		env = append(
			env,
			"COPILOT_PROVIDER_BASE_URL="+base,
			"COPILOT_PROVIDER_API_KEY=sk-test",
			"COPILOT_MODEL=m1",
		)
		// with which it runs the project's hooks
		file(".copilot/config.json", `{"trustedFolders": ["/"]}`)
		file(".copilot/settings.json", `{"trustedFolders": ["/"], "allowedUrls": ["*"]}`)
	case "gemini":
		file(
			".gemini/settings.json",
			`{"security": {"auth": {"selectedType": "gemini-api-key"}}, `+
				`"privacy": {"usageStatisticsEnabled": false}, `+
				`"telemetry": {"enabled": false}, "general": {"enableAutoUpdate": false, `+
				`"maxAttempts": 1, "retryFetchErrors": false}}`,
		)
		env = append(env, "GEMINI_API_KEY=sk-test", "GOOGLE_GEMINI_BASE_URL="+base)
	}

	if s.servers {
		d.serve(t, home)
	}
	starter, err := proc.NewStarter(proc.Starter{
		Allow:      func(context.Context, proc.Command) error { return nil },
		Env:        env,
		Now:        time.Now,
		Temp:       temp,
		Grace:      proc.Grace{Interrupt: time.Second, Terminate: time.Second},
		Supervisor: supervisor(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	return starter
}

func (d drive) play(t *testing.T, s scene) played {
	t.Helper()
	root := t.TempDir()
	key := strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())
	p := played{
		dir:  root,
		key:  key,
		out:  filepath.Join(root, ".tercet/runs/r1/work/out"),
		mark: filepath.Join(root, "obeyed"),
	}
	starter := d.starter(t, s, key)
	p.home = homeOf(starter)
	p.trace = starter.Temp + ".trace"
	if err := os.MkdirAll(p.out, 0o700); err != nil {
		t.Fatal(err)
	}
	err := os.WriteFile(filepath.Join(root, ".tercet/state.json"), []byte("the state\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range s.project {
		put(t, filepath.Join(root, name), strings.ReplaceAll(text, "MARK", p.mark))
	}

	info := formats.AgentInfo{
		Name:  "worker",
		Role:  formats.RoleUtility,
		Tools: append([]string{"read", "search"}, s.tools...),
		File:  "worker.md",
	}
	if s.info != nil {
		s.info(&info)
	}
	model := map[string]string{"codex": "gpt-5-codex", "gemini": "gemini-2.5-flash"}
	agent := &agentcli.CLI{
		Driver:       d.driver,
		Starter:      starter,
		Root:         root,
		IsolatedHome: s.isolated,
		Nonce:        func() string { return "n0nce-" + key },
		Definition: subagents.Definition{
			Info:   info,
			File:   "worker.md",
			Model:  model,
			Limits: s.limits,
		},
	}
	if s.granted != "" {
		agent.Definition.Servers = []subagents.Server{{
			Name:    "own",
			Tools:   []string{s.granted},
			Command: supervisor(t)[0],
			Args:    []string{"__mcp", filepath.Join(p.out, "called")},
		}}
	}
	if text, ok := s.project["AGENTS.md"]; ok {
		agent.Instructions = func(string, string) []prompt.Text {
			return []prompt.Text{{From: "AGENTS.md", Text: text}}
		}
	}
	agent.Confine = d.confine(t, agent.Starter, root)
	for name, text := range s.files {
		put(t, filepath.Join(p.home, name), text)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	if s.cancel {
		go func() {
			for len(d.server.Turns(key)) == 0 && ctx.Err() == nil {
				<-time.After(50 * time.Millisecond)
			}
			cancel()
		}()
	}

	run := fmt.Sprintf("r%d-%s", os.Getpid(), key) // the same scene may run in another process
	r := formats.Request{
		Agent:   "worker",
		Run:     run,
		Session: "sess_1767610000_k3x9qa",
		Step:    "work",
		Attempt: 1,
		Visit:   1,
		Depth:   formats.CommandDepth(),
		Facets:  formats.Facets{Instruction: "Do the work."},
		Timeout: formats.Timeout{Total: s.patience()},
		Dir:     root,
		Out:     p.out,
		Budget:  s.budget,
	}

	if s.repair {
		r.Repair = []string{"expected a return, got none"}
	}

	before := snapshot(t, p.home)
	begin := time.Now()
	p.ret, p.used, p.err = d.agent(agent).RunMetered(ctx, r)
	p.took = time.Since(begin)

	if left := survivors(t, "TERCET_RUN="+run); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if left, err := os.ReadDir(starter.Temp); err != nil || len(left) > 0 {
		t.Errorf("temporary folder has %v, %v, want nothing left", left, err)
	}
	if s.isolated {
		if d := cmp.Diff(before, snapshot(t, p.home)); d != "" {
			t.Errorf("the person's home (-before +after)\n%s", d)
		}
	}

	state, err := os.ReadFile(filepath.Join(root, ".tercet/state.json"))
	if s.scenario == "outside" && *boxFlag == "landlock" {
		t.Logf("state.json = %q under landlock", state)
	} else if err != nil || string(state) != "the state\n" {
		t.Errorf("state.json = %q, %v, want it as it was", state, err)
	}

	t.Logf("%s: %d requests, %.1f s, %+v, tokens %+v, cost %v, model %s, error %v, errors %+v",
		s.scenario, len(d.server.Turns(key)), p.took.Seconds(), p.ret.Status, p.used.Tokens,
		p.used.Cost, p.used.Model, p.err, p.ret.Errors)
	return p
}

// survivors lists the processes that have a word in their environment.
func survivors(t *testing.T, word string) []string {
	t.Helper()

	var out []string
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}

	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !slices.Contains(strings.Split(string(env), "\x00"), word) {
			continue
		}
		name, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		out = append(out, filepath.Base(dir)+" "+strings.ReplaceAll(string(name), "\x00", " "))
	}

	return out
}

func (d drive) version(t *testing.T) {
	if d.speaker.Name != "" {
		d.greets(t)
		return
	}
	found, err := agentcli.Probe(
		t.Context(),
		d.starter(t, scene{scenario: "text"}, "version"),
		d.driver,
	)
	if err != nil || found.Version != d.driver.Tested {
		t.Errorf("Probe(%s) = %+v, %v, want version %s", d.driver.Name, found, err, d.driver.Tested)
	}
}

type conformance struct {
	name  string
	scene scene
	check func(t *testing.T, d drive, p played)
}

func (d drive) cases() []conformance {
	code := func(want formats.Code, most int) func(*testing.T, drive, played) {
		return func(t *testing.T, d drive, p played) {
			t.Helper()
			if p.err != nil || len(p.ret.Errors) != 1 || p.ret.Errors[0].Code != want {
				t.Errorf("Run = %+v, %v, want failed with %s", p.ret, p.err, want)
			}
			if n := len(d.server.Turns(p.key)); n < 1 || n > most {
				t.Errorf(
					"the model was asked %d times, want 1 to %d: the command retries, not the "+
						"program",
					n, most,
				)
			}
		}
	}
	refused := func(t *testing.T, _ drive, p played) {
		t.Helper()
		broken, ok := errors.AsType[*subagents.ReturnError](p.err)
		if !ok || len(broken.Problems) == 0 {
			t.Errorf("Run = %+v, %v, want a *ReturnError, so that the repair round asks for it",
				p.ret, p.err)
		}
	}
	completed := func(summary string) func(*testing.T, drive, played) {
		return func(t *testing.T, d drive, p played) {
			t.Helper()
			if p.err != nil || p.ret.Status != formats.StatusCompleted || p.ret.Summary != summary {
				t.Errorf("Run = %+v, %v, want completed with %q", p.ret, p.err, summary)
			}
			measured(t, d, p)
		}
	}
	patience := 8 * time.Second
	limited := 4 * time.Minute
	retried := 2
	switch d.driver.Name { // these are slow to begin
	case "gemini":
		patience = 40 * time.Second
	case "opencode":
		// it asks a busy server again for more than a minute, and cannot be told not to
		patience = 40 * time.Second
		retried = 12
		limited = patience // and waits by itself until a usage limit ends, and tells nobody
	}

	all := []conformance{
		{"text is no return", scene{scenario: "text"}, refused},
		{
			"document and return file",
			scene{scenario: "document"},
			func(t *testing.T, d drive, p played) {
				t.Helper()
				completed("did it")(t, d, p)
				text, err := os.ReadFile(filepath.Join(p.out, "r.md"))
				if err != nil || string(text) != "# Report\n" {
					t.Errorf("r.md = %q, %v, want the document", text, err)
				}
			},
		},
		{"final message with the nonce", scene{scenario: "final"}, completed("said it")},
		{"final message without it", scene{scenario: "forged"}, refused},
		{
			"write granted",
			scene{scenario: "tree", tools: []string{"write"}},
			func(t *testing.T, d drive, p played) {
				t.Helper()
				completed("did it")(t, d, p)
				if _, err := os.Stat(filepath.Join(p.dir, "made.txt")); err != nil {
					t.Errorf("made.txt: %v, want the file", err)
				}
			},
		},
		{"write not granted", scene{scenario: "stray"}, func(t *testing.T, d drive, p played) {
			t.Helper()
			if _, err := os.Stat(filepath.Join(p.dir, "made.txt")); err == nil {
				t.Error("made.txt was written, want it refused")
			}
			// its sandbox refuses what a command does, which it does not tell
			if d.driver.Name == "codex" {
				refused(t, d, p)
				return
			}
			code(formats.CodeDenied, 3)(t, d, p)
		}},
		{
			"the state is not granted",
			scene{scenario: "state", tools: []string{"write"}},
			completed("did it"),
		},
		{
			"shell granted",
			scene{scenario: "shell", tools: []string{"shell"}},
			func(t *testing.T, d drive, p played) {
				t.Helper()
				completed("did it")(t, d, p)
				text, err := os.ReadFile(filepath.Join(p.out, "r.md"))
				if err != nil || string(text) != "42\n" {
					t.Errorf("r.md = %q, %v, want what the command printed", text, err)
				}
			},
		},
		{"400", scene{scenario: "400"}, code(formats.CodeUnknown, 6)},
		{"401", scene{scenario: "401"}, code(formats.CodeAuth, 2)},
		{
			"429",
			scene{scenario: "429", timeout: 4 * time.Minute},
			code(formats.CodeTransient, retried),
		},
		{
			"usage limit",
			scene{scenario: "spent", timeout: limited},
			func(t *testing.T, d drive, p played) {
				t.Helper()
				// copilot has none with a provider of one's own, and was not driven with an
				// account.
				other := map[string]formats.Code{
					"opencode": formats.CodeTimeout,
					"copilot":  formats.CodeTransient,
				}

				if want, ok := other[d.driver.Name]; ok {
					if p.err != nil || len(p.ret.Errors) != 1 || p.ret.Errors[0].Code != want {
						t.Errorf("Run = %+v, %v, want failed with %s", p.ret, p.err, want)
					}
					return
				}

				wait, ok := errors.AsType[*formats.LaterError](p.err)
				if !ok || spentUntil().Sub(wait.Until).Abs() > 2*time.Hour {
					t.Errorf("Run = %+v, %v, want a wait until about %s",
						p.ret, p.err, spentUntil())
				}

				t.Logf("it says: %v", p.err)
			},
		},
		{
			"500",
			scene{scenario: "500", timeout: 4 * time.Minute},
			code(formats.CodeTransient, retried),
		},
		{"invalid JSON", scene{scenario: "garbage"}, code(formats.CodeTransient, 12)},
		{"cut", scene{scenario: "cut"}, code(formats.CodeTransient, 12)},
		{"hang", scene{scenario: "hang", timeout: patience}, func(t *testing.T, d drive, p played) {
			t.Helper()
			code(formats.CodeTimeout, 2)(t, d, p)
		}},
		{"cancel", scene{scenario: "hang", cancel: true}, func(t *testing.T, _ drive, p played) {
			t.Helper()
			if !errors.Is(p.err, context.Canceled) {
				t.Errorf("Run = %v, want the cancellation", p.err)
			}
		}},
		{"runaway", scene{
			scenario: "runaway",
			tools:    []string{"shell"},
			limits:   subagents.Limits{Turns: 4},
		}, code(formats.CodeLimit, 8)},
	}
	if *boxFlag != "" { // a failure of the model's server is the same within bounds
		all = slices.DeleteFunc(all, func(c conformance) bool {
			return slices.Contains(
				[]string{"400", "401", "429", "500", "invalid JSON", "cut"},
				c.name,
			)
		})
	}
	if *boxFlag != "" && (d.driver.Name != "codex" || *boxFlag != "landlock") {
		all = append(all, bounded(completed("did it"))...)
	}
	if d.speaker.Name != "" {
		return d.acpCases(all)
	}
	if *boxFlag == "" && testkit.Deep() {
		all = append(all, d.more(code, completed)...)
	}
	if d.driver.Schema {
		all = append(all,
			conformance{"schema obeyed", scene{
				scenario: "obeys",
				repair:   true,
				info:     func(i *formats.AgentInfo) { i.NoArtifacts = true },
			}, completed("obeyed")},
			conformance{"schema ignored", scene{
				scenario: "schema-ignored",
				repair:   true,
				info:     func(i *formats.AgentInfo) { i.NoArtifacts = true },
			}, refused})
	}
	return all
}

func measured(t *testing.T, d drive, p played) {
	t.Helper()
	if d.speaker.Name != "" {
		measuredACP(t, d, p)
		return
	}

	// Claude, Gemini and Copilot tell which model answers; of Codex only the one that was asked for
	// is known, of OpenCode none.
	tells := d.driver.Name == "claude" || d.driver.Name == "gemini" || d.driver.Name == "copilot"

	u := p.used
	if u.Runner != d.driver.Name || (u.Model != "") != tells ||
		d.driver.Name == "codex" && u.Asked == "" || len(u.Prompt) != 64 {
		t.Errorf("measured = %+v, want runner, model and digest of the prompt", u)
	}

	if p.used.Metered != d.driver.Metered {
		t.Errorf("metered = %q, want %q", p.used.Metered, d.driver.Metered)
	}
	if p.used.Tokens.Input < 100 || p.used.Tokens.Output < 20 || p.used.Tokens.Cached < 20 {
		t.Errorf("tokens = %+v, want at least those of one answer", p.used.Tokens)
	}
	if d.driver.Name == "claude" && p.used.Cost <= 0 {
		t.Errorf("cost = %v, want more than nothing", p.used.Cost)
	}
}
