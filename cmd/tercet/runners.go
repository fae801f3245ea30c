package main

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"tercet/internal/journal"
	"tercet/subagents"
	"tercet/subagents/agentcli"
	"tercet/subagents/offline"
)

// runnerOffline and runnerAuto are the words for the runners that are no agent CLI.
const (
	runnerOffline = "offline"
	runnerAuto    = "auto"
)

// runners gives the Agent of a subagent file without steps: on the runner of the flag, else those of the file, else that of
// the configuration.
func (w *world) runners(def subagents.Definition) subagents.Agent {
	wanted := def.Info.Runner
	if len(wanted) == 0 {
		wanted = []string{w.cfg.Runner}
	}
	if name := w.app.flags.runner; name != "" {
		wanted = []string{name}
	}
	if len(wanted) == 1 {
		return w.runner(def, wanted[0])
	}
	chain := &agentcli.Chain{Now: time.Now}
	for _, name := range wanted {
		chain.Links = append(chain.Links, agentcli.Link{Name: name, Agent: w.runner(def, name)})
	}
	return chain
}

// runner gives the Agent of one runner.
func (w *world) runner(def subagents.Definition, name string) subagents.Agent {
	switch name {
	case runnerOffline, "":
		workers := offline.Workers{Docs: w.docs, Git: w.git, Starter: w.starter, Approver: w.approver, Clock: clock{}, Confine: w.confineScript}
		return workers.For(def.Info)
	case runnerAuto:
		return &agentcli.Chosen{Auto: w.auto, For: func(found string) subagents.Agent { return w.runner(def, found) }}
	}
	driver, ok := agentcli.ByName(name)
	if !ok {
		return agentcli.Unknown(name)
	}
	return &agentcli.CLI{
		Driver: driver, Definition: def, Starter: w.starter, Root: w.dir, Nonce: newNonce, IsolatedHome: w.cfg.IsolatedHome, Mask: masker(w.starter.Env).Line, Wrap: w.confineAgent,
	}
}

// newNonce makes the word that a return echoes.
func newNonce() string { return strings.ReplaceAll(uuid.NewString(), "-", "")[:16] }

// masker takes out of what is kept the values of an environment whose names say that they are secret.
func masker(env []string) *journal.Masker {
	secret := regexp.MustCompile(`(?i)(TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$`)
	var values []string
	for _, kv := range env {
		if name, value, ok := strings.Cut(kv, "="); ok && secret.MatchString(name) && value != "" {
			values = append(values, value)
		}
	}
	slices.Sort(values)
	return journal.NewMasker(values...)
}
