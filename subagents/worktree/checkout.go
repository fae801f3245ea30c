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

// CheckoutCommit is the result of a commit in the user's checkout.
type CheckoutCommit struct {
	Hash  string   // empty: no commit
	Files []string // files of the commit, relative to the project root
	Why   string   // why there is no commit, although there were changes
	After string   // what remains to be done after the commit
}

// ownFiles are tercet's own files that are committed in the checkout if git tracks them.
var ownFiles = []string{
	formats.Workspace + "/state.json",
	formats.Workspace + "/archive/state.json",
	formats.Workspace + "/TODO.md",
}

// IsOwnFile reports whether a file, relative to the project root, belongs to the project's state.
// It is committed in the checkout only if git tracks it; otherwise there is no message.
func IsOwnFile(name string) bool {
	return slices.Contains(ownFiles, path.Clean(name))
}

// maxCheckoutAttempts bounds the attempts of a commit if the user's branch moves meanwhile.
const maxCheckoutAttempts = 3

// CommitInCheckout commits exactly the files msg.Only in the user's checkout, if that cannot touch
// the user's own work. It requires a branch, no operation in progress, and nothing staged. No file
// may be ignored, a link, in a submodule, or changed by the user before the run. Otherwise it
// commits nothing, and Why says why. It uses its own index and moves the branch only from the
// commit that it saw. It does not repeat a commit with msg.Txn.
func (m *Manager) CommitInCheckout(
	ctx context.Context,
	run string,
	msg Message,
) (done CheckoutCommit, err error) {
	defer setCode(&err, formats.CodeGitCommitFailed)
	repo := m.Git(m.Root)
	if !repo.Exists() {
		return CheckoutCommit{Why: "the project is in no git repository"}, nil
	}

	c := checkoutCommitter{
		m:    m,
		repo: repo,
		run:  run,
		msg:  msg,
	}
	c.top, c.rel, err = repo.Locate(ctx)
	if errors.Is(err, git.ErrNotInstalled) {
		return CheckoutCommit{Why: "git is not installed"}, nil
	} else if err != nil {
		return CheckoutCommit{}, err
	}

	c.topRoot, err = os.OpenRoot(c.top)
	if err != nil {
		return CheckoutCommit{}, err
	}
	defer func() { err = errors.Join(err, c.topRoot.Close()) }()
	for range maxCheckoutAttempts {
		done, err = c.commitOnce(ctx)
		if _, stale := errors.AsType[*git.StaleError](err); !stale {
			return done, err
		}
	}

	return CheckoutCommit{Why: "the branch moved with every attempt"}, nil
}

// checkoutCommitter is one call of CommitInCheckout. Paths are relative to the top of the
// repository.
type checkoutCommitter struct {
	m        *Manager
	repo     *git.Repo
	topRoot  *os.Root // top of the repository
	top, rel string
	run      string
	msg      Message
	branch   string
	head     string
}

// commitOnce makes the commit once, on an index of its own. The error is a *git.StaleError if the
// branch moved meanwhile.
func (c *checkoutCommitter) commitOnce(ctx context.Context) (CheckoutCommit, error) {
	if c.msg.Txn != "" && !c.msg.First {
		hash, err := c.repo.CommitByTrailer(ctx, git.Trailer{Key: TrailerTxn, Value: c.msg.Txn})
		if err != nil || hash != "" {
			return c.finishCommit(ctx, hash, err)
		}
	}
	why, err := c.obstacle(ctx)
	if err != nil || why != "" {
		return CheckoutCommit{Why: why}, err
	}

	files, why, err := c.filesToCommit(ctx)
	if err != nil || why != "" || len(files) == 0 {
		return CheckoutCommit{Why: why}, err
	}
	index, err := c.m.runFilePath(c.run, "commit.index")
	if err != nil {
		return CheckoutCommit{}, err
	}

	private := &git.Repo{
		Starter: c.repo.Starter,
		Dir:     c.repo.Dir,
		Index:   index,
		Cache:   c.repo.Cache,
	}
	defer func() { _ = os.Remove(index) }() //nolint:errcheck // reason: the next commit rewrites it
	if err := private.ReadTree(ctx, c.head); err != nil {
		return CheckoutCommit{}, err
	}

	if err := private.Add(ctx, files...); err != nil {
		return CheckoutCommit{}, err
	}
	if staged, err := private.HasStaged(ctx); err != nil || !staged {
		return CheckoutCommit{}, err
	}

	if err := c.m.refuseSecrets(ctx, private, "", ""); err != nil {
		return CheckoutCommit{}, err
	}
	tree, err := private.WriteTree(ctx)
	if err != nil {
		return CheckoutCommit{}, err
	}

	hash, err := c.repo.CommitTree(ctx, tree, []string{c.head}, c.msg.Subject, c.msg.trailers()...)
	if err != nil {
		return CheckoutCommit{}, err
	}
	if err := c.repo.UpdateRef(ctx, "refs/heads/"+c.branch, hash, c.head); err != nil {
		return CheckoutCommit{}, err
	}
	return c.finishCommit(ctx, hash, nil)
}

