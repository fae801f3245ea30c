package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tercet/formats"
	"tercet/internal/testkit"
	"tercet/internal/testkit/modelserver"
)

// TestAgentsAround runs real agent CLIs through what surrounds their work: a terminal and Ctrl-C, a
// model for each subagent, a runner that is not logged in, a budget, output without an end.
func TestAgentsAround(t *testing.T) {
	t.Parallel()
	if *agentsFlag == "" {
		t.Skip("no -agents: agents.sh installs them and runs this")
	}

	bin := tercetIn(t)
	for name := range strings.SplitSeq(*agentsFlag, ",") {
		if strings.HasSuffix(name, "-acp") {
			// the same program, whose stopping and limits the scenes of the protocol look at
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			server := modelserver.New(map[string]modelserver.Script{"around": around})
			listener := httptest.NewServer(server)
			t.Cleanup(func() {
				server.Close()
				listener.CloseClientConnections()
				listener.Close()
			})

			begin := func(scenario string) *person {
				p := &person{
					name:   name,
					dir:    t.TempDir(),
					bin:    bin,
					server: server,
					base:   modelserver.Base(listener.URL, scenario, name),
				}
				p.setUp(t)
				p.env = append(p.env, "TMPDIR="+t.TempDir())
				p.workers(t)
				return p
			}

			p := begin("around")
			for _, scene := range []struct {
				name string
				play func(*testing.T)
			}{
				{"models", p.models},
				{"flood", p.flood},
				{"budget", p.budget},
				{"ctrl-c", p.interrupted},
				{"chain", func(t *testing.T) {
					t.Helper()
					begin("401").passedOver(t)
				}},
			} {
				if !testkit.Deep() && scene.name != "ctrl-c" {
					continue
				}
				t.Run(scene.name, func(t *testing.T) {
					scene.play(t)
					p.clean(t)
				})
			}
		})
	}
}

// around is a model that does what the instruction of the worker says.
func around(t modelserver.Turn) modelserver.Reply {
	ret := regexp.MustCompile(`/[^\s` + "`" + `"]+/call-\d+/return\.json`).FindString(t.Prompt)
	if ret == "" {
		return modelserver.Reply{Text: "a title"}
	}

	steps := []modelserver.Reply{t.Write(
		ret,
		`{"status": "completed", "summary": "did it", "artifacts": []}`,
	)}
	switch {
	case strings.Contains(t.Prompt, "Do: wait"):
		return modelserver.Reply{Fault: modelserver.Hang}
	case strings.Contains(t.Prompt, "Do: flood"):
		steps = append(
			[]modelserver.Reply{t.Shell(`head -c 104857600 /dev/zero | tr '\0' x | fold -w 100`)},
			steps...,
		)
	case strings.Contains(t.Prompt, "Do: spend") && t.Results < 8:
		// gemini stops at the same call five times in a row
		return t.Shell(fmt.Sprintf("echo step %d", t.Results))
	case strings.Contains(t.Prompt, "Do: spend"):
		return map[bool]modelserver.Reply{true: steps[0], false: {Text: "Done."}}[t.Results == 8]
	}

	if t.Results < len(steps) {
		return steps[t.Results]
	}
	return modelserver.Reply{Text: "Done."}
}

// aroundModels are two models of each CLI.
func aroundModels(name string) [2]string {
	return map[string][2]string{
		"claude":   {"m-one", "m-two"},
		"codex":    {"gpt-5-codex", "gpt-5"},
		"opencode": {"local/m1", "local/m2"},
		"gemini":   {"gemini-2.5-flash", "gemini-2.5-pro"},
		"copilot":  {"m1", "m2"},
	}[name]
}

