package interp

import (
	"context"
	"errors"
	"time"

	"tercet/formats"
)

// mergeContexts is a context that ends with either of two; the second may be nil.
func mergeContexts(ctx, other context.Context) (_ context.Context, stop func()) {
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

// pauseReason gives the reason for which nothing new may begin. The steps of a workflow subagent
// are a part of the step that calls it, so they go on.
func (r *run) pauseReason() error {
	pause := r.cfg.Pause
	if pause == nil || r.cfg.Prefix != "" || r.finishing {
		return nil
	}
	return context.Cause(pause)
}

// stopReason is the reason for which a context is over, with a code.
func stopReason(ctx context.Context) error {
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

// recordStop journals that the run was stopped. The process that resumes it then does Error
// Handling and no more of the workflow.
func (r *run) recordStop(err error) {
	if !r.journal.begun || r.cfg.Prefix != "" {
		return
	}
	stop := formats.Entry{Type: formats.EntryStopped, Data: recordError(err)}
	if err := r.main.journal.append(stop); err != nil {
		r.report.warn("%s", err)
	}
}

// interruptOf is the signal that ended a context; nil if it is not over, or something else ended
// it.
func interruptOf(ctx context.Context) *formats.InterruptedError {
	return asInterrupt(context.Cause(ctx))
}

// cleanupContexts gives the contexts for Error Handling and for all that follows the workflow.
// Neither ends with the run, but their time is short once the run is stopped.
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
