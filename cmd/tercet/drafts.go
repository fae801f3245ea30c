package main

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"tercet/commands"
	"tercet/commands/argspec"
	"tercet/commands/interp"
	"tercet/formats"
	"tercet/internal/trace"
	"tercet/templates/meta"
)

// drafts gives the builder of commands what it needs of layer 2: the checker, and a dry run, over files that are not
// written yet.
type drafts struct{ *world }

// library is the library as it would be with the files.
func (d drafts) library(files []meta.File) (*commands.Library, []formats.Diagnostic) {
	agents, found := meta.With(d.set, files)
	lib := *d.world.library
	lib.Env = contracts{agents, d.root}
	return &lib, found
}

// lint checks the files.
func (d drafts) lint(files []meta.File) []formats.Diagnostic {
	lib, found := d.library(files)
	for _, f := range meta.Commands(files) {
		prog, err := lib.Compile(f.Name, f.Data)
		if prog != nil {
			found = append(found, prog.Warnings...)
		}
		if list, ok := asDiagnostics(err); ok {
			found = append(found, list.List...)
		} else if err != nil {
			found = append(found, formats.Diagnostic{
				Code: formats.CodeOf(err).String(), Severity: formats.SeverityError, File: f.Name, Message: err.Error(),
			})
		}
	}
	return found
}

// hides names the shipped or own command that a new one of the name would hide.
func (d drafts) hides(name string) (string, bool) {
	for _, e := range d.table.Commands() {
		if e.Name == name {
			return path.Join(e.Source, e.File), true
		}
	}
	return "", false
}

// dryRun runs the command of the name out of the files, on a task that stands for any, without any effect.
func (d drafts) dryRun(ctx context.Context, files []meta.File, name string) (formats.Return, error) {
	lib, _ := d.library(files)
	list := meta.Commands(files)
	i := slices.IndexFunc(list, func(f meta.File) bool { return strings.TrimSuffix(path.Base(f.Name), ".md") == name })
	if i < 0 {
		return formats.Return{}, broken(formats.CodeBug, "no command "+name+" among the drafts", fs.ErrNotExist)
	}
	prog, err := lib.Compile(list[i].Name, list[i].Data)
	if err != nil {
		return formats.Return{}, err
	}
	values, err := argspec.Bind(name, prog.Args, strconv.Itoa(meta.SampleTask), nil)
	if err != nil {
		return formats.Return{}, err
	}
	sample := meta.Sample{Planned: prog.Allow == nil || slices.Contains(prog.Allow, formats.Planned)}
	runner, err := interp.New(interp.Config{
		Agents: d.dispatcher, State: sample, Docs: sample, Problems: noProblems{}, Approve: d.approver,
		Journal: noJournal{}, Clock: clock{}, Trace: trace.Discard{}, Show: func(formats.Table) {}, Dir: d.dir, DryRun: true,
		IDs: interp.IDs{
			Run: "dry", Session: d.app.sessionID(), Command: "/" + name, Path: []string{"router", "/" + name},
		},
	})
	if err != nil {
		return formats.Return{}, err
	}
	return runner.Run(ctx, prog, values, formats.CommandDepth())
}
