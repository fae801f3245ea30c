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
	"tercet/subagents"
	"tercet/subagents/worktree"
)

// goBack drops what a run that was taken did from a step on, once its user agreed to that. A run
// that failed goes on then: it is reopened.
func (s *Session) goBack(ctx context.Context, r journal.Run, word string) error {
	past := s.Project.Control.Past(r.ID)
	over := journal.Finished(past)
	to, dropped, err := journal.BackTarget(past, word)
	if err == nil && over {
		err = s.mayReopen(ctx, r, past, to)
	}
	if err != nil {
		return err
	}

	seen := past
	if over {
		seen = journal.BeforeEnd(past)
	}
	counted, err := s.replay(ctx, r, seen)
	switch {
	case err != nil:
		return err
	case counted.Beside[to]:
		return formats.Fail(formats.CodeUsage, "go back to the step around it",
			"step '%s' ran side by side with others", to)
	}

	kept := s.reportDropped(over, journal.StepsBefore(past, to), dropped)
	if err := s.confirmDropped(ctx, to, over, dropped); err != nil {
		return err
	}
	if over {
		counted.Reopened++
		data := map[string]any{
			"by":   s.Project.Host.User,
			"from": to,
			"kept": kept,
		}
		err := s.Project.Control.Add(
			ctx, r.ID, formats.Entry{Type: formats.EntryReopened, Data: data},
		)
		if err != nil {
			return err
		}
	}
	names := make([]string, len(dropped))
	for i, s := range dropped {
		names[i] = s.Path
	}

	return s.Project.Control.Add(ctx, r.ID, formats.Entry{
		Type: formats.EntryWentBack,
		Step: to,
		Data: journal.WentBack{
			Counted: counted,
			By:      s.Project.Host.User,
			Dropped: names,
		},
	})
}

// reportDropped says which results go, and of a run that failed also which effects stay. It gives
// the steps of those.
func (s *Session) reportDropped(over bool, kept, dropped []journal.Step) []string {
	names := []string{}
	for _, one := range kept {
		if !over || one.Outcome == formats.OutcomeSkipped.String() {
			continue
		}
		names = append(names, one.Path)
		s.Project.note("keeps %s (%s) %s", one.Path, one.Outcome, plain.Line(one.Summary))
	}
	for _, one := range dropped {
		if over && journal.IsCleanup(one.Path) {
			s.Project.note("%s (%s) ran when the run failed, and is not taken back",
				one.Path, one.Outcome)
			continue
		}
		s.Project.note("drops %s (%s) %s", one.Path, one.Outcome, plain.Line(one.Summary))
	}
	return names
}

// confirmDropped asks whether results may be dropped. A failed run that drops nothing but its
// failure need not ask.
func (s *Session) confirmDropped(
	ctx context.Context, to string, over bool, dropped []journal.Step,
) error {
	lost := 0
	for _, s := range dropped {
		if !over || !journal.IsCleanup(s.Path) && formats.Outcome(s.Outcome).Passes() {
			lost++
		}
	}
	if over && lost == 0 {
		return nil
	}
	d, err := s.approver.Approve(ctx, formats.Gate{
		Question: fmt.Sprintf(
			"Go back to step '%s' and drop %s?", to, formats.Count(lost, "result"),
		),
		Choices: []formats.Choice{{Label: "yes", Approves: true}, {Label: "no", Leaves: true}},
	})
	if err != nil || d.Answer != "yes" {
		return cmp.Or(err, error(formats.Fail(formats.CodeRejected, "", "nothing was dropped")))
	}
	return nil
}

// mayReopen checks that what the kept steps of a failed run did is still as they left it.
func (s *Session) mayReopen(
	ctx context.Context,
	r journal.Run,
	past []journal.Record,
	to string,
) error {
	if err := s.checkTaskUnchanged(ctx, r, past); err != nil {
		return err
	}
	again := journal.ToReopen(past, to)
	if err := subagents.Restorable(s.Project.Root, r.ID, again.Documents); err != nil {
		return err
	}
	kept := append(slices.Clip(past), journal.Record{
		Entry: formats.Entry{Type: formats.EntryWentBack, Step: to},
	})
	t := journal.OpenWorktree(kept)
	if t.Dir == "" {
		return nil
	}
	return worktree.Repository{Trees: s.Project.Trees}.CanReopen(ctx, t.Branch, t.Head, again.Wip)
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
