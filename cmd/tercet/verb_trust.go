package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/trust"
)

// shownDiff bounds the lines of a change that are shown.
const shownDiff = 60

// trustVerb shows the files of a project that can start a program, and keeps the answer of the person.
func (a *app) trustVerb() *cobra.Command {
	var show, revoke bool
	cmd := &cobra.Command{
		Use: "trust", Short: "agree to the files of this project that can start programs", Args: words(0, 0),
		Long: `The files of a project that can start a program are its commands, subagents, facets and
configuration, the auto-approve file, the programs that subagents name, and the commands, agents,
skills and settings of other tools. Before a person has agreed to them tercet reads and shows, and
starts nothing. The answer is kept outside of the project, for this folder and the content of each
file; what changes is asked about again, and nothing else.

Without a terminal --trust=sha256:HASH agrees to exactly the files that have this hash, which
--json and the refusal tell.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if show && revoke {
				return usage("expected one of --show and --revoke, got both")
			}
			if a.insideRun() && !show && !a.flags.json {
				return a.mayCommand()
			}
			w, err := a.workspace(cmd.Context())
			if err != nil {
				return err
			}
			v, err := w.gate.Verdict()
			if err != nil {
				return err
			}
			switch {
			case revoke:
				return w.revoke(v)
			case a.flags.json && a.flags.trust == "":
				a.term.json(w.trustDocument(v))
				return nil
			case show:
				w.showTrust(v, v.Manifest.Files)
				return nil
			}
			return w.agreeTrust(cmd.Context(), v)
		},
	}
	cmd.Flags().BoolVar(&show, "show", false, "show the files and ask nothing")
	cmd.Flags().BoolVar(&revoke, "revoke", false, "forget what was agreed to in this project")
	cmd.Flags().StringVar(&a.flags.trust, "trust", "", "agree to exactly the files with this `sha256:digest`")
	return cmd
}

// agreeTrust asks for what is new and what changed, and keeps the answer.
func (w *world) agreeTrust(ctx context.Context, v *trust.Verdict) error {
	a := w.app
	if v.Note != nil {
		a.term.note("warning: %v", v.Note)
	}
	switch {
	case v.By == trust.ByRecord:
		a.term.note("trusted already: %s, sha256:%s", count(len(v.Manifest.Files), "file"), v.Manifest.Hash())
		return nil
	case v.Store == nil:
		return &formats.Failure{
			Code: formats.CodeUntrusted, Message: "there is no place to keep the answer", Err: v.Note,
			Help: "set XDG_STATE_HOME to a folder of your own outside of the project",
		}
	case trust.Names(a.flags.trust, v.Manifest.Hash()):
		return w.keepTrust(v)
	case !a.interactive():
		return v.Refused()
	}
	files := make([]trust.File, len(v.Changes))
	for i, c := range v.Changes {
		files[i] = c.File
	}
	w.showTrust(v, files)
	a.term.prompt("Trust this project as it is now? [y/N] ")
	line, err := a.readLine(ctx)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !isYes(line) {
		return formats.Fail(formats.CodeUntrusted, "nothing was kept; the next command asks again", "not trusted: %s", w.dir)
	}
	return w.keepTrust(v)
}

// keepTrust writes the record; an answer that cannot be kept is an error of this verb.
func (w *world) keepTrust(v *trust.Verdict) error {
	if err := w.gate.Agree(v); err != nil {
		return &formats.Failure{
			Code: formats.CodeIO, Message: "trust record", Err: err,
			Help: "check the folder that XDG_STATE_HOME names",
		}
	}
	w.app.term.note("trusted: %s, sha256:%s", count(len(v.Manifest.Files), "file"), v.Manifest.Hash())
	return nil
}

func (w *world) revoke(v *trust.Verdict) error {
	if v.Store == nil {
		return &formats.Failure{Code: formats.CodeIO, Message: "trust record", Err: v.Note}
	}
	had, err := v.Store.Revoke()
	if err != nil {
		return &formats.Failure{Code: formats.CodeIO, Message: "trust record", Err: err}
	}
	if !had {
		w.app.term.note("nothing was agreed to in %s", w.dir)
		return nil
	}
	w.app.term.note("forgotten: what was agreed to in %s", w.dir)
	return nil
}

// showTrust prints files with what they lead to, and how they differ from what was agreed to.
func (w *world) showTrust(v *trust.Verdict, files []trust.File) {
	t := w.app.term
	for _, f := range files {
		state, before := v.State(f)
		t.answer("%-8s %s%s", state, f.Path, prefixed("  ", w.names(v, f)))
		if before == "" {
			continue
		}
		for _, line := range w.gate.Difference(v, f.Path, before, shownDiff) {
			t.answer("    %s", line)
		}
	}
	t.answer("%s, sha256:%s", count(len(v.Manifest.Files), "file"), v.Manifest.Hash())
	t.answer("trusted by %s", cmp.Or(v.By, "nobody"))
}

// trustDocument is the answer under --json.
func (w *world) trustDocument(v *trust.Verdict) map[string]any {
	files := []map[string]any{}
	for _, f := range v.Manifest.Files {
		state, before := v.State(f)
		one := map[string]any{"path": f.Path, "sha256": f.SHA256, "state": state, "names": w.names(v, f)}
		if before != "" {
			one["before"] = before
		}
		files = append(files, one)
	}
	out := map[string]any{
		"schema": "tercet.trust/1", "dir": w.dir, "trusted": v.By != "", "by": v.By, "manifest": "sha256:" +
			v.Manifest.Hash(), "files": files,
	}
	if v.Note != nil {
		out["note"] = v.Note.Error()
	}
	return out
}

// isYes reads the answer to a question whose default is no.
func isYes(line string) bool {
	word := strings.ToLower(strings.TrimSpace(line))
	return word == "y" || word == "yes"
}
