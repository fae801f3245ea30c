package control

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"sync"
	"time"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/internal/letters"
)

// watchOrders follows orders given since a time to a run of this process.
func (d *Controller) watchOrders(ctx context.Context, id string, since time.Time) (stop func()) {
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	var looking sync.WaitGroup
	looking.Go(func() {
		box := d.mailbox(id)
		for d.Clock.Sleep(ctx, pollInterval) == nil {
			o, ok, err := box.Take(since)
			switch {
			case err != nil:
				d.Note("warning: %s", err)
				return
			case ok && o.Do == letters.Pause:
				d.Note("run %s is paused by %s as soon as what it began is done", id, o.By)
				pause, _ := d.orderSignals(ctx, id)
				pause.cancel(&formats.LaterError{Why: "paused by " + o.By})
			case ok:
				_, end := d.orderSignals(ctx, id)
				end.cancel(formats.Fail(formats.CodeCancelled,
					"what was finished is kept; run the command again to go on",
					"cancelled by %s", o.By))
			}
		}
	})
	return func() {
		end()
		looking.Wait()
	}
}

// Pause finds a run that another process works on, and pauses it.
func (d *Controller) Pause(ctx context.Context, word string) (journal.Run, error) {
	r, err := journal.Find(d.Root, word)
	if err == nil {
		_, err = d.Records(r.ID)
	}
	if err != nil {
		return r, err
	}

	if !d.Running(r.ID) {
		return r, formats.Fail(formats.CodePrecondition,
			"run 'tercet resume "+r.ID+"' to go on with it",
			"run %s does not run: there is nothing to pause", r.ID)
	}
	return d.sendOrder(ctx, r, letters.Pause)
}

// End finds a run. If another process works on it, End makes it stop; otherwise End locks it, and
// the caller does the rest.
func (d *Controller) End(ctx context.Context, word string) (r journal.Run, taken bool, err error) {
	r, err = d.Take(ctx, word)
	if formats.CodeOf(err) != formats.CodeLocked {
		return r, err == nil, err
	}
	if _, err = d.Records(r.ID); err == nil {
		r, err = d.sendOrder(ctx, r, letters.Cancel)
	}
	return r, false, err
}

// sendOrder asks a run to pause or to stop, waits until it has, and returns its summary. The hub of
// a team reads no such order: it has its own way to a worker.
func (d *Controller) sendOrder(ctx context.Context, r journal.Run, do string) (journal.Run, error) {
	if _, err := d.Root.Lstat(path.Join(journal.Folder, r.ID, journal.TeamName)); err == nil {
		return r, formats.Fail(formats.CodePrecondition, "tercet --on team "+do+" "+r.ID,
			"the hub of the team has run %s", r.ID)
	}

	box := d.mailbox(r.ID)
	at := d.Clock.Now().UTC()
	end := at.Add(responseTime)
	for {
		err := box.Give(letters.Order{
			Do: do,
			By: d.User,
			At: d.Clock.Now().UTC(),
		})
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) || d.Clock.Now().After(end) {
			return r, err
		}
		if err := d.Clock.Sleep(ctx, pollInterval); err != nil { // another order is being read
			return r, err
		}
	}

	d.Note("run %s: asked to %s; waits for what runs", r.ID, do)
	for n := 1; ; n++ {
		if err := d.Clock.Sleep(ctx, pollInterval); err != nil {
			return r, err
		}
		now, ok := journal.Summarize(d.Root, r.ID)
		done := ok && now.Status != journal.Open && !now.Last.Before(at)
		if !done && (n%8 != 0 || d.Running(r.ID)) {
			continue
		}
		if err := box.Withdraw(); err != nil {
			return now, err
		}
		records, err := d.Records(r.ID)
		if err != nil {
			return now, err
		}
		return now, orderResult(now, records, do, at)
	}
}

// orderResult is the error if an order had no effect.
func orderResult(r journal.Run, records []journal.Record, do string, at time.Time) error {
	suspended := r.Status == formats.OutcomeSuspended.String()
	switch {
	case r.Status == journal.Open:
		return formats.Fail(formats.CodePrecondition,
			"run 'tercet resume "+r.ID+"', or 'tercet cancel "+r.ID+"'",
			"the process of run %s was gone before it could %s", r.ID, do)
	case do == letters.Pause && !suspended, do == letters.Cancel && !journal.Stopped(records, at):
		return formats.Fail(formats.CodePrecondition, "run 'tercet show "+r.ID+"'",
			"run %s was %s before it could %s", r.ID, r.Status, do)
	}
	return nil
}
