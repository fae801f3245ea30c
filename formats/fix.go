package formats

import (
	"bytes"
	"cmp"
	"strings"

	"tercet/internal/lazy"
	"tercet/internal/nearest"
	"tercet/internal/order"
)

// maxRounds bounds how often a file is parsed again after fixes, because a fix may reveal another
// finding.
const maxRounds = 10

// FixAll applies the fixes of the findings until none is left. A second call changes nothing.
func FixAll(src []byte, list []Diagnostic, lint func([]byte) []Diagnostic) (
	text []byte, left, made []Diagnostic,
) {
	for range maxRounds {
		next, done := applyFixes(src, list)
		if len(done) == 0 || bytes.Equal(next, src) {
			break
		}
		src = next
		list = lint(next)
		made = append(made, done...)
	}
	return src, list, made
}

// applyFixes makes every change that does not overlap another one, and returns the fixed findings.
func applyFixes(src []byte, list []Diagnostic) ([]byte, []Diagnostic) {
	type change struct {
		from, to int
		d        Diagnostic
	}
	var all []change
	for _, d := range list {
		if d.Fix == nil {
			continue
		}
		from := OffsetOf(src, d.Fix.Start)
		to := OffsetOf(src, d.Fix.End)
		if from >= 0 && to >= from {
			all = append(all, change{from, to, d})
		}
	}

	order.Stable(all, func(x, y change) int {
		return cmp.Or(x.from-y.from, x.to-y.to)
	})
	var out []byte
	var done []Diagnostic
	at := 0
	for _, c := range all {
		if c.from < at {
			continue
		}
		out = append(append(out, src[at:c.from]...), c.d.Fix.Text...)
		at = c.to
		done = append(done, c.d)
	}

	return append(out, src[at:]...), done
}

// Fix replaces the text from Start up to End. A finding has a Fix only if there is exactly one
// candidate.
type Fix struct {
	Start Pos    `json:"start"`
	End   Pos    `json:"end"`
	Text  string `json:"text"`
}

// addEndAndFix sets the end of a finding to the end of the word it points at, and adds a fix if its
// help names exactly one candidate for that word. lines are the lines of its file.
func (d *Diagnostic) addEndAndFix(lines [][]byte) {
	if d.Pos.Line < 1 || d.Pos.Line > len(lines) || d.Pos.Col < 1 {
		return
	}
	line := string(bytes.TrimSuffix(lines[d.Pos.Line-1], []byte{'\r'}))
	if d.Pos.Line == 1 {
		line = strings.TrimPrefix(line, "\ufeff")
	}

	from := d.Pos.Col - 1
	if from > len(line) {
		return
	}
	if d.End.IsZero() {
		rest := line[from:min(len(line), from+maxExtent)]
		d.End = Pos{Line: d.Pos.Line, Col: from + max(1, elementLength(rest)) + 1}
		if from == len(line) {
			d.End.Col = d.Pos.Col
		}
	}

	candidate, ok := nearest.Candidate(d.Help)
	if d.Fix != nil || !ok || d.End.Line != d.Pos.Line || d.End.Col-1 > len(line) {
		return
	}

	fix := &Fix{
		Start: d.Pos,
		End:   d.End,
		Text:  candidate,
	}
	written := line[from : d.End.Col-1]
	if written != "" && (written[0] == '"' || written[0] == '\'') && len(written) > 1 &&
		written[len(written)-1] == written[0] {
		fix.Start.Col = fix.Start.Col + 1
		fix.End.Col = fix.End.Col - 1
		written = written[1 : len(written)-1]
	}
	if strings.TrimLeft(written, "$") != "" &&
		strings.Contains(d.Message, strings.TrimLeft(written, "$")) {
		if strings.HasPrefix(written, "$") && !strings.HasPrefix(candidate, "$") {
			fix.Start.Col++
		}
		d.Fix = fix
	}
}

// maxExtent bounds the part of a line that is examined, in bytes: a hostile file may be one line of
// 100 MB.
const maxExtent = 4 << 10

// elementForm matches the element at the start of a text: a heading or a fence with its words, a
// quoted text, a variable, an expression, a placeholder in angle brackets, a rule, a name, else one
// character.
var elementForm = lazy.Regexp(`^(?:[#\x60~].*\S|Step .*\S|"[^"]*"|'[^']*'|["'].*\S|[$]` +
	nameChars + `|[$][{][{](?:.*?[}][}])?|<[^>]*>|---|` + nameChars + `|(?s:.))`)

// nameChars matches names, ids and agents; a dash counts only inside one.
const nameChars = `(?:[-_0-9A-Za-z\x{80}-\x{10ffff}]*[_0-9A-Za-z\x{80}-\x{10ffff}])`

// elementLength is the length of the element at the start of a text. A value in brackets extends to
// the closing one, or to the end of the line.
func elementLength(s string) int {
	if s == "" || s[0] != '{' && s[0] != '[' {
		return len(elementForm().FindString(s))
	}

	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(strings.TrimRight(s, " \t"))
}
