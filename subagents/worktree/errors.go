package worktree

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tercet/formats"
	"tercet/internal/git"
)

// ConflictError says that two branches changed the same places. Nothing was changed.
type ConflictError struct {
	Branch, To string
	Files      []string // relative to the top of the repository
}

// Error implements error.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s conflicts with %s in %s", e.Branch, e.To, strings.Join(e.Files, ", "))
}

// ErrorCode is REJECTED: it was done, and the answer is no.
func (e *ConflictError) ErrorCode() formats.Code { return formats.CodeRejected }

// Help says what to do next.
func (e *ConflictError) Help() string {
	return fmt.Sprintf("resolve it by hand: git switch %s, git merge %s", e.To, e.Branch)
}

// NotCleanError says that the checkout of the target has changes, so it was left alone and so was the target.
type NotCleanError struct {
	Branch, To string
	Dir        string
	Files      []string // relative to the top of the repository; empty if git found what is in the way
	Err        error    // what git said, may be nil
}

// Error implements error.
func (e *NotCleanError) Error() string {
	if len(e.Files) == 0 {
		return fmt.Sprintf("the checkout of %s cannot take the merge: %v", e.To, e.Err)
	}
	const shown = 5
	names := strings.Join(e.Files[:min(shown, len(e.Files))], ", ")
	if n := len(e.Files) - shown; n > 0 {
		names += fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("the checkout of %s is not clean: %s", e.To, names)
}

// Unwrap returns what git said.
func (e *NotCleanError) Unwrap() error { return e.Err }

// ErrorCode is PRECONDITION.
func (e *NotCleanError) ErrorCode() formats.Code { return formats.CodePrecondition }

// MergeCommand is the command with which a person merges the work.
func (e *NotCleanError) MergeCommand() string { return "git merge " + e.Branch }

// Help says what to do next.
func (e *NotCleanError) Help() string {
	return fmt.Sprintf("commit or stash your changes, then on %s: %s", e.To, e.MergeCommand())
}

// coded gives an error of git its place in the table of codes.
func coded(err error) error { return codedAs(err, formats.CodeIO) }

// committing is coded for what happens while a commit is made.
func committing(err error) error { return codedAs(err, formats.CodeGitCommitFailed) }

func codedAs(err error, other formats.Code) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[formats.Coded](err); ok {
		return err
	}
	f := &formats.Failure{Code: other, Err: err}
	switch {
	case errors.Is(err, context.Canceled):
		f.Code = formats.CodeCancelled
		return f
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, git.ErrTimeout):
		f.Code = formats.CodeTimeout
		return f
	}
	if errors.Is(err, git.ErrNoRepo) {
		f.Code, f.Message = formats.CodeConfig, "worktrees need a git repository"
		f.Help = "run git init, then commit something"
		return f
	}
	if errors.Is(err, git.ErrMissing) {
		f.Code, f.Help = formats.CodeToolUnavailable, "install git"
		return f
	}
	if e, ok := errors.AsType[*git.CheckedOutError](err); ok {
		f.Code, f.Help = formats.CodePrecondition, "switch "+e.Path+" to another branch: git switch BRANCH"
		return f
	}
	if errors.Is(err, git.ErrNoCommit) {
		f.Code, f.Help = formats.CodeNotFound, "check the name of the branch"
		return f
	}
	return f
}
