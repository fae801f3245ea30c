package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"tercet/formats"
	"tercet/internal/config"
	"tercet/internal/proc"
	"tercet/subagents/agentcli"
	"tercet/subagents/sandbox"
)

// own is what results show of an agent that nothing holds but itself: an agent CLI has permissions of its own; one that asks
// for leave binds nobody. Whether the order accepts that is the second answer.
func own(order []sandbox.Tier, asks bool) (string, bool) {
	if asks {
		return sandbox.Advisory.String() + " (what the agent asks leave for)", slices.Contains(order, sandbox.Advisory)
	}
	return sandbox.Platform.String() + " (the program's own)", slices.Contains(order, sandbox.Platform) || slices.Contains(order, sandbox.Advisory)
}

// confineAgent puts an agent CLI within bounds, besides its own permissions, which its driver sets to what the subagent may
// do. It may write its tree, if it may write or run commands, the folder of its delegation and what it keeps of itself; it
// has the network, because its model is there.
func (w *world) confineAgent(ctx context.Context, r formats.Request, c proc.Command, room agentcli.Room) (proc.Command, string, error) {
	order, mode := w.tiers(), w.cfg.Boxes.Agents
	itself, accepted := own(order, room.Asks)
	if accepted && (mode == config.AgentsOff || mode == config.AgentsAuto && !room.Known) {
		return c, itself, nil
	}
	probes, err := w.probes(ctx)
	if err != nil {
		return c, sandbox.Blocked.String(), err
	}
	p, ok := agentProbe(order, probes, room.Nest)
	switch {
	case ok:
	case accepted && mode != config.AgentsOn:
		return c, itself, nil
	default:
		return c, sandbox.Blocked.String(), &sandbox.BlockedError{
			Need: order[0], Best: sandbox.Blocked, Why: []string{c.Argv[0] + ": the configuration asks for bounds besides its own, and bubblewrap or landlock give none to it here"},
		}
	}
	for _, dir := range room.Make {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return c, sandbox.Blocked.String(), ioFailure(err)
		}
	}
	b := w.bounds(r.Dir, filepath.Dir(r.Out))
	if !room.Tree {
		b = sandbox.Bounds{Write: []string{filepath.Dir(r.Out)}, Net: true}
	}
	b.Write, b.Keep, b.Nest = append(b.Write, room.Write...), append(b.Keep, room.Keep...), room.Nest
	box := w.prober().Box(p)
	c, err = box.Wrap(c, b)
	return c, box.String(), err
}

// agentProbe gives the first means of the order that can hold an agent CLI: an image has none of them, and under landlock
// a program cannot make bounds of its own. Where the order comes to advisory_only first, a person wants none.
func agentProbe(order []sandbox.Tier, probes []sandbox.Probe, nest bool) (sandbox.Probe, bool) {
	for _, t := range order {
		if t == sandbox.Advisory {
			break
		}
		for _, p := range probes {
			if p.Tier == t && p.OK && (p.Means == sandbox.Bubblewrap || p.Means == sandbox.Landlock && !nest) {
				return p, true
			}
		}
	}
	return sandbox.Probe{}, false
}
