package formats

import (
	"bytes"
	"cmp"
	"slices"
)

// maxRounds bounds how often a file is read again after changes: a change may bring a finding to light that another
// hid.
const maxRounds = 10

// Mend makes the changes that the findings offer until there is none left: what it gives, it would not change again.
func Mend(src []byte, list []Diagnostic, lint func([]byte) []Diagnostic) (
	text []byte, left, made []Diagnostic,
) {
	for range maxRounds {
		next, done := applied(src, list)
		if len(done) == 0 || bytes.Equal(next, src) {
			break
		}
		src, list = next, lint(next)
		made = append(made, done...)
	}
	return src, list, made
}

// applied makes every change that does not overlap another one, and gives the findings that it made them for.
func applied(src []byte, list []Diagnostic) ([]byte, []Diagnostic) {
	type change struct {
		from, to int
		d        Diagnostic
	}
	var all []change
	for _, d := range list {
		if d.Fix == nil {
			continue
		}
		from, to := offsetOf(src, d.Fix.Start), offsetOf(src, d.Fix.End)
		if from >= 0 && to >= from {
			all = append(all, change{from, to, d})
		}
	}
	slices.SortFunc(all, func(x, y change) int { return cmp.Or(x.from-y.from, x.to-y.to) })
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

// offsetOf is the offset of a place, which counts neither a byte order mark nor carriage returns; -1 outside of the
// text.
func offsetOf(src []byte, p Pos) int {
	at := 0
	for n := 1; n < p.Line; n++ {
		i := slices.Index(src[at:], '\n')
		if i < 0 {
			return -1
		}
		at += i + 1
	}
	if p.Line == 1 && len(src) >= 3 && string(src[:3]) == "\ufeff" {
		at += 3
	}
	if at += p.Col - 1; at > len(src) {
		return -1
	}
	return at
}
