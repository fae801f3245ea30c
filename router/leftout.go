package router

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"tercet/formats"
)

// LeftOut is a file or folder of another tool that holds commands, or would, and that a scan could not take.
type LeftOut struct {
	Name   string // the slash name that it would have, without the slash; empty: a folder
	File   string // path with the source's name in front
	Reason string
}

// String says what is left out, and why.
func (l LeftOut) String() string { return l.File + " is left out: " + l.Reason }

// LeftOut lists what the scan could not take, by path. Tercet's own folders have none: what cannot be read there is an
// error.
func (t *Table) LeftOut() []LeftOut {
	out := slices.Clone(t.left)
	slices.SortFunc(out, func(a, b LeftOut) int { return cmp.Compare(a.File, b.File) })
	return out
}

// leftOut finds the file that would have been meant.
func (t *Table) leftOut(name string) string {
	for _, l := range t.left {
		if l.Name != "" && (l.Name == name || strings.HasSuffix(l.Name, ":"+name)) {
			return l.String()
		}
	}
	return ""
}

func (w *walk) leave(name, inside, reason string) {
	w.table.left = append(w.table.left, LeftOut{Name: name, File: path.Join(w.source.Name, inside), Reason: reason})
}

// unread deals with a folder that cannot be read. A folder of another tool costs its own commands and no others.
func (w *walk) unread(dir string, err error) error {
	if w.source.Command == nil {
		return &formats.Failure{Code: formats.CodeIO, Message: "commands of " + w.source.Name + ": " + dir, Err: err}
	}
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = cause.Err
	}
	w.leave("", dir, err.Error())
	return nil
}

// isText tells whether a name is UTF-8: what is not cannot be opened by its name. Of another tool's it is noted.
func (w *walk) isText(inside string) bool {
	if utf8.ValidString(inside) {
		return true
	}
	if w.source.Command != nil {
		w.leave("", strings.ToValidUTF8(inside, "\ufffd"), "its name is not UTF-8")
	}
	return false
}

// tooDeep notes a folder that is not looked into, unless the depth is the source's own.
func (w *walk) tooDeep(inside string) {
	if w.source.Command != nil && w.source.Depth == 0 {
		w.leave("", inside, "it lies too deep")
	}
}

// noFile notes what has the name of a command of another tool and is no file, and links to folders, which are not
// followed.
func (w *walk) noFile(inside string, kind fs.FileMode) {
	if w.source.Command == nil {
		return
	}
	name, ok := w.name(inside)
	switch {
	case !ok && w.source.Depth > 0 && strings.Contains(inside, "/"): // a skill's own
	case kind == fs.ModeSymlink && w.linksToFolder(inside):
		w.leave("", inside, "links to folders are not followed")
	case kind == fs.ModeSymlink && (ok || path.Ext(inside) == ""): // without an ending it may have been a folder
		w.leave(name, inside, "it is a link that leads nowhere, or out of the project")
	case ok:
		w.leave(name, inside, "it is no regular file")
	}
}

func (w *walk) linksToFolder(inside string) bool { return w.leadsTo(inside) == fs.ModeDir }
