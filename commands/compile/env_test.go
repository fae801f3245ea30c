package compile_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/subagents"
)

// indexedStep is the set of subagents that come with the program, and a few that only tests have.
type indexedStep struct {
	*subagents.Set
	extra map[string]formats.AgentInfo
}

func (k indexedStep) Agent(name string) (formats.AgentInfo, bool) {
	if info, ok := k.extra[name]; ok {
		return info, true
	}
	return k.Set.Agent(name)
}

func (k indexedStep) Names() []string {
	out := k.Set.Names()
	for name := range k.extra {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// shipped is the set of subagents that come with the program, for the checker only.
func shipped(tb testing.TB) indexedStep {
	tb.Helper()
	nobody := func(subagents.Definition) subagents.Agent { return subagents.Func(nil) }
	set, err := subagents.Load(nobody, subagents.LibrarySource())
	if err != nil {
		tb.Fatal(err)
	}

	return indexedStep{set, map[string]formats.AgentInfo{
		"any":    {Name: "any"},
		"nested": {Name: "nested", Workflow: true},
		"auditor": {
			Name: "auditor",
			Role: formats.RoleReviewer,
			Fields: map[string]formats.Field{
				"count": {Type: formats.TypeInteger},
				"clean": {Type: formats.TypeBoolean},
			},
		},
	}}
}

// compiled gives the program of a text, which is named after its command.
func compiled(tb testing.TB, env compile.Env, src string) *compile.Program {
	tb.Helper()
	p, found := try(tb, env, "", []byte(src))
	for _, d := range found {
		tb.Errorf("unexpected: %v", d)
	}
	if p == nil {
		tb.FailNow()
	}
	return p
}

// try gives the program, or the findings; warnings are findings too.
func try(
	tb testing.TB,
	env compile.Env,
	name string,
	src []byte,
) (*compile.Program, []formats.Diagnostic) {
	tb.Helper()
	if name == "" {
		_, rest, _ := strings.Cut(string(src), "command: ")
		word, _, _ := strings.Cut(rest, "\n")
		name = word + ".md"
	}

	readFile := syntax.Read
	build := compile.Compile
	if strings.HasPrefix(filepath.Base(name), "worker-") {
		readFile = syntax.ReadWorkflow
		build = func(f *syntax.File, env compile.Env) (*compile.Program, error) {
			return compile.Workflow(f, formats.AgentInfo{
				Name:     "worker",
				Workflow: true,
				Inputs: map[string]formats.Input{
					"task": {Type: formats.TypeObject},
					"plan": {Type: formats.TypeString},
				},
				CanDelegateTo: []string{
					"implementer", "status-sync-manager", "git-workflow-manager", "nested",
				},
			}, env)
		}
	}

	p, err := build(readFile(name, src), env)
	if err == nil {
		return p, p.Warnings
	}

	if p != nil {
		tb.Errorf("Compile(%s) gives a program beside its error", name)
	}

	list, ok := errors.AsType[*formats.Diagnostics](err)
	if !ok {
		tb.Fatalf("Compile(%s) = %T, want *formats.Diagnostics", name, err)
	}

	return nil, list.List
}

// read gives the files that match, by name.
func read(tb testing.TB, pattern string) map[string][]byte {
	tb.Helper()

	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		tb.Fatalf("Glob(%s) = %v, %v", pattern, files, err)
	}

	out := map[string][]byte{}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		out[name] = src
	}

	return out
}
