package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/git"
)

// SnapshotRefs is the prefix of the refs of snapshots in the remote.
const SnapshotRefs = "refs/tercet/runs/"

// Attempt is what an attempt at a run knows of its snapshots.
type Attempt struct {
	Run, Taker string
	Last       []formats.TreeSnapshot
	// Fingerprints are those of the worktrees at the last snapshots, by name. They are updated, and
	// save asking git about a worktree that has not changed.
	Fingerprints map[string]string
	NextNumber   func() int // gives the last part of the next ref
	// Bundles gets the snapshots that the remote does not take, by commit, for the home of the
	// team.
	Bundles map[string][]byte
}

// TakeSnapshots commits the worktrees of a run as they are, with their uncommitted work, and pushes
// each commit that is new to a ref of its own, or bundles it where the remote does not take such
// refs. It changes neither a worktree nor its index.
//
// Nothing is pushed that holds what looks like a secret. A repository inside of a worktree is an
// error, because a commit cannot hold it.
func (m Repository) TakeSnapshots(
	ctx context.Context, a Attempt,
) (now []formats.TreeSnapshot, err error) {
	defer setCode(&err, formats.CodeIO)
	names, err := m.treesOf(a.Run)
	if err != nil {
		return nil, err
	}
	now = []formats.TreeSnapshot{}
	for _, name := range names {
		var last formats.TreeSnapshot
		at := slices.IndexFunc(a.Last, func(s formats.TreeSnapshot) bool { return s.Name == name })
		if at >= 0 {
			last = a.Last[at]
		}
		dir := filepath.Join(m.Trees.Base, name)
		fingerprint, ok := m.Trees.Git(dir).StatFingerprint()
		if ok && at >= 0 && a.Fingerprints[name] == fingerprint {
			now = append(now, last)
			continue
		}

		delete(a.Fingerprints, name)
		snapshot, staged, err := m.takeSnapshot(ctx, a.Run, name, last)
		if err != nil {
			return nil, err
		}
		if ok && !staged { // PrepareWorker can use this snapshot
			state := treeSnapshot{
				Branch: snapshot.Branch,
				Head:   snapshot.Head,
				Tree:   snapshot.Tree,
			}
			m.Trees.states.Store(dir, cachedState{fingerprint, state})
		}
		if snapshot.Commit != last.Commit {
			snapshot.Ref = fmt.Sprintf("%s%s/%s/%d", SnapshotRefs, a.Run, a.Taker, a.NextNumber())
			if err := m.pushSnapshot(ctx, a, &snapshot, last); err != nil {
				return nil, err
			}
		}

		now = append(now, snapshot)
		if ok {
			a.Fingerprints[name] = fingerprint
		}
	}
	return now, nil
}

// treesOf lists the worktrees of a run and of its children.
func (m Repository) treesOf(run string) (names []string, err error) {
	entries, err := os.ReadDir(m.Trees.Base)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		name := e.Name()
		_, lerr := os.Lstat(filepath.Join(m.Trees.Base, name, ".git"))
		if (name == run || strings.HasPrefix(name, run+".")) && lerr == nil {
			names = append(names, name)
		}
	}
	return names, nil
}

