package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/commands/outline"
	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/plain"
	"tercet/internal/proc"
	"tercet/internal/question"
	"tercet/internal/trust"
	"tercet/subagents"
	"tercet/subagents/agentcli"
)

// shownDiff bounds the lines of a change that are shown.
const shownDiff = 60

// trustVerb shows the files of a project that can start a program, and keeps the answer of the
// user.
func trustVerb(cmd *cobra.Command, a *app) run {
	cmd.Long = `trust shows the files of this project that can start programs, and asks whether you agree to them.
These are commands, subagents, facets, the configuration, the auto-approve file, and the scripts that
subagents name. They are also the commands, agents, skills and settings of other tools. Until you
agree, tercet reads and shows, and starts nothing. It keeps your answer outside of the project, for
this folder and for the content of each file. When a file changes, tercet asks again about that file
alone.

Without a terminal, pass --trust=sha256:HASH. It agrees to exactly the files with this hash, which
--json and the refusal print.`
	show := cmd.Flags().Bool("show", false, "show the files and ask nothing")
	revoke := cmd.Flags().Bool(
		"revoke",
		false,
		"withdraw your agreement to the files of this project",
	)
	cmd.Flags().StringVar(
		&a.flags.trust,
		"trust",
		"",
		"agree to exactly the files with this `sha256:digest`",
	)
	return func(c call) error {
		if *show && *revoke {
			return usage("expected one of --show and --revoke, got both")
		}
		reads := *show || c.flags.json && c.flags.trust == ""
		if *revoke || !reads {
			if err := c.mayCommand(); err != nil {
				return err
			}
		}
		world, err := c.inside(c.ctx)
		if err != nil {
			return err
		}

		w := consent{world}
		v, err := w.gate.Verdict()
		switch {
		case err != nil:
			return err
		case *revoke:
			return w.revoke(v)
		case c.flags.json && c.flags.trust == "":
			c.document("tercet.trust/1", w.record(v))
			return nil
		case *show:
			w.show(v, v.All())
			return nil
		}

		return w.agree(c.ctx, v)
	}
}

// agree asks for what is new and what changed, and keeps the answer.
func (w consent) agree(ctx context.Context, v *trust.Verdict) error {
	a := w.app
	if v.Note != nil {
		a.term.note("warning: %v", v.Note)
	}
	switch {
	case v.By == trust.ByRecord:
		w.done("trusted already: %s", w.sum(v))
		return nil
	case v.Store == nil:
		return broken(formats.CodeUntrusted, "there is no place to keep the answer", v.Note,
			"set XDG_STATE_HOME to a folder of your own outside of the project")
	case !w.gate.Named(v.Manifest.Hash()):
		if !a.interactive() {
			return v.Refused()
		}
		w.show(v, v.Changes)
		ok, err := a.yes(ctx, "Trust this project as it is now?")
		switch {
		case err != nil:
			return err
		case !ok:
			return formats.Fail(formats.CodeUntrusted,
				"nothing was kept; the next command asks again", "not trusted: %s", w.dir)
		}
	}

	if err := w.gate.Agree(v); err != nil {
		return broken(
			formats.CodeIO,
			"trust record",
			err,
			"check the folder that XDG_STATE_HOME names",
		)
	}

	w.done("trusted: %s", w.sum(v))
	return nil
}

// sum says how many files are listed, and which hash stands for all of them.
func (consent) sum(v *trust.Verdict) string {
	return formats.Count(len(v.Manifest.Files), "file") + ", sha256:" + v.Manifest.Hash()
}

func (w consent) revoke(v *trust.Verdict) error {
	had := false
	err := v.Note
	if v.Store != nil {
		had, err = v.Store.Revoke()
	}
	switch {
	case err != nil:
		return broken(formats.CodeIO, "trust record", err)
	case had:
		w.done("you no longer agree to the files of %s", w.dir)
	default:
		w.done("you had agreed to no file of %s", w.dir)
	}
	return nil
}

// show prints files with what they lead to, and how they differ from what was agreed to.
func (w consent) show(v *trust.Verdict, list []trust.Change) {
	t := w.term
	for _, c := range list {
		t.answer("%-8s %s%s", c.Kind, c.Path, prefixed("  ", w.leadsTo(v, c)))
		for _, line := range v.Difference(c, shownDiff) {
			t.answer("    %s", line)
		}
	}
	t.answer("%s", w.sum(v))
	t.answer("trusted by %s", cmp.Or(v.By, "nobody"))
}

