package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tercet/formats"
	"tercet/internal/demo"
	"tercet/internal/proc"
	"tercet/internal/scenario"
	"tercet/internal/testkit/modelserver"
)

// TestAgents runs /plan and /implement of the demo's repository with real agent CLIs against a
// model server of ours. agents.sh installs them and calls it with these flags.
var (
	agentsFlag    = flag.String("agents", "", "agent CLIs to drive, separated by commas")
	agentsDirFlag = flag.String("agents-dir", "", "folder that they are installed in")
)

func TestAgents(t *testing.T) {
	t.Parallel()
	if *agentsFlag == "" {
		t.Skip("no -agents: agents.sh installs them and runs this")
	}

	bin := tercetIn(t)
	for name := range strings.SplitSeq(*agentsFlag, ",") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			server := modelserver.New(map[string]modelserver.Script{
				"booklet": booklet(flowLines(t)),
			})
			listener := httptest.NewServer(server)
			t.Cleanup(func() {
				server.Close()
				listener.CloseClientConnections()
				listener.Close()
			})

			p := &person{
				name:   name,
				dir:    t.TempDir(),
				bin:    bin,
				server: server,
				base:   modelserver.Base(listener.URL, "booklet", name),
			}

			p.setUp(t)
			p.work(t)
		})
	}
}

// person types commands into a repository with a defect.
type person struct {
	name, dir, bin, base string
	server               *modelserver.Server
	env                  []string
}

func (p *person) setUp(t *testing.T) {
	t.Helper()
	starter, err := proc.NewStarter(proc.Starter{
		Allow: func(context.Context, proc.Command) error { return nil },
		Now:   time.Now,
		Env:   []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()},
	})
	if err != nil {
		t.Fatal(err)
	}

	fixture, err := readFixture("")
	if err != nil {
		t.Fatal(err)
	}

	if err := (demo.Repo{Dir: p.dir, Starter: starter}).Unpack(t.Context(), fixture); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()

	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	plain, acp := strings.CutSuffix(p.name, "-acp") // an agent of the Agent Client Protocol
	folder := plain
	runner := "runner: " + p.name + "\n"
	if acp {
		runner = "runner: acp\nacp: " + plain + "\n"
	}
	if p.name == "claude-acp" || p.name == "codex-acp" {
		folder = p.name
	}

	agents := filepath.Join(*agentsDirFlag, folder, "node_modules", ".bin")

	p.env = []string{
		"PATH=" + p.bin + ":" + agents + ":" + os.Getenv("PATH"),
		"HOME=" + home,
		"LANG=C.UTF-8",
		"GOPROXY=off",
		"GOTOOLCHAIN=local",
		"GOFLAGS=-mod=mod",
		"GOCACHE=" + goEnv("GOCACHE"),
		"TERCET_TRUST=1",
		"AGENT_KEY=sk-test",
		"ANTHROPIC_API_KEY=sk-test",
		"ANTHROPIC_BASE_URL=" + p.base,
		"GEMINI_API_KEY=sk-test",
		"GOOGLE_GEMINI_BASE_URL=" + p.base,
		"npm_config_registry=" + p.base + "/",
		"COPILOT_PROVIDER_BASE_URL=" + p.base,
		"COPILOT_PROVIDER_API_KEY=sk-test",
		"COPILOT_MODEL=m1",
	}

	write(home+"/.gitconfig", "[user]\nname = tester\nemail = tester@localhost\n")
	write(home+"/.codex/config.toml", fmt.Sprintf(
		"model = \"gpt-5-codex\"\nmodel_provider = \"local\"\n[model_providers.local]\n"+
			"name = \"local\"\nbase_url = %q\nenv_key = \"AGENT_KEY\"\n"+
			"wire_api = \"responses\"\n",
		p.base,
	))
	write(
		home+"/.gemini/settings.json",
		`{"security": {"auth": {"selectedType": "gemini-api-key"}}, `+
			`"privacy": {"usageStatisticsEnabled": false}, `+
			`"general": {"enableAutoUpdate": false, "maxAttempts": 1}}`,
	)
	write(home+"/.config/opencode/opencode.json", fmt.Sprintf(
		`{"provider": {"local": {"npm": "@ai-sdk/openai-compatible", `+
			`"options": {"baseURL": %q, "apiKey": "sk-test"}, `+
			`"models": {"m1": {"name": "m1"}, "m2": {"name": "m2"}}}}, `+
			`"model": "local/m1", "small_model": "local/m1", "enabled_providers": ["local"]}`,
		p.base,
	))

	p.run(t, "init", "--next-number", "196")

	write(
		filepath.Join(p.dir, ".tercet/config.yaml"),
		runner+
			"env: [AGENT_KEY, ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, GEMINI_API_KEY, "+
			"GOOGLE_GEMINI_BASE_URL, npm_config_registry, COPILOT_PROVIDER_BASE_URL, "+
			"COPILOT_PROVIDER_API_KEY, COPILOT_MODEL]\n",
	)
}

