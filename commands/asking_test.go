package commands_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"tercet/commands"
	"tercet/commands/argspec"
	"tercet/formats"
	"tercet/internal/question"
)

const asking = `---
command: ask
description: Asks
arguments:
  - {name: name, type: string, required: true, unless: [all], pattern: '[a-z]+', description: whose it is}
  - {name: text, type: text, required: true, unless: [all]}
  - {name: kind, type: enum, values: [small, large], flag: true, required: true, unless: [all]}
  - {name: area, type: enum, values: [here, there], flag: true, default: here, ask: true}
  - {name: workers, type: string, flag: true, ask: true, complete: subagents}
  - {name: note, type: string, flag: true}
  - {name: all, type: boolean, flag: true}
examples: ['/ask me --kind small Do it']
---

## Workflow Execution

### Step 1: Return

` +
	"```yaml step\nreturn: \"${{ $args | del(._raw, .all) | tojson }} of ${{ $run.command }}\"\n" +
	"```\n"

// answering asks as a terminal does.
func answering(
	ask func(lines []string, prompt string) (string, error),
) func(context.Context, commands.MissingArguments) ([]string, error) {
	return func(_ context.Context, missing commands.MissingArguments) ([]string, error) {
		var items []question.Item
		for _, q := range missing.Questions {
			items = append(items, question.Item(q))
		}
		return question.NewInterview(items).Run(missing.Problem, missing.Line, ask)
	}
}

// TestAsking: what a line lacks is asked for, in the order of the file, and the run has the whole
// line.
func TestAsking(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, raw string
		typed     bool
		lines     string // what the person types
		want      string // of the summary, or of the error
		asked     int    // questions, the review among them
	}{
		{"all is there", "me --kind small Do it", false, "", `"kind":"small","name":"me"`, 0},
		{
			"nothing is there", "", false, "me\nDo it, soon\n2\n\nreviewer\n\n",
			`{"area":"here","kind":"large","name":"me","note":null,"text":"Do it, soon","workers":"reviewer"} of /ask me --kind=large --workers=reviewer "Do it, soon"`,
			6,
		},
		{
			"some is there", "--area there me", false, "Do\n\n\n\n",
			`{"area":"there","kind":"small","name":"me","note":null,"text":"Do","workers":null} of /ask --area there me --kind=small Do`,
			4,
		},
		{"dashes", "", false, "me\n--area x\ns\n\n\n\n", `"text":"--area x"`, 6},
		{"a wrong answer", "", false, "ME\nme\nDo\ns\n\n\n\n", `"name":"me"`, 7},
		{"at the prompt", "", true, "me\nDo\ns\n\n\n\n", `"name":"me"`, 6},
		{
			"wrong names", "", false, "me\nDo\ns\n\nThe Reviewer\nreviewer, b+c=x/y\n\n",
			`"workers":"reviewer, b+c=x/y"`, 7,
		},
		{"left", "", false, "me\n", "EOF", 2},
		{"not needed", "--all", false, "", `"name":null`, 0},
		{
			"a wrong word is no question", "ME", false, "",
			`expected text matching [a-z]+ for <name>, got "ME"`, 0,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			s.files["project/ask.md"] = asking
			s.Typed = tt.typed
			asked := 0
			answers := strings.Split(tt.lines, "\n")
			s.Ask = answering(func(lines []string, prompt string) (string, error) {
				asked++
				if asked == len(answers) || asked > 20 {
					return "", io.EOF
				}
				if asked == 1 && !strings.HasPrefix(lines[0], "/ask: missing ") || prompt == "" {
					t.Errorf("the first question begins with %q, its prompt is %q", lines, prompt)
				}
				if strings.HasPrefix(prompt, "Enter goes on") &&
					!strings.HasPrefix(lines[len(lines)-1], "  /ask ") {
					t.Errorf("the review shows no line: %q", lines)
				}
				if strings.HasPrefix(lines[0], "expected ") && len(lines) > 1 {
					t.Errorf("a wrong answer repeats the question: %q", lines)
				}
				return answers[asked-1], nil
			})
			ret, err := s.call(t, "ask", tt.raw)
			got := ret.Summary
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, tt.want) || asked != tt.asked {
				t.Errorf("%d questions and %q, want %d and %q", asked, got, tt.asked, tt.want)
			}
			if tt.name == "left" && len(s.runs) > 0 {
				t.Errorf("runs %v began, want none", s.runs)
			}
		})
	}
}

