package argspec

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/nearest"
	"tercet/internal/style"
)

// UsageError is the first place at which a line does not fit the arguments of its command.
type UsageError struct {
	Command  string // without the slash
	Message  string // expected integer for <task_number>, got "abc"
	Flag     string // the undeclared flag; empty for any other error
	Advice   string // what the user probably meant; empty if nothing is near
	Line     string // the whole line, with the slash and the command
	Open     []Spec // the missing arguments, which a prompt may ask for; empty if none is missing
	Pos, End int    // byte range in Line; both past its end if an argument is missing
	Specs    []Spec
}

// Error is the whole error in one line: /plan: expected integer for <task_number>, got "abc".
func (e *UsageError) Error() string {
	return "/" + e.Command + ": " + e.Message
}

// Expected is the message about a value of the wrong form.
func (s *Spec) Expected(want, got string) string {
	return "expected " + want + " for " + s.Label() + ", got " + clip(got)
}

// adviceFor is the advice for a word that is none of some, empty if none is near.
func adviceFor(word string, of []string) string {
	if near := nearest.Names(word, of); len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return ""
}

// ErrorCode is USAGE.
func (e *UsageError) ErrorCode() formats.Code {
	return formats.CodeUsage
}

// Help suggests a correction, or names the help of the command.
func (e *UsageError) Help() string {
	return cmp.Or(e.Advice, "see /"+e.Command+" --help")
}

// Usage is the usage line: usage: /plan <task_number> [research_report].
func (e *UsageError) Usage() string {
	return "usage: " + Usage(e.Command, e.Specs)
}

// Shown is the part of the line around the error as one line for a terminal. A tab becomes four
// spaces, any other control character U+FFFD.
func (e *UsageError) Shown() string {
	start, end := e.errorLine()
	return display(e.Line[start:end])
}

// Caret is a line of spaces and carets that marks the word below Shown.
func (e *UsageError) Caret() string {
	start, end := e.errorLine()
	from := min(max(e.Pos, start), end)
	to := min(max(e.End, start), end)
	before := style.Width(display(e.Line[start:from]))
	if e.Pos > end {
		before++
	}
	return strings.Repeat(
		" ", before,
	) + strings.Repeat("^", max(1, style.Width(display(e.Line[from:max(from, to)]))))
}

// errorLine is the byte range of the line of Line that holds Pos.
func (e *UsageError) errorLine() (start, end int) {
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

func clip(s string) string {
	return strconv.Quote(formats.Clip(s, maxGot))
}

// quoteUnprintable repeats a word as it is, in quotes only where it would not be readable.
func quoteUnprintable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return clip(s)
	}
	return formats.Clip(s, maxGot)
}
