package control

import (
	"context"
	"os"
	"slices"

	"tercet/formats"
	"tercet/internal/journal"
)

// Records reads the journal of a run that this user began.
func (d *Controller) Records(id string) ([]journal.Record, error) {
	list, err := journal.Load(d.Root, id)
	if err == nil {
		err = journal.VerifyKey(list, d.Key(id))
	}
	return list, err
}

// readVerified reads the journal of a run that this user began, in the format of this version.
func (d *Controller) readVerified(
	id string,
	load func(*os.Root, string) ([]journal.Record, error),
) ([]journal.Record, error) {
	list, err := load(d.Root, id)
	if err == nil {
		_, err = journal.Started(list)
	}
	if err == nil {
		err = journal.VerifyKey(list, d.Key(id))
	}
	return list, err
}

// Named finds a run by a prefix of its id.
func (d *Controller) Named(word string) (journal.Run, error) {
	return journal.FindAny(d.Root, word)
}

// FindVerified is Named, and returns the journal, which must be complete and written by this user.
func (d *Controller) FindVerified(word string) (
	r journal.Run, records []journal.Record, err error,
) {
	r, err = d.Named(word)
	if err == nil {
		records, err = d.readVerified(r.ID, journal.LoadComplete)
	}
	return r, records, err
}

// TakeAny finds a run in any state, locks it and reads its journal, to work on what the run left.
func (d *Controller) TakeAny(
	ctx context.Context,
	word string,
) (r journal.Run, records []journal.Record, err error) {
	r, err = d.Named(word)
	if err != nil {
		return r, nil, err
	}

	if err := d.lockRun(ctx, r.ID); err != nil {
		return r, nil, err
	}

	records, err = d.readVerified(r.ID, journal.Load)
	d.withRun(r.ID, func(r *run) { r.finished = journal.Finished(records) })
	return r, records, err
}

// TakeFailed locks a failed run, to go back to one of its steps.
func (d *Controller) TakeFailed(ctx context.Context, id string) error {
	if err := d.lockRun(ctx, id); err != nil {
		return err
	}
	past, err := d.readVerified(id, journal.Load)
	if err != nil {
		return err
	}

	d.withRun(id, func(r *run) {
		r.past = past
		r.finished = journal.Finished(past)
	})

	if journal.Finished(past) && journal.Succeeded(past) {
		return formats.Fail(formats.CodePrecondition, "type its line to run it again",
			"run %s has ended well: only one that failed can go on", id)
	}
	return nil
}

// Take finds an unfinished run and locks it.
func (d *Controller) Take(ctx context.Context, word string) (journal.Run, error) {
	r, err := journal.Find(d.Root, word)
	_, missing := d.Root.Lstat(journal.LockPath(r.ID))
	// for a finished run this removes the lock file that a killed process left
	if err == nil || r.ID != "" && missing == nil {
		err = d.takeRun(ctx, r)
	}
	return r, err
}

// takeRun locks a run that did not end and reads its journal.
func (d *Controller) takeRun(ctx context.Context, r journal.Run) error {
	if err := d.lockRun(ctx, r.ID); err != nil {
		return err
	}
	past, err := d.readVerified(r.ID, journal.Load)
	if err != nil {
		return err
	}

	d.withRun(r.ID, func(r *run) {
		r.past = past
		r.finished = journal.Finished(past)
	})

	if journal.Finished(past) {
		return formats.Fail(formats.CodePrecondition, "type its line to run it again",
			"run %s has ended", r.ID)
	}
	return nil
}

