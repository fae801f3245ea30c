package commands

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/formats"
	"tercet/internal/lazy"
	"tercet/internal/question"
)

// complete asks the user for what a line lacks, and gives the whole line. If tercet may not ask,
// the error is that of the line, with an example from the file.
func (l *Library) complete(
	ctx context.Context,
	inv formats.Invocation,
	prog *compile.Program,
	use *argspec.UsageError,
) (formats.Invocation, argspec.Values, error) {
	if examples := prog.File.Front.Examples; len(examples) > 0 {
		use.Advice = "such as " + examples[0]
	}
	asks := slices.ContainsFunc(prog.Args, func(s argspec.Spec) bool {
		return s.Ask || s.Rules != ""
	})
	offers, err := l.offers(ctx, use.Open)
	if err != nil {
		return inv, argspec.Values{}, err
	}
	if l.Ask == nil || l.Typed && !asks {
		inv = filled(inv, use.Open, offers)
		values, err := argspec.Bind(inv.Name, prog.Args, inv.Raw, inv.Words)
		if err != nil {
			err = use
		}
		return inv, values, err
	}

	inv, err = l.interview(
		ctx, use,
		l.items(use, offers),
		func(answers []string) formats.Invocation {
			return filled(inv, use.Open, answers)
		},
	)
	if err != nil {
		return inv, argspec.Values{}, err
	}

	values, err := argspec.Bind(inv.Name, prog.Args, inv.Raw, inv.Words)
	return inv, values, err
}

// offers are what the rules of the project say of arguments, in their order; empty where they say
// nothing that fits.
func (l *Library) offers(ctx context.Context, open []argspec.Spec) ([]string, error) {
	out := make([]string, len(open))
	if l.Rules == nil ||
		!slices.ContainsFunc(open, func(s argspec.Spec) bool {
			return s.Rules != ""
		}) {
		return out, nil
	}
	rules, err := l.Rules(ctx)
	for i := range open {
		if text, ok := rules[open[i].Rules].(string); ok && open[i].Check(text) == "" {
			out[i] = text
		}
	}
	return out, err
}

// interview asks for what a line lacks and gives the line that the answers make.
func (l *Library) interview(ctx context.Context, use *argspec.UsageError, items []question.Item,
	line func(answers []string) formats.Invocation,
) (formats.Invocation, error) {
	talk := question.NewInterview(items)
	head := []string{
		use.Error(),
		"Enter takes what stands in brackets, 'back' goes back, Ctrl-D leaves.",
	}
	done := false
	bad := ""
	for !done {
		lines, prompt := talk.Ask()
		switch {
		case bad != "": // the question stands above
			lines = []string{bad}
		case talk.Reviews(): // a user who leaves, or is refused, keeps the line
			lines = append(lines, "  "+line(talk.Answers()).Line)
		}
		answer, err := l.Ask(ctx, append(head, lines...), prompt)
		if err != nil {
			return formats.Invocation{}, err
		}
		head = nil
		done, bad = talk.Answer(answer)
	}
	return line(talk.Answers()), nil
}

// filled is a line with answers for what it lacks.
func filled(inv formats.Invocation, open []argspec.Spec, answers []string) formats.Invocation {
	raw, words := argspec.Fill(open, answers)
	if inv.Words != nil {
		inv.Words = slices.Concat(inv.Words, words)
	} else {
		inv.Raw = strings.TrimSpace(inv.Raw + " " + raw)
	}
	inv.Line = strings.TrimSpace("/" + inv.Name + " " + inv.Raw + argspec.Join(inv.Words))
	return inv
}

// teamForm are names of subagents: in order, side by side, each with the program that does its
// work.
var teamForm = lazy.Regexp(`^[a-z][a-z0-9-]*(=[^\s,+=]+)?( *[,+] *[a-z][a-z0-9-]*(=[^\s,+=]+)?)*$`)

// items are the questions about what a line lacks, each with what is offered.
func (l *Library) items(use *argspec.UsageError, offers []string) []question.Item {
	var out []question.Item
	for i, s := range use.Open {
		item := question.Item{
			Name:     s.Name,
			Text:     s.Description,
			Choices:  s.Values,
			Optional: !s.Required,
			Default:  cmp.Or(offers[i], s.Text(s.Default)),
			Check:    s.Check,
		}
		switch {
		case s.Type == argspec.Boolean:
			item.Choices = []string{"true", "false"}
		case s.Type == argspec.Tasks:
			// numbers beside the words
			item.Choices = nil
			item.Known = s.Values
		case s.Complete == "subagents":
			item.Known = l.Env.Names()
			item.Check = func(answer string) string {
				if teamForm().MatchString(answer) {
					return ""
				}
				return fmt.Sprintf(
					"expected names of subagents such as planner,tester+reviewer, got %q",
					answer,
				)
			}
		}
		if len(item.Choices) > 0 && item.Default == "" && s.Required {
			item.Default = item.Choices[0]
		}
		out = append(out, item)
	}

	return out
}
