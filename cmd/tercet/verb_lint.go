package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"tercet/commands/lint"
	"tercet/formats"
	"tercet/project"
	"tercet/subagents"
	"tercet/templates/meta"
)

// What 'tercet lint --fix' takes as its value.
const (
	fixAll  = "all"
	fixForm = "form"
)

// fixing says what 'tercet lint' writes.
type fixing struct {
	what   string // fixAll, fixForm; empty: nothing
	check  bool   // only name what would change
	expand bool   // write plain sentences out as blocks
}

// lintVerb checks command and subagent files, all errors of all files in one pass.
func lintVerb(cmd *cobra.Command, a *app) run {
	a.tellsBroken = true
	var fix fixing
	f := cmd.Flags()
	strict := f.Bool("strict", false, "refuse warnings and plain sentences too")
	f.StringVar(&fix.what, "fix", "",
		"apply the corrections that have only one candidate, and format; --fix=form only formats")
	f.Lookup("fix").NoOptDefVal = fixAll
	f.BoolVar(&fix.check, "check", false,
		"with --fix: write nothing; name the files that would change, exit 1 if there is one")
	f.BoolVar(&fix.expand, "expand", false, "with --fix: write plain sentences out as blocks")
	format := f.String("format", "text", "text or json")
	adopt := f.Bool(
		"adopt",
		false,
		"write the draft of a workflow beside each prompt of another tool that PATH names",
	)
	cmd.Long = `lint checks command and subagent files. With --fix it also corrects and formats them: the blocks and the
frontmatter get their one form, and every byte of prose stays. With --fix and - it reads standard input
and prints the text.`
	return func(c call) error {
		_, err := formats.OneOf("--format text or json", *format, []string{"text", "json"})
		if err != nil {
			return err
		}
		if *format == "json" {
			c.app.flags.json = true
			c.app.term.Set.Silent = true
		}
		if fix.what == "" && (fix.check || fix.expand) {
			return usage("expected --fix with --check and --expand")
		}
		if *adopt {
			return adoptFiles(c)
		}
		if fix.what == "" {
			return c.lintFiles(*strict, fix)
		}

		switch {
		case fix.what != fixAll && fix.what != fixForm:
			return usage("expected --fix or --fix=form, got --fix=%s", fix.what)
		case slices.Contains(c.args, "-"):
			return c.fixInput(*strict, fix)
		case fix.what == fixForm:
			return c.formatFiles(fix)
		}

		return c.lintFiles(*strict, fix)
	}
}

// adoptFiles translates prompts of other tools, and says what of them it could not.
func adoptFiles(c call) error {
	if err := c.app.mayCommand(); err != nil {
		return err
	}
	if !c.p.HasWorkspace {
		return project.NoWorkspace()
	}

	files, _, errs := lint.Files(c.args)
	builder := meta.New(c.p.Root, c.s.Set, c.s.Catalog)
	out := []fields{}
	for _, name := range files {
		file := filepath.ToSlash(name)
		if full, err := filepath.Abs(name); err == nil {
			if inside, err := filepath.Rel(c.p.Dir, full); err == nil {
				file = filepath.ToSlash(inside)
			}
		}
		written, notes, err := builder.Adopt(c.ctx, file)
		if err != nil {
			errs = errors.Join(errs, err)
			continue
		}
		out = append(out, fields{
			"from":  file,
			"file":  written,
			"notes": nonNil(notes),
		})
		if c.app.flags.json {
			continue
		}
		c.app.term.Answer("%s", written)
		for _, note := range notes {
			c.app.term.Note("warning: %s", note)
		}
	}
	if errs == nil {
		c.app.document("tercet.adopt/1", fields{"adopted": out})
	}
	return errs
}