// record is the answer for programs.
func (w consent) record(v *trust.Verdict) fields {
	files := []fields{}
	for _, c := range v.All() {
		one := fields{
			"path":   c.Path,
			"sha256": c.SHA256,
			"state":  c.Kind,
			"names":  w.leadsTo(v, c),
		}
		if c.Before != "" {
			one["before"] = c.Before
		}
		files = append(files, one)
	}
	out := fields{
		"dir":      w.dir,
		"trusted":  v.By != "",
		"by":       v.By,
		"manifest": "sha256:" + v.Manifest.Hash(),
		"files":    files,
	}
	if v.Note != nil {
		out["note"] = v.Note.Error()
	}
	return out
}

// newGate makes the gate of the project: it decides what of it may start a program.
func (w *world) newGate() *trust.Gate {
	a := w.app
	instead := ""
	switch {
	case a.env("TERCET_TRUST") == "1":
		instead = trust.ByEnvironment
	case a.play != nil && a.play.dir == w.dir:
		instead = trust.ByDemo
	}
	return trust.New(trust.Config{
		Root:    w.root,
		Dir:     w.dir,
		Home:    a.stateHome(),
		Digests: a.flags.trust,
		Instead: instead,
		Agreed:  a.accepted,
		Others:  w.listed,
		Now:     clock{}.Now,

		Settings: agentcli.Settings(),
		Argv: func(name string, src []byte) []string {
			def, err := subagents.ParseDefinition(name, src)
			if err != nil {
				return nil // a file that cannot be read starts nothing
			}
			return def.Argv
		},
	})
}

// listed gives the commands of the project, the agents of other tools in it, and the folders of
// both.
func (w *world) listed() (files []trust.Listed, folders []string, _ error) {
	for _, e := range w.table.Files() {
		if w.scanned.own[e.Source] {
			files = append(files, trust.Listed{
				Path:   path.Join(e.Source, e.File),
				Kind:   trust.KindCommand,
				Source: e.Source,
				File:   e.File,
			})
		}
	}

	folders = slices.Clone(w.scanned.folders)
	for _, p := range w.scanned.agents() {
		if !ofProject(p.Place) {
			continue
		}
		folders = append(folders, p.Dir)
		for _, name := range p.AgentFiles() {
			files = append(files, trust.Listed{
				Path: path.Join(p.Dir, name),
				Kind: trust.KindAgent,
			})
		}
	}

	return files, folders, nil
}

