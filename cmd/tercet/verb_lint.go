package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/commands"
	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/dialect"
	"tercet/internal/lazy"
	"tercet/internal/md"
	"tercet/subagents"
)

// lintVerb checks command and subagent files, all errors of all files in one pass.
func lintVerb(cmd *cobra.Command, a *app) run {
	a.told[toldBroken] = true
	f := cmd.Flags()
	strict := f.Bool("strict", false, "refuse warnings and plain sentences too")
	fix := f.Bool("fix", false, "make the changes of which there is one candidate, and write the files")
	format := f.String("format", "text", "text or json")
	return func(c call) error {
		switch *format {
		case "json":
			c.flags.json, c.term.silent = true, true
		case "text":
		default:
			return usage("expected --format text or json, got %q", *format)
		}
		return c.lintFiles(*strict, *fix)
	}
}

func (c call) lintFiles(strict, fix bool) error {
	files, unread, err := markdownFiles(c.args)
	if err != nil {
		return err
	}
	fixed := 0
	all, err := readEach(files, func(name string, src []byte) (_ []byte, list []formats.Diagnostic, err error) {
		list = c.lintAs(name, src, strict)
		if fix {
			var n int
			src, list, n, err = c.fix(name, src, list, strict)
			fixed += n
		}
		return src, list, err
	})
	if err != nil {
		return err
	}
	all.List = append(all.List, unread...)
	all.Sort()
	if c.broken != nil { // why a command does not find a subagent whose file is not checked
		c.term.diagnostics(&formats.Diagnostics{List: slices.DeleteFunc(c.broken.List, func(d formats.Diagnostic) bool {
			return slices.ContainsFunc(files, func(name string) bool { return filepath.Base(name) == filepath.Base(d.File) })
		})})
	}
	doc := fields{"diagnostics": diagnosticsOf(all), "files": len(files)}
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

// readEach reads files and collects what is found in them, which is about the text that comes with it. What do gives as
// an error ends it, unless that is findings as well.
func readEach(files []string, do func(name string, src []byte) ([]byte, []formats.Diagnostic, error)) (
	*formats.Diagnostics, error,
) {
	all := &formats.Diagnostics{Sources: map[string][]byte{}}
	for _, name := range files {
		src, err := readCommand(name)
		var list []formats.Diagnostic
		if err == nil {
			src, list, err = do(name, src)
			all.Sources[name] = src
		}
		if d, ok := asDiagnostics(err); ok {
			list = d.List
		} else if err != nil {
			return nil, err
		}
		all.List = append(all.List, list...)
	}
	return all, nil
}

// readCommand reads a file that may be a command, never more than one may have; that a file is larger is a finding.
func readCommand(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, broken(formats.CodeUsage, name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, formats.Fail(formats.CodeUsage, "", "%s: expected a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, broken(formats.CodeIO, name, err)
	}
	src, err := readBounded(f, commands.MaxFile)
	if err != nil {
		return nil, broken(formats.CodeIO, name, err)
	}
	if len(src) <= commands.MaxFile {
		return src, nil
	}
	text := sprintf("text of %d bytes, the limit is %d", max(info.Size(), int64(len(src))), commands.MaxFile)
	return nil, &formats.Diagnostics{List: []formats.Diagnostic{
		problem(md.CodeTooLarge, name, text, "split the file"),
	}}
}

// problem is a finding about a whole file.
func problem(code, name, text, help string) formats.Diagnostic {
	return formats.Diagnostic{
		Code: code, Severity: formats.SeverityError, File: name, Pos: formats.Pos{Line: 1, Col: 1}, Message: text, Help: help,
	}
}

// lintAs lints one file; strictly, every warning is an error, and so is a plain sentence.
func (c call) lintAs(name string, src []byte, strict bool) []formats.Diagnostic {
	list := c.lint(name, src, isSubagent(src))
	if !strict {
		return list
	}
	if !isSubagent(src) {
		list = append(list, syntax.Read(name, src).Strict...)
	}
	for i := range list {
		list[i].Severity = formats.SeverityError
	}
	return list
}

// lint checks one file: that of another tool where it lies in its folder, else a subagent or a command.
func (w *world) lint(name string, src []byte, subagent bool) []formats.Diagnostic {
	if place, inside, ok := foreignPlace(name); ok {
		return dialect.Check(place, inside, name, src)
	}
	if !subagent {
		prog, err := w.library.Compile(name, src)
		return findingsOf(name, prog, err)
	}
	def, err := subagents.ParseDefinition(name, src)
	if err != nil {
		return append(findingsOf(name, nil, err), stepErrors(name, src)...)
	}
	found := append(def.Warnings, compile.Contract(&def.Info)...)
	// the facets lie beside the folder of the subagents
	if err := def.Resolve(os.DirFS(filepath.Join(filepath.Dir(name), "..", "facets"))); err != nil {
		found = append(found, findingsOf(name, nil, err)...)
	}
	if !def.Info.Workflow {
		return found
	}
	flow := &commands.Workflow{File: name, Src: src, Info: def.Info, Env: contracts{w.set, w.root}}
	prog, err := flow.Program()
	return append(found, findingsOf(name, prog, err)...)
}

// lintOwn checks a command or subagent file of the project for a run.
func (w *world) lintOwn(name string, src []byte, subagent bool) []formats.Diagnostic {
	return w.lint(filepath.Join(w.dir, filepath.FromSlash(name)), src, subagent)
}

// foreignPlace tells where another tool keeps commands or agents that a file lies, and its name there.
func foreignPlace(name string) (place dialect.Place, inside string, ok bool) {
	if full, err := filepath.Abs(name); err == nil {
		name = full
	}
	return dialect.PlaceOf(filepath.ToSlash(name))
}

func isForeign(name string) bool {
	_, _, ok := foreignPlace(name)
	return ok
}

// stepErrors are the findings in the form of the steps of a subagent file whose definition cannot be read.
func stepErrors(name string, src []byte) []formats.Diagnostic {
	if !strings.Contains(string(src), "\n## Workflow Execution") {
		return nil
	}
	f := syntax.ReadWorkflow(name, src)
	return slices.DeleteFunc(f.Found, func(d formats.Diagnostic) bool { return d.Pos.Line < f.BodyLine })
}

// findingsOf is what a compiler has to say: the warnings about a program, or what is wrong with the file.
func findingsOf(name string, prog *compile.Program, err error) []formats.Diagnostic {
	if d, ok := asDiagnostics(err); ok {
		return d.List
	}
	if prog != nil {
		return prog.Warnings
	}
	return []formats.Diagnostic{{
		Code: formats.CodeOf(err).String(), Severity: formats.SeverityError, File: name, Message: err.Error(),
	}}
}

// isSubagent tells the two kinds of file apart by the first key that only one of them has.
func isSubagent(src []byte) bool {
	first := firstKey().FindString(strings.TrimPrefix(string(src), "---"))
	return strings.HasSuffix(first, "name:") || strings.HasSuffix(first, "role:")
}

var firstKey = lazy.Regexp(`(?m)^(?:---|command:|name:|role:)`)

// markdownFiles lists the files that are named and the markdown files below folders; of a workspace those that hold
// commands and subagents, because its other files are documents. What lies in a folder and cannot be read is a finding,
// not the end.
func markdownFiles(paths []string) (files []string, unread []formats.Diagnostic, err error) {
	for _, p := range paths {
		err := filepath.WalkDir(p, func(name string, d os.DirEntry, err error) error {
			if name == p && (err != nil || !d.IsDir()) {
				files = append(files, name)
				return err
			}
			around, _ := filepath.Abs(filepath.Dir(name)) //nolint:errcheck // without a name it is no workspace
			inWorkspace := name != p && filepath.Base(around) == formats.Workspace
			switch {
			case err != nil:
			case d.IsDir():
				if inWorkspace && d.Name() != "commands" && d.Name() != "subagents" {
					return filepath.SkipDir
				}
				return nil
			case !inWorkspace && (strings.HasSuffix(name, ".md") || strings.HasSuffix(name, ".toml") && isForeign(name)):
				err = readable(name)
			default:
				return nil
			}
			if err == nil {
				files = append(files, name)
			} else {
				unread = append(unread, cannotRead(name, err))
			}
			return nil
		})
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, formats.Fail(formats.CodeUsage, "write its path from the folder you are in",
				"no file and no folder stands at %q", p)
		}
		if err != nil {
			return nil, nil, broken(formats.CodeUsage, p, err)
		}
	}
	return files, unread, nil
}

// readable says why a file cannot be read.
func readable(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("expected a file or a folder")
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return f.Close()
}

func cannotRead(name string, err error) formats.Diagnostic {
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = cause.Err
	}
	return problem(formats.CodeIO.String(), name, "cannot be read: "+err.Error(),
		"make it a regular file that can be read, or take it away")
}

