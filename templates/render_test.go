package templates_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/interp"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/trace"
	"tercet/subagents"
	"tercet/templates"
	"tercet/templates/meta"
)

// agents are the subagents that come with tercet, and some more.
type agents map[string]formats.AgentInfo

func (a agents) Agent(name string) (formats.AgentInfo, bool) {
	info, ok := a[name]
	return info, ok
}

func (a agents) Names() []string {
	var out []string
	for name := range a {
		out = append(out, name)
	}
	return out
}

func library(tb testing.TB) agents {
	tb.Helper()
	out := agents{}
	files, err := fs.Glob(subagents.Library(), "*.md")
	if err != nil {
		tb.Fatal(err)
	}
	for _, file := range files {
		src, err := fs.ReadFile(subagents.Library(), file)
		if err != nil {
			tb.Fatal(err)
		}
		def, err := subagents.ParseDefinition(file, src)
		if err != nil {
			tb.Fatal(err)
		}
		out[def.Info.Name] = def.Info
	}
	return out
}

func (a agents) infos(tb testing.TB, names ...string) []formats.AgentInfo {
	tb.Helper()
	var out []formats.AgentInfo
	for _, name := range names {
		info, ok := a[name]
		if !ok {
			tb.Fatalf("no subagent %s", name)
		}
		out = append(out, info)
	}
	return out
}

// beside gives the subagents of a line with those that work side by side joined by a plus.
func (a agents) beside(tb testing.TB, line string) (list []formats.AgentInfo, beside []bool) {
	tb.Helper()
	for part := range strings.SplitSeq(line, ",") {
		for i, name := range strings.Split(part, "+") {
			list = append(list, a.infos(tb, name)...)
			beside = append(beside, i > 0)
		}
	}
	return list, beside
}

// program parses and compiles a rendered command; any finding, warnings included, is a failure.
func program(tb testing.TB, a agents, name string, src []byte) *compile.Program {
	tb.Helper()
	f, err := syntax.Parse(".tercet/commands/"+name+".md", src)
	if err != nil {
		tb.Fatalf("Parse: %v\n%s", err, src)
	}
	prog, err := compile.Compile(f, a)
	if err != nil {
		tb.Fatalf("Compile: %v\n%s", err, src)
	}
	for _, w := range prog.Warnings {
		tb.Errorf("warning: %s\n%s", w.Error(), src)
	}
	if prog.Name != name {
		tb.Errorf("name = %q, want %q", prog.Name, name)
	}
	return prog
}

// world stands in for everything that a run reaches.
type world struct{}

func (world) Record(context.Context, formats.Problem) error {
	return nil
}

func (world) Append(context.Context, formats.Entry, bool) (bool, error) {
	return false, nil
}

func (world) Live(bool) error {
	return nil
}

func (world) Recall(formats.Entry) (json.RawMessage, bool) {
	return nil, false
}

func (world) Resumable() bool {
	return false
}

func (world) Now() time.Time {
	return time.Unix(0, 0)
}

func (world) Sleep(context.Context, time.Duration) error {
	return nil
}

// delegator answers delegations and writes down each change of the task's status.
type delegator struct {
	t      testing.TB
	agents agents
	status formats.TaskStatus
	prior  formats.TaskStatus
	calls  []string
	reject string // the subagent that rejects
	fail   string // the subagent that fails
	inputs map[string]map[string]any
	start  formats.TaskStatus // empty: that of the sample
	mu     sync.Mutex
	gates  []string // the answers to come
}

// Remember has nothing to do: no worker here asks.
func (d *delegator) Remember(string, string, formats.Decision) {}

// Approve gives the answers to come, in order.
func (d *delegator) Approve(_ context.Context, g formats.Gate) (formats.Decision, error) {
	if len(d.gates) == 0 {
		return formats.Decision{}, &formats.GateOpenError{Gate: g}
	}
	answer := d.gates[0]
	d.gates = d.gates[1:]
	return formats.Decision{Answer: answer}, nil
}

