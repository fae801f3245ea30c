package question_test

import (
	"slices"
	"strings"
	"testing"

	"tercet/internal/question"
)

func items() []question.Item {
	return []question.Item{
		{
			Name: "name",
			Text: "name of it",
			Check: func(s string) string {
				if strings.ToLower(s) != s {
					return "expected lower case, got " + s
				}
				return ""
			},
		},
		{Name: "shape", Choices: []string{"single", "parallel"}, Default: "parallel"},
		{
			Name:     "agents",
			Text:     "who does it",
			Known:    []string{"planner", "re\x1bviewer"},
			Optional: true,
		},
	}
}

// TestInterview: each line of an interview and what is asked behind it.
func TestInterview(t *testing.T) {
	t.Parallel()
	// the line, what is wrong with it, the next prompt; "done" ends
	for name, steps := range map[string][][3]string{
		"defaults": {
			{"deploy", "", "shape [parallel]: "},
			{"", "", "agents: "},
			{"", "", "Enter goes on"},
			{"", "", "done"},
		},
		"an empty line": {{"", "an answer is needed, or 'back'", "name: "}},
		"the check":     {{"Deploy", "expected lower case, got Deploy", "name: "}},
		"a choice": {
			{"x", "", "shape"},
			{"round", `expected one of single, parallel, got "round"`, "shape"},
			{"s", "", "agents: "},
		},
		"back": {
			{"x", "", "shape"},
			{"1", "", "agents"},
			{" back ", "", "shape [single]: "},
			{"back", "", "name [x]: "},
			{"back", "", "name [x]: "},
			{"", "", "shape [single]: "},
		},
		"the review": {
			{"x", "", "shape"},
			{"", "", "agents"},
			{"planner", "", "Enter goes on"},
			{"4", `expected Enter or a number up to 3, got "4"`, "Enter"},
			{"1", "", "name [x]: "},
			{"y", "", "Enter"},
			{"", "", "done"},
		},
		"back from there": {
			{"x", "", "shape"},
			{"", "", "agents"},
			{"planner", "", "Enter goes on"},
			{"back", "", "agents [planner]: "},
			{"", "", "Enter"},
		},
	} {
		talk := question.NewInterview(items())
		for _, s := range steps {
			done, bad := talk.Answer(s[0])
			_, prompt := talk.Ask()
			if done {
				prompt = "done"
			}
			if bad != s[1] || !strings.HasPrefix(prompt, s[2]) {
				t.Errorf("%s: %q gives %q and the prompt %q, want %q and %q",
					name, s[0], bad, prompt, s[1], s[2])
			}
		}
	}

	talk := question.NewInterview(items())
	lines, _ := talk.Ask()
	for _, line := range []string{"x", "p"} {
		talk.Answer(line)
		more, _ := talk.Ask()
		lines = append(lines, more...)
	}

	talk.Answer("a\x1b[31m")
	more, _ := talk.Ask()
	want := []string{
		"1 of 3  name of it", "2 of 3  shape", "  1  [s]ingle", "  2  [p]arallel",
		"3 of 3  who does it", "  there are: planner, re<U+001B>viewer", "  1  name: x",
		"  2  shape: parallel",
	}
	got := append(lines, more[:2]...)
	if !slices.Equal(got, want) || strings.Contains(more[2], "\x1b") {
		t.Errorf("the lines are %q and %q, want %q", got, more[2], want)
	}
}

func FuzzInterview(f *testing.F) {
	f.Add("deploy\n\n\n1\nback\n\n")
	f.Add("back\nback\n\n9\n")
	f.Fuzz(func(t *testing.T, text string) {
		talk := question.NewInterview(items())
		for line := range strings.SplitSeq(text, "\n") {
			lines, prompt := talk.Ask()
			if strings.ContainsAny(strings.Join(lines, "")+prompt, "\x1b\n\x00") {
				t.Fatalf("%q shows control characters in %q", text, lines)
			}
			done, bad := talk.Answer(line)
			if done && (bad != "" || talk.Answers()[0] == "" || talk.Answers()[1] == "") {
				t.Fatalf("%q ends with %q, %q", text, talk.Answers(), bad)
			}
		}
	})
}