// diagnosticsOf is the record of findings for programs.
func diagnosticsOf(d *formats.Diagnostics) []fields {
	out := []fields{}
	for _, one := range d.List {
		row := fields{
			"code": one.Code, "severity": one.Severity, "file": one.File, "line": one.Pos.Line, "col": one.Pos.Col,
			"end_col": one.End.Col, "message": one.Message, "help": one.Help,
		}
		if one.End.Line > one.Pos.Line {
			row["end_line"] = one.End.Line
		}
		if f := one.Fix; f != nil {
			row["fix"] = fields{
				"line": f.Start.Line, "col": f.Start.Col, "end_line": f.End.Line, "end_col": f.End.Col, "text": f.Text,
			}
		}
		out = append(out, row)
	}
	return out
}

func asDiagnostics(err error) (*formats.Diagnostics, bool) {
	return errors.AsType[*formats.Diagnostics](err)
}

// fix mends a file, and writes it if there was something to mend.
func (c call) fix(name string, src []byte, list []formats.Diagnostic, strict bool) (
	text []byte, left []formats.Diagnostic, n int, err error,
) {
	text, left, made := formats.Mend(src, ownFixes(name, list), func(next []byte) []formats.Diagnostic {
		return ownFixes(name, c.lintAs(name, next, strict))
	})
	if len(made) == 0 {
		return src, list, 0, nil
	}
	if err := rewrite(name, src, text); err != nil {
		return nil, nil, 0, err
	}
	for _, d := range made {
		c.term.note("%s:%d:%d: %s: wrote '%s'", name, d.Pos.Line, d.Pos.Col, d.Code, d.Fix.Text)
	}
	return text, left, len(made), nil
}

