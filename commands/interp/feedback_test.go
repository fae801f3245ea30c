package interp_test

import (
	"strings"
	"testing"

	"tercet/commands/interp"
	"tercet/formats"
)

// TestInject: one block at the end, the person's words first, issues once and numbered anew; nothing open leaves nothing.
func TestInject(t *testing.T) {
	t.Parallel()
	issue := func(text, file string, line int) formats.Issue {
		out := formats.Issue{Level: formats.LevelError, Description: text, Line: line}
		if file != "" {
			out.Files = []string{file}
		}
		return out
	}
	fixed := issue("no test", "", 0)
	fixed.SuggestedFix = "write one"
	first := interp.Inject("Do it.", 1, formats.Feedback{From: "review", Note: "be brief", Answer: "the left one", Issues: []formats.Issue{
		issue("nil", "a.go", 3), issue("nil", "a.go", 3), issue("nil", "b.go", 0), fixed, issue("a.go:9 is wrong", "a.go", 9), issue("a.go:9: bad", "a.go", 9),
	}})
	want := "Do it.\n\n## Revision 1\n\nYour earlier work was sent back by 'review'. Change what is listed here and nothing else.\n\nThe person says: be brief\n\n" +
		"The answer to your question: the left one\n\n1. [error] nil (a.go:3)\n2. [error] nil (b.go)\n3. [error] no test; write one\n4. [error] a.go:9 is wrong\n5. [error] a.go:9: bad"
	if first != want {
		t.Errorf("Inject = %q, want %q", first, want)
	}
	second := interp.Inject(first, 2, formats.Feedback{From: "review", Issues: []formats.Issue{issue("new", "", 0)}})
	if strings.Count(second, "## Revision ") != 1 || !strings.Contains(second, "## Revision 2\n") || strings.Contains(second, "nil") || !strings.HasSuffix(second, "1. [error] new") {
		t.Errorf("Inject again = %q, want one block with what is open", second)
	}
	if third := interp.Inject(second, 3, formats.Feedback{From: "review"}); third != "Do it." {
		t.Errorf("Inject of nothing = %q, want the instruction alone", third)
	}
	if got := interp.Inject("", 1, formats.Feedback{From: "gate", Note: "n", Answer: "n"}); strings.Count(got, "n\n") > 3 || strings.Contains(got, "The answer") {
		t.Errorf("Inject = %q, want the note once", got)
	}
}

// TestPrompt: the extra instruction of the step stands before the feedback.
func TestPrompt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agents["judge"] = in(verdict(formats.VerdictRejected, "bad"), verdict(formats.VerdictApproved))
	w.run(t.Context(), file("", "", "A: id: a\ndelegate: worker\nprompt: Be ${{ \"quick\" }}.", "B: delegate: judge\non: {rejected: {redo: a}}"), "")
	var got []string
	for _, r := range w.requests {
		got = append(got, r.Facets.Instruction)
	}
	if got[0] != "Be quick." || !strings.HasPrefix(got[2], "Be quick.\n\n## Revision 1\n") || got[1] != "" {
		t.Errorf("instructions = %q", got)
	}
}
