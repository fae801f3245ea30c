package agentcli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tercet/internal/proc"
	"tercet/subagents/agentcli"
)

// TestAccount: two machines name the same account alike, by its key, by what the login says or by
// the user's own name for it, and no name has the key in it.
func TestAccount(t *testing.T) {
	t.Parallel()

	one := t.TempDir()
	two := t.TempDir()

	for _, home := range []string{one, two} {
		name := filepath.Join(home, ".claude.json")
		text := `{"oauthAccount": {"accountUuid": "a-1"}, "numStartups": ` + "3}"
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	account := func(d agentcli.Driver, own string, env ...string) string {
		return (&agentcli.CLI{
			Driver:  d,
			Account: own,
			Starter: &proc.Starter{Env: env},
		}).AccountOf()
	}

	const key = "ANTHROPIC_API_KEY=sk-secret-0123"
	login := account(agentcli.Claude(), "", "HOME="+one)

	for what, pair := range map[string][2]string{
		"login":  {login, account(agentcli.Claude(), "", "HOME="+two)},
		"folder": {login, account(agentcli.Claude(), "", "HOME=/x", "CLAUDE_CONFIG_DIR="+two)},
		"key": {
			account(agentcli.Claude(), "", key, "HOME="+one),
			account(agentcli.Claude(), "", key, "HOME="+two),
		},
		"own name": {account(agentcli.Claude(), "plan", key), "claude:plan"},
		"nothing": {
			account(agentcli.Gemini(), "", "HOME=/x"), account(agentcli.Gemini(), "", "HOME=/x"),
		},
	} {
		if pair[0] != pair[1] || strings.Contains(pair[0], "secret") {
			t.Errorf("%s: accounts %q and %q, want the same name", what, pair[0], pair[1])
		}
	}

	others := map[string]bool{
		login:                               true,
		account(agentcli.Claude(), "", key): true,
		account(agentcli.Claude(), "", "HOME=/x"):        true,
		account(agentcli.Claude(), "", "HOME=/y"):        true,
		account(agentcli.Codex(), "", "HOME="+one):       true,
		account(agentcli.Codex(), "", "CODEX_HOME="+two): true,
	}
	if len(others) != 6 {
		t.Errorf("different accounts have the same name: %v", others)
	}
}
