package main

import (
	"slices"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/project"
)

// lintVerb checks command and subagent files, all errors of all files in one pass.
func lintVerb(cmd *cobra.Command, a *app) run {
	a.tellsBroken = true
	var o project.LintOptions
	f := cmd.Flags()
	f.BoolVar(&o.Strict, "strict", false, "refuse warnings and plain sentences too")
	f.StringVar((*string)(&o.Fix), "fix", "",
		"apply the corrections that have only one candidate, and format; --fix=form only formats")
	f.Lookup("fix").NoOptDefVal = string(project.FixAll)
	f.BoolVar(&o.DryRun, "check", false,
		"with --fix: write nothing; name the files that would change, exit 1 if there is one")
	f.BoolVar(&o.Expand, "expand", false, "with --fix: write plain sentences out as blocks")
	format := f.String("format", "text", "text or json")
	adopt := f.Bool(
		"adopt",
		false,
		"write the draft of a workflow beside each prompt of another tool that PATH names",
	)
	cmd.Long = `lint checks command and subagent files. With --fix it also corrects and formats them: the blocks and the
frontmatter get their one form, and every byte of prose stays. With --fix and - it reads standard input
and prints the text. With --adopt it asks before a draft hides the prompt that it was made of; --yes says yes.`
	return func(c call) error {
		if len(c.args) == 0 {
			c.args = []string{c.wholeProject()}
		}
		_, err := formats.OneOf("--format text or json", *format, []string{"text", "json"})
		if err != nil {
			return err
		}
		if *format == "json" {
			c.app.flags.json = true
			c.app.term.Set.Silent = true
		}

		switch {
		case o.Fix == project.FixNothing && (o.DryRun || o.Expand):
			return usage("expected --fix with --check and --expand")
		case *adopt:
			return adoptFiles(c)
		case o.Fix != project.FixNothing && o.Fix != project.FixAll && o.Fix != project.FixForm:
			return usage("expected --fix or --fix=form, got --fix=%s", o.Fix)
		case o.Fix != project.FixNothing && slices.Contains(c.args, "-"):
			return c.fixInput(o)
		}
		return c.lintFiles(o)
	}
}

// wholeProject is the path of the project, as short as it can be.
func (c call) wholeProject() string {
	if here, err := c.app.startDir(); err == nil && here == c.p.Dir && c.app.flags.dir == "" {
		return "."
	}
	return c.p.Dir
}

// adoptFiles translates prompts of other tools, and says what of them it could not.
func adoptFiles(c call) error {
	list, err := c.s.Adopt(c.ctx, c.args)
	if err == nil {
		c.app.answerJSON("tercet.adopt/1", fields{"adopted": list})
	}
	if c.app.flags.json {
		return err
	}
	for _, one := range list {
		c.app.term.Answer("%s", one.File)
		for _, line := range one.Shown {
			c.app.term.Answer("  %s", line)
		}
		for _, note := range one.Notes {
			c.app.term.Note("warning: %s", note)
		}
	}
	return err
}

func (c call) lintFiles(o project.LintOptions) error {
	r, err := c.s.LintFiles(c.args, o)
	if err != nil {
		return err
	}
	c.noteFixes(r.Made)
	if r.Broken != nil {
		c.app.term.Findings(r.Broken)
	}
	for _, name := range r.Foreign {
		c.app.term.Note("%s is a file of another tool and stays as it is", name)
	}

	schema := "tercet.lint/1"
	doc := fields{"diagnostics": r.Found.Records(), "files": r.Files}
	if o.Fix != project.FixNothing {
		doc["changed"] = r.Changed
		doc["written"] = !o.DryRun
	}
	switch o.Fix {
	case project.FixNothing:
	case project.FixForm:
		schema = "tercet.fmt/1"
	case project.FixAll:
		doc["fixed"] = len(r.Made)
	}

	if !c.app.answerJSON(schema, doc) {
		c.app.term.Findings(r.Found)
		for _, name := range r.Changed {
			c.app.term.Answer("%s", name)
		}
		switch {
		case r.Files == 0 && len(r.Found.List) == 0:
			c.app.term.Note("nothing to check: the project has no command and no subagent file yet")
		case o.Fix != project.FixForm:
			c.app.term.Note("%s, %s",
				formats.Count(r.Files, "file"), formats.Count(len(r.Found.List), "finding"))
		}
	}
	return exitIf(r.Code(o))
}

// noteFixes says which corrections were made.
func (c call) noteFixes(made []formats.Diagnostic) {
	for _, d := range made {
		c.app.term.Note(
			"%s:%d:%d: %s: wrote '%s'", d.File, d.Pos.Line, d.Pos.Col, d.Code, d.Fix.Text,
		)
	}
}

// fixInput corrects and formats standard input, and prints the text.
func (c call) fixInput(o project.LintOptions) error {
	if len(c.args) > 1 || o.DryRun {
		return usage("expected no other path and no --check with -")
	}
	src, err := readInput(c.app.in, "-")
	if err != nil {
		return broken(formats.CodeIO, "standard input", err)
	}
	out, r, err := c.s.Mend(src, o)
	if err != nil {
		return err
	}

	c.app.term.Raw(out)
	c.noteFixes(r.Made)
	c.app.term.Findings(r.Found)
	return exitIf(r.Code(o))
}