// TakeMatching finds the newest unfinished run for which same is true, and locks it; nil if there
// is none or another process works on it. It calls may before locking a run.
func (d *Controller) TakeMatching(
	ctx context.Context,
	same func(journal.Run) bool,
	may func() error,
) (*journal.Run, error) {
	list, err := journal.Runs(d.Root, true)
	if err != nil {
		return nil, err
	}
	for _, r := range list {
		if !same(r) {
			continue
		}
		if err := may(); err != nil {
			return nil, err
		}

		err := d.takeRun(ctx, r)
		switch {
		case err == nil:
			return &r, nil
		case formats.CodeOf(err) != formats.CodeLocked: // otherwise it is running
			d.Note("warning: run %s cannot be resumed: %s", r.ID, err)
		}
	}
	return nil, nil
}

// isWaiting reports whether a locked run waits: for a time, for the user who paused it, or at a
// gate without an answer. An interrupted run continues like one that was killed.
func isWaiting(d *Controller, r journal.Run) bool {
	if r.Status != formats.OutcomeSuspended.String() || r.Code != "" || r.Due(d.Clock.Now()) {
		return false
	}

	g, _ := journal.Gates(d.Past(r.ID))
	if g == nil || r.Gate == "" {
		return true
	}
	if d.LocalOnly(*g) != "" {
		return true
	}

	list, err := d.mailbox(r.ID).Answers(*g)
	return err != nil || !slices.ContainsFunc(list, func(answer formats.Decision) bool {
		_, enough := g.Decides(answer)
		return enough
	})
}

// ShouldResume decides whether a locked run continues after its line, or another line of its
// command, was typed; of says which. Otherwise a new run begins. show shows the run to the user,
// and ask asks. If ask is nil the run continues, unless it waits or is a flow, which is a
// *WaitingError.
func (d *Controller) ShouldResume(
	r journal.Run, of string, flow bool, ask func(
		formats.Gate,
	) (formats.Decision, error), show func(journal.Run) error,
) (bool, error) {
	if ask == nil {
		if isWaiting(d, r) {
			return false, &WaitingError{r, of, ": " + r.WaitReason()}
		}
		if flow {
			return false, &WaitingError{Run: r, Of: of}
		}
		d.Note("goes on with run %s, which did not end", r.ID)
		return true, nil
	}
	for {
		answer, err := ask(formats.Gate{
			Question: "run " + r.ID + " of " + of + " did not end:",
			Choices:  []formats.Choice{{Label: "resume"}, {Label: "new"}, {Label: "show"}},
		})
		if err != nil || answer.Answer != "show" {
			return answer.Answer != "new", err
		}
		if err := show(r); err != nil {
			return false, err
		}
	}
}

// Stop records that the user gave a locked run up. Afterwards only its end remains to be done.
func (d *Controller) Stop(ctx context.Context, r journal.Run) error {
	if past := d.Past(r.ID); past[len(past)-1].Type == formats.EntryStopped {
		return nil
	}
	return d.Add(ctx, r.ID, formats.Entry{
		Type: formats.EntryStopped,
		Data: map[string]any{
			"code":    formats.CodeCancelled,
			"message": "given up",
			"help":    "type its line to run it again",
		},
	})
}

// CheckGivenUp checks the end of a run that was given up.
func CheckGivenUp(r journal.Run, ret formats.Return) error {
	switch {
	case ret.Resume != nil:
		return formats.Fail(formats.CodeBug, "", "run %s still waits", r.ID)
	case len(ret.Errors) > 0 && ret.Errors[0].Code != formats.CodeCancelled:
		return formats.Fail(ret.Errors[0].Code, ret.Errors[0].Recommendation, "%s",
			ret.Errors[0].Message)
	}
	return nil
}

// Wait sleeps until the time that a run waits for, if the word names such a run.
func (d *Controller) Wait(ctx context.Context, word string) error {
	r, err := journal.Find(d.Root, word)
	if err != nil || r.Until.IsZero() || r.Due(d.Clock.Now()) {
		return nil //nolint:nilerr // Take reports that there is none
	}
	d.Note("run %s: %s", r.ID, r.WaitReason())
	if err := d.Clock.Sleep(ctx, r.Until.Sub(d.Clock.Now())); err != nil {
		return context.Cause(ctx)
	}
	return nil
}
