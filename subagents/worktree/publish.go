package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/git"
)

// maxPublishAttempts bounds the attempts of a merge if the target moves meanwhile.
const maxPublishAttempts = 3

// Target is where a worktree's work goes.
type Target struct {
	To      string // branch; empty: that of the user's checkout
	Session string // trailer of the merge; empty: none
	Txn     string // trailer of the merge; empty: none
	// As is empty for a merge. squash: one commit without the branch's own. patch: a series in the
	// run's folder. pr: push the branch and open a request.
	As      string
	Message string // commit message, and title of a request; empty: that of a merge
	Run     string // the run: its folder gets patches, its branch a child's work
	Child   bool   // bring the work to the run's branch, in the run's worktree
	Closes  int    // number of the issue that the work closes, 0: none
	// Push opens a request only if the repository's state has them; otherwise it only pushes the
	// branch.
	Push bool
}

// The ways to publish besides a merge.
const (
	AsSquash  = "squash"
	AsPatch   = "patch"
	AsRequest = "pr"
)

// PublishResult is what Publish did with the work of a worktree.
type PublishResult struct {
	To      string   // the target's branch
	Commit  string   // the merge; the target's commit if it had everything already
	Files   []string // changed files of the target, relative to the project root
	Message string   // one sentence for the user
	Patches []string // patch files, relative to the project root
	URL     string   // address of the request
	Skipped string   // why no request was opened although the branch was pushed
	Help    string   // the command that opens it
}

// Publish merges the branch of the worktree at dir into the target. It merges in a separate
// worktree, and moves the target only from the commit where the merge began. A checked-out target
// moves by fast-forward, so its checkout may hold other work, but not in the files that the merge
// writes. Conflicts are a *ConflictError, files in the way a *NotCleanError; both leave everything
// as it was.
func (m *Manager) Publish(
	ctx context.Context,
	dir string,
	target Target,
) (done PublishResult, err error) {
	defer setCode(&err, formats.CodeIO)
	p, err := m.publication(ctx, dir, target)
	if err != nil {
		return PublishResult{}, err
	}
	for range maxPublishAttempts {
		done, err = p.publishOnce(ctx)
		_, stale := errors.AsType[*git.StaleError](err)
		if !stale && !errors.Is(err, git.ErrNotFastForward) {
			done.To = p.to
			return done, err
		}
	}
	return PublishResult{}, formats.Fail(formats.CodeTransient,
		"run it again when the branch rests",
		"branch %s moved with every attempt to merge into it", p.to)
}

// publication is one call of Publish.
type publication struct {
	m        *Manager
	main     *git.Repo
	dir      string // of the worktree
	branch   string // the work
	tip      string // hash of its last commit
	to       string
	checkout string // folder where to is checked out, or empty
	msg      Message
	target   Target
}

// publication looks up the branches and commits that a publication is about. It changes nothing.
func (m *Manager) publication(
	ctx context.Context,
	dir string,
	t Target,
) (_ *publication, err error) {
	p := &publication{
		m:      m,
		main:   m.Git(m.Root),
		dir:    dir,
		to:     t.To,
		target: t,
	}

	repo := m.Git(dir)
	if t.Child {
		p.to, err = m.Git(m.treePath(t.Run, "")).CurrentBranch(ctx)
		if err != nil {
			return nil, err
		}
	}
	p.branch, err = repo.CurrentBranch(ctx)
	if err != nil {
		return nil, err
	}

	p.tip, err = repo.Head(ctx)
	if err != nil {
		return nil, err
	}
	if p.to == "" {
		p.to, err = p.main.CurrentBranch(ctx)
		if err != nil {
			return nil, err
		}
	}
	if p.to == "" {
		help := "take the work to a branch: git switch BRANCH && git merge " +
			cmp.Or(p.branch, p.tip)
		return nil, formats.Fail(formats.CodePrecondition, help, "the checkout is on no branch")
	}
	if p.branch == "" || p.branch == p.to {
		return nil, formats.Fail(formats.CodePrecondition, "",
			"expected a worktree on a branch other than %s, got %q", p.to, p.branch)
	}

	p.checkout, err = p.main.WorktreeOfBranch(ctx, p.to)
	if err != nil {
		return nil, err
	}
	p.msg = Message{
		Subject: cmp.Or(t.Message, "Merge branch '"+p.branch+"'"),
		Session: t.Session,
		Txn:     t.Txn,
	}
	if t.Closes > 0 && !t.Child {
		p.msg.Subject += fmt.Sprintf("\n\nCloses #%d", t.Closes)
	}
	return p, nil
}

