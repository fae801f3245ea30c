package main

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"tercet/formats"
	"tercet/internal/control"
	"tercet/internal/nearest"
	"tercet/internal/proc"
	"tercet/subagents"
	"tercet/subagents/agentcli"
	"tercet/subagents/builtin"
	"tercet/subagents/cassette"
	"tercet/subagents/checks"
	"tercet/subagents/offline"
	"tercet/subagents/sandbox"
)

// workers makes what does the work of subagents without steps.
type workers struct{ *world }

// worker gives what does the work of a subagent file without steps: the program that it names, else
// its runners. It is recorded, or replayed, where the flags ask for that.
func (w workers) worker(def subagents.Definition) subagents.Agent {
	agent := w.runners(def)
	switch {
	case w.tape == nil:
		return agent
	case w.flags.replay != "":
		return &cassette.Player{
			Info: def.Info,
			From: w.tape,
			Root: w.dir,
			Mask: w.mask.Values,
		}
	}
	return &cassette.Recorder{
		Info:  def.Info,
		Agent: agent,
		To:    w.tape,
		Root:  w.dir,
		Mask:  w.mask.Values,
	}
}

func (w workers) runners(def subagents.Definition) subagents.Agent {
	if len(def.Argv) > 0 && !slices.Contains(def.Info.Runner, agentcli.RunnerACP) {
		return w.modelless(agentcli.Runner, &agentcli.Exec{
			Definition: def,
			Starter:    w.starter,
			Root:       w.dir,
			Nonce:      newNonce,
			Wrap: func(
				ctx context.Context,
				r formats.Request,
				c proc.Command,
			) (proc.Command, string, error) {
				return w.keeper.Program(ctx, r, c, slices.Contains(def.Info.Tools, "net"))
			},
		})
	}
	// the file of sandbox-runner; no flag replaces Go
	if slices.Equal(def.Info.Runner, []string{"builtin"}) {
		return builtin.SandboxRunner{
			Keeper:   w.keeper,
			Starter:  w.starter,
			Approver: w.approver,
			Clock:    clock{},
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

// wanted are the runners of a subagent: that of the flag, else those of its file, else that of the
// configuration.
func (w workers) wanted(info formats.AgentInfo) []string {
	switch {
	case w.flags.runner != "":
		return []string{w.flags.runner}
	case len(info.Runner) > 0:
		return info.Runner
	}
	return []string{w.cfg.Runner}
}

// online tells whether a model does the work of subagents that name no runner.
func (w workers) online() bool {
	return cmp.Or(
		w.wanted(formats.AgentInfo{})[0],
		agentcli.RunnerOffline,
	) != agentcli.RunnerOffline
}

// known refuses a runner of --runner that there is not, before anything begins.
func (w workers) known(name string) error {
	all := append(
		slices.Sorted(maps.Keys(w.cfg.ACP)),
		agentcli.RunnerACP,
		agentcli.RunnerOffline,
		agentcli.RunnerAuto,
	)
	all = append(agentcli.Names(), all...)
	if name == "" || slices.Contains(all, name) {
		return nil
	}
	return formats.Fail(formats.CodeUsage,
		cmp.Or(nearest.Help(name, all), "'tercet doctor' shows which can work here"),
		"expected a runner (%s), got %q",
		strings.Join(all, ", "), name)
}

// runner gives the Agent of one runner.
func (w workers) runner(def subagents.Definition, name string) subagents.Agent {
	switch name {
	case agentcli.RunnerOffline, "":
		return w.modelless(agentcli.RunnerOffline, offline.Workers{
			Docs:         w.docs,
			Git:          w.git,
			Starter:      w.starter,
			Approver:     w.approver,
			Clock:        clock{},
			Confine:      w.keeper.Script,
			ConfineCheck: w.checkBounds(),
		}.For(def.Info))
	case agentcli.RunnerAuto:
		return &agentcli.Chosen{
			Auto: w.auto,
			For: func(found string) subagents.Agent {
				return w.runner(def, found)
			},
		}
	}

	cli := &agentcli.CLI{
		Runner:       name,
		Definition:   def,
		Models:       w.models,
		Starter:      w.starter,
		Root:         w.dir,
		Nonce:        newNonce,
		IsolatedHome: w.cfg.IsolatedHome,
		Confine:      w.keeper.Agent,
		Heard:        agentcli.Heard{Mask: w.mask.Line, Trace: w.sink},
		Allow: func() error {
			return control.Ceiling(w.desk, w.cfg.Daily)
		},
	}
	var ok bool
	if cli.Driver, ok = agentcli.ByName(name); !ok {
		return w.speaking(cli)
	}
	return cli
}

// asked are the models that flags and configuration ask for.
func (w workers) asked() subagents.Models {
	var once sync.Once
	return subagents.Models{
		Flag:   w.flags.model,
		Config: w.cfg.Model,
		Origin: func(key string) string { return w.cfg.Origin(key).String() },
		Unused: func(runner, model string) {
			once.Do(func() {
				w.term.note("runner %s has no choice of models: %s is not used", runner, model)
			})
		},
	}
}

// modelless is an agent whose runner has no choice of models, which is told where this run asks for
// one.
func (w workers) modelless(runner string, agent subagents.Agent) subagents.Agent {
	model := cmp.Or(w.flags.model, w.env("TERCET_MODEL"))
	if model == "" {
		return agent
	}
	told := func() { w.models.Unused(runner, model) }
	return agentcli.Modelless{Link: agentcli.Link{Name: runner, Agent: agent}, Told: told}
}

// newNonce makes the word that a return echoes.
func newNonce() string {
	return strings.ReplaceAll(uuid.NewString(), "-", "")[:16]
}

// speaking gives the Agent of a runner that speaks the Agent Client Protocol. It comes from the
// subagent's file, else from the configuration.
func (w workers) speaking(cli *agentcli.CLI) subagents.Agent {
	s, known, err := w.speaker(cli.Runner)
	switch {
	case cli.Runner == agentcli.RunnerACP && len(cli.Definition.Argv) > 0:
		s = agentcli.SpeakerOf(cli.Definition.Argv)
	case err != nil:
		return failing(err)
	case !known && cli.Runner != agentcli.RunnerACP:
		return agentcli.Unknown(cli.Runner)
	}
	cli.Speaker = &s
	return cli
}

// failing stands for what cannot be had.
func failing(err error) subagents.Agent {
	return subagents.Func(func(context.Context, formats.Request) (formats.Return, error) {
		return formats.Failed(err), nil
	})
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
		err = broken(
			formats.CodeConfig,
			w.cfg.Origin("acp."+runner).String(),
			err,
			formats.HelpOf(err),
		)
	}
	return known, true, err
}

// openTape opens the folder of --record, which is made, or of --replay, which must be there.
func (w runs) openTape() error {
	flags := w.flags
	name := flags.record + flags.replay
	switch {
	case name == "" || w.tape != nil:
		return nil
	case flags.record != "" && flags.replay != "":
		return usage("expected --record or --replay, got both")
	case flags.replay != "" && !isDir(name):
		return usage("expected a folder for --replay, got %q", name)
	}
	if flags.record != "" {
		if err := os.MkdirAll(name, 0o700); err != nil {
			return broken(formats.CodeIO, "folder of --record", err)
		}
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return broken(formats.CodeIO, "folder of recordings", err)
	}
	w.tape = root
	w.keep(root)
	return nil
}

// newBell makes what tells the program of `notify` what waits for the user.
func (w *world) newBell() *control.Notifier {
	return &control.Notifier{
		Dir:  w.dir,
		Now:  time.Now,
		Warn: func(err error) { w.term.note("warning: notify: %s", err) },
		Start: func(ctx context.Context, line []byte, run string) error {
			c := proc.Command{
				Argv:    w.cfg.Notify,
				Dir:     w.dir,
				Env:     []string{"TERCET_RUN=" + run},
				Stdin:   w.mask.Line(line),
				Private: true,
				Purpose: proc.PurposeNotice,
				Timeout: proc.Timeout{Total: noticeTime},
			}
			res, err := w.starter.Run(ctx, c)
			switch {
			case err != nil:
				return err
			case res.TimedOut != "":
				return formats.Fail(formats.CodeTimeout, "",
					"%s took longer than %s", w.cfg.Notify[0], noticeTime)
			case !res.Success():
				return formats.Fail(formats.CodeUnknown, "",
					"%s ended with exit status %d", w.cfg.Notify[0], res.Exit)
			}
			return nil
		},
	}
}

// noticeTime bounds the program of `notify`.
const noticeTime = 10 * time.Second

// newKeeper makes what keeps programs within bounds here.
func (w *world) newKeeper() *sandbox.Keeper {
	b := w.cfg.Boxes
	k := &sandbox.Keeper{
		Prober: sandbox.Prober{
			Starter: w.starter,
			Image: sandbox.Image{
				Name:   b.Image,
				Engine: sandbox.Means(b.Engine),
				Net:    b.Network,
				Client: sandbox.EngineEnv(w.env),
				Env: append([]string{
					"LANG", "LC_ALL", "TZ", "TERM", "TERCET_ROOT", "GOFLAGS", "GOPROXY", "GOSUMDB",
					"GOTOOLCHAIN",
				}, w.cfg.Env...),
				NewName: func() string {
					return strings.ReplaceAll(uuid.NewString(), "-", "")
				},
			},
		},
		Root:   w.dir,
		Order:  sandbox.Tighten(w.cfg.Sandbox, w.cfg.SandboxFloor),
		Agents: string(b.Agents),
		Getenv: w.env,
		Allow: func() error {
			v, err := w.gate.Verdict()
			if err == nil && v.By == "" {
				err = v.Refused()
			}
			return err
		},
		Note: func(text string) { w.term.note("%s", text) },
	}
	// Not state.lock.info: each write of the state replaces it, and bwrap fails where that happens
	// while it starts.
	k.Hide = append(k.Hide, filepath.Join(w.dir, formats.Workspace, "state.lock"))
	k.Own = w.stateHome()
	k.Sockets = b.Sockets
	return k
}

// checkBounds are those of a project's checks, nil unless the configuration asks for them.
func (w *world) checkBounds() checks.Confine {
	if !w.cfg.Boxes.Checks {
		return nil
	}
	return w.keeper.Check
}

// sweepContainer removes the container of a child whose owner and supervisor were killed at once. A
// record that names anything else than a container of ours does nothing.
func (w *world) sweepContainer(ctx context.Context, after []string) {
	argv, ok := sandbox.Removal(after)
	if !ok {
		return
	}
	c := proc.Command{
		Argv:    argv,
		Env:     sandbox.EngineEnv(w.env),
		Purpose: proc.PurposeProbe,
		Private: true,
	}
	if _, err := w.starter.Run(ctx, c); err != nil {
		w.term.note("a container may be left, remove it by hand: %s", strings.Join(argv, " "))
	}
}