func (d *delegator) Delegate(_ context.Context, r formats.Request) (formats.Return, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	info, ok := d.agents[r.Agent]
	if !ok {
		d.t.Errorf("delegation to %s, which nobody has", r.Agent)
	}
	for name, in := range info.Inputs {
		if v := r.Input[name]; in.Required && v == nil {
			d.t.Errorf("%s called without %s", r.Agent, name)
		} else if v != nil && !in.Type.Holds(v) {
			d.t.Errorf("%s called with %s = %v, want %s", r.Agent, name, v, in.Type)
		}
	}

	for name := range r.Input {
		if _, ok := info.Inputs[name]; !ok && info.Inputs != nil {
			d.t.Errorf("%s called with %s, which it does not take", r.Agent, name)
		}
	}

	if d.inputs == nil {
		d.inputs = map[string]map[string]any{}
	}
	d.inputs[r.Agent] = r.Input
	call := r.Agent
	switch op, _ := r.Input["operation"].(string); op {
	case "":
	case "update_status":
		d.move(r)
		call = string(d.status)
	default:
		call = op
	}

	if action, ok := r.Input["action"].(string); ok {
		call = action
	}
	d.calls = append(d.calls, call)
	if r.Agent == d.fail {
		return formats.Failed(&formats.Failure{
			Code:    formats.CodeBuildError,
			Message: "no luck",
		}), nil
	}

	ret := formats.Return{
		Status:  formats.StatusCompleted,
		Summary: "did it",
		Fields:  map[string]any{},
	}
	if info.Role == formats.RoleReviewer {
		ret.Verdict = formats.VerdictApproved
		if r.Agent == d.reject {
			ret.Verdict = formats.VerdictRejected
		}
	}
	if call == "open" {
		ret.Metadata.Worktree = "/tree"
	}
	if call == "close" {
		ret.Metadata.Worktree = formats.WorktreeClosed
	}
	for name, f := range info.Fields {
		if f.Type == formats.TypeString {
			ret.Fields[name] = name
		}
	}

	for _, a := range info.Artifacts {
		ret.Artifacts = append(ret.Artifacts, formats.Artifact{
			Type: a.Type,
			Path: fmt.Sprintf("%s/%d.md", a.Type, len(d.calls)),
		})
	}

	return ret, nil
}

// move holds the table of changes.
func (d *delegator) move(r formats.Request) {
	if back, _ := r.Input["back"].(bool); back {
		d.status = d.prior
		return
	}
	to := formats.TaskStatus(fmt.Sprint(r.Input["status"]))
	var move *formats.Move
	for _, m := range formats.Moves(d.status) {
		if m.To == to {
			move = &m
		}
	}
	switch {
	case move == nil:
		d.t.Errorf("status goes from %s to %s, which the table does not have", d.status, to)
	case move.NeedsReason && r.Input["reason"] == nil:
		d.t.Errorf("status goes from %s to %s without a reason", d.status, to)
	}
	if to.KeepsPrior() {
		d.prior = d.status
	}
	d.status = to
}

// docs gives the sample's files, and a document that its profile accepts for whatever was made.
type docs struct{ meta.Sample }

func (d docs) Open(ctx context.Context, name string) ([]byte, error) {
	switch kind := path.Dir(name); kind {
	case "report":
		return meta.Sample{Planned: true}.Open(
			ctx,
			".tercet/specs/001_sample/reports/research-001.md",
		)
	case "plan":
		return meta.Sample{Planned: true}.Open(
			ctx,
			".tercet/specs/001_sample/plans/implementation-001.md",
		)
	case "review":
		return documents.Draft{
			Profile: documents.ProfileReview,
			Title:   "T",
			Texts: map[string]string{
				"Scope": "s", "Checks": "c", "Findings": "f", "Verdict": "v",
			},
		}.Render(), nil
	}

	return d.Sample.Open(ctx, name)
}

