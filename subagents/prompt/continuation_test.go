package prompt_test

import (
	"strings"
	"testing"

	"tercet/formats"
	"tercet/subagents/prompt"
)

// TestContinuation composes the prompt of a worker that goes on in its session: what is new, the
// feedback, and where to return. What the session has is not told again.
func TestContinuation(t *testing.T) {
	t.Parallel()
	in := prompt.Input{
		Request: formats.Request{
			Agent: "writer",
			Input: map[string]any{"subject": "zebras", "round": 2},
			Facets: formats.Facets{
				Persona:     "You write.",
				Instruction: "Count the zebras.",
				Knowledge:   []string{"They have stripes."},
				Messages:    []formats.Message{{By: "person", Text: "Be quick."}},
			},
			Feedback: &formats.Feedback{From: "check", Attempt: 1, Issues: []formats.Issue{
				{Level: formats.LevelError, Description: "one is an okapi"},
			}},
			Out: "/p/out",
		},
		Info:    formats.AgentInfo{Name: "writer"},
		Channel: prompt.Channel{File: "/p/call-2/return.json", Nonce: "n0nce-2"},
		News:    &formats.News{Input: map[string]any{"round": 2}},
	}
	check := func(text string, want, not []string) {
		t.Helper()
		for _, s := range want {
			if !strings.Contains(text, s) {
				t.Errorf("prompt lacks %q:\n%s", s, text)
			}
		}
		for _, s := range not {
			if strings.Contains(text, s) {
				t.Errorf("prompt has %q:\n%s", s, text)
			}
		}
	}
	told := []string{"You write.", "Count the zebras.", "They have stripes.", "subject", "# Policy"}
	check(prompt.Compose(in).Text, []string{
		"Input `round`", "one is an okapi", "Be quick.", "/p/call-2/return.json", "n0nce-2",
		"/p/out", "You go on in the session",
	}, told)

	full := in
	full.News = nil
	if prompt.StableSum(in) != prompt.StableSum(full) {
		t.Error("the stable sum depends on the session, so a replay could not compare it")
	}

	// a repair is about the call before it, whose session has the feedback and the messages
	in.Request.Repair = []string{"expected a summary, got none"}
	in.Request.Refused = `{"status": "completed"}`
	in.News = &formats.News{}
	check(prompt.Compose(in).Text, []string{"expected a summary", "n0nce-2"},
		append(told, "one is an okapi", "Be quick.", `{"status"`, "# Knowledge"))
}
