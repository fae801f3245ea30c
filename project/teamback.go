package project

import (
	"context"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/subagents/worktree"
)

// BackTo names the step to which a run of the team goes back.
type BackTo struct {
	Run, From string
	// Tree is the last snapshot of the run's worktree if that was closed since; nil if it was not.
	Tree *formats.TreeSnapshot
}

// PlanBack checks at the home whether a run of the team may go back to a step. Nobody is asked
// whether results may be dropped: the option Yes says so. The run is locked until the project is
// closed.
func (s *Session) PlanBack(ctx context.Context, b BackTo) (*Back, error) {
	r, err := s.takeRun(ctx, b.Run, b.From)
	if err != nil {
		return nil, err
	}
	route, err := s.Project.Table.Route(LineOf(r))
	if err == nil {
		err = s.MayStart(ctx, invocationOf(route))
	}
	if err != nil {
		return nil, err
	}

	return s.planBack(ctx, r, b.From, backRules{
		tree: func(ctx context.Context, _ journal.Worktree, _ string) error {
			if b.Tree == nil {
				return formats.Fail(formats.CodePrecondition, "type its line to run it again",
					"the home has no snapshot of the worktree of run %s", b.Run)
			}
			repo := worktree.Repository{Trees: s.Project.Trees}
			return repo.CanRestore(ctx, b.Run, *b.Tree)
		},
		confirm: func(_ context.Context, question string) error {
			if s.Options.Yes {
				return nil
			}
			return formats.Fail(formats.CodeSuspended,
				"say so: tercet --on team --yes resume "+b.Run+" --from "+b.From, "%s", question)
		},
	})
}