// workers writes commands and subagents.
func (p *person) workers(t *testing.T) {
	t.Helper()
	models := aroundModels(p.name)

	worker := func(name, model, runner, text string) {
		p.put(t, ".tercet/subagents/"+name+".md", fmt.Sprintf(
			"---\nname: %s\ndescription: A worker\nrunner: %s\nmodel: {%s: %s}\n"+
				"tools: [read, shell]\nreturns: {artifacts: none}\n---\n\n%s\n",
			name, runner, p.name, model, text,
		))
	}

	command := func(name, front string, agents ...string) {
		text := fmt.Sprintf(
			"---\ncommand: %s\ndescription: Delegates\n%s---\n\n## Workflow Execution\n",
			name, front,
		)
		for i, agent := range agents {
			text += fmt.Sprintf("\n### Step %d: %s\n\n```yaml step\ndelegate: %s\n```\n",
				i+1, strings.ToUpper(agent[:1])+agent[1:], agent)
		}
		p.put(t, ".tercet/commands/"+name+".md", text)
	}

	worker("one", models[0], p.name, "Do: return")
	worker("two", models[1], p.name, "Do: return")
	worker("waiter", models[0], p.name, "Do: wait")
	worker("flooder", models[0], p.name, "Do: flood")
	worker("spender", models[0], p.name, "Do: spend")

	p.put(t, ".tercet/subagents/researcher.md", fmt.Sprintf(
		"---\nname: researcher\ndescription: Looks\nrole: researcher\nrunner: [%s, offline]\n"+
			"tools: [read, search]\nreturns:\n"+
			"  artifacts: [{type: report, document: report}]\n---\n\nLook.\n",
		p.name,
	))

	command("both", "", "one", "two")
	command("waits", "", "waiter")
	command("floods", "", "flooder")
	command("spends", "limits: {tokens: 500}\n", "spender", "two")
}

func (p *person) put(t *testing.T, name, text string) {
	t.Helper()
	name = filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// try types a command with --json and gives its return, its exit code and the most memory that
// tercet itself had, in kB.
func (p *person) try(t *testing.T, args ...string) (formats.Return, int, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.bin+"/tercet", append([]string{"--json"}, args...)...)
	cmd.Dir = p.dir
	cmd.Env = p.env
	var stdout, stderr strings.Builder
	cmd.Stdout = &stdout
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	most := 0
	for done := false; !done; {
		select {
		case <-ended:
			done = true
		case <-time.After(20 * time.Millisecond):
			most = max(most, memory(cmd.Process.Pid))
		}
	}

	t.Logf("tercet %v: exit %d, at most %d kB\n%s%s",
		args, cmd.ProcessState.ExitCode(), most, stdout.String(), stderr.String())
	var ret formats.Return
	if err := json.Unmarshal([]byte(stdout.String()), &ret); err != nil {
		p.transcripts(t)
		t.Fatal(err)
	}
	return ret, cmd.ProcessState.ExitCode(), most
}

// memory is the most that a process had resident, in kB; 0 where it has ended.
func memory(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}

	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}

func (p *person) models(t *testing.T) {
	t.Helper()

	before := len(p.server.Turns(p.name))
	ret, code, _ := p.try(t, "/both")
	if code != 0 || ret.Status != formats.StatusCompleted {
		t.Errorf("/both = %d, %+v, want completed", code, ret)
	}

	var asked []string
	for _, turn := range p.server.Turns(p.name)[before:] {
		if !slices.Contains(asked, turn.Model) {
			asked = append(asked, turn.Model)
		}
	}

	for _, want := range aroundModels(p.name) {
		if !slices.Contains(asked, strings.TrimPrefix(want, "local/")) {
			t.Errorf("asked models %v, want %s among them", asked, want)
		}
	}
}