// ownFixes leaves out the changes of other files: a schema that the file names is mended by hand.
func ownFixes(name string, list []formats.Diagnostic) []formats.Diagnostic {
	list = slices.Clone(list)
	for i := range list {
		if list[i].File != name {
			list[i].Fix = nil
		}
	}
	return list
}

// rewrite puts a text in the place of the one that was read; a link stays one. What somebody else wrote since is not
// lost.
func rewrite(name string, was, text []byte) error {
	full, err := filepath.EvalSymlinks(name)
	if err == nil {
		full, err = filepath.Abs(full)
	}
	if err == nil {
		err = atomicfile.Write(full, text, atomicfile.Options{Before: func() error {
			if now, err := os.ReadFile(full); err != nil || !bytes.Equal(now, was) {
				return errors.Join(errors.New("the file was changed meanwhile"), err)
			}
			return nil
		}})
	}
	if err != nil {
		return broken(formats.CodeIO, name, err, "run the command again")
	}
	return nil
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
	own := slices.DeleteFunc(slices.Clone(files), isForeign)
	for _, name := range files {
		if !slices.Contains(own, name) {
			c.term.note("%s is a file of another tool and stays as it is", name)
		}
	}
	bad, err := readEach(own, func(name string, src []byte) ([]byte, []formats.Diagnostic, error) {
		out, err := c.formatted(name, src, expand)
		if err == nil && !bytes.Equal(src, out) {
			changed = append(changed, name)
			if !check {
				err = rewrite(name, src, out)
			}
		}
		return src, nil, err
	})
	if err != nil {
		return err
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
	prog, err := compile.Compile(f, c.library.Env)
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
