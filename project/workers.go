package project

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
	"tercet/subagents/worktree"
)

// worker gives what does the work of a subagent file without steps: the program that it names, else
// its runners. It is recorded, or replayed, where the flags ask for that.
func (s *Session) worker(def subagents.Definition) subagents.Agent {
	agent := s.runners(def)
	switch {
	case s.tape == nil:
		return agent
	case s.Options.Replay != "":
		return &cassette.Player{
			Info: def.Info,
			From: s.tape,
			Root: s.Project.Dir,
			Mask: s.Project.Mask.Values,
		}
	}
	return &cassette.Recorder{
		Info:  def.Info,
		Agent: agent,
		To:    s.tape,
		Root:  s.Project.Dir,
		Mask:  s.Project.Mask.Values,
	}
}

// runners gives what does the work of a subagent file without regard to recordings.
func (s *Session) runners(def subagents.Definition) subagents.Agent {
	if len(def.Argv) > 0 && !slices.Contains(def.Info.Runner, agentcli.RunnerACP) {
		return s.modelless(agentcli.Runner, &agentcli.Exec{
			Definition: def,
			Starter:    s.Project.Starter,
			Root:       s.Project.Dir,
			Tercet:     s.tercet(),
			Nonce:      newNonce,
			Wrap: func(
				ctx context.Context,
				r formats.Request,
				c proc.Command,
			) (proc.Command, string, error) {
				return s.Project.Keeper.Program(ctx, r, c, slices.Contains(def.Info.Tools, "net"))
			},
		})
	}
	// the file of sandbox-runner; no flag replaces Go
	if slices.Equal(def.Info.Runner, []string{"builtin"}) {
		return builtin.SandboxRunner{
			Keeper:   s.Project.Keeper,
			Starter:  s.Project.Starter,
			Approver: s.approver,
			Clock:    s.Project.Host.Clock,
		}
	}

	wanted := s.runnersOf(def.Info)
	if len(wanted) == 1 {
		return s.runner(def, wanted[0])
	}
	chain := &agentcli.Chain{Now: s.Project.Host.Clock.Now}
	for _, name := range wanted {
		chain.Links = append(chain.Links, agentcli.Link{Name: name, Agent: s.runner(def, name)})
	}

	return chain
}

// runnersOf are the runners of a subagent: that of the flag, else those of its file, else that of
// the configuration.
func (s *Session) runnersOf(info formats.AgentInfo) []string {
	switch {
	case s.Options.Runner != "":
		return []string{s.Options.Runner}
	case len(info.Runner) > 0:
		return info.Runner
	}
	return []string{s.Project.Config.Runner}
}

// usesModel tells whether a model does the work of subagents that name no runner.
func (s *Session) usesModel() bool {
	return cmp.Or(
		s.runnersOf(formats.AgentInfo{})[0],
		agentcli.RunnerOffline,
	) != agentcli.RunnerOffline
}

