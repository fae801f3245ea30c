// Package worktree gives a task its own working tree and brings the work back.
//
// It promises to touch the user's checkout in two ways only. One is a fast-forward of a clean
// checkout, the other a commit of named files that leaves the user's work alone. A branch moves
// only from the commit that was seen. A conflict changes nothing. Uncommitted work is committed
// before its removal. No commit that adds something like a secret is made, merged or pushed. Of the
// workspace folder only documents and the state are committed, in the checkout. A worktree's
// ignored files are removed with it.
//
// It does not decide when a task is done, resolves no conflict, and deletes only its own branches
// whose commits another branch has.
//
// A Manager holds no state. Different worktrees may be used at once, one worktree by one caller at
// a time.
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
	"sync"

	"tercet/formats"
	"tercet/internal/git"
	"tercet/internal/secrets"
)

// The prefixes of this package's branches.
const (
	taskPrefix = "task/"
	runPrefix  = "tercet/"
	wipPrefix  = "tercet/wip/"
)

// The trailers of commits.
const (
	TrailerTxn     = "Tercet-Txn"
	TrailerSession = "Session"
	TrailerWip     = "Tercet-Wip"
	TrailerSquash  = "Tercet-Squash" // the commit of a branch whose whole work is in this one
)

// Manager opens and closes the worktrees of one project. Allow and RemoteType are optional.
type Manager struct {
	Git func(dir string) *git.Repo
	// TrackCommits returns a function that reports whether tercet has committed with a transaction
	// since the call of TrackCommits.
	TrackCommits func() func(txn string) bool
	// project root, absolute: the top of the user's checkout, or a folder in it
	Root string
	Base string // folder for worktrees, absolute, ignored by git
	// folder of the documents of tasks, relative to Root; empty: in the workspace
	Specs string
	// Remote is the name of the remote with the snapshots of a team; empty: that of the branch.
	Remote string
	Allow  []secrets.Allowed // accepted findings of the scan for secrets
	// RemoteType returns the remote's type in the project's rules file; nil: none.
	RemoteType func(ctx context.Context) (string, error)

	// states are the last known states of worktrees, by folder, as cachedState.
	states *sync.Map
}

// cachedState is the state of a worktree as long as its fingerprint is the same.
type cachedState struct {
	fingerprint string
	state       treeSnapshot
}

// cachedSnapshot returns the state of a worktree without asking git, if its fingerprint has not
// changed since the state was stored.
func (m *Manager) cachedSnapshot(repo *git.Repo) (treeSnapshot, bool) {
	value, ok := m.states.Load(repo.Dir)
	if !ok {
		return treeSnapshot{}, false
	}
	cached, ok := value.(cachedState)
	if !ok {
		return treeSnapshot{}, false
	}
	now, ok := repo.StatFingerprint()
	return cached.state, ok && now == cached.fingerprint
}

// New returns m, or an error if a field is missing.
func New(m Manager) (*Manager, error) {
	if m.Git == nil || m.TrackCommits == nil || !filepath.IsAbs(m.Root) || !filepath.IsAbs(m.Base) {
		return nil, formats.Unset("a repository, journals, a root and a base of worktrees")
	}
	m.states = &sync.Map{}
	return &m, nil
}

// Spec is the worktree to open.
type Spec struct {
	Branch string // empty: task/{Task}-{Slug}, or tercet/{Run} without a task
	Run    string // required; names the folder
	Task   int
	Slug   string
	// Child names the worktree of one of several parallel children, on a branch {branch}.{child}
	// from the run's branch. Base is its start; empty: the run's last commit with all uncommitted
	// work of the run's worktree.
	Child   string
	Base    string
	Message Message // commit message for uncommitted work
}

// treePath is the folder of the worktree of a run, or of one of its children.
func (m *Manager) treePath(run, child string) string {
	if child != "" {
		run += "." + child
	}
	return filepath.Join(m.Base, run)
}

// isChild reports whether a worktree is that of a child, by its folder.
func isChild(top string) bool {
	return strings.Contains(filepath.Base(top), ".")
}

func (s Spec) branch() string {
	switch {
	case s.Branch != "":
		return s.Branch
	case s.Task == 0:
		return runPrefix + s.Run
	case s.Slug == "":
		return fmt.Sprintf("%s%d", taskPrefix, s.Task)
	}
	return fmt.Sprintf("%s%d-%s", taskPrefix, s.Task, s.Slug)
}

