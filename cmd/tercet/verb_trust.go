package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/project"
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
		reads := *show || c.app.flags.json && c.app.flags.trust == ""
		if *revoke || !reads {
			if err := c.app.mayCommand(); err != nil {
				return err
			}
		}
		s, err := c.app.workspaceSession(c.ctx)
		if err != nil {
			return err
		}

		c.s = s
		c.p = s.Project
		v, err := c.p.Trust.Verdict()
		switch {
		case err != nil:
			return err
		case *revoke:
			return c.revokeTrust(v)
		case c.app.flags.json && c.app.flags.trust == "":
			c.app.answerJSON("tercet.trust/1", c.trustRecord(v))
			return nil
		case *show:
			c.showTrust(v, v.All())
			return nil
		}

		return c.agreeToTrust(v)
	}
}

// agreeToTrust asks for what is new and what changed, and keeps the answer.
func (c call) agreeToTrust(v *project.TrustVerdict) error {
	if v.Note != nil {
		c.app.term.Note("warning: %v", v.Note)
	}
	switch {
	case v.By == project.TrustedByRecord:
		c.app.reportDone("trusted already: %s", trustSum(v))
		return nil
	case v.Store == nil:
		return broken(formats.CodeUntrusted, "there is no place to keep the answer", v.Note,
			"set XDG_STATE_HOME to a folder of your own outside of the project")
	case !c.p.Trust.NamesDigest(v.Manifest.Hash()):
		if !c.app.term.Interactive() {
			return v.Refused()
		}
		c.showTrust(v, v.Changes)
		ok, err := c.app.term.Yes(c.ctx, "Trust this project as it is now?")
		switch {
		case err != nil:
			return err
		case !ok:
			return formats.Fail(formats.CodeUntrusted,
				"nothing was kept; the next command asks again", "not trusted: %s", c.p.Dir)
		}
	}

	if err := c.p.Trust.Agree(v); err != nil {
		return broken(
			formats.CodeIO,
			"trust record",
			err,
			"check the folder that XDG_STATE_HOME names",
		)
	}

	c.app.reportDone("trusted: %s", trustSum(v))
	return nil
}

// trustSum says how many files are listed, and which hash stands for all of them.
func trustSum(v *project.TrustVerdict) string {
	return formats.Count(len(v.Manifest.Files), "file") + ", sha256:" + v.Manifest.Hash()
}

func (c call) revokeTrust(v *project.TrustVerdict) error {
	had := false
	err := v.Note
	if v.Store != nil {
		had, err = v.Store.Revoke()
	}

	switch {
	case err != nil:
		return broken(formats.CodeIO, "trust record", err)
	case had:
		c.app.reportDone("you no longer agree to the files of %s", c.p.Dir)
	default:
		c.app.reportDone("you had agreed to no file of %s", c.p.Dir)
	}
	return nil
}

// showTrust prints files with what they lead to, and how they differ from what was agreed to.
func (c call) showTrust(v *project.TrustVerdict, list []project.TrustChange) {
	t := c.app.term
	for _, one := range list {
		t.Sentence("%-8s %s%s", one.Kind, one.Path, formats.Prefixed("  ", c.s.LeadsTo(v, one)))
		for _, line := range v.Difference(one, shownDiff) {
			t.Answer("    %s", line)
		}
	}

	if others := len(v.Manifest.Files) - len(list); others > 0 && len(list) > 0 {
		t.Answer("%s as you agreed to", formats.Count(others, "other file"))
	}
	t.Answer("%s", trustSum(v))
	t.Answer("trusted by %s", cmp.Or(v.By, "nobody"))
}

// trustRecord is the answer for programs.
func (c call) trustRecord(v *project.TrustVerdict) fields {
	files := []fields{}
	for _, change := range v.All() {
		one := fields{
			"path":   change.Path,
			"sha256": change.SHA256,
			"state":  change.Kind,
			"names":  c.s.LeadsTo(v, change),
		}
		if change.Before != "" {
			one["before"] = change.Before
		}
		files = append(files, one)
	}

	out := fields{
		"dir":      c.p.Dir,
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
