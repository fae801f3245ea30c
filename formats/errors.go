package formats

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"tercet/internal/nearest"
)

// ValueError reports a word that is not in a closed set, such as an unknown task status. argspec matches it to offer
// the set.
type ValueError struct {
	What string   // the kind of value, "task status"
	Got  string   // what stood there
	Want []string // the set
}

// Error states what was expected and got.
func (e *ValueError) Error() string {
	return fmt.Sprintf("expected %s, got %q", e.What, e.Got)
}

// Help names the word that was meant, else all that there are where the message does not.
func (e *ValueError) Help() string {
	if help := nearest.Help(e.Got, e.Want); help != "" || len(e.Want) == 0 || strings.Contains(e.What, e.Want[0]) {
		return help
	}
	words := e.What[strings.LastIndex(e.What, " ")+1:] + "s"
	if strings.HasSuffix(words, "ss") {
		words = strings.TrimSuffix(words, "s") + "es"
	}
	return "the " + words + " are " + strings.Join(e.Want, ", ")
}

// ErrorCode is USAGE.
func (e *ValueError) ErrorCode() Code { return CodeUsage }

// OneOf reads a word of a closed set; another one is a *ValueError.
func OneOf[T ~string](what, word string, set []T) (T, error) {
	if slices.Contains(set, T(word)) {
		return T(word), nil
	}
	return "", &ValueError{What: what, Got: word, Want: Words(set)}
}

// Words are the words of a set as plain texts.
func Words[T ~string](set []T) []string {
	out := make([]string, len(set))
	for i, one := range set {
		out[i] = string(one)
	}
	return out
}

// Values are the elements of a list as plain values.
func Values[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// GateOpenError reports a gate that nobody could answer: no terminal, no --yes, no auto label. interp suspends the run
// for it, the offline implementer and main's runners give a blocked return.
type GateOpenError struct {
	Gate Gate
	Left bool // a person was asked, and left without an answer
}

// Error states the open question.
func (e *GateOpenError) Error() string {
	if n := len(e.Gate.Votes); n > 0 {
		return fmt.Sprintf("gate %q has %s, and needs %d people", e.Gate.Question, Count(n, "answer"), e.Gate.Quorum)
	}
	return fmt.Sprintf("gate %q has no answer", e.Gate.Question)
}

// ErrorCode is SUSPENDED: the run waits for a person.
func (e *GateOpenError) ErrorCode() Code { return CodeSuspended }

// Help says how to answer.
func (e *GateOpenError) Help() string {
	if !slices.ContainsFunc(e.Gate.Choices, func(c Choice) bool { return c.Approves }) && len(e.Gate.Choices) > 1 {
		labels := make([]string, len(e.Gate.Choices))
		for i, c := range e.Gate.Choices {
			labels[i] = c.Label
		}
		return "run it on a terminal and answer " + strings.Join(labels, " or ")
	}
	if e.Gate.NeedsPerson && e.Gate.Digest != "" {
		return "run it on a terminal, pass --yes to approve, or --trust sha256:" + e.Gate.Digest + " to approve just this"
	}
	return "run it on a terminal, or pass --yes to approve"
}

// LaterError tells that a run goes no further for now: its file waits, the usage limit of an agent is reached, or a
// person pauses it. The run is suspended.
type LaterError struct {
	Why   string
	Until time.Time // zero: nobody said when
}

// Error says what is waited for, and until when.
func (e *LaterError) Error() string {
	if e.Until.IsZero() {
		return e.Why
	}
	return e.Why + " until " + e.Until.UTC().Format(time.DateTime) + " UTC"
}

// ErrorCode is SUSPENDED: the run waits.
func (e *LaterError) ErrorCode() Code { return CodeSuspended }

// Failure is the error of everything that nobody matches: a code, words, advice, and a place if it has one. A type of
// its own is for a failure that a caller matches.
type Failure struct { //nolint:errname // the word that codes and returns use
	Code    Code
	Message string
	Help    string // what to do next, may be empty
	File    string // with Pos: where it is wrong; empty: no place is known
	Pos     Pos
	Err     error // the cause, may be nil; inspected by callers
}

// Fail makes a Failure whose message is the formatted text.
func Fail(code Code, help, format string, args ...any) *Failure {
	return &Failure{Code: code, Message: fmt.Sprintf(format, args...), Help: help}
}

// Unset is the failure of a value that was built without a part it cannot work without: a defect of the program.
func Unset(what string) *Failure { return Fail(CodeBug, "", "expected %s, got nothing", what) }

// OnFile is the failure of an operation on a file. It has the code of its cause, IO if that has none.
func OnFile(op, file string, err error) *Failure {
	code := CodeOf(err)
	if code == CodeUnknown {
		code = CodeIO
	}
	return &Failure{Code: code, Message: op + " " + file, Err: err}
}

// Broken says of a file or a thing why it cannot be had, and what helps.
func Broken(code Code, what string, err error, help ...string) *Failure {
	if of, ok := errors.AsType[*fs.PathError](err); ok && strings.HasSuffix(what, of.Path) {
		err = of.Err // the name stands before it
	}
	return &Failure{Code: code, Message: what, Err: err, Help: strings.Join(help, " ")}
}

// Error gives the place, if there is one, the message and the cause.
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
	return Diagnostic{Code: e.Code.String(), File: e.File, Pos: e.Pos, Message: text}.Error()
}

// Unwrap gives the cause.
func (e *Failure) Unwrap() error { return e.Err }

// ErrorCode names the failure in the table of codes.
func (e *Failure) ErrorCode() Code { return e.Code }

// StoppedError tells a run that is gone through again that it was stopped at this point.
type StoppedError struct{ *Failure }

// DivergedError tells that a run that is gone through again comes out otherwise than its journal has it. Nothing may be
// done then: which of the two is right is for a person to say.
type DivergedError struct{ *Failure }

// EndError tells a run that is gone through again only to be looked at that its journal ends here. Counted is what it
// had counted so far.
type EndError struct {
	*Failure

	Counted Counted
}

// Unwrap gives the failure, which has the code.
func (e *EndError) Unwrap() error { return e.Failure }

// Unwrap gives the failure, which has the code.
func (e *StoppedError) Unwrap() error { return e.Failure }

// Unwrap gives the failure, which has the code.
func (e *DivergedError) Unwrap() error { return e.Failure }
