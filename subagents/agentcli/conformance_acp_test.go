package agentcli_test

import (
	"strings"
	"testing"

	"tercet/formats"
	"tercet/subagents"
	"tercet/subagents/agentcli"
)

// driven finds what a name of -agents stands for, and the folder that it is installed in: a CLI, or with -acp at the end an
// agent of the Agent Client Protocol, of which only claude's is a program of its own.
func driven(t *testing.T, name string) (agentcli.Driver, agentcli.Speaker, string) {
	t.Helper()
	plain, acp := strings.CutSuffix(name, "-acp")
	driver, ok := agentcli.ByName(plain)
	if !ok {
		t.Fatalf("-agents: expected one of %v, or %v with -acp behind it, got %q", agentcli.Names(), agentcli.SpeakerNames(), name)
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
	return &agentcli.ACP{Speaker: d.speaker, Definition: def, Starter: c.Starter, Root: c.Root, Nonce: c.Nonce, Mask: c.Mask, Confine: c.Confine}
}

// greets asks the agent who it is.
func (d drive) greets(t *testing.T) {
	t.Helper()
	found, err := agentcli.ProbeACP(t.Context(), d.starter(t, scene{scenario: "text"}, "version"), d.speaker, t.TempDir())
	if err != nil || found.Version != d.speaker.Driver.Tested {
		t.Errorf("ProbeACP(%s) = %+v, %v, want version %s", d.speaker.Name, found, err, d.speaker.Driver.Tested)
	}
}

// acpCases are the cases of a CLI with what differs.
func (d drive) acpCases(all []conformance) []conformance { return all }

func measuredACP(t *testing.T, _ drive, p played) {
	t.Helper()
	if p.used.Runner != agentcli.RunnerACP || len(p.used.Prompt) != 64 || p.used.Model == "" {
		t.Errorf("measured = %+v, want runner, model and digest of the prompt", p.used)
	}
	if p.used.Tokens.Input < 100 || p.used.Tokens.Output < 20 {
		t.Errorf("tokens = %+v, want at least those of one answer", p.used.Tokens)
	}
}

var _ = formats.CodeDenied
