package main

import (
	"cmp"
	"encoding/hex"
	"errors"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"tercet/commands"
	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/formats/documents"
	"tercet/formats/returns"
	"tercet/internal/config"
	"tercet/internal/dialect"
	"tercet/internal/packs"
	"tercet/internal/pages"
	"tercet/internal/scenario"
	"tercet/project"
	"tercet/subagents"
)

// TestPages: every diagnostic has a page, its wrong example brings it about on the marked line, and
// the right one does not.
func TestPages(t *testing.T) {
	t.Parallel()
	all, err := pages.All()
	if err != nil {
		t.Fatal(err)
	}
	missing := meanings()
	env := pageAgents(t)
	for _, p := range all {
		if missing[p.Code] == "" {
			t.Errorf("%s: the page stands twice, or about no diagnostic", p.Code)
		}
		delete(missing, p.Code)
		t.Run(p.Code, func(t *testing.T) {
			t.Parallel()
			if p.Text == "" || len(p.Wrong.Lines) == 0 || len(p.Right.Lines) == 0 {
				t.Fatal("the page lacks its text or an example")
			}

			wrong, line := framed(t, p.Wrong, p.Right)
			found := checkExample(t, env, p.Wrong.Frame, wrong)
			if !slices.ContainsFunc(found, func(d formats.Diagnostic) bool {
				return d.Code == p.Code && (line == 0 || d.Pos.Line == line || d.Pos.IsZero())
			}) {
				t.Errorf("the wrong example gives %v, want %s on line %d of\n%.1500s",
					found, p.Code, line, wrong)
			}

			right, _ := framed(t, p.Right, p.Right)
			for _, d := range checkExample(t, env, p.Right.Frame, right) {
				if d.Code == p.Code || d.Severity == formats.SeverityError {
					t.Errorf("the right example gives %v of\n%.1500s", d, right)
				}
			}
		})
	}

	for code := range missing {
		t.Errorf("no page about %s", code)
	}
}

const (
	pageFront = "command: page\ndescription: An example\n"
	pageArgs  = "arguments:\n  - {name: task_number, type: task, required: true}\n" +
		"  - {name: quick, type: boolean, flag: true}\n"
	pageStep = "### Step 1: Plan\n\n```yaml step\nid: plan\ndelegate: planner\n" +
		"with: {task: $task}\n```\n\n### Step 2: Example\n\n```yaml step\n"
	pageFlow = "## Workflow Execution\n\n"
	pageEnd  = "### Step 1: Return\n\n```yaml step\nreturn: Done.\n```\n"
)

// framed puts an example into its frame and gives the text with the line on which the finding is
// expected.
func framed(t *testing.T, e, right pages.Example) (text string, line int) {
	t.Helper()
	body := expandTokens(t, e.String())
	before := ""
	after := ""
	switch frame, _, _ := strings.Cut(e.Frame, " "); frame {
	case "step":
		before = "---\n" + pageFront + pageArgs + "---\n\n" + pageFlow + pageStep
		after = "```\n"
	case "args":
		before = "---\n" + pageFront + pageArgs + "---\n\n## Argument Parsing\n\n```yaml args\n"
		after = "```\n\n" + pageFlow + pageEnd
	case "front":
		before = "---\n" + pageFront
		after = "---\n\n" + pageFlow + pageEnd
		if strings.Contains(body, "command:") {
			before = "---\n"
		}
	case "flow":
		before = "---\n" + pageFront + pageArgs + "---\n\n" + pageFlow
	case "worker":
		before = "---\nname: page\ndescription: An example\n---\n\n" + pageFlow +
			"### Step 1: Example\n\n```yaml step\n"
		after = "```\n"
	case "agent":
		before = "---\nname: page\ndescription: An example\n"
		after = "---\n\n## Instruction\n\nWork.\n"
	case "plan":
		base, err := os.ReadFile("../../formats/documents/testdata/documents/good/plan.full.md")
		if err != nil {
			t.Fatal(err)
		}
		head, tail, ok := strings.Cut(string(base), right.String())
		if !ok {
			t.Fatalf("the right example is no part of the plan:\n%s", right)
		}
		before = head
		after = tail
	}

	if e.Line > 0 {
		line = strings.Count(before, "\n") + e.Line
	}
	return before + body + after, line
}

// expandTokens writes {{300000 x}} and {{byte ff}} out.
func expandTokens(t *testing.T, s string) string {
	t.Helper()
	return regexp.MustCompile(`\{\{(byte|\d+) (.+?)\}\}`).ReplaceAllStringFunc(
		s,
		func(token string) string {
			kind, what, _ := strings.Cut(
				strings.TrimSuffix(strings.TrimPrefix(token, "{{"), "}}"),
				" ",
			)

			if kind == "byte" {
				b, err := hex.DecodeString(what)
				if err != nil {
					t.Fatal(err)
				}
				return string(b)
			}

			n, err := strconv.Atoi(kind)
			if err != nil {
				t.Fatal(err)
			}
			return strings.Repeat(what, n)
		},
	)
}

type agentSet struct{ *subagents.Set }

func pageAgents(t *testing.T) agentSet {
	t.Helper()
	nobody := func(subagents.Definition) subagents.Agent { return subagents.Func(nil) }
	set, err := subagents.Load(nobody, subagents.LibrarySource())
	if err != nil {
		t.Fatal(err)
	}
	return agentSet{set}
}

