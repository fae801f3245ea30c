package project

import (
	"context"
	"path"
	"time"

	"tercet/formats"
	"tercet/internal/journal"
)

// How often Wait looks at the journal of a run, and how many such looks at an unchanged one pass
// before it checks that the process of the run is alive.
const (
	waitInterval   = 200 * time.Millisecond
	looksUntilSure = 10
)

// Wait waits for the run that a word names, as long as a process works on it, and gives what it
// came to: its end, or what it waits for. Asked is called for each question at which the run waits
// with its process; it may be nil.
func (p *Project) Wait(
	ctx context.Context, word string, asked func(r RunInfo, g formats.Gate),
) (formats.Return, error) {
	r, err := p.Find(word)
	if err != nil {
		return formats.Return{}, err
	}
	w := &runWaiter{
		project: p,
		run:     r.ID,
		log:     p.Log(r.ID, ""),
		asked:   asked,
	}

	for looks := 0; ; looks++ {
		changed, err := w.pollJournal()
		if err != nil {
			return formats.Return{}, err
		}
		if changed || looks%looksUntilSure == 0 {
			ret, over, err := w.outcome()
			if err != nil || over {
				return ret, err
			}
			looks = 0
		}
		if p.Host.Clock.Sleep(ctx, waitInterval) != nil {
			return formats.Return{}, context.Cause(ctx)
		}
	}
}

// runWaiter follows a run until it is over.
type runWaiter struct {
	project *Project
	run     string
	log     *RunLog
	journal fileStamp
	shown   string // the id of the last question that was told
	asked   func(r RunInfo, g formats.Gate)
}

// pollJournal reports whether the journal has grown, and calls asked for a question in it.
func (w *runWaiter) pollJournal() (changed bool, err error) {
	info, err := w.project.Root.Lstat(path.Join(journal.Folder, w.run, journal.Name))
	if err != nil {
		return false, formats.Broken(formats.CodeIO, "run "+w.run, err)
	}
	now := fileStamp{info.Size(), info.ModTime()}
	if now == w.journal {
		return false, nil
	}
	w.journal = now

	lines, _, err := w.log.Lines()
	if err != nil || w.asked == nil {
		return true, err
	}
	for _, line := range lines {
		if line.Type == string(formats.EntryGateOpened) {
			w.tellQuestion()
			break
		}
	}
	return true, nil
}

// tellQuestion tells of the open question, once.
func (w *runWaiter) tellQuestion() {
	r, g, err := w.project.OpenGate(w.run)
	if err == nil && g.ID != w.shown && w.project.AtWork(w.run) {
		w.shown = g.ID
		w.asked(r, g)
	}
}

// outcome is what the run came to. It is not over while a process works on it.
func (w *runWaiter) outcome() (ret formats.Return, over bool, err error) {
	// before the journal is read, because a process writes the end and then lets go of the run
	atWork := w.project.AtWork(w.run)
	r, ok := journal.Summarize(w.project.Root, w.run)
	if ok && atWork && (r.Status == journal.Open || r.Status == suspended) {
		return ret, false, nil
	}

	records, err := w.project.Control.Records(w.run)
	if err != nil {
		return ret, false, err
	}
	if end, finished := journal.End(records); finished {
		return end.Return(w.run), true, nil
	}
	return suspendedReturn(r), !atWork, nil
}

// suspended is the status of a run that waits, in its summary.
const suspended = string(formats.OutcomeSuspended)

// suspendedReturn is the return of a run that did not end and that no process works on.
func suspendedReturn(r RunInfo) formats.Return {
	why := r.WaitReason()
	if why == "" {
		why = "its process is gone"
	}

	resume := "tercet resume " + r.ID
	ret := formats.Return{
		Status:        formats.StatusSuspended,
		Said:          formats.OutcomeSuspended,
		Summary:       "run " + r.ID + ": " + why,
		BlockedReason: "run " + r.ID + ": " + why,
		NextSteps: "run '" + resume + "' to go on, or 'tercet cancel " + r.ID +
			"' to give it up",
		Metadata: formats.Metadata{Run: r.ID},
		Resume: &formats.Resume{
			Run:   r.ID,
			Line:  resume,
			Gate:  r.Gate,
			Until: r.Until,
		},
	}

	if r.Gate != "" {
		ret.NextSteps = "answer by 'tercet approve " + r.ID + "' or 'tercet reject " + r.ID +
			"', then run '" + resume + "'"
	}
	if r.Code != "" {
		ret.Errors = []formats.ReturnError{{
			Code:    r.Code,
			Type:    r.Code.ErrorType(),
			Message: why,
		}}
	}
	return ret
}
