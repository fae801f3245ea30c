// Package style formats output for a terminal: the width of texts, the colours of statuses, diffs
// and tables.
//
// Promise: there is one table of looks, and one of the colours of statuses. Widths are columns, not
// bytes. Without colour the output is plain text, and without UTF-8 the marks are ASCII. Texts
// break between words where possible.
//
// It will not decide whether to use colour. It makes untrusted text safe in tables only: elsewhere
// internal/plain must do so first.
//
// Concurrency: its functions are pure.
package style

import (
	"strings"

	"tercet/formats"
)

// Sheet is the capabilities of an output stream.
type Sheet struct{ Colour, UTF8 bool }

// Look is a text style: the parameters of an SGR sequence.
type Look string

// The looks.
const (
	Plain   Look = ""
	Heading Look = "1"
	Aside   Look = "2"
	Error   Look = "31;1"
	Warning Look = "33" // bold would make it a bright yellow, which vanishes on white
	Bad     Look = "31"
	Good    Look = "32"
	Waits   Look = "33"
	Ready   Look = "34"
	Works   Look = "36"
)

// Paint gives a text its look.
func (s Sheet) Paint(l Look, text string) string {
	if !s.Colour || l == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(l) + "m" + text + "\x1b[0m"
}

// marks are what stands for a mark where the locale is not UTF-8.
var marks = map[string]string{
	"▶": ">",
	"✓": "ok",
	"✗": "x",
	"…": "...",
	"●": "*",
	"○": "o",
	"│": "|",
	"→": "->",
}

// Text replaces marks in a text where the stream lacks UTF-8.
func (s Sheet) Text(text string) string {
	for mark, plain := range marks {
		if !s.UTF8 {
			text = strings.ReplaceAll(text, mark, plain)
		}
	}
	return text
}

// Capable reports whether a terminal, by its TERM, supports escape sequences.
func Capable(kind string) bool {
	return kind != "" && kind != "dumb"
}

// Link makes a text a link to an address.
func Link(address, text string) string {
	return "\x1b]8;;" + address + "\a" + text + "\x1b]8;;\a"
}

// Mark gives a mark, or its ASCII replacement.
func (s Sheet) Mark(mark string) string {
	if s.UTF8 {
		return mark
	}
	return marks[mark]
}

// looks are those of the statuses of tasks, runs, steps and gates.
var looks = map[string]Look{
	formats.Researching.String():        Works,
	formats.Planning.String():           Works,
	formats.Revising.String():           Works,
	formats.Implementing.String():       Works,
	AtWork:                              Works,
	formats.Researched.String():         Ready,
	formats.Planned.String():            Ready,
	formats.Revised.String():            Ready,
	formats.Expanded.String():           Ready,
	formats.Completed.String():          Good,
	formats.OutcomeApproved.String():    Good,
	"ok":                                Good,
	formats.OutcomeConditional.String(): Waits,
	formats.Partial.String():            Waits,
	formats.OnHold.String():             Waits,
	formats.OutcomeSuspended.String():   Waits,
	Asks:                                Waits,
	"warn":                              Waits,
	formats.Blocked.String():            Bad,
	formats.OutcomeRejected.String():    Bad,
	formats.OutcomeFailed.String():      Bad,
	formats.RunCancelled:                Bad,
	Gone:                                Bad,
	"fail":                              Bad,
	formats.Abandoned.String():          Aside,
	formats.OutcomeSkipped.String():     Aside,
}

// Further words for runs and gates in a table, beside their statuses.
const (
	AtWork = "at work"
	Gone   = "its process is gone"
	Asks   = "waits for an answer"
)

// LookOf is the look of a status.
func LookOf(status string) Look {
	return looks[status]
}

// IsPatch reports whether a text is a patch.
func IsPatch(s string) bool {
	return strings.HasPrefix(s, "diff --git ") ||
		strings.Contains(s, "\n@@ -") && strings.Contains(s, "\n+++ ")
}

// Diff colours a patch, line by line.
func (s Sheet) Diff(patch string) string {
	lines := strings.Split(patch, "\n")

	body := false // behind the names of the files
	for i, line := range lines {
		l := Plain
		switch {
		case strings.HasPrefix(line, "diff "):
			l = Heading
			body = false
		case strings.HasPrefix(line, "@@"):
			l = Works
			body = true
		case !body && line != "" && line[0] != ' ':
			l = Heading
		case strings.HasPrefix(line, "+"):
			l = Good
		case strings.HasPrefix(line, "-"):
			l = Bad
		}
		lines[i] = s.Paint(l, line)
	}
	return strings.Join(lines, "\n")
}
