package team

import (
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// accountLimit is a usage limit that a run met.
type accountLimit struct {
	Why   string    `json:"why"`
	Until time.Time `json:"until"` // by the home's clock
	Run   string    `json:"run"`   // which met it
}

// accountsFile has the limits at the home, by account.
const accountsFile = formats.Workspace + "/team.accounts.json"

// The bounds of a limit.
const (
	// unknownLimit is how long an account is left alone whose agent did not say when its limit
	// ends.
	unknownLimit = 10 * time.Minute
	longestLimit = 31 * 24 * time.Hour
)

// handleAccount answers a run that asks whether it may use an account, or notes the limit that it
// met. Other runs with this account wait until then, and do not meet it in turn.
func (k *Keeper) handleAccount(q formats.HomeRequest) error {
	const most = 200 // bytes of a name
	if q.Account == "" || len(q.Account) > most {
		return formats.Fail(formats.CodeUsage, "", "expected the name of an account, got %q",
			formats.Clip(q.Account, most))
	}

	now := k.project.Host.Clock.Now()

	k.mu.Lock()
	defer k.mu.Unlock()
	if q.Limit == nil {
		return k.checkAccount(q.Account, now)
	}

	for name, limit := range k.accounts {
		if !now.Before(limit.Until) {
			delete(k.accounts, name)
		}
	}

	span := q.Limit.For
	if span <= 0 {
		span = unknownLimit
	}
	k.accounts[q.Account] = accountLimit{
		Why:   formats.Clip(q.Limit.Why, 2*most),
		Until: now.Add(min(span, longestLimit)).UTC().Truncate(time.Second),
		Run:   q.Run,
	}

	data, err := json.Marshal(k.accounts)
	if err == nil {
		err = atomicfile.WriteIn(
			k.project.Root, accountsFile, data, atomicfile.Options{Mode: 0o600},
		)
	}
	if err != nil {
		return formats.OnFile("write", accountsFile, err)
	}
	return nil
}

// checkAccount is a *formats.LaterError while a limit of an account lasts. It needs mu.
func (k *Keeper) checkAccount(name string, now time.Time) error {
	limit, known := k.accounts[name]
	if !known || !now.Before(limit.Until) {
		return nil
	}
	return &formats.LaterError{
		Why:   limit.Why + "; run " + limit.Run + " met this limit of the same account",
		Until: limit.Until,
	}
}

// loadAccounts reads the limits that an earlier hub was told.
func (k *Keeper) loadAccounts() error {
	data, err := atomicfile.ReadFile(k.project.Root, accountsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return formats.OnFile("read", accountsFile, err)
	}

	if err := json.Unmarshal(data, &k.accounts); err != nil || k.accounts == nil {
		return formats.Fail(formats.CodeInvalidState, "remove it: its limits are met once more",
			"%s: expected usage limits by account", accountsFile)
	}
	return nil
}
