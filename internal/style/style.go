// Package style is how things look on a terminal: how wide a text is, in which colour a status stands, what a diff and
// a table look like.
//
// Promise: there is one table of looks, and one of the colours of statuses. Widths are columns, not bytes. Without
// colour nothing but the text comes out, and without UTF-8 the marks are ASCII. A text is never broken inside a word
// where it can be broken between two.
//
// It will not decide whether there is colour, and makes no text of strangers harmless but in a table: that is for
// internal/plain, before.
//
// Concurrency: its functions are pure.
package style

import (
	"strings"

	"tercet/formats"
)

// Sheet is what a stream can show.
type Sheet struct{ Colour, UTF8 bool }

// Look is how a text is painted: the parameters of the terminal's SGR sequence.
type Look string

// The looks there are.
const (
	Plain   Look = ""
	Heading Look = "1"
	Aside   Look = "2"
	Error   Look = "31;1"
	Warning Look = "33;1"
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
var marks = map[string]string{"▶": ">", "✓": "ok", "✗": "x", "…": "...", "●": "*", "○": "o", "│": "|", "→": "->"}

// Text gives a text that may hold marks, or it with what stands for them.
func (s Sheet) Text(text string) string {
	for mark, plain := range marks {
		if !s.UTF8 {
			text = strings.ReplaceAll(text, mark, plain)
		}
	}
	return text
}

// Capable tells whether a kind of terminal, as TERM names it, obeys more than text.
func Capable(kind string) bool { return kind != "" && kind != "dumb" }

// Link is a text as a link to an address.
func Link(address, text string) string {
	return "\x1b]8;;" + address + "\a" + text + "\x1b]8;;\a"
}

// Mark gives a mark, or what stands for it.
func (s Sheet) Mark(mark string) string {
	if s.UTF8 {
		return mark
	}
	return marks[mark]
}

// looks are those of the statuses of tasks, runs, steps and gates.
var looks = map[string]Look{
	formats.Researching.String(): Works, formats.Planning.String(): Works, formats.Revising.String(): Works,
	formats.Implementing.String(): Works, AtWork: Works,
	formats.Researched.String(): Ready, formats.Planned.String(): Ready, formats.Revised.String(): Ready,
	formats.Expanded.String():  Ready,
	formats.Completed.String(): Good, formats.OutcomeApproved.String(): Good, "ok": Good,
	formats.OutcomeConditional.String(): Waits, formats.Partial.String(): Waits, formats.OnHold.String(): Waits,
	formats.OutcomeSuspended.String(): Waits, Asks: Waits, "warn": Waits,
	formats.Blocked.String(): Bad, formats.OutcomeRejected.String(): Bad, formats.OutcomeFailed.String(): Bad,
	"cancelled": Bad, Gone: Bad, "fail": Bad,
	formats.Abandoned.String(): Aside, formats.OutcomeSkipped.String(): Aside,
}

// What a table says of a run and of a gate beside the words of their statuses.
const (
	AtWork = "at work"
	Gone   = "its process is gone"
	Asks   = "waits for an answer"
)

// LookOf is how the word for a status looks.
func LookOf(status string) Look { return looks[status] }

// IsPatch tells whether a text is a patch.
func IsPatch(s string) bool {
	return strings.HasPrefix(s, "diff --git ") || strings.Contains(s, "\n@@ -") && strings.Contains(s, "\n+++ ")
}

// Diff paints a patch, line by line.
func (s Sheet) Diff(patch string) string {
	lines := strings.Split(patch, "\n")
	body := false // behind the names of the files
	for i, line := range lines {
		l := Plain
		switch {
		case strings.HasPrefix(line, "diff "):
			l, body = Heading, false
		case strings.HasPrefix(line, "@@"):
			l, body = Works, true
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
