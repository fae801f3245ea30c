package compile_test

import (
	"path/filepath"
	"strings"
	"testing"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/subagents"
)

// flowAgents are the subagents that the larger flows name and that do not ship.
func flowAgents() []string {
	return strings.Fields(`ux-designer supervisor spec-designer visual-designer scaffolder developer e2e-test-designer doc-writer releaser document-writer
		doc-reviewer interviewer poc-engineer concept-validator rules-designer scope-planner hld-author lld-author api-reference-author ops-manual-author
		user-manual-author handover-author codebase-analyzer change-classifier impact-analyzer analyst-intake analyst-core infra-builder db-ops observability
		ops-planner sandbox-runner`)
}

// stubbed knows the subagents of the larger flows: those that do not ship are stubs with an open
// contract.
func stubbed(tb testing.TB) indexedStep {
	tb.Helper()
	env := shipped(tb)

	for _, name := range flowAgents() {
		env.extra[name] = formats.AgentInfo{Name: name, Tools: []string{"read"}}
	}

	for _, name := range []string{
		"reviewer", "security-auditor", "tester", "architect", "test-designer", "researcher",
	} {
		info, _ := env.Agent(name)
		info.Inputs = nil
		info.Fields = nil
		info.Statuses = nil
		env.extra[name] = info
	}

	return env
}

// TestFlows compiles the examples of the specification and larger ones as they stand.
func TestFlows(t *testing.T) {
	t.Parallel()
	env := stubbed(t)

	git, _ := env.Agent("git-workflow-manager")
	if _, ok := git.Inputs["files"]; !ok {
		t.Error("git-workflow-manager takes no files")
	}

	for name, src := range read(t, "../syntax/testdata/flows/*.md") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			_, found := try(t, env, filepath.Base(name), src)

			for _, d := range found {
				if d.Code != "W240" && d.Code != "W241" {
					t.Errorf("unexpected: %v", d)
				}
			}
		})
	}
}

// TestWorkflow compiles the steps of a subagent of the specification against the subagents that
// ship.
func TestWorkflow(t *testing.T) {
	t.Parallel()
	const file = "../syntax/testdata/flows/subagents/task-executor.md"
	src := read(t, file)[file]

	def, err := subagents.ParseDefinition("task-executor.md", src)
	if err != nil {
		t.Fatal(err)
	}

	f := syntax.ReadWorkflow("task-executor.md", src)
	if len(f.Found) > 0 {
		t.Fatal(f.Found)
	}

	p, err := compile.Workflow(f, def.Info, shipped(t))
	if err != nil {
		t.Fatal(err)
	}

	if !p.Workflow || len(p.File.Steps) != 2 || len(p.File.Args.Load) != 2 || len(p.Warnings) > 0 {
		t.Errorf("program = %+v", p)
	}
}
