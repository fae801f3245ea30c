package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tercet/formats"
	"tercet/internal/git"
)

// CanReopen fails if the branch of a run has moved since its worktree was closed. head is the
// branch's last commit that the run knows, and wip the branch with the uncommitted work, or empty.
func (m Repository) CanReopen(ctx context.Context, branch, head, wip string) (err error) {
	defer setCode(&err, formats.CodeIO)
	const help = "type its line with --new to begin afresh"
	main := m.Trees.Git(m.Trees.Root)
	if wip != "" {
		head, err = main.Resolve(ctx, "refs/heads/"+wip+"^")
		if err != nil {
			return formats.Fail(formats.CodeInvalidState, help,
				"branch %s with the work of the run is gone", wip)
		}
	}
	exists, err := main.BranchExists(ctx, branch)
	if err != nil || !exists {
		return err
	}

	tip, err := main.Resolve(ctx, "refs/heads/"+branch)
	if err != nil {
		return err
	}
	same := tip == head
	if wip == "" && !same {
		same, err = main.IsAncestor(ctx, head, tip)
	}
	if err == nil && !same {
		err = formats.Fail(formats.CodeInvalidState, help,
			"branch %s has moved on since the run failed", branch)
	}
	return err
}

// CanRestore fails if the worktree of a run that failed in a team cannot be made again: its last
// snapshot is gone, or its branch has moved on here.
func (m Repository) CanRestore(
	ctx context.Context, run string, s formats.TreeSnapshot,
) (err error) {
	defer setCode(&err, formats.CodeIO)
	if err := m.Fetch(ctx, s.Commit); err != nil {
		return lostSnapshotError(err, run, s)
	}
	main := m.Trees.Git(m.Trees.Root)
	exists, err := main.BranchExists(ctx, s.Branch)
	if err != nil || !exists {
		return err
	}
	tip, err := main.Resolve(ctx, "refs/heads/"+s.Branch)
	if err != nil {
		return err
	}
	older, err := main.IsAncestor(ctx, tip, s.Head)
	if err == nil && !older {
		err = formats.Fail(formats.CodeInvalidState, "type its line to run it again",
			"branch %s has moved on since the run failed", s.Branch)
	}
	return err
}

// Reopen recreates the worktree of a failed run. Its uncommitted work is uncommitted again. It can
// be repeated after a crash.
func (m Repository) Reopen(ctx context.Context, s Spec, head, wip string) (err error) {
	defer setCode(&err, formats.CodePrecondition)
	main := m.Trees.Git(m.Trees.Root)
	place := m.Trees.treePath(s.Run, "")
	_, err = os.Lstat(filepath.Join(place, ".git"))
	gone := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !gone:
		return err
	case wip == "" && gone:
		_, err := m.Recreate(ctx, s, head)
		return err
	case wip == "":
		return nil
	case gone:
		if err := m.checkoutWip(ctx, main, s.Branch, wip, place); err != nil {
			return err
		}
	}

	repo := m.Trees.Git(place)
	current, err := repo.CurrentBranch(ctx)
	if err != nil || current != wip {
		return err
	}
	if !gone { // a process was killed here, perhaps before checking out
		if err := repo.Restore(ctx, "HEAD"); err != nil {
			return err
		}
	}
	if err := repo.ReadTree(ctx, "refs/heads/"+s.Branch); err != nil {
		return err
	}
	return repo.SetHead(ctx, s.Branch)
}

// checkoutWip checks out the branch with the uncommitted work, and recreates the branch of the run
// if it was deleted.
func (m Repository) checkoutWip(
	ctx context.Context, main *git.Repo, branch, wip, place string,
) error {
	exists, err := main.BranchExists(ctx, branch)
	if err == nil && !exists {
		err = main.CreateBranch(ctx, branch, "refs/heads/"+wip+"^")
	}
	if err == nil {
		err = os.MkdirAll(m.Trees.Base, 0o755)
	}
	if err != nil {
		return fmt.Errorf("worktree of the run: %w", err)
	}
	return main.WorktreeAdd(ctx, git.NewWorktree{Path: place, Branch: wip})
}
