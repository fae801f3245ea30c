package main

import (
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"tercet/commands"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/md"
)

// lintFlags are those of `tercet lint`.
type lintFlags struct {
	strict, fix bool
	format      string
}

// lintVerb checks command and subagent files, all errors of all files in one pass.
func (a *app) lintVerb() *cobra.Command {
	var f lintFlags
	cmd := &cobra.Command{
		Use: "lint PATH...", Short: "check command and subagent files", Args: words(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch f.format {
			case "json":
				a.flags.json, a.term.silent = true, true
			case "text":
			default:
				return usage("expected --format text or json, got %q", f.format)
			}
			w, err := a.world(cmd.Context())
			if err != nil {
				return err
			}
			files, unread, err := markdownFiles(args)
			if err != nil {
				return err
			}
			return w.lintFiles(files, unread, f)
		},
	}
	cmd.Flags().BoolVar(&f.strict, "strict", false, "refuse warnings and plain sentences too")
	cmd.Flags().BoolVar(&f.fix, "fix", false, "make the changes of which there is one candidate, and write the files")
	cmd.Flags().StringVar(&f.format, "format", "text", "text or json")
	return cmd
}

func (w *world) lintFiles(files []string, unread []formats.Diagnostic, f lintFlags) error {
	all := &formats.Diagnostics{List: unread, Sources: map[string][]byte{}}
	fixed := 0
	for _, name := range files {
		src, tooLarge, err := readCommand(name)
		if err != nil {
			return err
		}
		if tooLarge != nil {
			all.List = append(all.List, *tooLarge)
			continue
		}
		list := w.lintAs(name, src, f.strict)
		if f.fix {
			var n int
			if src, list, n, err = w.fix(name, src, list, f.strict); err != nil {
				return err
			}
			fixed += n
		}
		all.Sources[name] = src
		all.List = append(all.List, list...)
	}
	all.Sort()
	a := w.app
	switch {
	case a.flags.json && f.fix:
		a.term.json(map[string]any{"schema": "tercet.lint/1", "diagnostics": diagnosticsOf(all), "files": len(files), "fixed": fixed})
	case a.flags.json:
		a.term.json(map[string]any{"schema": "tercet.lint/1", "diagnostics": diagnosticsOf(all), "files": len(files)})
	default:
		a.term.diagnostics(all)
		a.term.note("%s, %s", count(len(files), "file"), count(len(all.List), "finding"))
	}
	if all.HasErrors() {
		return shown{formats.ExitFor(formats.CodeInvalidCommand)}
	}
	return nil
}

// readCommand reads a file that may be a command, never more than one may have; a larger one is a finding.
func readCommand(name string) ([]byte, *formats.Diagnostic, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, nil, &formats.Failure{Code: formats.CodeUsage, Message: name, Err: err}
	}
	if !info.Mode().IsRegular() {
		return nil, nil, &formats.Failure{Code: formats.CodeUsage, Message: name + ": expected a regular file"}
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, &formats.Failure{Code: formats.CodeIO, Message: name, Err: err}
	}
	src, err := io.ReadAll(io.LimitReader(f, commands.MaxFile+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, nil, &formats.Failure{Code: formats.CodeIO, Message: name, Err: err}
	}
	if len(src) <= commands.MaxFile {
		return src, nil, nil
	}
	return nil, &formats.Diagnostic{
		Code: string(md.CodeTooLarge), Severity: formats.SeverityError, File: name, Pos: formats.Pos{Line: 1, Col: 1},
		Message: sprintf("text of %d bytes, the limit is %d", max(info.Size(), int64(len(src))), commands.MaxFile), Help: "split the file",
	}, nil
}

// lintAs lints one file; strictly, every warning is an error, and so is a plain sentence.
func (w *world) lintAs(name string, src []byte, strict bool) []formats.Diagnostic {
	list := w.lint(name, src)
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

// diagnosticsOf is the record of findings for programs.
func diagnosticsOf(d *formats.Diagnostics) []map[string]any {
	out := []map[string]any{}
	for _, one := range d.List {
		row := map[string]any{
			"code": one.Code, "severity": one.Severity, "file": one.File, "line": one.Pos.Line, "col": one.Pos.Col, "end_col": one.End.Col,
			"message": one.Message, "help": one.Help,
		}
		if one.End.Line > one.Pos.Line {
			row["end_line"] = one.End.Line
		}
		if one.Fix != nil {
			row["fix"] = map[string]any{
				"line": one.Fix.Start.Line, "col": one.Fix.Start.Col, "end_line": one.Fix.End.Line, "end_col": one.Fix.End.Col, "text": one.Fix.Text,
			}
		}
		out = append(out, row)
	}
	return out
}

func asDiagnostics(err error) (*formats.Diagnostics, bool) {
	return errors.AsType[*formats.Diagnostics](err)
}
