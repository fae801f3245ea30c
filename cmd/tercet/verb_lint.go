package main

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"tercet/commands"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/atomicfile"
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
			files, err := markdownFiles(args)
			if err != nil {
				return err
			}
			return w.lintFiles(files, f)
		},
	}
	cmd.Flags().BoolVar(&f.strict, "strict", false, "refuse warnings and plain sentences too")
	cmd.Flags().BoolVar(&f.fix, "fix", false, "make the changes of which there is one candidate, and write the files")
	cmd.Flags().StringVar(&f.format, "format", "text", "text or json")
	return cmd
}

func (w *world) lintFiles(files []string, f lintFlags) error {
	all := &formats.Diagnostics{Sources: map[string][]byte{}}
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

// maxRounds bounds how often a file is read again after changes: a finding of a later stage shows only when the earlier ones
// are gone.
const maxRounds = 10

// fix makes the changes that the findings offer until there is none left, and writes the file if there was one.
func (w *world) fix(name string, src []byte, list []formats.Diagnostic, strict bool) ([]byte, []formats.Diagnostic, int, error) {
	made := 0
	for range maxRounds {
		next, done := applied(src, list)
		if len(done) == 0 {
			break
		}
		for _, d := range done {
			w.app.term.note("%s:%d:%d: %s: wrote '%s'", name, d.Pos.Line, d.Pos.Col, d.Code, d.Fix.Text)
		}
		made += len(done)
		src, list = next, w.lintAs(name, next, strict)
	}
	if made == 0 {
		return src, list, 0, nil
	}
	full, err := filepath.Abs(name)
	if err == nil {
		err = atomicfile.Write(full, src, atomicfile.Options{})
	}
	if err != nil {
		return nil, nil, 0, &formats.Failure{Code: formats.CodeIO, Message: name, Err: err}
	}
	return src, list, made, nil
}

// applied makes every change that does not overlap another one, and gives the findings that it made them for.
func applied(src []byte, list []formats.Diagnostic) ([]byte, []formats.Diagnostic) {
	type change struct {
		from, to int
		d        formats.Diagnostic
	}
	var all []change
	for _, d := range list {
		if d.Fix == nil {
			continue
		}
		from, to := offsetOf(src, d.Fix.Start), offsetOf(src, d.Fix.End)
		if from >= 0 && to >= from {
			all = append(all, change{from, to, d})
		}
	}
	slices.SortFunc(all, func(x, y change) int { return cmp.Or(x.from-y.from, x.to-y.to) })
	var out []byte
	var done []formats.Diagnostic
	at := 0
	for _, c := range all {
		if c.from < at {
			continue
		}
		out = append(append(out, src[at:c.from]...), c.d.Fix.Text...)
		at = c.to
		done = append(done, c.d)
	}
	return append(out, src[at:]...), done
}

// offsetOf is the offset of a place, which counts neither a byte order mark nor carriage returns; -1 outside of the text.
func offsetOf(src []byte, p formats.Pos) int {
	at := 0
	for n := 1; n < p.Line; n++ {
		i := slices.Index(src[at:], '\n')
		if i < 0 {
			return -1
		}
		at += i + 1
	}
	if p.Line == 1 && len(src) >= 3 && string(src[:3]) == "\ufeff" {
		at += 3
	}
	if at += p.Col - 1; at > len(src) {
		return -1
	}
	return at
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
