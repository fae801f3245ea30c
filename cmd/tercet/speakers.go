package main

import (
	"context"

	"tercet/formats"
	"tercet/subagents"
	"tercet/subagents/agentcli"
)

// speaking gives the Agent of a runner that is an agent of the Agent Client Protocol: that of the subagent's file, else that
// of the configuration.
func (w *world) speaking(def subagents.Definition, name string) subagents.Agent {
	s, known, err := w.speaker(name)
	if name == agentcli.RunnerACP && len(def.Argv) > 0 {
		s, known, err = agentcli.SpeakerOf(def.Argv), true, nil
	}
	if err != nil {
		return subagents.Func(func(context.Context, formats.Request) (formats.Return, error) { return formats.Failed(err), nil })
	}
	if !known && name != agentcli.RunnerACP {
		return agentcli.Unknown(name)
	}
	return &agentcli.ACP{
		Definition: def, Runner: name, Speaker: s, Starter: w.starter, Root: w.dir, Nonce: newNonce, IsolatedHome: w.cfg.IsolatedHome, Mask: w.mask.Line, Confine: w.confineAgent,
	}
}

// speaker gives the agent that the configuration has for a runner.
func (w *world) speaker(runner string) (agentcli.Speaker, bool, error) {
	s, ok := w.cfg.ACP[runner]
	switch {
	case !ok:
		return agentcli.Speaker{}, false, nil
	case len(s.Argv) > 0:
		return agentcli.SpeakerOf(s.Argv), true, nil
	}
	known, err := agentcli.SpeakerByName(s.Name)
	if err != nil {
		err = &formats.Failure{Code: formats.CodeConfig, Message: w.cfg.Origin("acp." + runner).String(), Err: err, Help: formats.HelpOf(err)}
	}
	return known, true, err
}