// execute runs a program on the sample.
func execute(
	tb testing.TB,
	prog *compile.Program,
	by *delegator,
	planned, dry bool,
) formats.Return {
	tb.Helper()
	sample := meta.Sample{Planned: planned}
	by.status = formats.NotStarted
	if planned {
		by.status = formats.Planned
	}
	if by.start != "" {
		by.status = by.start
	}
	runner, err := interp.New(interp.Config{
		Lint: func(string, []byte, bool) []formats.Diagnostic {
			return nil
		},
		Agents:   by,
		State:    sample,
		Docs:     docs{sample},
		Problems: world{},
		Approve:  by,
		Journal:  world{},
		Clock:    world{},
		Trace:    trace.Discard{},
		Show:     func(formats.Table) {},
		IDs: interp.IDs{
			Run:     "r1",
			Session: "sess_1_aaaaaa",
			Command: "/" + prog.Name + " 1",
		},
		DryRun: dry,
	})
	if err != nil {
		tb.Fatal(err)
	}
	line := "1"
	if argspec.TaskName(prog.Args) == "" {
		line = "1.2.0"
	}
	values, err := argspec.Bind(prog.Name, prog.Args, line, nil)
	if err != nil {
		tb.Fatal(err)
	}
	ret, err := runner.Run(tb.Context(), prog, values, formats.CommandDepth())
	if err != nil {
		tb.Fatal(err)
	}
	return ret
}

func render(tb testing.TB, shape templates.Shape, d templates.Data) []byte {
	tb.Helper()
	src, err := templates.Render(shape, d)
	if err != nil {
		tb.Fatalf("Render(%s): %v", shape, err)
	}
	return src
}

