package agentcli

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"tercet/formats"
)

// Accounts shares usage limits with other machines, whose agents may use the same account.
type Accounts interface {
	// Wait is a *formats.LaterError while the usage limit of the account is known to be reached.
	Wait(ctx context.Context, run, account string) error
	// Reached tells the others that it is.
	Reached(ctx context.Context, run, account string, limit *formats.LaterError) error
}

// usageLimitError is the end of a call whose account has reached its usage limit.
type usageLimitError struct{ later *formats.LaterError }

func (e *usageLimitError) Error() string { return e.later.Error() }

func (e *usageLimitError) Unwrap() error { return e.later }

// accountFile is a file of a logged-in user that names the account, without being a secret.
type accountFile struct {
	Login

	Path []string // of the name in its JSON
}

// account names the account of this CLI's agent for a team. Where neither the user nor the agent
// CLI names it, it is that of this user on this machine.
func (c *CLI) account() string {
	child := func(name string) string { return variable(c.Starter.Env, name) }

	runner := cmp.Or(c.Runner, c.Driver.Name)
	if c.Account != "" {
		return runner + ":" + c.Account
	}
	return runner + ":" + c.Driver.accountOf(child)
}

// accountOf gives a name for the account that an agent CLI works with. It tells no secret: of a key
// it is a part of its SHA-256.
func (d Driver) accountOf(lookup func(string) string) string {
	const length = 16
	for _, key := range d.Keys {
		if value := lookup(key); value != "" {
			return "key-" + formats.Sum([]byte(value))[:length]
		}
	}

	for _, f := range d.Accounts {
		base := cmp.Or(lookup(f.Var), filepath.Join(lookup("HOME"), filepath.FromSlash(f.Home)))
		data, err := os.ReadFile(filepath.Join(base, filepath.FromSlash(f.File)))
		if err != nil {
			continue
		}
		if id := jsonText(data, f.Path); id != "" {
			return "id-" + formats.Sum([]byte(id))[:length]
		}
	}

	host, _ := os.Hostname() //nolint:errcheck // the folder tells users of one machine apart
	return "here-" + formats.Sum([]byte(host + "\x00" + lookup("HOME")))[:length]
}

// jsonText is the text at a path of names in a JSON object; empty: there is none.
func jsonText(data []byte, path []string) string {
	for i, name := range path {
		var object map[string]json.RawMessage
		if json.Unmarshal(data, &object) != nil {
			return ""
		}
		data = object[name]
		if i < len(path)-1 {
			continue
		}
		var text string
		if json.Unmarshal(data, &text) != nil {
			return ""
		}
		return strings.TrimSpace(text)
	}
	return ""
}