// takeSnapshot commits a worktree, or returns the last snapshot if nothing has changed since.
// staged means that something is staged in the worktree.
func (m Repository) takeSnapshot(
	ctx context.Context, run, name string, last formats.TreeSnapshot,
) (s formats.TreeSnapshot, staged bool, err error) {
	index, err := m.Trees.runFilePath(run, "snapshot.index")
	if err != nil {
		return s, false, err
	}
	defer func() { _ = os.Remove(index) }() //nolint:errcheck // reason: the next one rewrites it

	tree := m.Trees.Git(filepath.Join(m.Trees.Base, name))
	private := &git.Repo{
		Starter: tree.Starter,
		Dir:     tree.Dir,
		Index:   index,
		Cache:   tree.Cache,
	}

	s.Name = name
	s.Head, err = tree.Head(ctx)
	if err != nil {
		return s, staged, err
	}
	s.Branch, err = tree.CurrentBranch(ctx)
	if err != nil {
		return s, staged, err
	}

	if tree.HasIndex() {
		err = tree.CopyIndex(index)
	} else {
		err = private.ReadTree(ctx, s.Head)
	}
	if err != nil {
		return s, staged, err
	}

	work, err := m.Trees.uncommittedWork(ctx, private)
	if err != nil {
		return s, staged, err
	}
	staged = work.staged
	if len(work.nested) > 0 {
		return s, staged, formats.Fail(formats.CodePrecondition,
			"run the line on one machine, without --on team",
			"the worktree holds a repository of its own or a submodule, which does not travel "+
				"to another machine: %s", joinFirst(work.nested))
	}

	if err := checkFilters(ctx, private, work.files); err != nil {
		return s, staged, err
	}
	if err := private.Add(ctx, work.files...); err != nil {
		return s, staged, err
	}

	s.Tree, err = private.WriteTree(ctx)
	if err != nil {
		return s, staged, err
	}
	if s.Head == last.Head && s.Tree == last.Tree && s.Branch == last.Branch {
		return last, staged, nil
	}

	parents := []string{s.Head}
	if last.Bundled { // so that the next bundle has only what is new
		parents = append(parents, last.Commit)
	}

	// The scan takes as long as the commit and does not depend on it, so both run at once.
	scanned := make(chan error, 1)
	go func(s formats.TreeSnapshot) { scanned <- m.refuseSnapshotSecrets(ctx, tree, s, last) }(s)
	s.Commit, err = tree.CommitTree(ctx, s.Tree, parents, "snapshot of run "+run)
	return s, staged, errors.Join(err, <-scanned)
}

// refuseSnapshotSecrets scans what a snapshot adds to the last one, or to what the remote has.
func (m Repository) refuseSnapshotSecrets(
	ctx context.Context, repo *git.Repo, s, last formats.TreeSnapshot,
) error {
	if last.Commit != "" && last.Head == s.Head {
		return m.Trees.refuseTreeSecrets(ctx, repo, last.Tree, s.Tree)
	}
	remote, err := m.snapshotRemote(ctx, repo, s.Branch)
	if err != nil {
		return err
	}
	if err := m.Trees.refuseSecrets(ctx, repo, git.RemoteCommits+remote.Name, s.Head); err != nil {
		return err
	}
	return m.Trees.refuseTreeSecrets(ctx, repo, s.Head, s.Tree)
}

// pushSnapshot pushes or bundles a snapshot that was scanned.
func (m Repository) pushSnapshot(
	ctx context.Context, a Attempt, s *formats.TreeSnapshot, last formats.TreeSnapshot,
) error {
	repo := m.Trees.Git(filepath.Join(m.Trees.Base, s.Name))
	remote, err := m.snapshotRemote(ctx, repo, s.Branch)
	if err != nil {
		return err
	}
	if !last.Bundled {
		err := repo.PushNew(ctx, remote, s.Commit, s.Ref)
		if err == nil {
			return nil
		}
		refused, ok := errors.AsType[*git.RefusedError](err)
		if !ok || !refused.IsRemoteRejection() || a.Bundles == nil {
			return networkError(err, "look at the remote: git ls-remote "+remote.Name)
		}
	}

	var without []string
	if last.Bundled {
		without = append(without, last.Commit)
	}
	s.Bundled = true
	a.Bundles[s.Commit], err = m.bundle(ctx, remote, a.Run, *s, without...)
	return err
}

