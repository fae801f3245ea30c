package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/proc"
	"tercet/subagents/agentcli"
	"tercet/subagents/sandbox"
)

// The grades of a finding.
const (
	gradeOK   = "ok"
	gradeWarn = "warn"
	gradeFail = "fail"
	gradeSkip = "skip" // not looked at, because nothing may start here yet
)

// finding is one line of doctor.
type finding struct {
	Name   string `json:"name"`
	Grade  string `json:"grade"`
	Text   string `json:"text"`
	Fix    string `json:"fix,omitempty"`
	Detail any    `json:"detail,omitempty"`
}

// agentDetail is what is known of one agent CLI.
type agentDetail struct {
	Path     string `json:"path,omitempty"`
	Version  string `json:"version,omitempty"`
	Tested   string `json:"tested"`
	LoggedIn string `json:"logged_in_by,omitempty"` // a file or the name of a variable; empty: not known
}

// doctorVerb says what is there, what is missing and what to do about it. It changes nothing.
func (a *app) doctorVerb() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "check the installation: programs, agent CLIs, the workspace and its lock", Args: words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := a.world(cmd.Context())
			if err != nil {
				return err
			}
			list := w.doctor(cmd.Context())
			failed := slices.ContainsFunc(list, func(f finding) bool { return f.Grade == gradeFail })
			if a.flags.json {
				a.term.json(map[string]any{"schema": "tercet.doctor/1", "ok": !failed, "findings": list})
			} else {
				for _, f := range list {
					a.term.answer("%-4s  %-10s  %s", f.Grade, f.Name, f.Text)
					if f.Fix != "" {
						a.term.answer("                  %s", f.Fix)
					}
				}
			}
			if failed {
				return shown{1}
			}
			return nil
		},
	}
}

// doctor collects the findings. Programs are asked at the same time: some are slow to begin.
func (w *world) doctor(ctx context.Context) []finding {
	var list []finding
	list = append(list, finding{Name: "tercet", Grade: gradeOK, Text: fmt.Sprintf("%s (%s %s/%s)", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)})
	trusted := w.trustFound()
	list = append(list, trusted)
	may := trusted.Grade == gradeOK
	probes := w.programsFound(ctx, may)
	speakers := w.speakersFound(ctx, may)
	list = append(list, probes...)
	list = append(list, speakers...)
	list = append(list, w.runnerFound(probes[2:], speakers))
	if may {
		list = append(list, w.sandboxFound(ctx))
	} else {
		list = append(list, finding{Name: "sandbox", Grade: gradeSkip, Text: notAsked})
	}
	if !w.has {
		return append(list, finding{Name: "workspace", Grade: gradeWarn, Text: "none here or above", Fix: "run tercet init"})
	}
	list = append(list, finding{Name: "workspace", Grade: gradeOK, Text: w.dir})
	list = append(list, w.stateFound(ctx), w.lockFound(ctx), w.clockFound())
	list = append(list, w.leasesFound(ctx)...)
	return append(list, w.foreignFound()...)
}

const notAsked = "not asked: it would start a program"

// trustFound tells whether a program may start in this project, and what to do if not.
func (w *world) trustFound() finding {
	f := finding{Name: "trust", Grade: gradeWarn}
	v, err := w.trust()
	if err == nil && v.by == "" {
		err = v.untrusted(w.dir)
	}
	if err != nil {
		f.Text, f.Fix = err.Error(), formats.HelpOf(err)
		return f
	}
	f.Grade, f.Text = gradeOK, "programs may start, trusted by "+v.by
	return f
}

// programsFound tells of git, Go and the agent CLIs, in this order. Where nothing may start they are looked for, not asked.
func (w *world) programsFound(ctx context.Context, may bool) []finding {
	drivers := agentcli.Drivers()
	probes := make([]finding, len(drivers)+2)
	if !may {
		for i, name := range slices.Concat([]string{"git", "go"}, agentcli.Names()) {
			probes[i] = finding{Name: name, Grade: gradeSkip, Text: "not installed"}
			if at, err := w.starter.Look(name); err == nil {
				probes[i].Text = at + ", " + notAsked
			}
		}
		return probes
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		probes[0] = w.program(ctx, "git", gradeFail, "install git: /implement works in a worktree", "--version")
	})
	wg.Go(func() {
		probes[1] = w.program(ctx, "go", gradeWarn, "install Go if this is a Go project: the demo and the checks of one need it", "version")
	})
	for i, d := range drivers {
		wg.Go(func() { probes[i+2] = w.agentFound(ctx, d) })
	}
	wg.Wait()
	return probes
}

