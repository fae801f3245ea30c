package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/state/files"
)

// Folders are another system's document folders, one for each task. From is where they are and To
// where they will be; if both are equal, they stay in place.
type Folders struct {
	From, To  string
	Files     []string                   // of all folders, relative to From
	Documents map[int][]formats.Artifact // by task number, at their new place
	// links and other files that are not copied, each with the reason
	LeftOut []string
}

// kindOfFolder maps a folder of a task to the type of its documents.
var kindOfFolder = map[string]formats.ArtifactType{
	"reports":   formats.ArtifactReport,
	"plans":     formats.ArtifactPlan,
	"summaries": formats.ArtifactSummary,
	"reviews":   formats.ArtifactReview,
}

// FindFolders lists the content of the task folders. It leaves out links, other irregular files,
// and files that are too large.
func FindFolders(root *os.Root, from, to string) (Folders, error) {
	f := Folders{
		From:      from,
		To:        to,
		Documents: map[int][]formats.Artifact{},
	}
	entries, err := fs.ReadDir(root.FS(), from)
	if err != nil {
		return f, &formats.Failure{
			Code:    formats.CodeUsage,
			Message: "expected a folder of the project",
			Err:     err,
		}
	}

	for _, e := range entries {
		number := formats.TaskOfFolder(e.Name())
		if number > 0 && e.Type()&fs.ModeSymlink != 0 {
			f.LeftOut = append(
				f.LeftOut,
				path.Join(from, e.Name())+": expected a folder, got a symbolic link",
			)
		}
		if number == 0 || !e.IsDir() {
			continue
		}
		err := fs.WalkDir(
			root.FS(),
			path.Join(from, e.Name()),
			func(name string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				below := strings.TrimPrefix(name, from+"/")
				if why := f.fault(below, d); why != "" {
					f.LeftOut = append(f.LeftOut, name+": "+why)
					return nil
				}
				f.Files = append(f.Files, below)
				kind := kindOfFolder[path.Base(path.Dir(below))]
				if kind != "" && strings.Count(below, "/") == 2 && path.Ext(below) == ".md" {
					f.Documents[number] = append(f.Documents[number], formats.Artifact{
						Type: kind,
						Path: path.Join(to, below),
					})
				}
				return nil
			},
		)
		if err != nil {
			return f, files.Failure("reading", path.Join(from, e.Name()), err)
		}
	}

	return f, nil
}

// fault says why a file cannot be copied, or is empty.
func (f Folders) fault(below string, d fs.DirEntry) string {
	if why := files.PathFault(below); why != "" {
		return why
	}
	if !d.Type().IsRegular() {
		return "expected a regular file, got " + files.KindOf(d.Type())
	}

	info, err := d.Info()
	switch {
	case err != nil:
		return err.Error()
	case info.Size() > files.MaxState && f.From != f.To:
		return fmt.Sprintf(
			"expected a file of at most %d bytes, got %d", files.MaxState, info.Size(),
		)
	}
	return ""
}

// newPath is the path of a file after the copy.
func (f Folders) newPath(name string) string {
	if below, ok := strings.CutPrefix(name, f.From+"/"); ok && slices.Contains(f.Files, below) {
		return path.Join(f.To, below)
	}
	return name
}

// Copy copies the files to their new place and skips identical ones. If a file with other content
// exists, nothing is copied.
func (f Folders) Copy(root *os.Root, dry bool) error {
	if f.From == f.To {
		return nil
	}
	data := map[string][]byte{}
	for _, below := range f.Files {
		text, err := files.Read(root, path.Join(f.From, below), files.MaxState)
		if err != nil {
			return files.Failure("reading", path.Join(f.From, below), err)
		}
		old, err := files.Read(root, path.Join(f.To, below), files.MaxState)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			data[below] = text
		case err != nil:
			return files.Failure("reading", path.Join(f.To, below), err)
		case !bytes.Equal(old, text):
			return formats.Fail(
				formats.CodePrecondition,
				"move one of the two away, or use "+f.From+" in place: specs_dir: "+
					f.From+" in .tercet/config.yaml",
				"%s is there already with another content",
				path.Join(f.To, below),
			)
		}
	}

	for _, below := range f.Files {
		text, fresh := data[below]
		if dry || !fresh {
			continue
		}
		name := path.Join(f.To, below)
		if err := atomicfile.MkdirAll(root, path.Dir(name), 0o755); err != nil {
			return files.Failure("making", path.Dir(name), err)
		}
		if err := atomicfile.Create(root, name, text, 0o644); err != nil {
			return files.Failure("writing", name, err)
		}
	}

	return nil
}
