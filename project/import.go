package project

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tercet/formats"
	"tercet/state"
	"tercet/state/exchange"
)

// ImportOptions say what is imported, and how.
type ImportOptions struct {
	Name   string // a file, or a folder of the project with the folders of tasks
	Text   []byte // of the file, if it is not read from the disk
	Repair bool   // repair what can be repaired without a guess
	Fresh  bool   // tasks whose number is taken get a new one
	Strict bool   // refuse a file of which something would be left out
	// Ours and Theirs say which side wins where a task changed both here and in a file that was
	// imported before; without them the import is refused.
	Ours, Theirs bool
}

type (
	// Import is what was read from a file of tasks.
	Import = exchange.Import
	// ImportFinding is what is wrong in it.
	ImportFinding = exchange.Finding
)

// ImportNote is the class of findings that only tell something.
const ImportNote = exchange.DamageNote

// ImportReport is what an import found and did.
type ImportReport struct {
	File    *Import // the file; if the archive beside it cannot be read, that
	Archive *Import // beside the file, whose tasks came along; nil: none
	Result  TaskResult
	// Errors are those of the errors.json beside the file, which come along.
	Errors state.ForeignErrors
	// Unarchived are tasks that should be in the archive, if the error is about moving them there.
	// The import itself is done then.
	Unarchived []int
}

