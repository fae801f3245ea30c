// Package checks detects the checks of a project, runs one, and parses its output into issues.
//
// It promises that only the project's files decide which checks exist. A check runs as an argument
// list with the user's caches and a private temporary folder. A failed check has at least one
// issue. It installs nothing, does not choose among the checks, and does not judge a project
// without checks.
//
// Everything in it is safe for concurrent use.
package checks

import (
	"context"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/proc"
)

// Stack is a family of tools.
type Stack string

// The stacks, in the order of Detect.
const (
	Go     Stack = "go"
	Node   Stack = "node"
	Rust   Stack = "rust"
	Python Stack = "python"
	Lean   Stack = "lean"
	Make   Stack = "make"
)

// Stacks lists every stack.
func Stacks() []Stack {
	return []Stack{Go, Node, Rust, Python, Lean, Make}
}

func (s Stack) String() string {
	return string(s)
}

// ParseStack parses a stack; an unknown word is a *formats.ValueError.
func ParseStack(word string) (Stack, error) {
	return parseWord("stack", word, Stacks())
}

func parseWord[T ~string](what, word string, set []T) (T, error) {
	var want []string
	for _, one := range set {
		if string(one) == word {
			return one, nil
		}
		want = append(want, string(one))
	}
	return "", &formats.ValueError{
		What: what,
		Got:  word,
		Want: want,
	}
}

// Kind is the purpose of a check.
type Kind string

// The kinds, in the order of Detect.
const (
	Lint  Kind = "lint"
	Build Kind = "build"
	Test  Kind = "test"
)

// Kinds lists every kind.
func Kinds() []Kind {
	return []Kind{Lint, Build, Test}
}

// String is the word as it stands in `project:`.
func (k Kind) String() string {
	return string(k)
}

// ParseKind parses a kind; an unknown word is a *formats.ValueError.
func ParseKind(word string) (Kind, error) {
	return parseWord("kind of check", word, Kinds())
}

// Check is one command that tests a project.
type Check struct {
	Stack Stack
	Kind  Kind
	Argv  []string
}

// String is the command as a user would type it, for messages only.
func (c Check) String() string {
	return strings.Join(c.Argv, " ")
}

// Result is the result of a check.
type Result struct {
	Check   Check
	Passed  bool
	Exit    int             // exit code; -1 if stopped
	Issues  []formats.Issue // at most MaxIssues; at least one after a failure
	Dropped int             // number of issues beyond MaxIssues
	// standard output, then standard error, safe for a terminal, cut in the middle
	Output   string
	TimedOut bool
	Duration time.Duration
	Sandbox  string // tier of the sandbox, empty without one
}

// Confine puts a check into a sandbox and names the tier. Its error says why the check must not
// run.
type Confine func(ctx context.Context, dir string, c proc.Command) (proc.Command, string, error)

// MaxIssues bounds the issues of one check.
const MaxIssues = 100

// MaxOutput bounds Result.Output, in bytes.
const MaxOutput = 64 << 10

// maxDescription is the most characters of an issue's description.
const maxDescription = 500
