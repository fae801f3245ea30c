package worktree

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tercet/formats"
	"tercet/internal/git"
)

// ConflictError means that two branches changed the same places. Nothing was changed.
type ConflictError struct {
	Branch, To string
	Files      []string // relative to the top of the repository
}

// Error implements error.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s conflicts with %s in %s", e.Branch, e.To, strings.Join(e.Files, ", "))
}

// ErrorCode is REJECTED: the merge ran, and its answer is no.
func (e *ConflictError) ErrorCode() formats.Code { return formats.CodeRejected }

// Help says what to do next.
func (e *ConflictError) Help() string {
	return fmt.Sprintf("git switch %s && git merge %s, resolve it by hand and commit; then run it again", e.To, e.Branch)
}

// NotCleanError means that the target's checkout has changes; checkout and target were left alone.
type NotCleanError struct {
	Branch, To string
	Files      []string // relative to the top of the repository; empty if git reported the obstacle
	Err        error    // git's message, may be nil
}

// Error implements error.
func (e *NotCleanError) Error() string {
	if len(e.Files) == 0 {
		return fmt.Sprintf("the checkout of %s cannot take the merge: %v", e.To, e.Err)
	}
	return fmt.Sprintf("the checkout of %s is not clean: %s", e.To, firstOf(e.Files))
}

// Unwrap gives git's error.
func (e *NotCleanError) Unwrap() error { return e.Err }

// ErrorCode is PRECONDITION.
func (e *NotCleanError) ErrorCode() formats.Code { return formats.CodePrecondition }

// Help says what to do next.
func (e *NotCleanError) Help() string {
	if e.Err != nil {
		_, said, _ := strings.Cut(e.Err.Error(), "Unable to create '")
		if lock, _, locked := strings.Cut(said, ".lock'"); locked {
			lock = Quoted(lock + ".lock")
			return fmt.Sprintf("if no git command runs there: rm %s; then on %s: git merge %s", lock, e.To, e.Branch)
		}
	}
	return fmt.Sprintf("commit or stash your changes, then on %s: git merge %s", e.To, e.Branch)
}

// code gives the error of a method that ends its place in the table of codes; other is that of one without.
func code(at *error, other formats.Code) {
	err := *at
	if err == nil {
		return
	}
	if _, ok := errors.AsType[formats.Coded](err); ok {
		return
	}
	f := &formats.Failure{Code: other, Err: err}
	var held *git.CheckedOutError
	var unfit *git.RemoteError
	switch {
	case errors.Is(err, context.Canceled):
		f.Code = formats.CodeCancelled
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, git.ErrTimeout):
		f.Code = formats.CodeTimeout
	case errors.Is(err, git.ErrNoRepo):
		f.Code, f.Message = formats.CodeConfig, "worktrees need a git repository"
		if f.Help = "run git init, then commit something"; errors.Is(err, git.ErrBare) {
			f.Help = "clone the repository without --bare, and work there"
		}
	case errors.Is(err, git.ErrMissing):
		f.Code, f.Help = formats.CodeToolUnavailable, "install git"
	case errors.As(err, &unfit):
		f.Code, f.Help = formats.CodePrecondition, unfit.Next
	case errors.As(err, &held):
		f.Code, f.Help = formats.CodePrecondition, "switch "+held.Path+" to another branch: git switch BRANCH"
	case errors.Is(err, git.ErrNoCommit):
		f.Code, f.Help = formats.CodeNotFound, "check the name of the branch"
	}
	*at = f
}

// firstOf names the first of a list and counts the others.
func firstOf(list []string) string {
	const shown = 5
	text := strings.Join(list[:min(shown, len(list))], ", ")
	if n := len(list) - shown; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