func TestShapes(t *testing.T) {
	t.Parallel()
	const implement = "implementing open implementer commit set_phase"
	const finish = " publish close completed"
	tests := []struct {
		shape   templates.Shape
		agents  string
		bare    string // calls for a task without anything, "-" if it cannot start
		planned string // calls for a task with a plan
	}{
		{
			"single", "researcher", "researching researcher researched",
			"researching researcher researched",
		},
		{"single", "planner", "planning planner planned", "planning planner planned"},
		{"single", "reviewer", "reviewer link_artifacts", "reviewer link_artifacts"},
		{"single", "tester", "tester", "tester"},
		{"single", "architect", "architect", "architect"},
		{"single", "task-reviser", "task-reviser update_metadata", "task-reviser update_metadata"},
		{"single", "implementer", "-", implement + finish},
		{
			"sequential", "researcher,planner",
			"researching researcher researched planning planner planned",
			"researching researcher researched planning planner planned",
		},
		{
			"sequential", "planner,researcher",
			"planning planner planned researching researcher researched",
			"planning planner planned researching researcher researched",
		},
		{
			"sequential", "researcher,researcher", "researching researcher researcher researched",
			"researching researcher researcher researched",
		},
		{
			"sequential", "reviewer,planner", "planning reviewer link_artifacts planner planned",
			"planning reviewer link_artifacts planner planned",
		},
		{
			"sequential", "planner,reviewer", "planning planner planned reviewer link_artifacts",
			"planning planner planned reviewer link_artifacts",
		},
		{
			"sequential", "researcher,reviewer,researcher",
			"researching researcher reviewer link_artifacts researcher researched",
			"researching researcher reviewer link_artifacts researcher researched",
		},
		{
			"sequential",
			"implementer,reviewer",
			"-",
			implement + " reviewer link_artifacts" + finish,
		},
		{
			"sequential",
			"researcher,implementer,tester,security-auditor",
			"-",
			"implementing researcher " + strings.TrimPrefix(implement, "implementing ") +
				" tester security-auditor" + finish,
		},
		{"sequential", "implementer,researcher", "-", implement + " researcher" + finish},
		{"sequential", "tester,architect", "tester architect", "tester architect"},
		{
			"conditional", "planner,task-reviser", "task-reviser update_metadata",
			"planning planner planned",
		},
		{"conditional", "implementer,planner", "planning planner planned", implement + finish},
		{
			"conditional",
			"implementer,researcher",
			"researching researcher researched",
			implement + finish,
		},
		{
			"conditional", "planner,researcher", "researching researcher researched",
			"planning planner planned",
		},
		{"conditional", "planner,planner", "planning planner planned", "planning planner planned"},
		{"conditional", "reviewer,planner", "planning planner planned", "reviewer link_artifacts"},
		{"conditional", "reviewer,tester", "tester", "reviewer link_artifacts"},
		{
			"iterative", "researcher", "researching researcher researched",
			"researching researcher researched",
		},
		{"iterative", "planner", "planning planner planned", "planning planner planned"},
		{
			"iterative", "researcher,planner", "planning researcher planner planned",
			"planning researcher planner planned",
		},
		{"iterative", "reviewer", "reviewer link_artifacts", "reviewer link_artifacts"},
		{"iterative", "architect,tester", "architect tester", "architect tester"},
		{"iterative", "implementer", "-", implement + finish},
		{
			"parallel", "reviewer+tester", "reviewer tester link_artifacts",
			"reviewer tester link_artifacts",
		},
		{"parallel", "tester+architect", "tester architect", "tester architect"},
		{
			"parallel", "researcher+researcher", "researching researcher researcher researched",
			"researching researcher researcher researched",
		},
		{
			"parallel", "researcher+architect,planner,reviewer+security-auditor",
			"researching researcher architect researched planning planner planned reviewer " +
				"security-auditor link_artifacts",
			"researching researcher architect researched planning planner planned reviewer " +
				"security-auditor link_artifacts",
		},
		{
			"parallel",
			"implementer,reviewer+security-auditor",
			"-",
			implement + " reviewer security-auditor link_artifacts" + finish,
		},
		{
			"iterative",
			"test-designer,implementer,reviewer",
			"-",
			"implementing open test-designer implementer reviewer link_artifacts commit set_phase" +
				finish,
		},
		{
			"iterative",
			"researcher,implementer,implementer",
			"-",
			"implementing open researcher implementer implementer commit set_phase" + finish,
		},
	}
	lib := library(t)
	for _, tt := range tests {
		t.Run(string(tt.shape)+" "+tt.agents, func(t *testing.T) {
			t.Parallel()
			d := templates.Data{Name: "triage", Purpose: "Sort a new report"}
			d.Agents, d.Parallel = lib.beside(t, tt.agents)
			src := render(t, tt.shape, d)
			for title := range titles(string(src)) {
				words := strings.ToLower(title)
				if strings.Contains(words, "delegate") || strings.Contains(words, "subagent") ||
					strings.Contains(words, "-manager") {
					t.Errorf("a step is called %q, want what happens in it", title)
				}
			}
			prog := program(t, lib, "triage", src)
			for _, planned := range []bool{false, true} {
				want := tt.bare
				if planned {
					want = tt.planned
				}
				for _, dry := range []bool{true, false} {
					by := &delegator{t: t, agents: lib}
					ret := execute(t, prog, by, planned, dry)
					if want == "-" {
						if formats.ExitCode(ret) == 0 || len(by.calls) > 0 {
							t.Errorf(
								"run without a plan = %s after %q, want a refusal before any call",
								ret.Status, by.calls,
							)
						}
						continue
					}
					if !ret.Outcome().Passes() {
						t.Errorf("run (planned %t, dry %t) = %s: %s, want it to pass\n%s",
							planned, dry, ret.Outcome(), ret.Summary, src)
					}
					if tt.shape == templates.Parallel { // in any order
						sorted := strings.Fields(want)
						slices.Sort(by.calls)
						slices.Sort(sorted)
						want = strings.Join(sorted, " ")
					}
					if got := strings.Join(by.calls, " "); !dry && got != want {
						t.Errorf("calls (planned %t) = %q, want %q\n%s", planned, got, want, src)
					}
					if strings.Contains(ret.Summary, "null") {
						t.Errorf("summary = %q, want no null in it", ret.Summary)
					}
				}
			}
		})
	}
}