// program asks a program for its version.
func (w *world) program(ctx context.Context, name, missing, fix string, args ...string) finding {
	f := finding{Name: name, Grade: missing, Text: "not installed", Fix: fix}
	at, err := w.starter.Look(name)
	if err != nil {
		return f
	}
	res, err := w.starter.Run(ctx, proc.Command{Argv: append([]string{name}, args...), Purpose: proc.PurposeProbe, Timeout: proc.Timeout{Total: 10 * time.Second}})
	switch {
	case err != nil:
		f.Text = err.Error()
		f.Fix = cmp.Or(formats.HelpOf(err), fix)
	case !res.Success():
		f.Text = at + " does not tell its version"
	default:
		f.Grade, f.Fix = gradeOK, ""
		f.Text = fmt.Sprintf("%s (%s)", regexp.MustCompile(`\d+\.\d+(?:\.\d+)?\S*`).FindString(string(res.Stdout)), at)
	}
	return f
}

// agentFound tells of one agent CLI. One that is missing is no fault: there are four.
func (w *world) agentFound(ctx context.Context, d agentcli.Driver) finding {
	f := finding{Name: d.Name, Grade: gradeOK}
	detail := agentDetail{Tested: d.Tested}
	if _, err := w.starter.Look(d.Name); err != nil {
		f.Text, f.Detail = "not installed", detail
		f.Fix = "npm install -g " + d.Package + "@" + d.Tested
		return f
	}
	found, err := agentcli.Probe(ctx, w.starter, d)
	detail.Path, detail.Version = found.Path, found.Version
	if err != nil {
		f.Grade, f.Text, f.Fix, f.Detail = gradeWarn, err.Error(), formats.HelpOf(err), detail
		return f
	}
	detail.LoggedIn = d.LoggedIn(w.childVariable)
	f.Text = fmt.Sprintf("%s (%s)", cmp.Or(found.Version, "unknown version"), found.Path)
	if found.Version != d.Tested {
		f.Grade = gradeWarn
		f.Text += ", not the version that tercet is tested with: " + d.Tested
	}
	if detail.LoggedIn != "" {
		f.Text += ", logged in by " + detail.LoggedIn
	} else {
		f.Text += ", no login seen"
		f.Fix = "start " + d.Name + " once to log in, or name the variable of its key under `env` in config.yaml"
	}
	f.Detail = detail
	return f
}

// childVariable gives a variable as agents see it.
func (w *world) childVariable(name string) string {
	for _, kv := range w.starter.Env {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v
		}
	}
	return ""
}

// runnerFound tells whether the configured runner can be used.
func (w *world) runnerFound(agents, speakers []finding) finding {
	name := cmp.Or(w.app.flags.runner, w.cfg.Runner, runnerOffline)
	f := finding{Name: "runner", Grade: gradeOK, Text: fmt.Sprintf("%s, from %s", name, w.cfg.Origin("runner"))}
	installed := agentcli.Installed(w.starter)
	switch {
	case name == runnerOffline:
		if len(installed) > 0 {
			f.Fix = "to let an agent CLI work: --runner " + installed[0] + ", or `runner: auto` in config.yaml"
		}
	case name == runnerAuto && len(installed) == 0:
		f.Grade, f.Fix = gradeFail, "install one of "+strings.Join(agentcli.Names(), ", ")+", or write `runner: offline`"
	case name == runnerAuto:
		f.Text += ": " + installed[0]
	case slices.ContainsFunc(speakers, func(s finding) bool { return s.Name == name }):
		if i := slices.IndexFunc(speakers, func(s finding) bool { return s.Name == name }); speakers[i].Grade == gradeFail || speakers[i].Fix != "" {
			f.Grade, f.Text, f.Fix = gradeFail, f.Text+": "+speakers[i].Text, speakers[i].Fix
		}
	case name == agentcli.RunnerACP:
		f.Grade, f.Text, f.Fix = gradeFail, f.Text+": no agent is named", "add `acp: NAME` or `acp: [program, argument]` to config.yaml; the names are "+strings.Join(agentcli.SpeakerNames(), ", ")
	default:
		i := slices.IndexFunc(agents, func(a finding) bool { return a.Name == name })
		switch {
		case i < 0:
			f.Grade, f.Fix = gradeFail, "change `runner` to offline, auto, acp, "+strings.Join(agentcli.Names(), ", ")
		case !slices.Contains(installed, name):
			f.Grade, f.Text, f.Fix = gradeFail, f.Text+": not installed", agents[i].Fix
		}
	}
	return f
}

