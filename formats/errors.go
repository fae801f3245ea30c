package formats

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"tercet/internal/nearest"
)

// ValueError reports a word outside a closed set, such as an unknown task status. argspec matches
// it to offer the set.
type ValueError struct {
	What string   // the kind of value, "task status"
	Got  string   // the given word
	Want []string // the set
}

// Error states what was expected and got.
func (e *ValueError) Error() string {
	return fmt.Sprintf("expected %s, got %q", e.What, e.Got)
}

// Help names the closest word, or all words if the message does not list them.
func (e *ValueError) Help() string {
	help := nearest.Help(e.Got, e.Want)
	if help != "" || len(e.Want) == 0 || strings.Contains(e.What, e.Want[0]) {
		return help
	}
	words := e.What[strings.LastIndex(e.What, " ")+1:] + "s"
	if strings.HasSuffix(words, "ss") {
		words = strings.TrimSuffix(words, "s") + "es"
	}
	return "the " + words + " are " + strings.Join(e.Want, ", ")
}

// ErrorCode is USAGE.
func (e *ValueError) ErrorCode() Code {
	return CodeUsage
}

// OneOf parses a word of a closed set; any other word is a *ValueError.
func OneOf[T ~string](what, word string, set []T) (T, error) {
	if slices.Contains(set, T(word)) {
		return T(word), nil
	}
	return "", &ValueError{
		What: what,
		Got:  word,
		Want: Words(set),
	}
}

// HelpOneOf is the advice for a word outside a set.
func HelpOneOf(word string, set []string) string {
	return cmp.Or(nearest.Help(word, set), "use one of "+strings.Join(set, ", "))
}

// Words returns the words of a set as strings.
func Words[T ~string](set []T) []string {
	out := make([]string, len(set))
	for i, one := range set {
		out[i] = string(one)
	}
	return out
}

