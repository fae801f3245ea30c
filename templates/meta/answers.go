package meta

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/lazy"
	"tercet/internal/nearest"
	"tercet/templates"
)

// answers are the answers given to /meta.
type answers struct {
	templates.Data
	shape    templates.Shape
	auto     bool              // the work says what the line takes
	domain   string            // what the command is about; may be empty
	agents   []string          // in order
	programs map[string]string // of new subagents, the program that does their work
}

// argsAuto, as the arguments of the command, leaves them to the work.
const argsAuto = "auto"

// usageAdvice is the help for a wrong answer.
const usageAdvice = `/meta NAME --shape single|sequential|conditional|iterative|parallel ` +
	`--agents a,b+c "what it does"`

// readAnswers parses the input of a delegation and collects all errors.
func readAnswers(in map[string]any) (answers, error) {
	var bad []string
	wrong := func(err error) {
		if err != nil {
			bad = append(bad, err.Error())
		}
	}
	text := func(name, want, otherwise string) string {
		s, ok := in[name].(string)
		if ok && strings.TrimSpace(s) != "" {
			return strings.TrimSpace(s)
		}
		if in[name] == nil && otherwise != "" {
			return otherwise
		}
		got := "nothing"
		if in[name] != nil && !ok {
			got = fmt.Sprintf("%T", in[name])
		}
		bad = append(bad, fmt.Sprintf("expected %s as %s, got %s", want, name, got))
		return ""
	}

	a := answers{programs: map[string]string{}}
	a.Name = text("name", "the name of the new command", "")
	word := text("shape", "the shape of the workflow", "")
	list := text("agents", "subagents separated by commas", "")
	a.Purpose = text("purpose", "what the command does", "")
	a.Gate = in["gate"] == "last"
	var err error
	a.Merge, err = templates.ParseMerge(text("merge", "how results are merged", "all"))
	wrong(err)
	a.domain, _ = in["domain"].(string) //nolint:errcheck // empty without it
	line := text("arguments", "the arguments of the command", argsAuto)
	a.auto = line == argsAuto

	if !a.auto {
		a.Args, err = templates.ParseArgs(line)
		wrong(err)
	}

	if a.Name != "" {
		wrong(templates.CheckName("command", a.Name))
	}
	if word != "" {
		a.shape, err = templates.ParseShape(word)
		if err != nil {
			bad = append(
				bad,
				strings.TrimSpace(err.Error()+" "+
					nearest.Help(word, formats.Words(templates.Shapes()))),
			)
		}
	}
	if list != "" {
		a.parseAgents(list, wrong)
	}

	if len(bad) > 0 {
		return answers{}, formats.Fail(formats.CodeValidationFailed, usageAdvice, "%s",
			strings.Join(bad, "; "))
	}
	return a, nil
}

var programForm = lazy.Regexp(`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$`)

// parseAgents parses "a,b+c=tools/run": subagents in order, parallel ones joined by a plus, each
// optionally with its program. Without any plus those of the shape parallel are all parallel.
func (a *answers) parseAgents(list string, wrong func(error)) {
	for part := range strings.SplitSeq(list, ",") {
		for i, word := range strings.Split(part, "+") {
			name, program, has := strings.Cut(strings.TrimSpace(word), "=")
			wrong(templates.CheckName("subagent", name))
			a.agents = append(a.agents, name)
			a.Parallel = append(a.Parallel, i > 0)
			if has {
				a.programs[name] = program
			}
			if has && (!programForm().MatchString(program) || !fs.ValidPath(program)) {
				wrong(fmt.Errorf("expected a program inside the project as in %s=tools/run, got %q",
					name, program))
			}
		}
	}

	if !slices.Contains(a.Parallel, true) {
		a.Parallel = nil
	} else if a.shape != "" && a.shape != templates.Parallel {
		wrong(fmt.Errorf("expected --shape parallel for subagents joined by '+', got %s", a.shape))
	}
}

// newSubagents lists the subagents that do not exist, each once. An existing one keeps its runner.
func (a answers) newSubagents(known Agents) ([]string, error) {
	var out []string
	for name, program := range a.programs {
		if _, ok := known.Agent(name); ok {
			return nil, formats.Fail(formats.CodeValidationFailed,
				"write "+name+" alone, or choose another name",
				"subagent %s is there, and its file says what does its work, not %s", name, program)
		}
	}

	for _, name := range a.agents {
		if _, ok := known.Agent(name); !ok && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out, nil
}
