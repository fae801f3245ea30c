package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

const branchPrefix = "refs/heads/"

// Add stages the current state of the named paths, deletions included. Paths are relative to the
// top and never patterns. Without paths it does nothing.
func (r *Repo) Add(ctx context.Context, paths ...string) error {
	if len(paths) == 0 {
		return nil
	}
	_, _, err := r.runInTree(ctx, call{
		args: []string{
			"add", "--all", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul",
		},
		stdin: []byte(strings.Join(paths, "\x00")),
	})
	return err
}

// Unstage sets the index to HEAD and leaves the working tree alone.
func (r *Repo) Unstage(ctx context.Context) error {
	_, _, err := r.runInTree(ctx, call{args: []string{"reset", "--quiet", "--mixed"}})
	return err
}

// Trailer is a line `Key: Value` at the end of a commit message.
type Trailer struct {
	Key, Value string
}

// commitMessage joins text and trailers. Trailers are a last paragraph of their own, the only one
// where git reads them.
func commitMessage(text string, trailers []Trailer) (string, error) {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(text))
	if b.Len() == 0 {
		return "", badName("commit message", text)
	}
	b.WriteString("\n")
	for i, t := range trailers {
		if err := checkTrailer(t); err != nil {
			return "", err
		}
		if i == 0 {
			b.WriteString("\n")
		}
		b.WriteString(t.Key + ": " + t.Value + "\n")
	}
	return b.String(), nil
}

func checkTrailer(t Trailer) error {
	isInvalid := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-'
	}
	if t.Key == "" || t.Key[0] == '-' || strings.ContainsFunc(t.Key, isInvalid) {
		return badName("trailer key", t.Key)
	}
	if strings.TrimSpace(t.Value) != t.Value || t.Value == "" ||
		strings.ContainsFunc(t.Value, unicode.IsControl) {
		return badName("trailer value", t.Value)
	}
	return nil
}

// Commit commits the staged changes and returns the hash. It runs no hook and signs nothing. The
// error is ErrNothingStaged if nothing is staged.
func (r *Repo) Commit(ctx context.Context, text string, trailers ...Trailer) (string, error) {
	msg, err := commitMessage(text, trailers)
	if err != nil {
		return "", err
	}

	// git would end an unfinished merge with a commit, changes or not.
	if r.OperationInProgress() != "" {
		if staged, err := r.HasStaged(ctx); err != nil || !staged {
			return "", cmp.Or(err, ErrNothingStaged)
		}
	}

	config, err := r.configuration(ctx)
	if err != nil {
		return "", err
	}

	args := []string{
		"commit", "--quiet", "--no-verify", "--no-gpg-sign", "--no-status", "--cleanup=whitespace",
		"--file=-",
	}
	_, _, err = r.runInTree(ctx, call{
		args:   args,
		stdin:  []byte(msg),
		config: config.identity,
	})
	if err != nil {
		if staged, serr := r.HasStaged(ctx); serr == nil && !staged {
			return "", ErrNothingStaged
		}
		return "", err
	}
	return r.Head(ctx)
}

// HasStaged reports whether the index differs from HEAD, intent-to-add entries included.
func (r *Repo) HasStaged(ctx context.Context) (bool, error) {
	_, exit, err := r.runInTree(ctx, call{
		args: []string{
			"diff", "--cached", "--quiet", "--ita-visible-in-index", "--no-ext-diff",
			"--no-textconv", "--ignore-submodules=none",
		},
		okExits: []int{1},
	})
	return exit == 1, err
}

// CommitByTrailer returns the newest commit on any branch with exactly this trailer; empty if there
// is none.
func (r *Repo) CommitByTrailer(ctx context.Context, t Trailer) (string, error) {
	if err := checkTrailer(t); err != nil {
		return "", err
	}

	// Only refs and this HEAD: while git creates a worktree, the HEAD of that is no commit yet.
	out, err := r.read(
		ctx, "log", "-z",
		"--single-worktree",
		"--all",
		"--no-show-signature",
		"--fixed-strings",
		"--grep="+t.Key+": "+t.Value,
		"--format=%H%x00%(trailers:key="+t.Key+",valueonly,unfold,separator=%x0A)",
		"--",
	)
	if err != nil {
		return "", err
	}

	f := fields(out)
	for i := 0; i+1 < len(f); i += 2 {
		if slices.Contains(strings.Split(f[i+1], "\n"), t.Value) {
			return f[i], nil
		}
	}
	return "", nil
}