func (c call) lintFiles(strict bool, fix fixing) error {
	files, unread, err := lint.Files(c.args)
	if err != nil {
		return err
	}

	fixed := 0
	changed := []string{}
	all, err := lint.Each(
		files,
		func(name string, src []byte) ([]byte, []formats.Diagnostic, error) {
			if fix.what == "" {
				return src, lint.File(c.s.Library, name, src, strict), nil
			}
			m, err := lint.Mend(c.s.Library, name, src, strict, fix.expand)
			if err != nil {
				return nil, nil, err
			}
			if !bytes.Equal(m.Text, src) {
				changed = append(changed, name)
			}
			if fix.check {
				return src, lint.File(c.s.Library, name, src, strict), nil
			}
			if !bytes.Equal(m.Text, src) {
				err = lint.Rewrite(name, src, m.Text)
			}
			if err != nil {
				return nil, nil, err
			}
			c.noteFixes(name, m.Made)
			fixed += len(m.Made)
			return m.Text, m.Left, nil
		},
	)
	if err != nil {
		return err
	}

	all.List = append(append(all.List, unread...), taken(c.s, files)...)
	all.Sort()
	if c.s.Broken != nil { // why a command does not find a subagent whose file is not checked
		c.app.term.Findings(&formats.Diagnostics{
			List: slices.DeleteFunc(c.s.Broken.List, func(d formats.Diagnostic) bool {
				return slices.ContainsFunc(files, func(name string) bool {
					return filepath.Base(name) == filepath.Base(d.File)
				})
			}),
		})
	}
	doc := fields{"diagnostics": all.Records(), "files": len(files)}
	if fix.what != "" {
		doc["fixed"] = fixed
		doc["changed"] = changed
		doc["written"] = !fix.check
	}
	if !c.app.document("tercet.lint/1", doc) {
		c.app.term.Findings(all)
		for _, name := range changed {
			c.app.term.Answer("%s", name)
		}
		c.app.term.Note("%s, %s",
			formats.Count(len(files), "file"), formats.Count(len(all.List), "finding"))
	}
	return fix.ended(all, changed)
}

// noteFixes says which corrections were made in a file.
func (c call) noteFixes(name string, made []formats.Diagnostic) {
	for _, d := range made {
		c.app.term.Note("%s:%d:%d: %s: wrote '%s'", name, d.Pos.Line, d.Pos.Col, d.Code, d.Fix.Text)
	}
}

// ended fails if there are errors, or if a file would change that should not.
func (f fixing) ended(found *formats.Diagnostics, changed []string) error {
	switch {
	case found.HasErrors():
		return shownAs(formats.CodeInvalidCommand)
	case f.check && len(changed) > 0:
		return shownAs(formats.CodeUnknown)
	}
	return nil
}

// taken are the findings about the names of agent files of other tools, which only all of them
// together have.
func taken(s *project.Session, files []string) (out []formats.Diagnostic) {
	for _, d := range s.AgentNotes {
		i := slices.IndexFunc(files, func(name string) bool {
			full, err := filepath.Abs(name)
			return err == nil && full == filepath.Join(s.Project.Dir, filepath.FromSlash(d.File))
		})
		if i >= 0 && subagents.OfNames(d) {
			d.File = files[i]
			out = append(out, d)
		}
	}
	return out
}

// fixInput corrects and formats standard input, and prints the text.
func (c call) fixInput(strict bool, fix fixing) error {
	if len(c.args) > 1 || fix.check {
		return usage("expected no other path and no --check with -")
	}
	src, err := readInput(c.app.in, "-")
	if err != nil {
		return broken(formats.CodeIO, "standard input", err)
	}
	if fix.what == fixForm {
		out, err := lint.Format(c.s.Library, "-", src, fix.expand)
		if err == nil {
			c.app.term.Raw(out)
		}
		return err
	}
	name := lint.InputName(src)
	m, err := lint.Mend(c.s.Library, name, src, strict, fix.expand)
	if err != nil {
		return err
	}
	c.app.term.Raw(m.Text)
	c.noteFixes(name, m.Made)
	left := &formats.Diagnostics{List: m.Left, Sources: map[string][]byte{name: m.Text}}
	left.Sort()
	c.app.term.Findings(left)
	return fix.ended(left, nil)
}

// formatFiles gives command and subagent files the one form that their blocks have.
func (c call) formatFiles(fix fixing) error {
	files, unread, err := lint.Files(c.args)
	if err != nil {
		return err
	}

	c.app.term.Findings(&formats.Diagnostics{List: unread})
	changed := []string{}
	own := slices.DeleteFunc(slices.Clone(files), lint.Foreign)
	for _, name := range files {
		if !slices.Contains(own, name) {
			c.app.term.Note("%s is a file of another tool and stays as it is", name)
		}
	}

	bad, err := lint.Each(own, func(name string, src []byte) ([]byte, []formats.Diagnostic, error) {
		out, err := lint.Format(c.s.Library, name, src, fix.expand)
		if err == nil && !bytes.Equal(src, out) {
			changed = append(changed, name)
			if !fix.check {
				err = lint.Rewrite(name, src, out)
			}
		}
		return src, nil, err
	})
	if err != nil {
		return err
	}

	bad.Sort()
	if !c.app.document("tercet.fmt/1", fields{
		"changed":     changed,
		"written":     !fix.check,
		"files":       len(files),
		"diagnostics": bad.Records(),
	}) {
		c.app.term.Findings(bad)
		for _, name := range changed {
			c.app.term.Answer("%s", name)
		}
	}
	return fix.ended(bad, changed)
}

func asDiagnostics(err error) (*formats.Diagnostics, bool) {
	return errors.AsType[*formats.Diagnostics](err)
}