// TestAskingNobody: all that is missing is told at once, with a line that would do.
func TestAskingNobody(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.files["project/ask.md"] = asking
	_, err := s.call(t, "ask", "me")
	use, ok := errors.AsType[*argspec.UsageError](err)
	if !ok || use.Message != "missing <text>, --kind" ||
		use.Help() != "such as /ask me --kind small Do it" {
		t.Errorf("the line ends with %v, want what is missing and an example", err)
	}
	s.Ask = answering(func([]string, string) (string, error) {
		return "", io.EOF
	})
	s.files["project/ask.md"] = strings.ReplaceAll(asking, ", ask: true", "")
	if _, err = s.call(t, "ask", "me"); !errors.Is(err, io.EOF) {
		t.Errorf("a command without 'ask' gives %v, want it to ask for what is required", err)
	}
	s.Ask = func(context.Context, commands.MissingArguments) ([]string, error) { return nil, nil }
	if _, err = s.call(t, "ask", "me"); formats.CodeOf(err) != formats.CodeBug {
		t.Errorf("a frontend that gives no answers: %v, want BUG", err)
	}
	s.Typed = true
	if _, err = s.call(t, "ask", "me"); !errors.As(err, &use) {
		t.Errorf("the same at the prompt gives %v, want the line back", err)
	}
}

const ruled = `---
command: ask
description: Asks
arguments:
  - {name: lang, type: enum, values: [en, ja], flag: true, required: true, rules: output_language}
  - {name: slug, type: string, pattern: '[a-z]+', flag: true, required: true, rules: slug}
---

## Workflow Execution

### Step 1: Return

` + "```yaml step\nreturn: \"${{ $args.lang }} ${{ $args.slug }} of ${{ $run.command }}\"\n```\n"

// TestRulesAnswer: what the rules of the project say of an argument is offered to who is asked, and
// taken where nobody is; the line goes before them, and what does not fit counts for nothing.
func TestRulesAnswer(t *testing.T) {
	t.Parallel()
	const missing = "missing --lang, --slug"
	for _, tt := range []struct {
		name, raw string
		rules     map[string]any
		typed     bool
		lines     string // what the person types; empty: nobody is asked
		want      string
	}{
		{
			"nobody",
			"",
			map[string]any{"slug": "clock", "output_language": "ja"},
			false,
			"",
			"ja clock of /ask --lang=ja --slug=clock",
		},
		{
			"the line first",
			"--slug watch",
			map[string]any{"slug": "clock", "output_language": "ja"},
			false,
			"",
			"ja watch of",
		},
		{
			"one is missing",
			"",
			map[string]any{"slug": "clock", "output_language": nil},
			false,
			"",
			missing,
		},
		{
			"one does not fit",
			"",
			map[string]any{"slug": "My Clock", "output_language": "ja"},
			false,
			"",
			missing,
		},
		{"no rules", "", nil, false, "", missing},
		{
			"offered",
			"",
			map[string]any{"slug": "clock", "output_language": "ja"},
			false,
			"\n\n\n",
			"ja clock of",
		},
		{
			"another answer",
			"",
			map[string]any{"slug": "clock", "output_language": "ja"},
			true,
			"en\nwatch\n\n",
			"en watch of",
		},
		{"nothing to offer", "", nil, false, "\nwatch\n\n", "en watch of"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			s.files["project/ask.md"] = ruled
			s.Typed = tt.typed
			s.Rules = func(context.Context) (map[string]any, error) {
				return tt.rules, nil
			}
			answers := strings.Split(tt.lines, "\n")
			if tt.lines != "" {
				s.Ask = answering(func([]string, string) (string, error) {
					if len(answers) == 0 {
						return "", io.EOF
					}
					answer := answers[0]
					answers = answers[1:]
					return answer, nil
				})
			}
			ret, err := s.call(t, "ask", tt.raw)
			got := ret.Summary
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
