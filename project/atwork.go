package project

import (
	"context"

	"tercet/formats"
)

// Run is a run that this process works on, in the background.
type Run struct {
	// ID is the run's id. It is empty for a line that keeps no journal, such as /help.
	ID string

	done chan struct{} // closed when ret and err are set
	ret  formats.Return
	err  error
}

// Wait waits until the run has ended or waits for something, and gives the return of its line. An
// error means that nothing was begun, or that ctx ended first; the run then goes on.
func (r *Run) Wait(ctx context.Context) (formats.Return, error) {
	select {
	case <-r.done:
		return r.ret, r.err
	case <-ctx.Done():
		return formats.Return{}, context.Cause(ctx)
	}
}

// Done is closed when the run has ended or waits for something.
func (r *Run) Done() <-chan struct{} {
	return r.done
}

// Start begins a line in the background and returns once its run is in the journal. The run uses
// the files of the project as they are now, not as they were when the project was opened. It is
// interrupted when ctx ends, and can be resumed then.
//
// The errors that a caller can do something about are *UntrustedError, *UsageError,
// *ResumableError and *NoWorkspaceError.
func (p *Project) Start(ctx context.Context, line string, o Options) (*Run, error) {
	return p.inBackground(ctx, o, func(ctx context.Context, s *Session) (formats.Return, error) {
		return s.Start(ctx, Line{Raw: line})
	})
}

// Resume is Start for a run that did not end. With a step it goes back to that step first, also in
// a run that failed; Options.Yes agrees to what is dropped then.
func (p *Project) Resume(ctx context.Context, run, step string, o Options) (*Run, error) {
	return p.inBackground(ctx, o, func(ctx context.Context, s *Session) (formats.Return, error) {
		return s.Resume(ctx, run, step)
	})
}

// inBackground does work in a session of its own, and waits until its run is in the journal.
func (p *Project) inBackground(
	ctx context.Context,
	o Options,
	work func(context.Context, *Session) (formats.Return, error),
) (*Run, error) {
	fresh, err := Open(ctx, p.Dir, p.HasWorkspace, p.Host)
	if err != nil {
		return nil, err
	}
	s, err := fresh.Session(o)
	if err != nil {
		return nil, joinClose(err, fresh)
	}

	begun := make(chan string, 1)
	s.journaled = func(run string) {
		select {
		case begun <- run:
		default: // a line with several tasks has several runs; it is named by its first
		}
	}
	r := &Run{done: make(chan struct{})}
	p.background.Go(func() {
		defer close(r.done)
		r.ret, r.err = work(ctx, s)
		r.err = joinClose(r.err, fresh)
	})

	select {
	case r.ID = <-begun:
		return r, nil
	case <-r.done:
	}
	if r.err != nil {
		return nil, r.err
	}
	r.ID = r.ret.Metadata.Run
	return r, nil
}

// Answer answers the gate of a run in the name of this process's user. The id is that of the gate
// that the user saw; if the run asks something else by now, nothing is answered.
func (p *Project) Answer(
	ctx context.Context, run, gate string, reply Reply,
) (AnswerEffect, error) {
	r, now, err := p.Control.Gate(run)
	if err != nil {
		return AnswerEffect{}, err
	}
	if now.ID != gate {
		return AnswerEffect{}, formats.Fail(
			formats.CodePrecondition,
			"look at it, and answer again",
			"the question is another one now",
		)
	}
	reply.Note = p.Mask.Text(reply.Note)
	return p.Control.Answer(ctx, r, now, p.Decision(reply))
}

// Gates lists the open gates. Journals of other users are noted and left out.
func (p *Project) Gates() ([]OpenGate, error) {
	return p.Control.Gates()
}

// OpenGate finds a run by a beginning of its id, and its open gate.
func (p *Project) OpenGate(run string) (RunInfo, formats.Gate, error) {
	return p.Control.Gate(run)
}

// CheckUnanswered fails if an answer of this process's user waits at the gate already.
func (p *Project) CheckUnanswered(r RunInfo, g formats.Gate) error {
	return p.Control.CheckUnanswered(r, g, p.Host.User)
}

// Pause suspends a run that a process works on, as soon as what it began is done, and waits for
// that.
func (p *Project) Pause(ctx context.Context, run string) (RunInfo, error) {
	return p.Control.Pause(ctx, run)
}

// Cancel ends a run: its Error Handling runs, and what it holds goes back. It waits for that. A run
// that no process works on is ended by this one.
func (p *Project) Cancel(ctx context.Context, run string, o Options) (RunInfo, error) {
	fresh, err := Open(ctx, p.Dir, p.HasWorkspace, p.Host)
	if err != nil {
		return RunInfo{}, err
	}
	s, err := fresh.Session(o)
	if err != nil {
		return RunInfo{}, joinClose(err, fresh)
	}
	r, _, err := s.Cancel(ctx, run)
	return r, joinClose(err, fresh)
}

// Cancel is Project.Cancel in this session. gaveUp tells that no process worked on the run and this
// one has ended it, which it has noted.
func (s *Session) Cancel(
	ctx context.Context, run string,
) (r RunInfo, gaveUp bool, err error) {
	r, gaveUp, err = s.Project.Control.End(ctx, run)
	if err != nil || !gaveUp {
		return r, gaveUp, err
	}
	if err := s.GiveUp(ctx, r); err != nil {
		return r, true, err
	}
	r, err = s.Project.Find(r.ID)
	return r, true, err
}
