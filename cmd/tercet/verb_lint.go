package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/commands"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/md"
	"tercet/subagents"
)

// lintVerb checks command and subagent files, all errors of all files in one pass.
func lintVerb(cmd *cobra.Command, _ *app) run {
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
	all := &formats.Diagnostics{List: unread, Sources: map[string][]byte{}}
	fixed := 0
	for _, name := range files {
		src, err := readCommand(name)
		if d, ok := asDiagnostics(err); ok {
			all.List = append(all.List, d.List...)
			continue
		}
		if err != nil {
			return err
		}
		list := c.lintAs(name, src, strict)
		if fix {
			var n int
			if src, list, n, err = c.fix(name, src, list, strict); err != nil {
				return err
			}
			fixed += n
		}
		all.Sources[name] = src
		all.List = append(all.List, list...)
	}
	all.Sort()
	doc := fields{"diagnostics": diagnosticsOf(all), "files": len(files)}
	if fix {
		doc["fixed"] = fixed
	}
	if !c.document("tercet.lint/1", doc) {
		c.term.diagnostics(all)
		c.term.note("%s, %s", count(len(files), "file"), count(len(all.List), "finding"))
	}
	if all.HasErrors() {
		return shownAs(formats.CodeInvalidCommand)
	}
	return nil
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
	src, err := io.ReadAll(io.LimitReader(f, commands.MaxFile+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, broken(formats.CodeIO, name, err)
	}
	if len(src) <= commands.MaxFile {
		return src, nil
	}
	return nil, &formats.Diagnostics{List: []formats.Diagnostic{{
		Code: string(md.CodeTooLarge), Severity: formats.SeverityError, File: name, Pos: formats.Pos{Line: 1, Col: 1},
		Message: sprintf("text of %d bytes, the limit is %d", max(info.Size(), int64(len(src))), commands.MaxFile),
		Help:    "split the file",
	}}}
}

// lintAs lints one file; strictly, every warning is an error, and so is a plain sentence.
func (c call) lintAs(name string, src []byte, strict bool) []formats.Diagnostic {
	list := c.lint(name, src)
	if !strict {
		return list
	}
	if !isSubagent(src) {
		list = append(list, syntax.Sugar(syntax.Read(name, src))...)
	}
	for i := range list {
		list[i].Severity = formats.SeverityError
	}
	return list
}

// lint checks one file: that of another tool where it lies in its folder, else a command if its frontmatter says so, a
// subagent otherwise.
func (c call) lint(name string, src []byte) []formats.Diagnostic {
	if place, inside, ok := foreignPlace(name); ok {
		return lintForeign(place, inside, name, src)
	}
	if !isSubagent(src) {
		prog, err := c.w.library.Compile(name, src)
		if prog != nil {
			return prog.Warnings
		}
		return findingsOf(name, err)
	}
	def, err := subagents.ParseDefinition(name, src)
	if err == nil {
		return append(def.Warnings, c.lintSteps(name, src, def)...)
	}
	return append(findingsOf(name, err), stepErrors(name, src)...)
}

// lintForeign checks a file of another tool.
func lintForeign(place dialect.Place, inside, name string, src []byte) (list []formats.Diagnostic) {
	var err error
	if place.Agents {
		var a *dialect.Agent
		if a, err = dialect.ParseAgent(place, inside, src); err == nil {
			list = slices.Clone(a.Warnings)
		}
	} else {
		var c *dialect.Command
		if c, err = dialect.Parse(place, inside, src); err == nil {
			list = slices.Clone(c.Warnings)
		}
	}
	if d, ok := asDiagnostics(err); ok {
		list = slices.Clone(d.List)
	}
	for i := range list {
		list[i].File = name
	}
	return list
}

// foreignPlace tells where another tool keeps commands or agents that a file lies, and its name there.
func foreignPlace(name string) (place dialect.Place, inside string, ok bool) {
	if full, err := filepath.Abs(name); err == nil {
		name = full
	}
	return dialect.PlaceOf(filepath.ToSlash(name))
}

// isForeign tells whether a file lies where another tool keeps commands or agents.
func isForeign(name string) bool {
	_, _, ok := foreignPlace(name)
	return ok
}

// lintSteps compiles the steps of a subagent file.
func (c call) lintSteps(name string, src []byte, def subagents.Definition) []formats.Diagnostic {
	if !def.Info.Workflow {
		return nil
	}
	flow := &commands.Workflow{File: name, Src: src, Info: def.Info, Env: contracts{c.w.set, c.w.root}}
	prog, err := flow.Program()
	if d, ok := asDiagnostics(err); ok {
		return d.List
	}
	if prog == nil {
		return nil
	}
	return prog.Warnings
}

// stepErrors are the findings in the form of the steps of a subagent file whose definition cannot be read.
func stepErrors(name string, src []byte) []formats.Diagnostic {
	if !strings.Contains(string(src), "\n## Workflow Execution") {
		return nil
	}
	f := syntax.ReadWorkflow(name, src)
	return slices.DeleteFunc(f.Found, func(d formats.Diagnostic) bool { return d.Pos.Line < f.BodyLine })
}

func findingsOf(name string, err error) []formats.Diagnostic {
	if d, ok := asDiagnostics(err); ok {
		return d.List
	}
	if err == nil {
		return nil
	}
	return []formats.Diagnostic{{
		Code: formats.CodeIO.String(), Severity: formats.SeverityError, File: name, Message: err.Error(),
	}}
}

// isSubagent tells the two kinds of file apart by the first key that only one of them has.
func isSubagent(src []byte) bool {
	first := true
	for line := range strings.Lines(string(src)) {
		switch {
		case !first && strings.HasPrefix(line, "---"), strings.HasPrefix(line, "command:"):
			return false
		case strings.HasPrefix(line, "name:"), strings.HasPrefix(line, "role:"):
			return true
		}
		first = false
	}
	return false
}

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
			inWorkspace := name != p && isWorkspace(filepath.Dir(name))
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
	return formats.Diagnostic{
		Code: formats.CodeIO.String(), Severity: formats.SeverityError, File: name, Pos: formats.Pos{Line: 1, Col: 1},
		Message: "cannot be read: " + err.Error(), Help: "make it a regular file that can be read, or take it away",
	}
}

func isWorkspace(dir string) bool {
	full, err := filepath.Abs(dir)
	return err == nil && filepath.Base(full) == formats.Workspace
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
		if fix := one.Fix; fix != nil {
			row["fix"] = fields{
				"line": fix.Start.Line, "col": fix.Start.Col, "end_line": fix.End.Line, "end_col": fix.End.Col, "text": fix.Text,
			}
		}
		out = append(out, row)
	}
	return out
}

func asDiagnostics(err error) (*formats.Diagnostics, bool) {
	return errors.AsType[*formats.Diagnostics](err)
}
