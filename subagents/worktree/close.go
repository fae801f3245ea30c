package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/git"
)

// maxWipNames bounds the search for a free branch name for uncommitted work.
const maxWipNames = 100

// CloseResult is what Close did with a worktree and its branch.
type CloseResult struct {
	Wip     string // branch with the uncommitted work, or empty
	Removed bool   // the worktree was removed
	Deleted bool   // its branch was deleted, because another branch has its commits
	// KeptReason is why it was not removed: it is locked, or contains repositories that no commit
	// can hold.
	KeptReason string
	help       string // what the user can do about KeptReason
}

// Close closes the worktree at dir. It first commits uncommitted work to a separate branch, so that
// the task's branch ends with its last complete commit. A branch with unique commits stays. Closing
// a missing worktree succeeds.
func (m *Manager) Close(ctx context.Context, dir string) (c CloseResult, err error) {
	defer setCode(&err, formats.CodeIO)
	top, err := m.topOf(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return CloseResult{Removed: true}, m.Git(m.Root).WorktreePrune(ctx)
	}
	if err != nil {
		return CloseResult{}, err
	}
	return m.close(ctx, top)
}

// topOf returns the top of the worktree that contains dir, which must be one of tercet's.
func (m *Manager) topOf(ctx context.Context, dir string) (string, error) {
	if _, err := os.Stat(dir); err != nil {
		return "", err
	}
	top, err := m.Git(dir).Toplevel(ctx)
	if err != nil {
		return "", err
	}
	if !m.ownsWorktree(top) {
		return "", formats.Fail(formats.CodeUsage, "",
			"expected a worktree in %s, got %s", m.Base, dir)
	}
	return top, nil
}

// checkLock returns a result with a KeptReason if git has locked the worktree, else the zero value.
func (m *Manager) checkLock(dir string) (c CloseResult) {
	if reason, locked := m.Git(dir).WorktreeLock(); locked {
		c.KeptReason = strings.TrimSuffix("it is locked: "+reason, ": ")
		c.help = "run git worktree unlock " + dir
	}
	return c
}

func (c CloseResult) keptError(dir string) error {
	return formats.Fail(formats.CodePrecondition, c.help, "%s stays: %s", dir, c.KeptReason)
}

func (m *Manager) close(ctx context.Context, top string) (CloseResult, error) {
	if c := m.checkLock(top); c.KeptReason != "" {
		return c, nil
	}

	main := m.Git(m.Root)
	_, rel, err := main.Locate(ctx)
	if err != nil {
		return CloseResult{}, err
	}
	// The project may be a folder that is missing in the worktree; then the top is used.
	repo := m.Git(filepath.Join(top, rel))
	if _, err := os.Stat(repo.Dir); err != nil {
		repo = m.Git(top)
	}
	branch, err := repo.CurrentBranch(ctx)
	if err != nil {
		return CloseResult{}, err
	}

	var work uncommittedFiles
	if repo.HasIndex() { // otherwise every file would count as deleted
		work, err = m.uncommittedWork(ctx, repo)
		if err != nil {
			return CloseResult{}, err
		}
	}
	var c CloseResult
	if len(work.files) > 0 {
		c.Wip, err = m.saveWip(ctx, repo, branch, filepath.Base(top), work.files)
		if err != nil {
			return CloseResult{}, err
		}
	}
	if len(work.nested) > 0 {
		c.KeptReason = "it holds repositories of its own: " + strings.Join(work.nested, ", ")
		c.help = "move them elsewhere"
		return c, nil
	}

	if err := main.WorktreeRemove(ctx, top); err != nil {
		return c, err
	}
	c.Removed = true
	mayDelete := isOwnBranch(branch) || isChild(top)
	if branch == "" || !mayDelete || strings.HasPrefix(branch, wipPrefix) {
		return c, nil
	}

	c.Deleted, err = deleteMerged(ctx, main, branch, isChild(top))
	if c.Deleted && c.Wip == "" {
		err = errors.Join(err, m.deleteMergedWip(ctx, main, branch))
	}
	return c, err
}

// deleteMergedWip deletes the branches with uncommitted work of earlier runs on the same branch, if
// the user's checkout has all of it. A killed run leaves such work, and the next run does it again.
func (m *Manager) deleteMergedWip(ctx context.Context, main *git.Repo, branch string) error {
	list, err := main.Branches(ctx, wipPrefix+wipName(branch)+"-")
	if err != nil {
		return err
	}
	for _, wip := range list {
		hash, err := main.Resolve(ctx, "refs/heads/"+wip)
		if err != nil {
			return err
		}
		merged, err := isInCheckout(ctx, main, hash)
		if err != nil {
			return err
		}
		if !merged {
			continue
		}
		if err := main.DeleteBranch(ctx, wip, hash); err != nil {
			return err
		}
	}
	return nil
}

// isInCheckout reports whether the user's checkout has all of a commit of uncommitted work: HEAD
// contains its parent, and each of its files is as in that commit.
func isInCheckout(ctx context.Context, main *git.Repo, hash string) (bool, error) {
	has, err := main.IsAncestor(ctx, hash+"~1", "HEAD")
	if err != nil || !has {
		return false, err
	}
	files, err := main.DiffStat(ctx, hash+"~1", hash)
	if err != nil {
		return false, err
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Path)
	}
	if len(names) == 0 {
		return false, nil // an empty commit, which no other commit includes
	}
	diff, err := main.Diff(ctx, hash, "HEAD", names...)
	return len(diff) == 0, err
}

