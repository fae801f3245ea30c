// Package checks finds the checks that a project brings itself, runs one, and reads its output into issues.
//
// It promises that a check is found by the files of the project and nothing else, that it runs as an argument list with
// the user's caches and a private temporary folder, and that a check that failed has at least one issue. It installs
// nothing, chooses nothing among the checks that it found, and does not judge a project that has none.
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
	Make   Stack = "make"
)

// Stacks lists every stack.
func Stacks() []Stack { return []Stack{Go, Node, Rust, Python, Make} }

// String is the word as it stands in `--only`.
func (s Stack) String() string { return string(s) }

// ParseStack reads a stack; a word outside the set is a *formats.ValueError.
func ParseStack(word string) (Stack, error) { return parse("stack", word, Stacks()) }

func parse[T ~string](what, word string, set []T) (T, error) {
	var want []string
	for _, one := range set {
		if string(one) == word {
			return one, nil
		}
		want = append(want, string(one))
	}
	return "", &formats.ValueError{What: what, Got: word, Want: want}
}

// Kind is what a check looks after.
type Kind string

// The kinds, in the order of Detect.
const (
	Lint  Kind = "lint"
	Build Kind = "build"
	Test  Kind = "test"
)

// Kinds lists every kind.
func Kinds() []Kind { return []Kind{Lint, Build, Test} }

// String is the word as it stands in `project:`.
func (k Kind) String() string { return string(k) }

// ParseKind reads a kind; a word outside the set is a *formats.ValueError.
func ParseKind(word string) (Kind, error) { return parse("kind of check", word, Kinds()) }

// Check is one command that tells whether a project is well.
type Check struct {
	Stack Stack
	Kind  Kind
	Argv  []string
}

// String is the command as a person would type it, for messages only.
func (c Check) String() string { return strings.Join(c.Argv, " ") }

// Result is what a check said.
type Result struct {
	Check    Check
	Passed   bool
	Exit     int             // exit code; -1 if it was stopped
	Issues   []formats.Issue // at most MaxIssues; at least one if it did not pass
	Dropped  int             // issues beyond MaxIssues
	Output   string          // standard output, then standard error, cleaned for a terminal, shortened in the middle
	TimedOut bool
	Duration time.Duration
	Sandbox  string // the tier that it ran in, empty without bounds
}

// Confine puts the program of a check within bounds and names the tier. Its error says why the check must not run.
type Confine func(ctx context.Context, dir string, c proc.Command) (proc.Command, string, error)

// MaxIssues is the most issues of one check.
const MaxIssues = 100

// MaxOutput is the most bytes of Result.Output.
const MaxOutput = 64 << 10

// maxDescription is the most characters of an issue's description.
const maxDescription = 500
