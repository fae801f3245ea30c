package main

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/proc"
	"tercet/subagents/agentcli"
)

// The grades of a finding.
const (
	gradeOK   = "ok"
	gradeWarn = "warn"
	gradeFail = "fail"
	gradeSkip = "skip" // not looked at, because nothing may start here yet
)

const notAsked = "not asked: it would start a program"

// finding is one line of doctor.
type finding struct {
	Name   string `json:"name"`
	Grade  string `json:"grade"`
	Text   string `json:"text"`
	Fix    string `json:"fix,omitempty"`
	Detail any    `json:"detail,omitempty"`
}

// doctor says what is there, what is missing and what to do about it. It changes nothing.
func doctor(c call) error {
	d := &checkup{world: c.w, ctx: c.ctx}
	d.installation()
	if c.w.has {
		d.add(finding{Name: "workspace", Grade: gradeOK, Text: c.w.dir})
		d.state()
		d.lock()
		d.clock()
		d.leases()
		d.foreign()
	} else {
		d.add(finding{Name: "workspace", Grade: gradeWarn, Text: "none here or above", Fix: "run tercet init"})
	}
	failed := slices.ContainsFunc(d.list, func(f finding) bool { return f.Grade == gradeFail })
	if !c.document("tercet.doctor/1", fields{"ok": !failed, "findings": d.list}) {
		for _, f := range d.list {
			c.term.answer("%-4s  %-10s  %s", f.Grade, f.Name, f.Text)
			if f.Fix != "" {
				c.term.answer("                  %s", f.Fix)
			}
		}
	}
	if failed {
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
	d.add(finding{
		Name: "tercet", Grade: gradeOK,
		Text: sprintf("%s (%s %s/%s)", version, runtime.Version(), runtime.GOOS, runtime.GOARCH),
	})
	d.trusted()
	asked := []func() finding{
		func() finding {
			return d.program("git", gradeFail, "install git: /implement works in a worktree", "--version")
		},
		func() finding {
			return d.program("go", gradeWarn,
				"install Go if this is a Go project: the demo and the checks of one need it", "version")
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
	d.runner(found[2:first], found[first:])
	d.sandbox()
}

// trusted tells whether a program may start in this project, and what to do if not.
func (d *checkup) trusted() {
	v, err := d.gate.Verdict()
	if err == nil && v.By == "" {
		err = v.Refused()
	}
	if err != nil {
		d.add(finding{Name: "trust", Grade: gradeWarn, Text: err.Error(), Fix: formats.HelpOf(err)})
		return
	}
	d.may = true
	d.add(finding{Name: "trust", Grade: gradeOK, Text: "programs may start, trusted by " + v.By})
}

// unasked tells of a program where nothing may start.
func (d *checkup) unasked(name string) finding {
	f := finding{Name: name, Grade: gradeSkip, Text: "not installed"}
	if at, err := d.starter.Look(name); err == nil {
		f.Text = at + ", " + notAsked
	}
	return f
}

// program asks a program for its version.
func (d *checkup) program(name, missing, fix string, args ...string) finding {
	if !d.may {
		return d.unasked(name)
	}
	f := finding{Name: name, Grade: missing, Text: "not installed", Fix: fix}
	at, err := d.starter.Look(name)
	if err != nil {
		return f
	}
	res, err := d.starter.Run(d.ctx, proc.Command{
		Argv: append([]string{name}, args...), Purpose: proc.PurposeProbe, Timeout: proc.Timeout{Total: 10 * time.Second},
	})
	switch {
	case err != nil:
		f.Text = err.Error()
		f.Fix = cmp.Or(formats.HelpOf(err), fix)
	case !res.Success():
		f.Text = at + " does not tell its version"
	default:
		f.Grade, f.Fix = gradeOK, ""
		f.Text = sprintf("%s (%s)", versionNumber.Find(res.Stdout), at)
	}
	return f
}

var versionNumber = regexp.MustCompile(`\d+\.\d+(?:\.\d+)?\S*`)

// leases names the tasks whose process is gone.
func (d *checkup) leases() {
	doc, err := d.reader.Doc(d.ctx)
	if err != nil {
		return // state tells it
	}
	alive := stateConfig(d.root, d.dir, 0, nil).Alive
	for _, t := range doc.Tasks {
		if t.Lease != nil && !alive(*t.Lease) {
			d.add(finding{
				Name: "lease", Grade: gradeWarn,
				Text: sprintf("task %d is held by run %s, whose process is gone", t.Number, t.Lease.Run),
				Fix:  "run its command again: a lease of a process that is gone is taken over",
			})
		}
	}
}

func (d *checkup) state() {
	f := finding{Name: "state", Grade: gradeOK, Text: "state.json is valid"}
	list, err := d.reader.Verify(d.ctx)
	bad := slices.IndexFunc(list, func(d formats.Diagnostic) bool { return d.Severity == formats.SeverityError })
	tell := func(grade, text, fix string) {
		f.Grade, f.Text, f.Fix = grade, text, cmp.Or(fix, "run tercet state verify")
	}
	switch {
	case err != nil:
		tell(gradeFail, err.Error(), formats.HelpOf(err))
	case bad >= 0:
		tell(gradeFail, list[bad].Error(), list[bad].Help)
	case len(list) > 0:
		tell(gradeWarn, list[0].Error(), list[0].Help)
	}
	d.add(f)
}

// lock takes the lock once, so that a file system without locks, and one that cannot be written, are known before work
// is lost on it.
func (d *checkup) lock() {
	f := finding{Name: "lock", Grade: gradeOK, Text: "can be taken on this file system"}
	if !d.may {
		f.Grade, f.Text = gradeSkip, "not tried: it would write into a project that nobody trusts yet"
	} else if d.app.insideRun() {
		f.Text = "not tried inside a run"
	} else if err := d.manager.Lockable(d.ctx); err != nil {
		f.Grade, f.Text, f.Fix = gradeFail, err.Error(), formats.HelpOf(err)
	}
	d.add(f)
}

// clock compares the clock with the time of the state file.
func (d *checkup) clock() {
	const slack = time.Minute
	now := clock{}.Now().UTC()
	f := finding{Name: "clock", Grade: gradeOK, Text: now.Format(time.RFC3339)}
	info, err := os.Stat(filepath.Join(d.dir, formats.Workspace, "state.json"))
	if err == nil && info.ModTime().After(now.Add(slack)) {
		f.Grade, f.Fix = gradeWarn, "set the clock of this machine"
		f.Text = "state.json was written in the future, at " + info.ModTime().UTC().Format(time.RFC3339)
	}
	d.add(f)
}

// foreign tells what the first argument is called in files of other tools: they do not agree.
func (d *checkup) foreign() {
	bases := [2][]string{{}, {}}
	for _, e := range d.table.Commands() {
		c, foreign, err := d.library.Prompt(e.Source, e.File)
		if err == nil && foreign && c.Dialect == dialect.Claude {
			at := min(c.Base, 1)
			bases[at] = append(bases[at], "/"+e.Name)
		}
	}
	for _, l := range d.table.LeftOut() {
		d.add(finding{
			Name: "commands", Grade: gradeWarn, Text: l.String(),
			Fix: "make it a regular file in a folder that can be read",
		})
	}
	if len(bases[0])+len(bases[1]) == 0 {
		return
	}
	names := func(i int) string { return cmp.Or(strings.Join(bases[i], " "), "none") }
	d.add(finding{
		Name: "commands", Grade: gradeOK,
		Text:   sprintf("of other tools: first argument $0 in %s, $1 in %s", names(0), names(1)),
		Detail: fields{"positional_base_0": bases[0], "positional_base_1": bases[1]},
	})
}
