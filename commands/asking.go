package commands

import (
	"context"
	"slices"
	"strings"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/formats"
	"tercet/internal/question"
)

// complete asks a person for what a line lacks, and gives the whole line. Where nobody is asked, the error is that of
// the line, with an example from the file.
func (l *Library) complete(ctx context.Context, inv formats.Invocation, prog *compile.Program, use *argspec.UsageError,
) (formats.Invocation, argspec.Values, error) {
	if examples := prog.File.Front.Examples; len(examples) > 0 {
		use.Advice = "such as " + examples[0]
	}
	asks := slices.ContainsFunc(prog.Args, func(s argspec.Spec) bool { return s.Ask })
	if l.Ask == nil || l.Typed && !asks {
		return inv, argspec.Values{}, use
	}
	talk := question.NewInterview(l.items(use))
	head := []string{use.Error(), "Enter takes what stands in brackets, 'back' goes back, Ctrl-D leaves."}
	for done := false; !done; {
		lines, prompt := talk.Ask()
		line, err := l.Ask(ctx, append(head, lines...), prompt)
		if err != nil {
			return inv, argspec.Values{}, err
		}
		var bad string
		if done, bad = talk.Answer(line); bad != "" {
			head = []string{bad}
		} else {
			head = nil
		}
	}
	raw, words := argspec.Fill(use.Open, talk.Answers())
	if inv.Words != nil {
		inv.Words = slices.Concat(inv.Words, words)
	} else {
		inv.Raw = strings.TrimSpace(inv.Raw + " " + raw)
	}
	inv.Line = strings.TrimSpace("/" + inv.Name + " " + inv.Raw + argspec.Join(inv.Words))
	values, err := argspec.Bind(inv.Name, prog.Args, inv.Raw, inv.Words)
	return inv, values, err
}

// items are the questions about what a line lacks.
func (l *Library) items(use *argspec.UsageError) []question.Item {
	var out []question.Item
	for _, s := range use.Open {
		item := question.Item{
			Name: s.Name, Text: s.Description, Choices: s.Values, Optional: !s.Required, Default: s.Text(s.Default),
			Check: s.Check,
		}
		switch {
		case s.Type == argspec.Boolean:
			item.Choices = []string{"true", "false"}
		case s.Type == argspec.Tasks:
			item.Choices, item.Known = nil, s.Values // numbers beside the words
		case s.Complete == "subagents":
			item.Known = l.Env.Names()
		}
		if len(item.Choices) > 0 && item.Default == "" && s.Required {
			item.Default = item.Choices[0]
		}
		out = append(out, item)
	}
	return out
}
