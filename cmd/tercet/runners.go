package main

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"tercet/formats"
	"tercet/subagents"
	"tercet/subagents/agentcli"
	"tercet/subagents/offline"
)

// runnerOffline and runnerAuto are the words for the runners that are no agent CLI.
const (
	runnerOffline = "offline"
	runnerAuto    = "auto"
)

// wanted are the runners of a subagent: that of the flag, else those of its file, else that of the configuration.
func (w *world) wanted(info formats.AgentInfo) []string {
	switch {
	case w.app.flags.runner != "":
		return []string{w.app.flags.runner}
	case len(info.Runner) > 0:
		return info.Runner
	}
	return []string{w.cfg.Runner}
}

// runners gives the Agent of a subagent file without steps.
func (w *world) runners(def subagents.Definition) subagents.Agent {
	wanted := w.wanted(def.Info)
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
		workers := offline.Workers{Docs: w.docs, Git: w.git, Starter: w.starter, Approver: w.approver, Clock: clock{}, Confine: w.confineScript, ConfineCheck: w.checkBounds()}
		return workers.For(def.Info)
	case runnerAuto:
		return &agentcli.Chosen{Auto: w.auto, For: func(found string) subagents.Agent { return w.runner(def, found) }}
	}
	driver, ok := agentcli.ByName(name)
	if !ok {
		return w.speaking(def, name)
	}
	return &agentcli.CLI{
		Driver: driver, Definition: def, Starter: w.starter, Root: w.dir, Nonce: newNonce, IsolatedHome: w.cfg.IsolatedHome, Mask: w.mask.Line, Confine: w.confineAgent,
	}
}

// newNonce makes the word that a return echoes.
func newNonce() string { return strings.ReplaceAll(uuid.NewString(), "-", "")[:16] }