// titles gives the titles of the steps of a command file.
func titles(src string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.SplitSeq(src, "\n") {
			heading, title, ok := strings.Cut(line, ": ")
			if ok && strings.Contains(heading, "# Step ") && !yield(title) {
				return
			}
		}
	}
}

// TestFailures: whatever fails, the task is not left in progress and the worktree is closed.
func TestFailures(t *testing.T) {
	t.Parallel()
	lib := library(t)
	tests := []struct {
		shape        templates.Shape
		agents       string
		fail, reject string
		exit         int
		status       formats.TaskStatus
		last         string // the call before the status is put back
	}{
		{
			shape:  "single",
			agents: "researcher",
			fail:   "researcher",
			exit:   1,
			status: formats.Planned,
		},
		{
			shape:  "sequential",
			agents: "researcher,planner",
			fail:   "planner",
			exit:   1,
			status: formats.Researched,
		},
		{
			shape:  "sequential",
			agents: "planner,reviewer",
			reject: "reviewer",
			exit:   5,
			status: formats.Planned,
		},
		{
			shape:  "sequential",
			agents: "tester,planner",
			reject: "tester",
			exit:   5,
			status: formats.Planned,
		},
		{
			shape:  "single",
			agents: "implementer",
			fail:   "implementer",
			exit:   1,
			status: formats.Partial,
			last:   "close",
		},
		{
			shape:  "sequential",
			agents: "implementer,reviewer",
			reject: "reviewer",
			exit:   5,
			status: formats.Partial,
			last:   "close",
		},
		{
			shape:  "sequential",
			agents: "researcher,implementer",
			fail:   "implementer",
			exit:   1,
			status: formats.Partial,
			last:   "close",
		},
		{
			shape:  "conditional",
			agents: "implementer,planner",
			fail:   "implementer",
			exit:   1,
			status: formats.Partial,
			last:   "close",
		},
		{
			shape:  "iterative",
			agents: "implementer,tester",
			reject: "tester",
			exit:   5,
			status: formats.Partial,
			last:   "close",
		},
	}
	for _, tt := range tests {
		t.Run(string(tt.shape)+" "+tt.agents, func(t *testing.T) {
			t.Parallel()
			src := render(t, tt.shape, templates.Data{
				Name:    "triage",
				Purpose: "Sort a new report",
				Agents:  lib.infos(t, strings.Split(tt.agents, ",")...),
			})
			by := &delegator{
				t:      t,
				agents: lib,
				fail:   tt.fail,
				reject: tt.reject,
			}
			ret := execute(t, program(t, lib, "triage", src), by, true, false)
			if got := formats.ExitCode(ret); got != tt.exit {
				t.Errorf("exit = %d (%s), want %d", got, ret.Summary, tt.exit)
			}
			if by.status != tt.status {
				t.Errorf("status = %s after %q, want %s", by.status, by.calls, tt.status)
			}
			if tt.last != "" && (len(by.calls) < 2 || by.calls[len(by.calls)-2] != tt.last) {
				t.Errorf("calls = %q, want %s before the last", by.calls, tt.last)
			}
		})
	}
}

