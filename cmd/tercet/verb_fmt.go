package main

import (
	"bytes"
	"path/filepath"

	"github.com/spf13/cobra"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/subagents"
)

// fmtVerb gives command and subagent files the one form that their blocks have.
func (a *app) fmtVerb() *cobra.Command {
	check, expand := false, false
	cmd := &cobra.Command{
		Use: "fmt PATH...", Short: "format command and subagent files; - formats standard input", Args: words(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := a.world(cmd.Context())
			if err != nil {
				return err
			}
			if len(args) == 1 && args[0] == "-" {
				src, err := readInput(a.io.in, "-")
				if err != nil {
					return &formats.Failure{Code: formats.CodeIO, Message: "standard input", Err: err}
				}
				out, err := w.formatted("-", src, expand)
				if err != nil {
					return err
				}
				a.term.raw(out)
				return nil
			}
			files, unread, err := markdownFiles(args)
			if err != nil {
				return err
			}
			if len(unread) > 0 {
				a.term.diagnostics(&formats.Diagnostics{List: unread})
			}
			return w.formatFiles(files, check, expand)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; name the files that would change, exit 1 if there is one")
	cmd.Flags().BoolVar(&expand, "expand", false, "write plain sentences out as blocks")
	return cmd
}

func (w *world) formatFiles(files []string, check, expand bool) error {
	a := w.app
	changed := []string{}
	bad := &formats.Diagnostics{Sources: map[string][]byte{}}
	for _, name := range files {
		if isForeign(name) {
			a.term.note("%s is a file of another tool and stays as it is", name)
			continue
		}
		src, tooLarge, err := readCommand(name)
		if err != nil {
			return err
		}
		if tooLarge != nil {
			bad.List = append(bad.List, *tooLarge)
			continue
		}
		out, err := w.formatted(name, src, expand)
		if d, ok := asDiagnostics(err); ok {
			bad.List, bad.Sources[name] = append(bad.List, d.List...), src
			continue
		}
		if err != nil {
			return err
		}
		if bytes.Equal(src, out) {
			continue
		}
		changed = append(changed, name)
		if check {
			continue
		}
		full, err := filepath.Abs(name)
		if err == nil {
			err = atomicfile.Write(full, out, atomicfile.Options{})
		}
		if err != nil {
			return &formats.Failure{Code: formats.CodeIO, Message: name, Err: err}
		}
	}
	bad.Sort()
	if a.flags.json {
		a.term.json(map[string]any{"schema": "tercet.fmt/1", "changed": changed, "written": !check, "files": len(files), "diagnostics": diagnosticsOf(bad)})
	} else {
		a.term.diagnostics(bad)
		for _, name := range changed {
			a.term.answer("%s", name)
		}
	}
	switch {
	case bad.HasErrors():
		return shown{formats.ExitFor(formats.CodeInvalidCommand)}
	case check && len(changed) > 0:
		return shown{formats.ExitFor(formats.CodeUnknown)}
	}
	return nil
}

// formatted gives the text of one file in its form; the error is what is wrong with a file that cannot be read.
func (w *world) formatted(name string, src []byte, expand bool) ([]byte, error) {
	if isSubagent(src) {
		if _, err := subagents.ParseDefinition(name, src); err != nil {
			return nil, err
		}
		return syntax.FormatText(src), nil
	}
	if name == "-" {
		name = nameOf(src) // a command says itself what its file is called
	}
	f, err := syntax.Parse(name, src)
	if err != nil {
		return nil, err
	}
	if expand {
		prog, err := compile.Compile(f, w.library.Env)
		if err != nil {
			return nil, err
		}
		return syntax.FormatText(compile.Expand(f, prog)), nil
	}
	return syntax.Format(f), nil
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
