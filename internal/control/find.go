package control

import (
	"context"
	"errors"
	"os"

	"tercet/formats"
	"tercet/internal/journal"
)

// Records are those of a run that this person began here.
func (d *Desk) Records(id string) ([]journal.Record, error) {
	list, err := journal.Load(d.Root, id)
	if err == nil {
		err = journal.Vouched(list, d.Key(id))
	}
	return list, err
}

// read reads the journal of a run that this person began here, in the form of this version.
func (d *Desk) read(id string, load func(*os.Root, string) ([]journal.Record, error)) ([]journal.Record, error) {
	list, err := load(d.Root, id)
	if err == nil {
		_, err = journal.Begun(list)
	}
	if err == nil {
		err = journal.Vouched(list, d.Key(id))
	}
	return list, err
}

// Named finds a run of the project by a word.
func (d *Desk) Named(word string) (journal.Run, error) { return journal.Any(d.Root, word) }

// Seen finds a run by a word and reads its journal, which must be whole and its person's.
func (d *Desk) Seen(word string) (r journal.Run, records []journal.Record, err error) {
	if r, err = d.Named(word); err == nil {
		records, err = d.read(r.ID, journal.Whole)
	}
	return r, records, err
}

// Ended finds a run by a word, takes it and reads its journal, so that something can be done with what it left.
func (d *Desk) Ended(ctx context.Context, word string) (r journal.Run, records []journal.Record, err error) {
	if r, err = d.Named(word); err != nil {
		return r, nil, err
	}
	if err := d.lock(ctx, r.ID); err != nil {
		return r, nil, err
	}
	records, err = d.read(r.ID, journal.Load)
	if journal.Over(records) {
		err = errors.Join(err, d.free(r.ID)) // its file says that a run can go on
	}
	return r, records, err
}

// Take finds a run that can go on by a word, and takes it.
func (d *Desk) Take(ctx context.Context, word string) (journal.Run, error) {
	r, err := journal.Find(d.Root, word)
	if err == nil {
		err = d.take(ctx, r)
	}
	return r, err
}

// take takes up a run that did not end, which nobody else does then.
func (d *Desk) take(ctx context.Context, r journal.Run) error {
	if err := d.lock(ctx, r.ID); err != nil {
		return err
	}
	past, err := d.read(r.ID, journal.Load)
	if err != nil {
		return err
	}
	if journal.Over(past) {
		return errors.Join(formats.Fail(formats.CodePrecondition, "type its line to run it again", "run %s has ended", r.ID),
			d.free(r.ID))
	}
	d.with(r.ID, func(r *run) { r.past = past })
	return nil
}

// Again finds the newest run that the same line began and that did not end, and takes it; nil: there is none, or others
// work on it. Before one is taken, may is asked.
func (d *Desk) Again(ctx context.Context, same func(line string) bool, may func() error) (*journal.Run, error) {
	list, err := journal.Runs(d.Root, true)
	if err != nil {
		return nil, err
	}
	for _, r := range list {
		if !same(r.Line) {
			continue
		}
		if err := may(); err != nil {
			return nil, err
		}
		switch err := d.take(ctx, r); {
		case err == nil:
			return &r, nil
		case formats.CodeOf(err) != formats.CodeLocked: // else it runs
			d.Tell("warning: run %s cannot be resumed: %s", r.ID, err)
		}
	}
	return nil, nil
}

// waits tells whether a run that was taken waits for a time, for a person who has paused it, or at a gate that nobody
// has answered.
func waits(d *Desk, r journal.Run) bool {
	if r.Status != formats.OutcomeSuspended.String() || r.Due(d.Clock.Now()) {
		return false
	}
	g, _ := journal.Gates(d.Past(r.ID))
	if g == nil || r.Gate == "" {
		return true
	}
	list, err := d.box(r.ID).Answers(*g)
	for _, answer := range list {
		if _, enough := g.Decides(answer); enough && err == nil {
			return false
		}
	}
	return true
}

// GoesOn tells whether a run that was taken goes on, now that its line was typed again; else it is given up for a new
// one. ask asks the person, and show shows them the run; without ask it goes on by itself, unless it waits, which is a
// *WaitingError.
func (d *Desk) GoesOn(
	r journal.Run, ask func(formats.Gate) (formats.Decision, error), show func(journal.Run) error,
) (bool, error) {
	if ask == nil {
		if waits(d, r) {
			return false, &WaitingError{r}
		}
		d.Tell("goes on with run %s, which did not end", r.ID)
		return true, nil
	}
	for {
		answer, err := ask(formats.Gate{
			Question: "run " + r.ID + " of this line did not end:",
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

// Stop writes down that a run that was taken is given up. What is left of it is its end.
func (d *Desk) Stop(ctx context.Context, r journal.Run) error {
	if past := d.Past(r.ID); past[len(past)-1].Type == formats.EntryStopped {
		return nil
	}
	return d.Add(ctx, r.ID, formats.Entry{Type: formats.EntryStopped, Data: map[string]any{
		"code": formats.CodeCancelled, "message": "given up", "help": "type its line to run it again",
	}})
}

// GivenUp judges the end of a run that was given up.
func GivenUp(r journal.Run, ret formats.Return) error {
	switch {
	case ret.Resume != nil:
		return formats.Fail(formats.CodeBug, "", "run %s still waits", r.ID)
	case len(ret.Errors) > 0 && ret.Errors[0].Code != formats.CodeCancelled:
		return formats.Fail(ret.Errors[0].Code, ret.Errors[0].Recommendation, "%s", ret.Errors[0].Message)
	}
	return nil
}

// Wait sleeps until the time that a run waits for has come, if a word names one that does.
func (d *Desk) Wait(ctx context.Context, word string) error {
	list, err := journal.Runs(d.Root, true)
	if err != nil {
		return err
	}
	r, err := journal.Named(list, word)
	if err != nil || r.Until.IsZero() || r.Due(d.Clock.Now()) {
		return nil //nolint:nilerr // who takes it tells that there is none
	}
	d.Tell("run %s: %s", r.ID, r.Waits())
	if err := d.Clock.Sleep(ctx, r.Until.Sub(d.Clock.Now())); err != nil {
		return context.Cause(ctx)
	}
	return nil
}