// bundle gives a snapshot as a bundle, without what the remote or other commits have.
func (m Repository) bundle(
	ctx context.Context,
	remote git.Remote,
	run string,
	s formats.TreeSnapshot,
	without ...string,
) ([]byte, error) {
	file, err := m.Trees.runFilePath(run, s.Commit+".pack")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(file) }() //nolint:errcheck // reason: nothing reads it again
	err = m.Trees.Git(m.Trees.Root).BundleCommit(ctx, git.Bundle{
		File:    file,
		Ref:     s.Ref,
		Commit:  s.Commit,
		Remote:  remote,
		Without: without,
	})
	if err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

// Bundles gives those of the snapshots of a run that the remote does not have, by commit. The
// repository has them.
func (m Repository) Bundles(
	ctx context.Context, run string, list []formats.TreeSnapshot,
) (bundles map[string][]byte, err error) {
	defer setCode(&err, formats.CodeIO)
	repo := m.Trees.Git(m.Trees.Root)
	for _, s := range list {
		if !s.Bundled {
			continue
		}
		remote, err := m.snapshotRemote(ctx, repo, s.Branch)
		if err != nil {
			return nil, err
		}
		data, err := m.bundle(ctx, remote, run, s)
		if err != nil {
			return nil, err
		}
		if bundles == nil {
			bundles = map[string][]byte{}
		}
		bundles[s.Commit] = data
	}
	return bundles, nil
}

// Unbundle adds the snapshots of a run that came as bundles to the repository.
func (m Repository) Unbundle(
	ctx context.Context, run string, bundles map[string][]byte,
) (err error) {
	defer setCode(&err, formats.CodeIO)
	repo := m.Trees.Git(m.Trees.Root)
	for _, data := range bundles {
		file, err := m.Trees.runFilePath(run, "arrived.pack")
		if err != nil {
			return err
		}
		defer func() { _ = os.Remove(file) }() //nolint:errcheck // reason: nothing reads it again
		if err := atomicfile.WriteScratch(file, data); err != nil {
			return err
		}
		needs, err := git.BundlePrerequisites(file)
		if err != nil {
			return err
		}
		for _, commit := range needs {
			if err := m.Fetch(ctx, commit); err != nil {
				return err
			}
		}
		if err := repo.Unbundle(ctx, file); err != nil {
			return err
		}
	}
	return nil
}

// KeepSnapshots keeps the snapshots of a run that the remote does not have below their refs here.
func (m Repository) KeepSnapshots(
	ctx context.Context, run string, list []formats.TreeSnapshot,
) (err error) {
	defer setCode(&err, formats.CodeIO)
	repo := m.Trees.Git(m.Trees.Root)
	refs, err := repo.Refs()
	if err != nil {
		return err
	}
	for _, s := range list {
		if !s.Bundled || refs[s.Ref] == s.Commit {
			continue
		}
		if !strings.HasPrefix(s.Ref, SnapshotRefs+run+"/") {
			return &formats.ValueError{What: "a ref of a snapshot of run " + run, Got: s.Ref}
		}
		if err := repo.UpdateRef(ctx, s.Ref, s.Commit, ""); err != nil {
			return err
		}
	}
	return nil
}

// DropSnapshots removes the refs that KeepSnapshots made for a run.
func (m Repository) DropSnapshots(ctx context.Context, run string) (err error) {
	defer setCode(&err, formats.CodeIO)
	repo := m.Trees.Git(m.Trees.Root)
	refs, err := repo.Refs()
	if err != nil {
		return err
	}
	for ref, commit := range refs {
		if !strings.HasPrefix(ref, SnapshotRefs+run+"/") {
			continue
		}
		if err := repo.DeleteOwnRef(ctx, ref, commit); err != nil {
			return err
		}
	}
	return nil
}

