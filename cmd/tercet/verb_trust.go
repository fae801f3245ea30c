package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/trust"
)

// shownDiff bounds the lines of a change that are shown.
const shownDiff = 60

// trustVerb shows the files of a project that can start a program, and keeps the answer of the person.
func trustVerb(cmd *cobra.Command, a *app) run {
	cmd.Long = `The files of a project that can start a program are its commands, subagents, facets and
configuration, the auto-approve file, the programs that subagents name, and the commands, agents,
skills and settings of other tools. Before a person has agreed to them tercet reads and shows, and
starts nothing. The answer is kept outside of the project, for this folder and the content of each
file; what changes is asked about again, and nothing else.

Without a terminal --trust=sha256:HASH agrees to exactly the files that have this hash, which
--json and the refusal tell.`
	show := cmd.Flags().Bool("show", false, "show the files and ask nothing")
	revoke := cmd.Flags().Bool("revoke", false, "forget what was agreed to in this project")
	cmd.Flags().StringVar(&a.flags.trust, "trust", "", "agree to exactly the files with this `sha256:digest`")
	return func(c call) error {
		if *show && *revoke {
			return usage("expected one of --show and --revoke, got both")
		}
		if c.insideRun() && !*show && !c.flags.json {
			return c.mayCommand()
		}
		world, err := c.workspace(c.ctx)
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
	w.tellNote(v)
	switch {
	case v.By == trust.ByRecord:
		a.term.note("trusted already: %s", w.sum(v))
		return nil
	case v.Store == nil:
		return broken(formats.CodeUntrusted, "there is no place to keep the answer", v.Note,
			"set XDG_STATE_HOME to a folder of your own outside of the project")
	case !w.gate.Named(v.Manifest.Hash()):
		if !a.interactive() {
			return v.Refused()
		}
		w.show(v, v.Changes)
		switch ok, err := a.yes(ctx, "Trust this project as it is now?"); {
		case err != nil:
			return err
		case !ok:
			return formats.Fail(formats.CodeUntrusted, "nothing was kept; the next command asks again", "not trusted: %s", w.dir)
		}
	}
	if err := w.gate.Agree(v); err != nil {
		return broken(formats.CodeIO, "trust record", err, "check the folder that XDG_STATE_HOME names")
	}
	a.term.note("trusted: %s", w.sum(v))
	return nil
}

// sum says how many files are listed, and which hash stands for all of them.
func (consent) sum(v *trust.Verdict) string {
	return count(len(v.Manifest.Files), "file") + ", sha256:" + v.Manifest.Hash()
}

func (w consent) revoke(v *trust.Verdict) error {
	had, err := false, v.Note
	if v.Store != nil {
		had, err = v.Store.Revoke()
	}
	switch {
	case err != nil:
		return broken(formats.CodeIO, "trust record", err)
	case had:
		w.app.term.note("forgotten: what was agreed to in %s", w.dir)
	default:
		w.app.term.note("nothing was agreed to in %s", w.dir)
	}
	return nil
}

// show prints files with what they lead to, and how they differ from what was agreed to.
func (w consent) show(v *trust.Verdict, list []trust.Change) {
	t := w.app.term
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
		one := fields{"path": c.Path, "sha256": c.SHA256, "state": c.Kind, "names": w.leadsTo(v, c)}
		if c.Before != "" {
			one["before"] = c.Before
		}
		files = append(files, one)
	}
	out := fields{
		"dir": w.dir, "trusted": v.By != "", "by": v.By, "manifest": "sha256:" + v.Manifest.Hash(), "files": files,
	}
	if v.Note != nil {
		out["note"] = v.Note.Error()
	}
	return out
}