// isContainedElsewhere reports whether a branch that is not tercet's has a commit, or its squashed
// form.
func isContainedElsewhere(ctx context.Context, main *git.Repo, hash string) (bool, error) {
	holders, err := main.BranchesContaining(ctx, hash)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(holders, func(b string) bool { return !isOwnBranch(b) }) {
		return true, nil
	}
	squashed, err := main.CommitByTrailer(ctx, git.Trailer{Key: TrailerSquash, Value: hash})
	return squashed != "", err
}

// saveWip commits uncommitted work to a branch of its own and leaves the worktree on it.
func (m *Manager) saveWip(
	ctx context.Context,
	repo *git.Repo,
	branch, run string,
	files []string,
) (string, error) {
	head, err := repo.Head(ctx)
	if err != nil {
		return "", err
	}

	wip, err := createWipBranch(ctx, repo, branch, run, head)
	if err != nil {
		return "", err
	}
	if err := repo.SetHead(ctx, wip); err != nil {
		return "", err
	}

	if err := repo.Add(ctx, files...); err != nil {
		return "", err
	}
	if err := m.refuseSecrets(ctx, repo, "", ""); err != nil {
		return "", errors.Join(err, repo.SetHead(ctx, branch), repo.DeleteBranch(ctx, wip, head))
	}

	_, err = repo.Commit(ctx, "wip: what "+branchLabel(branch)+
		" had not committed", git.Trailer{Key: TrailerWip, Value: run})
	if errors.Is(err, git.ErrNothingStaged) {
		if err := repo.SetHead(ctx, branch); err != nil {
			return "", err
		}
		return "", repo.DeleteBranch(ctx, wip, head)
	}
	return wip, err
}

// branchLabel is a branch in messages.
func branchLabel(branch string) string {
	if branch == "" {
		return "a detached head"
	}
	return branch
}

// wipName is the common part of the wip branches of a branch: the number of its task, or its own
// name.
func wipName(branch string) string {
	task, isTask := strings.CutPrefix(branch, taskPrefix)
	if isTask {
		task, _, _ = strings.Cut(task, "-")
	}
	return strings.ReplaceAll(task, "/", "-")
}

// createWipBranch creates the branch tercet/wip/{task}-{run} at a commit. If it exists, a number is
// appended: parallel children may ask for one at the same time.
func createWipBranch(
	ctx context.Context, repo *git.Repo, branch, run, hash string,
) (string, error) {
	begin := wipPrefix + wipName(branch) + "-" + run
	name := begin
	for i := 2; i < maxWipNames; i++ {
		err := repo.CreateBranch(ctx, name, hash)
		if _, exists := errors.AsType[*git.StaleError](err); !exists {
			return name, err
		}
		name = fmt.Sprintf("%s-%d", begin, i)
	}
	return "", fmt.Errorf("expected a free branch name, got %q", name)
}

// Discard removes the worktree at dir with its branch. It first bundles everything that the project
// lacks into a file in the run's folder and returns the file's name; empty if there was nothing.
func (m *Manager) Discard(
	ctx context.Context,
	dir, run string,
	msg Message,
) (bundle string, err error) {
	defer setCode(&err, formats.CodeIO)
	if c := m.checkLock(dir); c.KeptReason != "" {
		return "", c.keptError(dir)
	}

	if _, err := m.Commit(ctx, dir, msg); err != nil {
		return "", err
	}
	repo := m.Git(dir)
	main := m.Git(m.Root)
	branch, err := repo.CurrentBranch(ctx)
	if err != nil {
		return "", err
	}

	head, err := repo.Head(ctx)
	if err != nil {
		return "", err
	}
	base, err := main.Head(ctx)
	if err != nil {
		return "", err
	}

	isContained, err := main.IsAncestor(ctx, head, base)
	if err != nil {
		return "", err
	}
	if !isContained {
		name := fmt.Sprintf("%s-%.12s.bundle", strings.ReplaceAll(branch, "/", "-"), head)
		file, err := m.runFilePath(run, name)
		if err != nil {
			return "", err
		}
		if err := main.Bundle(ctx, file, "refs/heads/"+branch, base); err != nil {
			return "", err
		}
		bundle = path.Join(runFolder(run), name)
	}

	c, err := m.Close(ctx, dir)
	if err != nil || c.Deleted {
		return bundle, err
	}
	if !c.Removed {
		return bundle, c.keptError(dir)
	}
	return bundle, main.DeleteBranch(ctx, branch, head)
}

// deleteMerged deletes a branch if another one has all its commits, not counting wip branches, or
// their squashed form. For the branch of a child the other one may be the run's.
func deleteMerged(ctx context.Context, main *git.Repo, branch string, child bool) (bool, error) {
	hash, err := main.Resolve(ctx, "refs/heads/"+branch)
	if err != nil {
		return false, err
	}

	merged, err := isContainedElsewhere(ctx, main, hash)
	if err == nil && !merged && child {
		var holders []string
		holders, err = main.BranchesContaining(ctx, hash)
		merged = slices.ContainsFunc(holders, func(b string) bool {
			return strings.HasPrefix(branch, b+".")
		})
	}
	if err != nil || !merged {
		return false, err
	}
	err = main.DeleteBranch(ctx, branch, hash)
	return err == nil, err
}