// Tree is an open worktree.
type Tree struct {
	Dir       string // project root in the worktree, absolute
	Branch    string
	Base      string // hash of the commit where the branch leaves the user's checkout
	Head      string // hash of the branch's last commit
	Continued bool   // the branch existed before, with unmerged commits
}

// Open opens the worktree of a run, or returns the run's open one. It continues an existing branch
// with commits; if another worktree of tercet has that branch, it closes that first and saves its
// work.
func (m *Manager) Open(ctx context.Context, s Spec) (t Tree, err error) {
	defer setCode(&err, formats.CodeIO)
	if !isValidRunID(s.Run) {
		return t, &formats.ValueError{What: "a run id", Got: s.Run}
	}

	branch := s.branch()
	if err := git.CheckBranch(branch); err != nil {
		return t, &formats.Failure{Code: formats.CodeUsage, Err: err}
	}
	main := m.Git(m.Root)
	if err := main.CheckUsable(); err != nil {
		return t, err
	}

	_, rel, err := main.Locate(ctx)
	if err != nil {
		return t, err
	}
	head, err := main.Head(ctx)
	if errors.Is(err, git.ErrNoCommit) {
		return t, formats.Fail(
			formats.CodePrecondition,
			"commit something first: git add FILES, git commit",
			"the repository has no commit yet",
		)
	}
	if err != nil {
		return t, err
	}

	place := m.treePath(s.Run, s.Child)
	if s.Child != "" {
		branch, head, err = m.childStart(ctx, s)
		if err != nil {
			return t, err
		}
	}
	open, err := m.makeRoom(ctx, main, branch, place)
	if err != nil {
		return t, err
	}

	t = Tree{Dir: filepath.Join(place, rel), Branch: branch}
	if !open {
		err := m.addWorktree(ctx, main, git.NewWorktree{
			Path:   place,
			Branch: branch,
			Start:  head,
		})
		if err != nil {
			return t, err
		}
	}
	// a project below the top may have no tracked file
	if err := os.MkdirAll(t.Dir, 0o755); err != nil {
		return t, &formats.Failure{Code: formats.CodeIO, Err: err}
	}
	t.Head, err = main.Resolve(ctx, "refs/heads/"+branch)
	if err != nil {
		return t, err
	}

	t.Base, err = main.MergeBase(ctx, head, t.Head)
	if err != nil {
		return t, err
	}
	t.Continued = t.Base != t.Head
	return t, nil
}

// childStart returns the branch of a child and its start.
func (m *Manager) childStart(ctx context.Context, s Spec) (branch, base string, err error) {
	if !isValidRunID(s.Child) {
		return "", "", &formats.ValueError{What: "the name of a child", Got: s.Child}
	}
	dir := m.treePath(s.Run, "")
	branch, err = m.Git(dir).CurrentBranch(ctx)
	if err != nil {
		return "", "", err
	}
	branch += "." + s.Child
	if err := git.CheckBranch(branch); err != nil {
		return "", "", &formats.Failure{Code: formats.CodeUsage, Err: err}
	}
	if s.Base != "" {
		return branch, s.Base, nil
	}

	_, rel, err := m.Git(m.Root).Locate(ctx)
	if err != nil {
		return "", "", err
	}
	if _, err := m.Commit(ctx, filepath.Join(dir, rel), s.Message); err != nil {
		return "", "", err
	}
	base, err = m.Git(dir).Head(ctx)
	return branch, base, err
}

