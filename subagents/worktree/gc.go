package worktree

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"tercet/formats"
	"tercet/internal/git"
)

// Leftover is what finished runs left behind and no run needs.
type Leftover struct {
	Trees    []string `json:"worktrees"` // absolute paths; closing them saves uncommitted work
	Branches []Tip    `json:"branches"`  // tercet's branches whose commits other branches contain
}

// Tip is a branch and its last commit.
type Tip struct {
	Branch string `json:"branch"`
	Commit string `json:"commit"`
}

// FindLeftover finds the worktrees of finished runs, by folder name, and tercet's branches that are
// merged or whose saved work is in the user's checkout. It skips checked-out branches.
func (m *Manager) FindLeftover(
	ctx context.Context,
	isFinished func(run string) bool,
) (l Leftover, err error) {
	defer setCode(&err, formats.CodeIO)
	l = Leftover{Trees: []string{}, Branches: []Tip{}}
	main := m.Git(m.Root)
	if !main.Exists() {
		return l, nil
	}

	trees, err := main.Worktrees(ctx)
	if err != nil {
		return l, err
	}
	checkedOut := map[string]bool{}
	for _, w := range trees {
		checkedOut[w.Branch] = true
		// the worktree of a child or of a merge has the run in its name
		run, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(w.Path), publishPrefix), ".")
		if m.ownsWorktree(w.Path) && isFinished(run) {
			l.Trees = append(l.Trees, w.Path)
		}
	}

	for _, prefix := range []string{taskPrefix, runPrefix} {
		list, err := main.Branches(ctx, prefix)
		if err != nil {
			return l, err
		}
		for _, name := range list {
			if checkedOut[name] {
				continue
			}
			tip, err := main.Resolve(ctx, "refs/heads/"+name)
			if err != nil {
				return l, err
			}
			merged, err := isContainedElsewhere(ctx, main, tip)
			if err == nil && !merged && strings.HasPrefix(name, wipPrefix) {
				merged, err = isInCheckout(ctx, main, tip)
			}
			if err != nil {
				return l, err
			}
			if merged {
				l.Branches = append(l.Branches, Tip{name, tip})
			}
		}
	}

	return l, nil
}

// RemoveLeftover removes what FindLeftover found. A branch that has moved since stays.
func (m *Manager) RemoveLeftover(ctx context.Context, l Leftover) (err error) {
	defer setCode(&err, formats.CodeIO)
	var all error
	for _, dir := range l.Trees {
		_, err := m.Close(ctx, dir)
		all = errors.Join(all, err)
	}
	for _, b := range l.Branches {
		err := m.Git(m.Root).DeleteBranch(ctx, b.Branch, b.Commit)
		if _, moved := errors.AsType[*git.StaleError](err); !moved {
			all = errors.Join(all, err)
		}
	}
	return all
}
