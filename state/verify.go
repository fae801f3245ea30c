package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"tercet/formats"
	"tercet/state/files"
	"tercet/state/history"
	"tercet/state/statefile"
	"tercet/state/todo"
)

// Verify checks everything that a write relies on. Both files must be valid and keep the rules
// beyond the format: dependencies, parents, numbers, documents, leases. The chain of the audit log
// must be intact, and the file must be tercet's own write. It changes nothing. An error means that
// it could not check.
func (r *Reader) Verify(ctx context.Context) ([]formats.Diagnostic, error) {
	d, err := r.load(ctx)
	if err == nil {
		err = d.CheckHeadroom()
	}
	if e, ok := errors.AsType[*statefile.SyntaxError](err); ok {
		found := slices.Clone(e.List.List)
		if found[0].Help == "" {
			found[0].Help = formats.HelpOf(addBackupHint(r.cfg, e)) // how to recover
		}
		return found, nil
	}
	if err != nil {
		return nil, err
	}

	v := verifier{
		r:       r,
		doc:     d,
		depends: statefile.Cycles{Next: statefile.DependenciesOf, Task: d.Find},
	}

	v.archive, _, err = readArchive(r.cfg, statefile.ArchivePath)
	if err != nil {
		if e, ok := errors.AsType[*statefile.SyntaxError](err); ok {
			v.found = append(v.found, e.List.List...)
		} else {
			return nil, err
		}
	}
	for i := range d.Tasks {
		v.checkTask(i)
	}

	if top := d.Highest(); d.NextNumber <= top {
		v.add(formats.SeverityWarning, d.Tree.Get("next_number").Start, "",
			"next_number is %d, expected more than %d", d.NextNumber, top)
	}

	v.checkTodo()
	return v.found, v.checkLog()
}

// verifier collects findings about one state.
type verifier struct {
	r       *Reader
	doc     *statefile.Document
	archive *statefile.Document
	depends statefile.Cycles
	found   []formats.Diagnostic
}

func (v *verifier) add(severity formats.Severity, offset int, help, format string, args ...any) {
	v.found = append(v.found, statefile.Finding(
		severity,
		v.doc.File,
		statefile.Position(v.doc.Src, offset),
		help,
		fmt.Sprintf(format, args...),
	))
}

func (v *verifier) taskExists(n int) bool {
	return v.doc.Find(n) != nil || v.archive.Find(n) != nil
}

func (v *verifier) checkTask(i int) {
	t := &v.doc.Tasks[i]
	at := v.doc.Values[i].Start
	for _, n := range t.Dependencies {
		if !v.taskExists(n) {
			v.add(formats.SeverityError, at, "",
				"task %d depends on task %d, which does not exist", t.Number, n)
		}
	}

	if t.Parent != nil && !v.taskExists(*t.Parent) {
		v.add(formats.SeverityError, at, "",
			"task %d is part of task %d, which does not exist", t.Number, *t.Parent)
	}
	if loop := v.depends.From(t.Number); loop != "" {
		v.add(formats.SeverityError, at, "leave one of them out",
			"the dependencies of task %d form a circle: %s", t.Number, loop)
	}
	if v.archive.Find(t.Number) != nil {
		v.add(formats.SeverityError, at,
			"the next write finishes an interrupted move; if it does not, remove one of the two",
			"task %d is both active and archived", t.Number)
	}

	status, stale := v.r.cfg.effectiveStatus(t, v.r.cfg.now())
	switch {
	case stale:
		v.add(formats.SeverityWarning, at, "the next command on the task takes it over",
			"the lease of task %d is stale, it counts as %s", t.Number, status)
	case t.Status.InProgress() && t.Lease == nil:
		v.add(formats.SeverityWarning, at, "",
			"task %d is %s, but nobody holds its lease", t.Number, t.Status)
	}

	for _, a := range t.Artifacts {
		v.checkArtifact(at, t, a)
	}
}

func (v *verifier) checkArtifact(at int, t *formats.Task, a formats.Artifact) {
	if why := files.PathFault(a.Path); why != "" {
		v.add(formats.SeverityError, at, "", "task %d: artifact path %q: %s", t.Number, a.Path, why)
		return
	}

	if a.Deleted || !a.Type.IsDocument() {
		return
	}

	why, err := v.r.cfg.documentProblem(a.Path)
	if err != nil {
		why = "cannot be read: " + err.Error()
	}
	if why != "" {
		v.add(formats.SeverityWarning, at, "", "task %d: artifact %s %s", t.Number, a.Path, why)
	}
}

// checkTodo checks TODO.md against the state. It is only a view, so all findings are warnings.
func (v *verifier) checkTodo() {
	warn := func(help, format string, args ...any) {
		v.found = append(v.found, statefile.Finding(
			formats.SeverityWarning,
			todoFile,
			formats.Pos{Line: 1, Col: 1},
			help,
			fmt.Sprintf(format, args...),
		))
	}

	src, err := files.Read(v.r.cfg.Root, todoFile, files.MaxState)
	if errors.Is(err, fs.ErrNotExist) {
		return // the next write renders it
	}

	if err != nil {
		warn("", "it cannot be read: %v", err)
		return
	}

	serial, intact := todo.Version(src)
	switch {
	case !intact:
		warn(
			"see the edits with: tercet task sync --check; take them over with: tercet task sync",
			"it was edited by hand",
		)
	case serial < v.doc.Serial:
		warn("the next write, or tercet task sync, brings it up to date",
			"it shows serial %d, the state has serial %d", serial, v.doc.Serial)
	}
}

// checkLog checks the audit log and compares it with the file.
func (v *verifier) checkLog() error {
	faults, state, err := history.CheckChain(v.r.cfg.Root)
	if err != nil {
		return err
	}
	for _, f := range faults {
		at := formats.Pos{Line: f.Line, Col: 1}
		v.found = append(v.found,
			statefile.Finding(formats.SeverityWarning, f.File, at, "", f.What))
	}

	if state.Kind == history.KindDenied {
		v.add(
			formats.SeverityError,
			0,
			helpExternal,
			"it or its log was changed while a worker ran, and not by tercet",
		)
		return nil
	}
	if state.Post != "" && state.Post != v.doc.SHA &&
		(!state.IsIntent() || state.Pre != v.doc.SHA) {
		v.add(formats.SeverityWarning, 0, "the next write takes it over",
			"the file was changed from outside since serial %d", state.Serial)
	}
	return nil
}
