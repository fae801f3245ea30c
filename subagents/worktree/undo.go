package worktree

import (
	"context"
	"errors"
	"slices"

	"tercet/formats"
	"tercet/internal/git"
)

// LandedCommit is a commit with a run's work on a branch that is not tercet's.
type LandedCommit struct {
	Commit string   `json:"commit"`
	To     string   `json:"branch"`
	Files  []string `json:"files"` // its changed files, relative to the project root
}

// LandedCommits finds the commits of a run's transactions on branches that are not tercet's own,
// newest first. The merge of a task's branch stands for the commits of that branch. Of several
// branches it takes into, else that of the checkout.
func (m *Manager) LandedCommits(
	ctx context.Context,
	txns []string,
	into string,
) (list []LandedCommit, err error) {
	defer setCode(&err, formats.CodeIO)
	main := m.Git(m.Root)
	var commits []string
	for _, txn := range txns {
		hash, err := main.CommitByTrailer(ctx, git.Trailer{Key: TrailerTxn, Value: txn})
		if err != nil {
			return nil, err
		}
		if hash != "" && !slices.Contains(commits, hash) {
			commits = append(commits, hash)
		}
	}

	for _, hash := range slices.Backward(commits) {
		inMerge := false // belongs to a merge in the list
		for _, b := range list {
			isInMerge, err := main.IsAncestor(ctx, hash, b.Commit)
			wasBefore, failed := main.IsAncestor(ctx, hash, b.Commit+"~1")
			if err = errors.Join(err, failed); err != nil {
				return nil, err
			}
			inMerge = inMerge || isInMerge && !wasBefore
		}

		holders, err := main.BranchesContaining(ctx, hash)
		current, failed := main.CurrentBranch(ctx)
		if err = errors.Join(err, failed); err != nil {
			return nil, err
		}
		holders = slices.DeleteFunc(holders, isOwnBranch)
		if inMerge || len(holders) == 0 {
			continue
		}

		b := LandedCommit{Commit: hash, To: holders[0]}
		for _, to := range []string{current, into} {
			if slices.Contains(holders, to) {
				b.To = to
			}
		}
		b.Files, err = m.changedFiles(ctx, main, hash+"~1", hash)
		if err != nil {
			return nil, err
		}
		list = append(list, b)
	}

	return list, nil
}

// IsReverted reports whether a branch has the commit that undoes a run. If its process was killed
// before moving the branch, the commit is still the head of a worktree.
func (m *Manager) IsReverted(ctx context.Context, txn string) (bool, error) {
	main := m.Git(m.Root)
	hash, err := main.CommitByTrailer(ctx, git.Trailer{Key: TrailerTxn, Value: txn})
	if err != nil || hash == "" {
		return false, err
	}
	holders, err := main.BranchesContaining(ctx, hash)
	return len(holders) > 0, err
}

// EditedFiles lists the files that have changed since, on the branch or in the checkout.
func (m *Manager) EditedFiles(ctx context.Context, b LandedCommit) (files []string, err error) {
	defer setCode(&err, formats.CodeIO)
	p, err := m.publicationTo(ctx, b.To)
	if err != nil {
		return nil, err
	}
	for _, f := range b.Files {
		diff, err := p.main.Diff(ctx, b.Commit, "refs/heads/"+b.To, f)
		if err != nil {
			return nil, err
		}
		if len(diff) > 0 {
			files = append(files, f)
		}
	}

	blocking, err := p.blockingFiles(ctx, b.Commit, b.Commit+"~1")
	if err != nil {
		return nil, err
	}
	for _, e := range blocking {
		if !slices.Contains(files, e.Path) {
			files = append(files, e.Path)
		}
	}
	return files, nil
}

// publicationTo returns a publication to a branch that has no worktree as its source.
func (m *Manager) publicationTo(ctx context.Context, to string) (p *publication, err error) {
	p = &publication{
		m:    m,
		main: m.Git(m.Root),
		to:   to,
	}
	p.checkout, err = p.main.WorktreeOfBranch(ctx, to)
	return p, err
}

// Revert reverts the commits on one branch, newest first, in a single commit. It works in a
// separate worktree, and moves the branch and its checkout like Publish. It fails if one of the
// files has changed since. It returns the commit; empty if nothing was left to revert.
func (m *Manager) Revert(
	ctx context.Context,
	list []LandedCommit,
	msg Message,
) (hash string, err error) {
	defer setCode(&err, formats.CodeIO)
	p, err := m.publicationTo(ctx, list[0].To)
	if err != nil {
		return "", err
	}

	old, err := p.main.Resolve(ctx, "refs/heads/"+p.to)
	if err != nil {
		return "", err
	}
	err = p.inTempTree(ctx, "undo-"+list[0].Commit, old, func(repo *git.Repo) error {
		for _, b := range list {
			if err := repo.Revert(ctx, b.Commit); errors.Is(err, git.ErrConflict) {
				return formats.Fail(formats.CodePrecondition,
					"revert it by hand: git revert "+b.Commit,
					"what %.12s brought into %s was changed since", b.Commit, b.To)
			} else if err != nil {
				return err
			}
		}
		if err := m.refuseSecrets(ctx, repo, "", ""); err != nil {
			return err
		}
		hash, err = repo.Commit(ctx, msg.Subject, msg.trailers()...)
		if errors.Is(err, git.ErrNothingStaged) {
			hash = ""
			err = nil
		}
		return err
	})
	if err != nil || hash == "" {
		return "", err
	}
	return hash, p.moveTarget(ctx, old, hash)
}

// TipBeyond returns the last commit of a branch of tercet that has commits beyond head; empty for
// any other branch.
func (m *Manager) TipBeyond(ctx context.Context, branch, head string) (now string, err error) {
	defer setCode(&err, formats.CodeIO)
	main := m.Git(m.Root)
	if !isOwnBranch(branch) {
		return "", nil
	}
	if exists, err := main.BranchExists(ctx, branch); err != nil || !exists {
		return "", err
	}
	now, err = main.Resolve(ctx, "refs/heads/"+branch)
	if err != nil || now == head {
		return "", err
	}
	if isBehind, err := main.IsAncestor(ctx, head, now); err != nil || !isBehind {
		return "", err // the branch does not contain head any more
	}
	return now, nil
}

// ResetBranch moves a task's branch with unmerged work back to where a run found it, and saves the
// work on a wip branch. It returns that branch; empty if nothing had to move.
func (m *Manager) ResetBranch(
	ctx context.Context, branch, run, head string,
) (wip string, err error) {
	defer setCode(&err, formats.CodeIO)
	main := m.Git(m.Root)
	now, err := m.TipBeyond(ctx, branch, head)
	if err != nil || now == "" {
		return "", err
	}
	wip = wipPrefix + wipName(branch) + "-" + run
	if saved, err := main.Resolve(ctx, "refs/heads/"+wip); err != nil || saved != now {
		wip, err = createWipBranch(ctx, main, branch, run, now)
		if err != nil {
			return "", err
		}
	}
	return wip, main.UpdateRef(ctx, "refs/heads/"+branch, head, now)
}