// TestReason: a change that the table allows only with a reason has one, wherever the task comes
// from.
func TestReason(t *testing.T) {
	t.Parallel()
	lib := library(t)
	src := render(t, templates.Conditional, templates.Data{
		Name:    "x",
		Purpose: "p",
		Agents:  lib.infos(t, "implementer", "researcher"),
	})
	by := &delegator{
		t:      t,
		agents: lib,
		start:  formats.Partial,
	}
	if ret := execute(t, program(t, lib, "x", src), by, false, false); !ret.Outcome().Passes() {
		t.Errorf("run = %s: %s, want it to pass", ret.Outcome(), ret.Summary)
	}
}

// TestLinks: what was made and no change of status links is linked before the end.
func TestLinks(t *testing.T) {
	t.Parallel()
	lib := library(t)
	lib["maker"] = formats.AgentInfo{
		Name:      "maker",
		Role:      formats.RoleUtility,
		Artifacts: []formats.ArtifactSpec{{Type: formats.ArtifactDocumentation}},
	}
	lib["silent"] = formats.AgentInfo{
		Name:      "silent",
		Role:      formats.RoleReviewer,
		Artifacts: []formats.ArtifactSpec{},
	}
	for agents, want := range map[string]string{
		"maker,tester":     "maker tester link_artifacts",
		"maker,planner":    "planning maker planner planned",
		"planner,maker":    "planning planner planned maker link_artifacts",
		"maker,silent":     "maker silent link_artifacts",
		"silent,architect": "silent architect",
	} {
		src := render(t, templates.Sequential, templates.Data{
			Name:    "x",
			Purpose: "p",
			Agents:  lib.infos(t, strings.Split(agents, ",")...),
		})
		by := &delegator{t: t, agents: lib}
		execute(t, program(t, lib, "x", src), by, false, false)
		if got := strings.Join(by.calls, " "); got != want {
			t.Errorf("calls of %s = %q, want %q\n%s", agents, got, want, src)
		}
	}
}

// TestWithoutTask: a command with arguments of its own, such as a release: a gate before the last
// subagent, and a verdict that sends the one before back, twice at most.
func TestWithoutTask(t *testing.T) {
	t.Parallel()
	lib := library(t)
	version := map[string]formats.Input{"version": {Type: formats.TypeString, Required: true}}
	for name, role := range map[string]formats.Role{
		"preparer":      formats.RoleImplementer,
		"docs-reviewer": formats.RoleReviewer,
		"api-reviewer":  formats.RoleReviewer,
		"publisher":     formats.RoleUtility,
	} {
		lib[name] = formats.AgentInfo{
			Name:        name,
			Role:        role,
			NoArtifacts: true,
			Inputs:      version,
		}
	}

	args, err := templates.ParseArgs("version, dry:boolean")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		shape  templates.Shape
		merge  templates.Merge
		agents string
		reject string
		gates  []string
		want   string
		status formats.Outcome
	}{
		{"single", "", "preparer", "", nil, "", formats.OutcomeSuspended},
		{"single", "", "preparer", "", []string{"approve"}, "preparer", formats.OutcomeCompleted},
		{
			"sequential",
			"",
			"preparer,docs-reviewer,publisher",
			"",
			[]string{"approve"},
			"preparer docs-reviewer publisher",
			formats.OutcomeCompleted,
		},
		{
			"sequential", "", "preparer,docs-reviewer,publisher", "docs-reviewer", nil,
			"preparer docs-reviewer preparer docs-reviewer preparer docs-reviewer",
			formats.OutcomeRejected,
		},
		{
			"parallel",
			"all",
			"preparer,docs-reviewer+api-reviewer,publisher",
			"",
			[]string{"approve"},
			"preparer docs-reviewer api-reviewer publisher",
			formats.OutcomeCompleted,
		},
		{
			"parallel",
			"all",
			"preparer,docs-reviewer+api-reviewer,publisher",
			"",
			[]string{"reject"},
			"preparer docs-reviewer api-reviewer",
			formats.OutcomeFailed,
		},
		{
			"parallel", "all", "preparer,docs-reviewer+api-reviewer,publisher", "api-reviewer", nil,
			"preparer docs-reviewer api-reviewer preparer docs-reviewer api-reviewer preparer " +
				"docs-reviewer api-reviewer",
			formats.OutcomeRejected,
		},
		{
			"parallel",
			"any",
			"docs-reviewer+api-reviewer,publisher",
			"api-reviewer",
			[]string{"approve"},
			"docs-reviewer api-reviewer publisher",
			formats.OutcomeCompleted,
		},
		{
			"parallel",
			"most",
			"docs-reviewer+api-reviewer",
			"api-reviewer",
			[]string{"approve"},
			"docs-reviewer api-reviewer",
			formats.OutcomeRejected,
		},
	} {
		t.Run(
			string(tt.shape)+" "+string(tt.merge)+" "+tt.agents+" "+tt.reject,
			func(t *testing.T) {
				t.Parallel()
				d := templates.Data{
					Name:    "release",
					Purpose: "Publish a release",
					Args:    args,
					Gate:    true,
					Merge:   tt.merge,
				}
				d.Agents, d.Parallel = lib.beside(t, tt.agents)
				src := render(t, tt.shape, d)
				prog := program(t, lib, "release", src)
				by := &delegator{
					t:      t,
					agents: lib,
					reject: tt.reject,
					gates:  tt.gates,
				}
				ret := execute(t, prog, by, false, false)
				want := strings.Fields(tt.want)
				slices.Sort(want)
				slices.Sort(by.calls)
				if ret.Outcome() != tt.status || !slices.Equal(by.calls, want) ||
					len(by.gates) > 0 {
					t.Errorf("run = %s (%s) after %q, want %s after %q\n%s",
						ret.Outcome(), ret.Summary, by.calls, tt.status, want, src)
				}
				for name, in := range by.inputs {
					if in["version"] != "1.2.0" {
						t.Errorf("%s was called with %v, want the version", name, in)
					}
				}
			},
		)
	}
}

