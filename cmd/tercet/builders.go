package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tercet/commands"
	"tercet/commands/argspec"
	"tercet/commands/interp"
	"tercet/formats"
	"tercet/internal/trace"
	"tercet/subagents"
	"tercet/subagents/checks"
	"tercet/subagents/worktree"
	"tercet/templates/meta"
)

// check runs one check of the gatekeeper. A program that a command file names itself is asked about once a process; what a
// project's own tools are is known, and the person asked for it.
func (w *world) check(ctx context.Context, dir string, c checks.Check) (checks.Result, error) {
	if c.Stack == "" {
		sum := sha256.Sum256([]byte(strings.Join(c.Argv, "\x00")))
		d, err := w.approver.Approve(ctx, formats.Gate{
			Question: fmt.Sprintf("Run %q?", c.Argv), Show: []string{"the command file names this program as a check"}, NeedsPerson: true,
			Choices: []formats.Choice{{Label: "approve", Approves: true}, {Label: "reject"}}, Digest: hex.EncodeToString(sum[:]),
		})
		if err != nil {
			return checks.Result{}, err
		}
		if d.Answer != "approve" {
			return checks.Result{}, &formats.Failure{Code: formats.CodeDenied, Message: fmt.Sprintf("running %q was not approved", c.Argv)}
		}
	}
	return checks.Run(ctx, w.starter, dir, c, w.checkBounds())
}

func (w *world) worktrees() error {
	var err error
	w.trees, err = worktree.New(worktree.Manager{Git: w.git, Root: w.dir, Base: filepath.Join(w.dir, formats.Workspace, "worktrees")})
	return err
}

// metaBuilder gives the builder of commands what it needs of layer 2: the checker and a dry run over files that are not
// written yet.
func (w *world) metaBuilder() subagents.Agent {
	return &meta.Builder{
		Root: w.root, Agents: w.set, Hides: w.hides,
		Lint: func(files []meta.File) []formats.Diagnostic {
			lib, found := w.drafts(files)
			for _, f := range meta.Commands(files) {
				prog, err := lib.Compile(f.Name, f.Data)
				if prog != nil {
					found = append(found, prog.Warnings...)
				}
				if d, ok := errors.AsType[*formats.Diagnostics](err); ok {
					found = append(found, d.List...)
				} else if err != nil {
					found = append(found, formats.Diagnostic{Code: formats.CodeOf(err).String(), Severity: formats.SeverityError, File: f.Name, Message: err.Error()})
				}
			}
			return found
		},
		DryRun: w.dryRunDraft,
	}
}

// drafts is the library as it would be with the files.
func (w *world) drafts(files []meta.File) (*commands.Library, []formats.Diagnostic) {
	agents, found := meta.With(w.set, files)
	lib := *w.library
	lib.Env = contracts{agents, w.root}
	return &lib, found
}

// hides names the shipped or own command that a new one of the name would hide.
func (w *world) hides(name string) (string, bool) {
	for _, e := range w.table.Commands() {
		if e.Name == name {
			return path.Join(e.Source, e.File), true
		}
	}
	return "", false
}

// dryRunDraft runs the command of the name out of the files, on a task that stands for any, without any effect.
func (w *world) dryRunDraft(ctx context.Context, files []meta.File, name string) (formats.Return, error) {
	lib, _ := w.drafts(files)
	for _, f := range meta.Commands(files) {
		if strings.TrimSuffix(path.Base(f.Name), ".md") != name {
			continue
		}
		prog, err := lib.Compile(f.Name, f.Data)
		if err != nil {
			return formats.Return{}, err
		}
		values, err := argspec.Bind(name, prog.Args, strconv.Itoa(meta.SampleTask), nil)
		if err != nil {
			return formats.Return{}, err
		}
		sample := meta.Sample{Planned: prog.Allow == nil || slices.Contains(prog.Allow, formats.Planned)}
		runner, err := interp.New(interp.Config{
			Agents: w.dispatcher, State: sample, Docs: sample, Problems: noProblems{}, Approve: w.approver, Journal: noJournal{}, Clock: clock{},
			Trace: trace.Discard{}, Show: func(formats.Table) {}, Dir: w.dir, DryRun: true,
			IDs: interp.IDs{Run: "dry", Session: w.app.sessionID(), Command: "/" + name, Path: []string{"router", "/" + name}},
		})
		if err != nil {
			return formats.Return{}, err
		}
		return runner.Run(ctx, prog, values, formats.CommandDepth())
	}
	return formats.Return{}, &formats.Failure{Code: formats.CodeBug, Message: "no command " + name + " among the drafts", Err: fs.ErrNotExist}
}