// Import takes over the tasks of another file, which does not change. What cannot be read in it is
// left out and reported; the report is there also beside an error, unless nothing could be read. A
// Transaction with Try only reports.
func (p *Project) Import(
	ctx context.Context, t Transaction, o ImportOptions,
) (*ImportReport, error) {
	opt := exchange.Options{Repair: o.Repair, Fresh: o.Fresh, Strict: o.Strict}
	how := exchange.ResolveNone
	switch {
	case o.Ours && o.Theirs:
		return nil, usage("expected --ours or --theirs, got both")
	case o.Ours:
		how = exchange.ResolveOurs
	case o.Theirs:
		how = exchange.ResolveTheirs
	}

	name := o.Name
	info, err := os.Stat(name)
	folder := o.Text == nil && err == nil && info.IsDir()
	if folder {
		opt.Folders, err = p.taskFolders(name)
		if err != nil {
			return nil, err
		}
		name = filepath.Join(name, "state.json")
	}

	src := o.Text
	if src == nil {
		src, err = readRegular(name)
		if err != nil {
			return nil, formats.Broken(formats.CodeUsage, name, err)
		}
	}

	opt.Todo, err = readRegular(filepath.Join(filepath.Dir(name), "TODO.md"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // it need not be there
		p.note("warning: titles: %s", err)
	}

	r := &ImportReport{}
	if o.Text == nil {
		opt.Place = p.placeOf(name)
		opt.Archive, err = readArchiveBeside(name, opt)
		if err != nil {
			return nil, err
		}
	}
	if opt.Archive != nil {
		if opt.Archive.Err() != nil {
			r.File = opt.Archive
			return r, nil //nolint:nilerr // the file has it
		}
		r.Archive = opt.Archive
	}

	r.File = exchange.Read(name, src, opt)
	if r.File.Err() != nil {
		return r, nil //nolint:nilerr // the file has it
	}
	if o.Text == nil {
		r.Errors, err = p.readForeignErrors(name)
		if err != nil {
			return nil, err
		}
	}

	op := state.ImportTasks{From: r.File, Fresh: o.Fresh, Conflicts: how}
	var folders *exchange.Folders
	if folder {
		folders = &opt.Folders
	}

	err = p.writeImport(ctx, t, r, op, folders)
	if err == nil && !t.Try && len(r.Errors.Errors) > 0 {
		err = p.Problems.Import(ctx, t.Session, r.Errors)
	}
	return r, err
}

// readForeignErrors reads the errors.json that lies beside a file of tasks; nothing if there is
// none.
func (p *Project) readForeignErrors(name string) (state.ForeignErrors, error) {
	name = filepath.Join(filepath.Dir(name), "errors.json")
	own := filepath.Join(p.Dir, formats.Workspace, "errors.json")
	if full, err := filepath.Abs(name); err != nil || full == own {
		return state.ForeignErrors{}, nil //nolint:nilerr // nothing comes along
	}

	src, err := readRegular(name)
	if errors.Is(err, fs.ErrNotExist) {
		return state.ForeignErrors{}, nil
	}
	if err != nil {
		return state.ForeignErrors{}, formats.Broken(formats.CodeUsage, name, err)
	}
	return state.ReadForeignErrors(name, src)
}

// placeOf is the path of a file from the project root, with slashes; empty if it lies outside.
func (p *Project) placeOf(name string) string {
	full, err := filepath.Abs(name)
	if err == nil {
		full, err = filepath.Rel(p.Dir, full)
	}
	if err != nil || !filepath.IsLocal(full) {
		return ""
	}
	return filepath.ToSlash(full)
}

// writeImport writes what was read, and copies the documents of folders; nil: only a file was read.
func (p *Project) writeImport(
	ctx context.Context,
	t Transaction,
	r *ImportReport,
	op state.ImportTasks,
	folders *exchange.Folders,
) (err error) {
	if t.Try || folders != nil {
		try := t
		try.Try = true
		r.Result, err = p.write(ctx, try, op)
		if err != nil {
			return err
		}
	}

	if folders != nil {
		if err := folders.Copy(p.Root, t.Try); err != nil {
			return err
		}
	}
	if t.Try {
		return nil
	}

	r.Result, err = p.write(ctx, t, op)
	if err != nil {
		return err
	}
	return p.archiveCompleted(ctx, t, r)
}

// archiveCompleted archives the tasks that the file has among its completed projects. It is a
// transaction of its own: what was imported stays if it does not come through, and the same import
// again goes on here.
func (p *Project) archiveCompleted(ctx context.Context, t Transaction, r *ImportReport) error {
	list := r.Result.PutAway()
	if len(list) == 0 {
		return nil
	}
	if t.ID != "" {
		t.ID += "-archive"
	}

	moved, err := p.Archive(ctx, t, list)
	if err != nil {
		r.Unarchived = list
		return err
	}
	r.Result.Serial = moved.Serial
	r.Result.Warnings = append(r.Result.Warnings, moved.Warnings...)
	return nil
}

// readArchiveBeside reads the archive that lies beside the file of an import as its system keeps
// it; nil if there is none.
func readArchiveBeside(name string, opt exchange.Options) (*Import, error) {
	name = filepath.Join(filepath.Dir(name), filepath.FromSlash(exchange.ArchiveName))
	src, err := readRegular(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, formats.Broken(formats.CodeUsage, name, err)
	}

	opt.Todo = nil
	opt.Folders = exchange.Folders{}
	return exchange.Read(name, src, opt), nil
}

// taskFolders finds the folders of tasks that come along where a folder is named instead of a file.
func (p *Project) taskFolders(name string) (exchange.Folders, error) {
	if err := p.Host.MayCommand(); err != nil {
		return exchange.Folders{}, err
	}
	if p.Reader == nil {
		return exchange.Folders{}, NoWorkspace()
	}

	full := p.placeOf(name)
	if full == "" || full == "." {
		return exchange.Folders{}, usage(
			"expected a folder inside the project %s, got %q", p.Dir, name,
		)
	}

	return exchange.FindFolders(p.Root, full, cmp.Or(p.Config.Specs, formats.Specs))
}

// readRegular reads a file. A named pipe is refused, because nobody may ever write into it; those
// that a shell makes of the output of a command lie in /dev.
func readRegular(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Mode()&fs.ModeNamedPipe != 0 && !strings.HasPrefix(name, "/dev/") {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errNotRegular}
	}
	return os.ReadFile(name)
}

var errNotRegular = errors.New("expected a regular file, got a named pipe")