// publishOnce merges once. *git.StaleError and git.ErrNotFastForward mean that the target moved
// meanwhile.
func (p *publication) publishOnce(ctx context.Context) (PublishResult, error) {
	old, err := p.main.Resolve(ctx, "refs/heads/"+p.to)
	if err != nil {
		return PublishResult{}, err
	}

	published, err := p.main.IsAncestor(ctx, p.tip, old)
	if err != nil {
		return PublishResult{}, err
	}
	if p.target.As == AsSquash && !published {
		hash, err := p.main.CommitByTrailer(ctx, git.Trailer{Key: TrailerSquash, Value: p.tip})
		if err != nil {
			return PublishResult{}, err
		}
		if hash != "" {
			published, err = p.main.IsAncestor(ctx, hash, old)
			if err != nil {
				return PublishResult{}, err
			}
		}
	}
	if published {
		return p.alreadyPublished(ctx, old)
	}
	if p.target.As == AsPatch || p.target.As == AsRequest {
		return p.publishUnmerged(ctx, old)
	}

	if err := p.m.refuseSecrets(ctx, p.m.Git(p.dir), old, p.tip); err != nil {
		return PublishResult{}, err
	}
	merged, err := p.merge(ctx, old)
	if err != nil {
		return PublishResult{}, err
	}
	if len(merged.Conflicts) > 0 {
		return PublishResult{}, &ConflictError{
			Branch: p.branch,
			To:     p.to,
			Files:  merged.Conflicts,
		}
	}
	if p.target.As == AsSquash {
		merged.Commit, err = p.squash(ctx, merged.Commit, old)
		if err != nil {
			return PublishResult{}, err
		}
	}

	out := PublishResult{Commit: merged.Commit, Message: p.summary()}
	if err := p.moveTarget(ctx, old, merged.Commit); err != nil {
		return PublishResult{}, err
	}

	out.Files, err = p.m.changedFiles(ctx, p.main, old, merged.Commit)
	return out, err
}

// alreadyPublished is the result if the target has the work already. Work of a killed attempt of
// the same call is reported as that attempt would have.
func (p *publication) alreadyPublished(ctx context.Context, old string) (PublishResult, error) {
	out := PublishResult{
		Commit:  old,
		Message: fmt.Sprintf("%s has everything of %s", p.to, p.branch),
	}
	if p.msg.Txn == "" {
		return out, nil
	}
	hash, err := p.main.CommitByTrailer(ctx, git.Trailer{Key: TrailerTxn, Value: p.msg.Txn})
	if err != nil || hash == "" || hash == p.tip {
		return out, err
	}
	if merged, err := p.main.IsAncestor(ctx, hash, old); err != nil || !merged {
		return out, err
	}
	out.Commit = hash
	out.Message = p.summary()
	out.Files, err = p.m.changedFiles(ctx, p.main, hash+"~1", hash)
	return out, err
}

// summary says what was published.
func (p *publication) summary() string {
	if p.target.As == AsSquash {
		return fmt.Sprintf("squashed %s into %s", p.branch, p.to)
	}
	return fmt.Sprintf("merged %s into %s", p.branch, p.to)
}

// squash makes one commit of the result of a merge.
func (p *publication) squash(ctx context.Context, merged, old string) (string, error) {
	tree, err := p.main.Tree(ctx, merged)
	if err != nil {
		return "", err
	}
	trailers := append(p.msg.trailers(), git.Trailer{Key: TrailerSquash, Value: p.tip})
	return p.main.CommitTree(ctx, tree, []string{old}, p.msg.Subject, trailers...)
}

// publishUnmerged publishes without changing the target.
func (p *publication) publishUnmerged(ctx context.Context, old string) (PublishResult, error) {
	base, err := p.main.MergeBase(ctx, old, p.tip)
	if err == nil {
		base = cmp.Or(base, old)
		err = p.m.refuseSecrets(ctx, p.m.Git(p.dir), base, p.tip)
	}
	switch {
	case err != nil:
		return PublishResult{}, err
	case p.target.As == AsRequest:
		return p.publishRequest(ctx, base)
	}
	return p.patches(ctx, base)
}

