package commands_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"tercet/commands"
	"tercet/commands/compile"
	"tercet/formats"
	"tercet/internal/dialect"
)

// FuzzFlow: a file of another tool is a prompt or a workflow, and whatever is wrong with its steps
// stands at a place in it.
func FuzzFlow(f *testing.F) {
	for _, seed := range []string{
		"",
		"---\na: b: c\narguments: [x, y]\n---\n## Workflow Execution\n\n### Step 1: Return\n\n" +
			"```yaml step\nreturn: x\n```\n",
		"\n<!-- c -->\n---\nteam: x\nteam: y\ncommand: z\n...\n## Workflow Execution\n" +
			"Step 1: Delegate to planner\nStep 2: Return it\n",
		"## Argument Parsing\nExtract a from args[0]\nValidate a is positive integer\n\n" +
			"## Workflow Execution\nStep 1: Return a\n",
		"prompt = '''\n## Workflow Execution\n\nStep 1: Return {{args}}\n'''\n",
		"---\n\xff\r\nx: [\r\n---\r\n## workflow execution\r\nStep 1: Return\r\n",
		"---\n# Title\n## Workflow Execution\n```yaml step\nreturn: x\n```\n",
	} {
		f.Add(seed, strings.HasPrefix(seed, "prompt"))
	}

	env := shippedSet(f)
	f.Fuzz(func(t *testing.T, src string, toml bool) {
		place := dialect.Place{Dialect: dialect.Claude, Label: "own"}
		file := "a/page.md"
		if toml {
			place.Dialect = dialect.Gemini
			file = "a/page.toml"
		}
		c, err := dialect.Parse(place, file, []byte(src))
		if err != nil {
			return
		}

		flow := commands.Flow(c)
		if flow == nil {
			return
		}
		prog, err := compile.Compile(flow, env)
		var d *formats.Diagnostics
		switch {
		case err == nil && prog.Name != "a:page":
			t.Errorf("called %q, want a:page", prog.Name)
		case err != nil && !errors.As(err, &d):
			t.Fatalf("Compile = %v, want findings", err)
		case err == nil:
			return
		}

		lines := strings.Count(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(src), "\n") + 1
		for _, one := range d.List {
			if one.File != c.File || one.Pos.Line > max(lines, c.Line) {
				t.Errorf("finding at %s:%d of %d lines: %s",
					one.File, one.Pos.Line, lines, one.Message)
			}
		}
	})
}

// TestFlow: what makes a file of another tool a workflow, and what its head may hold.
func TestFlow(t *testing.T) {
	t.Parallel()
	env := shippedSet(t)
	const step = "\n### Step 1: Return\n\n```yaml step\nreturn: x\n```\n"
	for _, tt := range []struct{ src, want string }{
		{"## Workflow Execution\n" + step, "workflow"},
		{"## workflow execution\n" + step, "workflow"},
		{"Text.\n" + step, "prompt"}, // no section
		{"## Workflow Execution\n\n### Step 1: Look\n\nDo it.\n", "prompt W042:3"},
		{
			"## Workflow Execution\n\nStep 1: Delegate to general with it\nStep 2: Return it\n",
			"E160:3",
		},
		{
			"## Workflow Execution\n\nStep 1: Delegate to planner\nStep 2: Look\nStep 3: Think\n",
			"prompt W042:4",
		},
		{
			"## Workflow Execution\n\nStep 1: Delegate to planner\nStep 2: Think\n" +
				"Step 3: Return it\n",
			"E210:4",
		},
		{"## Workflow Execution\n\n1. Read\n2. Write\n", "prompt"},
		// an example of one
		{"## Workflow Execution\n\n````markdown\n```yaml step\nreturn: x\n```\n````\n", "prompt"},
		{
			"---\ncommand: page\nmodel: opus\ntools: [a]\n---\n## Workflow Execution\n" + step,
			"workflow",
		},
		{"---\ncommand: other\nduring: planing\n---\n## Workflow Execution\n" + step, "E132:3"},
		{
			"---\ncommand: other\nteem: x\n---\n## Workflow Execution\n" + step,
			"workflow W036:2 W031:3",
		},
		{"---\ndescription: a: b\nhidden: x\n---\n## Workflow Execution\n" + step, "E012:3"},
		{
			"---\ndescription: a: b\narguments: [issue]\n...\n## Workflow Execution\n" +
				strings.Replace(step, ": x", ": ${{ $args.isue }}", 1),
			"E302:10",
		},
	} {
		c, err := dialect.Parse(
			dialect.Place{Dialect: dialect.Claude, Label: "own"},
			"page.md",
			[]byte(tt.src),
		)
		if err != nil {
			t.Fatal(err)
		}
		flow := commands.Flow(c)
		got := "prompt"
		list := c.Warnings
		if flow != nil {
			prog, err := compile.Compile(flow, env)
			got = "workflow"
			if err != nil {
				var d *formats.Diagnostics
				errors.As(err, &d)
				got = ""
				list = d.List
			} else {
				list = prog.Warnings
			}
		}
		for want := range strings.FieldsSeq(tt.want) {
			code, line, _ := strings.Cut(want, ":")
			found := code == got
			for _, d := range list {
				found = found || d.Code == code && line == strconv.Itoa(d.Pos.Line)
			}
			if !found {
				t.Errorf("%q is %q %v, want %s", tt.src, got, list, want)
			}
		}
	}
}