// folderOf is the program's folder in one of the user's base folders. A variable names the base, or
// it lies below the home folder. Empty: there is no place for it.
func (a *app) folderOf(variable string, below ...string) string {
	base := a.env(variable)
	if !filepath.IsAbs(base) {
		home := a.env("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		base = filepath.Join(home, filepath.Join(below...))
	}
	return filepath.Join(base, "tercet")
}

// stateHome is the program's folder for what outlives a project; empty where there is no place for
// it.
func (a *app) stateHome() string {
	return a.folderOf("XDG_STATE_HOME", ".local", "state")
}

// allow is asked before any process is started.
func (w *world) allow(_ context.Context, c proc.Command) error {
	return w.gate.Allow(trust.Start{
		Argv:  c.Argv,
		Dir:   c.Dir,
		Git:   c.Purpose == proc.PurposeGit,
		Agent: c.Purpose == proc.PurposeAgent || c.Purpose == proc.PurposeNotice,
	})
}

// trusted tells who trusts the project; empty: no user does.
func (w *world) trusted() string {
	v, err := w.gate.Verdict()
	if err != nil {
		return ""
	}
	return v.By
}

// consent asks the user for trust in a project, and shows what the question is about.
type consent struct{ *world }

// first lets a slash command run in a trusted project, and asks for the trust on a terminal. The
// help of the program itself needs none, and keeps no run then.
func (w consent) first(ctx context.Context, r formats.Invocation) error {
	if !w.has || r.DryRun {
		return nil
	}
	v, err := w.gate.Verdict()
	if err != nil {
		return err
	}

	p, foreign := w.library.Foreign[r.Source]
	switch {
	case v.By == trust.ByEnvironment: // doctor and trust --show tell it
		return nil
	case v.By != "" && foreign && p.Scope == dialect.Project && !fs.ValidPath(p.Dir):
		return formats.Fail(formats.CodeUntrusted,
			"copy it into the project, or set TERCET_TRUST=1 to accept this checkout as it is",
			"%s lies above the project, and trust in the project does not cover it",
			path.Join(r.Source, r.File))
	case v.By != "":
		return nil
	case r.Name == "help" && r.Source == librarySource:
		w.readOnly = true
		return nil
	}

	if v.Note != nil {
		w.term.note("warning: %v", v.Note)
	}
	if !w.interactive() {
		return v.Refused()
	}

	ok, err := w.ask(ctx, v)
	switch {
	case err != nil:
		return err
	case !ok:
		return formats.Fail(formats.CodeUntrusted,
			"'tercet trust --show' shows what these files do", "not trusted: %s", w.dir)
	}

	if err := w.gate.Agree(v); err != nil {
		w.term.note("warning: the answer holds for this process only: %v", err)
	}
	return nil
}

// question is what a command in a file asks about the project before it runs; empty for nothing.
func (w consent) question(file string) string {
	if !w.has || file == librarySource+"/help.md" {
		return ""
	}
	v, err := w.gate.Verdict()
	if err != nil || v.By != "" {
		return ""
	}
	if len(v.Changes) == 0 {
		return "git and this project's own checks would run here"
	}
	return formats.Count(len(v.Changes), "file") + " can start programs"
}

// ask shows what is new and what changed, a line each, and asks once for all of it.
func (w consent) ask(ctx context.Context, v *trust.Verdict) (bool, error) {
	const most = 20
	t := w.term
	them := "them"
	if len(v.Changes) <= 1 {
		them = "it"
	}
	if len(v.Changes) == 0 {
		t.say(
			"git and this project's own checks would run here, and you have not agreed to " +
				"that yet: " + w.dir,
		)
	} else {
		t.say(sprintf("%s of %s can start programs, and you have not agreed to %s:",
			formats.Count(len(v.Changes), "file"), w.dir,
			them))
	}
	for i, c := range v.Changes {
		if i == most {
			t.prompt("  %s and %d more\n", t.sheet(t.errTTY).Mark("…"), len(v.Changes)-most)
			break
		}
		t.prompt("  %-8s %s%s\n", c.Kind, c.Path, prefixed("  ", w.leadsTo(v, c)))
	}
	return w.yes(ctx, "Trust "+them+"? ('tercet trust --show' shows more)")
}

// yes asks a question whose default is no.
func (a *app) yes(ctx context.Context, text string) (bool, error) {
	a.untaken(a.lines.Drop(ctx))
	for {
		line, err := a.question(ctx, plain.Sprintf("%s [y/N] ", text))
		if err != nil && line == "" {
			a.term.prompt("\n")
			return false, context.Cause(ctx)
		}
		if yes, ok := question.ParseYes(line); ok {
			return yes, nil
		}
		a.term.prompt("expected y or n, got %q\n", line)
	}
}

func prefixed(prefix, text string) string {
	if text != "" {
		text = prefix + text
	}
	return text
}

// leadsTo says what a listed file leads to: the command and the subagents it names, the program it
// starts.
func (w consent) leadsTo(v *trust.Verdict, f trust.Change) string {
	i := slices.IndexFunc(v.Files, func(one trust.Listed) bool {
		return one.Path == f.Path
	})
	if i < 0 {
		return ""
	}
	one := v.Files[i]
	switch {
	case f.Problem != "":
		return one.Kind + " that " + f.Problem
	case one.Kind == trust.KindCommand:
		return w.ofCommand(one)
	case one.Kind == trust.KindSubagent, one.Kind == trust.KindAgent:
		return w.ofSubagent(one)
	}
	return one.Kind
}

func (w consent) ofCommand(f trust.Listed) string {
	prog, c, err := w.library.Load(f.Source, f.File)
	switch {
	case err != nil:
		return "a command that cannot be read"
	case c != nil:
		words := []string{"/" + c.Name + " (" + c.Dialect.String() + ")"}
		for _, m := range c.Marks() {
			words = append(words, m.Does+" "+m.Text)
		}
		return strings.Join(words, "; ")
	}
	return "/" + prog.Name + prefixed(": ", strings.Join(outline.Of(prog).Agents(), ", "))
}

func (w consent) ofSubagent(f trust.Listed) string {
	for _, name := range w.set.Names() {
		if def, _, ok := w.set.Lookup(name, ""); ok && def.File == f.Path {
			if len(def.Argv) > 0 {
				return fmt.Sprintf("subagent %s, runs %q", name, def.Argv)
			}
			return "subagent " + name + prefixed(", runner ", strings.Join(def.Info.Runner, ", "))
		}
	}
	return f.Kind + " that is not used"
}

// guard looks, before and after a subagent works, at what it must leave alone. That is what git
// runs, and the files of the workspace that start programs. A change ends the run.
func (w *world) guard(
	ctx context.Context,
	r formats.Request,
) (func() ([]formats.Moved, error), error) {
	tamper := func(what string) error { return w.gate.Tamper(r.Agent, what) }
	refs, err := w.trees.Watch(r.Dir)
	if err != nil {
		return nil, err
	}
	git, err := refs.Guard(ctx, r, tamper)
	if err != nil || !w.has {
		return git, err
	}
	own, err := w.gate.Watch(r.Agent)
	return func() ([]formats.Moved, error) {
		moved, err := git()
		return moved, errors.Join(err, own())
	}, err
}