// runner is the word for the runner.
func (p *person) runner() string {
	if strings.HasSuffix(p.name, "-acp") {
		return "acp"
	}
	return p.name
}

// run types one command, which must pass.
func (p *person) run(t *testing.T, args ...string) string {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()

	cmd := exec.CommandContext(ctx, p.bin+"/tercet", args...)
	cmd.Dir = p.dir
	cmd.Env = p.env
	var stderr strings.Builder

	cmd.Stderr = &stderr
	out, err := cmd.Output()

	t.Logf("tercet %s\n%s%s", strings.Join(args, " "), out, stderr.String())
	if err != nil {
		p.transcripts(t)
		t.Fatalf("tercet %s: %v", strings.Join(args, " "), err)
	}

	return string(out)
}

// transcripts shows what the program printed, for a test that fails.
func (p *person) transcripts(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(
		filepath.Join(p.dir, ".tercet/runs"),
		func(name string, d os.DirEntry, err error) error {
			if err == nil &&
				(strings.HasSuffix(name, "-stdout") || strings.HasSuffix(name, "-stderr")) {
				text, _ := os.ReadFile(name)
				t.Logf("%s\n%.4000s", name, text)
			}
			return nil
		},
	)
	if err != nil {
		t.Log(err)
	}
}

func (p *person) work(t *testing.T) {
	t.Helper()

	p.run(t, "/task", "--from", "task.md")
	p.run(t, "--runner", "offline", "/research", "196")

	var plan, done formats.Return
	if err := json.Unmarshal([]byte(p.run(t, "--json", "/plan", "196")), &plan); err != nil {
		t.Fatal(err)
	}
	if plan.Status != formats.StatusCompleted || len(plan.Artifacts) != 1 {
		t.Fatalf("/plan = %+v, want a plan", plan)
	}

	text, err := os.ReadFile(filepath.Join(p.dir, plan.Artifacts[0].Path))
	if err != nil ||
		!strings.Contains(
			string(text),
			"### Phase 1: Let the loop reach the last page [NOT STARTED]",
		) {
		t.Errorf("plan = %q, %v, want that of the model", text, err)
	}

	if err := json.Unmarshal([]byte(p.run(t, "--json", "/implement", "196")), &done); err != nil {
		t.Fatal(err)
	}
	if done.Status != formats.StatusCompleted {
		t.Errorf("/implement = %+v, want completed", done)
	}

	cmd := exec.CommandContext(t.Context(), "go", "test", "./...")
	cmd.Dir = p.dir
	cmd.Env = p.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go test: %v\n%s", err, out)
	}

	if got := strings.TrimSpace(p.run(t, "query", "-r", ".tasks[0].status")); got != "completed" {
		t.Errorf("status = %q, want completed", got)
	}

	p.traced(t)
	p.bounded(t)
	p.run(t, "state", "verify")

	if p.runner() != "acp" {
		p.discover(t)
	}
	if p.name == "claude" {
		p.flows(t)
	}
}

// flowLines are tests of the pack flows whose workers are played by the model: it writes and
// returns what they script.
func flowLines(t *testing.T) map[string]scenario.Test {
	t.Helper()
	out := map[string]scenario.Test{}
	for _, name := range []string{"delivery-light", "maintenance-patch", "doc-one"} {
		test, err := scenario.Parse(name, []byte(readIn(t, os.DirFS(flows+"/tests"), name+".json")))
		if err != nil {
			t.Fatal(err)
		}
		out[strings.Fields(test.Line)[0]] = test
	}
	return out
}

