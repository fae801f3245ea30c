package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"tercet/formats"
	"tercet/subagents"
	"tercet/subagents/agentcli"
	"tercet/subagents/cassette"
	"tercet/subagents/offline"
)

// runnerOffline and runnerAuto are the words for the runners that are no agent CLI.
const (
	runnerOffline = "offline"
	runnerAuto    = "auto"
)

// workers makes what does the work of subagents without steps.
type workers struct{ *world }

// worker gives what does the work of a subagent file without steps: the program that it names, else its runners. It is
// recorded, or replayed, where the flags ask for that.
func (w workers) worker(def subagents.Definition) subagents.Agent {
	agent := w.runners(def)
	switch {
	case w.tape == nil:
		return agent
	case w.app.flags.replay != "":
		return &cassette.Player{Info: def.Info, From: w.tape, Root: w.dir, Mask: w.mask.Values}
	}
	return &cassette.Recorder{Info: def.Info, Agent: agent, To: w.tape, Root: w.dir, Mask: w.mask.Values}
}

func (w workers) runners(def subagents.Definition) subagents.Agent {
	if len(def.Argv) > 0 && !slices.Contains(def.Info.Runner, agentcli.RunnerACP) {
		return &agentcli.Exec{
			Definition: def, Starter: w.starter, Root: w.dir, Wrap: w.confineProgram(def.Info.Tools),
			Nonce: func() string { return uuid.NewString()[:8] },
		}
	}
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

// wanted are the runners of a subagent: that of the flag, else those of its file, else that of the configuration.
func (w workers) wanted(info formats.AgentInfo) []string {
	switch {
	case w.app.flags.runner != "":
		return []string{w.app.flags.runner}
	case len(info.Runner) > 0:
		return info.Runner
	}
	return []string{w.cfg.Runner}
}

// runner gives the Agent of one runner.
func (w workers) runner(def subagents.Definition, name string) subagents.Agent {
	switch name {
	case runnerOffline, "":
		return offline.Workers{
			Docs: w.docs, Git: w.git, Starter: w.starter, Approver: w.approver, Clock: clock{}, Confine: w.keeper.Script,
			ConfineCheck: w.checkBounds(),
		}.For(def.Info)
	case runnerAuto:
		return &agentcli.Chosen{Auto: w.auto, For: func(found string) subagents.Agent { return w.runner(def, found) }}
	}
	driver, ok := agentcli.ByName(name)
	if !ok {
		return w.speaking(def, name)
	}
	return &agentcli.CLI{
		Driver: driver, Definition: def, Starter: w.starter, Root: w.dir, Nonce: newNonce, Mask: w.mask.Line,
		IsolatedHome: w.cfg.IsolatedHome, Confine: w.keeper.Agent,
	}
}

// newNonce makes the word that a return echoes.
func newNonce() string { return strings.ReplaceAll(uuid.NewString(), "-", "")[:16] }

// speaking gives the Agent of a runner that is an agent of the Agent Client Protocol: that of the subagent's file, else
// that of the configuration.
func (w workers) speaking(def subagents.Definition, name string) subagents.Agent {
	s, known, err := w.speaker(name)
	switch {
	case name == agentcli.RunnerACP && len(def.Argv) > 0:
		s = agentcli.SpeakerOf(def.Argv)
	case err != nil:
		return subagents.Func(func(context.Context, formats.Request) (formats.Return, error) {
			return formats.Failed(err), nil
		})
	case !known && name != agentcli.RunnerACP:
		return agentcli.Unknown(name)
	}
	return &agentcli.ACP{
		Definition: def, Runner: name, Speaker: s, Starter: w.starter, Root: w.dir, Nonce: newNonce, Mask: w.mask.Line,
		IsolatedHome: w.cfg.IsolatedHome, Confine: w.keeper.Agent,
	}
}

// speaker gives the agent that the configuration has for a runner.
func (w workers) speaker(runner string) (agentcli.Speaker, bool, error) {
	s, ok := w.cfg.ACP[runner]
	switch {
	case !ok:
		return agentcli.Speaker{}, false, nil
	case len(s.Argv) > 0:
		return agentcli.SpeakerOf(s.Argv), true, nil
	}
	known, err := agentcli.SpeakerByName(s.Name)
	if err != nil {
		err = broken(formats.CodeConfig, w.cfg.Origin("acp."+runner).String(), err, formats.HelpOf(err))
	}
	return known, true, err
}