// Values returns the elements of a list as any values.
func Values[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// GateOpenError reports a gate without an answer: no terminal, no --yes, no auto label. interp
// matches it and suspends the run.
type GateOpenError struct {
	Gate Gate
	Left bool   // the user saw the question and did not answer
	Only string // why only an answer at the run's own terminal counts; empty: any counts
}

// Error states the open question.
func (e *GateOpenError) Error() string {
	if n := len(e.Gate.Votes); n > 0 {
		return fmt.Sprintf("gate %q has %s, and needs %d people",
			e.Gate.Question, Count(n, "answer"), e.Gate.Quorum)
	}
	if e.Only != "" {
		return fmt.Sprintf(
			"gate %q has no answer, and is answered only at the run's own terminal: %s",
			e.Gate.Question, e.Only,
		)
	}
	return fmt.Sprintf("gate %q has no answer", e.Gate.Question)
}

// ErrorCode is SUSPENDED: the run waits for the user.
func (e *GateOpenError) ErrorCode() Code {
	return CodeSuspended
}

// Help says how to answer.
func (e *GateOpenError) Help() string {
	if !slices.ContainsFunc(e.Gate.Choices, func(c Choice) bool { return c.Approves }) &&
		len(e.Gate.Choices) > 1 {
		labels := make([]string, len(e.Gate.Choices))
		for i, c := range e.Gate.Choices {
			labels[i] = c.Label
		}
		return "run it on a terminal and answer " + strings.Join(labels, " or ")
	}
	if digest := e.Gate.Trusted(); e.Gate.NeedsPerson && digest != "" {
		return "run it on a terminal, pass --yes to approve, or --trust sha256:" + digest +
			" to approve just this"
	}
	return "run it on a terminal, or pass --yes to approve"
}

// LaterError suspends a run: its file has a wait, an agent's usage limit is reached, or the user
// paused it.
type LaterError struct {
	Why   string
	Until time.Time // zero: no known time
}

// Error says what the run waits for, and until when.
func (e *LaterError) Error() string {
	if e.Until.IsZero() {
		return e.Why
	}
	return e.Why + " until " + e.Until.UTC().Format(time.DateTime) + " UTC"
}

// ErrorCode is SUSPENDED: the run waits.
func (e *LaterError) ErrorCode() Code {
	return CodeSuspended
}

// Failure is any error that no caller matches: a code, a message, advice, and a place if there is
// one.
type Failure struct { //nolint:errname // the word that codes and returns use
	Code    Code
	Message string
	Help    string // what to do next; may be empty
	File    string // with Pos: the place of the error; empty: no place
	Pos     Pos
	Err     error // the cause; may be nil, and callers may inspect it
}

// Fail makes a Failure; format and args make the message.
func Fail(code Code, help, format string, args ...any) *Failure {
	return &Failure{
		Code:    code,
		Message: fmt.Sprintf(format, args...),
		Help:    help,
	}
}

// Unset is the failure of a value that lacks a required field: a bug in tercet.
func Unset(what string) *Failure {
	return Fail(CodeBug, "", "expected %s, got nothing", what)
}

// OnFile is the failure of an operation on a file. Its code is that of the cause, or IO.
func OnFile(op, file string, err error) *Failure {
	code := CodeOf(err)
	if code == CodeUnknown {
		code = CodeIO
	}
	return &Failure{
		Code:    code,
		Message: op + " " + file,
		Err:     err,
	}
}

// Broken is the failure of a file or another thing that cannot be used.
func Broken(code Code, what string, err error, help ...string) *Failure {
	of, ok := errors.AsType[*fs.PathError](err)
	if ok && (strings.HasSuffix(what, of.Path) || strings.HasSuffix(of.Path, what)) {
		err = of.Err // the message has the name already
	}
	return &Failure{
		Code:    code,
		Message: what,
		Err:     err,
		Help:    strings.Join(help, " "),
	}
}

// Error is the place, if there is one, the message and the cause.
func (e *Failure) Error() string {
	text := e.Message
	switch {
	case e.Err != nil && text == "":
		text = e.Err.Error()
	case e.Err != nil:
		text += ": " + e.Err.Error()
	}

	if e.File == "" {
		return text
	}
	return Diagnostic{
		Code:    e.Code.String(),
		File:    e.File,
		Pos:     e.Pos,
		Message: text,
	}.Error()
}

// Unwrap returns the cause.
func (e *Failure) Unwrap() error {
	return e.Err
}

// ErrorCode names the failure in the table of codes.
func (e *Failure) ErrorCode() Code {
	return e.Code
}

// StoppedError ends a replay: the run was stopped at this point.
type StoppedError struct{ *Failure }

// InterruptedError means that a signal ends this process, or that the process closes the project.
// interp suspends the run, so that it can be resumed.
type InterruptedError struct {
	*Failure

	Why string // Postponed.Why of the run
}

// Interrupted makes an InterruptedError; what is "interrupted" or "terminated".
func Interrupted(what string) *InterruptedError {
	return interrupted(what, ReasonInterrupted)
}

// Closed makes the InterruptedError of a run whose process closes the project.
func Closed() *InterruptedError {
	return interrupted(ReasonClosed, ReasonClosed)
}

func interrupted(what, why string) *InterruptedError {
	return &InterruptedError{
		Failure: Fail(CodeCancelled,
			"what was finished is kept; run the command again to go on", "%s", what),
		Why: why,
	}
}

// Unwrap returns the Failure, which has the code.
func (e *InterruptedError) Unwrap() error {
	return e.Failure
}

// DivergedError reports that a replayed run differs from its journal. The run must do nothing more;
// the user decides which of the two is right.
type DivergedError struct{ *Failure }

// EndError ends a replay without effects at the end of the journal. Counted holds the run's
// counters at that point.
type EndError struct {
	*Failure

	Counted Counted
}

// Unwrap returns the Failure, which has the code.
func (e *EndError) Unwrap() error {
	return e.Failure
}

// Unwrap returns the Failure, which has the code.
func (e *StoppedError) Unwrap() error {
	return e.Failure
}

// Unwrap returns the Failure, which has the code.
func (e *DivergedError) Unwrap() error {
	return e.Failure
}

// UnrecordedError reports that the home of a team has not taken the entries of a journal. The run
// stops and can go on later. Err is the reason.
type UnrecordedError struct{ Err error }

func (e *UnrecordedError) Error() string {
	return "the home of the team has not taken what the run did: " + e.Err.Error()
}

// Unwrap gives the reason.
func (e *UnrecordedError) Unwrap() error {
	return e.Err
}

// ErrorCode is that of the reason where a person has to remove it, such as a file that does not
// travel. Otherwise it is NOT_DURABLE: the run goes on once the home and the remote answer.
func (e *UnrecordedError) ErrorCode() Code {
	if code := CodeOf(e.Err); code.NeedsPerson() {
		return code
	}
	return CodeNotDurable
}
