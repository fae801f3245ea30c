package team_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tercet/formats"
)

// TestAccountLimits: an account that reached its limit is refused until then, by the home's clock
// and also after a restart; other accounts are not.
func TestAccountLimits(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	k := p.keeper(t, 0)
	job, err := k.Begin("/make 1", false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.History(t.Context(), job.Run, "t1"); err != nil {
		t.Fatal(err)
	}
	ask := func(account string, limit *formats.AccountLimit) error {
		_, err := k.Do(t.Context(), formats.HomeRequest{
			Run: job.Run, Taker: "t1", Do: formats.HomeAccount, Account: account, Limit: limit,
		})
		return err
	}
	waits := func(account string, least, most time.Duration) {
		t.Helper()
		err := ask(account, nil)
		later, ok := errors.AsType[*formats.LaterError](err)
		if !ok {
			t.Fatalf("an account at its limit: %v, want that it waits", err)
		}
		if span := time.Until(later.Until); span < least || span > most {
			t.Errorf("account %s waits for %s, want %s to %s", account, span, least, most)
		}
	}
	for account, limit := range map[string]*formats.AccountLimit{
		"claude:a": {Why: "a session limit", For: 3 * time.Hour},
		"claude:b": {Why: "a limit without a time"},
		"claude:c": {Why: "a wrong clock", For: 1e6 * time.Hour},
	} {
		if err := ask(account, nil); err != nil {
			t.Errorf("an account that nobody knows: %v", err)
		}
		if err := ask(account, limit); err != nil {
			t.Fatal(err)
		}
	}
	waits("claude:a", 2*time.Hour, 3*time.Hour)
	waits("claude:b", 0, 10*time.Minute)
	waits("claude:c", 0, 31*24*time.Hour)
	if err := ask("codex:a", nil); err != nil {
		t.Errorf("an account of another agent: %v", err)
	}
	code(t, "no account", ask("", nil), formats.CodeUsage)

	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	k = p.keeper(t, 0)
	waits("claude:a", 2*time.Hour, 3*time.Hour)
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(p.home.Dir, ".tercet/team.accounts.json")
	if err := os.WriteFile(name, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = newKeeper(p)
	code(t, "a broken file", err, formats.CodeInvalidState)
}
