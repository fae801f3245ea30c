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
func (e *ConflictError) ErrorCode() formats.Code {
	return formats.CodeRejected
}

// Help says what to do next.
func (e *ConflictError) Help() string {
	return fmt.Sprintf(
		"git switch %s && git merge %s, resolve it by hand and commit; then run it again",
		e.To, e.Branch,
	)
}

// NotCleanError means that the target's checkout has changes where the merge writes, or is in the
// middle of another operation. Checkout and target were not changed.
type NotCleanError struct {
	Branch, To string   // Branch is empty for an undo, which has no branch to merge by hand
	Files      []string // relative to the top of the repository; empty if git reported the obstacle
	Untracked  bool     // one of Files is not tracked: git stash leaves such a file where it is
	Operation  string   // the unfinished operation, such as "a merge is in progress"; empty: none
	Err        error    // git's message, may be nil
}

// Error implements error.
func (e *NotCleanError) Error() string {
	switch {
	case len(e.Files) > 0:
		return fmt.Sprintf("the checkout of %s has work where the merge writes: %s",
			e.To, joinFirst(e.Files))
	case e.Operation != "":
		return fmt.Sprintf("the checkout of %s cannot take the merge: %s", e.To, e.Operation)
	}
	return fmt.Sprintf("the checkout of %s cannot take the merge: %v", e.To, e.Err)
}

// Unwrap returns git's error.
func (e *NotCleanError) Unwrap() error {
	return e.Err
}

// ErrorCode is PRECONDITION.
func (e *NotCleanError) ErrorCode() formats.Code {
	return formats.CodePrecondition
}

// Help says what to do next.
func (e *NotCleanError) Help() string {
	return e.remedy() + e.nextCommand()
}

func (e *NotCleanError) remedy() string {
	if e.Err != nil {
		_, rest, _ := strings.Cut(e.Err.Error(), "Unable to create '")
		if lock, _, locked := strings.Cut(rest, ".lock'"); locked {
			return "if no git command runs there: rm " + Quoted(lock+".lock")
		}
	}
	switch {
	case e.Untracked:
		return "commit these files, or move them away"
	case e.Operation != "":
		return "finish it or abort it, as git status says"
	case len(e.Files) == 0:
		return "move away the files that git names"
	}
	return "commit or stash your changes"
}

func (e *NotCleanError) nextCommand() string {
	if e.Branch == "" {
		return "; then run it again"
	}
	return fmt.Sprintf("; then on %s: git merge %s", e.To, e.Branch)
}

// setCode gives *errp a code, and help if there is some, unless it has a code. It is deferred by
// exported methods. fallback is the code of errors of no special kind.
func setCode(errp *error, fallback formats.Code) {
	err := *errp
	if err == nil {
		return
	}

	if _, ok := errors.AsType[formats.Coded](err); ok {
		return
	}

	f := &formats.Failure{Code: fallback, Err: err}
	var checkedOut *git.CheckedOutError
	var remote *git.RemoteError
	var irregular *git.IrregularError
	var brokenLink *git.BrokenLinkError
	switch {
	case errors.Is(err, context.Canceled):
		f.Code = formats.CodeCancelled
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, git.ErrTimeout):
		f.Code = formats.CodeTimeout
	case errors.As(err, &brokenLink):
		f.Code = formats.CodeConfig
		f.Help = "put the repository back, or remove " + brokenLink.Path
	case errors.Is(err, git.ErrNoRepo):
		f.Code = formats.CodeConfig
		f.Message = "worktrees need a git repository"
		f.Help = "run git init, then commit something"
		if errors.Is(err, git.ErrBare) {
			f.Help = "clone the repository without --bare, and work there"
		}
	case errors.Is(err, git.ErrNotInstalled):
		f.Code = formats.CodeToolUnavailable
		f.Help = "install git"
	case errors.As(err, &remote):
		f.Code = formats.CodePrecondition
		f.Help = remote.Next
	case errors.As(err, &irregular):
		f.Code = formats.CodePrecondition
		f.Help = "remove it, or put the file back: rm " + Quoted(irregular.Path)
	case errors.As(err, &checkedOut):
		f.Code = formats.CodePrecondition
		f.Help = "switch " + checkedOut.Path + " to another branch: git switch BRANCH"
	case errors.Is(err, git.ErrNoCommit):
		f.Code = formats.CodeNotFound
		f.Help = "check the name of the branch"
	}

	*errp = f
}

// joinFirst joins the first five of a list and counts the others.
func joinFirst(list []string) string {
	const shown = 5
	text := strings.Join(list[:min(shown, len(list))], ", ")
	if n := len(list) - shown; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
