package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tercet/internal/order"
)

// Worktree is one working tree of a repository.
type Worktree struct {
	Path   string
	Head   string // hash
	Branch string // short name; empty if detached
	Bare   bool
}

// NewWorktree is the input of WorktreeAdd.
type NewWorktree struct {
	Path   string // absolute; must be missing or empty
	Branch string // empty: a detached HEAD at Start
	Start  string // start of a new Branch; empty: Branch exists
}

// WorktreeAdd creates a working tree and checks its files out.
func (r *Repo) WorktreeAdd(ctx context.Context, n NewWorktree) error {
	if !filepath.IsAbs(n.Path) {
		return badName("absolute path", n.Path)
	}
	if n.Branch != "" {
		if err := CheckBranch(n.Branch); err != nil {
			return err
		}
	}

	args := []string{"worktree", "add", "--quiet", "--no-checkout"}
	var revs []string
	if n.Start != "" {
		revs = []string{n.Start}
	}
	switch {
	case n.Branch == "" && n.Start == "":
		return badName("branch or revision", "")
	case n.Branch == "":
		args = append(args, "--detach", "--", n.Path, n.Start)
	case n.Start == "":
		args = append(args, "--", n.Path, n.Branch)
	default:
		args = append(args, "--no-track", "-b", n.Branch, "--", n.Path, n.Start)
	}

	if err := r.addWithRetries(ctx, n, args, revs); err != nil {
		return err
	}

	// The files are checked out in a second step from inside the new tree: configuration can depend
	// on a branch or a folder, and its filters are visible only there.
	tree := &Repo{Starter: r.Starter, Dir: n.Path, Cache: r.Cache}
	_, _, err := tree.runInTree(ctx, call{args: []string{"reset", "--quiet", "--hard"}})
	if err == nil {
		err = tree.backdate(ctx)
	}
	if err != nil {
		return errors.Join(err, r.WorktreeRemove(ctx, n.Path))
	}
	return nil
}

// addWithRetries creates the working tree without its files. It repeats an attempt that raced with
// another process.
func (r *Repo) addWithRetries(ctx context.Context, n NewWorktree, args, revs []string) error {
	_, _, err := r.runInTree(ctx, call{
		args:        args,
		revs:        revs,
		sideEffects: true,
	})
	for attempt := 1; isWorktreeRace(err) && attempt < maxRaceAttempts; attempt++ {
		// The failed attempt may have created the branch.
		now, failed := r.Resolve(ctx, "refs/heads/"+n.Branch)
		if n.Branch != "" && n.Start != "" && failed == nil {
			if want, failed := r.Resolve(ctx, n.Start); failed == nil && now == want {
				args = []string{
					"worktree", "add", "--quiet", "--no-checkout", "--", n.Path, n.Branch,
				}
				revs = nil
			}
		}
		_, _, err = r.runInTree(ctx, call{
			args:        args,
			revs:        revs,
			sideEffects: true,
		})
	}
	return err
}

// minBackdatedFiles is the number of files from which backdating pays: git reads fewer of them
// again sooner than they are backdated.
const minBackdatedFiles = 50

// backdate gives the files of a new working tree a time before that of its index. git compares the
// two in seconds, and reads a file with the same time again at every call, because it may have
// changed after the index was written. All files of a new working tree would be such files.
func (r *Repo) backdate(ctx context.Context) error {
	out, err := r.read(ctx, "ls-files", "-z")
	if err != nil {
		return err
	}
	names := records(out)
	if len(names) < minBackdatedFiles {
		return nil
	}

	own, _ := gitDirs(r.Dir)
	index, err := os.Stat(filepath.Join(own, "index"))
	if err != nil {
		return err
	}
	before := index.ModTime().Add(-2 * time.Second)
	for _, name := range names {
		file := filepath.Join(r.Dir, filepath.FromSlash(name))
		info, err := os.Lstat(file)
		if err != nil || !info.Mode().IsRegular() {
			continue // a link, a submodule, or a file that is not checked out
		}
		if err := os.Chtimes(file, before, before); err != nil {
			return err
		}
	}

	_, _, err = r.runInTree(ctx, call{
		args:    []string{"update-index", "-q", "--refresh"},
		okExits: []int{1}, // a filter that is not run makes a file differ
	})
	return err
}