// obstacle says why nothing can be committed in the checkout, whichever files.
func (c *checkoutCommitter) obstacle(ctx context.Context) (why string, err error) {
	c.branch, err = c.repo.CurrentBranch(ctx)
	if err != nil {
		return "", err
	}
	if c.branch == "" {
		return "the checkout is on no branch", nil
	}

	c.head, err = c.repo.Head(ctx)
	if errors.Is(err, git.ErrNoCommit) {
		return "branch " + c.branch + " has no commit yet", nil
	}
	if why = c.repo.OperationInProgress(); err != nil || why != "" {
		return why, err
	}
	if staged, err := c.repo.HasStaged(ctx); err != nil || staged {
		return "other changes are staged", err
	}
	return "", nil
}

// CheckoutWarning says what in the user's checkout can block a later merge of a run's work and is
// not in the run's worktree: an unfinished operation of git, a detached HEAD, and changes of
// tracked files. It is empty if there is nothing.
func (m *Manager) CheckoutWarning(ctx context.Context) (warning string, err error) {
	defer setCode(&err, formats.CodeIO)
	repo := m.Git(m.Root)
	if what := repo.OperationInProgress(); what != "" {
		return "in your checkout " + what + ": the run cannot be published before it is over", nil
	}
	branch, err := repo.CurrentBranch(ctx)
	if err != nil {
		return "", err
	}
	if branch == "" {
		return "your checkout is on no branch: the work cannot be merged before you switch to " +
			"one, unless the step that publishes it names a branch", nil
	}

	_, rel, err := repo.Locate(ctx)
	if err != nil {
		return "", err
	}
	entries, err := repo.StatusPorcelain(ctx)
	if err != nil {
		return "", err
	}

	var changed []string
	for _, e := range entries {
		if !e.IsUntracked() && !isInWorkspace(m.Specs, rel, e.Path) {
			changed = append(changed, e.Path)
		}
	}

	if len(changed) == 0 {
		return "", nil
	}
	return fmt.Sprintf(
		"your checkout has uncommitted changes: %s; the run works without them, and cannot be "+
			"published if it changes the same files",
		joinFirst(changed),
	), nil
}

