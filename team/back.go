package team

import (
	"cmp"
	"context"
	"errors"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/project"
)

// BackTo is the wish of a member that a run goes on from an earlier step.
type BackTo struct {
	From string // the step
	By   string // the member
	Yes  bool   // results may be dropped
	Tell func(line string)
}

// GoBack drops what a run did from a step on. A run that failed is open again then, with the
// worktree that it had, and its next attempt puts its documents back. Nothing of an earlier attempt
// counts any more. After an error nothing has changed. The run is to be queued.
func (k *Keeper) GoBack(ctx context.Context, run string, b BackTo) (err error) {
	defer func() { k.noteDisk(err) }()
	r, err := k.findRun(run)
	if err != nil {
		return err
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	if r.record.Order == Cancel {
		return formats.Fail(formats.CodePrecondition, "", "run %s is being cancelled", run)
	}
	if err := k.checkNotResumedHere(run, r); err != nil {
		return err
	}
	if err := k.closeRun(r); err != nil {
		return err
	}

	plan, err := k.planBack(ctx, b, project.BackTo{
		Run:  run,
		From: b.From,
		Tree: r.record.Closed,
	})
	if err == nil {
		err = k.writeBack(run, r, plan)
	}
	return cmp.Or(err, k.openJournal(run, r)) // which also locks a run that has not ended
}

// checkNotResumedHere refuses a run that has ended in the team, and that the owner lets go on at
// the home since.
func (k *Keeper) checkNotResumedHere(run string, r *teamRun) error {
	if !r.ended.Load() {
		return nil
	}

	records, err := journal.Load(k.project.Root, run)
	if err != nil || journal.Finished(records) {
		return err
	}
	return formats.Fail(formats.CodeLocked, "type it at the home: tercet resume "+run,
		"the owner goes on with run %s at the home", run)
}

// closeRun closes the journal of a run, and lets go of its lock.
func (k *Keeper) closeRun(r *teamRun) (err error) {
	if r.journal != nil {
		err = k.closeJournal(r)
	}
	if r.lock != nil {
		err = errors.Join(err, r.lock.Close())
		r.lock = nil
	}
	return err
}

// planBack checks whether a run may go back, with the files of the project as they are now.
func (k *Keeper) planBack(
	ctx context.Context, b BackTo, to project.BackTo,
) (plan *project.Back, err error) {
	host := k.project.Host
	host.User = b.By
	host.Frontend = project.Unattended{Tell: b.Tell}
	now, err := project.Open(ctx, k.project.Dir, true, host)
	if err != nil {
		return nil, err
	}

	defer func() { err = errors.Join(err, now.Close(ctx)) }()
	s, err := now.Session(project.Options{Yes: b.Yes})
	if err != nil {
		return nil, err
	}
	return s.PlanBack(ctx, to)
}

// writeBack writes the entries of a plan to the journal of a run, unless somebody else has written
// to it meanwhile.
func (k *Keeper) writeBack(run string, r *teamRun, plan *project.Back) (err error) {
	r.lock, err = k.project.Control.Lock(run)
	if err != nil {
		return err
	}
	if err := k.openJournal(run, r); err != nil {
		return errors.Join(err, k.closeRun(r))
	}

	defer func() {
		if err != nil && r.journal != nil { // the lock file marks a run that has not ended
			err = errors.Join(err, k.releaseLock(run, r))
		}
	}()
	if r.journal.Seq() != plan.Lines {
		return formats.Fail(formats.CodeLocked, "type it again",
			"the journal of run %s has changed meanwhile", run)
	}

	now := k.project.Host.Clock.Now()
	lines, records, err := r.journal.Seal(now, k.project.Mask, plan.Entries...)
	if err != nil {
		return err
	}

	if plan.Tree {
		r.record.Before = k.currentTrees(r)
		r.record.Trees = treesAt{
			Seq:  r.journal.Seq() + 1,
			List: []formats.TreeSnapshot{*r.record.Closed},
		}
	}

	r.record.Taker = ""
	r.record.Order = "" // a pause is taken back
	if err := k.save(run, r); err != nil {
		return err
	}
	err = r.journal.Append(lines, records)
	return errors.Join(err, k.closeJournal(r)) // what follows reads it anew
}
