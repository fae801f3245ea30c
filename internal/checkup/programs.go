package checkup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"tercet/formats"
	"tercet/internal/config"
	"tercet/internal/lazy"
	"tercet/internal/proc"
	"tercet/internal/trust"
	"tercet/subagents/agentcli"
	"tercet/subagents/sandbox"
)

// Programs checks the installed programs that runs need. Check sets MayStart.
type Programs struct {
	Starter *proc.Starter
	Gate    *trust.Gate
	Keeper  *sandbox.Keeper
	Config  *config.Config
	Runner  string // overrides the runner of the configuration; empty: no override
	Dir     string // of the project, absolute
	Speaker func(runner string) (agentcli.Speaker, bool, error)
	// Model gives the model requested for a runner, and who requested it; empty: the runner's own
	// choice.
	Model func(runner string) (model, from string)
	// Getenv gives a variable of the user, for advice; nil: they are not known.
	Getenv   func(name string) string
	MayStart bool // whether processes may start here
	// NoWorkspace: there is no project here, so there is nothing that a user could agree to.
	NoWorkspace bool
}

// Check asks all programs in parallel, because some start slowly.
func (p *Programs) Check(ctx context.Context) []Finding {
	trusted := p.decideTrust()
	asked := []func() Finding{
		func() Finding {
			return p.program(
				ctx, "git",
				failure("git", "not installed", "install git: /implement works in a worktree"),
				"--version",
			)
		},
		func() Finding {
			return p.program(
				ctx, "go",
				warning(
					"go",
					"not installed",
					"install Go if this is a Go project: its checks and 'tercet demo' need it",
				),
				"version",
			)
		},
	}

	firstAgent := len(asked)
	for _, driver := range agentcli.Drivers() {
		asked = append(asked, func() Finding { return p.agent(ctx, driver) })
	}

	firstSpeaker := len(asked)
	for _, name := range slices.Sorted(maps.Keys(p.Config.ACP)) {
		asked = append(asked, func() Finding { return p.acpAgent(ctx, name) })
	}

	found := make([]Finding, len(asked))
	var wg sync.WaitGroup
	for i, ask := range asked {
		wg.Go(func() { found[i] = ask() })
	}
	wg.Wait()

	runner := p.runner(found[firstAgent:firstSpeaker], found[firstSpeaker:])
	return slices.Concat([]Finding{trusted}, found, []Finding{runner, p.sandbox(ctx)})
}

// decideTrust sets MayStart: whether a program may start in this project. The finding says what to
// do if not.
func (p *Programs) decideTrust() Finding {
	v, err := p.Gate.Verdict()
	if err == nil && v.By == "" {
		err = v.Refused()
	}
	switch {
	case err != nil && p.NoWorkspace:
		return skip("trust", "no project here; programs are asked for their versions in one")
	case err != nil:
		return warning("trust", err.Error(), formats.HelpOf(err))
	}
	p.MayStart = true
	return okFinding("trust", "programs may start, trusted by "+v.By)
}

// program asks a program for its version.
func (p *Programs) program(
	ctx context.Context,
	name string,
	missing Finding,
	args ...string,
) Finding {
	at, err := p.Starter.LookPath(name)
	switch {
	case err != nil:
		return missing
	case !p.MayStart:
		return skip(name, at+", "+notAsked)
	}

	res, err := p.Starter.Run(ctx, proc.Command{
		Argv:    append([]string{name}, args...),
		Purpose: proc.PurposeProbe,
		Timeout: proc.Timeout{Total: 10 * time.Second},
	})
	switch {
	case err != nil:
		missing.Text = err.Error()
		missing.Fix = formats.HelpOf(err)
		if errors.Is(err, fs.ErrPermission) {
			missing.Fix = "make that folder writable, or set XDG_STATE_HOME to a folder that is"
		}
	case !res.Success():
		missing.Text = at + " does not print its version"
	default:
		return okFinding(name, fmt.Sprintf("%s (%s)", versionNumber().Find(res.Stdout), at))
	}
	return missing
}

var versionNumber = lazy.Regexp(`\d+\.\d+(?:\.\d+)?\S*`)

// agentDetail is what is known of one agent CLI.
type agentDetail struct {
	Path    string `json:"path,omitempty"`
	Version string `json:"version,omitempty"`
	Tested  string `json:"tested"`
	// a file or the name of a variable; empty: not known
	LoggedIn string `json:"logged_in_by,omitempty"`
	Model    string `json:"model,omitempty"` // that is asked for; empty: its own choice
}

// agent tells of one agent CLI. One that is missing is no fault: there are four.
func (p *Programs) agent(ctx context.Context, driver agentcli.Driver) Finding {
	at, err := p.Starter.LookPath(driver.Name)
	switch {
	case err != nil:
		f := skip(driver.Name, "not installed")
		f.Fix = installCommand(driver)
		f.Detail = agentDetail{Tested: driver.Tested}
		return f
	case !p.MayStart:
		return skip(driver.Name, at+", "+notAsked)
	}
	found, err := agentcli.Probe(ctx, p.Starter, driver)
	f := okFinding(driver.Name, " ("+found.Path+")")
	f.Fix = driver.LoginHelp(p.Getenv, p.childVariable)
	return p.addProbe(f, driver, found, err)
}

