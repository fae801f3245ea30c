package main

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/proc"
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

// offerRunner asks on a terminal whether the agent CLIs that are installed shall do the work; empty means no. Without a
// terminal nobody chose, and nothing is chosen. Nothing is started for it.
func (a *app) offerRunner(ctx context.Context, dir string, dry bool) (string, error) {
	if dry || !a.interactive() || exists(filepath.Join(dir, formats.Workspace, "config.yaml")) {
		return "", nil
	}
	starter, err := proc.NewStarter(proc.Starter{
		Allow: func(context.Context, proc.Command) error {
			return &formats.Failure{Code: formats.CodeDenied, Message: "nothing is started here"}
		}, Env: []string{"PATH=" + a.env("PATH")}, Now: time.Now,
	})
	if err != nil {
		return "", err
	}
	found := agentcli.Installed(starter)
	if len(found) == 0 {
		return "", nil
	}
	const yes = "yes"
	asker := &approver{app: a}
	d, err := asker.ask(ctx, formats.Gate{
		Question: "Let " + found[0] + " do the work of subagents? That may cost money; without it nothing but tercet itself works.",
		Show:     []string{"installed: " + strings.Join(found, ", "), "yes writes `runner: auto` into .tercet/config.yaml: the first of these that runs"},
		Choices:  []formats.Choice{{Label: yes, Approves: true}, {Label: "no"}},
	})
	if _, ok := errors.AsType[*formats.GateOpenError](err); ok {
		return "", nil
	}
	if err != nil || d.Answer != yes {
		return "", err
	}
	return runnerAuto, nil
}

// chooseRunner writes the runner that a person chose into the configuration that was just made.
func chooseRunner(dir string, written []string, runner string) error {
	name := path.Join(formats.Workspace, "config.yaml")
	if runner == "" || !slices.Contains(written, name) {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ioFailure(err)
	}
	text := strings.Replace(configYAML, "runner: "+runnerOffline+"\n", "runner: "+runner+"\n", 1)
	if err := errors.Join(atomicfile.WriteIn(root, name, []byte(text), atomicfile.Options{}), root.Close()); err != nil {
		return ioFailure(err)
	}
	return nil
}
