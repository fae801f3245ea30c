package project

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/internal/plain"
	"tercet/state"
	"tercet/subagents"
	"tercet/subagents/worktree"
)

// Back is what going back to a step of a run comes to. Everything was checked, and nothing is done.
type Back struct {
	Entries []formats.Entry // for the journal
	Lines   int             // those of the journal before them
	// Tree means that the run goes on in its worktree, which its end has closed.
	Tree bool
}

// backRules are how a run may go back where it is.
type backRules struct {
	// tree checks that the worktree of a run that failed can be made again.
	tree func(ctx context.Context, t journal.Worktree, wip string) error
	// confirm asks whether results may be dropped; the error says that they may not.
	confirm func(ctx context.Context, question string) error
}

// goBack drops what a run that was taken did from a step on, once its user agreed to that. A run
// that failed goes on then: it is reopened.
func (s *Session) goBack(ctx context.Context, r journal.Run, word string) error {
	b, err := s.planBack(ctx, r, word, backRules{
		tree: func(ctx context.Context, t journal.Worktree, wip string) error {
			repo := worktree.Repository{Trees: s.Project.Trees}
			return repo.CanReopen(ctx, t.Branch, t.Head, wip)
		},
		confirm: s.askDropped,
	})
	if err != nil {
		return err
	}

	for _, e := range b.Entries {
		if err := s.Project.Control.Add(ctx, r.ID, e); err != nil {
			return err
		}
	}
	return nil
}

// planBack checks whether a run that was taken may go back to a step, and gives the entries of its
// journal with which it does.
func (s *Session) planBack(
	ctx context.Context, r journal.Run, word string, rules backRules,
) (*Back, error) {
	past := s.Project.Control.Past(r.ID)
	finished := journal.Finished(past)
	to, dropped, err := journal.BackTarget(past, word)
	if err != nil {
		return nil, err
	}

	b := &Back{Lines: len(past)}
	if finished {
		b.Tree, err = s.checkReopen(ctx, r, to, rules)
		if err != nil {
			return nil, err
		}
	}

	seen := past
	if finished {
		seen = journal.BeforeEnd(past)
	}
	counted, err := s.replay(ctx, r, seen)
	switch {
	case err != nil:
		return nil, err
	case counted.Beside[to]:
		return nil, formats.Fail(formats.CodeUsage, "go back to the step around it",
			"step '%s' ran side by side with others", to)
	}

	kept := s.reportDropped(finished, journal.StepsBefore(past, to), dropped)
	if question := questionDropped(to, finished, dropped); question != "" {
		if err := rules.confirm(ctx, question); err != nil {
			return nil, err
		}
	}

	if finished {
		counted.Reopened++
		b.Entries = append(b.Entries, formats.Entry{
			Type: formats.EntryReopened,
			Data: map[string]any{
				"by":   s.Project.Host.User,
				"from": to,
				"kept": kept,
			},
		})
	}

	names := make([]string, len(dropped))
	for i, s := range dropped {
		names[i] = s.Path
	}
	b.Entries = append(b.Entries, formats.Entry{
		Type: formats.EntryWentBack,
		Step: to,
		Data: journal.WentBack{
			Counted: counted,
			By:      s.Project.Host.User,
			Dropped: names,
		},
	})
	return b, nil
}

// reportDropped says which results go, and of a run that failed also which effects stay. It gives
// the steps of those.
func (s *Session) reportDropped(finished bool, kept, dropped []journal.Step) []string {
	names := []string{}
	for _, one := range kept {
		if !finished || one.Outcome == formats.OutcomeSkipped.String() {
			continue
		}
		names = append(names, one.Path)
		s.Project.note("keeps %s (%s) %s", one.Path, one.Outcome, plain.Line(one.Summary))
	}

	for _, one := range dropped {
		if finished && journal.IsCleanup(one.Path) {
			s.Project.note("%s (%s) ran when the run failed, and is not taken back",
				one.Path, one.Outcome)
			continue
		}
		s.Project.note("drops %s (%s) %s", one.Path, one.Outcome, plain.Line(one.Summary))
	}
	return names
}