// sandboxFound names the strongest tier that a probe saw at work.
func (w *world) sandboxFound(ctx context.Context) finding {
	probes, err := w.probes(ctx)
	if err != nil {
		return finding{Name: "sandbox", Grade: gradeWarn, Text: err.Error(), Fix: formats.HelpOf(err)}
	}
	best, err := sandbox.Choose(sandbox.Advisory, nil, w.tiers(), probes)
	if err != nil {
		return finding{Name: "sandbox", Grade: gradeFail, Text: err.Error(), Fix: formats.HelpOf(err)}
	}
	f := finding{Name: "sandbox", Grade: gradeOK, Text: best.Tier.String()}
	if best.Tier == sandbox.Advisory {
		f.Grade, f.Fix = gradeWarn, "see tercet sandbox probe: commands run here are held by nothing but what they are told"
	}
	return f
}

func (w *world) stateFound(ctx context.Context) finding {
	f := finding{Name: "state", Grade: gradeOK, Text: "state.json is valid"}
	list, err := w.reader.Verify(ctx)
	bad := slices.IndexFunc(list, func(d formats.Diagnostic) bool { return d.Severity == formats.SeverityError })
	switch {
	case err != nil:
		f.Grade, f.Text, f.Fix = gradeFail, err.Error(), cmp.Or(formats.HelpOf(err), "run tercet state verify")
	case bad >= 0:
		f.Grade, f.Text, f.Fix = gradeFail, list[bad].Error(), cmp.Or(list[bad].Help, "run tercet state verify")
	case len(list) > 0:
		f.Grade, f.Text, f.Fix = gradeWarn, list[0].Error(), cmp.Or(list[0].Help, "run tercet state verify")
	}
	return f
}

// lockFound takes the lock once, so that a file system without locks, and one that cannot be written, are known before work
// is lost on it.
func (w *world) lockFound(ctx context.Context) finding {
	if w.app.insideRun() {
		return finding{Name: "lock", Grade: gradeOK, Text: "not tried inside a run"}
	}
	if err := w.manager.Lockable(ctx); err != nil {
		return finding{Name: "lock", Grade: gradeFail, Text: err.Error(), Fix: formats.HelpOf(err)}
	}
	return finding{Name: "lock", Grade: gradeOK, Text: "can be taken on this file system"}
}

// clockFound compares the clock with the time of the state file.
func (w *world) clockFound() finding {
	const slack = time.Minute
	info, err := os.Stat(filepath.Join(w.dir, formats.Workspace, "state.json"))
	if err == nil && info.ModTime().After(time.Now().Add(slack)) {
		return finding{
			Name: "clock", Grade: gradeWarn, Text: "state.json was written in the future, at " + info.ModTime().UTC().Format(time.RFC3339), Fix: "set the clock of this machine",
		}
	}
	return finding{Name: "clock", Grade: gradeOK, Text: time.Now().UTC().Format(time.RFC3339)}
}

// leasesFound names the tasks whose process is gone.
func (w *world) leasesFound(ctx context.Context) []finding {
	tasks, err := w.tasks(ctx)
	if err != nil {
		return nil // the state is what stateFound told
	}
	alive := stateConfig(w.root, w.dir, 0, nil).Alive
	var out []finding
	for _, t := range tasks {
		if t.Lease != nil && !alive(*t.Lease) {
			out = append(out, finding{
				Name: "lease", Grade: gradeWarn, Text: fmt.Sprintf("task %d is held by run %s, whose process is gone", t.Number, t.Lease.Run),
				Fix: "run its command again: a lease of a process that is gone is taken over",
			})
		}
	}
	return out
}

// foreignFound tells what the first argument is called in files of other tools: they do not agree.
func (w *world) foreignFound() []finding {
	var zero, one []string
	for _, e := range w.table.Commands() {
		c, foreign, err := w.library.Prompt(e.Source, e.File)
		if err != nil || !foreign || c.Dialect != dialect.Claude {
			continue
		}
		if c.Base == 0 {
			zero = append(zero, "/"+e.Name)
		} else {
			one = append(one, "/"+e.Name)
		}
	}
	var out []finding
	for _, l := range w.table.LeftOut() {
		out = append(out, finding{Name: "commands", Grade: gradeWarn, Text: l.String(), Fix: "make it a regular file in a folder that can be read"})
	}
	if len(zero)+len(one) == 0 {
		return out
	}
	return append(out, finding{
		Name: "commands", Grade: gradeOK, Text: fmt.Sprintf("of other tools: first argument $0 in %s, $1 in %s", cmp.Or(strings.Join(zero, " "), "none"), cmp.Or(strings.Join(one, " "), "none")),
		Detail: map[string]any{"positional_base_0": nonNil(zero), "positional_base_1": nonNil(one)},
	})
}
