package interp_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/interp"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/formats/returns"
	"tercet/internal/journal"
	"tercet/internal/scenario"
	"tercet/internal/testkit"
	"tercet/internal/trace"
	"tercet/subagents"
)

const (
	packFlows = "../../templates/packs/flows"
	flowTree  = ".tercet/worktrees/r1"
)

// TestPackFlows runs every test of the pack flows without a process: scripted returns, held to the
// contracts of their subagents, in a world without git. 'tercet test' runs the same files with the
// engine as it is.
func TestPackFlows(t *testing.T) {
	t.Parallel()

	tests, err := filepath.Glob(packFlows + "/tests/*.json")
	if err != nil || len(tests) < 40 {
		t.Fatalf("Glob = %q, %v, want at least 40", tests, err)
	}

	infos := flowInfos(t)
	var played atomic.Int32
	for _, file := range tests {
		if strings.HasPrefix(filepath.Base(file), "written-") {
			continue // document-writer looks for files
		}

		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			newFlowRun(t, flowTest(t, file), infos).play()
			played.Add(1)
		})
	}

	t.Cleanup(func() {
		for id := range flowConsents {
			if _, ok := flowGates.Load(id); !ok && int(played.Load()) > 100 {
				t.Errorf("no test asks the gate %s", id)
			}
		}
	})
}

func flowTest(t *testing.T, file string) *scenario.Test {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	test, err := scenario.Parse(file, src)
	if err != nil {
		t.Fatal(err)
	}
	return &test
}

func flowInfos(t *testing.T) map[string]formats.AgentInfo {
	t.Helper()

	infos := map[string]formats.AgentInfo{compile.GitWorkflow: {
		Name:        compile.GitWorkflow,
		Builtin:     true,
		NoArtifacts: true,
	}}

	files, err := filepath.Glob(packFlows + "/subagents/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		def, err := subagents.ParseDefinition(filepath.Base(file), src)
		if err != nil {
			t.Fatal(err)
		}
		infos[def.Info.Name] = def.Info
	}

	return infos
}

const consentFile = ".tercet/auto-approve"

type flowRun struct {
	*world

	t       *testing.T
	test    *scenario.Test
	workers *scenario.Workers
	calls   map[string]int
	asked   []string        // ids of gates
	shown   []string        // their questions
	read    map[string]bool // agents whose last result doc-reviewer has read
}

func newFlowRun(t *testing.T, test *scenario.Test, infos map[string]formats.AgentInfo) *flowRun {
	t.Helper()
	w := &flowRun{
		world:   newWorld(t),
		t:       t,
		test:    test,
		workers: scenario.NewWorkers(test, false),
		calls:   map[string]int{},
		read:    map[string]bool{},
	}
	w.infos = infos
	maps.Copy(w.docs, test.Files)
	for name := range infos {
		w.agents[name] = w.work
	}

	w.agents[compile.GitWorkflow] = func(
		_ context.Context,
		r formats.Request,
	) (formats.Return, error) {
		ret := ok(r.Step)
		if r.Input["action"] == "open" {
			ret.Metadata.Worktree = "/project/" + flowTree
		}
		return ret, nil
	}
	w.answer = func(g formats.Gate) (formats.Decision, error) {
		w.asked = append(w.asked, flowStep(g.Step))
		w.shown = append(w.shown, g.Question)
		w.consents(g)
		if d, ok := w.workers.Answer(g); ok {
			return d, nil
		}
		if !test.Yes && w.cfg.Consent.File == "" {
			return formats.Decision{}, &formats.GateOpenError{Gate: g}
		}
		return byItself(g)
	}
	if _, ok := test.Files[consentFile]; ok {
		w.cfg.Consent.File = consentFile
	}
	w.cfg.Docs = flowDocs{docs{w.world}}
	w.cfg.AutoApprove = test.Yes || w.cfg.Consent.File != ""
	w.cfg.RepoState = func(context.Context) (formats.RepoState, error) {
		return formats.RepoLocal, nil
	}
	return w
}

