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
	run string // the id of the run

	reason       *formats.Suspended // nil: it does not wait
	openGate     *formats.Gate      // the question that was open when the run was interrupted
	terminalOnly bool               // only an answer at the run's own terminal counts
}

// postponedReturn is the command's return when the run cannot go on before a time. autoResumeAt is
// when it goes on without being told to; zero: never.
func (p *suspension) postponedReturn(
	step string,
	e *formats.LaterError,
	autoResumeAt time.Time,
) formats.Return {
	p.reason = &formats.Suspended{
		Step:      step,
		Postponed: formats.Postponed{Why: e.Why, Until: e.Until},
	}

	next := "run it to go on"
	if !e.Until.IsZero() {
		p.reason.Alone = autoResumeAt
		next = "run it with --wait to sleep until it can go on"
	}

	return formats.Return{
		Status:        formats.StatusBlocked,
		Said:          formats.OutcomeSuspended,
		Summary:       e.Error(),
		BlockedReason: e.Error(),
		NextSteps:     next,
	}
}

// interruptedReturn is the command's return if a signal, or an I/O error of the engine, interrupts
// the run. It can be resumed.
func (p *suspension) interruptedReturn(err error, why string) formats.Return {
	p.reason = &formats.Suspended{
		Postponed: formats.Postponed{Why: why, Code: formats.CodeOf(err)},
	}

	if g := p.openGate; g != nil {
		p.reason.Question = g.Question
		p.reason.Gate = g.ID
		p.reason.Step = g.Step
	}

	next := fmt.Sprintf("run it to go on, or 'tercet cancel %s' to give it up", p.run)
	return formats.Return{
		Status:        formats.StatusBlocked,
		Said:          formats.OutcomeSuspended,
		Summary:       why,
		BlockedReason: why,
		Errors:        formats.Failed(err).Errors,
		NextSteps:     next,
	}
}

// gateReturn is the command's return when a gate waits for an answer.
func (p *suspension) gateReturn(open *formats.GateOpenError) formats.Return {
	p.reason = &formats.Suspended{
		Question: open.Gate.Question,
		Gate:     open.Gate.ID,
		Step:     open.Gate.Step,
	}
	p.terminalOnly = open.Only != ""
	return formats.Return{
		Status:        formats.StatusBlocked,
		Said:          formats.OutcomeSuspended,
		Summary:       open.Error(),
		BlockedReason: open.Error(),
		NextSteps:     open.Help(),
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
		r.report.warn("%s", err)
	}

	if err := r.renewLeases(true); err != nil {
		r.report.warn("%s", err)
	}

	ret = r.suspension.explainResume(ret)
	r.stamp(&ret)
	return ret
}

// explainResume says in the return of a suspended run how to go on with it.
func (p *suspension) explainResume(ret formats.Return) formats.Return {
	ret.Status = formats.StatusSuspended
	ret.NextSteps = strings.Replace(ret.NextSteps, "run it", "run 'tercet resume "+p.run+"'", 1)

	ret.Resume = p.resume()
	if p.reason.Gate != "" && !p.terminalOnly {
		ret.NextSteps += fmt.Sprintf("; or answer by 'tercet approve %s' or 'tercet reject %[1]s'",
			p.run)
	}

	ret.Resume.Gate = p.reason.Question
	ret.Resume.Until = p.reason.Until
	return ret
}

func (p *suspension) resume() *formats.Resume {
	return &formats.Resume{Run: p.run, Line: "tercet resume " + p.run}
}

// elapsed is how long processes have worked on the run.
func (r *run) elapsed() time.Duration {
	return r.cfg.Spent + r.cfg.Clock.Now().Sub(r.processStarted)
}