// DropRemoteSnapshots removes the snapshots of runs from the remote that took them. Without a
// remote there are none.
func (m Repository) DropRemoteSnapshots(ctx context.Context, runs []string) error {
	repo := m.Trees.Git(m.Trees.Root)
	if !repo.Exists() {
		return nil
	}
	names, err := repo.Remotes(ctx)
	if err != nil || len(names) == 0 {
		return err
	}

	branch, err := repo.CurrentBranch(ctx)
	if err != nil {
		return err
	}
	remote, err := m.snapshotRemote(ctx, repo, branch)
	if err != nil {
		return err
	}

	help := "look at the remote: git ls-remote " + remote.Name
	refs, err := repo.RemoteOwnRefs(ctx, remote, SnapshotRefs)
	if err != nil {
		return networkError(err, help)
	}

	maps.DeleteFunc(refs, func(ref, _ string) bool {
		run, _, _ := strings.Cut(strings.TrimPrefix(ref, SnapshotRefs), "/")
		return !slices.Contains(runs, run)
	})
	if err := repo.DeleteRemoteOwnRefs(ctx, remote, refs); err != nil {
		return networkError(err, help)
	}
	return nil
}

// snapshotRemote is the one that has the snapshots of the team.
func (m Repository) snapshotRemote(
	ctx context.Context, repo *git.Repo, branch string,
) (git.Remote, error) {
	if m.Trees.Remote != "" {
		return repo.NamedRemote(ctx, m.Trees.Remote)
	}
	return repo.PushRemote(ctx, branch)
}

// RestoreSnapshots makes the worktrees of a run as their snapshots have them, and removes those
// that have none. What they held here is lost: another machine had the run meanwhile.
func (m Repository) RestoreSnapshots(
	ctx context.Context, run string, list []formats.TreeSnapshot,
) (err error) {
	defer setCode(&err, formats.CodeIO)
	names, err := m.treesOf(run)
	if err != nil {
		return err
	}

	main := m.Trees.Git(m.Trees.Root)
	for _, name := range names {
		if err := main.WorktreeRemove(ctx, filepath.Join(m.Trees.Base, name)); err != nil {
			return err
		}
	}

	for _, s := range list {
		if s.Name != run && !strings.HasPrefix(s.Name, run+".") || !isValidRunID(s.Name) {
			return &formats.ValueError{What: "a worktree of run " + run, Got: s.Name}
		}
		if err := m.restoreSnapshot(ctx, main, run, s); err != nil {
			return err
		}
	}
	return nil
}

func (m Repository) restoreSnapshot(
	ctx context.Context, main *git.Repo, run string, s formats.TreeSnapshot,
) error {
	if err := git.CheckBranch(s.Branch); err != nil {
		return err
	}
	place := filepath.Join(m.Trees.Base, s.Name)
	if err := m.Fetch(ctx, s.Commit); err != nil {
		return lostSnapshotError(err, run, s)
	}
	if _, err := m.Trees.makeRoom(ctx, main, s.Branch, place); err != nil {
		return err
	}

	exists, err := main.BranchExists(ctx, s.Branch)
	if err != nil {
		return err
	}
	if exists {
		old, err := main.Resolve(ctx, "refs/heads/"+s.Branch)
		if err == nil && old != s.Head {
			err = main.UpdateRef(ctx, "refs/heads/"+s.Branch, s.Head, old)
		}
		if err != nil {
			return err
		}
	} else if err := main.CreateBranch(ctx, s.Branch, s.Head); err != nil {
		return err
	}

	if err := os.MkdirAll(m.Trees.Base, 0o755); err != nil {
		return err
	}
	err = main.WorktreeAdd(ctx, git.NewWorktree{Path: place, Branch: s.Branch})
	if err != nil {
		return err
	}
	tree := m.Trees.Git(place)
	if err := tree.Restore(ctx, s.Commit); err != nil {
		return err
	}
	return tree.ReadTree(ctx, s.Head)
}

// Fetch brings a commit here, by its hash: no ref moves.
func (m Repository) Fetch(ctx context.Context, commit string) error {
	main := m.Trees.Git(m.Trees.Root)
	if _, err := main.Tree(ctx, commit); err == nil {
		return nil
	}
	branch, err := main.CurrentBranch(ctx)
	if err != nil {
		return err
	}
	remote, err := m.snapshotRemote(ctx, main, branch)
	if err != nil {
		return err
	}
	if err := main.FetchCommit(ctx, remote, commit); err != nil {
		return networkError(err, "look at the remote: git ls-remote "+remote.Name)
	}
	return nil
}

