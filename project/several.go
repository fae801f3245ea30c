package project

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tercet/commands"
	"tercet/commands/argspec"
	"tercet/formats"
	"tercet/internal/control"
	"tercet/internal/journal"
	"tercet/router"
)

// lines splits lines that name several tasks.
type lines struct{ session *Session }

// Split gives each task of a line its run. Tasks that the line has finished before are skipped, and
// unfinished runs continue, until each task is done.
func (l lines) Split(
	ctx context.Context,
	inv formats.Invocation,
	parts []commands.Part,
) (int, error) {
	most, err := argspec.Parallel(l.session.Options.Parallel)
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

	list, err := journal.Runs(l.session.Project.Root, false)
	if err != nil {
		return 0, err
	}
	var done map[int]journal.Run
	round, before := journal.UnfinishedRound(list, inv.Among.Line, tasks)
	if round != "" && !l.session.Options.New {
		inv.Among.Round = round
		done = before
	}
	for i := range parts {
		p := &parts[i]
		p.Inv.Among = inv.Among
		if i > 0 {
			p.Inv.Run = l.session.Project.newRunID()
		}
		if r, ok := done[p.Task]; ok {
			_, err := l.session.Project.Control.Records(r.ID)
			if err == nil { // else another user wrote it
				p.Was = &formats.Return{
					Status:   formats.StatusCompleted,
					Metadata: formats.Metadata{Run: r.ID},
					Summary:  fmt.Sprintf("done by run %s; --new does it again", r.ID),
				}
				continue
			}
		}
		if err := l.unfinished(ctx, p); err != nil {
			return 0, err
		}
		l.session.Project.Host.Frontend.Label(p.Inv.Run, fmt.Sprintf("task %d: ", p.Task))
	}

	return most, nil
}

// unfinished lets a part go on with the run that did not end of its own line.
func (l lines) unfinished(ctx context.Context, p *commands.Part) error {
	line := router.Line{Raw: p.Inv.Line}
	begun, err := l.session.unfinished(ctx, line, router.Route{
		Name:   p.Inv.Name,
		File:   p.Inv.File,
		Source: p.Inv.Source,
	}, true)
	if open, waits := errors.AsType[*control.WaitingError](err); waits {
		ret := open.Return()
		p.Was = &ret
		l.Ended(open.Run.ID)
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
func (l lines) Ended(id string) {
	if err := l.session.Project.Control.Release(id); err != nil {
		l.session.Project.note("warning: run %s: %s", id, err)
	}
}
