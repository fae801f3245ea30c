package project

import (
	"context"
	"errors"
	"strings"

	"tercet/commands/argspec"
	"tercet/formats"
	"tercet/internal/control"
	"tercet/internal/journal"
	"tercet/router"
)

// LineOf is the line that began a run: its words as a shell gave them, else its text.
func LineOf(r journal.Run) router.Line {
	name, _, _ := strings.Cut(r.Line, " ")
	if r.Begun.Words != nil {
		return router.Line{Words: append([]string{name}, r.Begun.Words...)}
	}
	return router.Line{Raw: strings.TrimSpace(name + " " + r.Begun.Raw)}
}

// Route finds the command of a line.
func (s *Session) Route(line router.Line) (router.Route, error) {
	route, err := s.Project.Table.Route(line)
	if err == nil {
		err = s.Project.Table.CheckSingle(line)
	}
	if unknown, ok := errors.AsType[*router.UnknownCommandError](err); ok {
		info, known := s.Set.Agent(unknown.Name)
		unknown.Subagent = known && !info.Builtin
	}
	return route, err
}

// Start runs a line, or goes on with the unfinished run that it began before. The return is that of
// the command, also where the command failed; an error means that nothing was begun. It is a
// *ResumableError if a run waits that only the user can decide about.
func (s *Session) Start(ctx context.Context, line router.Line) (formats.Return, error) {
	route, err := s.Route(line)
	if err == nil {
		err = s.Project.Host.MayCommand()
	}
	if err != nil {
		return formats.Return{}, err
	}
	return s.StartRouted(ctx, line, route)
}

// StartRouted is Start for a line whose command is known.
func (s *Session) StartRouted(
	ctx context.Context,
	line router.Line,
	route router.Route,
) (formats.Return, error) {
	begun, err := s.unfinished(ctx, line, route, false)
	if err != nil {
		return formats.Return{}, err
	}
	if begun != nil { // flags may stand in one of the lines, and the run goes by the first
		line = LineOf(*begun)
		route, err = s.Project.Table.Route(line)
		if err != nil {
			return formats.Return{}, err
		}
	}
	return s.handle(ctx, line, route, begun)
}

// unfinished looks for an earlier run that the same line began and that did not end; nil: begin a
// new one. On a terminal it asks whether to go on with it, and gives it up after a no. Without a
// terminal it goes on; a run that waits, or of a flow, is an error. Among lines that run together
// it goes on without the question. A run of the same flow with other words may be about something
// else, so a no keeps it. Without a terminal tercet only names that run, but for a line without
// words it is an error.
func (s *Session) unfinished(
	ctx context.Context, line router.Line, route router.Route, together bool,
) (*journal.Run, error) {
	if s.Project.Reader == nil || s.Options.DryRun {
		return nil, nil
	}

	may := func() error { return s.MayStart(ctx, invocationOf(route)) }
	text := argspec.StripEngineFlags(line.Text())
	of := "this line"
	r, err := s.Project.Control.TakeMatching(
		ctx,
		func(r journal.Run) bool { return argspec.StripEngineFlags(r.Line) == text },
		may,
	)

	other := r == nil && err == nil && !together && !s.Options.New
	if other {
		r, err = s.Project.Control.TakeMatching(ctx, func(r journal.Run) bool {
			theirs, err := s.Project.Table.Route(LineOf(r))
			same := err == nil && theirs.File == route.File && theirs.Source == route.Source
			return same && argspec.StripEngineFlags(r.Line) != text && s.isFlow(route)
		}, may)
	}
	if r == nil || err != nil {
		return nil, err
	}

	var ask func(formats.Gate) (formats.Decision, error)
	if s.Project.Host.Frontend.Interactive() {
		ask = func(g formats.Gate) (formats.Decision, error) {
			return s.approver.ask(ctx, g)
		}
	}

	goesOn := false
	switch {
	case s.Options.New, other && ask == nil && strings.Contains(text, " "):
	case together && ask != nil:
		s.Project.note("goes on with run %s, which did not end", r.ID)
		goesOn = true
	default:
		if other {
			of = r.Line
		}
		show := func(r journal.Run) error {
			return s.Project.Host.Frontend.ShowRun(s.Project, r)
		}
		goesOn, err = s.Project.Control.ShouldResume(*r, of, s.isFlow(route), ask, show)
	}

	switch {
	case err != nil || goesOn:
		return r, err
	case other:
		s.Project.note(
			"run %s of %s did not end: go on by 'tercet resume %[1]s', or give it up by 'tercet "+
				"cancel %[1]s'",
			r.ID, r.Line,
		)
		return nil, s.Project.Control.Release(r.ID)
	}

	return nil, s.GiveUp(ctx, *r)
}

// isFlow tells whether a command has tiers.
func (s *Session) isFlow(r router.Route) bool {
	prog, _, err := s.Library.Load(r.Source, r.File)
	return err == nil && prog != nil && prog.Tiers != nil
}

func invocationOf(r router.Route) formats.Invocation {
	return formats.Invocation{
		Name:   r.Name,
		File:   r.File,
		Source: r.Source,
	}
}

// GiveUp ends a run that was taken: Error Handling runs, and what it holds goes back.
func (s *Session) GiveUp(ctx context.Context, r journal.Run) error {
	if err := s.Project.Control.Stop(ctx, r); err != nil {
		return err
	}

	line := LineOf(r)
	route, err := s.Project.Table.Route(line)
	if err != nil {
		return err
	}

	last, err := s.cloneWith(func(out *Session) {
		out.givingUp = true
		out.journaled = func(string) {} // nobody asked for this run
	})
	if err != nil {
		return err
	}

	ret, err := last.handle(ctx, line, route, &r)
	if err == nil {
		err = control.CheckGivenUp(r, ret)
	}
	if err == nil {
		s.Project.note("run %s is given up", r.ID)
	}
	return err
}

// Resume goes on with the run that a word names, or with the only one that can go on. From names
// the step to go back to, empty for where the run stopped.
func (s *Session) Resume(ctx context.Context, word, from string) (formats.Return, error) {
	r, err := s.takeRun(ctx, word, from)
	if err != nil {
		return formats.Return{}, err
	}

	line := LineOf(r)
	route, err := s.Project.Table.Route(line)
	if err == nil {
		err = s.MayStart(ctx, invocationOf(route))
	}
	if err == nil && from != "" {
		err = s.goBack(ctx, r, from)
	}
	if err != nil {
		return formats.Return{}, err
	}
	return s.handle(ctx, line, route, &r)
}

// takeRun takes the run to resume. One that failed is only taken to go back to a step.
func (s *Session) takeRun(ctx context.Context, word, from string) (journal.Run, error) {
	if from != "" && word != "" {
		if r, err := s.Project.Control.Named(word); err == nil && r.Ended() {
			return r, s.Project.Control.TakeFailed(ctx, r.ID)
		}
	}
	return s.Project.Control.Take(ctx, word)
}