// Worktrees lists all working trees of the repository, the main one first, the others by path.
func (r *Repo) Worktrees(ctx context.Context) ([]Worktree, error) {
	out, err := r.read(ctx, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, err
	}
	list, err := parseWorktrees(out)
	if err != nil || len(list) == 0 {
		return list, err
	}
	if !list[0].Bare {
		list[0].Path, err = r.mainWorktreePath(ctx, list[0].Path)
		if err != nil {
			return nil, err
		}
	}
	order.Stable(list[1:], func(a, b Worktree) int {
		return strings.Compare(a.Path, b.Path)
	})
	return list, nil
}

// mainWorktreePath returns the main working tree. git assumes the folder that contains the
// repository, which is wrong if .git is a link or a file that leads elsewhere. The path of a tree
// that only its own .git knows stays as git has it.
func (r *Repo) mainWorktreePath(ctx context.Context, path string) (string, error) {
	own, common := gitDirs(r.Dir)
	if own == common {
		return r.Toplevel(ctx)
	}
	if path != common {
		return path, nil
	}
	// submodules set this
	set, _, err := r.run(ctx, call{args: []string{"config", "core.worktree"}, okExits: []int{1}})
	tree := trimLine(set)
	if tree == "" || filepath.IsAbs(tree) {
		return cmp.Or(tree, path), err
	}
	return filepath.Join(common, tree), err
}

// WorktreeOfBranch returns the working tree that has a branch checked out; empty if none.
func (r *Repo) WorktreeOfBranch(ctx context.Context, branch string) (path string, err error) {
	trees, err := r.Worktrees(ctx)
	for _, w := range trees {
		if w.Branch == branch && !w.Bare {
			path = w.Path
		}
	}
	return path, err
}

// WorktreeRemove removes an unlocked working tree with all its content. The caller must check that
// no work is lost.
func (r *Repo) WorktreeRemove(ctx context.Context, path string) error {
	args := []string{"worktree", "remove", "--force", "--", path}
	// force twice: git locks a half-created worktree
	if _, locked := (&Repo{Dir: path}).WorktreeLock(); !locked {
		args = slices.Insert(args, 2, "--force")
	}
	_, _, err := r.runInTree(ctx, call{args: args})
	if err == nil || !strings.Contains(err.Error(), "failed to delete") {
		return err
	}
	// Git also forgets a working tree if another process, such as the git of a killed run, wrote
	// into it meanwhile.
	list, lerr := r.Worktrees(ctx)
	if lerr != nil || slices.ContainsFunc(list, func(w Worktree) bool { return w.Path == path }) {
		return err
	}
	return os.RemoveAll(path)
}

// RemoveStaleLocks removes the locks that a killed git left in what belongs to a run: linked
// worktrees whose names begin with the run's, their branches, and refs with it in their names.
// Nothing else works there now. A git that outlived its killed parent and that proc.OrphanedGits
// cannot see has two seconds to end.
func (r *Repo) RemoveStaleLocks(run string) (err error) {
	_, common := gitDirs(r.Dir)
	if common == "" {
		return nil
	}

	var locks []string
	files := os.DirFS(common)
	err = fs.WalkDir(files, "refs", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".lock") && strings.Contains(name, run) {
			locks = append(locks, filepath.Join(common, name))
		}
		return nil // it may have been removed meanwhile
	})

	trees, globErr := fs.Glob(files, "worktrees/"+run+"*")
	err = errors.Join(err, globErr)
	for _, tree := range trees {
		tree = filepath.Join(common, tree)
		locks = append(locks, filepath.Join(tree, "index.lock"), filepath.Join(tree, "HEAD.lock"))
		branch, ok := strings.CutPrefix(
			strings.TrimSpace(readSmall(filepath.Join(tree, "HEAD"))),
			"ref: "+branchPrefix,
		)
		if ok && filepath.IsLocal(branch) {
			locks = append(locks, filepath.Join(common, branchPrefix, branch+".lock"))
		}
	}

	for range 20 {
		locks = slices.DeleteFunc(locks, func(lock string) bool {
			_, err := os.Lstat(lock)
			return os.IsNotExist(err)
		})
		if len(locks) == 0 {
			return err
		}
		<-time.After(100 * time.Millisecond)
	}

	for _, lock := range locks {
		if gone := os.Remove(lock); !os.IsNotExist(gone) { // a path may be listed twice
			err = errors.Join(err, gone)
		}
	}

	return err
}

