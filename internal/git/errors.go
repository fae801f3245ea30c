package git

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// ErrNoRepo means that a folder is not inside a git repository.
var ErrNoRepo = errors.New("not a git repository")

// ErrBare means that a repository has no working tree. It is an ErrNoRepo.
var ErrBare = fmt.Errorf("%w with files", ErrNoRepo)

// ErrNoCommit means that a revision is not a commit, or that there is no commit yet.
var ErrNoCommit = errors.New("no such commit")

// ErrNothingStaged means that nothing is staged.
var ErrNothingStaged = errors.New("nothing to commit")

// ErrNotFastForward means that a branch has commits that the other one lacks.
var ErrNotFastForward = errors.New("not a fast-forward")

// ErrConflict means that a commit cannot be reverted, because its changes were changed since.
var ErrConflict = errors.New("conflict")

// ErrTimeout means that git took too long and was stopped.
var ErrTimeout = errors.New("git took too long")

// ErrNotInstalled means that git is not installed. It wraps the *proc.NotFoundError.
var ErrNotInstalled = errors.New("git is not installed")

// ErrOutputTooLarge means that git's output exceeds the limit.
var ErrOutputTooLarge = errors.New("git printed too much")

// Error reports an unexpected exit code of git. Err is one of the sentinels of this package or nil.
type Error struct {
	Argv   []string
	Exit   int
	Stderr string
	Dir    string
	Err    error
}

// Error names the git command and git's last message.
func (e *Error) Error() string {
	what := cmp.Or(strings.Join(e.Argv[:min(1, len(e.Argv))], ""), "git")
	rest := e.Argv[min(1, len(e.Argv)):]
	i := slices.IndexFunc(rest, func(a string) bool {
		return !strings.HasPrefix(a, "-")
	})
	if i >= 0 {
		what += " " + rest[i]
	}
	message := e.Stderr[strings.LastIndexByte(e.Stderr, '\n')+1:]
	// advice may follow
	if at := max(strings.Index(e.Stderr, "fatal: "), strings.Index(e.Stderr, "error: ")); at >= 0 {
		message, _, _ = strings.Cut(e.Stderr[at:], "\n")
	}
	switch {
	case e.Err != nil:
		return fmt.Sprintf("%s: %v: %s", what, e.Err, e.Dir)
	case message == "":
		return fmt.Sprintf("%s: exit %d", what, e.Exit)
	}
	return fmt.Sprintf("%s: exit %d: %s", what, e.Exit, message)
}

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error {
	return e.Err
}

// StaleError means that a ref had moved, so it was not changed. An empty hash means no ref.
type StaleError struct {
	Ref, Expected, Actual string
}

// Error implements error.
func (e *StaleError) Error() string {
	return fmt.Sprintf("%s moved: expected %s, got %s",
		e.Ref, cmp.Or(e.Expected, "none"), cmp.Or(e.Actual, "none"))
}

// CheckedOutError means that a worktree uses a branch.
type CheckedOutError struct {
	Branch, Path string
}

// Error implements error.
func (e *CheckedOutError) Error() string {
	return fmt.Sprintf("branch %s is checked out in %s", e.Branch, e.Path)
}

// badName is the error for a name that is not a valid what.
func badName(what, name string) error {
	return fmt.Errorf("expected a %s, got %q", what, name)
}

// badOutput is the error for output of git that is not understood.
func badOutput(command, want, got string) error {
	return fmt.Errorf("output of git %s: expected %s, got %q", command, want, got)
}

// RemoteError says why a push is impossible.
type RemoteError struct{ Message, Next string }

// Error implements error.
func (e *RemoteError) Error() string {
	return e.Message
}

// RefusedError means that a remote rejected the push.
type RefusedError struct{ Branch, Remote, Reason string }

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s does not take branch %s: %s", e.Remote, e.Branch, e.Reason)
}

// IsRemoteRejection reports whether the remote refuses the ref itself, whatever it points to.
func (e *RefusedError) IsRemoteRejection() bool {
	return strings.Contains(e.Reason, "[remote rejected]")
}

// NoIssueError means that the user can see no issue with a number.
type NoIssueError struct {
	Number int
	At     string // the repository
}

// Error implements error.
func (e *NoIssueError) Error() string {
	return fmt.Sprintf("%s has no issue %d that you may see", e.At, e.Number)
}

// IrregularError means that a pipe or a device is where git expects a file. git was not started,
// because it would block.
type IrregularError struct {
	Path string
	Mode fs.FileMode // its type
}

// Error implements error.
func (e *IrregularError) Error() string {
	what := "a device"
	switch {
	case e.Mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case e.Mode&fs.ModeSocket != 0:
		what = "a socket"
	}
	return fmt.Sprintf("%s is not a regular file but %s", e.Path, what)
}

// BrokenLinkError means that a .git leads to no repository.
type BrokenLinkError struct {
	Path string // the .git
	To   string // where it leads; Path itself if it is a folder
}

// Error implements error.
func (e *BrokenLinkError) Error() string {
	if e.To == e.Path {
		return e.Path + " is no repository"
	}
	return fmt.Sprintf("%s leads to no repository: %s", e.Path, e.To)
}

// Is makes it an ErrNoRepo.
func (e *BrokenLinkError) Is(target error) bool {
	return target == ErrNoRepo
}

// TooLargeError means that a commit holds more than it may.
type TooLargeError struct{ Limit Bounds }

// Error implements error.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("expected at most %d files and %d bytes, got more",
		e.Limit.Files, e.Limit.Bytes)
}
