package main

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// maxRounds bounds how often a file is read again after changes: a change may bring a finding to light that another
// hid.
const maxRounds = 10

// mended makes the changes that the findings offer until there is none left: what it gives, it would not change again.
func mended(src []byte, list []formats.Diagnostic, lint func([]byte) []formats.Diagnostic) (
	text []byte, left, made []formats.Diagnostic,
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

// fix mends a file, and writes it if there was something to mend.
func (c call) fix(name string, src []byte, list []formats.Diagnostic, strict bool) (
	text []byte, left []formats.Diagnostic, n int, err error,
) {
	text, left, made := mended(src, ownFixes(name, list), func(next []byte) []formats.Diagnostic {
		return ownFixes(name, c.w.lintAs(name, next, strict))
	})
	if len(made) == 0 {
		return src, list, 0, nil
	}
	if err := rewrite(name, src, text); err != nil {
		return nil, nil, 0, err
	}
	for _, d := range made {
		c.term.note("%s:%d:%d: %s: wrote '%s'", name, d.Pos.Line, d.Pos.Col, d.Code, d.Fix.Text)
	}
	return text, left, len(made), nil
}

// ownFixes leaves out the changes of other files: a schema that the file names is mended by hand.
func ownFixes(name string, list []formats.Diagnostic) []formats.Diagnostic {
	list = slices.Clone(list)
	for i := range list {
		if list[i].File != name {
			list[i].Fix = nil
		}
	}
	return list
}

// rewrite puts a text in the place of the one that was read; a link stays one. What somebody else wrote since is not
// lost.
func rewrite(name string, was, text []byte) error {
	full, err := filepath.EvalSymlinks(name)
	if err == nil {
		full, err = filepath.Abs(full)
	}
	if err == nil {
		err = atomicfile.Write(full, text, atomicfile.Options{Before: func() error {
			if now, err := os.ReadFile(full); err != nil || !bytes.Equal(now, was) {
				return errors.Join(errors.New("the file was changed meanwhile"), err)
			}
			return nil
		}})
	}
	if err != nil {
		return &formats.Failure{Code: formats.CodeIO, Message: name, Err: err, Help: "run the command again"}
	}
	return nil
}

// replace writes a file that is there.
func replace(name string, text []byte) error {
	full, err := filepath.Abs(name)
	if err == nil {
		err = atomicfile.Write(full, text, atomicfile.Options{})
	}
	if err != nil {
		return broken(formats.CodeIO, name, err)
	}
	return nil
}

// applied makes every change that does not overlap another one, and gives the findings that it made them for.
func applied(src []byte, list []formats.Diagnostic) ([]byte, []formats.Diagnostic) {
	type change struct {
		from, to int
		d        formats.Diagnostic
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
	var done []formats.Diagnostic
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
func offsetOf(src []byte, p formats.Pos) int {
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
