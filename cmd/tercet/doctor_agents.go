package main

import (
	"cmp"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/subagents/agentcli"
	"tercet/subagents/sandbox"
)

// agentDetail is what is known of one agent CLI.
type agentDetail struct {
	Path     string `json:"path,omitempty"`
	Version  string `json:"version,omitempty"`
	Tested   string `json:"tested"`
	LoggedIn string `json:"logged_in_by,omitempty"` // a file or the name of a variable; empty: not known
}

// agent tells of one agent CLI. One that is missing is no fault: there are four.
func (d *checkup) agent(driver agentcli.Driver) finding {
	if !d.may {
		return d.unasked(driver.Name)
	}
	if _, err := d.starter.Look(driver.Name); err != nil {
		return finding{
			Name: driver.Name, Grade: gradeOK, Text: "not installed", Fix: installation(driver),
			Detail: agentDetail{Tested: driver.Tested},
		}
	}
	found, err := agentcli.Probe(d.ctx, d.starter, driver)
	login := "start " + driver.Name + " once to log in, or name the variable of its key under `env` in config.yaml"
	return d.answered(finding{Name: driver.Name, Text: " (" + found.Path + ")", Fix: login}, driver, found, err)
}

// speaks tells of an agent of the Agent Client Protocol that the configuration names: it is started and asked who it
// is.
func (d *checkup) speaks(runner string) finding {
	s, _, err := workers{d.world}.speaker(runner)
	if err != nil {
		return finding{Name: runner, Grade: gradeFail, Text: err.Error(), Fix: formats.HelpOf(err)}
	}
	at, err := d.starter.Look(s.Program(d.dir))
	switch {
	case err != nil:
		f := finding{
			Name: runner, Grade: gradeWarn, Text: s.Driver.Name + " is not installed",
			Fix: "install it, or change `acp` in config.yaml", Detail: agentDetail{Tested: s.Driver.Tested},
		}
		if s.Driver.Package != "" {
			f.Fix = installation(s.Driver)
		}
		return f
	case !d.may:
		detail := agentDetail{Path: at, Tested: s.Driver.Tested}
		return finding{Name: runner, Grade: gradeSkip, Text: at + ", " + notAsked, Detail: detail}
	}
	found, err := agentcli.ProbeACP(d.ctx, d.starter, s, d.dir)
	found.Path = at
	return d.answered(finding{Name: runner, Text: " speaks the Agent Client Protocol (" + at + ")"}, s.Driver, found, err)
}

func installation(d agentcli.Driver) string { return "npm install -g " + d.Package + "@" + d.Tested }

// answered completes a finding with what an agent said of itself. Its fix is what to do where no login is seen, empty
// where none has to be.
func (d *checkup) answered(f finding, driver agentcli.Driver, found agentcli.Found, err error) finding {
	detail := agentDetail{Path: found.Path, Version: found.Version, Tested: driver.Tested}
	if err != nil {
		return finding{Name: f.Name, Grade: gradeWarn, Text: err.Error(), Fix: formats.HelpOf(err), Detail: detail}
	}
	f.Grade, f.Text = gradeOK, cmp.Or(found.Version, "unknown version")+f.Text
	if driver.Tested != "" && found.Version != driver.Tested {
		f.Grade = gradeWarn
		f.Text += ", not the version that tercet is tested with: " + driver.Tested
	}
	if detail.LoggedIn = driver.LoggedIn(d.childVariable); detail.LoggedIn != "" {
		f.Text, f.Fix = f.Text+", logged in by "+detail.LoggedIn, ""
	} else if f.Fix != "" {
		f.Text += ", no login seen"
	}
	f.Detail = detail
	return f
}

// childVariable gives a variable as agents see it.
func (d *checkup) childVariable(name string) string {
	for _, kv := range d.starter.Env {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v
		}
	}
	return ""
}

// runner tells whether the configured runner can be used; agents and speakers are what was found of those that there
// are.
func (d *checkup) runner(agents, speakers []finding) {
	name := cmp.Or(d.app.flags.runner, d.cfg.Runner, runnerOffline)
	f := finding{Name: "runner", Grade: gradeOK, Text: sprintf("%s, from %s", name, d.cfg.Origin("runner"))}
	fail := func(text, fix string) { f.Grade, f.Text, f.Fix = gradeFail, f.Text+text, fix }
	named := func(f finding) bool { return f.Name == name }
	installed := agentcli.Installed(d.starter)
	names := strings.Join(agentcli.Names(), ", ")
	speaker, agent := slices.IndexFunc(speakers, named), slices.IndexFunc(agents, named)
	switch {
	case name == runnerOffline:
		if len(installed) > 0 {
			f.Fix = "to let an agent CLI work: --runner " + installed[0] + ", or `runner: auto` in config.yaml"
		}
	case name == runnerAuto && len(installed) == 0:
		fail("", "install one of "+names+", or write `runner: offline`")
	case name == runnerAuto:
		f.Text += ": " + installed[0]
	case speaker >= 0:
		if s := speakers[speaker]; s.Grade == gradeFail || s.Fix != "" {
			fail(": "+s.Text, s.Fix)
		}
	case name == agentcli.RunnerACP:
		fail(": no agent is named", "add `acp: NAME` or `acp: [program, argument]` to config.yaml; the names are "+
			strings.Join(agentcli.SpeakerNames(), ", "))
	case agent < 0:
		fail("", "change `runner` to offline, auto, acp, "+names)
	case !slices.Contains(installed, name):
		fail(": not installed", agents[agent].Fix)
	}
	d.add(f)
}

// sandbox names the strongest tier that a probe saw at work.
func (d *checkup) sandbox() {
	f := finding{Name: "sandbox", Grade: gradeSkip, Text: notAsked}
	if d.may {
		probes, err := d.keeper.Probes(d.ctx)
		f.Grade = gradeWarn
		var best sandbox.Probe
		if err == nil {
			f.Grade = gradeFail
			best, err = sandbox.Choose(sandbox.Advisory, nil, d.keeper.Order, probes)
		}
		switch {
		case err != nil:
			f.Text, f.Fix = err.Error(), formats.HelpOf(err)
		case best.Tier == sandbox.Advisory:
			f.Grade, f.Text = gradeWarn, best.Tier.String()
			f.Fix = "see tercet sandbox probe: commands run here are held by nothing but what they are told"
		default:
			f.Grade, f.Text = gradeOK, best.Tier.String()
		}
	}
	d.add(f)
}