func (p *person) flood(t *testing.T) {
	t.Helper()
	const most = 120_000 // kB; what an agent's command printed was 100 MiB

	ret, code, used := p.try(t, "/floods")
	stopped := p.name == "copilot" && code == 7 // it may print what a command prints
	if !stopped && (code != 0 || ret.Status != formats.StatusCompleted) {
		t.Errorf("/floods = %d, %+v, want completed", code, ret)
	}
	if used == 0 || used > most {
		t.Errorf("tercet used %d kB, want at most %d", used, most)
	}

	kept := int64(0)
	err := filepath.WalkDir(
		filepath.Join(p.dir, ".tercet/runs"),
		func(_ string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			info, err := d.Info()
			kept += info.Size()
			return err
		},
	)
	if err != nil || kept > 65<<20 { // 64 MiB of output, and what tercet itself keeps
		t.Errorf("the runs hold %d bytes, %v, want at most 65 MiB", kept, err)
	}

	t.Logf("the runs hold %d bytes", kept)
}

func (p *person) budget(t *testing.T) {
	t.Helper()

	before := len(p.server.Turns(p.name))
	ret, code, _ := p.try(t, "/spends")
	if code != 7 || len(ret.Errors) == 0 || ret.Errors[0].Code != formats.CodeLimit {
		t.Errorf("/spends = %d, %+v, want LIMIT and 7", code, ret)
	}

	asked := len(p.server.Turns(p.name)) - before
	most := 12
	if slices.Contains([]string{"claude", "opencode"}, p.name) {
		most = 8 // they tell what each step used, and are stopped by it
	}
	if asked < 4 || asked > most {
		t.Errorf("the model was asked %d times, want 4 to %d", asked, most)
	}

	for _, turn := range p.server.Turns(p.name)[before:] {
		if strings.Contains(turn.Prompt, "Do: return") {
			t.Error("the second worker was started, want none after the budget was used up")
		}
	}
}

// interrupted types Ctrl-C on a terminal while the model is silent.
func (p *person) interrupted(t *testing.T) {
	t.Helper()
	before := len(p.server.Turns(p.name))
	s := onTerminalWith(t, p.dir, append(p.env, "TERM=xterm"))
	s.prompted()
	s.keys("/waits\r")
	limit := time.After(2 * time.Minute)
	for len(p.server.Turns(p.name)) == before {
		select {
		case <-limit:
			t.Fatal("the model was not asked within two minutes")
		case <-time.After(50 * time.Millisecond):
		}
	}

	begin := time.Now()
	s.keys("\x03")
	s.wait("CANCELLED")
	took := time.Since(begin)
	s.prompted()
	s.keys("\x04")
	s.ends()
	t.Logf("cancelled after %s", took)
	state := untouched(t)
	after := s.state()
	if !reflect.DeepEqual(state, after) {
		t.Errorf("terminal after the end: %+v, want %+v", after, state)
	}
}

// passedOver has an agent CLI that is not let in, and a second runner.
func (p *person) passedOver(t *testing.T) {
	t.Helper()

	p.run(t, "/task", "--from", "task.md")
	ret, code, _ := p.try(t, "/research", "196")
	if code != 0 || ret.Status != formats.StatusCompleted {
		t.Errorf("/research = %d, %+v, want the report of the second runner", code, ret)
	}

	files, err := filepath.Glob(filepath.Join(p.dir, ".tercet/runs/*/trace.jsonl"))
	if err != nil {
		t.Fatal(err)
	}

	found := false
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found = found ||
			regexp.MustCompile(`"attempts":\[\{"runner":"`+p.name+
				`".*"code":"AUTH".*"runner":"offline"`).Match(text)
	}

	if !found {
		t.Errorf("no attempts of %s and offline are traced", p.name)
	}
}

// clean looks for what a command may not leave behind: processes, and files in the temporary
// folder.
func (p *person) clean(t *testing.T) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}

	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !strings.Contains(string(env), "TERCET_ROOT="+p.dir+"\x00") {
			continue
		}
		words, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		t.Errorf("left: %s %q %v", dir, words, err)
	}

	temp, _ := strings.CutPrefix(p.env[len(p.env)-1], "TMPDIR=")
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("the temporary folder has %v, %v, want nothing left", left, err)
	}
}
