package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"tercet/commands/compile"
	"tercet/commands/outline"
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
		Long: `The files of a project that can start a program are its commands, subagents, facets and configuration, the auto-approve
file, the programs that subagents name, and the commands, agents, skills and settings of other tools. Before a person has
agreed to them tercet reads and shows, and starts nothing. The answer is kept outside of the project, for this folder and the
content of each file; what changes is asked about again, and nothing else.

Without a terminal --trust=sha256:HASH agrees to exactly the files that have this hash, which --json and the refusal tell.`,
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
			v, err := w.trust()
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
				w.showTrust(v, v.manifest.Files)
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
func (w *world) agreeTrust(ctx context.Context, v *verdict) error {
	a := w.app
	if v.note != nil {
		a.term.note("warning: %v", v.note)
	}
	if v.by == byRecord {
		a.term.note("trusted already: %s, sha256:%s", count(len(v.manifest.Files), "file"), v.manifest.Hash())
		return nil
	}
	if v.store == nil {
		return &formats.Failure{
			Code: formats.CodeUntrusted, Message: "there is no place to keep the answer", Err: v.note,
			Help: "set XDG_STATE_HOME to a folder of your own outside of the project",
		}
	}
	if a.trusts(v.manifest.Hash()) {
		return w.keepTrust(v)
	}
	if !a.interactive() {
		return v.untrusted(w.dir)
	}
	files := make([]trust.File, len(v.changes))
	for i, c := range v.changes {
		files[i] = c.File
	}
	w.showTrust(v, files)
	a.term.prompt("Trust this project as it is now? [y/N] ")
	line, err := a.readLine(ctx)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !isYes(line) {
		return &formats.Failure{Code: formats.CodeUntrusted, Message: "not trusted: " + w.dir, Help: "nothing was kept; the next command asks again"}
	}
	return w.keepTrust(v)
}

// keepTrust writes the record; an answer that cannot be kept is an error of this verb.
func (w *world) keepTrust(v *verdict) error {
	r := v.record.Approve(v.manifest)
	if err := v.store.Save(r, v.manifest, clock{}.Now()); err != nil {
		return &formats.Failure{Code: formats.CodeIO, Message: "trust record", Err: err, Help: "check the folder that XDG_STATE_HOME names"}
	}
	w.app.term.note("trusted: %s, sha256:%s", count(len(v.manifest.Files), "file"), v.manifest.Hash())
	return nil
}

func (w *world) revoke(v *verdict) error {
	if v.store == nil {
		return &formats.Failure{Code: formats.CodeIO, Message: "trust record", Err: v.note}
	}
	had, err := v.store.Revoke()
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
func (w *world) showTrust(v *verdict, files []trust.File) {
	t := w.app.term
	for _, f := range files {
		state, before := v.state(f)
		t.answer("%-8s %s%s", state, f.Path, prefixed("  ", w.names(v, f.Path)))
		if state != trust.Changed.String() {
			continue
		}
		for _, line := range w.difference(v, f.Path, before) {
			t.answer("    %s", line)
		}
	}
	by := "nobody"
	if v.by != "" {
		by = v.by
	}
	t.answer("%s, sha256:%s", count(len(v.manifest.Files), "file"), v.manifest.Hash())
	t.answer("trusted by %s", by)
}

// state is the word for a file: trusted, new or changed, and what was agreed to before.
func (v *verdict) state(f trust.File) (word, before string) {
	for _, c := range v.changes {
		if c.Path == f.Path {
			return c.Kind.String(), c.Before
		}
	}
	return "trusted", ""
}

// difference shows what changed in a file since it was agreed to.
func (w *world) difference(v *verdict, name, before string) []string {
	if v.store == nil {
		return nil
	}
	old, ok := v.store.Text(before)
	if !ok {
		return []string{"(what was agreed to before was not kept: it is no text, or too long)"}
	}
	now, err := readSome(w.root.FS(), name)
	if err != nil {
		return []string{"(" + err.Error() + ")"}
	}
	return trust.Diff(string(old), string(now), shownDiff)
}

// trustDocument is the answer under --json.
func (w *world) trustDocument(v *verdict) map[string]any {
	files := []map[string]any{}
	for _, f := range v.manifest.Files {
		state, before := v.state(f)
		one := map[string]any{"path": f.Path, "sha256": f.SHA256, "state": state, "names": w.names(v, f.Path)}
		if before != "" {
			one["before"] = before
		}
		files = append(files, one)
	}
	out := map[string]any{"schema": "tercet.trust/1", "dir": w.dir, "trusted": v.by != "", "by": v.by, "manifest": "sha256:" + v.manifest.Hash(), "files": files}
	if v.note != nil {
		out["note"] = v.note.Error()
	}
	return out
}

// agentsOf lists the subagents that a command asks.
func agentsOf(prog *compile.Program) []string { return outline.Of(prog).Agents() }

// checkDigests refuses what --trust names and no hash can be, before anything is looked at.
func checkDigests(text string) error {
	if text == "" {
		return nil
	}
	for one := range strings.SplitSeq(text, ",") {
		digits := strings.TrimPrefix(strings.TrimSpace(one), "sha256:")
		if len(digits) != 64 || strings.Trim(digits, "0123456789abcdef") != "" {
			return &formats.Failure{
				Code: formats.CodeUsage, Message: "expected sha256: and 64 hex digits for --trust, got " + strings.TrimSpace(one), Help: "'tercet trust --json' tells the hash of what is there",
			}
		}
	}
	return nil
}

// isYes reads the answer to a question whose default is no.
func isYes(line string) bool {
	word := strings.ToLower(strings.TrimSpace(line))
	return word == "y" || word == "yes"
}
