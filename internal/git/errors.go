package git

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNoRepo says that a folder is not inside a git repository.
var ErrNoRepo = errors.New("not a git repository")

// ErrNoCommit says that a name stands for no commit, or that there is no commit yet.
var ErrNoCommit = errors.New("no such commit")

// ErrNothing says that there was nothing staged to commit.
var ErrNothing = errors.New("nothing to commit")

// ErrNotFastForward says that a branch has commits that the other one lacks.
var ErrNotFastForward = errors.New("not a fast-forward")

// ErrConflict says that a commit cannot be taken back: what it changed was changed since.
var ErrConflict = errors.New("conflict")

// ErrTimeout says that git was stopped because it took too long.
var ErrTimeout = errors.New("git took too long")

// ErrMissing says that there is no git program. It wraps the *proc.NotFoundError.
var ErrMissing = errors.New("git is not installed")

// ErrTooMuch says that git printed more than is read.
var ErrTooMuch = errors.New("git printed too much")

// Error says that git ended with an exit code that is no answer. Err is one of the sentinels of this package or nil.
type Error struct {
	Argv   []string
	Exit   int
	Stderr string
	Dir    string
	Err    error
}

// Error implements error. It names the git command and the last thing that git said.
func (e *Error) Error() string {
	what := cmp.Or(strings.Join(e.Argv[:min(1, len(e.Argv))], ""), "git")
	rest := e.Argv[min(1, len(e.Argv)):]
	if i := slices.IndexFunc(rest, func(a string) bool { return !strings.HasPrefix(a, "-") }); i >= 0 {
		what += " " + rest[i]
	}
	said := e.Stderr
	if i := strings.LastIndexByte(said, '\n'); i >= 0 {
		said = said[i+1:]
	}
	switch {
	case e.Err != nil:
		return fmt.Sprintf("%s: %v: %s", what, e.Err, e.Dir)
	case said == "":
		return fmt.Sprintf("%s: exit %d", what, e.Exit)
	}
	return fmt.Sprintf("%s: exit %d: %s", what, e.Exit, said)
}

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error { return e.Err }

// StaleError says that a ref was not where the caller expected it, so it was not moved. An empty hash means no ref.
type StaleError struct {
	Ref, Expected, Actual string
}

// Error implements error.
func (e *StaleError) Error() string {
	return fmt.Sprintf("%s moved: expected %s, got %s", e.Ref, cmp.Or(e.Expected, "none"), cmp.Or(e.Actual, "none"))
}

// CheckedOutError says that a branch is in use by a worktree.
type CheckedOutError struct {
	Branch, Path string
}

// Error implements error.
func (e *CheckedOutError) Error() string {
	return fmt.Sprintf("branch %s is checked out in %s", e.Branch, e.Path)
}

// notA says that a name cannot be used as what.
func notA(what, name string) error { return fmt.Errorf("expected a %s, got %q", what, name) }

// odd says that git printed something that is not understood.
func odd(command, want, got string) error {
	return fmt.Errorf("output of git %s: expected %s, got %q", command, want, got)
}

// RemoteError says why nothing can be pushed.
type RemoteError struct{ Message, Next string }

// Error implements error.
func (e *RemoteError) Error() string { return e.Message }

// RefusedError says that a remote took the push and declined it.
type RefusedError struct{ Branch, Remote, Said string }

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s does not take branch %s: %s", e.Remote, e.Branch, e.Said)
}

// NoIssueError says that there is no issue of a number that this person may see.
type NoIssueError struct {
	Number int
	At     string // the repository
}

// Error implements error.
func (e *NoIssueError) Error() string {
	return fmt.Sprintf("%s has no issue %d that you may see", e.At, e.Number)
}