// work answers as the test says, in order; the last return repeats.
func (w *flowRun) work(ctx context.Context, r formats.Request) (formats.Return, error) {
	list := w.test.Returns[r.Agent]
	if len(list) == 0 {
		w.t.Errorf("%s was called and has no return", r.Agent)
		return ok("nothing"), nil
	}

	said := list[min(w.calls[r.Agent], len(list)-1)]
	w.calls[r.Agent]++
	info := w.infos[r.Agent]
	ret, err := returns.ParseForm([]byte(said.Text), true, returns.ParseOptions{Agent: r.Agent})
	if err != nil || r.Question != "" {
		return ret, err
	}

	host, _ := r.Input["triggered_by"].(string)
	if r.Agent != "doc-reviewer" {
		w.read[r.Agent] = false
	} else {
		if w.read[host] {
			w.t.Errorf("doc-reviewer reads one result of %s twice", host)
		}
		w.read[host] = ret.Status != formats.StatusFailed // then Retry runs it alone
	}

	ret, err = interp.Derive(ctx, info, returns.Typed(ret, info.Fields))
	if err != nil {
		return ret, err
	}
	for i := range ret.Artifacts {
		if ret.Artifacts[i].Type != formats.ArtifactImplementation {
			ret.Artifacts[i].Type = formats.ArtifactDocumentation
		}
	}

	if bad := returns.Validate(ret, info); bad != nil {
		w.t.Errorf("the return of %s: %s", r.Agent, strings.Join(bad, "; "))
	}
	maps.Copy(w.docs, said.Writes)
	return ret, nil
}

// program compiles the command of the test's line, and gives the rest of that.
func (w *flowRun) program() (prog *compile.Program, line string) {
	w.t.Helper()

	name, line, _ := strings.Cut(strings.TrimPrefix(w.test.Line, "/"), " ")
	src, err := os.ReadFile(packFlows + "/commands/" + name + ".md")
	if err != nil {
		w.t.Fatal(err)
	}

	file, err := syntax.Parse(name+".md", src)
	if err != nil {
		w.t.Fatal(err)
	}

	prog, err = compile.Compile(file, w.world)
	if err != nil {
		w.t.Fatal(err)
	}

	return prog, line
}

