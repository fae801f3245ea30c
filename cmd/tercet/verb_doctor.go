package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/lazy"
	"tercet/internal/proc"
	"tercet/subagents/agentcli"
	"tercet/subagents/past"
	"tercet/subagents/sandbox"
)

// finding is one line of doctor.
type finding struct {
	Name   string `json:"name"`
	Grade  string `json:"grade"`
	Text   string `json:"text"`
	Fix    string `json:"fix,omitempty"`
	Detail any    `json:"detail,omitempty"`
}

func fine(name, text string) finding { return finding{Name: name, Grade: "ok", Text: text} }
func warned(name, text, fix string) finding {
	return finding{Name: name, Grade: "warn", Text: text, Fix: fix}
}

func failed(name, text, fix string) finding {
	return finding{Name: name, Grade: "fail", Text: text, Fix: fix}
}

// skipped is what was not looked at, because nothing may start here yet.
func skipped(name, text string) finding { return finding{Name: name, Grade: "skip", Text: text} }

const notAsked = "not asked: it would start a program"

// doctor says what is there, what is missing and what to do about it. It changes nothing.
func doctor(c call) error {
	d := &checkup{world: c.world, ctx: c.ctx}
	d.installation()
	if c.has {
		d.add(fine("workspace", c.dir), d.state(), d.lock(), d.clock(), d.runs())
		d.leases()
		d.foreign()
	} else {
		d.add(warned("workspace", "none here or above", "run tercet init"))
	}
	bad := slices.ContainsFunc(d.list, func(f finding) bool { return f.Grade == "fail" })
	if !c.document("tercet.doctor/1", fields{"ok": !bad, "findings": d.list}) {
		for _, f := range d.list {
			c.term.answer("%-4s  %-10s  %s", f.Grade, f.Name, f.Text)
			if f.Fix != "" {
				c.term.answer("                  %s", f.Fix)
			}
		}
	}
	if bad {
		return shown{1}
	}
	return nil
}

// checkup collects the findings.
type checkup struct {
	*world
	ctx  context.Context
	may  bool // programs may start here
	list []finding
}

func (d *checkup) add(list ...finding) { d.list = append(d.list, list...) }

// installation looks at the programs. They are asked at the same time: some are slow to begin.
func (d *checkup) installation() {
	d.add(fine("tercet", sprintf("%s (%s %s/%s)", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)), d.trust())
	asked := []func() finding{
		func() finding {
			return d.program("git", failed("git", "not installed", "install git: /implement works in a worktree"), "--version")
		},
		func() finding {
			return d.program("go", warned("go", "not installed",
				"install Go if this is a Go project: the demo and the checks of one need it"), "version")
		},
	}
	for _, driver := range agentcli.Drivers() {
		asked = append(asked, func() finding { return d.agent(driver) })
	}
	first := len(asked)
	for _, name := range slices.Sorted(maps.Keys(d.cfg.ACP)) {
		asked = append(asked, func() finding { return d.speaks(name) })
	}
	found := make([]finding, len(asked))
	var wg sync.WaitGroup
	for i, ask := range asked {
		wg.Go(func() { found[i] = ask() })
	}
	wg.Wait()
	d.add(found...)
	d.add(d.runner(found[2:first], found[first:]), d.sandbox())
}

// trust tells whether a program may start in this project, and what to do if not.
func (d *checkup) trust() finding {
	v, err := d.gate.Verdict()
	if err == nil && v.By == "" {
		err = v.Refused()
	}
	if err != nil {
		return warned("trust", err.Error(), formats.HelpOf(err))
	}
	d.may = true
	return fine("trust", "programs may start, trusted by "+v.By)
}

// runs tells when much of old runs lies there.
func (d *checkup) runs() finding {
	keep := runs{d.world}.kept()
	c, err := past.Project{Root: d.root}.Old(d.ctx, keep)
	if err != nil {
		return warned("runs", err.Error(), formats.HelpOf(err))
	}
	text := sprintf("they hold %d MiB", c.Size>>20)
	if len(c.Runs) > 0 || c.Size/3 > keep.Size/4 {
		return warned("runs", sprintf("%s, %s could go", text, formats.Count(len(c.Runs), "old run")), "tercet gc --dry-run")
	}
	return fine("runs", text)
}