func TestParseArgs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"none":                     "",
		"task":                     "<task_number>",
		"version,dry:boolean":      "<version> [--dry]",
		"dry_run:boolean, version": "<version> [--dry-run]",
		"n:integer?, task":         "<task_number> [--n]",
		"note:text":                "<note>",
	} {
		args, err := templates.ParseArgs(text)
		var got []string
		for _, a := range args {
			got = append(got, a.Usage())
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("ParseArgs(%q) = %q, %v, want %q", text, got, err, want)
		}
	}

	for text, want := range map[string]string{
		"":                      `expected the name of an argument, got ""`,
		"Version":               `got "Version"`,
		"a:strng":               `(boolean, integer, path, string, task, text), got "strng"`,
		"a,a":                   "argument a cannot stand here",
		"t:text,b":              "argument b cannot stand here",
		"help":                  `got "help"`,
		"x:task":                `got "task"`,
		strings.Repeat("a", 33): "expected the name",
	} {
		_, err := templates.ParseArgs(text)
		if err == nil || !strings.Contains(err.Error(), want) ||
			formats.CodeOf(err) != formats.CodeValidationFailed {
			t.Errorf("ParseArgs(%q) = %v, want an error with %q", text, err, want)
		}
	}
}

func FuzzArgs(f *testing.F) {
	for _, s := range []string{
		"task", "version,dry:boolean", "note:text?", "a:task", "none", ",,", "a:b:c?",
	} {
		f.Add(s)
	}
	lib := library(f)
	f.Fuzz(func(t *testing.T, text string) {
		args, err := templates.ParseArgs(text)
		if err != nil {
			return
		}
		d := templates.Data{
			Name:    "x",
			Purpose: "p",
			Args:    args,
			Agents:  lib.infos(t, "architect"),
		}
		src, err := templates.Render(templates.Single, d)
		if err != nil {
			t.Fatalf("Render of %q: %v", text, err)
		}
		program(t, lib, "x", src)
	})
}
