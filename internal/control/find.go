package control

import (
	"context"
	"os"
	"slices"

	"tercet/formats"
	"tercet/internal/journal"
)

// Records reads the journal of a run that this user began here.
func (d *Desk) Records(id string) ([]journal.Record, error) {
	list, err := journal.Load(d.Root, id)
	if err == nil {
		err = journal.Vouched(list, d.Key(id))
	}
	return list, err
}

// read reads the journal of a run that this user began here, in the form of this version.
func (d *Desk) read(
	id string,
	load func(*os.Root, string) ([]journal.Record, error),
) ([]journal.Record, error) {
	list, err := load(d.Root, id)
	if err == nil {
		_, err = journal.Begun(list)
	}
	if err == nil {
		err = journal.Vouched(list, d.Key(id))
	}
	return list, err
}

// Named finds a run by its id or the beginning of it.
func (d *Desk) Named(word string) (journal.Run, error) {
	return journal.Any(d.Root, word)
}

// Seen is Named with the journal, which must be whole and written by this user.
func (d *Desk) Seen(word string) (r journal.Run, records []journal.Record, err error) {
	if r, err = d.Named(word); err == nil {
		records, err = d.read(r.ID, journal.Whole)
	}
	return r, records, err
}

// Ended finds a run, takes it and reads its journal, for work on what the run left.
func (d *Desk) Ended(
	ctx context.Context,
	word string,
) (r journal.Run, records []journal.Record, err error) {
	if r, err = d.Named(word); err != nil {
		return r, nil, err
	}
	if err := d.lock(ctx, r.ID); err != nil {
		return r, nil, err
	}
	records, err = d.read(r.ID, journal.Load)
	d.with(r.ID, func(r *run) { r.over = journal.Over(records) })
	return r, records, err
}

// TakeEnded takes a run that failed, to go back to one of its steps.
func (d *Desk) TakeEnded(ctx context.Context, id string) error {
	if err := d.lock(ctx, id); err != nil {
		return err
	}
	past, err := d.read(id, journal.Load)
	if err != nil {
		return err
	}
	d.with(id, func(r *run) {
		r.past = past
		r.over = journal.Over(past)
	})
	if journal.Over(past) && journal.Succeeded(past) {
		return formats.Fail(formats.CodePrecondition, "type its line to run it again",
			"run %s has ended well: only one that failed can go on", id)
	}
	return nil
}

// Take finds an unfinished run and takes it.
func (d *Desk) Take(ctx context.Context, word string) (journal.Run, error) {
	r, err := journal.Find(d.Root, word)
	_, missing := d.Root.Lstat(journal.LockOf(r.ID))
	// one that has ended loses the lock that a killed process left
	if err == nil || r.ID != "" && missing == nil {
		err = d.take(ctx, r)
	}
	return r, err
}

// take takes up a run that did not end, so that no other process does.
func (d *Desk) take(ctx context.Context, r journal.Run) error {
	if err := d.lock(ctx, r.ID); err != nil {
		return err
	}
	past, err := d.read(r.ID, journal.Load)
	if err != nil {
		return err
	}
	d.with(r.ID, func(r *run) {
		r.past = past
		r.over = journal.Over(past)
	})
	if journal.Over(past) {
		return formats.Fail(formats.CodePrecondition, "type its line to run it again",
			"run %s has ended", r.ID)
	}
	return nil
}

// Again finds the newest unfinished run that is the same and takes it; nil if there is none, or
// another process works on it. It calls may before taking a run.
func (d *Desk) Again(
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
		err := d.take(ctx, r)
		switch {
		case err == nil:
			return &r, nil
		case formats.CodeOf(err) != formats.CodeLocked: // else it runs
			d.Tell("warning: run %s cannot be resumed: %s", r.ID, err)
		}
	}
	return nil, nil
}

// waits tells whether a run that was taken waits: for a time, for the user who paused it, or at a
// gate without an answer. One that was broken off goes on as one that was killed does.
func waits(d *Desk, r journal.Run) bool {
	if r.Status != formats.OutcomeSuspended.String() || r.Code != "" || r.Due(d.Clock.Now()) {
		return false
	}
	g, _ := journal.Gates(d.Past(r.ID))
	if g == nil || r.Gate == "" {
		return true
	}
	if d.OnlyHere(*g) != "" {
		return true
	}
	list, err := d.box(r.ID).Answers(*g)
	return err != nil || !slices.ContainsFunc(list, func(answer formats.Decision) bool {
		_, enough := g.Decides(answer)
		return enough
	})
}

// GoesOn decides whether a taken run continues after its line, or another one of its command, was
// typed; of says which. Otherwise a new run begins. show shows the user the run, and ask asks. If
// ask is nil the run continues, unless it waits or is a flow, which is a *WaitingError.
func (d *Desk) GoesOn(
	r journal.Run, of string, flow bool, ask func(
		formats.Gate,
	) (formats.Decision, error), show func(journal.Run) error,
) (bool, error) {
	if ask == nil {
		if waits(d, r) {
			return false, &WaitingError{r, of, ": " + r.Waits()}
		}
		if flow {
			return false, &WaitingError{Run: r, Of: of}
		}
		d.Tell("goes on with run %s, which did not end", r.ID)
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

// Stop records that a taken run is given up. Afterwards only its end remains to be done.
func (d *Desk) Stop(ctx context.Context, r journal.Run) error {
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

// GivenUp checks the end of a given-up run.
func GivenUp(r journal.Run, ret formats.Return) error {
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
func (d *Desk) Wait(ctx context.Context, word string) error {
	r, err := journal.Find(d.Root, word)
	if err != nil || r.Until.IsZero() || r.Due(d.Clock.Now()) {
		return nil //nolint:nilerr // who takes it tells that there is none
	}
	d.Tell("run %s: %s", r.ID, r.Waits())
	if err := d.Clock.Sleep(ctx, r.Until.Sub(d.Clock.Now())); err != nil {
		return context.Cause(ctx)
	}
	return nil
}