// unasked tells of a program where nothing may start.
func (d *checkup) unasked(name string) finding {
	if at, err := d.starter.Look(name); err == nil {
		return skipped(name, at+", "+notAsked)
	}
	return skipped(name, "not installed")
}

// program asks a program for its version.
func (d *checkup) program(name string, missing finding, args ...string) finding {
	if !d.may {
		return d.unasked(name)
	}
	at, err := d.starter.Look(name)
	if err != nil {
		return missing
	}
	res, err := d.starter.Run(d.ctx, proc.Command{
		Argv: append([]string{name}, args...), Purpose: proc.PurposeProbe, Timeout: proc.Timeout{Total: 10 * time.Second},
	})
	switch {
	case err != nil:
		missing.Text, missing.Fix = err.Error(), formats.HelpOf(err)
		if errors.Is(err, fs.ErrPermission) {
			missing.Fix = "make that folder writable, or set XDG_STATE_HOME to a folder that is"
		}
	case !res.Success():
		missing.Text = at + " does not tell its version"
	default:
		return fine(name, sprintf("%s (%s)", versionNumber().Find(res.Stdout), at))
	}
	return missing
}

var versionNumber = lazy.Regexp(`\d+\.\d+(?:\.\d+)?\S*`)

// leases names the tasks whose process is gone.
func (d *checkup) leases() {
	doc, err := d.reader.Doc(d.ctx)
	if err != nil {
		return // state tells it
	}
	alive := stateConfig(d.root, d.dir, 0, nil).Alive
	for _, t := range doc.Tasks {
		if t.Lease != nil && !alive(*t.Lease) {
			d.add(warned("lease", sprintf("task %d is held by run %s, whose process is gone", t.Number, t.Lease.Run),
				"run its command again: a lease of a process that is gone is taken over"))
		}
	}
}

func (d *checkup) state() finding {
	const verify = "run tercet state verify"
	list, err := d.reader.Verify(d.ctx)
	if err != nil {
		return failed("state", err.Error(), cmp.Or(formats.HelpOf(err), verify))
	}
	for _, one := range list {
		if one.Severity == formats.SeverityError {
			return failed("state", one.Error(), cmp.Or(one.Help, verify))
		}
	}
	if len(list) > 0 {
		return warned("state", list[0].Error(), cmp.Or(list[0].Help, verify))
	}
	return fine("state", "state.json is valid")
}

// lock takes the lock once, so that a file system without locks, and one that cannot be written, are known before work
// is lost on it.
func (d *checkup) lock() finding {
	switch {
	case !d.may:
		return skipped("lock", "not tried: it would write into a project that nobody trusts yet")
	case d.insideRun():
		return fine("lock", "not tried inside a run")
	}
	if err := d.manager.Lockable(d.ctx); err != nil {
		return failed("lock", err.Error(), formats.HelpOf(err))
	}
	return fine("lock", "can be taken on this file system")
}

// clock compares the clock with the time of the state file.
func (d *checkup) clock() finding {
	const slack = time.Minute
	now := clock{}.Now().UTC()
	info, err := os.Stat(filepath.Join(d.dir, formats.Workspace, "state.json"))
	if err == nil && info.ModTime().After(now.Add(slack)) {
		return warned("clock", "state.json was written in the future, at "+info.ModTime().UTC().Format(time.RFC3339),
			"set the clock of this machine")
	}
	return fine("clock", now.Format(time.RFC3339))
}

// foreign tells what the first argument is called in files of other tools: they do not agree.
func (d *checkup) foreign() {
	bases := [2][]string{{}, {}}
	for _, e := range d.table.Commands() {
		c, err := d.library.Prompt(e.Source, e.File)
		if err == nil && c != nil && c.Dialect == dialect.Claude {
			at := min(c.Base, 1)
			bases[at] = append(bases[at], "/"+e.Name)
		}
	}
	for _, l := range d.table.LeftOut() {
		d.add(warned("commands", l.String(), "make it a regular file in a folder that can be read"))
	}
	if len(bases[0])+len(bases[1]) == 0 {
		return
	}
	f := fine("commands", sprintf("of other tools: first argument $0 in %s, $1 in %s",
		cmp.Or(strings.Join(bases[0], " "), "none"), cmp.Or(strings.Join(bases[1], " "), "none")))
	f.Detail = fields{"positional_base_0": bases[0], "positional_base_1": bases[1]}
	d.add(f)
}

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
		f := skipped(driver.Name, "not installed")
		f.Fix, f.Detail = installation(driver), agentDetail{Tested: driver.Tested}
		return f
	}
	found, err := agentcli.Probe(d.ctx, d.starter, driver)
	f := fine(driver.Name, " ("+found.Path+")")
	f.Fix = "start " + driver.Name + " once to log in, or name the variable of its key under `env` in config.yaml"
	return d.answered(f, driver, found, err)
}

