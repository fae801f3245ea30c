package project

import (
	"cmp"
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
	if l.session.oneRun {
		return 0, formats.Fail(
			formats.CodeUsage,
			"start a line for each task",
			"expected one task for a run in the background, got %d",
			len(parts),
		)
	}
	most, err := argspec.Parallel(l.session.Options.Parallel)
	if err != nil {
		return 0, err
	}

	name, _, _ := strings.Cut(inv.Line, " ")
	tasks := make([]int, len(parts))
	for i := range parts {
		p := &parts[i]
		p.Inv.Line = lineOf(name, *p)
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
			p.Inv.Run = l.session.Project.NewRunID()
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

	var runs []string
	for _, p := range parts {
		if p.Was == nil {
			runs = append(runs, p.Inv.Run)
		}
	}
	l.session.queueInOrder(runs)
	return most, nil
}

// lineOf is the line of a part; name is the command with its slash.
func lineOf(name string, p commands.Part) string {
	own := router.Line{Raw: name + " " + p.Inv.Raw}
	if p.Inv.Words != nil {
		own.Words = append([]string{name}, p.Inv.Words...)
	}
	return own.Text()
}

// TaskLine is a line about one task.
type TaskLine struct {
	Line   string
	Task   int      // 0: it is about none
	Before []int    // the tasks on which that one depends
	Needs  []string // the labels that a worker of a team has to have
}

// TaskLines gives each task of a line that names several a line of its own; for any other line the
// line itself. A line that names no command, or whose arguments are wrong, is refused.
func (s *Session) TaskLines(ctx context.Context, text string) ([]TaskLine, error) {
	line := router.Line{Raw: text}
	route, err := s.Route(line)
	if err != nil {
		return nil, err
	}

	inv := invocationOf(route)
	inv.Raw = route.Raw
	inv.Words = route.Words
	parts, needs, err := s.Library.Parts(inv)
	if err != nil {
		return nil, err
	}
	if len(parts) == 1 {
		parts[0].Inv.Line = text
	}

	var out []TaskLine
	name, _, _ := strings.Cut(text, " ")
	for _, p := range parts {
		one := TaskLine{Line: cmp.Or(p.Inv.Line, lineOf(name, p)), Task: p.Task, Needs: needs}
		if p.Task > 0 {
			task, err := s.Project.Reader.Task(ctx, p.Task)
			if err != nil {
				return nil, err
			}
			one.Before = task.Dependencies
		}
		out = append(out, one)
	}
	return out, nil
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
	if turn := l.session.turns[id]; turn != nil {
		turn.admitNext()
	}
	if err := l.session.Project.Control.Release(id); err != nil {
		l.session.Project.note("warning: run %s: %s", id, err)
	}
}
