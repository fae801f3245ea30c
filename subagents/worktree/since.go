package worktree

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"tercet/formats"
	"tercet/internal/git"
)

// TreeState is a worktree as it was when a worker was started in it.
type TreeState struct {
	Branch string // empty: none was checked out
	Head   string // its last commit
	Tree   string // with the work that was not committed
	// At is when this was recorded. Workers side by side are scheduled in the order of the file,
	// and begin in any.
	At time.Time
}

// StateBefore gives the state of a worktree before the worker of a transaction. It is false for a
// worker that worked in none, or whose state was not recorded here.
func (m Repository) StateBefore(run, txn string) (b TreeState, ok bool, err error) {
	defer setCode(&err, formats.CodeIO)
	var s treeSnapshot
	ok, err = m.Trees.loadRunFile(run, snapshotName(txn), &s)
	if !ok || err != nil {
		return b, false, err
	}
	file, err := m.Trees.runFilePath(run, snapshotName(txn))
	if err != nil {
		return b, false, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return b, false, err
	}
	return TreeState{Branch: s.Branch, Head: s.Head, Tree: s.Tree, At: info.ModTime()}, true, nil
}

// WorktreeOnBranch gives the folder of the worktree of a run in which a branch is checked out;
// empty: there is none.
func (m Repository) WorktreeOnBranch(
	ctx context.Context, run, branch string,
) (dir string, err error) {
	defer setCode(&err, formats.CodeIO)
	names, err := m.treesOf(run)
	if err != nil {
		return "", err
	}

	for _, name := range names {
		place := filepath.Join(m.Trees.Base, name)
		current, err := m.Trees.Git(place).CurrentBranch(ctx)
		if err != nil {
			return "", err
		}
		if current == branch {
			return place, nil
		}
	}
	return "", nil
}

// PatchSince gives what differs now in a worktree of a run from a tree, with the files that are
// new. It changes neither the worktree nor its index.
func (m Repository) PatchSince(
	ctx context.Context, run, dir, tree string,
) (patch string, err error) {
	defer setCode(&err, formats.CodeIO)
	folder, err := m.Trees.runFilePath(run, "")
	if err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp(folder, "since-") // several calls may run at once
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp) //nolint:errcheck // nothing reads it again

	repo := m.Trees.Git(dir)
	private := &git.Repo{
		Starter: repo.Starter,
		Dir:     repo.Dir,
		Index:   filepath.Join(temp, "index"),
		Cache:   repo.Cache,
	}
	if err := private.ReadTree(ctx, tree); err != nil {
		return "", err
	}
	return private.PatchSince(ctx, tree, formats.Workspace)
}
