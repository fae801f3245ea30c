package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/subagents/agentcli"
	"tercet/subagents/checks"
	"tercet/subagents/sandbox"
)

// newKeeper makes what keeps programs within bounds here.
func (w *world) newKeeper() *sandbox.Keeper {
	b := w.cfg.Boxes
	k := &sandbox.Keeper{
		Prober: sandbox.Prober{Starter: w.starter, Image: sandbox.Image{
			Name: b.Image, Engine: sandbox.Means(b.Engine), Net: b.Network, Client: sandbox.EngineEnv(w.app.env),
			Env: append([]string{
				"LANG", "LC_ALL", "TZ", "TERM", "TERCET_ROOT", "GOFLAGS", "GOPROXY", "GOSUMDB", "GOTOOLCHAIN",
			}, w.cfg.Env...),
			NewName: func() string { return strings.ReplaceAll(uuid.NewString(), "-", "") },
		}},
		Root: w.dir, Order: sandbox.Tighten(w.cfg.Sandbox, w.cfg.SandboxFloor), Agents: string(b.Agents), Getenv: w.app.env,
		Allow: func() error {
			v, err := w.gate.Verdict()
			if err == nil && v.By == "" {
				err = v.Refused()
			}
			return err
		},
		Note: func(text string) { w.app.term.note("%s", text) },
	}
	for _, name := range []string{"state.lock", "state.lock.info"} {
		k.Hide = append(k.Hide, filepath.Join(w.dir, formats.Workspace, name))
	}
	if dir := w.app.stateHome(); dir != "" {
		k.Hide = append(k.Hide, dir)
	}
	if self, err := os.Executable(); err == nil {
		k.Enter = []string{self, sandboxWord}
	}
	return k
}

// confineProgram is what keeps the program of a subagent with these tools within bounds.
func (w *world) confineProgram(tools []string) agentcli.Wrap {
	net := slices.Contains(tools, "net")
	return func(ctx context.Context, r formats.Request, c proc.Command) (proc.Command, string, error) {
		return w.keeper.Program(ctx, r, c, net)
	}
}

// checkBounds are those of a project's checks, nil unless the configuration asks for them.
func (w *world) checkBounds() checks.Confine {
	if !w.cfg.Boxes.Checks {
		return nil
	}
	return w.keeper.Check
}

// sweepContainer removes the container of a child whose owner and supervisor were killed at once. A record that names
// anything else than a container of ours does nothing.
func (w *world) sweepContainer(ctx context.Context, after []string) {
	argv, ok := sandbox.Removal(after)
	if !ok {
		return
	}
	c := proc.Command{Argv: argv, Env: sandbox.EngineEnv(w.app.env), Purpose: proc.PurposeProbe, Private: true}
	if _, err := w.starter.Run(ctx, c); err != nil {
		w.app.term.note("a container may be left, remove it by hand: %s", strings.Join(argv, " "))
	}
}