// checkRunner refuses an unknown runner of the options before anything begins.
func (s *Session) checkRunner(name string) error {
	all := append(
		slices.Sorted(maps.Keys(s.Project.Config.ACP)),
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
func (s *Session) runner(def subagents.Definition, name string) subagents.Agent {
	switch name {
	case agentcli.RunnerOffline, "":
		return s.modelless(agentcli.RunnerOffline, offline.Workers{
			Docs:         s.Project.Docs,
			Profiles:     s.Project.Profiles,
			Git:          s.Project.Git,
			Starter:      s.Project.Starter,
			Approver:     s.approver,
			Clock:        s.Project.Host.Clock,
			Confine:      s.Project.Keeper.Script,
			ConfineCheck: s.Project.checkBounds(),
			Checks:       s.Project.Config.Checks,
		}.For(def.Info))
	case agentcli.RunnerAuto:
		return &agentcli.Chosen{
			Auto: s.auto,
			For: func(found string) subagents.Agent {
				return s.runner(def, found)
			},
		}
	}

	cli := &agentcli.CLI{
		Runner:       name,
		Definition:   def,
		Models:       s.Models,
		Starter:      s.Project.Starter,
		Root:         s.Project.Dir,
		Tercet:       s.tercet(),
		Nonce:        newNonce,
		NewSession:   uuid.NewString,
		IsolatedHome: s.Project.Config.IsolatedHome,
		Confine:      s.Project.Keeper.Agent,
		Instructions: s.Project.instructions.forPrompt,
		Getenv:       s.Project.Host.Env,
		Heard:        agentcli.Heard{Mask: s.Project.Mask.Line, Trace: s},
		Allow: func() error {
			return control.Ceiling(s.Project.Control, s.Project.Config.Daily)
		},
	}
	if t := s.Project.team; t != nil {
		cli.Accounts = teamAccounts{t}
		cli.Account = s.Project.Config.Worker.Account
	}

	var ok bool
	cli.Driver, ok = agentcli.ByName(name)
	if !ok {
		return s.acpAgent(cli)
	}
	return cli
}

// tercet is the word by which a worker's shell starts this program, whatever its PATH is.
func (s *Session) tercet() string {
	return worktree.Quoted(cmp.Or(s.Project.Host.program(), "tercet"))
}

// requestedModels are the models that flags and configuration ask for.
func (s *Session) requestedModels() subagents.Models {
	var once sync.Once
	return subagents.Models{
		Flag:   s.Options.Model,
		Config: s.Project.Config.Model,
		Origin: func(key string) string { return s.Project.Config.Origin(key).String() },
		Unused: func(runner, model string) {
			once.Do(func() {
				s.Project.note("runner %s has no choice of models: %s is not used", runner, model)
			})
		},
	}
}

// modelless is an agent whose runner has no choice of models, which is told where this run asks for
// one.
func (s *Session) modelless(runner string, agent subagents.Agent) subagents.Agent {
	model := cmp.Or(s.Options.Model, s.Project.Host.Env("TERCET_MODEL"))
	if model == "" {
		return agent
	}
	told := func() { s.Models.Unused(runner, model) }
	return agentcli.Modelless{Link: agentcli.Link{Name: runner, Agent: agent}, Warn: told}
}

// newNonce makes the word that a return echoes.
func newNonce() string {
	return strings.ReplaceAll(uuid.NewString(), "-", "")[:16]
}

// acpAgent gives the Agent of a runner that speaks the Agent Client Protocol. It comes from the
// subagent's file, else from the configuration.
func (s *Session) acpAgent(cli *agentcli.CLI) subagents.Agent {
	speaker, known, err := s.Project.Speaker(cli.Runner)
	switch {
	case cli.Runner == agentcli.RunnerACP && len(cli.Definition.Argv) > 0:
		speaker = agentcli.SpeakerOf(cli.Definition.Argv)
	case err != nil:
		return failingAgent(err)
	case !known && cli.Runner != agentcli.RunnerACP:
		return agentcli.Unknown(cli.Runner)
	}
	cli.Speaker = &speaker
	return cli
}

// failingAgent makes an agent that fails each call with an error.
func failingAgent(err error) subagents.Agent {
	return subagents.Func(func(context.Context, formats.Request) (formats.Return, error) {
		return formats.Failed(err), nil
	})
}

// Speaker gives the agent that the configuration has for a runner.
func (p *Project) Speaker(runner string) (agentcli.Speaker, bool, error) {
	s, ok := p.Config.ACP[runner]
	switch {
	case !ok:
		return agentcli.Speaker{}, false, nil
	case len(s.Argv) > 0:
		return agentcli.SpeakerOf(s.Argv), true, nil
	}

	known, err := agentcli.SpeakerByName(s.Name)
	if err != nil {
		err = formats.Broken(
			formats.CodeConfig,
			p.Config.Origin("acp."+runner).String(),
			err,
			formats.HelpOf(err),
		)
	}
	return known, true, err
}

// openTape opens the folder of --record, which is made, or of --replay, which must be there.
func (s *Session) openTape() error {
	record := s.Options.Record
	replay := s.Options.Replay
	name := record + replay
	switch {
	case name == "" || s.tape != nil:
		return nil
	case record != "" && replay != "":
		return usage("expected --record or --replay, got both")
	}
	if replay != "" {
		if info, err := os.Stat(replay); err != nil || !info.IsDir() {
			return usage("expected a folder for --replay, got %q", replay)
		}
	}
	if record != "" {
		if err := os.MkdirAll(name, 0o700); err != nil {
			return formats.Broken(formats.CodeIO, "folder of --record", err)
		}
	}

	root, err := os.OpenRoot(name)
	if err != nil {
		return formats.Broken(formats.CodeIO, "folder of recordings", err)
	}
	s.tape = root
	s.Project.onClose(root)
	return nil
}

// newNotifier makes what tells the program of `notify` what waits for the user.
func (p *Project) newNotifier() *control.Notifier {
	return &control.Notifier{
		Dir:  p.Dir,
		Now:  p.Host.Clock.Now,
		Warn: func(err error) { p.note("warning: notify: %s", err) },
		Start: func(ctx context.Context, line []byte, run string) error {
			c := proc.Command{
				Argv:    p.Config.Notify,
				Dir:     p.Dir,
				Env:     []string{"TERCET_RUN=" + run},
				Stdin:   p.Mask.Line(line),
				Private: true,
				Purpose: proc.PurposeNotice,
				Timeout: proc.Timeout{Total: noticeTime},
			}
			res, err := p.Starter.Run(ctx, c)
			switch {
			case err != nil:
				return err
			case res.TimedOut != "":
				return formats.Fail(formats.CodeTimeout, "",
					"%s took longer than %s", p.Config.Notify[0], noticeTime)
			case !res.Success():
				return formats.Fail(formats.CodeUnknown, "",
					"%s ended with exit status %d", p.Config.Notify[0], res.Exit)
			}
			return nil
		},
	}
}

// noticeTime bounds the program of `notify`.
const noticeTime = 10 * time.Second

// newKeeper makes what keeps programs within bounds here.
func (p *Project) newKeeper() *sandbox.Keeper {
	b := p.Config.SandboxOptions
	k := &sandbox.Keeper{
		Prober: sandbox.Prober{
			Starter: p.Starter,
			Image: sandbox.Image{
				Name:   b.Image,
				Engine: sandbox.Means(b.Engine),
				Net:    b.Network,
				Client: sandbox.EngineEnv(p.Host.Env),
				Env: append([]string{
					"LANG", "LC_ALL", "TZ", "TERM", "TERCET_ROOT", "GOFLAGS", "GOPROXY", "GOSUMDB",
					"GOTOOLCHAIN",
				}, p.Config.Env...),
				NewName: func() string {
					return strings.ReplaceAll(uuid.NewString(), "-", "")
				},
			},
		},
		Root:   p.Dir,
		Tercet: p.Host.program(),
		Order:  sandbox.Tighten(p.Config.Sandbox, p.Config.SandboxFloor),
		Agents: string(b.Agents),
		Getenv: p.Host.Env,
		Allow: func() error {
			v, err := p.Trust.Verdict()
			if err == nil && v.By == "" {
				err = v.Refused()
			}
			return err
		},
		Note: func(text string) { p.note("%s", text) },
	}

	// Not state.lock.info: each write of the state replaces it, and bwrap fails where that happens
	// while it starts.
	k.Hide = append(k.Hide, filepath.Join(p.Dir, formats.Workspace, "state.lock"))
	k.Own = p.Host.StateHome()
	if key := p.Config.Team.Key; key != "" {
		k.Hide = append(k.Hide, p.Host.teamKey(p.Config.Team))
	}
	k.Sockets = b.Sockets
	return k
}

// checkBounds are those of a project's checks, nil unless the configuration asks for them.
func (p *Project) checkBounds() checks.Confine {
	if !p.Config.SandboxOptions.Checks {
		return nil
	}
	return p.Keeper.Check
}

// removeContainer removes the container of a child whose owner and supervisor were killed at once.
// A record that names anything else than a container of ours does nothing.
func (p *Project) removeContainer(ctx context.Context, after []string) {
	argv, ok := sandbox.Removal(after)
	if !ok {
		return
	}
	c := proc.Command{
		Argv:    argv,
		Env:     sandbox.EngineEnv(p.Host.Env),
		Purpose: proc.PurposeProbe,
		Private: true,
	}
	if _, err := p.Starter.Run(ctx, c); err != nil {
		p.note("a container may be left, remove it by hand: %s", strings.Join(argv, " "))
	}
}
