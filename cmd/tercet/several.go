package main

import (
	"context"
	"errors"
	"strings"

	"tercet/commands"
	"tercet/commands/argspec"
	"tercet/formats"
	"tercet/internal/control"
	"tercet/internal/journal"
	"tercet/router"
)

// lines does lines that name several tasks.
type lines struct{ runs }

// Split gives each task of a line its run. Tasks that the line has finished before are skipped, and
// unfinished runs continue, until each task is done.
func (w lines) Split(
	ctx context.Context,
	inv formats.Invocation,
	parts []commands.Part,
) (int, error) {
	most, err := argspec.Parallel(w.flags.parallel)
	if err != nil {
		return 0, err
	}

	name, _, _ := strings.Cut(inv.Line, " ")
	tasks := make([]int, len(parts))
	for i := range parts {
		p := &parts[i]
		own := router.Line{Raw: name + " " + p.Inv.Raw}
		if p.Inv.Words != nil {
			own.Words = append([]string{name}, p.Inv.Words...)
		}
		p.Inv.Line = own.Text()
		tasks[i] = p.Task
	}

	list, err := journal.Runs(w.root, false)
	if err != nil {
		return 0, err
	}
	var done map[int]journal.Run
	if round, before := journal.UnfinishedRound(list, inv.Among.Line, tasks); round != "" &&
		!w.flags.fresh {
		inv.Among.Round = round
		done = before
	}
	for i := range parts {
		p := &parts[i]
		p.Inv.Among = inv.Among
		if i > 0 {
			p.Inv.Run = newRunID()
		}
		if r, ok := done[p.Task]; ok {
			if _, err := w.desk.Records(r.ID); err == nil { // else another user wrote it
				p.Was = &formats.Return{
					Status:   formats.StatusCompleted,
					Metadata: formats.Metadata{Run: r.ID},
					Summary:  sprintf("done by run %s; --new does it again", r.ID),
				}
				continue
			}
		}
		if err := w.took(ctx, p); err != nil {
			return 0, err
		}
		w.term.parts[p.Inv.Run] = sprintf("task %d: ", p.Task)
	}

	return most, nil
}

// took lets a part go on with the run that did not end of its own line.
func (w lines) took(ctx context.Context, p *commands.Part) error {
	line := router.Line{Raw: p.Inv.Line}
	begun, err := w.before(ctx, line, router.Route{
		Name:   p.Inv.Name,
		File:   p.Inv.File,
		Source: p.Inv.Source,
	}, true)
	if open, waits := errors.AsType[*control.WaitingError](err); waits {
		ret := open.Return()
		p.Was = &ret
		w.Ended(open.Run.ID)
		return nil
	}
	if begun != nil {
		p.Inv.Run = begun.ID
		p.Inv.Session = begun.Begun.Session
		p.Inv.Line = begun.Line
		p.Inv.Raw = begun.Begun.Raw
		p.Inv.Words = begun.Begun.Words
	}
	return err
}

// Ended releases a run, so that other processes may resume it while this one works on other tasks.
func (w lines) Ended(id string) {
	if err := w.desk.Release(id); err != nil {
		w.term.note("warning: run %s: %s", id, err)
	}
}
