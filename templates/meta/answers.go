package meta

import (
	"fmt"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/nearest"
	"tercet/templates"
)

// answers are what /meta was told.
type answers struct {
	name    string
	shape   templates.Shape
	agents  []string // in order
	purpose string
}

// read takes the answers out of the input of a delegation and collects everything that is wrong with them.
func read(in map[string]any) (answers, error) {
	var bad []string
	text := func(name, want string) string {
		s, ok := in[name].(string)
		if ok && strings.TrimSpace(s) != "" {
			return strings.TrimSpace(s)
		}
		got := "nothing"
		if in[name] != nil && !ok {
			got = fmt.Sprintf("%T", in[name])
		}
		bad = append(bad, fmt.Sprintf("expected %s as %s, got %s", want, name, got))
		return ""
	}
	a := answers{name: text("name", "the name of the new command")}
	word := text("shape", "the shape of the workflow")
	list := text("agents", "subagents separated by commas")
	a.purpose = text("purpose", "what the command does")
	if err := templates.CheckName("command", a.name); a.name != "" && err != nil {
		bad = append(bad, err.Error())
	}
	if word != "" {
		shape, err := templates.ParseShape(word)
		if err != nil {
			bad = append(bad, strings.TrimSpace(err.Error()+" "+nearest.Help(word, formats.Words(templates.Shapes()))))
		}
		a.shape = shape
	}
	if list != "" {
		for name := range strings.SplitSeq(list, ",") {
			name = strings.TrimSpace(name)
			if err := templates.CheckName("subagent", name); err != nil {
				bad = append(bad, err.Error())
			}
			a.agents = append(a.agents, name)
		}
	}
	if len(bad) > 0 {
		return answers{}, formats.Fail(formats.CodeValidationFailed,
			`/meta NAME --shape single|sequential|conditional|iterative --agents a,b "what it does"`, "%s",
			strings.Join(bad, "; "))
	}
	return a, nil
}

// unknown lists the subagents that nobody has, each once.
func (a answers) unknown(known Agents) []string {
	var out []string
	for _, name := range a.agents {
		if _, ok := known.Agent(name); !ok && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// infos gives the contracts in the order of the line.
func (a answers) infos(known Agents) []formats.AgentInfo {
	var out []formats.AgentInfo
	for _, name := range a.agents {
		if info, ok := known.Agent(name); ok {
			out = append(out, info)
		}
	}
	return out
}