// flows runs /delivery-flow as Light, /maintenance-flow as Patch and /doc-flow behind what discover
// left, one after the other. The agent does the work of every worker, Go writes the handoff
// documents, and git has the commits.
func (p *person) flows(t *testing.T) {
	t.Helper()
	err := os.CopyFS(filepath.Join(p.dir, ".tercet/templates/flows"), os.DirFS(flows+"/templates"))
	if err != nil {
		t.Fatal(err)
	}

	lines := flowLines(t)
	for _, flow := range []struct{ name, profile, file, want string }{
		{"/delivery-flow", "delivery", "docs/DELIVERY_RESULT.md", "Delivery Plan: Light"},
		{"/maintenance-flow", "", "docs/design-notes/date.md", "Tell the date"},
		{
			"/doc-flow", "doc", "docs/DOC_FLOW_RESULT.md",
			"|---|\n| hld | docs/deliverables/clock/hld.en.md | created | 1.0 |\n\n",
		},
	} {
		test := lines[flow.name]
		began := time.Now()
		var ret formats.Return
		err := json.Unmarshal([]byte(p.run(t, "--yes", "--json", "run", test.Line)), &ret)
		if err != nil {
			t.Fatal(err)
		}

		started := regexp.MustCompile(`"agent":"(?:flows:)?([a-z0-9-]+)"`)
		var did []string
		for line := range strings.Lines(readIn(
			t,
			os.DirFS(p.dir),
			".tercet/runs/"+ret.Metadata.Run+"/journal.jsonl",
		)) {
			m := started.FindStringSubmatch(line)
			if m != nil && strings.Contains(line, `"delegation_started"`) &&
				!scenario.Reserved(m[1]) && m[1] != "document-writer" {
				did = append(did, m[1])
			}
		}

		want := slices.Compact(slices.Clone(test.Expect.Sequence))
		if !slices.Equal(slices.Compact(did), want) {
			t.Errorf("%s called %q, want %q", flow.name, did, want)
		}

		if flow.profile != "" {
			p.run(t, "check", flow.file, "--profile", flow.profile)
		}
		if text := readIn(t, os.DirFS(p.dir), flow.file); !strings.Contains(text, flow.want) {
			t.Errorf("%s = %q, want %q in it", flow.file, text, flow.want)
		}

		t.Logf("%s took %s", flow.name, time.Since(began).Round(time.Second))
	}

	p.run(t, "state", "verify")
}

// scripted gives what a worker of a flow does, whose name the form of the return tells: its
// documents go into out, other files into the tree.
func scripted(
	t modelserver.Turn,
	lines map[string]scenario.Test,
	out, ret string,
) []modelserver.Reply {
	for _, m := range regexp.MustCompile(`AGENT_RESULT: ([a-z0-9-]+)`).FindAllStringSubmatch(
		t.Prompt,
		-1,
	) {
		for _, test := range lines {
			if test.Returns[m[1]] == nil {
				continue
			}
			said := test.Returns[m[1]][0]
			steps := []modelserver.Reply{}
			for _, name := range slices.Sorted(maps.Keys(said.Writes)) {
				text := said.Writes[name]
				plain, document := strings.CutPrefix(name, "docs/")
				switch {
				case document && !strings.Contains(plain, "/"):
					said.Text = strings.ReplaceAll(said.Text, "  - "+name, "  - "+plain)
					name = plain
					fallthrough
				case strings.HasPrefix(plain, "deliverables/"):
					steps = append(steps, t.Write(out+"/"+name, text))
				default:
					steps = append(
						steps,
						t.Shell("mkdir -p '"+filepath.Dir(name)+"' && cat > '"+name+
							"' <<'END_OF_FILE'\n"+text+"END_OF_FILE"),
					)
				}
			}
			return append(steps, t.Write(ret, said.Text))
		}
	}

	return nil
}

// discover runs /discovery-flow of the pack flows: the agent interviews and returns a block,
// document-writer hands on.
func (p *person) discover(t *testing.T) {
	t.Helper()
	for _, folder := range []string{"commands", "subagents"} {
		err := os.CopyFS(filepath.Join(p.dir, ".tercet", folder), os.DirFS(flows+"/"+folder))
		if err != nil {
			t.Fatal(err)
		}
	}

	p.run(
		t, "--yes", "/discovery-flow", "--scale", "script", "--ui", "cli", "--no-dependencies",
		"--no-integration", "--complexity", "simple", "--product-type", "tool", "a clock",
	)

	p.run(t, "check", "docs/DISCOVERY_RESULT.md", "--profile", "discovery")

	text, err := os.ReadFile(filepath.Join(p.dir, "docs/DISCOVERY_RESULT.md"))
	if err != nil || !strings.Contains(string(text), "FR-001: it tells the time") {
		t.Errorf("DISCOVERY_RESULT.md = %q, %v, want what the agent wrote down", text, err)
	}
}

// bounded looks for the tier of the delegations: that of bubblewrap, where a probe saw it at work.
func (p *person) bounded(t *testing.T) {
	t.Helper()

	want := ` (the program's own)"`
	if p.runner() == "acp" {
		want = ` (what the agent asks leave for)"`
	}
	if strings.Contains(p.run(t, "sandbox", "probe"), "container\tbubblewrap\tyes") {
		want = `"sandbox":"container (bubblewrap)"`
	}

	files, err := filepath.Glob(filepath.Join(p.dir, ".tercet/runs/*/journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}

	found := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found += strings.Count(string(text), want)
	}

	if found < 2 {
		t.Errorf("%d delegations tell %s, want those of planner and implementer", found, want)
	}
}

// traced looks for what was measured.
func (p *person) traced(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(p.dir, ".tercet/runs/*/trace.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	measured := map[string]float64{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var e struct {
				Name  string `json:"name"`
				Kind  string `json:"kind"`
				Attrs struct {
					Runner string  `json:"runner"`
					Tokens float64 `json:"tokens"`
				} `json:"attrs"`
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			if e.Kind == "delegate" && e.Attrs.Runner == p.runner() {
				measured[e.Name] = e.Attrs.Tokens
			}
		}
	}

	if p.name == "codex-acp" { // tells no tokens
		for name := range measured {
			measured[name] += 100
		}
	}
	if measured["planner"] < 100 || measured["implementer"] < 100 || len(measured) != 2 {
		t.Errorf("tokens by subagent = %v, want those of planner and implementer", measured)
	}
}