// questionDropped asks whether results may be dropped. A failed run that drops nothing but its
// failure need not ask: the question is empty.
func questionDropped(to string, finished bool, dropped []journal.Step) string {
	lost := 0
	for _, s := range dropped {
		if !finished || !journal.IsCleanup(s.Path) && formats.Outcome(s.Outcome).Passes() {
			lost++
		}
	}
	if finished && lost == 0 {
		return ""
	}
	return fmt.Sprintf("Go back to step '%s' and drop %s?", to, formats.Count(lost, "result"))
}

// askDropped asks the user whether results may be dropped.
func (s *Session) askDropped(ctx context.Context, question string) error {
	d, err := s.approver.Approve(ctx, formats.Gate{
		Question: question,
		Choices:  []formats.Choice{{Label: "yes", Approves: true}, {Label: "no", Leaves: true}},
	})
	if err != nil || d.Answer != "yes" {
		return cmp.Or(err, error(formats.Fail(formats.CodeRejected, "", "nothing was dropped")))
	}
	return nil
}

// checkReopen checks that what the kept steps of a failed run did is still as they left it. It
// reports whether the run had a worktree at that step.
func (s *Session) checkReopen(
	ctx context.Context, r journal.Run, to string, rules backRules,
) (tree bool, err error) {
	past := s.Project.Control.Past(r.ID)
	if err := s.checkNotUndone(ctx, r.ID, past); err != nil {
		return false, err
	}
	if err := s.checkTaskUnchanged(ctx, r, past); err != nil {
		return false, err
	}

	again := journal.ToReopen(past, to)
	if err := subagents.CheckRestorable(s.Project.Root, r.ID, again.Documents); err != nil {
		return false, err
	}

	kept := append(slices.Clip(past), journal.Record{
		Entry: formats.Entry{Type: formats.EntryWentBack, Step: to},
	})
	t := journal.OpenWorktree(kept)
	if t.Dir == "" {
		return false, nil
	}
	return true, rules.tree(ctx, t, again.Wip)
}

// checkNotUndone checks that nobody took the run back: its kept steps would be done only by name.
func (s *Session) checkNotUndone(
	ctx context.Context, run string, past []journal.Record,
) error {
	undone, err := s.Project.past().IsUndone(ctx, run, past)
	if err != nil {
		return err
	}

	log, err := s.Project.Reader.History(ctx)
	if err != nil {
		return err
	}
	for _, e := range log {
		undone = undone || state.IsUndo(e.Txn, run)
	}

	if undone {
		return formats.Fail(formats.CodePrecondition, "type its line to run it again",
			"run %s was taken back: tercet undo", run)
	}
	return nil
}

// checkTaskUnchanged checks that nobody else has the task of a failed run, or has changed its
// status.
func (s *Session) checkTaskUnchanged(
	ctx context.Context,
	r journal.Run,
	past []journal.Record,
) error {
	if r.Task == 0 {
		return nil
	}

	const help = "type its line to run it again"
	now, err := s.Project.Reader.Task(ctx, r.Task)
	switch {
	case formats.CodeOf(err) == formats.CodeNotFound:
		return formats.Fail(formats.CodeInvalidState, help, "task %d is no longer there", r.Task)
	case err != nil:
		return err
	}

	if l := now.Lease; l != nil && now.Status.InProgress() && l.Run != r.ID {
		return formats.Fail(formats.CodeLeaseHeld,
			"wait until it ends, or end it: tercet cancel "+l.Run,
			"run %s has task %d", l.Run, r.Task)
	}

	left := journal.FinalStatus(past, r.Task, statusAtStart(r))
	if left != "" && now.Status != left {
		return formats.Fail(formats.CodeInvalidState, help,
			"task %d has moved on: run %s left it %s, and it is %s", r.Task, r.ID, left, now.Status)
	}
	return nil
}

// statusAtStart is the status of the task of a run when the run began; empty if it is not known.
func statusAtStart(r journal.Run) formats.TaskStatus {
	for _, seen := range r.Begun.Seen {
		if seen.Key != fmt.Sprintf("task %d", r.Task) {
			continue
		}
		var task struct{ Status formats.TaskStatus }
		data, err := json.Marshal(seen.Value)
		if err == nil && json.Unmarshal(data, &task) == nil {
			return task.Status
		}
	}
	return ""
}