// acpAgent tells of an agent of the Agent Client Protocol that the configuration names: it is
// started and asked who it is.
func (p *Programs) acpAgent(ctx context.Context, runner string) Finding {
	s, _, err := p.Speaker(runner)
	if err != nil {
		return failure(runner, err.Error(), formats.HelpOf(err))
	}

	at, err := p.Starter.LookPath(s.Program(p.Dir))
	switch {
	case err != nil:
		f := warning(
			runner,
			s.Driver.Name+" is not installed",
			"install it, or change `acp` in config.yaml",
		)
		if s.Driver.Package != "" {
			f.Fix = installCommand(s.Driver)
		}
		f.Detail = agentDetail{Tested: s.Driver.Tested}
		return f
	case !p.MayStart:
		f := skip(runner, at+", "+notAsked)
		f.Detail = agentDetail{Path: at, Tested: s.Driver.Tested}
		return f
	}

	found, err := agentcli.ProbeACP(ctx, p.Starter, s, p.Dir)
	found.Path = at
	return p.addProbe(
		okFinding(runner, " speaks the Agent Client Protocol ("+at+")"),
		s.Driver,
		found,
		err,
	)
}

func installCommand(d agentcli.Driver) string {
	return "npm install -g " + d.Package + "@" + d.Tested
}

// addProbe completes a finding with what an agent said of itself. Its fix is what to do where no
// login is seen, empty where none has to be.
func (p *Programs) addProbe(
	f Finding,
	driver agentcli.Driver,
	found agentcli.Found,
	err error,
) Finding {
	detail := agentDetail{
		Path:    found.Path,
		Version: found.Version,
		Tested:  driver.Tested,
	}
	model, from := p.Model(f.Name)
	detail.Model = model
	if err != nil {
		f = warning(f.Name, err.Error(), formats.HelpOf(err))
		f.Detail = detail
		return f
	}

	f.Text = cmp.Or(found.Version, "unknown version") + f.Text
	if driver.Tested != "" && found.Version != driver.Tested {
		f.Grade = Warning
		f.Text += ", not the version that tercet is tested with: " + driver.Tested
	}
	detail.LoggedIn = driver.LoggedIn(p.childVariable)
	if detail.LoggedIn != "" {
		f.Text = f.Text + ", logged in by " + detail.LoggedIn
		f.Fix = ""
	} else if f.Fix != "" {
		f.Text += ", no login seen"
	}
	if model != "" {
		f.Text += ", model " + model + " from " + from
	}
	f.Detail = detail
	return f
}

// childVariable gives a variable as agents see it.
func (p *Programs) childVariable(name string) string {
	for _, kv := range p.Starter.Env {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v
		}
	}
	return ""
}

// runner tells whether the configured runner can be used; agents and speakers are what was found of
// those that there are.
func (p *Programs) runner(agents, speakers []Finding) Finding {
	name := cmp.Or(p.Runner, p.Config.Runner, agentcli.RunnerOffline)
	f := okFinding("runner", fmt.Sprintf("%s, from %s", name, p.Config.Origin("runner")))
	fail := func(text, fix string) Finding {
		return failure(f.Name, f.Text+text, fix)
	}
	named := func(f Finding) bool { return f.Name == name }

	installed := agentcli.Installed(p.Starter)
	names := strings.Join(agentcli.Names(), ", ")
	speaker := slices.IndexFunc(speakers, named)
	agent := slices.IndexFunc(agents, named)

	switch {
	case name == agentcli.RunnerOffline:
		if model, from := p.Model(name); model != "" {
			f.Text += "; it has no choice of models, " + model + " from " + from + " is not used"
		}
		if len(installed) > 0 {
			f.Fix = "to let an agent CLI work: --runner " + installed[0] +
				", or `runner: auto` in config.yaml"
		}
	case name == agentcli.RunnerAuto && len(installed) == 0:
		return fail("", "install one of "+names+", or write `runner: offline`")
	case name == agentcli.RunnerAuto:
		f.Text += ": " + installed[0]
	case speaker >= 0:
		if s := speakers[speaker]; s.Grade == Failure || s.Fix != "" {
			return fail(": "+s.Text, s.Fix)
		}
	case name == agentcli.RunnerACP:
		return fail(
			": no agent is named",
			"add `acp: NAME` or `acp: [program, argument]` to config.yaml; the names are "+
				strings.Join(agentcli.SpeakerNames(), ", "),
		)
	case agent < 0:
		return fail("", "change `runner` to offline, auto, acp, "+names)
	case !slices.Contains(installed, name):
		return fail(": not installed", agents[agent].Fix)
	}

	return f
}

// couldIsolate tells whether something here would isolate commands, had the configuration not left
// it out.
func (p *Programs) couldIsolate(probes []sandbox.Probe) bool {
	best, err := sandbox.Choose(sandbox.Advisory, nil, sandbox.Order(), sandbox.Among(probes))
	return err == nil && best.Tier != sandbox.Advisory
}

// sandbox names the strongest tier that a probe saw at work.
func (p *Programs) sandbox(ctx context.Context) Finding {
	if !p.MayStart {
		return skip("sandbox", notAsked)
	}

	probes, err := p.Keeper.Probes(ctx)
	if err != nil {
		return warning("sandbox", err.Error(), formats.HelpOf(err))
	}

	best, err := p.Keeper.Best(ctx, sandbox.Advisory, nil)
	switch {
	case err != nil:
		return failure("sandbox", err.Error(), formats.HelpOf(err))
	case best.Tier == sandbox.Advisory && p.couldIsolate(probes):
		return warning("sandbox", best.Tier.String(),
			"your configuration chose it: its key sandbox leaves out what works here; "+
				"'tercet sandbox probe' shows that")
	case best.Tier == sandbox.Advisory:
		return warning(
			"sandbox",
			best.Tier.String(),
			"run 'tercet sandbox probe': nothing on this machine isolates the commands that "+
				"run here",
		)
	}
	return okFinding("sandbox", best.Tier.String())
}