// WorktreePrune forgets working trees whose folders are missing.
func (r *Repo) WorktreePrune(ctx context.Context) error {
	_, common := gitDirs(r.Dir)
	_, err := os.Lstat(filepath.Join(common, "worktrees"))
	if common != "" && os.IsNotExist(err) {
		return nil
	}
	_, err = r.read(ctx, "worktree", "prune", "--expire=now")
	return err
}

// Merge is the result of MergeInWorktree.
type Merge struct {
	Commit string // HEAD afterwards
	// Conflicts are paths that both sides changed; the merge was then aborted and Commit is the old
	// HEAD
	Conflicts []string
}

// MergeInWorktree merges commit rev into the checkout at Dir, always with a merge commit. Conflicts
// are not an error.
func (r *Repo) MergeInWorktree(
	ctx context.Context,
	rev, text string,
	trailers ...Trailer,
) (Merge, error) {
	msg, err := commitMessage(text, trailers)
	if err != nil {
		return Merge{}, err
	}

	hash, err := r.Resolve(ctx, rev)
	if err != nil {
		return Merge{}, err
	}
	before, err := r.Head(ctx)
	if err != nil {
		return Merge{}, err
	}

	config, err := r.configuration(ctx)
	if err != nil {
		return Merge{}, err
	}
	args := []string{
		"merge", "--quiet", "--no-ff", "--no-edit", "--no-verify", "--no-gpg-sign", "--no-stat",
		"--no-autostash", "--no-rerere-autoupdate", "--strategy=ort", "--cleanup=whitespace", "-m",
		msg, hash,
	}
	_, exit, err := r.runInTree(ctx, call{
		args:    args,
		config:  config.identity,
		okExits: []int{1},
	})
	if err != nil {
		return Merge{}, err
	}
	if exit != 0 {
		return r.abortMerge(ctx, before, args)
	}

	after, err := r.Head(ctx)
	return Merge{Commit: after}, err
}

// abortMerge collects the conflicts of a merge that stopped and aborts it.
func (r *Repo) abortMerge(ctx context.Context, before string, mergeArgs []string) (Merge, error) {
	args := append(diffArgs(), "--name-only", "--diff-filter=U", "-z")
	out, _, err := r.runInTree(ctx, call{args: args})
	if err != nil {
		return Merge{}, err
	}

	m := Merge{Commit: before, Conflicts: slices.Compact(records(out))}
	if len(m.Conflicts) == 0 {
		return Merge{}, &Error{
			Argv:   append([]string{"git"}, mergeArgs...),
			Exit:   1,
			Stderr: "the merge stopped without a conflict",
			Dir:    r.Dir,
		}
	}
	_, _, err = r.runInTree(ctx, call{args: []string{"merge", "--abort"}})
	return m, err
}

// FastForward moves the branch checked out at Dir, with its files, to commit rev. The error is
// ErrNotFastForward if the branch has commits of its own, and an *Error if local changes or ignored
// files are in the way.
func (r *Repo) FastForward(ctx context.Context, rev string) error {
	hash, err := r.Resolve(ctx, rev)
	if err != nil {
		return err
	}
	isAhead, err := r.IsAncestor(ctx, "HEAD", hash)
	if err != nil {
		return err
	}
	if !isAhead {
		return fmt.Errorf("%w: %s", ErrNotFastForward, rev)
	}

	_, _, err = r.runInTree(ctx, call{args: []string{
		"merge", "--quiet", "--ff-only", "--no-stat", "--no-autostash", "--no-overwrite-ignore",
		hash,
	}})
	head, headErr := r.Head(ctx)
	if err != nil && headErr == nil && head != hash {
		// A lock of the branch stops git only after it has updated the files, so put them back. If
		// git has not updated them, this changes nothing.
		undo := []string{"read-tree", "-m", "-u", hash, head}
		_, _, undoErr := r.runInTree(ctx, call{args: undo})
		err = errors.Join(err, undoErr)
	}
	return err
}
