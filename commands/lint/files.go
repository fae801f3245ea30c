package lint

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tercet/commands"
	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/md"
)

// Each reads files and collects the findings of do. An error of do that is not findings ends it.
func Each(files []string, do func(name string, src []byte) ([]byte, []formats.Diagnostic, error)) (
	*formats.Diagnostics, error,
) {
	all := &formats.Diagnostics{Sources: map[string][]byte{}}
	for _, name := range files {
		src, err := Read(name)
		var list []formats.Diagnostic
		if err == nil {
			src, list, err = do(name, src)
			all.Sources[name] = src
		}
		if d, ok := errors.AsType[*formats.Diagnostics](err); ok {
			list = d.List
		} else if err != nil {
			return nil, err
		}
		all.List = append(all.List, list...)
	}
	return all, nil
}

// Read reads a file up to the size limit of commands; a larger file is a finding.
func Read(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, formats.Broken(formats.CodeUsage, name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, formats.Fail(formats.CodeUsage, "name a file or a folder",
			"%s: expected a regular file", name)
	}

	f, err := os.Open(name)
	if err != nil {
		return nil, formats.Broken(formats.CodeIO, name, err)
	}
	src, err := commands.ReadAll(f, commands.MaxFile)
	if err != nil {
		return nil, formats.Broken(formats.CodeIO, name, err)
	}

	if len(src) <= commands.MaxFile {
		return src, nil
	}
	text := fmt.Sprintf("text of %d bytes, the limit is %d",
		max(info.Size(), int64(len(src))), commands.MaxFile)
	return nil, &formats.Diagnostics{List: []formats.Diagnostic{
		formats.AboutFile(md.CodeTooLarge, name, text, "split the file"),
	}}
}

// Rewrite replaces the text that was read; a link stays a link. It fails if the file has changed
// since.
func Rewrite(name string, was, text []byte) error {
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
		return formats.Broken(formats.CodeIO, name, err, "run the command again")
	}
	return nil
}

// Files lists the named files and the markdown files below named folders. It leaves out documents:
// in a workspace and in the folders of other tools all but commands and subagents, around a
// workspace the files that declare neither. It follows links to folders of the project that it does
// not come by otherwise. An unreadable file in a folder is a finding.
func Files(lib *commands.Library, paths []string) (
	files []string, unread []formats.Diagnostic, err error,
) {
	w := &walk{lib: lib, seen: map[string]bool{}}
	for _, p := range paths {
		info, err := os.Stat(p)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, formats.Fail(formats.CodeUsage,
				"write its path from the folder you are in",
				"no file and no folder stands at %q", p)
		}
		if err != nil {
			return nil, nil, formats.Broken(formats.CodeUsage, p, err)
		}
		if !info.IsDir() {
			w.files = append(w.files, p)
			continue
		}
		w.walkTop(p)
	}
	return w.files, w.unread, nil
}

// walk collects the files below folders.
type walk struct {
	lib       *commands.Library
	files     []string
	unread    []formats.Diagnostic
	seen      map[string]bool // folders and files, without links
	links     []string        // links to folders, not followed yet
	isProject bool            // the named folder is a project
	bound     string          // no link is followed out of it
}

// walkTop walks a named folder.
func (w *walk) walkTop(top string) {
	_, err := os.Stat(filepath.Join(top, formats.Workspace))
	w.isProject = err == nil
	w.bound = resolved(top)
	if w.lib.Dir != "" {
		project := resolved(filepath.FromSlash(w.lib.Dir))
		if within(project, w.bound) {
			w.bound = project
		}
	}

	w.folder(top)
	for len(w.links) > 0 {
		next := w.links[0]
		w.links = w.links[1:]
		if within(w.bound, resolved(next)) {
			w.folder(next)
		}
	}
}

// resolved is an absolute path without links; one that does not exist keeps them.
func resolved(name string) string {
	if full, err := filepath.Abs(name); err == nil {
		name = full
	}
	if full, err := filepath.EvalSymlinks(name); err == nil {
		name = full
	}
	return name
}

func within(dir, name string) bool {
	inside, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(inside)
}

// folder walks a folder, once. An unreadable one is a finding.
func (w *walk) folder(dir string) {
	real := resolved(dir)
	if w.seen[real] {
		return
	}
	w.seen[real] = true
	entries, err := os.ReadDir(dir)
	if err != nil {
		w.unread = append(w.unread, cannotRead(dir, err))
		return
	}

	inWorkspace := filepath.Base(real) == formats.Workspace
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		switch {
		case inWorkspace && e.Name() != "commands" && e.Name() != "subagents":
		case e.IsDir():
			w.folder(name)
		case e.Type()&fs.ModeSymlink != 0 && isFolder(name):
			w.links = append(w.links, name)
		default:
			w.file(name, real)
		}
	}
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// file takes a file in a folder if it is a command or a subagent.
func (w *walk) file(name, dir string) {
	foreign := Foreign(w.lib, name)
	if !foreign && (!strings.HasSuffix(name, ".md") || w.lib.IsDocument(name)) {
		return
	}
	if err := checkReadable(name); err != nil {
		w.unread = append(w.unread, cannotRead(name, err))
		return
	}

	ofWorkspace := strings.Contains(filepath.ToSlash(dir)+"/", "/"+formats.Workspace+"/")
	if w.isProject && !foreign && !ofWorkspace && !hasCommandKeys(name) {
		return
	}

	if real := resolved(name); !w.seen[real] {
		w.seen[real] = true
		w.files = append(w.files, name)
	}
}

// hasCommandKeys tells a command or subagent from the documents of a project, by its keys.
func hasCommandKeys(name string) bool {
	src, err := Read(name)
	text := "\n" + string(src)
	return err != nil || strings.Contains(text, "\ncommand:") || strings.Contains(text, "\nname:")
}

// checkReadable says why a file cannot be read.
func checkReadable(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("expected a file or a folder")
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return f.Close()
}

func cannotRead(name string, err error) formats.Diagnostic {
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = cause.Err
	}
	return formats.AboutFile(formats.CodeIO.String(), name, "cannot be read: "+err.Error(),
		"make it a regular file that can be read, or take it away")
}
