package main

import (
	"bytes"

	"github.com/spf13/cobra"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/subagents"
)

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
		out, err := c.formatted("-", src, *expand)
		if err == nil {
			c.term.raw(out)
		}
		return err
	}
}

func (c call) formatFiles(check, expand bool) error {
	files, unread, err := markdownFiles(c.args)
	if err != nil {
		return err
	}
	c.term.diagnostics(&formats.Diagnostics{List: unread})
	changed := []string{}
	bad := &formats.Diagnostics{Sources: map[string][]byte{}}
	for _, name := range files {
		if isForeign(name) {
			c.term.note("%s is a file of another tool and stays as it is", name)
			continue
		}
		src, err := readCommand(name)
		var out []byte
		if err == nil {
			out, err = c.formatted(name, src, expand)
		}
		if d, ok := asDiagnostics(err); ok {
			bad.List = append(bad.List, d.List...)
			if src != nil {
				bad.Sources[name] = src
			}
			continue
		}
		if err == nil && !bytes.Equal(src, out) {
			changed = append(changed, name)
			if !check {
				err = replace(name, out)
			}
		}
		if err != nil {
			return err
		}
	}
	bad.Sort()
	if !c.document("tercet.fmt/1", fields{
		"changed": changed, "written": !check, "files": len(files), "diagnostics": diagnosticsOf(bad),
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

// formatted gives the text of one file in its form; the error is what is wrong with a file that cannot be read.
func (c call) formatted(name string, src []byte, expand bool) ([]byte, error) {
	if isSubagent(src) {
		_, err := subagents.ParseDefinition(name, src)
		return syntax.FormatText(src), err
	}
	if name == "-" {
		name = nameOf(src) // a command says itself what its file is called
	}
	f, err := syntax.Parse(name, src)
	if err != nil {
		return nil, err
	}
	if !expand {
		return syntax.Format(f), nil
	}
	prog, err := compile.Compile(f, c.w.library.Env)
	if err != nil {
		return nil, err
	}
	return syntax.FormatText(compile.Expand(f, prog)), nil
}

// nameOf is the file name that goes with the command key of a text.
func nameOf(src []byte) string {
	for line := range bytes.Lines(src) {
		if rest, ok := bytes.CutPrefix(line, []byte("command:")); ok {
			return string(bytes.Trim(rest, " \t\r\n\"'")) + ".md"
		}
	}
	return "-"
}
