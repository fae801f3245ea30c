package interp_test

import (
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/interp"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/scenario"
	"tercet/subagents"
)

const (
	packFlows = "../../templates/packs/flows"
	flowTree  = ".tercet/worktrees/r1"
)

// TestPackFlows runs every test of the pack flows without a process: scripted returns, held to the contracts of their
// subagents, in a world without git. 'tercet test' runs the same files with the engine as it is.
func TestPackFlows(t *testing.T) {
	t.Parallel()
	tests, err := filepath.Glob(packFlows + "/tests/*.json")
	if err != nil || len(tests) < 40 {
		t.Fatalf("Glob = %q, %v, want at least 40", tests, err)
	}
	infos := flowInfos(t)
	for _, file := range tests {
		if strings.HasPrefix(filepath.Base(file), "written-") {
			continue // document-writer looks for files
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			test, err := scenario.Parse(file, src)
			if err != nil {
				t.Fatal(err)
			}
			newFlowRun(t, &test, infos).play()
		})
	}
}

func flowInfos(t *testing.T) map[string]formats.AgentInfo {
	t.Helper()
	infos := map[string]formats.AgentInfo{compile.GitWorkflow: {Name: compile.GitWorkflow, Builtin: true, NoArtifacts: true}}
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

type flowRun struct {
	*world

	t     *testing.T
	test  *scenario.Test
	cast  *scenario.Cast
	calls map[string]int
	asked []string // ids of gates
}

func newFlowRun(t *testing.T, test *scenario.Test, infos map[string]formats.AgentInfo) *flowRun {
	t.Helper()
	w := &flowRun{world: newWorld(t), t: t, test: test, cast: scenario.NewCast(test, false), calls: map[string]int{}}
	w.infos = infos
	maps.Copy(w.docs, test.Files)
	for name := range infos {
		w.agents[name] = w.work
	}
	w.agents[compile.GitWorkflow] = func(_ context.Context, r formats.Request) (formats.Return, error) {
		ret := ok(r.Step)
		if r.Input["action"] == "open" {
			ret.Metadata.Worktree = "/project/" + flowTree
		}
		return ret, nil
	}
	w.answer = func(g formats.Gate) (formats.Decision, error) {
		w.asked = append(w.asked, flowStep(g.Step))
		if d, ok := w.cast.Answer(g); ok {
			return d, nil
		}
		if !test.Yes {
			return formats.Decision{}, &formats.GateOpenError{Gate: g}
		}
		return byItself(g)
	}
	w.cfg.Docs, w.cfg.AutoApprove = flowDocs{docs{w.world}}, test.Yes
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
	ret, err := formats.ParseForm([]byte(said.Text), true, formats.ParseOptions{Agent: r.Agent})
	if err != nil || r.Question != "" {
		return ret, err
	}
	if ret, err = interp.Derive(ctx, info, ret.Typed(info.Fields)); err != nil {
		return ret, err
	}
	for i := range ret.Artifacts {
		if ret.Artifacts[i].Type != formats.ArtifactImplementation {
			ret.Artifacts[i].Type = formats.ArtifactDocumentation
		}
	}
	if bad := ret.Validate(info); bad != nil {
		w.t.Errorf("the return of %s: %s", r.Agent, strings.Join(bad, "; "))
	}
	maps.Copy(w.docs, said.Writes)
	return ret, nil
}

func (w *flowRun) play() {
	t := w.t
	name, line, _ := strings.Cut(strings.TrimPrefix(w.test.Line, "/"), " ")
	src, err := os.ReadFile(packFlows + "/commands/" + name + ".md")
	if err != nil {
		t.Fatal(err)
	}
	file, err := syntax.Parse(name+".md", src)
	if err != nil {
		t.Fatal(err)
	}
	prog, err := compile.Compile(file, w.world)
	if err != nil {
		t.Fatal(err)
	}
	values, err := argspec.Bind(name, prog.Args, line, nil)
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
		exit = strings.TrimSuffix(strings.Fields(told(ret))[1], ":")
	} else {
		exit = strconv.Itoa(formats.ExitFor(formats.CodeOf(err)))
	}
	want := &w.test.Expect
	if exit != strconv.Itoa(want.Exit) {
		t.Errorf("exit %s, %s, %v, want %d", exit, told(ret), err, want.Exit)
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
	return slices.DeleteFunc(slices.Sorted(maps.Keys(d.w.docs)), func(name string) bool { return !fits(name) }), nil
}