func (w *flowRun) play() {
	t := w.t
	prog, line := w.program()
	values, err := argspec.Bind(prog.Name, prog.Args, line, nil)
	if err != nil {
		t.Fatal(err)
	}
	runner, err := interp.New(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	ret, err := runner.Run(t.Context(), prog, values, formats.CommandDepth())
	var exit string
	if err == nil {
		exit = strings.TrimSuffix(strings.Fields(describeReturn(ret))[1], ":")
	} else {
		exit = strconv.Itoa(formats.ExitFor(formats.CodeOf(err)))
	}

	want := &w.test.Expect
	if exit != strconv.Itoa(want.Exit) {
		t.Errorf("exit %s, %s, %v, want %d", exit, describeReturn(ret), err, want.Exit)
	}
	var sequence []string
	for _, r := range w.requests {
		if r.Agent != compile.GitWorkflow && r.Agent != "document-writer" {
			sequence = append(sequence, r.Agent)
		}
	}

	if !slices.Equal(sequence, want.Sequence) {
		t.Errorf("sequence\n%q, want\n%q", sequence, want.Sequence)
	}
	if want.Gates != nil && !slices.Equal(w.asked, want.Gates) {
		t.Errorf("gates %q, want %q", w.asked, want.Gates)
	}
	rollbacks := 0
	for _, e := range w.entries {
		if e.Type == formats.EntryRollback {
			rollbacks++
		}
	}

	if want.Rollbacks != nil && rollbacks != *want.Rollbacks {
		t.Errorf("%d rollbacks, want %d", rollbacks, *want.Rollbacks)
	}
	w.phases(ret, rollbacks)
	for _, text := range flowsSay[filepath.Base(w.test.File)] {
		if said := strings.Join(append(w.shown, ret.Summary), "\n"); !strings.Contains(said, text) {
			t.Errorf("want %q in\n%s", text, said)
		}
	}
}

// flowsSay has words of questions and returns.
var flowsSay = map[string][]string{
	"discovery-light.json": {"Discovered as Light."},
	"discovery-light-researcher.json": {
		"Discovered as Light, with a tier exception: researcher ran once.",
	},
	"maintenance-resume.json": {"docs/design-notes/date.md was handed on already. Resume?"},
	"maintenance-resume-state.json": {
		"was handed on already, with repo_state github; here it is local-only. Resume?",
	},
	"maintenance-state-wrong.json": {
		"another repo_state than the repository, which is local-only",
	},
}

// flowConsents has what --yes and an auto-approve file choose at each gate of the flows, by its id.
var flowConsents = map[string]string{
	"triage":          "Approve and start",
	"existing":        "Continue from here",
	"tasks":           "Take it over",
	"entry_discovery": "Abort",
	"phase":           "Approve and continue",
	"built":           "Approve and continue",
	"deficient":       "Abort",
	"scope":           "Roll back to interviewer",
	"review":          "Approve and continue",
	"missing":         "Run codebase-analyzer",
	"one":             "Approve and continue",
	"which":           "The first",
	"resume":          "Resume from analyst-core",
	"inject":          "Inject and branch",
	"two":             "Confirm as complete",
	"handing":         "Hand off to delivery-flow",
	"draft":           "Back up",
	"data":            "It has a database",
	"publishing":      "Publish",
	"an agent failed": "Retry",
	"a limit":         "",
	"suspended":       "",
}

// consents holds what a consent chooses at a gate.
func (w *flowRun) consents(g formats.Gate) {
	id := flowStep(g.Step)
	id = id[strings.LastIndex(id, ".")+1:]

	first := g.Choices[0].Label
	last := g.Choices[len(g.Choices)-1].Label

	switch {
	case last == "Other": // a question of an agent, with its own options
		return
	case first == "Continue without documents": // the analyzer ran
		return
	case first == "Retry":
		id = "an agent failed"
	case first == "Continue rollback":
		id = "a limit"
	case last == "Exit as interrupted":
		id = "suspended"
	}

	want, known := flowConsents[id]
	if d, _ := byItself(g); !known || d.Answer != want {
		w.t.Errorf("a consent chooses %q at %s, want %q", d.Answer, id, want)
	}

	flowGates.Store(id, true)
}

// flowGates are the gates that were asked in some test.
var flowGates sync.Map

// phasesOf has the phases that are told in some of the tests; an escalation adds some, and a
// condition that comes to be known takes one away.
var phasesOf = map[string]string{
	"discovery-minimal.json": "1/1 interviewer",
	"discovery-light.json":   "1/3 interviewer, 2/3 rules-designer, 3/3 scope-planner",
	"discovery-full-no-ui.json": "1/5 interviewer, 2/5 researcher, 3/5 poc-engineer, 4/5 " +
		"rules-designer, 5/5 scope-planner",
	"discovery-light-escalate.json": "1/3 interviewer, 2/3 rules-designer, 3/3 scope-planner, " +
		"2/5 researcher, 3/5 poc-engineer, 5/5 scope-planner",
	"discovery-light-researcher.json": "1/3 interviewer, 2/3 rules-designer, 3/3 scope-planner, " +
		"2/4 researcher, 4/4 scope-planner",
	"delivery-minimal.json": "1/5 spec-designer, 2/5 architect, 3/5 developer, 4/5 " +
		"tester, 5/5 security-auditor",
	"delivery-light.json": "1/9 spec-designer, 2/7 architect, 3/7 developer, 4/7 " +
		"test-designer, 5/7 tester, 6/7 reviewer, 7/7 security-auditor",
	"delivery-tests-minimal.json": "1/5 spec-designer, 2/5 architect, 3/5 developer, 4/5 " +
		"tester, 3/5 developer, 4/5 tester, 5/5 security-auditor",
	"operations-full.json": "1/4 infra-builder, 2/4 db-ops, 3/4 observability, 4/4 " +
		"ops-planner",
	"maintenance-patch.json": "1/8 change-classifier, 2/5 analyst-intake, 3/5 " +
		"analyst-core, 4/5 developer, 5/5 tester",
	"doc-three.json": "1/3 hld-author, 2/3 lld-author, 3/3 api-reference-author",
}

// phases holds what is told of phases: each has a number up to how many there are, and the last
// that runs, where nothing was sent back, is the last of all.
func (w *flowRun) phases(ret formats.Return, rollbacks int) {
	var told []string
	n := 0
	of := 0

	for _, e := range w.events {
		if agent, ok := e.Attrs["agent"]; ok && e.Kind == trace.Step {
			n = e.Attrs["phase"].(int)
			of = e.Attrs["phases"].(int)
			told = append(told, fmt.Sprintf("%d/%d %s", n, of, agent))
			if n < 1 || n > of {
				w.t.Errorf("phase %s", told[len(told)-1])
			}
		}
	}

	if n < of && rollbacks == 0 && ret.Outcome().Passes() {
		w.t.Errorf("the last phase of all is not the last of %q", told)
	}

	want := phasesOf[filepath.Base(w.test.File)]
	if want != "" && strings.Join(told, ", ") != want {
		w.t.Errorf("phases\n%s, want\n%s", strings.Join(told, ", "), want)
	}
}

// flowStep is the id at the end of a path.
func flowStep(at string) string {
	id, _, _ := strings.Cut(path.Base(at), "#")
	id, _, _ = strings.Cut(id, "[")
	return id
}

// flowDocs has one tree: the worktree is the project.
type flowDocs struct{ docs }

func (d flowDocs) Open(ctx context.Context, name string) ([]byte, error) {
	return d.docs.Open(ctx, strings.TrimPrefix(strings.TrimPrefix(name, "/project/"), flowTree+"/"))
}

func (d flowDocs) Glob(_ context.Context, patterns []string) ([]string, error) {
	fits := func(name string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			folder, deep := strings.CutSuffix(p, "**")
			ok, err := path.Match(p, name)
			return deep && strings.HasPrefix(name, folder) || err == nil && ok
		})
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(d.w.docs)), func(name string) bool {
		return !fits(name)
	}), nil
}