// checkExample gives everything that is said of a text.
func checkExample(t *testing.T, env compile.Env, frame, text string) []formats.Diagnostic {
	t.Helper()
	frame, profile, _ := strings.Cut(frame, " ")

	var err error
	switch frame {
	case "step", "args", "front", "flow", "file":
		return checkCommand("page.md", []byte(text), env)
	case "worker":
		_, err = compile.Workflow(syntax.ReadWorkflow("page.md", []byte(text)), formats.AgentInfo{
			Name:          "page",
			Workflow:      true,
			CanDelegateTo: []string{"implementer"},
			Inputs: map[string]formats.Input{
				"task": {Type: formats.TypeObject},
				"plan": {Type: formats.TypeString},
			},
		}, env)
	case "agent", "agentfile":
		var def subagents.Definition
		def, err = subagents.ParseDefinition("page.md", []byte(text))
		if err == nil {
			servers := `{"mcpServers": {"newest": {"command": "npx", "args": ["s@latest"]},` +
				`"fixed": {"command": "npx", "args": ["s@2.0.1"]}}}`
			err = def.ResolveServers(fstest.MapFS{subagents.ServersFile: {Data: []byte(servers)}})
		}
		if err == nil {
			return def.Warnings
		}
	case "builtin":
		own := subagents.Source{
			Name:   "own",
			FS:     fstest.MapFS{"page.md": {Data: []byte(text)}},
			Facets: fstest.MapFS{},
		}
		_, err = subagents.Load(nil, own, subagents.LibrarySource())
	case "plan", "document":
		if profile == "" {
			profile = "plan"
		}
		if profile == project.ProfileTemplate || profile == project.ProfileSecrets {
			o := project.CheckOptions{Profile: profile}
			_, bad, err := new(project.Session).Check("page.md", []byte(text), o)
			if err != nil {
				t.Fatal(err)
			}
			return bad.List
		}
		profile, file, _ := strings.Cut(profile, " ") // a name matters to few profiles
		_, d := documents.Parse(
			profile,
			cmp.Or(strings.ReplaceAll(file, " ", "."), "page.md"),
			[]byte(text),
		)
		if d == nil {
			return nil
		}
		return d.List
	case "return", "strict":
		opt := returns.ParseOptions{
			Strict:   frame == "strict",
			Agent:    "page",
			Contract: &formats.AgentInfo{NoArtifacts: true},
		}
		_, err = returns.Parse([]byte(text), opt)
		if syntaxErr, ok := errors.AsType[*formats.Diagnostics](err); ok {
			return syntaxErr.List
		}
	case "taken":
		place := dialect.Place{
			Dialect: dialect.Claude,
			Scope:   dialect.Project,
			Dir:     "own",
			Label:   "own",
			Agents:  true,
		}
		folder := dialect.Folder{Place: place, FS: fstest.MapFS{"page.md": {Data: []byte(text)}}}
		notes, err := pageAgents(t).AddForeign(
			[]dialect.Folder{folder},
			nil,
			func(subagents.Definition) subagents.Agent {
				return subagents.Func(nil)
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		return notes
	case "claude", "gemini", "opencode", "copilot", "claude-agent", "worker-of":
		return checkForeign(t, env, frame, text)
	case "pack":
		_, err = packs.Read("page", fstest.MapFS{"pack.yaml": {Data: []byte(text)}})
	case "scenario":
		_, err = scenario.Parse("page.json", []byte(text))
	case "config":
		_, list := config.Load(config.Layer{
			Name: "workspace",
			File: "config.yaml",
			Data: []byte(text),
		})
		return list
	case "result":
		_, list := returns.ParseAgentResult([]byte(text))
		return list
	default:
		t.Fatalf("unknown frame %q", frame)
	}

	var d *formats.Diagnostics
	if err != nil && !errors.As(err, &d) {
		t.Fatalf("%T: %v", err, err)
	}
	if d == nil {
		return nil
	}
	return d.List
}

// checkForeign reads a file of another tool.
func checkForeign(t *testing.T, env compile.Env, frame, text string) []formats.Diagnostic {
	t.Helper()
	tool, kind, _ := strings.Cut(frame, "-")
	file := map[string]string{"gemini": "page.toml", "copilot": "page.prompt.md"}[tool]
	if file == "" {
		file = "page.md"
	}
	if tool == "worker" {
		tool = "opencode"
	}
	place := dialect.Place{
		Dialect: dialect.Dialect(tool),
		Scope:   dialect.Project,
		Dir:     "own",
		Label:   "own",
		Agents:  kind == "agent",
	}
	var d *formats.Diagnostics
	if kind == "agent" {
		agent, err := dialect.ParseAgent(place, file, []byte(text))
		if errors.As(err, &d) {
			return d.List
		}
		return agent.Warnings
	}

	c, err := dialect.Parse(place, file, []byte(text))
	if errors.As(err, &d) {
		return d.List
	}
	if kind == "of" {
		lib := &commands.Library{
			Open: func(string, string) ([]byte, error) {
				return []byte(text), nil
			},
			Env:     env,
			Foreign: map[string]dialect.Place{"own": place},
		}
		prog, _, err := lib.Load("own", file)
		if err != nil {
			t.Fatal(err)
		}
		return prog.Warnings
	}
	return c.Warnings
}

// checkCommand is the strict check of a command.
func checkCommand(name string, src []byte, env compile.Env) []formats.Diagnostic {
	f := syntax.Read(name, src)
	prog, err := compile.Compile(f, env)
	if err == nil {
		return append(f.Strict, prog.Warnings...)
	}
	if d, ok := errors.AsType[*formats.Diagnostics](err); ok {
		return d.List
	}
	return nil
}
