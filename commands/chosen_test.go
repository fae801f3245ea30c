package commands_test

import (
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"tercet/commands"
	"tercet/formats"
	"tercet/subagents"
)

// TestChosenIsAsked: what the subagent of a line needs and the line lacks is asked for, and checked
// as it is typed.
func TestChosenIsAsked(t *testing.T) {
	t.Parallel()
	library, err := commands.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	src, err := fs.ReadFile(library, "agent.md")
	if err != nil {
		t.Fatal(err)
	}
	set := shippedSet(t)
	counter := formats.AgentInfo{
		Name: "counter",
		Inputs: map[string]formats.Input{
			"depth": {Type: formats.TypeInteger, Required: true},
			"list":  {Type: formats.TypeList},
			"plan":  {Type: formats.TypeString, Document: "plan"},
		},
	}
	if err := set.Add(subagents.Definition{Info: counter}, subagents.Func(nil)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ raw, lines, want string }{
		{"general", "Say: hello\n\n", `map[prompt:Say: hello]`},
		{"task-reviser Shorter", "5\n\n", `text:Shorter`},
		{"counter", "deep\n3\n\n", `map[depth:3]`},
		{"general", "", "EOF"},
		{`general "Say it"`, "", "map[prompt:Say it]"},
		{
			`counter --input depth=2 --input 'list=["a"]' --input plan=docs/a.md`,
			"",
			"map[depth:2 list:[a] plan:docs/a.md]",
		},
		{
			`counter --input depth=2 --input 'list=[1]'`,
			"",
			`/agent: expected list as JSON for input list, got "[1]"`,
		},
		{
			`counter --input depth=2 --input plan=docs/b.md`,
			"",
			`expected a file of the project for input plan, got "docs/b.md"`,
		},
		{`counter --input depth=2 --input plan=/etc/passwd`, "", `outside`},
		{`Counter`, "", `expected name of a subagent for [name], got "Counter"`},
	} {
		t.Run(tt.raw, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			s.files["project/agent.md"] = string(src)
			s.Env = set
			asked := 0
			answers := strings.Split(tt.lines, "\n")
			s.Ask = answering(func(lines []string, _ string) (string, error) {
				asked++
				if asked >= len(answers) {
					return "", io.EOF
				}
				if asked == 1 && !strings.Contains(lines[0], " needs --") {
					t.Errorf("the first question begins with %q, want what is missing", lines)
				}
				return answers[asked-1], nil
			})
			_, err := s.call(t, "agent", tt.raw)
			got := fmt.Sprint(s.inputs)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("/agent %s gives %s, want %s", tt.raw, got, tt.want)
			}
			if err != nil && len(s.inputs) > 0 {
				t.Error("a line that was refused or left has started a subagent")
			}
		})
	}
}