// BranchExists reports whether a branch exists.
func (r *Repo) BranchExists(ctx context.Context, name string) (bool, error) {
	if err := CheckBranch(name); err != nil {
		return false, err
	}
	hash, err := r.refHash(ctx, branchPrefix+name)
	return hash != "", err
}

// Branches lists the branches that begin with prefix, sorted.
func (r *Repo) Branches(ctx context.Context, prefix string) ([]string, error) {
	list, err := r.listBranches(ctx, nil)
	return slices.DeleteFunc(list, func(name string) bool {
		return !strings.HasPrefix(name, prefix)
	}), err
}

// BranchesContaining lists the branches that contain commit rev, sorted.
func (r *Repo) BranchesContaining(ctx context.Context, rev string) ([]string, error) {
	return r.listBranches(ctx, []string{rev}, "--contains="+rev)
}

func (r *Repo) listBranches(
	ctx context.Context, revs []string, filters ...string,
) ([]string, error) {
	args := append(
		[]string{"for-each-ref", "--sort=refname", "--format=%(refname:lstrip=2)"},
		filters...,
	)
	out, _, err := r.run(ctx, call{args: append(args, branchPrefix), revs: revs})
	return strings.Fields(string(out)), err // a ref name has no white space
}

// SetHead switches the working tree of Dir to an existing branch and leaves files and index alone.
func (r *Repo) SetHead(ctx context.Context, branch string) error {
	exists, err := r.BranchExists(ctx, branch)
	if err != nil {
		return err
	}
	if !exists {
		return fmt.Errorf("%w: %s", ErrNoCommit, branch)
	}
	_, err = r.read(ctx, "symbolic-ref", "HEAD", branchPrefix+branch)
	return err
}

func (r *Repo) refHash(ctx context.Context, ref string) (string, error) {
	if hash, ok := r.refInFiles(ref); ok {
		return hash, nil
	}
	out, _, err := r.run(ctx, call{
		args:    []string{"rev-parse", "--verify", "--quiet", "--end-of-options", ref},
		okExits: []int{1},
	})
	return trimLine(out), err
}

// CreateBranch creates a branch at start without checking it out. If it exists, the error is a
// *StaleError.
func (r *Repo) CreateBranch(ctx context.Context, name, start string) error {
	if err := CheckBranch(name); err != nil {
		return err
	}
	hash, err := r.Resolve(ctx, start)
	if err != nil {
		return err
	}
	return r.UpdateRef(ctx, branchPrefix+name, hash, "")
}

// DeleteBranch deletes a branch that still points to commit old, merged or not. A moved branch is a
// *StaleError, a checked-out one a *CheckedOutError.
func (r *Repo) DeleteBranch(ctx context.Context, name, old string) error {
	if err := CheckBranch(name); err != nil {
		return err
	}
	if err := checkRev(old); err != nil {
		return err
	}

	path, err := r.WorktreeOfBranch(ctx, name)
	if err == nil && path != "" {
		err = &CheckedOutError{Branch: name, Path: path}
	}
	if err != nil {
		return err
	}

	_, err = r.read(ctx, "update-ref", "-d", branchPrefix+name, old)
	return r.asStaleError(ctx, err, branchPrefix+name, old)
}

// UpdateRef moves ref, a full name, to commit to, if it still points to old; an empty old means
// that ref must not exist. Otherwise the error is a *StaleError. It does not update a worktree that
// has the branch checked out.
func (r *Repo) UpdateRef(ctx context.Context, ref, to, old string) error {
	if name, ok := strings.CutPrefix(ref, "refs/"); !ok || CheckBranch(name) != nil {
		return badName("full ref name", ref)
	}
	if err := checkRev(to); err != nil {
		return err
	}

	expect := old
	if expect == "" {
		expect = strings.Repeat("0", len(to))
	} else if err := checkRev(old); err != nil {
		return err
	}
	_, err := r.read(ctx, "update-ref", "--no-deref", ref, to, expect)
	return r.asStaleError(ctx, err, ref, old)
}

// asStaleError turns the error of a refused ref update into a *StaleError if the ref had moved.
func (r *Repo) asStaleError(ctx context.Context, err error, ref, old string) error {
	if _, ok := errors.AsType[*Error](err); !ok {
		return err
	}
	now, readErr := r.refHash(ctx, ref)
	if readErr != nil || now == old {
		return errors.Join(err, readErr)
	}
	return &StaleError{
		Ref:      ref,
		Expected: old,
		Actual:   now,
	}
}
