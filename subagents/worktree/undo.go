package worktree

import (
	"context"
	"errors"
	"slices"

	"tercet/formats"
	"tercet/internal/git"
)

// Brought is a commit with a run's work on a branch that is not tercet's.
type Brought struct {
	Commit string   `json:"commit"`
	To     string   `json:"branch"`
	Files  []string `json:"files"` // its changed files, relative to the project root
}

// Brought finds the commits of a run's transactions on branches that are not tercet's own, newest
// first. The merge of a task's branch stands for the commits of that branch. Of several branches it
// takes into, else that of the checkout.
func (m *Manager) Brought(
	ctx context.Context,
	txns []string,
	into string,
) (list []Brought, err error) {
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
		inside := false // belongs to a merge in the list
		for _, b := range list {
			of, err := main.IsAncestor(ctx, hash, b.Commit)
			before, failed := main.IsAncestor(ctx, hash, b.Commit+"~1")
			if err = errors.Join(err, failed); err != nil {
				return nil, err
			}
			inside = inside || of && !before
		}
		holders, err := main.BranchesContaining(ctx, hash)
		current, failed := main.CurrentBranch(ctx)
		if err = errors.Join(err, failed); err != nil {
			return nil, err
		}
		holders = slices.DeleteFunc(holders, isOwnBranch)
		if inside || len(holders) == 0 {
			continue
		}
		b := Brought{Commit: hash, To: holders[0]}
		for _, to := range []string{current, into} {
			if slices.Contains(holders, to) {
				b.To = to
			}
		}
		b.Files, err = m.changed(ctx, main, hash+"~1", hash)
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

// Edited lists the files that have changed since, on the branch or in the checkout.
func (m *Manager) Edited(ctx context.Context, b Brought) (files []string, err error) {
	defer setCode(&err, formats.CodeIO)
	p, err := m.onto(ctx, b.To)
	if err != nil {
		return nil, err
	}
	for _, f := range b.Files {
		if rest, err := p.main.Diff(ctx, b.Commit, "refs/heads/"+b.To, f); err != nil {
			return nil, err
		} else if len(rest) > 0 {
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

// onto is a publication without a worktree.
func (m *Manager) onto(ctx context.Context, to string) (p *publication, err error) {
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
	list []Brought,
	msg Message,
) (hash string, err error) {
	defer setCode(&err, formats.CodeIO)
	p, err := m.onto(ctx, list[0].To)
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
		if err := m.scan(ctx, repo, "", ""); err != nil {
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
	return hash, p.move(ctx, old, hash)
}

// Ahead returns the last commit of a branch of tercet that has commits beyond head; empty for any
// other branch.
func (m *Manager) Ahead(ctx context.Context, branch, head string) (now string, err error) {
	defer setCode(&err, formats.CodeIO)
	main := m.Git(m.Root)
	if !isOwnBranch(branch) {
		return "", nil
	}
	if there, err := main.BranchExists(ctx, branch); err != nil || !there {
		return "", err
	}
	if now, err = main.Resolve(ctx, "refs/heads/"+branch); err != nil || now == head {
		return "", err
	}
	if behind, err := main.IsAncestor(ctx, head, now); err != nil || !behind {
		return "", err // it has other work by now
	}
	return now, nil
}

// ResetBranch moves a task's branch with unmerged work back to where a run found it, and saves the
// work on a wip branch. It returns that branch; empty if nothing had to move.
func (m *Manager) ResetBranch(
	ctx context.Context, branch, run, head string,
) (kept string, err error) {
	defer setCode(&err, formats.CodeIO)
	main := m.Git(m.Root)
	now, err := m.Ahead(ctx, branch, head)
	if err != nil || now == "" {
		return "", err
	}
	kept = wipPrefix + wipName(branch) + "-" + run
	if at, err := main.Resolve(ctx, "refs/heads/"+kept); err != nil || at != now {
		kept, err = newWip(ctx, main, branch, run, now)
		if err != nil {
			return "", err
		}
	}
	return kept, main.UpdateRef(ctx, "refs/heads/"+branch, head, now)
}