// speaks tells of an agent of the Agent Client Protocol that the configuration names: it is started and asked who it
// is.
func (d *checkup) speaks(runner string) finding {
	s, _, err := workers{d.world}.speaker(runner)
	if err != nil {
		return failed(runner, err.Error(), formats.HelpOf(err))
	}
	at, err := d.starter.Look(s.Program(d.dir))
	switch {
	case err != nil:
		f := warned(runner, s.Driver.Name+" is not installed", "install it, or change `acp` in config.yaml")
		if s.Driver.Package != "" {
			f.Fix = installation(s.Driver)
		}
		f.Detail = agentDetail{Tested: s.Driver.Tested}
		return f
	case !d.may:
		f := skipped(runner, at+", "+notAsked)
		f.Detail = agentDetail{Path: at, Tested: s.Driver.Tested}
		return f
	}
	found, err := agentcli.ProbeACP(d.ctx, d.starter, s, d.dir)
	found.Path = at
	return d.answered(fine(runner, " speaks the Agent Client Protocol ("+at+")"), s.Driver, found, err)
}

func installation(d agentcli.Driver) string { return "npm install -g " + d.Package + "@" + d.Tested }

// answered completes a finding with what an agent said of itself. Its fix is what to do where no login is seen, empty
// where none has to be.
func (d *checkup) answered(f finding, driver agentcli.Driver, found agentcli.Found, err error) finding {
	detail := agentDetail{Path: found.Path, Version: found.Version, Tested: driver.Tested}
	if err != nil {
		f = warned(f.Name, err.Error(), formats.HelpOf(err))
		f.Detail = detail
		return f
	}
	f.Text = cmp.Or(found.Version, "unknown version") + f.Text
	if driver.Tested != "" && found.Version != driver.Tested {
		f.Grade = "warn"
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
func (d *checkup) runner(agents, speakers []finding) finding {
	name := cmp.Or(d.flags.runner, d.cfg.Runner, runnerOffline)
	f := fine("runner", sprintf("%s, from %s", name, d.cfg.Origin("runner")))
	fail := func(text, fix string) finding { return failed(f.Name, f.Text+text, fix) }
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
		return fail("", "install one of "+names+", or write `runner: offline`")
	case name == runnerAuto:
		f.Text += ": " + installed[0]
	case speaker >= 0:
		if s := speakers[speaker]; s.Grade == "fail" || s.Fix != "" {
			return fail(": "+s.Text, s.Fix)
		}
	case name == agentcli.RunnerACP:
		return fail(": no agent is named", "add `acp: NAME` or `acp: [program, argument]` to config.yaml; the names are "+
			strings.Join(agentcli.SpeakerNames(), ", "))
	case agent < 0:
		return fail("", "change `runner` to offline, auto, acp, "+names)
	case !slices.Contains(installed, name):
		return fail(": not installed", agents[agent].Fix)
	}
	return f
}

// sandbox names the strongest tier that a probe saw at work.
func (d *checkup) sandbox() finding {
	if !d.may {
		return skipped("sandbox", notAsked)
	}
	probes, err := d.keeper.Probes(d.ctx)
	if err != nil {
		return warned("sandbox", err.Error(), formats.HelpOf(err))
	}
	best, err := sandbox.Choose(sandbox.Advisory, nil, d.keeper.Order, probes)
	switch {
	case err != nil:
		return failed("sandbox", err.Error(), formats.HelpOf(err))
	case best.Tier == sandbox.Advisory:
		return warned("sandbox", best.Tier.String(),
			"see tercet sandbox probe: commands run here are held by nothing but what they are told")
	}
	return fine("sandbox", best.Tier.String())
}