// TestEveryLineOfDelivery kills /delivery-flow at Standard, with screens, two tasks and a rollback,
// at every line of its journal, before the line is written or behind it, and resumes it: the
// return, the documents, and what subagents were told are those of a run that nobody killed, no
// call is made that it does not make, one subagent at most is started again, and none whose result
// was there.
func TestEveryLineOfDelivery(t *testing.T) {
	t.Parallel()
	test := flowTest(t, packFlows+"/tests/written-delivery.json")
	test.Returns["document-writer"] = flowTest(
		t,
		packFlows+"/tests/delivery-standard-ui.json",
	).Returns["document-writer"]
	infos := flowInfos(t)
	prog, line := newFlowRun(t, test, infos).program()
	kill := func(n int, after bool) (m *machine, first *process, had []string, left string) {
		m = newMachine(t)
		m.line = line
		made := map[string][]string{}
		documents := map[string]string{}

		shape := func(w *world) {
			r := newFlowRun(t, test, infos)
			r.docs = documents
			w.cfg.Docs = r.cfg.Docs
			w.cfg.AutoApprove = true
			w.answer = r.answer
			w.cfg.RepoState = r.cfg.RepoState
			w.agents[compile.GitWorkflow] = r.agents[compile.GitWorkflow]

			for name := range test.Returns {
				w.agents[name] = func(
					ctx context.Context,
					req formats.Request,
				) (formats.Return, error) {
					call := req.At + "." + strconv.Itoa(req.Attempt)
					at := slices.Index(made[name], call)
					if at < 0 {
						at = len(made[name])
						made[name] = append(made[name], call)
					}
					r.calls[name] = at
					return r.work(ctx, req)
				}
			}
		}

		first, ret := m.play(prog, shape, n, after)

		if first.dead {
			records, err := journal.Read([]byte(m.text()))
			if err != nil {
				t.Fatal(err)
			}
			if journal.Finished(records) {
				return m, first, nil, ""
			}
			for _, r := range records {
				if r.Type == formats.EntryDelegationResult {
					had = append(had, r.Step+"."+strconv.Itoa(r.Attempt))
				}
			}
			_, ret = m.play(prog, shape, 0, false)
		}

		return m, first, had, m.end(ret) + flat(documents) + flat(made)
	}
	whole, all, _, want := kill(0, false)
	if !strings.HasPrefix(want, "completed 0") ||
		strings.Count(whole.text(), `"type":"rollback"`) != 1 {
		t.Fatalf("it ends %s\n%s", want, whole.text())
	}
	kills := 0
	for n := 1; n <= all.lines; n++ {
		if !testkit.Deep() && n%10 != 0 {
			continue
		}
		for _, after := range []bool{false, true} {
			if !*bothWays && after != (n%2 == 0) {
				continue
			}
			m, first, had, got := kill(n, after)
			if !first.dead {
				t.Fatalf("line %d was not reached", n)
			}
			kills++
			if got == "" && after && n == all.lines {
				continue // the run is over
			}
			m.askedOnce(whole, "killed at line "+strconv.Itoa(n))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("killed at line %d (behind it: %v), (-whole +resumed)\n%s\n%s",
					n, after, diff, m.text())
			}
			again := 0
			for at, starts := range m.starts {
				call, _, _ := strings.Cut(at, " ")
				again += starts - 1
				if starts > 1 && slices.Contains(had, call) || whole.starts[at] != 1 {
					t.Errorf("killed at line %d: %s was started %d times; its result was there: %v",
						n, at, starts, slices.Contains(had, call))
				}
			}
			if again > 1 {
				t.Errorf("killed once at line %d: %d subagents were started again", n, again)
			}
		}
	}

	t.Logf("%d lines, %d kills", all.lines, kills)
}
