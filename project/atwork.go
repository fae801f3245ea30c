package project

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tercet/formats"
)

// Run is a run that this process works on, in the background.
type Run struct {
	// ID is the run's id. It is empty for a line that keeps no journal, such as /help.
	ID string

	pause     func(why string)
	interrupt context.CancelCauseFunc
	done      chan struct{} // closed when ret and err are set
	ret       formats.Return
	err       error
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

// ResumeClosed resumes the runs that Close suspended, and gives those that go on. The error joins
// those of the others.
func (p *Project) ResumeClosed(ctx context.Context, o Options) ([]*Run, error) {
	list, err := p.Runs(Filter{Closed: true})
	if err != nil {
		return nil, err
	}

	var runs []*Run
	var errs []error
	for _, info := range slices.Backward(list) { // in the order in which they began
		r, err := p.Resume(ctx, info.ID, "", o)
		if err != nil {
			errs = append(errs, fmt.Errorf("run %s: %w", info.ID, err))
		} else {
			runs = append(runs, r)
		}
	}

	return runs, errors.Join(errs...)
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
		return nil, errors.Join(err, fresh.release())
	}

	begun := make(chan string, 1)
	s.journaled = func(run string) {
		select {
		case begun <- run:
		default: // a line with several tasks has several runs; it is named by its first
		}
	}

	ctx, interrupt := context.WithCancelCause(ctx)
	r := &Run{
		pause:     fresh.Control.PauseAll,
		interrupt: interrupt,
		done:      make(chan struct{}),
	}
	if err := p.addBackgroundRun(r); err != nil {
		interrupt(nil)
		return nil, errors.Join(err, fresh.release())
	}

	go func() {
		defer p.removeBackgroundRun(r)
		defer close(r.done)
		defer interrupt(nil)
		r.ret, r.err = work(ctx, s)
		r.err = errors.Join(r.err, fresh.release())
	}()

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

// addBackgroundRun notes that a run works in the background, unless the project is being closed.
func (p *Project) addBackgroundRun(r *Run) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing {
		return formats.Fail(formats.CodePrecondition, "", "the project is being closed")
	}
	if p.backgroundRuns == nil {
		p.backgroundRuns = map[*Run]struct{}{}
	}
	p.backgroundRuns[r] = struct{}{}
	return nil
}

// removeBackgroundRun notes that a run no longer works.
func (p *Project) removeBackgroundRun(r *Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.backgroundRuns, r)
}

// suspendBackgroundRuns suspends the runs in the background and waits for them. When ctx ends it
// interrupts those that are still at work.
func (p *Project) suspendBackgroundRuns(ctx context.Context) {
	p.mu.Lock()
	p.closing = true
	working := slices.Collect(maps.Keys(p.backgroundRuns))
	p.mu.Unlock()

	for _, r := range working {
		r.pause(formats.ReasonClosed)
	}
	for _, r := range working {
		select {
		case <-r.done:
		case <-ctx.Done():
			r.interrupt(formats.Closed())
		}
	}
	for _, r := range working {
		<-r.done
	}
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
		return RunInfo{}, errors.Join(err, fresh.release())
	}
	r, _, err := s.Cancel(ctx, run)
	return r, errors.Join(err, fresh.release())
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
