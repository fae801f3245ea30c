package worktree

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/git"
)

// RefWatch is a snapshot of the refs of dir's repository before a worker runs.
type RefWatch struct {
	m           *Manager
	repo        *git.Repo
	before      git.Refs
	ownTree     bool // dir is a worktree of tercet
	isCommitted func(txn string) bool
}

// WatchRefs takes the snapshot before a worker starts.
func (m *Manager) WatchRefs(dir string) (*RefWatch, error) {
	repo := m.Git(dir)
	before, err := repo.Refs()
	ownTree := strings.HasPrefix(dir, m.Base+string(filepath.Separator))
	return &RefWatch{
		m:           m,
		repo:        repo,
		before:      before,
		ownTree:     ownTree,
		isCommitted: m.TrackCommits(),
	}, err
}

// checkTimeout bounds the check of what git runs.
const checkTimeout = 30 * time.Second

// Guard checks what git runs, and the refs, before a worker starts; the returned function checks
// again after its end. It reports a change of the former to tamper. Without a repository there is
// nothing to check.
func (w *RefWatch) Guard(
	ctx context.Context, r formats.Request, tamper func(what string) error,
) (func() ([]formats.Moved, error), error) {
	before, err := w.repo.Fingerprint(ctx)
	if err != nil || before == nil {
		return func() ([]formats.Moved, error) { return nil, nil }, err
	}
	return func() ([]formats.Moved, error) {
		// Check a cancelled run too.
		checkCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout)
		defer cancel()
		now, err := w.repo.Fingerprint(checkCtx)
		if err == nil && now == nil {
			err = git.ErrNoRepo
		}
		changed := before.Changes(now)
		if err != nil {
			changed = []string{"something so that it cannot be read any more: " + err.Error()}
		}
		if len(changed) > 0 {
			err = tamper(strings.Join(changed, ", "))
		}
		if err != nil {
			return nil, err
		}
		return w.Check(ctx, r)
	}, nil
}

// Check finds the refs that moved while a worker ran. It ignores tercet's own changes: new names of
// existing commits, commits that a journal knows, and branches with saved work. It also ignores
// deleted branches whose commits another branch has. It restores the branch and HEAD of the run's
// worktree, keeps their new commits below refs/tercet/stray, and returns DENIED. The user may have
// moved any other ref: it returns those, and marks branches that lost nothing.
func (w *RefWatch) Check(ctx context.Context, r formats.Request) ([]formats.Moved, error) {
	ctx = context.WithoutCancel(ctx) // restore the branch of a canceled run too
	now, err := w.repo.Refs()
	if err != nil {
		return nil, err
	}

	ownRef, _ := strings.CutPrefix(w.before[git.OwnHead], "ref: ")
	var own, others []formats.Moved
	for _, c := range w.before.Changes(now) {
		isOwn := w.ownTree && (c.Ref == git.OwnHead || c.Ref == ownRef)
		explained, err := w.isExplained(ctx, c)
		switch {
		case err != nil:
			return nil, err
		case isOwn && (c.New == "" || !explained):
			own = append(own, formats.Moved{
				Ref: c.Ref,
				Old: c.Old,
				New: c.New,
			})
		case explained || strings.HasPrefix(c.Ref, "refs/remotes/"):
		default:
			forward, err := w.isFastForward(ctx, c)
			if err != nil {
				return nil, err
			}
			others = append(others, formats.Moved{
				Ref:     c.Ref,
				Old:     c.Old,
				New:     c.New,
				Forward: forward,
			})
		}
	}

	if len(own) == 0 {
		return others, nil
	}
	kept, err := RestoreRefs(ctx, w.m.Git(w.m.Root), w.repo, r.Run, own)
	return others, errors.Join(
		formats.Fail(formats.CodeDenied,
			"a subagent leaves its work in the files; the run commits it",
			"while %s worked, and not by tercet, %s: put back%s", r.Agent, formats.MovedText(own),
			kept),
		err,
	)
}

// isExplained reports whether tercet makes such a change, or it can lose nothing. A worker in the
// user's own checkout may commit to its branches and switch them.
func (w *RefWatch) isExplained(ctx context.Context, c git.RefChange) (bool, error) {
	if !strings.HasPrefix(c.Ref, "refs/") {
		return !w.ownTree, nil
	}
	switch {
	case c.New == "":
		holders, err := w.repo.BranchesContaining(ctx, c.Old)
		return len(holders) > 0, err
	case strings.HasPrefix(c.Ref, strayPrefix):
		return c.Old == "", nil
	case c.Old == "":
		for _, hash := range w.before {
			if hash == c.New {
				return true, nil
			}
		}
	default:
		if forward, err := w.repo.IsAncestor(ctx, c.Old, c.New); err != nil || !forward {
			return false, err
		}
	}
	if !w.ownTree || strings.HasPrefix(c.Ref, "refs/heads/"+wipPrefix) {
		return true, nil
	}

	// Any author can write a trailer, so each transaction must be one that a journal knows.
	txns, err := w.repo.Trailers(ctx, c.Old, c.New, TrailerTxn)
	hasForeign := slices.ContainsFunc(txns, func(txn string) bool {
		return txn == "" || !w.isCommitted(txn)
	})
	return !hasForeign, err
}

// isFastForward reports whether a branch gained commits and lost none. A branch of tercet never
// counts, because only tercet moves it.
func (w *RefWatch) isFastForward(ctx context.Context, c git.RefChange) (bool, error) {
	branch, isBranch := strings.CutPrefix(c.Ref, "refs/heads/")
	if !isBranch || c.Old == "" || c.New == "" || isOwnBranch(branch) ||
		strings.HasPrefix(branch, wipPrefix) {
		return false, nil
	}
	return w.repo.IsAncestor(ctx, c.Old, c.New)
}

const strayPrefix = "refs/tercet/stray/"

// RestoreRefs restores refs, each only if it is still where it was seen, and returns the names
// under which their commits are kept. The worker ran in tree; main is the checkout.
func RestoreRefs(
	ctx context.Context, main, tree *git.Repo, run string, list []formats.Moved,
) (kept string, err error) {
	for _, c := range list {
		name, isBranch := strings.CutPrefix(c.Old, "ref: refs/heads/")
		switch {
		case c.Ref == git.OwnHead && isBranch:
			err = errors.Join(err, tree.SetHead(ctx, name))
		case c.Ref == "HEAD" && isBranch:
			err = errors.Join(err, main.SetHead(ctx, name))
		case !strings.HasPrefix(c.Ref, "refs/") || c.Old == "":
			// A new ref takes nothing away.
		default:
			if main.UpdateRef(ctx, c.Ref, c.Old, c.Old) == nil {
				continue // already restored by a killed process
			}
			if c.New != "" {
				stray := strayPrefix + run + "/" + c.New[:min(12, len(c.New))]
				if main.UpdateRef(ctx, stray, c.New, c.New) != nil {
					if serr := main.UpdateRef(ctx, stray, c.New, ""); serr != nil {
						return kept, errors.Join(err, serr)
					}
				}
				kept += "; what it pointed to is kept as " + stray
			}
			err = errors.Join(err, main.UpdateRef(ctx, c.Ref, c.Old, c.New))
		}
	}

	return kept, err
}
