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
)

// completeLine asks the user for what a line lacks, and gives the whole line. If tercet may not
// ask, the error is that of the line, with an example from the file.
func (l *Library) completeLine(
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
	offers, err := l.ruleOffers(ctx, use.Open)
	if err != nil {
		return inv, argspec.Values{}, err
	}
	if l.Ask == nil || l.Typed && !asks {
		inv = withAnswers(inv, use.Open, offers)
		values, err := argspec.Bind(inv.Name, prog.Args, inv.Raw, inv.Words)
		if err != nil {
			err = use
		}
		return inv, values, err
	}

	inv, err = l.interview(
		ctx, use,
		l.questions(use, offers),
		func(answers []string) formats.Invocation {
			return withAnswers(inv, use.Open, answers)
		},
	)
	if err != nil {
		return inv, argspec.Values{}, err
	}

	values, err := argspec.Bind(inv.Name, prog.Args, inv.Raw, inv.Words)
	return inv, values, err
}

// ruleOffers are what the rules of the project say of arguments, in their order; empty where they
// say nothing that fits.
func (l *Library) ruleOffers(ctx context.Context, open []argspec.Spec) ([]string, error) {
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

// MissingArguments is what a line lacks.
type MissingArguments struct {
	Problem   string // as an error says it
	Questions []Question
	// Line is the whole line that the answers make.
	Line func(answers []string) string
}

// Question asks for one value that a line lacks.
type Question struct {
	Name, Text string   // a word and a line that say what it is
	Choices    []string // nil: free text
	Known      []string // words that are known in free text
	Default    string   // taken for an empty answer
	Optional   bool     // an empty answer skips it
	// Check says why an answer is invalid, empty if it is valid; nil accepts all.
	Check func(answer string) string
}

// interview asks for what a line lacks and gives the line that the answers make.
func (l *Library) interview(
	ctx context.Context,
	use *argspec.UsageError,
	questions []Question,
	line func(answers []string) formats.Invocation,
) (formats.Invocation, error) {
	answers, err := l.Ask(ctx, MissingArguments{
		Problem:   use.Error(),
		Questions: questions,
		Line:      func(answers []string) string { return line(answers).Line },
	})
	if err != nil {
		return formats.Invocation{}, err
	}
	if len(answers) != len(questions) {
		return formats.Invocation{}, formats.Fail(formats.CodeBug, "",
			"expected %d answers, got %d", len(questions), len(answers))
	}
	return line(answers), nil
}

// withAnswers is a line with answers for what it lacks.
func withAnswers(inv formats.Invocation, open []argspec.Spec, answers []string) formats.Invocation {
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

// questions are about what a line lacks, each with what is offered.
func (l *Library) questions(use *argspec.UsageError, offers []string) []Question {
	var out []Question
	for i, s := range use.Open {
		q := Question{
			Name:     s.Name,
			Text:     s.Description,
			Choices:  s.Values,
			Optional: !s.Required,
			Default:  cmp.Or(offers[i], s.Text(s.Default)),
			Check:    s.Check,
		}
		switch {
		case s.Type == argspec.Boolean:
			q.Choices = []string{"true", "false"}
		case s.Type == argspec.Tasks:
			// numbers beside the words
			q.Choices = nil
			q.Known = s.Values
		case s.Complete == "subagents":
			q.Known = l.Env.Names()
			q.Check = func(answer string) string {
				if teamForm().MatchString(answer) {
					return ""
				}
				return fmt.Sprintf(
					"expected names of subagents such as planner,tester+reviewer, got %q",
					answer,
				)
			}
		}
		if len(q.Choices) > 0 && q.Default == "" && s.Required {
			q.Default = q.Choices[0]
		}
		out = append(out, q)
	}

	return out
}
