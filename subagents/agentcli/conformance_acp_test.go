package agentcli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tercet/formats"
	"tercet/subagents"
	"tercet/subagents/agentcli"
)

// driven finds what a name of -agents stands for, and the folder that it is installed in: a CLI, or
// with -acp at the end an agent of the Agent Client Protocol, of which those of claude and codex
// are programs of their own.
func driven(t *testing.T, name string) (agentcli.Driver, agentcli.Speaker, string) {
	t.Helper()
	plain, acp := strings.CutSuffix(name, "-acp")

	driver, ok := agentcli.ByName(plain)
	if !ok {
		t.Fatalf("-agents: expected one of %v, or %v with -acp behind it, got %q",
			agentcli.Names(), agentcli.SpeakerNames(), name)
	}

	if !acp {
		return driver, agentcli.Speaker{}, name
	}

	speaker, err := agentcli.SpeakerByName(plain)
	if err != nil {
		t.Fatal(err)
	}

	if speaker.Driver.Name == driver.Name {
		return driver, speaker, plain
	}
	return driver, speaker, name
}

// agent is the one that a scene is played with.
func (d drive) agent(c *agentcli.CLI) subagents.Metered {
	if d.speaker.Name == "" {
		return c
	}

	def := c.Definition
	def.Model = map[string]string{"acp": def.Model[d.driver.Name]}

	return &agentcli.CLI{
		Speaker:    &d.speaker,
		Definition: def,
		Starter:    c.Starter,
		Root:       c.Root,
		Nonce:      c.Nonce,
		Heard:      agentcli.Heard{Mask: c.Mask},
		Confine:    c.Confine,
	}
}

// greets asks the agent who it is.
func (d drive) greets(t *testing.T) {
	t.Helper()
	found, err := agentcli.ProbeACP(
		t.Context(),
		d.starter(t, scene{scenario: "text"}, "version"),
		d.speaker,
		t.TempDir(),
	)
	if err != nil || found.Version != d.speaker.Driver.Tested {
		t.Errorf("ProbeACP(%s) = %+v, %v, want version %s",
			d.speaker.Name, found, err, d.speaker.Driver.Tested)
	}
}

// acpCases are the cases of a CLI with what differs, and what the protocol adds.
func (d drive) acpCases(all []conformance) []conformance {
	for i, c := range all {
		if d.speaker.Name != "opencode" {
			break
		}
		switch c.name {
		case "429", "500": // it asks again for some 70 seconds without a word
			all[i].scene.timeout = time.Minute
			all[i].check = func(t *testing.T, _ drive, p played) {
				t.Helper()
				if p.err != nil || len(p.ret.Errors) != 1 ||
					p.ret.Errors[0].Code != formats.CodeTimeout {
					t.Errorf("Run = %+v, %v, want TIMEOUT", p.ret, p.err)
				}
			}
		case "401": // it tells the message of the model's server and not its status
			all[i].check = func(t *testing.T, d drive, p played) {
				t.Helper()
				if p.err != nil || len(p.ret.Errors) != 1 ||
					p.ret.Errors[0].Code != formats.CodeUnknown ||
					!strings.Contains(p.ret.Summary, "the model said no") {
					t.Errorf("Run = %+v, %v, want failed with the words of the model's server",
						p.ret, p.err)
				}
			}
		}
	}

	if d.speaker.Name == "codex" { // its sandbox refuses without a question
		return all
	}
	return append(all, conformance{
		"what it asks is answered and kept",
		scene{scenario: "stray"},
		d.asked,
	})
}

// asked looks into the transcript: the program has asked for leave to write into the tree, and was
// refused in the conversation.
func (d drive) asked(t *testing.T, _ drive, p played) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(filepath.Dir(p.out), "call-1-stdout"))
	if err != nil {
		t.Fatal(err)
	}

	if !strings.Contains(string(text), `"session/request_permission"`) ||
		!strings.Contains(string(text), "made.txt") {
		t.Errorf("the transcript has no question for leave: %.2000s", text)
	}

	if strings.Contains(string(text), "sk-test") {
		t.Error("the transcript has the key")
	}
}

// measuredACP looks at what the agents report: claude tokens and cost, codex nothing, opencode the
// tokens of the last answer, gemini tokens in a way of its own.
func measuredACP(t *testing.T, d drive, p played) {
	t.Helper()
	if p.used.Runner != agentcli.RunnerACP || len(p.used.Prompt) != 64 || p.used.Model == "" {
		t.Errorf("measured = %+v, want runner, model and digest of the prompt", p.used)
	}
	if d.speaker.Name != "codex" && (p.used.Tokens.Input < 100 || p.used.Tokens.Output < 20) {
		t.Errorf("tokens = %+v, want at least those of one answer", p.used.Tokens)
	}
	if d.speaker.Name == "claude" && p.used.Cost <= 0 {
		t.Errorf("cost = %v, want more than nothing", p.used.Cost)
	}
}