// isValidRunID reports whether a run's id can name a folder.
func isValidRunID(id string) bool {
	return id != "" && id != "." && filepath.IsLocal(id) && !strings.ContainsAny(id, `/\`)
}

// makeRoom removes what blocks the worktree of branch at place and reports whether it is open
// already.
func (m *Manager) makeRoom(
	ctx context.Context, main *git.Repo, branch, place string,
) (bool, error) {
	if err := main.WorktreePrune(ctx); err != nil {
		return false, err
	}
	trees, err := main.Worktrees(ctx)
	if err != nil {
		return false, err
	}

	for _, w := range trees {
		switch {
		case w.Branch != branch && !m.isSameWorktree(w.Path, place):
		case w.Branch == branch && m.isSameWorktree(w.Path, place):
			if m.Git(w.Path).HasIndex() {
				return true, nil
			}
			// its process ended before checking out
			return false, main.WorktreeRemove(ctx, w.Path)
		case m.ownsWorktree(w.Path):
			c, err := m.close(ctx, w.Path)
			if err != nil {
				return false, err
			}
			if !c.Removed {
				return false, &git.CheckedOutError{Branch: branch, Path: w.Path}
			}
		default:
			return false, &git.CheckedOutError{Branch: branch, Path: w.Path}
		}
	}

	return false, nil
}

// addWorktree creates the worktree. A branch without commits beyond the checkout is restarted at
// the checkout.
func (m *Manager) addWorktree(ctx context.Context, main *git.Repo, n git.NewWorktree) error {
	exists, err := main.BranchExists(ctx, n.Branch)
	if err != nil {
		return err
	}
	if exists {
		old, err := main.Resolve(ctx, "refs/heads/"+n.Branch)
		if err != nil {
			return err
		}
		merged, err := main.IsAncestor(ctx, old, n.Start)
		if err != nil {
			return err
		}
		if merged && old != n.Start && (isOwnBranch(n.Branch) || isChild(n.Path)) {
			if err := main.UpdateRef(ctx, "refs/heads/"+n.Branch, n.Start, old); err != nil {
				return err
			}
		}
		n.Start = ""
	}

	if err := os.MkdirAll(m.Base, 0o755); err != nil {
		return &formats.Failure{Code: formats.CodeIO, Err: err}
	}
	return main.WorktreeAdd(ctx, n)
}

// isOwnBranch reports whether a branch has a name of tercet, so that it may be moved, and deleted
// once merged.
func isOwnBranch(branch string) bool {
	return strings.HasPrefix(branch, taskPrefix) || strings.HasPrefix(branch, runPrefix)
}

// ownsWorktree reports whether a worktree is in the folder for worktrees.
func (m *Manager) ownsWorktree(dir string) bool {
	within := func(base, dir string) bool {
		rel, err := filepath.Rel(base, dir)
		return err == nil && rel != "." && filepath.IsLocal(rel)
	}
	base, err := filepath.EvalSymlinks(m.Base)
	if full, derr := filepath.EvalSymlinks(dir); err == nil && derr == nil {
		return within(base, full)
	}
	return within(m.Base, dir) || within(base, dir)
}

// CheckMoved fails if a worktree of the run is no longer linked to the repository, as after the
// project was moved or copied. The help of the error says how to link it again.
func (m Repository) CheckMoved(run string) error {
	entries, err := os.ReadDir(m.Trees.Base)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &formats.Failure{Code: formats.CodeIO, Err: err}
	}

	var repairs []string
	original := ""
	for _, entry := range entries {
		isRun := entry.Name() == run || strings.HasPrefix(entry.Name(), run+".")
		top := filepath.Join(m.Trees.Base, entry.Name())
		_, err := os.Lstat(filepath.Join(top, ".git"))
		removed := errors.Is(err, fs.ErrNotExist) // it will be recreated
		if !isRun || removed || git.IsLinkedWorktree(top, m.Trees.Root) {
			continue
		}
		original = git.LinkedWorktreePath(top)
		file, text := m.Trees.Git(m.Trees.Root).WorktreeLink(top)
		repairs = append(repairs, fmt.Sprintf("echo %s > %s && git -C %s worktree repair %s",
			Quoted(text), Quoted(file), Quoted(m.Trees.Root), Quoted(top)))
	}

	if len(repairs) == 0 {
		return nil
	}
	if _, err := os.Stat(original); err == nil && !m.Trees.ownsWorktree(original) {
		return formats.Fail(formats.CodePrecondition,
			"resume it there",
			"run %s belongs to the project that this one was copied from: its worktree is %s", run,
			original)
	}
	return formats.Fail(formats.CodeSuspended, strings.Join(repairs, " && "),
		"the worktree of run %s is not linked to the repository any more, as after the project "+
			"was moved",
		run)
}

// CheckTree fails if the worktree of a run is gone, or belongs to the project from which this one
// was copied.
func (m Repository) CheckTree(dir string) error {
	if dir == m.Trees.Root {
		return nil
	}
	// Without a repository git reports the problem.
	linked := git.IsLinkedWorktree(dir, m.Trees.Root) || !m.Trees.Git(m.Trees.Root).Exists()
	if _, err := os.Stat(dir); err == nil && m.Trees.ownsWorktree(dir) && linked {
		return nil
	}
	return formats.Fail(formats.CodePrecondition,
		"its commits are on its branch: git branch --list 'task/*' 'tercet/*'; type its line "+
			"with --new to begin anew",
		"the worktree of the run is gone, or is not of this project: %s", dir)
}

// WasRemoved reports whether dir was the worktree of a run in this project, and a user removed it.
func (m Repository) WasRemoved(dir, run string) bool {
	_, err := os.Lstat(filepath.Join(m.Trees.treePath(run, ""), ".git"))
	return dir != "" && m.Trees.ownsWorktree(dir) && errors.Is(err, fs.ErrNotExist)
}

// Recreate recreates a missing worktree. A branch that was deleted too begins at head, its last
// known commit. note tells the user what was done.
func (m Repository) Recreate(ctx context.Context, s Spec, head string) (note string, err error) {
	defer setCode(&err, formats.CodePrecondition)
	note = "the worktree of run " + s.Run + " was removed: it is made again from branch " + s.Branch
	main := m.Trees.Git(m.Trees.Root)
	exists, err := main.BranchExists(ctx, s.Branch)
	if err == nil && !exists {
		note += fmt.Sprintf(", which was deleted, at commit %.12s", head)
		if err = main.CreateBranch(ctx, s.Branch, head); errors.Is(err, git.ErrNoCommit) {
			err = formats.Fail(formats.CodePrecondition,
				"give it up: tercet cancel "+s.Run,
				"the worktree of run %s was removed, and its branch %s with all its commits", s.Run,
				s.Branch)
		}
	}
	if err == nil {
		_, err = m.Trees.Open(ctx, s)
	}
	return note, err
}

// isSameWorktree reports whether two paths name one worktree, although links may lead to it.
func (m *Manager) isSameWorktree(dir, place string) bool {
	return dir == place || m.ownsWorktree(dir) && filepath.Base(dir) == filepath.Base(place)
}

// Message is the message of a commit, and which files go into it.
type Message struct {
	Subject string
	Session string // trailer; empty: none
	Txn     string // trailer; empty: none; a commit that has it is not repeated
	// First means that no process can have made the commit, so it is not looked for.
	First bool
	// CoAuthor is the trailer Co-Authored-By, "Name <address>"; empty: none.
	CoAuthor string
	// Only lists the files to commit, relative to dir; nil: everything that changed. Unchanged
	// files are ignored.
	Only []string
}

func (m Message) trailers() []git.Trailer {
	var list []git.Trailer
	if m.Session != "" {
		list = append(list, git.Trailer{Key: TrailerSession, Value: m.Session})
	}
	if m.Txn != "" {
		list = append(list, git.Trailer{Key: TrailerTxn, Value: m.Txn})
	}
	if m.CoAuthor != "" {
		list = append(list, git.Trailer{Key: "Co-Authored-By", Value: m.CoAuthor})
	}
	return list
}

// CommitResult is the result of a commit in a worktree.
type CommitResult struct {
	Hash  string     // empty: there was nothing to commit
	Files []string   // relative to the folder that was named
	Stats []git.Stat // of these files
}

// Commit commits every change in the worktree at dir outside the workspace folder, by name. It
// ignores what was staged before.
func (m *Manager) Commit(
	ctx context.Context,
	dir string,
	msg Message,
) (done CommitResult, err error) {
	defer setCode(&err, formats.CodeGitCommitFailed)
	repo := m.Git(dir)
	result := func(hash string) (CommitResult, error) {
		c := CommitResult{Hash: hash}
		var err error
		c.Files, c.Stats, err = m.changedFileStats(ctx, repo, hash+"~1", hash)
		return c, err
	}
	// earlierCommit is the commit of this transaction that an earlier process made.
	earlierCommit := func() (CommitResult, error) {
		if msg.Txn == "" || msg.First {
			return CommitResult{}, nil
		}
		hash, err := repo.CommitByTrailer(ctx, git.Trailer{Key: TrailerTxn, Value: msg.Txn})
		if err != nil || hash == "" {
			return CommitResult{}, err
		}
		return result(hash)
	}

	done, err = earlierCommit()
	if err != nil || done.Hash != "" {
		return done, err
	}

	work, err := m.uncommittedWork(ctx, repo)
	if err == nil && msg.Only != nil {
		err = work.keepOnly(ctx, repo, msg.Only)
	}
	switch {
	case err != nil:
		return CommitResult{}, err
	case len(work.files) == 0: // the git of a killed process may have committed meanwhile
		return earlierCommit()
	}

	err = repo.Add(ctx, work.files...)
	if err == nil {
		err = m.refuseSecrets(ctx, repo, "", "")
	}
	var hash string
	if err == nil {
		hash, err = repo.Commit(ctx, msg.Subject, msg.trailers()...)
	}
	// Nothing is staged if the git of a killed process has committed it, or if git's settings undo
	// the change, such as one of line ends.
	if errors.Is(err, git.ErrNothingStaged) {
		return earlierCommit()
	}
	if err != nil {
		return CommitResult{}, err
	}
	return result(hash)
}

// uncommittedFiles is the uncommitted work in a worktree.
type uncommittedFiles struct {
	files  []string // relative to the top of the worktree
	nested []string // repositories inside, which a commit cannot hold
	staged bool     // something was staged, and is not any more
}

// keepOnly keeps only the named files, which are relative to the folder of repo.
func (w *uncommittedFiles) keepOnly(ctx context.Context, repo *git.Repo, only []string) error {
	_, rel, err := repo.Locate(ctx)
	if err != nil {
		return err
	}
	w.files = slices.DeleteFunc(w.files, func(file string) bool {
		return !slices.ContainsFunc(only, func(o string) bool {
			return path.Join(filepath.ToSlash(rel), o) == filepath.ToSlash(file)
		})
	})
	return nil
}

// CheckCommitted fails if a worktree of tercet at dir has uncommitted work, which closing would
// only save.
func (m *Manager) CheckCommitted(ctx context.Context, dir string) (err error) {
	defer setCode(&err, formats.CodeIO)
	if !m.ownsWorktree(dir) {
		return nil
	}
	work, err := m.uncommittedWork(ctx, m.Git(dir))
	if err != nil || len(work.files) == 0 {
		return err
	}
	return formats.Fail(formats.CodePrecondition,
		"commit or publish before this step: a step with publish, or git-workflow-manager with "+
			"action: commit",
		"the task is not completed: its worktree has work that no step committed: %s",
		joinFirst(work.files))
}

// uncommittedWork lists the uncommitted changes outside the workspace folder, after resetting the
// index to HEAD.
func (m *Manager) uncommittedWork(
	ctx context.Context, repo *git.Repo,
) (w uncommittedFiles, err error) {
	top, rel, err := repo.Locate(ctx)
	if err != nil {
		return w, err
	}

	entries, err := repo.StatusPorcelain(ctx)
	w.staged = slices.ContainsFunc(entries, func(e git.Entry) bool {
		return !strings.ContainsAny(e.Code[:1], " ?")
	})
	if w.staged {
		err = repo.Unstage(ctx)
		if err == nil {
			entries, err = repo.StatusPorcelain(ctx)
		}
	}
	if err != nil {
		return w, err
	}

	for _, e := range entries {
		for _, p := range []string{e.Path, e.Orig} {
			switch {
			case p == "" || isInWorkspace(m.Specs, rel, p):
			case strings.HasSuffix(p, "/"):
				w.nested = append(w.nested, p)
			default:
				w.files = append(w.files, p)
			}
		}
	}

	slices.Sort(w.files)

	// Changes inside a submodule are not in git's list.
	modules, err := repo.Submodules(ctx)
	for _, sub := range modules {
		inside, err := os.ReadDir(filepath.Join(top, filepath.FromSlash(sub)))
		if err == nil && len(inside) > 0 {
			w.nested = append(w.nested, sub+"/")
		}
	}

	return w, err
}

// isInWorkspace reports whether p, relative to the top, is in the workspace of the project at rel,
// or in its folder of documents.
func isInWorkspace(specs, rel, p string) bool {
	for _, name := range []string{formats.Workspace, specs} {
		w := path.Join(filepath.ToSlash(rel), name)
		if name != "" && (p == w || strings.HasPrefix(p, w+"/")) {
			return true
		}
	}
	return false
}

// changedFiles lists the files that differ between two commits, relative to Dir of repo, sorted.
func (m *Manager) changedFiles(
	ctx context.Context, repo *git.Repo, from, to string,
) ([]string, error) {
	files, _, err := m.changedFileStats(ctx, repo, from, to)
	return files, err
}

// changedFileStats is changed with the number of lines of each file.
func (m *Manager) changedFileStats(
	ctx context.Context,
	repo *git.Repo,
	from, to string,
) (files []string, stats []git.Stat, err error) {
	_, rel, err := repo.Locate(ctx)
	if err != nil {
		return nil, nil, err
	}
	stats, err = repo.DiffStat(ctx, from, to)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range stats {
		p, err := filepath.Rel(rel, filepath.FromSlash(s.Path))
		if err != nil {
			return nil, nil, err
		}
		files = append(files, filepath.ToSlash(p))
	}
	slices.Sort(files)
	return files, stats, nil
}