// filesToCommit are the files to commit. tercet's own files count only if git tracks them.
func (c *checkoutCommitter) filesToCommit(
	ctx context.Context,
) (files []string, why string, err error) {
	for _, name := range c.msg.Only {
		file := path.Join(filepath.ToSlash(c.rel), path.Clean(name))
		switch {
		case !filepath.IsLocal(filepath.FromSlash(name)):
			return nil, "", &formats.ValueError{What: "a path inside the project", Got: name}
		case !IsOwnFile(name) && isInWorkspace(c.m.Specs, c.rel, file) &&
			!isDocument(c.m.Specs, path.Clean(name)):
			return nil, "", &formats.ValueError{What: "a document", Got: name}
		}
		files = append(files, file)
	}

	tracked, err := c.repo.Files(ctx, c.head, files...)
	if err != nil {
		return nil, "", err
	}
	var before []string
	if _, err := c.m.loadRunFile(c.run, checkoutChangesName, &before); err != nil {
		return nil, "", err
	}

	files = slices.DeleteFunc(files, func(file string) bool {
		name, err := filepath.Rel(c.rel, filepath.FromSlash(file))
		if err != nil || !IsOwnFile(filepath.ToSlash(name)) {
			return false
		}
		_, statErr := c.topRoot.Lstat(filepath.FromSlash(file))
		return tracked[file] == "" || errors.Is(statErr, fs.ErrNotExist)
	})
	if len(files) == 0 {
		return nil, "", nil
	}

	for _, file := range files {
		if what := c.fileProblem(file, tracked[file] != ""); what != "" {
			return nil, file + " " + what, nil
		}
		if slices.Contains(before, file) {
			return nil, file + " was changed before the run began", nil
		}
	}

	ignored, err := c.repo.IgnoredFiles(ctx, files...)
	if err == nil && len(ignored) > 0 {
		why = joinFirst(ignored) + " is ignored by git"
	}
	return files, why, err
}

// isDocument reports whether a file of the workspace is a document that belongs to the project.
func isDocument(specs, name string) bool {
	return strings.HasPrefix(name, formats.Specs+"/") ||
		strings.HasPrefix(name, formats.Workspace+"/reviews/") ||
		specs != "" && strings.HasPrefix(name, specs+"/")
}

// fileProblem says what about its location and type prevents a file from being committed.
func (c *checkoutCommitter) fileProblem(file string, tracked bool) string {
	for at := file; ; at = path.Dir(at) {
		info, err := c.topRoot.Lstat(filepath.FromSlash(at))
		switch {
		case errors.Is(err, fs.ErrNotExist) && tracked: // deleted
		case errors.Is(err, fs.ErrNotExist):
			return "is not there"
		case err != nil:
			return "cannot be read: " + err.Error()
		case info.Mode()&fs.ModeSymlink != 0 && at == file:
			return "is a link"
		case info.Mode()&fs.ModeSymlink != 0:
			return "lies behind the link " + at
		case at == file && !info.Mode().IsRegular():
			return "is no regular file"
		}
		if path.Dir(at) == "." {
			return ""
		}
		if _, err := c.topRoot.Lstat(filepath.FromSlash(path.Dir(at) + "/.git")); err == nil {
			return "lies in the repository " + path.Dir(at)
		}
	}
}

// finishCommit updates the entries of the user's index to a new commit, if they are still as before
// it. Otherwise they would look like staged changes that revert it.
func (c *checkoutCommitter) finishCommit(
	ctx context.Context, hash string, err error,
) (CheckoutCommit, error) {
	if err != nil {
		return CheckoutCommit{}, err
	}
	names, err := c.repo.DiffPaths(ctx, hash+"~1", hash)
	if err != nil {
		return CheckoutCommit{}, err
	}

	done := CheckoutCommit{Hash: hash}
	for _, name := range names {
		below, err := filepath.Rel(c.rel, filepath.FromSlash(name))
		if err != nil {
			return CheckoutCommit{}, err
		}
		done.Files = append(done.Files, filepath.ToSlash(below))
	}

	if err := c.refreshIndex(ctx, hash, names); err != nil {
		done.After = fmt.Sprintf(
			"git could not take the commit into its index (%v): run git reset -- %s",
			err, strings.Join(names, " "),
		)
	}
	return done, nil
}

func (c *checkoutCommitter) refreshIndex(
	ctx context.Context, hash string, names []string,
) (err error) {
	// The entries of the files in the parent, in the commit, in HEAD and in the index.
	var entries [4]map[string]string
	for i, rev := range []string{hash + "~1", hash, "HEAD", ""} {
		entries[i], err = c.repo.Files(ctx, rev, names...)
		if err != nil {
			return err
		}
	}
	parent, commit, head, index := entries[0], entries[1], entries[2], entries[3]

	stale := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return head[name] != commit[name] || index[name] != parent[name]
	})
	if len(stale) == 0 {
		return nil
	}
	return c.repo.Reset(ctx, stale...)
}
