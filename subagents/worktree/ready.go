package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/git"
	"tercet/internal/secrets"
)

// treeSnapshot is the state of a worktree when a worker was started, stored in the folder of the
// run.
type treeSnapshot struct {
	Branch string   `json:"branch"`
	Head   string   `json:"head"`
	Tree   string   `json:"tree"`             // tree of the last commit plus uncommitted work
	Nested []string `json:"nested,omitempty"` // repositories inside
}

func snapshotName(txn string) string {
	return path.Join("before", txn+".json")
}

// PrepareWorker records the state of a worker's worktree before the worker starts. If an earlier
// process died during the same work, it first restores that state. It commits the rest of the
// killed attempt to a separate branch, and moves files that look like secrets to the run's folder.
// It returns notes for the user. In the user's own checkout it only records what was changed before
// the run, if a later step commits there.
func (m *Manager) PrepareWorker(
	ctx context.Context, r formats.Request,
) (notes []string, err error) {
	defer setCode(&err, formats.CodeIO)
	if r.NoTree || r.Run == "" || r.Txn == "" {
		return nil, nil
	}

	if err := (Repository{m}).CheckTree(r.Dir); err != nil {
		return nil, err
	}
	repo := m.Git(r.Dir)
	switch {
	case r.Dir == m.Root && r.Terms.Commits && repo.Exists():
		return nil, m.recordCheckoutChanges(ctx, repo, r.Run)
	case r.Dir == m.Root && r.Terms.Commits:
		return nil, repo.CheckUsable() // otherwise the commit fails after the work was paid for
	case r.Dir == m.Root || !repo.HasIndex():
		return nil, nil
	}

	a := recovery{
		m:    m,
		repo: repo,
		r:    r,
	}
	a.index, err = m.runFilePath(r.Run, "before-"+r.Txn+".index")
	if err != nil {
		return nil, err
	}

	a.private = &git.Repo{
		Starter: repo.Starter,
		Dir:     repo.Dir,
		Index:   a.index,
		Cache:   repo.Cache,
	}
	defer func() { _ = os.Remove(a.index) }() //nolint:errcheck // reason: nothing reads it again
	recorded := false
	if r.Begun == formats.BegunAgain {
		recorded, err = m.loadRunFile(r.Run, snapshotName(r.Txn), &a.before)
		if err != nil {
			return nil, err
		}
	}
	if recorded {
		return a.restore(ctx)
	}

	now, cached := m.cachedSnapshot(repo)
	if !cached {
		now, err = a.snapshot(ctx)
		if err != nil {
			return nil, err
		}
	}
	return nil, m.writeRunFile(r.Run, snapshotName(r.Txn), now)
}

// recordCheckoutChanges records what is changed in the checkout, once for each run.
func (m *Manager) recordCheckoutChanges(ctx context.Context, repo *git.Repo, run string) error {
	var earlier []string
	recorded, err := m.loadRunFile(run, checkoutChangesName, &earlier)
	if err != nil || recorded {
		return err
	}
	entries, err := repo.StatusPorcelain(ctx)
	if err != nil {
		return err
	}
	files := []string{}
	for _, e := range entries {
		files = append(files, e.Path)
	}
	return m.writeRunFile(run, checkoutChangesName, files)
}

// recovery is one call of PrepareWorker in a worktree.
type recovery struct {
	m       *Manager
	repo    *git.Repo
	private *git.Repo // the same repository with a private index
	index   string
	r       formats.Request
	before  treeSnapshot
	notes   []string
}

// snapshot returns the present state of the worktree, and loads all of it into the private index.
func (a *recovery) snapshot(ctx context.Context) (now treeSnapshot, err error) {
	now.Branch, err = a.repo.CurrentBranch(ctx)
	if err != nil {
		return now, err
	}
	now.Head, err = a.repo.Head(ctx)
	if err != nil {
		return now, err
	}
	work, err := a.m.uncommittedWork(ctx, a.repo)
	if err != nil {
		return now, err
	}
	now.Nested = work.nested

	if len(work.files) == 0 && a.r.Begun != formats.BegunAgain {
		now.Tree, err = a.repo.Tree(ctx, now.Head)
		return now, err
	}
	if err = a.private.ReadTree(ctx, now.Head); err == nil {
		err = a.private.Add(ctx, work.files...)
	}
	if err == nil {
		now.Tree, err = a.private.WriteTree(ctx)
	}
	return now, err
}

// restore saves what was done since the worker was started, and restores the state before.
func (a *recovery) restore(ctx context.Context) ([]string, error) {
	now, err := a.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	for _, dir := range now.Nested {
		if !slices.Contains(a.before.Nested, dir) {
			if err := a.quarantineFile(dir); err != nil {
				return nil, err
			}
		}
	}
	if now.Head == a.before.Head && now.Tree == a.before.Tree {
		return a.notes, a.resetTree(ctx, now)
	}
	if err := a.saveWip(ctx, now); err != nil {
		return nil, err
	}

	now, err = a.snapshot(ctx) // again: saveWip may have moved files that look like secrets
	if err != nil {
		return nil, err
	}
	if err := a.private.Restore(ctx, a.before.Tree); err != nil {
		return nil, err
	}
	return a.notes, a.resetTree(ctx, now)
}

