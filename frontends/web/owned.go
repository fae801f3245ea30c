package web

import (
	"context"
	"time"

	"tercet/formats"
	"tercet/project"
)

// options are those of every run on the page: its questions wait for an answer from here or
// elsewhere.
func options() project.Options {
	return project.Options{Await: true}
}

// trackRun shows a run as one of the server until it has ended or waits.
func (o *site) trackRun(r *project.Run) {
	if r.ID == "" {
		return // a line without a journal, such as /help
	}
	o.mu.Lock()
	o.ownRuns[r.ID] = r
	delete(o.failed, r.ID)
	o.mu.Unlock()

	o.tracking.Go(func() {
		<-r.Done()
		_, err := r.Wait(o.server.runs)
		o.mu.Lock()
		delete(o.ownRuns, r.ID)
		if err != nil {
			o.failed[r.ID] = message(err)
		}
		if !o.closing { // then the project is no longer there to be read
			if now, ok := o.monitor.Run(r.ID); ok {
				o.scheduleResume(now)
			}
		}
		o.mu.Unlock()
		o.server.hub.poke()
	})
}

// dueResume is a run that is resumed at a time.
type dueResume struct {
	at    time.Time
	timer *time.Timer
}

// scheduleResume resumes a run at the time for which it waits, such as the end of a usage limit, if
// it may go on without a person then. The caller holds the lock.
func (o *site) scheduleResume(r project.RunState) {
	at := r.Run.Until
	known := o.due[r.Run.ID]
	if r.State != project.StateWaiting || r.ReadError != "" || !r.Run.DueUnattended(at) ||
		known != nil && known.at.Equal(at) {
		return
	}

	if known != nil {
		known.timer.Stop()
	}

	run := r.Run.ID
	wait := at.Sub(o.server.config.Now())
	o.due[run] = &dueResume{at, time.AfterFunc(wait, func() { o.resumeDue(run) })}
}

// resumeDue resumes a run whose time has come, once for each time that it waits for.
func (o *site) resumeDue(run string) {
	r, err := o.findRun(run)
	switch {
	case err != nil || r.State != project.StateWaiting:
		return
	case !r.Run.DueUnattended(o.server.config.Now()):
		return
	}
	if err := o.resume(run); err != nil {
		o.mu.Lock()
		o.failed[run] = message(err)
		o.mu.Unlock()
		o.server.hub.poke()
		return
	}
	o.addNote("run " + run + " goes on: the time has come for which it waited")
}

// startLine starts a line in the background. Fresh gives up the unfinished run of the line.
func (o *site) startLine(line string, fresh bool) (*project.Run, error) {
	opt := options()
	opt.New = fresh
	r, err := o.current().Start(o.server.runs, line, opt)
	if err != nil {
		return nil, err
	}

	o.trackRun(r)
	return r, nil
}

// hasRun reports whether a line that was begun has a run with a page: one that ended at once may
// have none.
func (o *site) hasRun(r *project.Run) bool {
	if r.ID == "" {
		return false
	}
	select {
	case <-r.Done():
		_, err := o.findRun(r.ID)
		return err == nil
	default:
		return true
	}
}

// resume resumes a run in this process.
func (o *site) resume(run string) error {
	p := o.current()
	if p.AtWork(run) {
		return formats.Fail(formats.CodePrecondition, "", "run %s is at work", run)
	}
	if !o.markResuming(run) {
		return formats.Fail(formats.CodePrecondition, "", "run %s goes on already", run)
	}

	defer o.unmarkResuming(run)
	r, err := p.Resume(o.server.runs, run, "", options())
	if err != nil {
		return err
	}
	o.trackRun(r)
	return nil
}

// markResuming shows a run as about to resume, until unmarkResuming; false: it is already.
func (o *site) markResuming(run string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.resuming[run] {
		return false
	}
	o.resuming[run] = true
	o.server.hub.poke()
	return true
}

func (o *site) unmarkResuming(run string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.resuming, run)
	o.server.hub.poke()
}

// resumeClosed goes on with the runs that the last server of the project suspended.
func (o *site) resumeClosed(ctx context.Context) {
	p := o.current()
	list, err := p.Runs(project.Filter{Closed: true})
	if err != nil {
		o.addNote("warning: " + message(err))
		return
	}

	for _, r := range list {
		o.markResuming(r.ID)
	}

	go func() {
		runs, err := p.ResumeClosed(ctx, options())
		for _, r := range list {
			o.unmarkResuming(r.ID)
		}
		for _, r := range runs {
			o.trackRun(r)
		}
		if err != nil {
			o.addNote(message(err))
		}
	}()
}

// message is an error with its advice, in one line.
func message(err error) string {
	text := err.Error()
	if help := formats.HelpOf(err); help != "" {
		text += " (" + help + ")"
	}
	return text
}
