package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/lint"
	"tercet/subagents"
	"tercet/templates/meta"
)

// lintVerb checks command and subagent files, all errors of all files in one pass.
func lintVerb(cmd *cobra.Command, a *app) run {
	a.told[toldBroken] = true
	f := cmd.Flags()
	strict := f.Bool("strict", false, "refuse warnings and plain sentences too")
	fix := f.Bool("fix", false, "apply the corrections that have only one candidate")
	format := f.String("format", "text", "text or json")
	adopt := f.Bool("adopt", false, "write the draft of a workflow beside each prompt of another tool that PATH names")
	return func(c call) error {
		if _, err := formats.OneOf("--format text or json", *format, []string{"text", "json"}); err != nil {
			return err
		}
		if *format == "json" {
			c.flags.json, c.term.silent = true, true
		}
		if *adopt {
			return adoptFiles(c)
		}
		return c.lintFiles(*strict, *fix)
	}
}

// adoptFiles translates prompts of other tools, and says what of them it could not.
func adoptFiles(c call) error {
	if err := c.mayCommand(); err != nil {
		return err
	}
	if !c.has {
		return noWorkspace()
	}
	files, _, errs := lint.Files(c.args)
	builder, out := meta.New(c.root, c.set, c.catalog), []fields{}
	for _, name := range files {
		file := filepath.ToSlash(name)
		if full, err := filepath.Abs(name); err == nil {
			if inside, err := filepath.Rel(c.dir, full); err == nil {
				file = filepath.ToSlash(inside)
			}
		}
		written, notes, err := builder.Adopt(c.ctx, file)
		if err != nil {
			errs = errors.Join(errs, err)
			continue
		}
		out = append(out, fields{"from": file, "file": written, "notes": nonNil(notes)})
		if c.flags.json {
			continue
		}
		c.term.answer("%s", written)
		for _, note := range notes {
			c.term.note("warning: %s", note)
		}
	}
	if errs == nil {
		c.document("tercet.adopt/1", fields{"adopted": out})
	}
	return errs
}

func (c call) lintFiles(strict, fix bool) error {
	files, unread, err := lint.Files(c.args)
	if err != nil {
		return err
	}
	fixed := 0
	all, err := lint.Each(files, func(name string, src []byte) (_ []byte, list []formats.Diagnostic, err error) {
		list = lint.File(c.library, name, src, strict)
		if fix {
			var made []formats.Diagnostic
			src, list, made, err = lint.Mend(c.library, name, src, list, strict)
			for _, d := range made {
				c.term.note("%s:%d:%d: %s: wrote '%s'", name, d.Pos.Line, d.Pos.Col, d.Code, d.Fix.Text)
			}
			fixed += len(made)
		}
		return src, list, err
	})
	if err != nil {
		return err
	}
	all.List = append(append(all.List, unread...), taken(c.world, files)...)
	all.Sort()
	if c.broken != nil { // why a command does not find a subagent whose file is not checked
		c.term.diagnostics(&formats.Diagnostics{List: slices.DeleteFunc(c.broken.List, func(d formats.Diagnostic) bool {
			return slices.ContainsFunc(files, func(name string) bool { return filepath.Base(name) == filepath.Base(d.File) })
		})})
	}
	doc := fields{"diagnostics": all.Records(), "files": len(files)}
	if fix {
		doc["fixed"] = fixed
	}
	if !c.document("tercet.lint/1", doc) {
		c.term.diagnostics(all)
		c.term.note("%s, %s", formats.Count(len(files), "file"), formats.Count(len(all.List), "finding"))
	}
	if all.HasErrors() {
		return shownAs(formats.CodeInvalidCommand)
	}
	return nil
}

// taken are the findings about the names of agent files of other tools, which only all of them together have.
func taken(c *world, files []string) (out []formats.Diagnostic) {
	for _, d := range c.agentNotes {
		i := slices.IndexFunc(files, func(name string) bool {
			full, err := filepath.Abs(name)
			return err == nil && full == filepath.Join(c.dir, filepath.FromSlash(d.File))
		})
		if i >= 0 && subagents.OfNames(d) {
			d.File = files[i]
			out = append(out, d)
		}
	}
	return out
}

// fmtVerb gives command and subagent files the one form that their blocks have.
func fmtVerb(cmd *cobra.Command, _ *app) run {
	check := cmd.Flags().Bool("check", false, "write nothing; name the files that would change, exit 1 if there is one")
	expand := cmd.Flags().Bool("expand", false, "write plain sentences out as blocks")
	return func(c call) error {
		if len(c.args) > 1 || c.args[0] != "-" {
			return c.formatFiles(*check, *expand)
		}
		src, err := readInput(c.io.in, "-")
		if err != nil {
			return broken(formats.CodeIO, "standard input", err)
		}
		out, err := lint.Format(c.library, "-", src, *expand)
		if err == nil {
			c.term.raw(out)
		}
		return err
	}
}

func (c call) formatFiles(check, expand bool) error {
	files, unread, err := lint.Files(c.args)
	if err != nil {
		return err
	}
	c.term.diagnostics(&formats.Diagnostics{List: unread})
	changed := []string{}
	own := slices.DeleteFunc(slices.Clone(files), lint.Foreign)
	for _, name := range files {
		if !slices.Contains(own, name) {
			c.term.note("%s is a file of another tool and stays as it is", name)
		}
	}
	bad, err := lint.Each(own, func(name string, src []byte) ([]byte, []formats.Diagnostic, error) {
		out, err := lint.Format(c.library, name, src, expand)
		if err == nil && !bytes.Equal(src, out) {
			changed = append(changed, name)
			if !check {
				err = lint.Rewrite(name, src, out)
			}
		}
		return src, nil, err
	})
	if err != nil {
		return err
	}
	bad.Sort()
	if !c.document("tercet.fmt/1", fields{
		"changed": changed, "written": !check, "files": len(files), "diagnostics": bad.Records(),
	}) {
		c.term.diagnostics(bad)
		for _, name := range changed {
			c.term.answer("%s", name)
		}
	}
	switch {
	case bad.HasErrors():
		return shownAs(formats.CodeInvalidCommand)
	case check && len(changed) > 0:
		return shownAs(formats.CodeUnknown)
	}
	return nil
}

// lintOwn checks a command or subagent file of the project for a run.
func (w *world) lintOwn(name string, src []byte, subagent bool) []formats.Diagnostic {
	return lint.Check(w.library, filepath.Join(w.dir, filepath.FromSlash(name)), src, subagent)
}

func asDiagnostics(err error) (*formats.Diagnostics, bool) {
	return errors.AsType[*formats.Diagnostics](err)
}