// saveWip commits the changes since before to a wip branch.
func (a *recovery) saveWip(ctx context.Context, now treeSnapshot) error {
	files, err := a.repo.DiffPaths(ctx, a.before.Tree, now.Tree)
	if err != nil {
		return err
	}

	tree, err := a.stage(ctx, now.Head, files)
	if err != nil {
		return err
	}
	found, err := a.m.findSecrets(ctx, a.private, "", "")
	if err != nil {
		return err
	}
	if len(found) > 0 {
		if err := a.quarantine(ctx, found); err != nil {
			return err
		}
		tree, err = a.stage(ctx, now.Head, files)
		if err != nil {
			return err
		}
	}
	headTree, err := a.repo.Tree(ctx, now.Head)
	if err != nil {
		return err
	}
	if headTree == tree && now.Head == a.before.Head {
		return nil // quarantine has moved all changes
	}

	hash, err := a.repo.CommitTree(
		ctx, tree,
		[]string{now.Head},
		"wip: what a killed attempt of "+a.r.Step+" left",
		git.Trailer{Key: TrailerWip, Value: a.r.Run},
	)
	if err != nil {
		return err
	}

	wip, err := createWipBranch(ctx, a.repo, a.before.Branch, a.r.Run, hash)
	if err == nil {
		a.notes = append(
			a.notes,
			fmt.Sprintf("what the killed attempt of step %s left is on branch %s", a.r.Step, wip),
		)
	}
	return err
}

// stage returns the tree of a commit with some files in their present state.
func (a *recovery) stage(ctx context.Context, head string, files []string) (string, error) {
	if err := a.private.ReadTree(ctx, head); err != nil {
		return "", err
	}
	// Skip files that exist neither on disk nor in the commit.
	committed, err := a.repo.Files(ctx, head, files...)
	if err != nil {
		return "", err
	}
	top, _, err := a.repo.Locate(ctx)
	if err != nil {
		return "", err
	}
	files = slices.DeleteFunc(slices.Clone(files), func(file string) bool {
		_, err := os.Lstat(filepath.Join(top, filepath.FromSlash(file)))
		return err != nil && committed[file] == ""
	})
	if err := a.private.Add(ctx, files...); err != nil {
		return "", err
	}
	return a.private.WriteTree(ctx)
}

// resetTree resets branch and index of the worktree to where they were.
func (a *recovery) resetTree(ctx context.Context, now treeSnapshot) (err error) {
	if now.Branch != a.before.Branch && a.before.Branch != "" {
		err = a.repo.SetHead(ctx, a.before.Branch)
	}
	if err == nil && a.before.Branch != "" {
		ref := "refs/heads/" + a.before.Branch
		var tip string
		tip, err = a.repo.Resolve(ctx, ref)
		if err == nil && tip != a.before.Head {
			err = a.repo.UpdateRef(ctx, ref, a.before.Head, tip)
		}
	}
	return errors.Join(err, a.repo.Unstage(ctx))
}

// quarantine moves the files of findings to the folder of the run.
func (a *recovery) quarantine(ctx context.Context, found []secrets.Finding) error {
	_, rel, err := a.repo.Locate(ctx)
	if err != nil {
		return err
	}
	var moved []string
	for _, f := range found {
		file := path.Join(filepath.ToSlash(rel), f.File)
		if slices.Contains(moved, file) {
			continue
		}
		moved = append(moved, file)
		if err := a.quarantineFile(file); err != nil {
			return err
		}
	}
	return nil
}

// quarantineFile moves a file or a folder out of the worktree; its name is relative to the top.
func (a *recovery) quarantineFile(file string) error {
	file = strings.TrimSuffix(file, "/")
	top, err := a.topInProject()
	if err != nil {
		return err
	}
	return a.m.withRunFolder(
		a.r.Run,
		path.Join("aside", path.Dir(file)),
		func(root *os.Root, dir string) error {
			to := path.Join(dir, path.Base(file))
			for i := 2; ; i++ {
				if _, err := root.Lstat(to); err != nil {
					break
				}
				to = fmt.Sprintf("%s.%d", path.Join(dir, path.Base(file)), i)
			}
			a.notes = append(a.notes, fmt.Sprintf(
				"what the killed attempt of step %s left as %s is in %s: no commit can hold it",
				a.r.Step, file, to,
			))
			return atomicfile.Move(root, path.Join(top, file), to)
		},
	)
}

// topInProject is the top of the worktree, relative to the project root.
func (a *recovery) topInProject() (string, error) {
	rel, err := filepath.Rel(a.m.Base, a.r.Dir)
	if err != nil {
		return "", err
	}
	name, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	top, err := filepath.Rel(a.m.Root, filepath.Join(a.m.Base, name))
	return filepath.ToSlash(top), err
}