// patches writes the branch as a patch series into the folder of the run.
func (p *publication) patches(ctx context.Context, base string) (PublishResult, error) {
	const folderName = "patches"
	// Replace what a killed attempt wrote.
	err := p.m.withRunFolder(p.target.Run, "", func(root *os.Root, dir string) error {
		return root.RemoveAll(path.Join(dir, folderName))
	})
	if err != nil {
		return PublishResult{}, err
	}
	folder, err := p.m.runFilePath(p.target.Run, folderName)
	if err != nil {
		return PublishResult{}, err
	}
	names, err := p.m.Git(p.dir).Patches(ctx, folder, base, p.tip)
	out := PublishResult{Message: fmt.Sprintf("wrote %d patches to %s",
		len(names), path.Join(runFolder(p.target.Run), folderName))}
	for _, name := range names {
		out.Patches = append(out.Patches, path.Join(runFolder(p.target.Run), folderName, name))
	}
	return out, err
}

// blockingFiles lists the changed, staged and untracked files in the target's checkout that the
// merge, on top of old, would overwrite, relative to the top of the repository. Ignored files are
// left to git, which refuses to overwrite them.
func (p *publication) blockingFiles(ctx context.Context, old, merged string) ([]git.Entry, error) {
	// git itself preserves uncommitted files in the run's worktree
	if p.checkout == "" || p.target.Child {
		return nil, nil
	}
	_, rel, err := p.main.Locate(ctx)
	if err != nil {
		return nil, err
	}
	mergedFiles, err := p.main.DiffPaths(ctx, old, merged)
	if err != nil {
		return nil, err
	}
	entries, err := p.m.Git(p.checkout).StatusPorcelain(ctx)
	if err != nil {
		return nil, err
	}

	return slices.DeleteFunc(entries, func(e git.Entry) bool {
		if isInWorkspace(p.m.Specs, rel, e.Path) {
			return true
		}
		return !slices.ContainsFunc(mergedFiles, func(name string) bool {
			return pathsCollide(name, e.Path) || e.Orig != "" && pathsCollide(name, e.Orig)
		})
	}), nil
}

// pathsCollide reports whether two paths cannot both be files of one tree: they are equal, or one
// is a folder of the other.
func pathsCollide(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

// merge merges the work into old.
func (p *publication) merge(ctx context.Context, old string) (merged git.Merge, err error) {
	err = p.inTempTree(ctx, publishPrefix+p.target.Run, old, func(repo *git.Repo) (err error) {
		merged, err = repo.MergeInWorktree(ctx, p.tip, p.msg.Subject, p.msg.trailers()...)
		return err
	})
	return merged, err
}

// publishPrefix is the name prefix of the temporary worktrees of merges.
const publishPrefix = "publish-"

// inTempTree calls a function in a temporary worktree at a commit. All attempts share its name, so
// a leftover of a killed one is removed first.
func (p *publication) inTempTree(
	ctx context.Context,
	name, start string,
	do func(*git.Repo) error,
) (err error) {
	place := filepath.Join(p.m.Base, name)
	if err := errors.Join(os.MkdirAll(p.m.Base, 0o755), p.removeTempTree(ctx, place)); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, p.removeTempTree(context.WithoutCancel(ctx), place))
	}()

	if err := p.main.WorktreeAdd(ctx, git.NewWorktree{Path: place, Start: start}); err != nil {
		return err
	}
	return do(p.m.Git(place))
}

// removeTempTree removes a temporary worktree, even if git does not know it.
func (p *publication) removeTempTree(ctx context.Context, place string) error {
	trees, err := p.main.Worktrees(ctx)
	if err != nil {
		return err
	}
	isKnown := slices.ContainsFunc(trees, func(w git.Worktree) bool {
		return p.m.isSameWorktree(w.Path, place)
	})
	if isKnown {
		if err := p.main.WorktreeRemove(ctx, place); err != nil {
			return err
		}
	}
	return os.RemoveAll(place)
}

// moveTarget moves the target from old to merged.
func (p *publication) moveTarget(ctx context.Context, old, merged string) error {
	if p.checkout == "" {
		return p.main.UpdateRef(ctx, "refs/heads/"+p.to, merged, old)
	}
	blocking, err := p.blockingFiles(ctx, old, merged)
	if err != nil {
		return err
	}
	refused := &NotCleanError{Branch: p.branch, To: p.to}
	if len(blocking) > 0 {
		for _, e := range blocking {
			refused.Files = append(refused.Files, e.Path)
			refused.Untracked = refused.Untracked || e.IsUntracked()
		}
		return refused
	}

	checkout := p.m.Git(p.checkout)
	err = checkout.FastForward(ctx, merged)
	if e, ok := errors.AsType[*git.Error](err); ok {
		// An ignored file may be where the merge writes, or a merge may be in progress: nothing was
		// changed.
		refused.Err = e
		refused.Operation = checkout.OperationInProgress()
		return refused
	}
	return err
}
