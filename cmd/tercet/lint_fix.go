package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// fix mends a file, and writes it if there was something to mend.
func (c call) fix(name string, src []byte, list []formats.Diagnostic, strict bool) (
	text []byte, left []formats.Diagnostic, n int, err error,
) {
	text, left, made := formats.Mend(src, ownFixes(name, list), func(next []byte) []formats.Diagnostic {
		return ownFixes(name, c.lintAs(name, next, strict))
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
		return broken(formats.CodeIO, name, err, "run the command again")
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
