package argspec

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"tercet/formats"
)

// Fault says in which way a line does not fit.
type Fault uint8

// The faults.
const (
	Malformed    Fault = iota // the value has another form than Want
	Missing                   // a required argument is absent
	MissingValue              // a flag stands without its value
	UnknownFlag               // Got is no declared flag
	Surplus                   // Got is a word that no argument takes
	Twice                     // the argument was given before
	Unclosed                  // Got is a quote without its end
	Unreadable                // the line as a whole is not Want
)

// UsageError reports the first place at which a line does not fit the arguments of its command.
type UsageError struct {
	Command    string // without the slash
	Fault      Fault
	Arg        string // name of the argument; empty if the fault is about none
	Got        string
	Want       string   // "integer"
	Line       string   // the line as shown, with the slash and the command
	Pos, End   int      // byte range in Line; both past its end for something missing
	DidYouMean []string // flags with their dashes, or values; nearest first
	Specs      []Spec
}

// Error is one line that says everything: /plan: expected integer for <task_number>, got "abc".
func (e *UsageError) Error() string {
	return "/" + e.Command + ": " + e.message()
}

func (e *UsageError) message() string {
	switch e.Fault {
	case Malformed:
		return "expected " + e.Want + " for " + e.shown() + ", got " + clip(e.Got)
	case Missing:
		return "missing " + e.shown()
	case MissingValue:
		return "missing value for " + e.shown()
	case UnknownFlag:
		return "unknown flag " + plain(e.Got)
	case Surplus:
		return "unexpected argument " + clip(e.Got)
	case Twice:
		return "expected " + e.shown() + " once, got it again"
	case Unclosed:
		return "missing closing quote for " + plain(e.Got)
	case Unreadable:
		return "expected " + e.Want + ", got " + e.Got
	}
	return "usage"
}

// shown is the argument as the usage line writes it.
func (e *UsageError) shown() string {
	for i := range e.Specs {
		if e.Specs[i].Name == e.Arg {
			return e.Specs[i].Label()
		}
	}
	return "<" + e.Arg + ">"
}

// ErrorCode is USAGE.
func (e *UsageError) ErrorCode() formats.Code { return formats.CodeUsage }

// Help offers what was probably meant, or names the place where the arguments are explained.
func (e *UsageError) Help() string {
	switch {
	case len(e.DidYouMean) > 0:
		return "did you mean " + strings.Join(e.DidYouMean, " or ") + "?"
	case e.Fault == UnknownFlag:
		return "write -- before words that begin with a dash"
	}
	return "see /" + e.Command + " --help"
}

// Usage is the usage line: usage: /plan <task_number> [research_report].
func (e *UsageError) Usage() string { return "usage: " + Usage(e.Command, e.Specs) }

// Shown is the part of the line that holds the fault, ready for a terminal: one physical line, a tab as four spaces,
// other control characters as U+FFFD.
func (e *UsageError) Shown() string {
	start, end := e.physical()
	return display(e.Line[start:end])
}

// Caret is the line of spaces and carets that stands under Shown and marks the word.
func (e *UsageError) Caret() string {
	start, end := e.physical()
	from, to := min(max(e.Pos, start), end), min(max(e.End, start), end)
	before := Width(display(e.Line[start:from]))
	if e.Pos > end {
		before++
	}
	return strings.Repeat(" ", before) + strings.Repeat("^", max(1, Width(display(e.Line[from:max(from, to)]))))
}

// physical is the byte range of the line of Line that holds Pos.
func (e *UsageError) physical() (start, end int) {
	at := min(max(e.Pos, 0), len(e.Line))
	start = strings.LastIndexByte(e.Line[:at], '\n') + 1
	if n := strings.IndexByte(e.Line[at:], '\n'); n >= 0 {
		return start, at + n
	}
	return start, len(e.Line)
}

func display(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ReplaceAll(s, "\t", "    "))
}

// maxGot is the most characters of a word that a message repeats.
const maxGot = 60

func clip(s string) string { return strconv.Quote(formats.Clip(s, maxGot)) }

// plain repeats a word as it is, in quotes only where it would not be readable.
func plain(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return clip(s)
	}
	return formats.Clip(s, maxGot)
}