// booklet is a model that mends the defect. Where to write it reads in the prompt, as a model has
// to.
func booklet(lines map[string]scenario.Test) modelserver.Script {
	return func(t modelserver.Turn) modelserver.Reply { return bookletTurn(t, lines) }
}

func bookletTurn(t modelserver.Turn, lines map[string]scenario.Test) modelserver.Reply {
	ret := regexp.MustCompile(`/[^\s` + "`" + `"]+/call-\d+/return\.json`).FindString(t.Prompt)
	if ret == "" {
		return modelserver.Reply{Text: "a title"}
	}

	out := filepath.Join(filepath.Dir(filepath.Dir(ret)), "out")
	steps := []modelserver.Reply{
		t.Shell("sed -i 's/page < last/page <= last/' pages/pages.go && go test ./..."),
		t.Write(out+"/summary.md", bookletSummary),
		t.Write(
			ret,
			`{"status": "completed", "summary": "The loop reaches the last page.", `+
				`"artifacts": [{"type": "implementation", "path": "pages/pages.go"}, `+
				`{"type": "summary", "path": "summary.md"}]}`,
		),
	}
	if strings.Contains(t.Prompt, "an artifact of type plan") {
		steps = []modelserver.Reply{
			t.Write(out+"/plan.md", bookletPlan),
			t.Write(
				ret,
				`{"status": "completed", "summary": "One phase.", `+
					`"artifacts": [{"type": "plan", "path": "plan.md"}]}`,
			),
		}
	}
	if strings.Contains(t.Prompt, "AGENT_RESULT: interviewer") {
		steps = []modelserver.Reply{
			t.Write(
				out+"/INTERVIEW_RESULT.md",
				"# Interview: Clock\n\n## Project Overview\n\nA clock.\n\n"+
					"## Functional Requirements\n\nFR-001: it tells the time.\n",
			),
			t.Write(
				ret,
				"AGENT_RESULT: interviewer\nSTATUS: success\nSUMMARY: one requirement\n"+
					"PRODUCT_TYPE: tool\nHAS_UI: false\nREQUIREMENTS_COUNT: 1\n"+
					"IMPLICIT_REQUIREMENTS: 0\nARTIFACTS:\n  - INTERVIEW_RESULT.md\n",
			),
		}
	}
	if worker := scripted(t, lines, out, ret); worker != nil {
		steps = worker
	}
	if t.Results < len(steps) {
		return steps[t.Results]
	}

	i := slices.IndexFunc(t.Outputs, func(s string) bool {
		return strings.Contains(s, "FAIL")
	})
	if i >= 0 {
		return modelserver.Reply{Text: "The test fails: " + t.Outputs[i]}
	}
	return modelserver.Reply{Text: "Done."}
}

const bookletSummary = `# Summary

## Overview

The loop ended one page too early.

## What Changed

- ` + "`pages/pages.go`" + `: the loop includes the last page.

## Decisions

- None.

## Impacts

- Ranges are whole.

## Follow-ups

- None.

## References

- Task 196
`

const bookletPlan = `# Implementation Plan: Expand loses the last page of a range

- **Task**: 196 - Expand loses the last page of a range
- **Status**: [NOT STARTED]
- **Effort**: 1 hour
- **Priority**: medium
- **Dependencies**: None
- **Research Inputs**: None
- **Artifacts**: This plan
- **Standards**: None
- **Type**: go

## Overview

The loop of Expand ends one page too early.

## Goals & Non-Goals

- Ranges are whole.

## Risks & Mitigations

- None known.

## Implementation Phases

### Phase 1: Let the loop reach the last page [NOT STARTED]

- **Goal**: The range loop includes its end.
- **Timing**: 1 hour

**Tasks**:

- [ ] Change the condition of the loop

**Commands**:

` + "```sh\ngo vet ./...\n```" + `

**Verification**:

- [ ] The tests pass

` + "```sh\ngo test ./...\n```" + `

## Testing & Validation

- The test of the package.

## Artifacts & Outputs

- pages/pages.go

## Rollback/Contingency

- Revert the commit.
`
