package interp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tercet/formats"
)

// suspension says why and how the run waits.
type suspension struct {
	reason       *formats.Suspended // nil: it does not wait
	openGate     *formats.Gate      // the question that was open when the run was interrupted
	terminalOnly bool               // only an answer at the run's own terminal counts
}

// postponedReturn is the command's return when the run cannot go on before a time.
func (r *run) postponedReturn(e *formats.LaterError) formats.Return {
	r.suspension.reason = &formats.Suspended{
		Step:      r.lastFailure.Step,
		Postponed: formats.Postponed{Why: e.Why, Until: e.Until},
	}
	next := "run it to go on"
	if !e.Until.IsZero() {
		if r.limits.AutoResume > 0 {
			r.suspension.reason.Alone = r.cfg.Clock.Now().Add(r.limits.AutoResume).UTC()
		}
		next = "run it with --wait to sleep until it can go on"
	}
	return formats.Return{
		Status:        formats.StatusBlocked,
		Said:          formats.OutcomeSuspended,
		Summary:       e.Error(),
		BlockedReason: e.Error(),
		NextSteps:     next,
		Artifacts:     r.artifacts.newest(),
	}
}

// cutReturn is the command's return if a signal, or an I/O error of the engine, interrupts the run.
// It can be resumed.
func (r *run) cutReturn(err error, why string) formats.Return {
	r.suspension.reason = &formats.Suspended{
		Postponed: formats.Postponed{Why: why, Code: formats.CodeOf(err)},
	}
	if g := r.suspension.openGate; g != nil {
		r.suspension.reason.Question = g.Question
		r.suspension.reason.Gate = g.ID
		r.suspension.reason.Step = g.Step
	}
	next := fmt.Sprintf("run it to go on, or 'tercet cancel %s' to give it up", r.cfg.IDs.Run)
	return formats.Return{
		Status:        formats.StatusBlocked,
		Said:          formats.OutcomeSuspended,
		Summary:       why,
		BlockedReason: why,
		Errors:        formats.Failed(err).Errors,
		NextSteps:     next,
		Artifacts:     r.artifacts.newest(),
	}
}

// gateReturn is the command's return when a gate waits for an answer.
func (r *run) gateReturn(open *formats.GateOpenError) formats.Return {
	r.suspension.reason = &formats.Suspended{
		Question: open.Gate.Question,
		Gate:     open.Gate.ID,
		Step:     open.Gate.Step,
	}
	r.suspension.terminalOnly = open.Only != ""
	return formats.Return{
		Status:        formats.StatusBlocked,
		Said:          formats.OutcomeSuspended,
		Summary:       open.Error(),
		BlockedReason: open.Error(),
		NextSteps:     open.Help(),
		Artifacts:     r.artifacts.newest(),
	}
}

// suspend ends the work of this process. Nothing is undone, and the run keeps its tasks and
// worktrees.
func (r *run) suspend(ret formats.Return) formats.Return {
	r.main = r.main.withContext(context.WithoutCancel(r.main.ctx))
	err := r.main.journal.append(formats.Entry{
		Type: formats.EntrySuspended,
		Data: r.suspension.reason,
	})
	if r.journal.diverged != nil {
		return ret
	} else if err != nil {
		r.warn("%s", err)
	}
	if err := r.lease(true); err != nil {
		r.warn("%s", err)
	}
	ret = r.explainResume(ret)
	r.stamp(&ret)
	return ret
}

// explainResume says in the return of a suspended run how to go on with it.
func (r *run) explainResume(ret formats.Return) formats.Return {
	ret.Status = formats.StatusSuspended
	ret.NextSteps = strings.Replace(
		ret.NextSteps,
		"run it",
		"run 'tercet resume "+r.cfg.IDs.Run+"'",
		1,
	)
	ret.Resume = r.resume()
	if r.suspension.reason.Gate != "" && !r.suspension.terminalOnly {
		ret.NextSteps += fmt.Sprintf("; or answer by 'tercet approve %s' or 'tercet reject %[1]s'",
			r.cfg.IDs.Run)
	}
	ret.Resume.Gate = r.suspension.reason.Question
	ret.Resume.Until = r.suspension.reason.Until
	return ret
}

func (r *run) resume() *formats.Resume {
	return &formats.Resume{Run: r.cfg.IDs.Run, Line: "tercet resume " + r.cfg.IDs.Run}
}

// elapsed is how long processes have worked on the run.
func (r *run) elapsed() time.Duration {
	return r.cfg.Spent + r.cfg.Clock.Now().Sub(r.processStarted)
}