// ProjectDir is the folder of the project in the worktree of a run.
func (m Repository) ProjectDir(ctx context.Context, run string) (dir string, err error) {
	defer setCode(&err, formats.CodeIO)
	_, rel, err := m.Trees.Git(m.Trees.Root).Locate(ctx)
	return filepath.Join(m.Trees.treePath(run, ""), rel), err
}

// CheckoutChanges lists the changes in the user's checkout, outside of the workspace folder.
func (m Repository) CheckoutChanges(ctx context.Context) (files []string, err error) {
	defer setCode(&err, formats.CodeIO)
	repo := m.Trees.Git(m.Trees.Root)
	_, rel, err := repo.Locate(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := repo.StatusPorcelain(ctx)
	for _, e := range entries {
		if !isInWorkspace(m.Trees.Specs, rel, e.Path) {
			files = append(files, e.Path)
		}
	}
	return files, err
}

// PushBase pushes the last commit of the checkout for the clones of a team, after a scan, and
// returns it. Empty: there is no repository, no commit or no remote.
func (m Repository) PushBase(ctx context.Context) (commit string, err error) {
	defer setCode(&err, formats.CodeIO)
	repo := m.Trees.Git(m.Trees.Root)
	if !repo.Exists() {
		return "", nil
	}
	commit, err = repo.Head(ctx)
	if errors.Is(err, git.ErrNoCommit) {
		return "", nil
	}
	if err != nil {
		return "", err
	}

	names, err := repo.Remotes(ctx)
	if err != nil || len(names) == 0 {
		return "", err
	}
	branch, err := repo.CurrentBranch(ctx)
	if err != nil {
		return "", err
	}
	remote, err := m.snapshotRemote(ctx, repo, branch)
	if err != nil {
		return "", err
	}

	if err := m.Trees.refuseSecrets(ctx, repo, git.RemoteCommits+remote.Name, commit); err != nil {
		return "", err
	}
	err = repo.PushNew(ctx, remote, commit, "refs/tercet/home/"+commit)
	if _, exists := errors.AsType[*git.RefusedError](err); exists { // it was pushed before
		err = nil
	}
	if err != nil {
		return "", networkError(err, "look at the remote: git ls-remote "+remote.Name)
	}
	return commit, nil
}

// FollowBase brings the checkout of a clone to a commit of the home; empty: it stays. The documents
// and the state in it are overwritten: the home has them. A checkout with other changes, or with
// commits of its own, is an error, because work that began there could not be published.
func (m Repository) FollowBase(ctx context.Context, commit string) (err error) {
	defer setCode(&err, formats.CodePrecondition)
	const help = "use a clone for the worker that nobody works in"
	repo := m.Trees.Git(m.Trees.Root)
	if commit == "" {
		return nil
	}
	head, err := repo.Head(ctx)
	if err != nil || head == commit {
		return err
	}
	if err := m.Fetch(ctx, commit); err != nil {
		return err
	}

	isBehind, err := repo.IsAncestor(ctx, head, commit)
	if err != nil {
		return err
	}
	branch, err := repo.CurrentBranch(ctx)
	if err != nil {
		return err
	}
	changed, err := m.CheckoutChanges(ctx)
	switch {
	case err != nil:
		return err
	case !isBehind || branch == "":
		return formats.Fail(formats.CodePrecondition, help,
			"the checkout has commits that the home of the team does not have")
	case len(changed) > 0:
		return formats.Fail(formats.CodePrecondition, help,
			"the checkout has changes: %s", joinFirst(changed))
	}

	if err := repo.UpdateRef(ctx, "refs/heads/"+branch, commit, head); err != nil {
		return err
	}
	return repo.Restore(ctx, commit)
}
