package interp

import (
	"context"
	"errors"
	"time"

	"tercet/formats"
)

// endedBy is a context that a further one ends too, which may be nil.
func endedBy(ctx, other context.Context) (_ context.Context, stop func()) {
	if other == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	leave := context.AfterFunc(other, func() { cancel(context.Cause(other)) })
	return ctx, func() {
		leave()
		cancel(nil)
	}
}

// paused is the reason for which nothing new may begin. The steps of a subagent are a part of what
// runs.
func (r *run) paused() error {
	if r.cfg.Pause == nil || r.cfg.Prefix != "" || r.finishing || r.cfg.Pause.Err() == nil {
		return nil
	}
	return context.Cause(r.cfg.Pause)
}

// stopped gives the reason of a context that is over, with a code.
func stopped(ctx context.Context) error {
	cause := context.Cause(ctx)
	if _, ok := errors.AsType[formats.Coded](cause); ok {
		return cause
	}
	help := "finished work is kept; run the command again to go on"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return formats.Fail(formats.CodeTimeout, help, "the time of the run was over")
	}
	return formats.Fail(formats.CodeCancelled, help, "cancelled")
}

// recordStop writes down that the run was stopped: the process that goes on with it handles that,
// and does no more of the work.
func (r *run) recordStop(err error) {
	if !r.journal.begun || r.cfg.Prefix != "" {
		return
	}
	stop := formats.Entry{Type: formats.EntryStopped, Data: recordError(err)}
	if err := r.main.journal.append(stop); err != nil {
		r.warn("%s", err)
	}
}

// interrupted gives the signal that ended the run's context; nil if it goes on, or something else
// ended it.
func interrupted(ctx context.Context) *formats.InterruptedError {
	return asInterrupt(context.Cause(ctx))
}

// cleanupContexts gives the contexts of Error Handling and of everything after the workflow.
// Neither ends with the run; where the run is stopped, or is stopped now, their time is short.
func (r *run) cleanupContexts() (handling, all context.Context, stop func()) {
	all, endAll := context.WithCancel(context.WithoutCancel(r.main.ctx))
	handling, endHandling := context.WithCancel(all)
	stopTimers := context.AfterFunc(r.main.ctx, func() {
		time.AfterFunc(handlingLimit, endHandling)
		time.AfterFunc(afterLimit, endAll)
	})
	stopAbort := func() bool { return true }
	if r.cfg.Abort != nil {
		if r.cfg.Abort.Err() != nil {
			endAll()
		}
		stopAbort = context.AfterFunc(r.cfg.Abort, endAll)
	}
	return handling, all, func() {
		stopTimers()
		stopAbort()
		endHandling()
		endAll()
	}
}
